//! `fake_quant`: rounds floats to the numbers that an unsigned integer of a few bits can represent.

use std::cmp::Ordering;
use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, InferenceContext, ShapeError};

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx, UnaryOp};
use crate::graph::{IntoOperand, Value};
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::rounding::round_half_away;
use crate::ops::widen::widen;
use crate::shape_fns;

/// The integers that a simulated quantization uses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Quantization {
    /// The number of bits. [`Value::fake_quant`] and its variants take 2 to 16 bits;
    /// [`Value::quantize_and_dequantize`] and its variants take 1 to 61 bits.
    pub bits: i64,
    /// Leaves out the lowest integer.
    pub narrow_range: bool,
}

impl Default for Quantization {
    /// 8 bits and all integers.
    fn default() -> Quantization {
        Quantization { bits: 8, narrow_range: false }
    }
}

impl<'g> Value<'g> {
    /// Rounds the elements to evenly spaced numbers from `min` to `max`, one for each integer of the quantization. The
    /// range is moved a little so that 0 is one of the numbers. Elements outside the range become its ends.
    ///
    /// `[..] -> [..]`, floats. f16 and bf16 are computed as f32 and rounded once. As TensorFlow's
    /// `FakeQuantWithMinMaxArgs`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Quantization, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([-1.0f32, 0.1, 9.0])?;
    /// let y = x.fake_quant(0.0, 6.375, Quantization::default())?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([0.0f32, 0.1, 6.375]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not a float, `min` is not less than `max`, or the number of bits is not from 2 to 16.
    #[track_caller]
    pub fn fake_quant(self, min: f64, max: f64, quantization: Quantization) -> Result<Value<'g>> {
        let call = self.graph().op(&ARGS).data(self).attr("min", min).attr("max", max);
        call.attr("num_bits", quantization.bits).attr("narrow_range", quantization.narrow_range).finish()
    }

    /// Does the same as [`Value::fake_quant`] for a range whose ends are scalar values. If both ends are 0, the result
    /// is 0. As TensorFlow's `FakeQuantWithMinMaxVars`.
    ///
    /// ```
    /// use shapeflow::{Graph, Quantization, Tensor};
    ///
    /// let g = Graph::new();
    /// let (min, max) = (g.constant(0.0f32)?, g.constant(6.375f32)?);
    /// let y = g.constant([-1.0f32, 0.1, 9.0])?.fake_quant_vars(min, max, Quantization::default())?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([0.0f32, 0.1, 6.375]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtypes differ or are not floats, the range is not two scalars, or the number of bits is not from 2 to 16.
    #[track_caller]
    pub fn fake_quant_vars(
        self,
        min: impl IntoOperand<'g>,
        max: impl IntoOperand<'g>,
        quantization: Quantization,
    ) -> Result<Value<'g>> {
        self.ranged(&VARS, min, max, quantization, Location::caller())
    }

    /// Does the same as [`Value::fake_quant_vars`] with a range for every channel, the last axis: `min` and `max` are
    /// vectors. As TensorFlow's `FakeQuantWithMinMaxVarsPerChannel`.
    ///
    /// ```
    /// use shapeflow::{Graph, Quantization, Tensor};
    ///
    /// let g = Graph::new();
    /// let (min, max) = (g.constant([0.0f32, 0.0])?, g.constant([6.375f32, 12.75])?);
    /// let y = g.constant([[9.0f32, 9.0]])?.fake_quant_channels(min, max, Quantization::default())?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([[6.375f32, 9.0]]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::fake_quant_vars`], but the range must be two vectors with one element per channel.
    #[track_caller]
    pub fn fake_quant_channels(
        self,
        min: impl IntoOperand<'g>,
        max: impl IntoOperand<'g>,
        quantization: Quantization,
    ) -> Result<Value<'g>> {
        self.ranged(&CHANNELS, min, max, quantization, Location::caller())
    }

    fn ranged(
        self,
        def: &'static OpDef,
        min: impl IntoOperand<'g>,
        max: impl IntoOperand<'g>,
        quantization: Quantization,
        location: &'static Location<'static>,
    ) -> Result<Value<'g>> {
        let (min, max) = (min.into_operand(self, location), max.into_operand(self, location));
        let call = self.graph().op(def).data(self).data(min).data(max).attr("num_bits", quantization.bits);
        call.attr("narrow_range", quantization.narrow_range).finish_at(location)
    }
}

pub(crate) static ARGS: OpDef = OpDef::compute("fake_quant", lower_args)
    .attrs(&[
        Attribute::float_or("min", -6.0),
        Attribute::float_or("max", 6.0),
        Attribute::int_or("num_bits", 8),
        Attribute::bool_or("narrow_range", false),
    ])
    .operands(&[Operand::Data("inputs")])
    .shape_fn(args_shape)
    .dtype_rule(dtype::unary::float)
    .tensorflow(&[TfOp::new("FakeQuantWithMinMaxArgs")]);

pub(crate) static VARS: OpDef = OpDef::compute("fake_quant_vars", |cx, _, index| lower_vars(cx, index, &[]))
    .attrs(&[Attribute::int_or("num_bits", 8), Attribute::bool_or("narrow_range", false)])
    .operands(&[Operand::Data("inputs"), Operand::Data("min"), Operand::Data("max")])
    .shape_fn(vars_shape)
    .dtype_rule(dtype::ternary::float)
    .tensorflow(&[TfOp::new("FakeQuantWithMinMaxVars")]);

pub(crate) static CHANNELS: OpDef = OpDef::compute("fake_quant_channels", |cx, _, index| {
    lower_vars(cx, index, index.last().map(std::slice::from_ref).unwrap_or_default())
})
.attrs(&[Attribute::int_or("num_bits", 8), Attribute::bool_or("narrow_range", false)])
.operands(&[Operand::Data("inputs"), Operand::Data("min"), Operand::Data("max")])
.shape_fn(channels_shape)
.dtype_rule(dtype::ternary::float)
.tensorflow(&[TfOp::new("FakeQuantWithMinMaxVarsPerChannel")]);

pub(super) fn check_bits(cx: &InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    match cx.int_or("num_bits", 8)? {
        2..=16 => Ok(()),
        other => Err(ShapeError::new(format_args!("num_bits must be from 2 to 16, got {other}"))),
    }
}

fn args_shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    check_bits(cx)?;
    args_range_is_valid(cx)?;
    shape_fns::common::unary(cx)
}

/// Checks that the attribute `min` is less than `max`.
pub(super) fn args_range_is_valid(cx: &InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    let (min, max) = (cx.attrs().float("min"), cx.attrs().float("max"));
    if min.partial_cmp(&max) != Some(Ordering::Less) {
        return Err(ShapeError::new(format_args!("min must be less than max, got {min} and {max}")));
    }
    Ok(())
}

fn vars_shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    check_bits(cx)?;
    shape_fns::quantize::fake_quantize(cx)
}

fn channels_shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    check_bits(cx)?;
    shape_fns::quantize::fake_quantize_channels(cx)
}

/// Returns the ends of the range that attributes give.
pub(super) fn args_ends(attrs: &Attrs) -> [f64; 2] {
    [attrs.float("min"), attrs.float("max")]
}

/// Returns the least and the greatest integer.
pub(super) fn integers(attrs: &Attrs) -> [f64; 2] {
    let bits = attrs.int("num_bits") as i32;
    let is_narrow = attrs.bool("narrow_range");
    [if is_narrow { 1.0 } else { 0.0 }, 2f64.powi(bits) - 1.0]
}

fn lower_args(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let x = widen(cx.operand(0, index));
    let [min, max] = args_ends(cx.attrs()).map(|end| x.like(end));
    rounded(x, min, max, integers(cx.attrs()), false).cast(cx.output_dtype(output))
}

fn lower_vars(cx: &mut dyn LowerCx, index: &[Index], channel: &[Index]) -> Expr {
    let x = widen(cx.operand(0, index));
    let (min, max) = (widen(cx.operand(1, channel)), widen(cx.operand(2, channel)));
    let zero = x.like(0.0);
    let is_empty = is_empty_range(&min, &max);
    let value = rounded(x, min, max, integers(cx.attrs()), channel.is_empty());
    is_empty.select(zero, value).cast(cx.output_dtype(0))
}

/// Returns whether both ends of a range are 0.
pub(super) fn is_empty_range(min: &Expr, max: &Expr) -> Expr {
    let is_zero = |end: &Expr| end.clone().equal(end.like(0.0));
    is_zero(min) & is_zero(max)
}

/// A range that is moved so that 0 is one of its numbers.
pub(super) struct NudgedRange {
    pub min: Expr,
    pub max: Expr,
    /// The distance of neighboring numbers.
    scale: Expr,
    /// The number of steps per unit: the inverse of `scale`, computed from the range instead of from `scale`.
    steps_per_unit: Expr,
}

impl NudgedRange {
    /// Moves the range from `min` to `max`, whose numbers stand for the integers from `low` to `high`.
    pub fn new(min: Expr, max: Expr, [low, high]: [f64; 2]) -> NudgedRange {
        let (low, high) = (min.like(low), min.like(high));
        let (width, steps) = (max - &min, &high - &low);
        let (scale, steps_per_unit) = (&width / &steps, steps / width);
        let zero_point = &low - min / &scale;
        let nearest = round_half_away(zero_point.maximum(low.clone()).minimum(high.clone()));
        NudgedRange { min: (&low - &nearest) * &scale, max: (high - nearest) * &scale, scale, steps_per_unit }
    }
}

/// Rounds `x` to the nearest number of the range, which is moved so that 0 is one of its numbers. TensorFlow divides by
/// the step if the range is two scalars (`divides`), and else multiplies by the number of steps per unit. The two
/// differ where `x` lies halfway between two numbers.
fn rounded(x: Expr, min: Expr, max: Expr, integers: [f64; 2], divides: bool) -> Expr {
    let NudgedRange { min, max, scale, steps_per_unit } = NudgedRange::new(min, max, integers);
    let half = scale.like(0.5);
    let steps_to_zero = (&half - &min * &steps_per_unit).unary(UnaryOp::Floor);
    // The minimum is clamped last, so that it is the result for a range that descends.
    let distance = x.minimum(max).maximum(min.clone()) - min;
    let steps = if divides { distance / &scale } else { distance * steps_per_unit };
    (steps - steps_to_zero + half).unary(UnaryOp::Floor) * scale
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::{ARGS, CHANNELS, VARS};
    use crate::ops::testing::{check_tensor, run_one, shape_table, tensor};

    shape_table! { ARGS, {"min": -1.0, "max": 1.0},
        "[2, n]" => "[2, d0_1]",
        "i32[2]" => error "must be a float, got i32",
    }
    shape_table! { empty_range: ARGS, {"min": 1.0, "max": 1.0},
        "[2]" => error "min must be less than max, got 1 and 1",
    }
    shape_table! { no_number: ARGS, {"min": f64::NAN, "max": 1.0},
        "[2]" => error "min must be less than max, got NaN and 1",
    }
    shape_table! { bits: VARS, {"num_bits": 17},
        "[2]; []; []" => error "num_bits must be from 2 to 16, got 17",
    }
    shape_table! { channels: CHANNELS, {},
        "[2, n]; [3]; [?]" => "[2, 3]",
    }

    /// The results of TensorFlow: 0 is nearest to the least integer if the range begins just above -0.5 steps.
    #[test]
    fn a_range_that_begins_less_than_half_a_step_below_zero_begins_at_zero() {
        let below = 0.5f32.next_down();
        let [min, max] = [-below, 254.5].map(|end| tensor(&[], &[end]));
        let y = run_one(&VARS, &Attrs::new(), &[tensor(&[2], &[-5.0f32, 300.0]), min, max]);
        assert_eq!(y.to_vec::<f32>().unwrap(), [0.0, 255.0]);
    }

    #[test]
    fn zero_is_a_number_of_the_range() {
        let attrs = Attrs::new().with("min", -0.4).with("max", 1.0).with("num_bits", 2);
        let x = tensor(&[5], &[-9.0f64, -0.2, 0.0, 0.3, 9.0]);
        let step = 1.4 / 3.0;
        let expected = [-step, 0.0, 0.0, step, 2.0 * step];
        check_tensor(&run_one(&ARGS, &attrs, &[x]), &tensor(&[5], &expected), "fake_quant");
    }
}
