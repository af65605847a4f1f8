//! Reductions that TensorFlow has no op for, composed of ops that it has. An export writes these functions.

use shapeflow_shape_fns::{Attr, DType};

use super::axes::{Axes, IntoAxes};
use crate::error::{Error, Result};
use crate::graph::Value;
use crate::op::CompositeCx;
use crate::ops::in_tensorflow::{operands, rank_of, widened};

/// Returns the operand, converted to the dtype in which the op computes (f32 for f16 and bf16), and the axes: all axes
/// if the call gives none.
fn operand_and_axes<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<(Value<'g>, Vec<i64>)> {
    let [x] = operands(values)?;
    let rank = rank_of(x)?;
    let axes = match cx.attrs().get("axis").and_then(Attr::to_elements) {
        Some(axes) => axes.as_known().ok_or_else(|| Error::msg("the axes must be known"))?,
        None if values.len() > 1 => return Err(Error::msg("the axes must be known")),
        None => (0..rank as i64).collect(),
    };
    Ok((widened(x)?, axes))
}

/// Returns the axes as an argument of a reduction, with `keep_dims` if the call has it.
fn axes_of(cx: &CompositeCx<'_>, axes: &[i64]) -> Axes<'static> {
    let axes = axes.to_vec().into_axes();
    if cx.attrs().bool("keep_dims") { axes.keep_dims() } else { axes }
}

/// `reduce_logsumexp`: subtracts the largest element before the exponential. The shift is 0 if it is infinite.
pub(super) fn logsumexp<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let (x, axes) = operand_and_axes(cx, values)?;
    let finite =
        |largest: Value<'g>| largest.abs()?.less(f64::INFINITY)?.select(largest, largest.zeros_like()?);
    let shift = finite(x.reduce_max(axes.clone().into_axes().keep_dims())?)?;
    let sum = (x - shift).exp()?.reduce_sum(axes_of(cx, &axes))?;
    let shift = finite(x.reduce_max(axes_of(cx, &axes))?)?;
    Ok(vec![(sum.log()? + shift).cast(values[0].dtype())?])
}

/// Returns the mean of the squared differences from the mean.
fn mean_squared_deviation<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Value<'g>> {
    let (x, axes) = operand_and_axes(cx, values)?;
    let difference = (x - x.reduce_mean(axes.clone().into_axes().keep_dims())?).ok()?;
    let squares = match x.dtype().is_complex() {
        true => (difference.real()?.square()? + difference.imag()?.square()?).ok()?,
        false => difference.square()?,
    };
    squares.reduce_mean(axes_of(cx, &axes))
}

/// Returns the dtype of the result: for complex numbers, the dtype of their parts.
fn result_dtype(values: &[Value<'_>]) -> DType {
    let dtype = values[0].dtype();
    dtype.part().unwrap_or(dtype)
}

pub(super) fn variance<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    Ok(vec![mean_squared_deviation(cx, values)?.cast(result_dtype(values))?])
}

pub(super) fn standard_deviation<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    Ok(vec![mean_squared_deviation(cx, values)?.sqrt()?.cast(result_dtype(values))?])
}
