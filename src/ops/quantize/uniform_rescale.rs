//! The arithmetic of `uniform_requantize`: multiplies integers by quotients of scales, in integers.

use shapeflow_shape_fns::{Attribute, Attrs, DType, InferenceContext, ShapeError, TensorShape};

use super::options::quantized_attr;
use super::uniform::{Parameters, bounds_of, missing, operand_of_slice};
use crate::dtype;
use crate::error::Result;
use crate::expr::{BinaryOp, Expr, Index, LowerCx};
use crate::graph::Value;
use crate::op::{OpDef, Operand};
use crate::ops::reduce::Axes;

/// The attributes for the least and the greatest integer of the result.
pub(super) const BOUNDS: [&str; 2] = ["output_quantization_min_val", "output_quantization_max_val"];

/// A positive number as `factor * 2^(exponent - 31)`, where `factor` has 31 bits.
#[derive(Clone, Copy)]
pub(super) struct Ratio<'g> {
    pub factors: Value<'g>,
    pub exponents: Value<'g>,
}

/// Returns the product of `scales` divided by `new_scales`. The operands broadcast. The run fails unless all quotients
/// are positive and finite.
pub(super) fn ratio_of<'g>(scales: &[Value<'g>], new_scales: Value<'g>) -> Result<Ratio<'g>> {
    let mut wide = scales.iter().map(|scales| scales.cast(DType::F64));
    let first = wide.next().unwrap_or_else(missing)?;
    let product = wide.try_fold(first, |product, scales| product.mul(scales?))?;
    let quotient = product.div(new_scales.cast(DType::F64)?)?;
    let is_regular = quotient.greater(0.0)?.logical_and(quotient.less(f64::INFINITY)?)?;
    let message = "quotients of scales must be positive and finite";
    let quotient = quotient.checked(is_regular.reduce_all(Axes::all())?, message)?;
    let outputs = quotient.graph().op(&RATIO).data(quotient).finish_all()?;
    Ok(Ratio { factors: outputs[0], exponents: outputs[1] })
}

/// A part of ops that requantize: `f64[..] -> i32[..], i32[..]`, the factors and the exponents of positive numbers, see
/// [`Ratio`]. A number below `2^-32` becomes 0, and a number of at least `2^30` the greatest ratio.
pub(crate) static RATIO: OpDef = OpDef::compute("uniform_ratio", lower_ratio)
    .internal()
    .operands(&[Operand::Data("x")])
    .outputs(|_, _| 2)
    .shape_fn(|cx| {
        for output in 0..2 {
            let shape = cx.input(0).clone();
            cx.set_output(output, shape);
        }
        Ok(())
    })
    .dtype_rule(|dtypes, _| match dtypes {
        [DType::F64] => Ok(vec![DType::I32; 2]),
        _ => dtype::refuse("the element type must be f64".to_string()),
    });

fn lower_ratio(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let number = |value: i64| Expr::constant(value);
    let shifted = |x: &Expr, bits: i64| x.clone().binary(BinaryOp::Shr, number(bits));
    let bits = cx.operand(0, index).bitcast(DType::I64);
    // The number is `significand * 2^(exponent - 53)`, where the significand has 53 bits.
    let exponent = (shifted(&bits, 52) & number(0x7ff)) - number(1022);
    let significand = (bits & number((1 << 52) - 1)) + number(1 << 52);
    let factor = shifted(&(significand + number(1 << 21)), 22);
    // A factor that is rounded to 2^31 has one bit too many.
    let excess = shifted(&factor, 31);
    let (factor, exponent) = (factor.binary(BinaryOp::Shr, excess.clone()), exponent + excess);
    let (is_tiny, is_huge) = (exponent.clone().less(number(-31)), number(30).less(exponent.clone()));
    let [tiny, huge, regular] = match output {
        0 => [number(0), number((1 << 31) - 1), factor],
        _ => [number(0), number(30), exponent],
    };
    is_tiny.select(tiny, is_huge.select(huge, regular)).cast(DType::I32)
}

/// Returns `difference * factor * 2^(exponent - 31)`, rounded and clamped to the range of i32, as an i64.
pub(super) fn rescaled(difference: Expr, factor: Expr, exponent: Expr) -> Expr {
    let number = |value: i64| Expr::constant(value);
    let product = difference * factor.cast(DType::I64);
    // The difference has 33 bits, so the product fits 64 bits; the product plus a half might not. So the shift leaves
    // one bit more than the result has, and the result is rounded afterwards.
    let twice = product.binary(BinaryOp::Shr, number(30) - exponent.cast(DType::I64));
    let rounded = (twice + number(1)).binary(BinaryOp::Shr, number(1));
    rounded.maximum(number(i64::from(i32::MIN))).minimum(number(i64::from(i32::MAX)))
}

/// How integers get other scales and zero points.
pub(super) struct Rescaling<'g> {
    pub ratio: Ratio<'g>,
    /// The zero points of the integers. `None` stands for 0.
    pub zero_points: Option<Value<'g>>,
    pub to: Parameters<'g>,
}

impl<'g> Rescaling<'g> {
    /// Returns the new integers. Vectors have one element per slice along `axis`, or along the axis of the new scales.
    pub fn apply(self, attrs: &Attrs, x: Value<'g>, axis: Option<usize>) -> Result<Value<'g>> {
        let zero_points = match self.zero_points {
            Some(zero_points) => zero_points,
            None => x.graph().constant(0i32)?,
        };
        let axis = axis.or(self.to.axis).map_or(-1, |axis| axis as i64);
        let call = x.graph().op(&INTEGERS).data(x).data(zero_points);
        let call = call.data(self.ratio.factors).data(self.ratio.exponents).data(self.to.zero_points);
        let dtype = quantized_attr(attrs)?;
        let [low, high] = bounds_of(attrs, BOUNDS, dtype)?;
        call.attr("dtype", dtype).attr("axis", axis).attr("low", low).attr("high", high).finish()
    }
}

/// A part of ops that requantize: `x[..], zero_points, factors, exponents, new_zero_points -> dtype[..]`, the integers
/// `round((x - zero_points) * ratio) + new_zero_points`, clamped to `low..=high`, where `ratio` is the [`Ratio`] of
/// `factors` and `exponents`. All operands but the first are scalars, or vectors with one element per slice along
/// `axis`.
pub(crate) static INTEGERS: OpDef = OpDef::compute("uniform_integers", lower_integers)
    .internal()
    .attrs(&[
        Attribute::dtype("dtype"),
        Attribute::int_or("axis", -1),
        Attribute::int("low"),
        Attribute::int("high"),
    ])
    .operands(&[
        Operand::Data("x"),
        Operand::Data("zero_points"),
        Operand::Data("factors"),
        Operand::Data("exponents"),
        Operand::Data("new_zero_points"),
    ])
    .shape_fn(shape_of_slices)
    .dtype_rule(|dtypes, attrs| match dtypes {
        [x, DType::I32, DType::I32, DType::I32, DType::I32] if x.is_quantized() || *x == DType::I32 => {
            Ok(vec![quantized_attr(attrs)?])
        }
        _ => dtype::refuse("x must be quantized or i32, and the other four operands must be i32".to_string()),
    });

fn shape_of_slices(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    let mut shape = cx.input(0).clone();
    let axis = usize::try_from(cx.int_or("axis", -1)?).ok();
    for operand in 1..cx.len() {
        match (cx.input(operand).rank(), axis) {
            (Some(0), _) => {}
            (Some(1), Some(axis)) => {
                let [slices] = cx.axes::<1>(operand)?;
                let Some(dims) = shape.dims() else { continue };
                let mut dims = dims.to_vec();
                if axis >= dims.len() {
                    return Err(ShapeError::new(format_args!(
                        "axis must be less than the rank, got {axis} of {shape}"
                    )));
                }
                dims[axis] =
                    cx.agree("the number of slices and the size of the axis", &slices, &dims[axis])?;
                shape = TensorShape::from(dims);
            }
            _ => return Err(cx.blame(operand, "must be a scalar, or a vector if axis is given")),
        }
    }
    cx.set_output(0, shape);
    Ok(())
}

fn lower_integers(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let axis = cx.attrs().int("axis");
    let [low, high] = ["low", "high"].map(|name| Expr::constant(cx.attrs().int(name)));
    let [zero, factor, exponent, new_zero] =
        [1, 2, 3, 4].map(|operand| operand_of_slice(cx, operand, index, axis));
    let difference = cx.operand(0, index).cast(DType::I64) - zero.cast(DType::I64);
    let integer = rescaled(difference, factor, exponent) + new_zero.cast(DType::I64);
    integer.minimum(high).maximum(low).cast(cx.output_dtype(output))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run, shape_table, tensor};

    shape_table! { RATIO, {},
        "f64[n, 2]" => "i32[n, 2]; i32[n, 2]",
        "[n]" => error "the element type must be f64",
    }
    shape_table! { integers: INTEGERS, {"dtype": DType::QI8, "axis": 1, "low": -128, "high": 127},
        "i32[n, ?]; i32[]; i32[4]; i32[4]; i32[]" => "qi8[n, 4]",
        "qi32[n, 3]; i32[]; i32[4]; i32[4]; i32[]" => error "the number of slices and the size of the axis must agree, got 4 and 3",
        "f32[n]; i32[]; i32[]; i32[]; i32[]" => error "x must be quantized or i32, and the other four operands must be i32",
    }
    shape_table! { one_slice: INTEGERS, {"dtype": DType::QI8, "low": -128, "high": 127},
        "i32[n, 4]; i32[]; i32[4]; i32[4]; i32[]" => error "must be a scalar, or a vector if axis is given",
    }

    #[test]
    fn factors_have_31_bits() {
        let below_1 = 1.0 - f64::EPSILON / 2.0;
        let x = tensor(&[6], &[1.0, 0.75, below_1, 1e-12, 1e12, f64::from(1 << 29)]);
        let [factors, exponents]: [_; 2] = run(&RATIO, &Attrs::new(), &[x]).unwrap().try_into().unwrap();
        let (one, most) = (1 << 30, i32::MAX);
        assert_eq!(factors.to_vec::<i32>().unwrap(), [one, 3 << 29, one, 0, most, one]);
        assert_eq!(exponents.to_vec::<i32>().unwrap(), [1, 0, 1, 0, 30, 30]);
    }
}
