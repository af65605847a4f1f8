//! `unsorted_segment_sum`, `unsorted_segment_max` and so on: segment reductions with segment ids in any order.

use std::panic::Location;

use shapeflow_shape_fns::{Attrs, DType};

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::Scalar;
use crate::graph::{IntoOperand, IntoParam, Param, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::host_params::param_sizes;
use crate::ops::positions::Positions;
use crate::ops::row_major::RowMajor;

use super::reduce::{Reduce, dtypes, reduce_rows};

macro_rules! segments {
    ($($(#[$doc:meta])* $method:ident, $DEF:ident, $op:literal, $Reduce:ident;)*) => {
        impl<'g> Value<'g> {$(
            $(#[$doc])*
            ///
            /// `[i.., d..], ids [i..] -> [num_segments, d..]`; `ids` is i16, i32 or i64. Rows with a negative id are
            /// dropped; an id of `num_segments` or more fails the run. Runs on the host.
            ///
            /// # Errors
            /// The leading axes of `self` differ from the axes of `ids`, `num_segments` is negative, or a dtype is not
            /// supported.
            #[track_caller]
            pub fn $method(self, ids: impl IntoOperand<'g>, num_segments: impl IntoParam<'g>) -> Result<Value<'g>> {
                let ids = ids.into_own_operand(self.graph(), Location::caller());
                self.graph().op(&$DEF).data(self).data(ids).size("num_segments", num_segments).finish()
            }
        )*}

        $(pub(crate) static $DEF: OpDef = OpDef::host(stringify!($method), |cx| run(cx, Reduce::$Reduce))
            .operands(&[Operand::Data("data"), Operand::Data("segment_ids"), Operand::Size("num_segments")])
            .shape_fn(shapeflow_shape_fns::segment::unsorted_segment)
            .dtype_rule(|operands, attrs| of_ids(operands, attrs, Reduce::$Reduce))
            .tensorflow(&[TfOp::new($op)]);)*
    };
}
segments! {
    /// Adds the rows of each segment, in their order: `out[s, ..] = Σ self[i, ..]` over `ids[i] == s`. An empty segment
    /// gives zeros. Integers (which wrap), floats and complex numbers; f16 and bf16 are added as f32 and rounded once.
    /// As TensorFlow's `UnsortedSegmentSum`.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([1, 2, 3])?.unsorted_segment_sum(g.constant([2, 0, 2])?, 4)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([2, 0, 4, 0]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    #[doc(alias = "scatter_add")]
    unsorted_segment_sum, SUM, "UnsortedSegmentSum", Sum;
    /// Multiplies the rows of each segment, in their order. An empty segment gives ones. Integers (which wrap), floats
    /// and complex numbers; f16 and bf16 are multiplied as f32 and rounded once. As TensorFlow's `UnsortedSegmentProd`.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([1, 2, 3])?.unsorted_segment_prod(g.constant([2, 0, 2])?, 4)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([2, 1, 3, 1]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    unsorted_segment_prod, PROD, "UnsortedSegmentProd", Prod;
    /// Takes the maximum of the rows of each segment; NaN if an element is NaN. An empty segment gives the lowest
    /// finite number, and so does a segment of only `-inf`. Integers and floats. As TensorFlow's `UnsortedSegmentMax`,
    /// which may ignore a NaN.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([1, 2, 3])?.unsorted_segment_max(g.constant([1, 0, 1])?, 2)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([2, 3]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    unsorted_segment_max, MAX, "UnsortedSegmentMax", Max;
    /// Takes the minimum of the rows of each segment; NaN if an element is NaN. An empty segment gives the highest
    /// finite number, and so does a segment of only `inf`. Integers and floats. As TensorFlow's `UnsortedSegmentMin`,
    /// which may ignore a NaN.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([1, 2, 3])?.unsorted_segment_min(g.constant([1, 0, 1])?, 2)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([2, 1]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    unsorted_segment_min, MIN, "UnsortedSegmentMin", Min;
}

impl<'g> Value<'g> {
    /// Returns the mean of the rows of each segment: their sum (see [`Value::unsorted_segment_sum`]) divided by their
    /// number. An empty segment gives zeros.
    ///
    /// `[i.., d..], ids [i..] -> [num_segments, d..]`, floats and complex numbers; `ids` is i16, i32 or i64. Rows with
    /// a negative id are dropped; an id of `num_segments` or more fails the run. As TensorFlow's
    /// `tf.math.unsorted_segment_mean`. The op is composed of other ops: the sums run on the host, the division fuses
    /// into kernels.
    ///
    /// ```
    /// let g = shapeflow::Graph::new();
    /// let x = g.constant([1.0, 2.0, 3.0])?;
    /// let means = x.unsorted_segment_mean(g.constant([2, 0, 2])?, 4)?;
    /// let [y] = g.compile(means)?.run(&[])?;
    /// assert_eq!(y.to_vec::<f64>()?, [2.0, 0.0, 2.0, 0.0]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::unsorted_segment_sum`]; also if `self` holds integers, or the rank of `self` or of `ids` is unknown.
    #[track_caller]
    pub fn unsorted_segment_mean(
        self,
        ids: impl IntoOperand<'g>,
        num_segments: impl IntoParam<'g> + Clone,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        self.graph().in_call("unsorted_segment_mean", || {
            let ids = ids.into_own_operand(self.graph(), location);
            let counts = self
                .counts_of_segments(ids, num_segments.clone(), 1)
                .map_err(|error| error.or_at(location))?;
            self.unsorted_segment_sum(ids, num_segments)?.div(counts)
        })
    }

    /// Returns the sum of the rows of each segment (see [`Value::unsorted_segment_sum`]) divided by the square root of
    /// their number. An empty segment gives zeros.
    ///
    /// `[i.., d..], ids [i..] -> [num_segments, d..]`, floats and complex numbers; `ids` is i16, i32 or i64. Rows with
    /// a negative id are dropped; an id of `num_segments` or more fails the run. As TensorFlow's
    /// `tf.math.unsorted_segment_sqrt_n`. The op is composed of other ops: the sums run on the host, the division fuses
    /// into kernels.
    ///
    /// ```
    /// let g = shapeflow::Graph::new();
    /// let x = g.constant([1.0, 2.0, 3.0, 4.0])?;
    /// let y = x.unsorted_segment_sqrt_n(g.constant([0, 0, 0, 0])?, 1)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y.to_vec::<f64>()?, [5.0]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::unsorted_segment_mean`].
    #[track_caller]
    pub fn unsorted_segment_sqrt_n(
        self,
        ids: impl IntoOperand<'g>,
        num_segments: impl IntoParam<'g> + Clone,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        self.graph().in_call("unsorted_segment_sqrt_n", || {
            let ids = ids.into_own_operand(self.graph(), location);
            let counts = self
                .counts_of_segments(ids, num_segments.clone(), 1)
                .map_err(|error| error.or_at(location))?;
            self.unsorted_segment_sum(ids, num_segments)?.div(counts.sqrt()?)
        })
    }

    /// Does what [`Value::unsorted_segment_mean`] does, but an empty segment gives NaN.
    pub(crate) fn unsorted_segment_mean_or_nan(
        self,
        ids: Value<'g>,
        num_segments: Param<'g>,
    ) -> Result<Value<'g>> {
        let counts = self.counts_of_segments(ids, num_segments.clone(), 0)?;
        self.unsorted_segment_sum(ids, num_segments)?.div(counts)
    }

    /// Does what [`Value::unsorted_segment_sqrt_n`] does, but an empty segment gives NaN.
    pub(crate) fn unsorted_segment_sqrt_n_or_nan(
        self,
        ids: Value<'g>,
        num_segments: Param<'g>,
    ) -> Result<Value<'g>> {
        let counts = self.counts_of_segments(ids, num_segments.clone(), 0)?;
        self.unsorted_segment_sum(ids, num_segments)?.div(counts.sqrt()?)
    }

    /// Returns the number of rows of each segment, `least` or more, in the dtype of `self`. It has axes of size 1 for
    /// the axes of a row.
    fn counts_of_segments(
        self,
        ids: Value<'g>,
        num_segments: impl IntoParam<'g>,
        least: u8,
    ) -> Result<Value<'g>> {
        let dtype = self.dtype();
        if !dtype.is_float() && !dtype.is_complex() {
            return dtype::refuse(format!(
                "the mean of segments divides, so the element type must be a float or a complex number, got {dtype}"
            ));
        }
        let (Some(rank), Some(ids_rank)) = (self.shape().rank(), ids.shape().rank()) else {
            let message = "the rank must be known, got data or segment ids of unknown rank";
            return Err(Error::new(ErrorKind::Shape, Phase::Build, message));
        };
        let part = dtype.part().unwrap_or(dtype);
        let counts = ids.ones_like()?.cast(part)?.unsorted_segment_sum(ids, num_segments)?;
        let counts = if least > 0 { counts.maximum(f64::from(least))? } else { counts };
        let axes = rank.saturating_sub(ids_rank);
        let counts = (0..axes).try_fold(counts, |counts, _| counts.expand_dims(-1))?;
        counts.cast(dtype)
    }
}

/// The dtype rule. It is the rule for ascending ids, except that the ids may also be i16.
fn of_ids(operands: &[DType], attrs: &Attrs, reduce: Reduce) -> Result<Vec<DType>> {
    dtype::check_narrow_indices(operands, 1)?;
    dtype::check_indices(operands, 2)?;
    dtypes(operands.get(..1).unwrap_or_default(), attrs, reduce)
}

fn run(cx: &mut HostCx<'_>, reduce: Reduce) -> Result<()> {
    let (data, ids) = (RowMajor::new(cx.input(0)?)?, RowMajor::new(cx.input(1)?)?);
    let (data, ids) = (data.view(), ids.view());
    let count = param_sizes(cx, "num_segments", 2)?;
    let rest = data.sizes().get(ids.sizes().len()..).unwrap_or_default();
    let positions = Positions::new(ids, Some(1), &count)?.dropping_negative();
    let start = finite(reduce.start(data.dtype()), data.dtype());
    let mut output = cx.output(0, &[&count, rest].concat())?;
    reduce_rows(data, &mut output, &positions, reduce, start, &|_| Ok(()))
}

/// Clamps an infinite value to the finite range of this dtype.
fn finite(value: Scalar, dtype: DType) -> Scalar {
    let most = match dtype {
        DType::F16 => f64::from(half::f16::MAX),
        DType::BF16 => f64::from(half::bf16::MAX),
        DType::F32 => f64::from(f32::MAX),
        DType::F64 => f64::MAX,
        _ => return value,
    };
    Scalar::F64(value.to_f64().clamp(-most, most))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run, run_one, shape_table, tensor};
    use crate::tensor::Tensor;

    shape_table! { SUM, {"num_segments": 4},
        "[n, m, 3]; i32[n, m]" => "[4, 3]",
        "[n, m]; i16[n]" => "[4, m]",
        "[n]; [n]" => error "an index must be i16, i32 or i64, got f32",
        "[2]; i32[3]" => error "segment_ids must have the leading axes of the data",
    }
    shape_table! { fed: MAX, {},
        "[n, 3]; i32[n]; num_segments=i64[]" => "[?, 3]",
    }

    #[test]
    fn empty_segments_of_halves_are_finite() {
        let x = Tensor::from_bits(DType::F16, &[1], &[0x3c00u16]).unwrap();
        let y = run_one(&MIN, &Attrs::new().with("num_segments", 2), &[x, tensor(&[1], &[1])]);
        assert_eq!(y.to_bits::<u16>().unwrap(), [0x7bff, 0x3c00]);
    }

    #[test]
    fn an_id_out_of_range_is_an_error() {
        let attrs = Attrs::new().with("num_segments", 2);
        let error = run(&SUM, &attrs, &[tensor(&[1], &[1.0f32]), tensor(&[1], &[2])]).unwrap_err();
        assert_eq!(error.message(), "an index into axis 0 must lie in [0, 2), got 2 at [0] in operand 1");
        assert_eq!(error.kind(), ErrorKind::Index);
    }
}
