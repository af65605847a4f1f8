//! Reductions of ragged values over ragged, uniform and inner axes.

use shapeflow_shape_fns::DType;

use super::partition::{dim_param, number, refuse, splits_of_lengths};
use super::reduce_rows;
use crate::error::{ErrorKind, Result};
use crate::graph::{AnyValue, Param, RaggedValue, RowPartitionValue, Value};
use crate::ops::SliceItem;

/// The axes of a reduction of a ragged value: an axis, several axes, or `..` for all axes. A negative axis counts from the end.
pub trait IntoRaggedAxes {
    /// Returns the axes of a value of this rank.
    #[doc(hidden)]
    fn axes(self, rank: usize) -> Vec<i64>;
}

impl IntoRaggedAxes for i64 {
    fn axes(self, _: usize) -> Vec<i64> {
        vec![self]
    }
}

impl<const N: usize> IntoRaggedAxes for [i64; N] {
    fn axes(self, _: usize) -> Vec<i64> {
        self.to_vec()
    }
}

impl IntoRaggedAxes for &[i64] {
    fn axes(self, _: usize) -> Vec<i64> {
        self.to_vec()
    }
}

impl IntoRaggedAxes for std::ops::RangeFull {
    fn axes(self, rank: usize) -> Vec<i64> {
        (0..rank as i64).collect()
    }
}

/// A reduction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Sum,
    Prod,
    Max,
    Min,
    Any,
    All,
}

macro_rules! reductions {
    ($($(#[$doc:meta])* $method:ident $Kind:ident;)*) => {
        impl<'g> RaggedValue<'g> {$(
            $(#[$doc])*
            ///
            /// `axes` is an axis, several axes, or `..` for all axes. Several axes are reduced one after the other, the last axis
            /// first: `[n, (r)] -> [n]` along axis 1. The last partitioned axis is reduced on the host, row by row; inner axes
            /// fuse into kernels.
            #[doc = concat!("As TensorFlow's `tf.", stringify!($method), "`.")]
            ///
            /// # Errors
            /// An axis does not exist or occurs twice, or the dtype is not supported.
            #[track_caller]
            pub fn $method(self, axes: impl IntoRaggedAxes) -> Result<AnyValue<'g>> {
                let _call = self.graph().open_call();
                let axes = sorted_axes(self, axes)?;
                axes.into_iter().try_fold(AnyValue::Ragged(self), |value, axis| reduce(value, axis, Kind::$Kind))
            }
        )*}
    };
}
reductions! {
    /// Adds the elements along axes; 0 for an empty row. Integers (which wrap) and floats.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[3, 1, 4], [1, 5], [], [9]])?;
    /// let (columns, rows) = (rt.reduce_sum(0)?.dense()?, rt.reduce_sum(1)?.dense()?);
    /// let [columns, rows] = g.compile(&[columns, rows])?.run(&[])?;
    /// assert_eq!(columns, Tensor::from([13, 6, 4]));
    /// assert_eq!(rows, Tensor::from([8, 6, 0, 9]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    reduce_sum Sum;
    /// Multiplies the elements along axes; 1 for an empty row. Integers (which wrap) and floats. Else as
    /// [`RaggedValue::reduce_sum`].
    reduce_prod Prod;
    /// Takes the maximum along axes; NaN if an element is NaN, and the lowest finite number for an empty row. Integers and
    /// floats. Else as [`RaggedValue::reduce_sum`].
    reduce_max Max;
    /// Takes the minimum along axes; NaN if an element is NaN, and the highest finite number for an empty row. Integers and
    /// floats. Else as [`RaggedValue::reduce_sum`].
    reduce_min Min;
    /// Returns whether an element along axes is true; false for an empty row. Bool. Else as
    /// [`RaggedValue::reduce_sum`].
    reduce_any Any;
    /// Returns whether all elements along axes are true; true for an empty row. Bool. Else as
    /// [`RaggedValue::reduce_sum`].
    reduce_all All;
}

/// Returns axes counted from the front, the last axis first.
fn sorted_axes(value: RaggedValue<'_>, axes: impl IntoRaggedAxes) -> Result<Vec<usize>> {
    let rank = rank_of(value)?;
    let mut sorted = Vec::new();
    for axis in axes.axes(rank) {
        let index = if axis < 0 { axis + rank as i64 } else { axis };
        if !(0..rank as i64).contains(&index) {
            return Err(refuse(
                value.graph(),
                ErrorKind::Shape,
                format!("an axis must be in [-{rank}, {rank}), got {axis}"),
            ));
        }
        if sorted.contains(&(index as usize)) {
            return Err(refuse(
                value.graph(),
                ErrorKind::Shape,
                format!("an axis must occur once, got {axis} twice"),
            ));
        }
        sorted.push(index as usize);
    }
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    Ok(sorted)
}

/// Returns the number of axes.
pub(super) fn rank_of(value: RaggedValue<'_>) -> Result<usize> {
    value.shape().rank().ok_or_else(|| {
        refuse(
            value.graph(),
            ErrorKind::Shape,
            format!("the flat values must have a known rank, got {}", value.shape()),
        )
    })
}

fn reduce_dense<'g>(value: Value<'g>, axis: usize, kind: Kind) -> Result<Value<'g>> {
    let axis = axis as i64;
    match kind {
        Kind::Sum => value.reduce_sum(axis),
        Kind::Prod => value.reduce_prod(axis),
        Kind::Max => value.reduce_max(axis),
        Kind::Min => value.reduce_min(axis),
        Kind::Any => value.reduce_any(axis),
        Kind::All => value.reduce_all(axis),
    }
}

/// Reduces each row of the last partition.
pub(super) fn reduce_last<'g>(value: RaggedValue<'g>, name: &str) -> Result<AnyValue<'g>> {
    let partitions = value.partitions();
    let (last, outer) = partitions.split_last().expect("a ragged value has at least one partition");
    let call = value.graph().op(&reduce_rows::DEF).data(value.flat_values()).data(last.row_splits());
    Ok(AnyValue::of(call.attr("reduce", name).finish()?, outer))
}

/// Reduces one axis, counted from the front.
fn reduce(value: AnyValue<'_>, axis: usize, kind: Kind) -> Result<AnyValue<'_>> {
    let ragged = match value {
        AnyValue::Dense(value) => return reduce_dense(value, axis, kind).map(AnyValue::Dense),
        AnyValue::Ragged(ragged) => ragged,
    };
    let depth = ragged.ragged_rank();
    if axis > depth {
        return Ok(AnyValue::of(
            reduce_dense(ragged.flat_values(), axis - depth, kind)?,
            &ragged.partitions(),
        ));
    }
    if axis == depth {
        return reduce_last(ragged, name_of(kind));
    }
    let groups = Groups::of(ragged, axis)?;
    Ok(AnyValue::of(groups.reduce(ragged.flat_values(), kind)?, &groups.partitions))
}

fn name_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Sum => "sum",
        Kind::Prod => "prod",
        Kind::Max => "max",
        Kind::Min => "min",
        Kind::Any => "any",
        Kind::All => "all",
    }
}

/// The flat values that a reduction over an outer axis combines.
struct Groups<'g> {
    /// The number of the result of each flat value.
    ids: Value<'g>,
    /// The number of results.
    count: Param<'g>,
    /// The partitions of the result.
    partitions: Vec<RowPartitionValue<'g>>,
}

impl<'g> Groups<'g> {
    /// Groups the flat values that differ only in their index along `axis`, which is before the last partitioned axis.
    fn of(value: RaggedValue<'g>, axis: usize) -> Result<Groups<'g>> {
        let all = value.partitions();
        let inner = |level: usize| RaggedValue::new(value.flat_values(), &all[level..]);
        // Along axis 0, a group is a column; along another axis, a group is a row of the axis before it.
        let (mut ids, mut count, mut partitions, first) = match axis {
            0 => {
                let lengths = inner(0).row_lengths()?;
                let zero = number(value.graph(), lengths.dtype(), 0)?;
                let longest = lengths.reduce_max(0)?.maximum(zero)?;
                (inner(0).columns()?, Param::Value(longest), Vec::new(), 1)
            }
            _ => {
                let rows = inner(axis - 1);
                (rows.value_rowids()?, dim_param(rows.nrows()), all[..axis - 1].to_vec(), axis)
            }
        };
        for level in first..all.len() {
            let rows = inner(level);
            let lengths = rows.row_lengths()?;
            let zero = number(value.graph(), lengths.dtype(), 0)?;
            let longest = lengths.unsorted_segment_max(ids, count)?.maximum(zero)?;
            let splits = splits_of_lengths(longest)?;
            let base = splits.slice_with(&[SliceItem::span(0, -1)])?.gather(ids, 0)?;
            ids = (base.gather(rows.value_rowids()?, 0)? + rows.columns()?).ok()?;
            count = Param::Value(splits.slice_with(&[SliceItem::at(-1)])?);
            partitions.push(RowPartitionValue::new("splits", splits, splits, None)?);
        }
        Ok(Groups { ids, count, partitions })
    }

    fn reduce(&self, flat: Value<'g>, kind: Kind) -> Result<Value<'g>> {
        let count = self.count.clone();
        match kind {
            Kind::Sum => flat.unsorted_segment_sum(self.ids, count),
            Kind::Prod => flat.unsorted_segment_prod(self.ids, count),
            Kind::Max => flat.unsorted_segment_max(self.ids, count),
            Kind::Min => flat.unsorted_segment_min(self.ids, count),
            Kind::Any => flat.cast(DType::I32)?.unsorted_segment_max(self.ids, count)?.greater(0),
            Kind::All => flat.cast(DType::I32)?.unsorted_segment_min(self.ids, count)?.greater(0),
        }
    }
}

impl<'g> RaggedValue<'g> {
    /// Returns the position of each value of the outermost partition in its row, `[nvals]`.
    pub(super) fn columns(self) -> Result<Value<'g>> {
        let starts = self.row_starts()?.gather(self.value_rowids()?, 0)?;
        let numbers = self.graph().range(0i64, self.values().count()?, 1i64)?.cast(starts.dtype())?;
        (numbers - starts).ok()
    }

    /// Averages the elements along axes; NaN for an empty row. Floats. `axes` is an axis, several axes, or `..`.
    ///
    /// `[n, (r)] -> [n]` along axis 1. As TensorFlow's `tf.reduce_mean`. It is composed of sums, counts and a
    /// division.
    ///
    /// ```
    /// use shapeflow::{Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[3.0, 1.0, 4.0, 0.0], [1.0], [2.0, 4.0]])?;
    /// let [y] = g.compile(rt.reduce_mean(1)?.dense()?)?.run(&[])?;
    /// assert_eq!(y.to_vec::<f64>()?, [2.0, 1.0, 3.0]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are not floats; else as [`RaggedValue::reduce_sum`].
    #[track_caller]
    pub fn reduce_mean(self, axes: impl IntoRaggedAxes) -> Result<AnyValue<'g>> {
        let _call = self.graph().open_call();
        if !self.dtype().is_float() {
            let message = format!("the elements of a mean must be floats, got {}", self.dtype());
            return Err(refuse(self.graph(), ErrorKind::DType, message)
                .with_help("cast the operand with .cast(DType::F32)"));
        }
        let axes = sorted_axes(self, axes)?;
        if let [axis] = axes[..]
            && axis == self.ragged_rank()
        {
            return reduce_last(self, "mean");
        }
        let fold = |value| {
            axes.iter().try_fold(AnyValue::Ragged(value), |value, axis| reduce(value, *axis, Kind::Sum))
        };
        let (sum, count) = (fold(self)?, fold(self.ones_like()?)?);
        Ok(AnyValue::of((sum.flat_values() / count.flat_values()).ok()?, &sum.partitions()))
    }

    /// Returns the variance along an axis: the mean of the squared distances from the mean. NaN for an empty row. Floats.
    ///
    /// The mean is computed first, so that a large mean costs no precision.
    ///
    /// `[n, (r)] -> [n]` along axis 1. As TensorFlow's `tf.math.reduce_variance`. It is composed of two means and a
    /// square.
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
    /// As [`RaggedValue::reduce_mean`].
    #[track_caller]
    pub fn reduce_variance(self, axis: i64) -> Result<AnyValue<'g>> {
        let _call = self.graph().open_call();
        let mean = self.reduce_mean(axis)?.flat_values();
        let index = sorted_axes(self, axis)?[0];
        let depth = self.ragged_rank();
        let flat = self.flat_values();
        let around = if index > depth {
            mean.expand_dims((index - depth) as i64)?
        } else if index == depth {
            let partitions = self.partitions();
            mean.gather(RaggedValue::new(flat, &partitions[depth - 1..]).value_rowids()?, 0)?
        } else {
            mean.gather(Groups::of(self, index)?.ids, 0)?
        };
        let distances = (flat - around).ok()?;
        self.with_flat_values(distances.square()?)?.reduce_mean(axis)
    }

    /// Returns the standard deviation along an axis: the root of the variance.
    ///
    /// As [`RaggedValue::reduce_variance`], whose root it takes. As TensorFlow's `tf.math.reduce_std`.
    ///
    /// # Errors
    /// As [`RaggedValue::reduce_mean`].
    #[track_caller]
    pub fn reduce_std(self, axis: i64) -> Result<AnyValue<'g>> {
        let _call = self.graph().open_call();
        let variance = self.reduce_variance(axis)?;
        Ok(AnyValue::of(variance.flat_values().sqrt()?, &variance.partitions()))
    }
}
