//! `quantize_and_dequantize`: rounds floats to a step times an integer of a few bits.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, DType};

use super::fake_quant::Quantization;
use super::fake_quant_gradient::masked;
use super::snap;
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::{Expr, Index};
use crate::graph::{IntoOperand, OperandSource, Value};
use crate::op::{CompositeCx, OpDef, Operand, TfOp};
use crate::ops::array::concat;
use crate::ops::reduce::Axes;
use crate::shape_fns;

impl<'g> Value<'g> {
    /// Rounds each element to a step times a signed integer of `quantization.bits` bits. The step is the least one for
    /// which these numbers reach all elements. Ties round to even.
    ///
    /// `[..] -> [..]`, floats. f16 and bf16 are computed as f32 and rounded once. As TensorFlow's
    /// `QuantizeAndDequantizeV2`. The op is composed of reductions and of an elementwise op, which fuse into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Quantization, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([-1.0f32, 0.2, 0.5])?;
    /// let y = x.quantize_and_dequantize(Quantization::default())?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([-1.0f32, 0.2031, 0.5]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not a float, or the number of bits is not from 1 to 61.
    #[track_caller]
    pub fn quantize_and_dequantize(self, quantization: Quantization) -> Result<Value<'g>> {
        let location = Location::caller();
        let zero = 0.0.into_operand(self, location);
        let call = self.graph().op(&DEF).data(self).data(zero).data(zero);
        let call = call.attr("num_bits", quantization.bits).attr("narrow_range", quantization.narrow_range);
        call.finish_at(location)
    }

    /// Does the same as [`Value::quantize_and_dequantize`] for elements from `min` to `max`, two scalars. An element
    /// outside the range becomes the nearest end of the range. One end may move outward, to the lowest or the
    /// highest integer times the step. The range is checked on the host, unless it is constant.
    ///
    /// ```
    /// use shapeflow::{Graph, Quantization, Tensor};
    ///
    /// let g = Graph::new();
    /// let (min, max) = (g.constant(-1.0f32)?, g.constant(0.5f32)?);
    /// let x = g.constant([-5.0f32, 0.2, 0.25])?;
    /// let y = x.quantize_and_dequantize_range(min, max, Quantization::default())?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([-1.0f32, 0.2031, 0.25]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtypes differ or are not floats, the range is not two scalars, or the number of bits is not from 1 to 61.
    /// The run fails if `min` is greater than `max`, or one of them is NaN.
    #[track_caller]
    pub fn quantize_and_dequantize_range(
        self,
        min: impl IntoOperand<'g>,
        max: impl IntoOperand<'g>,
        quantization: Quantization,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        let (min, max) = (min.into_operand(self, location), max.into_operand(self, location));
        let call = self.graph().op(&DEF).data(self).data(min).data(max).attr("range_given", true);
        let call = call.attr("num_bits", quantization.bits).attr("narrow_range", quantization.narrow_range);
        call.finish_at(location)
    }
}

pub(crate) static DEF: OpDef = OpDef::composite("quantize_and_dequantize", build)
    .attrs(&[
        Attribute::bool_or("signed_input", true),
        Attribute::int_or("num_bits", 8),
        Attribute::bool_or("range_given", false),
        Attribute::str_or("round_mode", "HALF_TO_EVEN"),
        Attribute::bool_or("narrow_range", false),
        Attribute::int_or("axis", -1),
    ])
    .operands(&[Operand::Data("input"), Operand::Data("input_min"), Operand::Data("input_max")])
    .dtype_rule(snap::dtypes)
    .tensorflow(&[TfOp::new("QuantizeAndDequantizeV2"), TfOp::new("QuantizeAndDequantizeV4")]);

/// An op for import only: the range is two attributes. As TensorFlow's `QuantizeAndDequantize`. The op is composed of
/// `quantize_and_dequantize`, which fuses into kernels.
pub(crate) static V1: OpDef = OpDef::composite("quantize_and_dequantize_v1", |cx, values| {
    let [x] = values else {
        return Err(Error::msg("quantize_and_dequantize_v1 needs an input"));
    };
    // Else a number has no conversion to the dtype of the range.
    dtype::common(&[x.dtype()], 0, 1, dtype::Class::Float)?;
    let ends = ["input_min", "input_max"].map(|name| x.graph().constant(cx.attrs().float(name)));
    let [min, max] = ends;
    let call = x.graph().op(&DEF).data(*x).data(min?.cast(x.dtype())?).data(max?.cast(x.dtype())?);
    let call = call.attr("signed_input", cx.attrs().bool("signed_input"));
    let call = call.attr("num_bits", cx.attrs().int("num_bits"));
    Ok(vec![call.attr("range_given", cx.attrs().bool("range_given")).finish()?])
})
.attrs(&[
    Attribute::bool_or("signed_input", true),
    Attribute::int_or("num_bits", 8),
    Attribute::bool_or("range_given", false),
    Attribute::float_or("input_min", 0.0),
    Attribute::float_or("input_max", 0.0),
])
.operands(&[Operand::Data("input")])
.tensorflow(&[TfOp::new("QuantizeAndDequantize")]);

/// An op for import only: the number of bits is an operand.
pub(crate) static WITH_BITS: OpDef = OpDef::composite("quantize_and_dequantize_bits", build)
    .attrs(&[
        Attribute::bool_or("signed_input", true),
        Attribute::bool_or("range_given", true),
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
    .dtype_rule(snap::dtypes)
    .tensorflow(&[TfOp::new("QuantizeAndDequantizeV3")]);

/// An op for import only: the gradient of `quantize_and_dequantize` for a given range. The result is the incoming
/// gradient where the input is in the range, and 0 times the gradient elsewhere. The ends of the range have the
/// gradient 0.
pub(crate) static GRAD: OpDef = OpDef::compute("quantize_and_dequantize_grad", |cx, output, index| {
    let zero = Expr::zero(cx.output_dtype(output));
    if output > 0 {
        return zero;
    }
    let axis = usize::try_from(cx.attrs().int("axis")).ok();
    let slice: Vec<Index> = axis.and_then(|axis| index.get(axis).cloned()).into_iter().collect();
    let (x, min, max) = (cx.operand(1, index), cx.operand(2, &slice), cx.operand(3, &slice));
    let is_inside = min.less_equal(x.clone()) & x.less_equal(max);
    masked(is_inside, &cx.operand(0, index))
})
.attrs(&[Attribute::int_or("axis", -1)])
.operands(&[
    Operand::Data("gradients"),
    Operand::Data("input"),
    Operand::Data("input_min"),
    Operand::Data("input_max"),
])
.outputs(|_, _| 3)
.shape_fn(shape_fns::quantize::quantize_and_dequantize_grad)
.dtype_rule(|dtypes, _| Ok(vec![dtype::common(dtypes, 0, 4, dtype::Class::Float)?; 3]))
.tensorflow(&[TfOp::new("QuantizeAndDequantizeV4Grad")]);

/// Finds the range and rounds to it.
fn build<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let dtypes: Vec<_> = values.iter().map(|value| value.dtype()).collect();
    snap::dtypes(&dtypes, cx.attrs())?;
    let [x, given @ ..] = values else {
        return Err(Error::msg("quantize_and_dequantize needs an input and its range"));
    };
    let round_mode = cx.attrs().str("round_mode");
    if !matches!(round_mode, "HALF_TO_EVEN" | "HALF_UP") {
        return refuse(format!("round_mode must be HALF_TO_EVEN or HALF_UP, got {round_mode:?}"));
    }
    let is_given = cx.attrs().bool("range_given");
    let mut operands = given.to_vec();
    match is_given {
        true => {
            let ascends = given[0].less_equal(given[1])?.reduce_all(..)?;
            operands[0] = given[0].checked(ascends, "input_min must be at most input_max")?;
        }
        false => operands[..2].copy_from_slice(&range(cx, *x)?),
    }
    // The integers and the step must fit an i64.
    let most = if cx.attrs().bool("signed_input") { 61 } else { 62 };
    let requirement = format!("num_bits must be from 1 to {most}");
    match operands.get_mut(2) {
        Some(bits) => {
            let fits = bits.greater(0)?.logical_and(bits.less_equal(most)?)?;
            *bits = bits.checked(fits, &requirement)?;
        }
        None => {
            let bits = cx.attrs().int("num_bits");
            if !(1..=i64::from(most)).contains(&bits) {
                return refuse(format!("{requirement}, got {bits}"));
            }
            operands.push(x.graph().constant(bits as i32)?);
        }
    }
    let call = x.graph().op(&snap::DEF).data(*x).data_all(&operands);
    let mut call = call.attr("range_given", is_given);
    for name in ["narrow_range", "signed_input", "round_mode", "axis"] {
        if let Some(value) = cx.attrs().get(name) {
            call = call.attr(name, value.clone());
        }
    }
    Ok(vec![call.finish()?])
}

fn refuse<T>(message: String) -> Result<T> {
    Err(Error::new(ErrorKind::Attribute, Phase::Build, message))
}

/// Returns the least and the greatest element: of every slice along attribute `axis` if the attribute is given, else of
/// the whole tensor. NaN counts as 0, which never changes the step.
fn range<'g>(cx: &CompositeCx<'_>, x: Value<'g>) -> Result<[Value<'g>; 2]> {
    let numbers = x.is_nan()?.select(x.zeros_like()?, x)?;
    let axes = match cx.attrs().int("axis") {
        axis @ 0.. => {
            // The axes are a value of the graph, because the rank may be unknown when the graph is built.
            let after = x.graph().range(axis + 1, x.rank_tensor_as(DType::I64)?, 1)?;
            let before = x.graph().range(0, axis, 1)?.cast(DType::I64)?;
            Axes::of(concat(&[before, after], 0)?)
        }
        _ => Axes::all(),
    };
    Ok([numbers.reduce_min(axes.clone())?, numbers.reduce_max(axes)?])
}

#[cfg(test)]
mod tests {
    use super::GRAD;
    use crate::graph::Graph;
    use crate::ops::quantize::Quantization;
    use crate::ops::testing::{check_tensor, shape_table, tensor};

    shape_table! { GRAD, {"axis": 1},
        "[n, ?]; [?, 3]; [?]; [3]" => "[n, 3]; [3]; [3]",
        "[n]; [n]; []; f64[]" => error "operands must have one dtype",
    }

    #[test]
    fn multiples_of_the_step_are_kept() {
        let g = Graph::new();
        let x = g.constant([-3.0f32, -1.2, -0.5, 0.0, 0.5, 1.5, 7.0]).unwrap();
        let few = Quantization { bits: 4, narrow_range: false };
        let [y] = g.compile(x.quantize_and_dequantize(few).unwrap()).unwrap().run(&[]).unwrap();
        check_tensor(&y, &tensor(&[7], &[-3.0f32, -1.0, 0.0, 0.0, 0.0, 2.0, 7.0]), "4 bits");
        let narrow = Quantization { bits: 3, narrow_range: true };
        let y = x.quantize_and_dequantize_range(-1.0, 1.5, narrow).unwrap();
        let [y] = g.compile(y).unwrap().run(&[]).unwrap();
        check_tensor(&y, &tensor(&[7], &[-1.5f32, -1.0, -0.5, 0.0, 0.5, 1.5, 1.5]), "a given range");
    }
}
