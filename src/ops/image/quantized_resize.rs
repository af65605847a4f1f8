//! `quantized_resize_bilinear`: quantized images of another height and width, for import only.

use shapeflow_shape_fns::{Attribute, DType, InferenceContext, TensorShape};

use super::resize::{Resized, load};
use super::sampling::resize_shape;
use crate::dtype;
use crate::error::Result;
use crate::expr::{BinaryOp, Expr, Index, LowerCx, UnaryOp};
use crate::op::{OpDef, Operand, TfOp};

/// `x[n, h, w, c], size [2], f32[], f32[] -> x[n, size[0], size[1], c], f32[], f32[]`: every pixel is a linear
/// interpolation of four pixels, as in [`Value::resize_bilinear`](crate::Value::resize_bilinear). qu8 has weights of 7
/// bits and qi32 weights of 30 bits; f32 is not quantized. The range stays. As TensorFlow's `QuantizedResizeBilinear`,
/// bit for bit, but its kernel rounds the pixels of qi32 to f32 first.
pub(crate) static DEF: OpDef = OpDef::compute("quantized_resize_bilinear", lower)
    .attrs(&[Attribute::bool_or("align_corners", false), Attribute::bool_or("half_pixel_centers", false)])
    .operands(&[Operand::Data("images"), Operand::Size("size"), Operand::Data("min"), Operand::Data("max")])
    .outputs(|_, _| 3)
    .shape_fn(shape)
    .dtype_rule(|dtypes, _| dtypes_of_outputs(dtypes))
    .tensorflow(&[TfOp::new("QuantizedResizeBilinear")]);

fn dtypes_of_outputs(dtypes: &[DType]) -> Result<Vec<DType>> {
    let [images, parameters @ .., min, max] = dtypes else {
        return dtype::refuse("images and the ends of their range must be given".to_string());
    };
    if !matches!(images, DType::QU8 | DType::QI32 | DType::F32) {
        return dtype::refuse(format!("the element type must be qu8, qi32 or f32, got {images}"));
    }
    dtype::check_indices(parameters, 0)?;
    if [*min, *max] != [DType::F32; 2] {
        return dtype::refuse(format!("the ends of a range must be f32, got {min} and {max}"));
    }
    Ok(vec![*images, DType::F32, DType::F32])
}

fn shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    resize_shape(cx)?;
    for (output, end) in [(1, cx.len() - 2), (2, cx.len() - 1)] {
        cx.scalar(end)?;
        cx.set_output(output, TensorShape::scalar());
    }
    Ok(())
}

/// The number of bits of a weight.
fn weight_bits(dtype: DType) -> i64 {
    if dtype == DType::QU8 { 7 } else { 30 }
}

fn lower(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    if output > 0 {
        return cx.operand(cx.operands() - 3 + output, &[]);
    }
    let dtype = cx.dtype(0);
    let mut neighbors = |axis: usize| {
        let resized = Resized::new(cx, index, axis);
        let position = resized.position();
        let below = position.clone().floor();
        let fraction = &position - &below;
        let above = position.unary(UnaryOp::Ceil);
        ([resized.at(cx, below), resized.at(cx, above)], fraction)
    };
    let ((rows, down), (columns, right)) = (neighbors(1), neighbors(2));
    let bits = weight_bits(dtype);
    // Sums of products of pixels and weights fit this type.
    let wide = match dtype {
        DType::F32 => DType::F32,
        DType::QU8 => DType::I32,
        _ => DType::I64,
    };
    let weight = |fraction: Expr| match dtype {
        DType::F32 => fraction,
        _ => (&fraction * fraction.like((1i64 << bits) as f64)).cast(wide),
    };
    let (down, right) = (weight(down), weight(right));
    let one =
        if dtype == DType::F32 { Expr::number(wide, 1.0) } else { Expr::number(wide, (1i64 << bits) as f64) };
    let mut row = |row: &Index| {
        let left = load(cx, index, row, &columns[0]).cast(wide);
        let next = load(cx, index, row, &columns[1]).cast(wide);
        &left * &one + (next - &left) * &right
    };
    let (top, bottom) = (row(&rows[0]), row(&rows[1]));
    if dtype == DType::F32 {
        return &top + (bottom - &top) * down;
    }
    let pixel = &top + shifted(&bottom - &top, bits) * down;
    let half = pixel.like((1i64 << (bits - 1)) as f64);
    shifted(pixel + half, bits).cast(dtype)
}

/// Returns the quotient of the integer `x` and `2^bits`, rounded toward 0.
fn shifted(x: Expr, bits: i64) -> Expr {
    let number = |value: i64| x.like(value as f64);
    let (bits, rest, zero) = (number(bits), number((1 << bits) - 1), number(0));
    let is_negative = x.clone().less(zero.clone());
    (&x + is_negative.select(rest, zero)).binary(BinaryOp::Shr, bits)
}

#[cfg(test)]
mod tests {
    use super::DEF;
    use crate::ops::testing::shape_table;

    shape_table! { DEF, {"size": [7, 9]},
        "qu8[n, 4, w, 3]; []; []" => "qu8[n, 7, 9, 3]; f32[]; f32[]",
        "qi8[n, 4, 4, 3]; []; []" => error "the element type must be qu8, qi32 or f32, got qi8",
        "qu8[n, 4, 4, 3]; [2]; []" => error "must have rank 0",
    }
}
