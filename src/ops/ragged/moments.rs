//! Means, variances and standard deviations of ragged values.

use shapeflow_shape_fns::DType;

use super::errors::refuse;
use super::numbers::widened;
use super::reduce::{AxisReduction, RaggedReduction, ReductionKind, reduce_last};
use super::reduce_axes::IntoRaggedAxes;
use crate::error::{ErrorKind, Result};
use crate::graph::{AnyValue, RaggedValue, Value};

impl<'g> RaggedValue<'g> {
    /// Averages the elements along axes; NaN for an empty row. `axes` is as in [`RaggedValue::reduce_sum`].
    ///
    /// `[n, (r)] -> [n]` along axis 1. Floats and complex numbers keep their dtype; f16 and bf16 are added as f32.
    /// Integers of 8 and 16 bits give f32, and other integers give f64. As TensorFlow's `tf.reduce_mean`, but a sum of
    /// integers does not wrap. It is composed of sums, counts and a division.
    ///
    /// ```
    /// use shapeflow::{Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[3, 1, 4, 0], [1], [2, 4]])?;
    /// let [y] = g.compile(rt.reduce_mean(1)?.dense()?)?.run(&[])?;
    /// assert_eq!(y.to_vec::<f64>()?, [2.0, 1.0, 3.0]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are neither integers, floats nor complex numbers; else as [`RaggedValue::reduce_sum`].
    #[track_caller]
    pub fn reduce_mean(self, axes: impl IntoRaggedAxes) -> Result<AnyValue<'g>> {
        self.in_call("reduce_mean", || {
            let value = averaged(self)?;
            let wide = value.with_flat_values(widened(value.flat_values())?)?;
            let reduction = RaggedReduction::new(wide, axes)?;
            if let [axis] = reduction.axes[..]
                && axis == value.ragged_rank()
            {
                return reduction.shaped(reduce_last(value, "mean")?);
            }
            let (steps, sum) = reduction.fold(ReductionKind::Sum)?;
            let mean = (sum.flat_values() / count(wide, &steps)?).ok()?.cast(value.dtype())?;
            reduction.shaped(AnyValue::of(mean, &sum.partitions()))
        })
    }

    /// Returns the variance along axes: the mean of the squared distances from the mean. NaN for an empty row.
    /// `axes` is as in [`RaggedValue::reduce_sum`].
    ///
    /// The mean is computed first, so that a large mean costs no precision.
    ///
    /// `[n, (r)] -> [n]` along axis 1. Floats keep their dtype; f16 and bf16 are computed in f32 and rounded once.
    /// Integers of 8 and 16 bits give f32, and other integers give f64. As TensorFlow's `tf.math.reduce_variance`, but
    /// a square of an integer does not wrap. It is composed of two means and a square.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[1.0, 3.0], [5.0]])?;
    /// let variances = rt.reduce_variance(1)?.dense()?;
    /// let [variances] = g.compile(variances)?.run(&[])?;
    /// assert_eq!(variances, Tensor::from([1.0, 0.0]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are neither integers nor floats; else as [`RaggedValue::reduce_sum`].
    #[track_caller]
    pub fn reduce_variance(self, axes: impl IntoRaggedAxes) -> Result<AnyValue<'g>> {
        self.in_call("reduce_variance", || self.deviation(axes, Ok))
    }

    /// Returns the standard deviation along axes: the root of the variance.
    ///
    /// As [`RaggedValue::reduce_variance`], whose root it takes. As TensorFlow's `tf.math.reduce_std`.
    ///
    /// # Errors
    /// As [`RaggedValue::reduce_variance`].
    #[track_caller]
    pub fn reduce_std(self, axes: impl IntoRaggedAxes) -> Result<AnyValue<'g>> {
        self.in_call("reduce_std", || self.deviation(axes, Value::sqrt))
    }

    /// Applies `f` to the variance along axes, before it is rounded to the dtype of the result.
    fn deviation(
        self,
        axes: impl IntoRaggedAxes,
        f: impl FnOnce(Value<'g>) -> Result<Value<'g>>,
    ) -> Result<AnyValue<'g>> {
        let value = floats(self)?;
        let flat = widened(value.flat_values())?;
        let wide = value.with_flat_values(flat)?;
        let reduction = RaggedReduction::new(wide, axes)?;
        let (steps, sum) = reduction.fold(ReductionKind::Sum)?;
        let count = count(wide, &steps)?;
        let mean = (sum.flat_values() / count).ok()?;
        let around = steps.iter().rev().try_fold(mean, |mean, step| step.spread(mean))?;
        let squares = (wide.flat_values() - around).ok()?.square()?;
        let variance = (total(squares, &steps)? / count).ok()?;
        reduction.shaped(AnyValue::of(f(variance)?.cast(value.dtype())?, &sum.partitions()))
    }
}

/// Adds up flat values in the steps of a reduction.
fn total<'g>(flat: Value<'g>, steps: &[AxisReduction<'g>]) -> Result<Value<'g>> {
    steps.iter().try_fold(flat, |flat, step| step.reduce(flat, ReductionKind::Sum))
}

/// Returns how many elements each result combines.
fn count<'g>(value: RaggedValue<'g>, steps: &[AxisReduction<'g>]) -> Result<Value<'g>> {
    total(value.flat_values().ones_like()?, steps)
}

/// Returns the value with elements that a mean divides: floats or complex numbers.
pub(super) fn averaged(value: RaggedValue<'_>) -> Result<RaggedValue<'_>> {
    if value.dtype().is_complex() { Ok(value) } else { floats(value) }
}

/// Returns the value with floats as elements. Integers of 8 and 16 bits become f32, and other integers become f64.
fn floats(value: RaggedValue<'_>) -> Result<RaggedValue<'_>> {
    let dtype = value.dtype();
    if dtype.is_float() {
        return Ok(value);
    }
    if dtype.is_integer() {
        let is_short = dtype.size_bytes().is_some_and(|bytes| bytes < 4);
        return value.cast(if is_short { DType::F32 } else { DType::F64 });
    }
    let message = format!("the elements must be integers or floats, got {dtype}");
    Err(refuse(value.graph(), ErrorKind::DType, message).with_help("cast the operand with .cast(DType::F32)"))
}
