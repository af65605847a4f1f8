//! `argmax`, `argmin`, `softmax` and `log_softmax` along an axis.

use crate::error::{ErrorKind, Result};
use crate::graph::{AnyValue, IntoParam, RaggedValue, Value};
use shapeflow_shape_fns::DType;

use super::along::{Along, Lines};
use super::counts::with_size_of;
use super::errors::refuse;
use super::numbers::widened;

impl<'g> RaggedValue<'g> {
    /// Returns the index along `axis` of the first maximum; -1 for an empty row. A NaN is a maximum. A negative `axis`
    /// counts from the end.
    ///
    /// `[n, (r), ..] -> i64[n, ..]` along axis 1, integers and floats. Along axis 0, the result has the index of a row
    /// for each position of the longest row. Along a partitioned axis it runs on the host; along an inner axis it
    /// fuses into kernels.
    ///
    /// TensorFlow has no such op on ragged tensors: `tf.argmax` refuses them.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[1, 7, 3], [5], []])?;
    /// let (columns, rows) = (rt.argmax(1)?.dense()?, rt.argmax(0)?.dense()?);
    /// let [columns, rows] = g.compile([columns, rows])?.run(&[])?;
    /// assert_eq!(columns, Tensor::from([1i64, 0, -1]));
    /// assert_eq!(rows, Tensor::from([1i64, 0, 0]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The axis does not exist, or the elements are neither integers nor floats.
    #[track_caller]
    pub fn argmax(self, axis: impl IntoParam<'g>) -> Result<AnyValue<'g>> {
        self.in_call("argmax", || self.extremum_index("argmax", axis, Value::argmax))
    }

    /// Returns the index along `axis` of the first minimum, as [`RaggedValue::argmax`] does for the maximum.
    ///
    /// # Errors
    /// As [`RaggedValue::argmax`].
    #[track_caller]
    pub fn argmin(self, axis: impl IntoParam<'g>) -> Result<AnyValue<'g>> {
        self.in_call("argmin", || self.extremum_index("argmin", axis, Value::argmin))
    }

    /// Returns the index along `axis` of the extremum that the method `name` finds. `dense` finds it along an axis of
    /// the flat values.
    fn extremum_index(
        self,
        name: &'static str,
        axis: impl IntoParam<'g>,
        dense: impl FnOnce(Value<'g>, i64) -> Result<Value<'g>>,
    ) -> Result<AnyValue<'g>> {
        let flat = self.flat_values();
        match Along::of(self, axis)? {
            Along::Inner(axis) => Ok(AnyValue::of(dense(flat, axis)?.cast(DType::I64)?, &self.partitions())),
            Along::Lines(lines) => lines.reduced_positions(lines.reduce(flat, name)?),
        }
    }

    /// Returns `exp(x) / Σ exp(x)`, whose sums run along `axis`. The maximum along the axis is subtracted first. A
    /// negative `axis` counts from the end.
    ///
    /// `[n, (r), ..] -> [n, (r), ..]`, floats; f16 and bf16 are computed in f32 and rounded once. As TensorFlow's
    /// `tf.nn.softmax`. It is composed of reductions of rows on the host and of ops that fuse into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[0.0, 0.0], [3.0]])?;
    /// let y = rt.softmax(1)?;
    /// let y = g.compile(y)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(y, ragged![[0.5, 0.5], [1.0]]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The axis does not exist, or the elements are not floats.
    #[track_caller]
    pub fn softmax(self, axis: impl IntoParam<'g>) -> Result<RaggedValue<'g>> {
        self.in_call("softmax", || {
            let flat = self.flat_values();
            check_floats(self)?;
            let result = match Along::of(self, axis)? {
                Along::Inner(axis) => flat.softmax(axis)?,
                Along::Lines(lines) => {
                    let (_, exps, sums) = shifted_exps(flat, &lines)?;
                    (exps / sums).ok()?.cast(flat.dtype())?
                }
            };
            self.with_flat_values(with_size_of(result, flat)?)
        })
    }

    /// Returns `x - log Σ exp(x)`, whose sums run along `axis`. The maximum along the axis is subtracted first. A
    /// negative `axis` counts from the end.
    ///
    /// `[n, (r), ..] -> [n, (r), ..]`, floats; f16 and bf16 are computed in f32 and rounded once. As TensorFlow's
    /// `tf.nn.log_softmax` of every row. TensorFlow's own dispatch on a ragged tensor normalizes over the values of all
    /// rows. It is composed of reductions of rows on the host and of ops that fuse into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[1000.0, 1000.0], [], [3.0]])?;
    /// let y = g.compile(rt.log_softmax(1)?)?.run_named(&[])?.ragged_at(0)?;
    /// y.flat_values().allclose(&Tensor::from([-0.6931, -0.6931, 0.0]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The axis does not exist, or the elements are not floats.
    #[track_caller]
    pub fn log_softmax(self, axis: impl IntoParam<'g>) -> Result<RaggedValue<'g>> {
        self.in_call("log_softmax", || {
            let flat = self.flat_values();
            check_floats(self)?;
            let result = match Along::of(self, axis)? {
                Along::Inner(axis) => flat.log_softmax(axis)?,
                Along::Lines(lines) => {
                    let (shifted, _, sums) = shifted_exps(flat, &lines)?;
                    (shifted - sums.log()?).ok()?.cast(flat.dtype())?
                }
            };
            self.with_flat_values(with_size_of(result, flat)?)
        })
    }
}

/// Checks that the elements are floats.
///
/// # Errors
/// They are not.
fn check_floats(value: RaggedValue<'_>) -> Result<()> {
    let dtype = value.flat_values().ok()?.dtype();
    if dtype.is_float() {
        return Ok(());
    }
    let message = format!("the element type must be a float, got {dtype}");
    Err(refuse(value.graph(), ErrorKind::DType, message).with_help("cast the value with .cast(DType::F32)"))
}

/// Subtracts the maximum of each line from the elements of the line. Returns the differences, the exponentials of the
/// differences, and, for each element, the sum of the exponentials in its line. f16 and bf16 give f32.
fn shifted_exps<'g>(flat: Value<'g>, lines: &Lines<'g>) -> Result<(Value<'g>, Value<'g>, Value<'g>)> {
    let flat = widened(flat)?;
    let most = lines.reduce(flat, "max")?.gather(lines.ids, 0)?;
    let shifted = (flat - most).ok()?;
    let exps = shifted.exp()?;
    let sums = lines.reduce(exps, "sum")?.gather(lines.ids, 0)?;
    Ok((shifted, exps, sums))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;
    use crate::ragged;

    #[test]
    fn an_axis_that_does_not_exist_is_an_error_of_the_method() -> Result<()> {
        let g = Graph::new();
        let rt = g.ragged_constant(&ragged![[1.0, 2.0], [3.0]])?;
        let errors = [
            ("argmax", rt.argmax(2).err()),
            ("argmin", rt.argmin(2).err()),
            ("softmax", rt.softmax(2).err()),
            ("log_softmax", rt.log_softmax(2).err()),
            ("sort", rt.sort(2, false).err()),
            ("argsort", rt.argsort(2, false).err()),
            ("cumsum_with", rt.cumsum_with(2, false, false).err()),
        ];
        for (op, error) in errors {
            let error = error.expect("the axis does not exist");
            assert_eq!(error.op(), Some(op), "{error}");
            assert!(error.message().contains("an axis must be in [-2, 2), got 2"), "{error}");
        }
        Ok(())
    }
}
