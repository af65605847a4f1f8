//! `snap_to_quantized`: rounds floats to multiples of the step that a signed or unsigned integer needs for a range.

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use crate::dtype;
use crate::error::Result;
use crate::expr::{BinaryOp, Expr, Index, LowerCx, Scalar, UnaryOp};
use crate::op::{OpDef, Operand};
use crate::ops::widen::widen;
use crate::shape_fns;

/// The last step of `quantize_and_dequantize`: `x, min, max, num_bits -> x`. Operands `min` and `max` hold the range:
/// two scalars, or two vectors with one element per slice along attribute `axis`. Attribute `range_given` says that the
/// user gave the range; the op then clamps the elements to it.
pub(crate) static DEF: OpDef = OpDef::compute("snap_to_quantized", lower)
    .internal()
    .attrs(&[
        Attribute::bool_or("signed_input", true),
        Attribute::bool_or("range_given", false),
        Attribute::str_or("round_mode", "HALF_TO_EVEN"),
        Attribute::bool_or("narrow_range", false),
        Attribute::int_or("axis", -1),
    ])
    .operands(&[
        Operand::Data("input"),
        Operand::Data("input_min"),
        Operand::Data("input_max"),
        Operand::Data("num_bits"),
    ])
    .shape_fn(shape_fns::quantize::quantize_and_dequantize)
    .dtype_rule(dtypes);

pub(super) fn dtypes(dtypes: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    let dtype = dtype::common(dtypes, 0, 3, dtype::Class::Float)?;
    match dtypes.get(3) {
        None | Some(DType::I32) => Ok(vec![dtype]),
        Some(other) => dtype::refuse(format!("num_bits must be i32, got {other}")),
    }
}

fn lower(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let x = widen(cx.operand(0, index));
    let axis = usize::try_from(cx.attrs().int("axis")).ok();
    let slice: Vec<Index> = axis.and_then(|axis| index.get(axis).cloned()).into_iter().collect();
    let (min, max) = (widen(cx.operand(1, &slice)), widen(cx.operand(2, &slice)));
    let bits = cx.operand(3, &[]).cast(DType::I64);
    // The least and the greatest integer.
    let one = Expr::constant(1i64);
    let is_signed = cx.attrs().bool("signed_input");
    let bits = if is_signed { bits - &one } else { bits };
    let power = one.clone().binary(BinaryOp::Shl, bits);
    let high = (&power - &one).cast(x.dtype());
    let least = match (is_signed, cx.attrs().bool("narrow_range")) {
        (true, true) => one - power,
        (true, false) => -power,
        // A narrow range leaves out no unsigned integer.
        (false, _) => Expr::constant(0i64),
    };
    let low = least.cast(x.dtype());
    // Each end of the range needs a step. The larger step serves both ends. 0 stays 0.
    let zero = x.like(0.0);
    let largest = Expr::constant(match x.dtype() {
        DType::F64 => Scalar::F64(f64::MAX),
        _ => Scalar::F32(f32::MAX),
    });
    let side = |end: &Expr, integer: &Expr| {
        let product = end * integer;
        zero.clone().less(product).select(integer / end, largest.clone())
    };
    let (from_min, from_max) = (side(&min, &low), side(&max, &high));
    let uses_min = from_min.clone().less(from_max.clone());
    let scale = uses_min.clone().select(from_min, from_max);
    let step = uses_min.clone().select(&min / &low, &max / &high);
    let x = match cx.attrs().bool("range_given") {
        true => {
            let greatest = uses_min.clone().select(&high * &step, max);
            let least = uses_min.select(min, &low * &step);
            x.minimum(greatest).maximum(least)
        }
        false => x,
    };
    let scaled = x * scale;
    let integer = match cx.attrs().str("round_mode") {
        "HALF_UP" => {
            let half = scaled.like(0.5);
            (scaled + half).floor()
        }
        _ => scaled.unary(UnaryOp::Round),
    };
    (integer * step).cast(cx.output_dtype(output))
}
