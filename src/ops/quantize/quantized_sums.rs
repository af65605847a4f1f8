//! Activations and sums of quantized numbers, for import only. Every tensor comes with the ends of its range, two
//! scalars. The integers are those of TensorFlow's kernels, bit for bit.

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use super::options::{all_f32, checked_range, quantized_and_ranges};
use super::quantized_range::QuantizedRange;
use crate::dtype;
use crate::error::{Error, Result};
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::broadcast::broadcast_operand;
use crate::shape_fns;

/// TensorFlow's names of the attribute `dtype`, the dtype of the integers of the result.
pub(super) const OUT_TYPE: &[(&str, &str)] = &[("out_type", "dtype")];
pub(super) const T_OUTPUT: &[(&str, &str)] = &[("Toutput", "dtype")];
pub(super) const TO_QI32: &[Attribute] = &[Attribute::dtype_or("dtype", DType::QI32)];

const FEATURES: &[Operand] =
    &[Operand::Data("features"), Operand::Data("min_features"), Operand::Data("max_features")];

/// `q[..], f32[], f32[] -> q[..], f32[], f32[]`: the greater of a number and 0. The range stays.
pub(crate) static RELU: OpDef =
    OpDef::compute("quantized_relu", |cx, output, index| clamp(cx, output, index, None))
        .attrs(&[Attribute::dtype_or("dtype", DType::QU8)])
        .operands(FEATURES)
        .outputs(|_, _| 3)
        .shape_fn(shape_fns::quantize::quantized_unary)
        .dtype_rule(clamped_dtypes)
        .tensorflow(&[TfOp::new("QuantizedRelu").attrs(OUT_TYPE)]);

/// As [`RELU`], but at most 6.
pub(crate) static RELU6: OpDef =
    OpDef::compute("quantized_relu6", |cx, output, index| clamp(cx, output, index, Some(6.0)))
        .attrs(&[Attribute::dtype_or("dtype", DType::QU8)])
        .operands(FEATURES)
        .outputs(|_, _| 3)
        .shape_fn(shape_fns::quantize::quantized_unary)
        .dtype_rule(clamped_dtypes)
        .tensorflow(&[TfOp::new("QuantizedRelu6").attrs(OUT_TYPE)]);

/// `q[.., c], q[c], 4 × f32[] -> qi32[.., c], f32[], f32[]`: the sum of a tensor and of a number for each channel.
pub(crate) static BIAS_ADD: OpDef = OpDef::compute("quantized_bias_add", lower_bias_add)
    .attrs(TO_QI32)
    .operands(&[
        Operand::Data("input"),
        Operand::Data("bias"),
        Operand::Data("min_input"),
        Operand::Data("max_input"),
        Operand::Data("min_bias"),
        Operand::Data("max_bias"),
    ])
    .outputs(|_, _| 3)
    .shape_fn(shape_fns::quantize::quantized_bias_add)
    .dtype_rule(|dtypes, attrs| of_bytes(dtypes, attrs, &[DType::QU8, DType::QI8]))
    .tensorflow(&[TfOp::new("QuantizedBiasAdd").attrs(OUT_TYPE)]);

/// Two tensors and the ends of their ranges.
pub(super) const PAIR: &[Operand] = &[
    Operand::Data("x"),
    Operand::Data("y"),
    Operand::Data("min_x"),
    Operand::Data("max_x"),
    Operand::Data("min_y"),
    Operand::Data("max_y"),
];

/// `qu8[..], qu8[..], 4 × f32[] -> qi32[..], f32[], f32[]`: the sum of two tensors, which broadcast. TensorFlow's
/// kernel does not broadcast if the sizes of neither tensor are the last sizes of the other: it refuses such operands,
/// or gives wrong elements.
pub(crate) static ADD: OpDef = OpDef::composite("quantized_add", |cx, values| {
    let &[x, y, min_x, max_x, min_y, max_y] = values else {
        return Err(Error::msg("quantized_add needs two tensors and their ranges"));
    };
    let dtypes: Vec<DType> = values.iter().map(|value| value.dtype()).collect();
    of_bytes(&dtypes, cx.attrs(), &[DType::QU8])?;
    let (max_x, max_y) = (not_empty([min_x, max_x])?, not_empty([min_y, max_y])?);
    x.graph().op(&SUM).data(x).data(y).data(min_x).data(max_x).data(min_y).data(max_y).finish_all()
})
.attrs(TO_QI32)
.operands(PAIR)
.outputs(|_, _| 3)
.dtype_rule(|dtypes, attrs| of_bytes(dtypes, attrs, &[DType::QU8]))
.tensorflow(&[TfOp::new("QuantizedAdd").attrs(T_OUTPUT)]);

/// A part of `quantized_add`, whose ranges are not empty.
pub(crate) static SUM: OpDef = OpDef::compute("quantized_sum", lower_sum)
    .internal()
    .operands(PAIR)
    .outputs(|_, _| 3)
    .shape_fn(shape_fns::quantize::quantized_binary)
    .dtype_rule(|dtypes, _| of_bytes(dtypes, &Attrs::new(), &[DType::QU8]));

/// Returns the maximum of a range. A run fails unless it is greater than the minimum.
pub(super) fn not_empty<'g>([min, max]: [Value<'g>; 2]) -> Result<Value<'g>> {
    let requirement = "the maximum of a range must be greater than its minimum";
    checked_range(max, min.less(max)?, requirement, [min, max])
}

/// Requires a quantized tensor of one of the dtypes that TensorFlow's kernels have, and its range.
fn clamped_dtypes(dtypes: &[DType], attrs: &Attrs) -> Result<Vec<DType>> {
    let dtype = quantized_and_ranges(dtypes)?;
    if !matches!(dtype, DType::QU8 | DType::QI32) {
        return dtype::refuse(format!("the element type must be qu8 or qi32, got {dtype}"));
    }
    match attrs.get("dtype") {
        Some(_) if attrs.dtype("dtype") != dtype => {
            dtype::refuse(format!("dtype must be the element type {dtype}, got {}", attrs.dtype("dtype")))
        }
        None if dtype != DType::QU8 => dtype::refuse(format!("dtype must be given for {dtype}")),
        _ => Ok(vec![dtype, DType::F32, DType::F32]),
    }
}

/// Requires two tensors of one dtype in `allowed`, the ends of their ranges, and qi32 as attribute `dtype`.
pub(super) fn of_bytes(dtypes: &[DType], attrs: &Attrs, allowed: &[DType]) -> Result<Vec<DType>> {
    let [x, y, ends @ ..] = dtypes else {
        return dtype::refuse("two quantized operands and their ranges must be given".to_string());
    };
    all_f32(ends)?;
    if x != y || !allowed.contains(x) {
        let names: Vec<String> = allowed.iter().map(DType::to_string).collect();
        return dtype::refuse(format!("both tensors must be {}, got {x} and {y}", names.join(" or both ")));
    }
    to_qi32(attrs)
}

/// Requires qi32 as attribute `dtype`. Returns the dtypes of the outputs.
fn to_qi32(attrs: &Attrs) -> Result<Vec<DType>> {
    if attrs.get("dtype").is_some() && attrs.dtype("dtype") != DType::QI32 {
        return dtype::refuse(format!("dtype must be qi32, got {}", attrs.dtype("dtype")));
    }
    Ok(vec![DType::QI32, DType::F32, DType::F32])
}

fn number(value: f64) -> Expr {
    Expr::number(DType::F32, value)
}

fn clamp(cx: &mut dyn LowerCx, output: usize, index: &[Index], most: Option<f64>) -> Expr {
    if output > 0 {
        return cx.operand(output, &[]);
    }
    let dtype = cx.dtype(0);
    let range = QuantizedRange::new(dtype, cx.operand(1, &[]), cx.operand(2, &[]));
    let x = cx.operand(0, index).cast(DType::I64).maximum(range.quantize_exactly(number(0.0)));
    let x = most.map_or(x.clone(), |most| x.minimum(range.quantize_exactly(number(most))));
    x.cast(dtype)
}

/// Returns the range of a sum, symmetric around 0, whose maximum is `largest * 2^bits`.
fn sum_range(largest: Expr, bits: u32) -> QuantizedRange {
    let max = largest * number(f64::from(1u32 << bits));
    QuantizedRange::new(DType::QI32, number(0.0) - max.clone(), max)
}

fn lower_bias_add(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let [min_x, max_x, min_bias, max_bias] = [2, 3, 4, 5].map(|operand| cx.operand(operand, &[]));
    let negated = |x: &Expr| number(0.0) - x;
    let largest =
        max_x.clone().maximum(negated(&min_x)).maximum(max_bias.clone()).maximum(negated(&min_bias));
    let sum = sum_range(largest, 17);
    match output {
        0 => {}
        1 => return sum.min,
        _ => return sum.max,
    }
    let channel = &index[index.len() - 1..];
    let x = QuantizedRange::new(cx.dtype(0), min_x, max_x).dequantize_from_zero(cx.operand(0, index));
    let bias =
        QuantizedRange::new(cx.dtype(1), min_bias, max_bias).dequantize_from_zero(cx.operand(1, channel));
    let [x, bias] = [x, bias].map(|x| sum.quantize(x).cast(DType::I32));
    let zero = sum.quantize_exactly(number(0.0)).cast(DType::I32);
    (x + (bias + zero)).cast(DType::QI32)
}

fn lower_sum(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let [min_x, max_x, min_y, max_y] = [2, 3, 4, 5].map(|operand| cx.operand(operand, &[]));
    let lowest = min_x.clone().minimum(min_y.clone());
    let highest = max_x.clone().maximum(max_y.clone());
    let sum = sum_range(lowest.abs().maximum(highest.abs()), 14);
    match output {
        0 => {}
        1 => return sum.min,
        _ => return sum.max,
    }
    // TensorFlow maps the elements of a tensor by the images of 0 and 1, but a tensor of one element directly.
    let has_one = [0, 1].map(|operand| {
        let sizes = cx.dims(operand).into_iter().map(Expr::size);
        let count = sizes.reduce(|a, b| a * b).unwrap_or_else(|| Expr::constant(1i64));
        count.equal(Expr::constant(1i64))
    });
    let [x_is_one, y_is_one] = has_one;
    let y_is_one = y_is_one & !x_is_one.clone();
    let mut mapped = |operand: usize, min: Expr, max: Expr, is_one: Expr| {
        let from = QuantizedRange::new(cx.dtype(operand), min, max);
        let image = |x: Expr| sum.quantize_unclamped(from.dequantize_exactly(x));
        let [first, second] = [0i64, 1].map(|x| image(Expr::constant(x)));
        let x = broadcast_operand(cx, operand, index).cast(DType::I64);
        let step = (second - first.clone()).cast(DType::I32).cast(DType::I64);
        let by_steps = first + x.clone() * step;
        let image = is_one.select(image(x), by_steps);
        let (low, high) = (i64::from(i32::MIN), i64::from(i32::MAX));
        image.maximum(Expr::constant(low)).minimum(Expr::constant(high)).cast(DType::I32)
    };
    let x = mapped(0, min_x, max_x, x_is_one);
    let y = mapped(1, min_y, max_y, y_is_one);
    (x + y).cast(DType::QI32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::shape_table;

    shape_table! { RELU, {},
        "qu8[n, 3]; []; []" => "qu8[n, 3]; f32[]; f32[]",
        "qu8[n]; [2]; []" => error "must have rank 0",
        "qi8[n]; []; []" => error "the element type must be qu8 or qi32, got qi8",
        "qi32[n]; []; []" => error "dtype must be given for qi32",
    }
    shape_table! { wide: RELU6, {"dtype": DType::QI32},
        "qi32[n, 3]; []; []" => "qi32[n, 3]; f32[]; f32[]",
        "qu8[n]; []; []" => error "dtype must be the element type qu8, got qi32",
    }
    shape_table! { biases: BIAS_ADD, {},
        "qu8[n, ?]; qu8[3]; []; []; []; []" => "qi32[d0_0, 3]; f32[]; f32[]",
        "qu8[n, 3]; qi8[3]; []; []; []; []" => error "both tensors must be qu8 or both qi8, got qu8 and qi8",
    }
    shape_table! { sums: SUM, {},
        "qu8[n, 3]; qu8[3]; []; []; []; []" => "qi32[d0_0, 3]; f32[]; f32[]",
    }
}
