//! `requantize`: quantized integers for another range or of another quantized type.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use super::options::{checked_range, quantized_and_ranges, quantized_attr};
use super::quantized_range::QuantizedRange;
use crate::error::{Error, Result};
use crate::expr::{BinaryOp, Expr, Index, LowerCx, ReduceOp};
use crate::graph::{IntoOperand, Value};
use crate::op::{CompositeCx, OpDef, Operand, TfOp};
use crate::ops::array::unstack::exactly;
use crate::ops::rounding::round_half_away;
use crate::shape_fns;

impl<'g> Value<'g> {
    /// Maps integers of a quantized type, which stand for numbers from `min` to `max`, to integers of the quantized
    /// type `dtype` for numbers from `new_min` to `new_max`. Both types map as with
    /// [`QuantizeMode::MinFirst`](crate::QuantizeMode::MinFirst); qi32 to qu8 is computed with integers, as in
    /// TensorFlow.
    ///
    /// `q[..], f32[], f32[], f32[], f32[] -> dtype[..], f32[], f32[]`. The outputs are the integers and the new range.
    /// As TensorFlow's `Requantize`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, QuantizeOptions};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([0.0f32, 3.0, 6.0])?;
    /// let [x, min, max] = x.quantize(0.0, 6.0, DType::QU8, QuantizeOptions::default())?;
    /// // The same numbers, as integers that reach from 0 to 12.
    /// let (new_min, new_max) = (g.constant(0.0f32)?, g.constant(12.0f32)?);
    /// let [y, _, _] = x.requantize([min, max], new_min, new_max, DType::QU8)?;
    /// let [y] = g.compile(y.cast(DType::I32)?)?.run(&[])?;
    /// assert_eq!(y.to_vec::<i32>()?, [0, 64, 128]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type or `dtype` is not quantized, or an end of a range is not an f32 scalar. The run fails unless
    /// `new_min <= 0` and `new_min <= new_max`.
    #[track_caller]
    pub fn requantize(
        self,
        [min, max]: [Value<'g>; 2],
        new_min: impl IntoOperand<'g>,
        new_max: impl IntoOperand<'g>,
        dtype: DType,
    ) -> Result<[Value<'g>; 3]> {
        let location = Location::caller();
        let ends = [min, max, new_min.into_operand(min, location), new_max.into_operand(min, location)];
        let call = self.graph().op(&DEF).data(self).data_all(&ends).attr("dtype", dtype);
        exactly(call.finish_all_at(location)?.into_vec())
    }

    /// Returns the range of numbers that the integers of a quantized type stand for: the least number, or 0 if it is
    /// positive, and the greatest. The type maps numbers from `min` to `max`.
    ///
    /// `q[..], f32[], f32[] -> f32[], f32[]`. As TensorFlow's `RequantizationRange`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant(Tensor::from([0, 1 << 30]))?.bitcast(DType::QI32)?;
    /// let [min, max] = x.requantization_range([g.constant(-2.0f32)?, g.constant(2.0f32)?])?;
    /// let [min, max] = g.compile([min, max])?.run(&[])?;
    /// min.allclose(&Tensor::from(0.0f32), 1e-3, 1e-6).unwrap();
    /// max.allclose(&Tensor::from(1.0f32), 1e-3, 0.0).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not quantized, or an end of the range is not an f32 scalar.
    #[track_caller]
    pub fn requantization_range(self, [min, max]: [Value<'g>; 2]) -> Result<[Value<'g>; 2]> {
        exactly(self.graph().op(&RANGE).data(self).data(min).data(max).finish_all()?)
    }

    /// Maps integers to the quantized type `dtype` and to the range that the integers use: the same as
    /// [`Value::requantize`] for the range that [`Value::requantization_range`] gives.
    ///
    /// `q[..], f32[], f32[] -> dtype[..], f32[], f32[]`. As TensorFlow's `QuantizeDownAndShrinkRange`. The op is
    /// composed of these ops, which fuse into kernels.
    ///
    /// ```
    /// use shapeflow::{DType, Graph};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([0, 1 << 30])?.bitcast(DType::QI32)?;
    /// let [y, _, max] = x.quantize_down([g.constant(-2.0f32)?, g.constant(2.0f32)?], DType::QU8)?;
    /// let [y, max] = g.compile([y.cast(DType::I32)?, max])?.run(&[])?;
    /// assert_eq!(y.to_vec::<i32>()?, [0, 255]);
    /// assert!((max.item::<f32>()? - 1.0).abs() < 1e-6);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::requantization_range`]; or `dtype` is not quantized.
    #[track_caller]
    pub fn quantize_down(self, [min, max]: [Value<'g>; 2], dtype: DType) -> Result<[Value<'g>; 3]> {
        let call = self.graph().op(&DOWN).data(self).data(min).data(max).attr("dtype", dtype);
        exactly(call.finish_all()?)
    }
}

const OPERANDS: &[Operand] = &[
    Operand::Data("input"),
    Operand::Data("input_min"),
    Operand::Data("input_max"),
    Operand::Data("requested_output_min"),
    Operand::Data("requested_output_max"),
];

/// TensorFlow's name of attribute `dtype`.
const OUT_TYPE: &[(&str, &str)] = &[("out_type", "dtype")];

pub(crate) static DEF: OpDef = OpDef::composite("requantize", build)
    .attrs(&[Attribute::dtype("dtype")])
    .operands(OPERANDS)
    .outputs(|_, _| 3)
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("Requantize").attrs(OUT_TYPE)]);

/// A part of `requantize`: `input, input_min, input_max, min, max -> q`. With attribute `joins`, as
/// in TensorFlow's `QuantizedConcat`, equal ranges keep the integers, and the numbers are rounded in the order of
/// that kernel.
pub(crate) static INTO_RANGE: OpDef = OpDef::compute("requantize_into_range", lower)
    .internal()
    .attrs(&[Attribute::dtype("dtype"), Attribute::bool_or("joins", false)])
    .operands(OPERANDS)
    .shape_fn(shape_fns::quantize::requantize)
    .dtype_rule(|operands, attrs| Ok(dtypes(operands, attrs)?[..1].to_vec()));

pub(crate) static RANGE: OpDef = OpDef::compute("requantization_range", lower_range)
    .operands(&[Operand::Data("input"), Operand::Data("input_min"), Operand::Data("input_max")])
    .outputs(|_, _| 2)
    .shape_fn(shape_fns::quantize::requantization_range)
    .dtype_rule(|dtypes, _| {
        quantized_and_ranges(dtypes)?;
        Ok(vec![DType::F32; 2])
    })
    .tensorflow(&[TfOp::new("RequantizationRange")]);

pub(crate) static DOWN: OpDef = OpDef::composite("quantize_down", |cx, values| {
    let &[x, min, max] = values else { return Err(needs("quantize_down")) };
    dtypes(&[x.dtype(), min.dtype(), max.dtype()], cx.attrs())?;
    let [low, high] = x.requantization_range([min, max])?;
    let y = x.graph().op(&INTO_RANGE).data(x).data_all(&[min, max, low, high]);
    Ok(vec![y.attr("dtype", quantized_attr(cx.attrs())?).finish()?, low, high])
})
.attrs(&[Attribute::dtype("dtype")])
.operands(&[Operand::Data("input"), Operand::Data("input_min"), Operand::Data("input_max")])
.outputs(|_, _| 3)
.dtype_rule(dtypes)
.tensorflow(&[TfOp::new("QuantizeDownAndShrinkRange").attrs(OUT_TYPE)]);

fn needs(op: &str) -> Error {
    Error::msg(format!("{op} needs an input and the ends of its range"))
}

fn dtypes(dtypes: &[DType], attrs: &Attrs) -> Result<Vec<DType>> {
    quantized_and_ranges(dtypes)?;
    Ok(vec![quantized_attr(attrs)?, DType::F32, DType::F32])
}

fn build<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let &[x, min, max, low, high] = values else { return Err(needs("requantize")) };
    let operands: Vec<DType> = values.iter().map(|value| value.dtype()).collect();
    dtypes(&operands, cx.attrs())?;
    let low = low.checked(low.less_equal(0.0)?, "the minimum of the new range must not be positive")?;
    let ascends = low.less_equal(high)?;
    let requirement = "the maximum of the new range must not be less than its minimum";
    let high = checked_range(high, ascends, requirement, [low, high])?;
    let y = x.graph().op(&INTO_RANGE).data(x).data_all(&[min, max, low, high]);
    Ok(vec![y.attr("dtype", quantized_attr(cx.attrs())?).finish()?, low, high])
}

fn lower(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let [min, max, low, high] = [1, 2, 3, 4].map(|operand| cx.operand(operand, &[]));
    let x = cx.operand(0, index);
    let to = cx.output_dtype(output);
    let is_same = min.clone().equal(low.clone()) & max.clone().equal(high.clone());
    let joins = cx.attrs().bool("joins");
    let (from, to_range) = (
        QuantizedRange::new(cx.dtype(0), min.clone(), max.clone()),
        QuantizedRange::new(to, low.clone(), high.clone()),
    );
    if joins && cx.dtype(0) == to {
        let number = from.dequantize_from_zero(x.clone());
        return is_same.select(x, to_range.quantize(number));
    }
    if (cx.dtype(0), to) == (DType::QI32, DType::QU8) {
        return in_fixed_point(x, [min, max], [low, high]);
    }
    to_range.quantize(from.dequantize(x))
}

/// Maps qi32 to qu8 as TensorFlow's kernel for these types does, with 16 bits after the point.
fn in_fixed_point(x: Expr, [min, max]: [Expr; 2], [low, high]: [Expr; 2]) -> Expr {
    const ONE: f64 = 65_536.0;
    let double = |value: f64| Expr::constant(value);
    let wide = |x: &Expr| x.clone().cast(DType::F64);
    let width = &high - &low;
    let is_empty = width.clone().equal(width.like(0.0));
    let or_zero = |value: Expr| {
        let zero = value.like(0.0);
        is_empty.clone().select(zero, value)
    };
    let inverse = or_zero(double(255.0) / wide(&width)).cast(DType::F32);
    let center = (wide(&(&min + &max)) * double(0.5)).cast(DType::F32);
    let scale = or_zero(double(255.0 * ONE) * wide(&(max - min)) / wide(&width)).cast(DType::I64);
    let offset = (center * &inverse * inverse.like(ONE)).cast(DType::I64);
    let start =
        or_zero(round_half_away(wide(&low) * double(255.0) * double(ONE) / wide(&width))).cast(DType::I64);
    let bits = |count: i64| Expr::constant(count);
    let scaled = (x.cast(DType::I64) * scale).binary(BinaryOp::Shr, bits(32));
    let rounded = (scaled + (offset - start + bits(1 << 15))).binary(BinaryOp::Shr, bits(16));
    rounded.maximum(bits(0)).minimum(bits(255)).cast(DType::QU8)
}

fn lower_range(cx: &mut dyn LowerCx, output: usize, _index: &[Index]) -> Expr {
    let (min, max) = (cx.operand(1, &[]), cx.operand(2, &[]));
    let (dtype, dims) = (cx.dtype(0), cx.dims(0));
    let op = if output == 0 { ReduceOp::Min } else { ReduceOp::Max };
    // Without elements, the reduction gives the end of i32 that TensorFlow gives.
    let end = match dims.is_empty() {
        true => cx.operand(0, &[]).cast(DType::I32),
        false => cx.reduce(op, &dims, &mut |cx, inner| cx.operand(0, inner).cast(DType::I32)),
    };
    let number = QuantizedRange::new(dtype, min, max).dequantize_exactly(end.cast(DType::I64));
    if output == 0 { number.minimum(Expr::number(DType::F32, 0.0)) } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::shape_table;

    shape_table! { INTO_RANGE, {"dtype": DType::QU8},
        "qi32[n, 3]; []; []; []; []" => "qu8[n, 3]",
        "qi32[n]; [2]; []; []; []" => error "must have rank 0",
        "[n]; []; []; []; []" => error "the element type must be quantized, got f32",
    }
    shape_table! { ranges: RANGE, {},
        "qi32?; []; []" => "f32[]; f32[]",
    }
}
