//! `fake_quant_grad`: the gradients of `fake_quant`.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType, Dim, InferenceContext};

use super::fake_quant::{
    NudgedRange, Quantization, args_ends, args_range_is_valid, check_bits, integers, is_empty_range,
};
use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx, ReduceOp};
use crate::graph::{IntoOperand, Value};
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::array::unstack::exactly;
use crate::ops::widen::widen;
use crate::shape_fns;

impl<'g> Value<'g> {
    /// The gradient of [`Value::fake_quant`]: `self` where `input` lies in the range, ends included, and `0 * self`
    /// elsewhere. That product is NaN if `self` is infinite or NaN. `self` is the gradient of the loss with respect to
    /// the result, and `input` is the operand of `fake_quant`. The range is the moved range that `fake_quant` uses.
    ///
    /// `[..], [..] -> [..]`, floats of one dtype. As TensorFlow's `FakeQuantWithMinMaxArgsGradient`. Fuses into
    /// kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Quantization, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([-1.0f32, 0.1, 9.0])?;
    /// let y = g.constant([1.0f32, 2.0, 3.0])?.fake_quant_grad(x, 0.0, 6.375, Quantization::default())?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([0.0f32, 2.0, 0.0]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtypes differ or are not floats, the shapes differ, `min` is not less than `max`, or the number of bits is
    /// not from 2 to 16.
    #[track_caller]
    pub fn fake_quant_grad(
        self,
        input: impl IntoOperand<'g>,
        min: f64,
        max: f64,
        quantization: Quantization,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        let input = input.into_operand(self, location);
        let call = self.graph().op(&ARGS).data(self).data(input).attr("min", min).attr("max", max);
        let call = call.attr("num_bits", quantization.bits);
        call.attr("narrow_range", quantization.narrow_range).finish_at(location)
    }

    /// The gradients of [`Value::fake_quant_vars`] with respect to its operand, `min` and `max`. The operand gets
    /// `self` where `input` lies in the range, ends included, and `0 * self` elsewhere. `min` gets the sum of `self`
    /// over the elements below the range, and `max` the sum over the elements above the range; an infinity or NaN in
    /// `self` makes both sums NaN. If both ends are 0, the operand gets all of `self`, and the sums are 0.
    ///
    /// `[..], [..], [], [] -> [..], [], []`, floats of one dtype. f16 and bf16 are added as f32 and rounded once. As
    /// TensorFlow's `FakeQuantWithMinMaxVarsGradient`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Quantization, Tensor};
    ///
    /// let g = Graph::new();
    /// let (min, max) = (g.constant(0.0f32)?, g.constant(6.375f32)?);
    /// let x = g.constant([-1.0f32, 0.1, 9.0])?;
    /// let gradients = g.constant([1.0f32, 2.0, 3.0])?.fake_quant_vars_grad(x, min, max, Quantization::default())?;
    /// let [x, min, max] = g.compile(gradients)?.run(&[])?;
    /// assert_eq!(x, Tensor::from([0.0f32, 2.0, 0.0]));
    /// assert_eq!((min, max), (Tensor::scalar(1.0f32), Tensor::scalar(3.0f32)));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtypes differ or are not floats, the shapes differ, the range is not two scalars, or the number of bits is
    /// not from 2 to 16.
    #[track_caller]
    pub fn fake_quant_vars_grad(
        self,
        input: impl IntoOperand<'g>,
        min: impl IntoOperand<'g>,
        max: impl IntoOperand<'g>,
        quantization: Quantization,
    ) -> Result<[Value<'g>; 3]> {
        let location = Location::caller();
        let operands = [
            input.into_operand(self, location),
            min.into_operand(self, location),
            max.into_operand(self, location),
        ];
        self.range_gradients(&VARS, operands, quantization, location)
    }

    /// Does the same as [`Value::fake_quant_vars_grad`] with a range for every channel, the last axis: the gradients of
    /// [`Value::fake_quant_channels`].
    ///
    /// `[.., c], [.., c], [c], [c] -> [.., c], [c], [c]`, floats of one dtype; the rank is at most 4. As TensorFlow's
    /// `FakeQuantWithMinMaxVarsPerChannelGradient`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Quantization, Tensor};
    ///
    /// let g = Graph::new();
    /// let (min, max) = (g.constant([0.0f32, 0.0])?, g.constant([6.375f32, 12.75])?);
    /// let gradient = g.constant([[1.0f32, 2.0]])?;
    /// let gradients =
    ///     gradient.fake_quant_channels_grad(g.constant([[9.0f32, 9.0]])?, min, max, Quantization::default())?;
    /// let [x, min, max] = g.compile(gradients)?.run(&[])?;
    /// assert_eq!(x, Tensor::from([[0.0f32, 2.0]]));
    /// assert_eq!((min, max), (Tensor::from([0.0f32, 0.0]), Tensor::from([1.0f32, 0.0])));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::fake_quant_vars_grad`], but the range must be two vectors with one element per channel.
    #[track_caller]
    pub fn fake_quant_channels_grad(
        self,
        input: impl IntoOperand<'g>,
        min: impl IntoOperand<'g>,
        max: impl IntoOperand<'g>,
        quantization: Quantization,
    ) -> Result<[Value<'g>; 3]> {
        let location = Location::caller();
        let operands = [
            input.into_operand(self, location),
            min.into_operand(self, location),
            max.into_operand(self, location),
        ];
        self.range_gradients(&CHANNELS, operands, quantization, location)
    }

    fn range_gradients(
        self,
        def: &'static OpDef,
        operands: [Value<'g>; 3],
        quantization: Quantization,
        location: &'static Location<'static>,
    ) -> Result<[Value<'g>; 3]> {
        let call = self.graph().op(def).data(self);
        let call = operands.into_iter().fold(call, |call, operand| call.data(operand));
        let call = call.attr("num_bits", quantization.bits).attr("narrow_range", quantization.narrow_range);
        exactly(call.finish_all_at(location)?.into_vec())
    }
}

const OPERANDS: &[Operand] =
    &[Operand::Data("gradients"), Operand::Data("inputs"), Operand::Data("min"), Operand::Data("max")];

pub(crate) static ARGS: OpDef = OpDef::compute("fake_quant_grad", lower_args)
    .attrs(&[
        Attribute::float_or("min", -6.0),
        Attribute::float_or("max", 6.0),
        Attribute::int_or("num_bits", 8),
        Attribute::bool_or("narrow_range", false),
    ])
    .operands(&[Operand::Data("gradients"), Operand::Data("inputs")])
    .shape_fn(args_shape)
    .dtype_rule(dtype::binary::float)
    .tensorflow(&[TfOp::new("FakeQuantWithMinMaxArgsGradient")]);

pub(crate) static VARS: OpDef = OpDef::compute("fake_quant_vars_grad", lower_vars)
    .attrs(&[Attribute::int_or("num_bits", 8), Attribute::bool_or("narrow_range", false)])
    .operands(OPERANDS)
    .outputs(|_, _| 3)
    .shape_fn(|cx| {
        check_bits(cx)?;
        shape_fns::quantize::fake_quantize_grad(cx)
    })
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("FakeQuantWithMinMaxVarsGradient")]);

pub(crate) static CHANNELS: OpDef = OpDef::compute("fake_quant_channels_grad", lower_channels)
    .attrs(&[Attribute::int_or("num_bits", 8), Attribute::bool_or("narrow_range", false)])
    .operands(OPERANDS)
    .outputs(|_, _| 3)
    .shape_fn(|cx| {
        check_bits(cx)?;
        shape_fns::quantize::fake_quantize_channels_grad(cx)
    })
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("FakeQuantWithMinMaxVarsPerChannelGradient")]);

fn dtypes(operands: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    Ok(vec![dtype::common(operands, 0, 4, dtype::Class::Float)?; 3])
}

fn args_shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    check_bits(cx)?;
    args_range_is_valid(cx)?;
    shape_fns::common::same_shape(cx)
}

/// Returns whether `x` lies in the range, ends included.
fn is_inside(x: &Expr, range: &NudgedRange) -> Expr {
    range.min.clone().less_equal(x.clone()) & x.clone().less_equal(range.max.clone())
}

/// Returns the product of the gradient and 1 where `is_kept`, else 0. As in TensorFlow, the product of 0 and a gradient
/// that is infinite or NaN is NaN.
pub(super) fn masked(is_kept: Expr, gradient: &Expr) -> Expr {
    is_kept.select(gradient.like(1.0), gradient.like(0.0)) * gradient
}

fn lower_args(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let (gradient, x) = (cx.operand(0, index), widen(cx.operand(1, index)));
    let [min, max] = args_ends(cx.attrs()).map(|end| x.like(end));
    let range = NudgedRange::new(min, max, integers(cx.attrs()));
    masked(is_inside(&x, &range), &gradient).cast(cx.output_dtype(output))
}

/// Returns the part of the gradient at `index` that belongs to `output`: the operand, the minimum or the maximum of the
/// range.
fn part(cx: &mut dyn LowerCx, output: usize, index: &[Index], channel: &[Index]) -> Expr {
    let (gradient, x) = (widen(cx.operand(0, index)), widen(cx.operand(1, index)));
    let (min, max) = (widen(cx.operand(2, channel)), widen(cx.operand(3, channel)));
    let is_empty = is_empty_range(&min, &max);
    let range = NudgedRange::new(min, max, integers(cx.attrs()));
    if output == 0 {
        return masked(is_empty | is_inside(&x, &range), &gradient);
    }
    let is_outside = if output == 1 { x.less(range.min) } else { range.max.less(x) };
    is_empty.select(gradient.like(0.0), masked(is_outside, &gradient))
}

fn lower_vars(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let dtype = cx.output_dtype(output);
    if output == 0 {
        return part(cx, 0, index, &[]).cast(dtype);
    }
    let extents = cx.dims(0);
    sum(cx, &extents, &mut |cx, inner| part(cx, output, inner, &[])).cast(dtype)
}

fn lower_channels(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let dtype = cx.output_dtype(output);
    let channel = index.last().expect("the rank is at least 1");
    let channel = std::slice::from_ref(channel);
    if output == 0 {
        return part(cx, 0, index, channel).cast(dtype);
    }
    let dims = cx.dims(0);
    let (_, extents) = dims.split_last().expect("the rank is at least 1");
    sum(cx, extents, &mut |cx, inner| part(cx, output, &[inner, channel].concat(), channel)).cast(dtype)
}

/// Adds the elements of `body` over `extents`.
fn sum(
    cx: &mut dyn LowerCx,
    extents: &[Dim],
    body: &mut dyn FnMut(&mut dyn LowerCx, &[Index]) -> Expr,
) -> Expr {
    if extents.is_empty() { body(cx, &[]) } else { cx.reduce(ReduceOp::Sum, extents, body) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run, shape_table, tensor};

    shape_table! { ARGS, {"min": -1.0, "max": 1.0},
        "[2, n]; [?, 3]" => "[2, 3]",
        "[2]; f64[2]" => error "one dtype, got f32 and f64",
    }
    shape_table! { vars: VARS, {},
        "[2, n]; [?, 3]; []; []" => "[2, 3]; []; []",
        "[2]; [2]; [1]; []" => error "min must have rank 0",
    }
    shape_table! { channels: CHANNELS, {"num_bits": 4},
        "[2, n]; [?, 3]; [?]; [m]" => "[2, 3]; [3]; [3]",
    }

    /// With 2 bits, the range from -0.4 to 1 has steps of 1.4/3 and begins at -1.4/3.
    #[test]
    fn the_ends_of_the_range_are_inside() {
        let step = 1.4 / 3.0;
        let attrs = Attrs::new().with("num_bits", 2);
        let x = [-9.0f64, -step - 1e-9, -step, 0.0, 2.0 * step, 2.0 * step + 1e-9];
        let gradient = [1.0f64, 2.0, 4.0, 8.0, 16.0, 32.0];
        let ends = [tensor(&[], &[-0.4]), tensor(&[], &[1.0f64])];
        let [min, max] = ends;
        let outputs = run(&VARS, &attrs, &[tensor(&[6], &gradient), tensor(&[6], &x), min, max]).unwrap();
        assert_eq!(outputs[0].to_vec::<f64>().unwrap(), [0.0, 0.0, 4.0, 8.0, 16.0, 0.0]);
        assert_eq!((outputs[1].item::<f64>().unwrap(), outputs[2].item::<f64>().unwrap()), (3.0, 32.0));
    }

    #[test]
    fn the_gradient_is_multiplied_by_the_mask() {
        let (gradient, x) =
            (tensor(&[3], &[f32::INFINITY, -1.0, f32::NAN]), tensor(&[3], &[100.0f32, 100.0, 100.0]));
        let attrs = Attrs::new().with("min", -6.0).with("max", 6.0);
        let outputs = run(&ARGS, &attrs, &[gradient, x]).unwrap();
        let got = outputs[0].to_vec::<f32>().unwrap();
        assert!(got[0].is_nan() && got[1].to_bits() == (-0.0f32).to_bits() && got[2].is_nan(), "{got:?}");
        let ends = [tensor(&[], &[-6.0f32]), tensor(&[], &[6.0f32])];
        let [min, max] = ends;
        let (gradient, x) = (tensor(&[2], &[f32::INFINITY, -2.0]), tensor(&[2], &[1.0f32, 100.0]));
        let outputs = run(&VARS, &Attrs::new(), &[gradient, x, min, max]).unwrap();
        assert_eq!(outputs[0].to_vec::<f32>().unwrap(), [f32::INFINITY, 0.0]);
        assert!(outputs[1].item::<f32>().unwrap().is_nan() && outputs[2].item::<f32>().unwrap().is_nan());
    }

    #[test]
    fn an_empty_range_passes_the_gradient_on() {
        let operands = [
            tensor(&[1, 2], &[3.0f32, 4.0]),
            tensor(&[1, 2], &[9.0f32, 9.0]),
            tensor(&[2], &[0.0f32, -1.0]),
            tensor(&[2], &[0.0f32, 1.0]),
        ];
        let outputs = run(&CHANNELS, &Attrs::new(), &operands).unwrap();
        let got: Vec<Vec<f32>> = outputs.iter().map(|output| output.to_vec().unwrap()).collect();
        assert_eq!(got, [[3.0, 0.0], [0.0, 0.0], [0.0, 4.0]]);
    }
}
