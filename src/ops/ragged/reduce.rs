//! Reductions of ragged values over ragged, uniform and inner axes.

use shapeflow_shape_fns::{DType, Dim, TensorShape};

use super::errors::{no_axis, refuse};
use super::numbers::{dim_param, number, own_dim};
use super::partition::splits_of_lengths;
use super::reduce_axes::IntoRaggedAxes;
use super::reduce_rows;
use crate::error::{ErrorKind, Result};
use crate::graph::{AnyValue, Param, RaggedValue, RowPartitionValue, Value};
use crate::ops::SliceItem;

/// A reduction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ReductionKind {
    Sum,
    Prod,
    Max,
    Min,
    Any,
    All,
}

macro_rules! reductions {
    ($($(#[$doc:meta])* $method:ident $ReductionKind:ident;)*) => {
        impl<'g> RaggedValue<'g> {$(
            $(#[$doc])*
            ///
            /// `axes` is an axis, several axes, `..` for all axes, or [`Axes`](crate::Axes), which can keep the reduced
            /// axes with size 1. Several axes are reduced one after the other, the last axis first: `[n, (r)] -> [n]`
            /// along axis 1. All axes `..` are reduced at once, so that an empty row adds nothing. The last partitioned
            /// axis is reduced on the host, row by row; inner axes and all axes at once fuse into kernels.
            #[doc = concat!("As TensorFlow's `tf.", stringify!($method), "`.")]
            ///
            /// # Errors
            /// An axis does not exist or occurs twice, or the dtype is not supported.
            #[track_caller]
            pub fn $method(self, axes: impl IntoRaggedAxes) -> Result<AnyValue<'g>> {
                self.in_call(stringify!($method), || {
                    let reduction = RaggedReduction::new(self, axes)?;
                    reduction.shaped(reduction.fold(ReductionKind::$ReductionKind)?.1)
                })
            }
        )*}
    };
}
reductions! {
    /// Adds the elements along axes; 0 for an empty row. Integers (which wrap), floats and complex numbers.
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
    /// Multiplies the elements along axes; 1 for an empty row. Integers (which wrap), floats and complex
    /// numbers. Else as [`RaggedValue::reduce_sum`].
    reduce_prod Prod;
    /// Takes the maximum along axes; NaN if an element is NaN, and the lowest finite number for an empty row. Integers
    /// and floats. All axes `..` of a value without elements give -∞, or the lowest integer. Along an axis before the
    /// last partitioned one, elements that are all -∞ give the lowest finite number. Else as
    /// [`RaggedValue::reduce_sum`].
    reduce_max Max;
    /// Takes the minimum along axes; NaN if an element is NaN, and the highest finite number for an empty row. Integers
    /// and floats. All axes `..` of a value without elements give ∞, or the highest integer. Along an axis before the
    /// last partitioned one, elements that are all ∞ give the highest finite number. Else as
    /// [`RaggedValue::reduce_sum`].
    reduce_min Min;
    /// Returns whether an element along axes is true; false for an empty row. Bool. Else as
    /// [`RaggedValue::reduce_sum`].
    reduce_any Any;
    /// Returns whether all elements along axes are true; true for an empty row. Bool. Else as
    /// [`RaggedValue::reduce_sum`].
    reduce_all All;
}

/// Returns axes counted from the front, the last axis first.
pub(super) fn sorted_axes(value: RaggedValue<'_>, axes: impl IntoRaggedAxes) -> Result<Vec<usize>> {
    let rank = rank_of(value)?;
    let axes = axes.axes(rank).ok_or_else(|| {
        let message =
            "the axes of an op on a ragged value must be known when the graph is built, got a value";
        refuse(value.graph(), ErrorKind::Attribute, message.to_string())
    })?;
    let mut sorted = Vec::new();
    for axis in axes {
        let index = if axis < 0 { axis + rank as i64 } else { axis };
        if !(0..rank as i64).contains(&index) {
            return Err(no_axis(value.graph(), rank as i64, axis));
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

fn reduce_dense<'g>(value: Value<'g>, axis: usize, kind: ReductionKind) -> Result<Value<'g>> {
    let axis = axis as i64;
    match kind {
        ReductionKind::Sum => value.reduce_sum(axis),
        ReductionKind::Prod => value.reduce_prod(axis),
        ReductionKind::Max => value.reduce_max(axis),
        ReductionKind::Min => value.reduce_min(axis),
        ReductionKind::Any => value.reduce_any(axis),
        ReductionKind::All => value.reduce_all(axis),
    }
}

/// Reduces each row of the last partition.
pub(super) fn reduce_last<'g>(value: RaggedValue<'g>, name: &str) -> Result<AnyValue<'g>> {
    let partitions = value.partitions();
    let (last, outer) = partitions.split_last().expect("a ragged value has at least one partition");
    let call = value.graph().op(&reduce_rows::DEF).data(value.flat_values()).data(last.row_splits());
    Ok(AnyValue::of(call.attr("reduce", name).finish()?, outer))
}

/// A reduction of a ragged value: the axes counted from the front, the last axis first.
pub(super) struct RaggedReduction<'g> {
    value: RaggedValue<'g>,
    pub axes: Vec<usize>,
    /// All axes are reduced at once: the rows do not matter.
    is_whole: bool,
    keeps_dims: bool,
}

impl<'g> RaggedReduction<'g> {
    pub fn new(value: RaggedValue<'g>, axes: impl IntoRaggedAxes) -> Result<RaggedReduction<'g>> {
        let (keeps_dims, is_whole) = (axes.keeps_dims(), axes.are_all());
        Ok(RaggedReduction { value, axes: sorted_axes(value, axes)?, is_whole, keeps_dims })
    }

    /// Reduces the axes one after the other. Returns the steps and the result.
    pub fn fold(&self, kind: ReductionKind) -> Result<(Vec<AxisReduction<'g>>, AnyValue<'g>)> {
        let mut steps = Vec::new();
        let depth = self.value.ragged_rank();
        let (mut value, axes) = match self.is_whole {
            // The axes of the flat values take the place of all axes, so that an empty row adds nothing.
            true => (AnyValue::Dense(self.value.flat_values()), &self.axes[..self.axes.len() - depth]),
            false => (AnyValue::Ragged(self.value), &self.axes[..]),
        };
        let skipped = if self.is_whole { depth } else { 0 };
        for axis in axes.iter().map(|axis| axis - skipped) {
            let step = AxisReduction::of(value, axis)?;
            value = AnyValue::of(step.reduce(value.flat_values(), kind)?, &step.partitions);
            steps.push(step);
        }
        Ok((steps, value))
    }

    /// Adds the reduced axes with size 1 if the reduction keeps them.
    pub fn shaped(&self, value: AnyValue<'g>) -> Result<AnyValue<'g>> {
        let kept = self.axes.iter().rev().filter(|_| self.keeps_dims);
        kept.map(|axis| *axis as i64).try_fold(value, |value, axis| match value {
            AnyValue::Dense(value) => value.expand_dims(axis).map(AnyValue::Dense),
            AnyValue::Ragged(value) => value.expand_dims(axis).map(AnyValue::Ragged),
        })
    }
}

/// The reduction of one axis.
pub(super) struct AxisReduction<'g> {
    over: Over<'g>,
    /// The partitions of the result.
    partitions: Vec<RowPartitionValue<'g>>,
}

/// What one element of a result combines.
enum Over<'g> {
    /// An axis of the flat values, of this size.
    Axis(usize, Dim),
    /// A row of the last partition, which is the only partition of this value.
    Rows(RaggedValue<'g>),
    /// A group of flat values that an outer axis separates.
    Groups(ValueGroups<'g>),
}

impl<'g> AxisReduction<'g> {
    /// Plans the reduction of an axis, counted from the front.
    fn of(value: AnyValue<'g>, axis: usize) -> Result<AxisReduction<'g>> {
        let (flat, partitions) = (value.flat_values(), value.partitions());
        let depth = partitions.len();
        Ok(match value {
            AnyValue::Ragged(ragged) if axis < depth => {
                let groups = ValueGroups::along(ragged, axis)?;
                AxisReduction { partitions: groups.partitions.clone(), over: Over::Groups(groups) }
            }
            AnyValue::Ragged(_) if axis == depth => {
                let (outer, last) = partitions.split_at(depth - 1);
                AxisReduction { partitions: outer.to_vec(), over: Over::Rows(RaggedValue::new(flat, last)) }
            }
            _ => AxisReduction { over: Over::Axis(axis - depth, own_dim(flat, axis - depth)?), partitions },
        })
    }

    /// Reduces the flat values.
    pub fn reduce(&self, flat: Value<'g>, kind: ReductionKind) -> Result<Value<'g>> {
        match &self.over {
            Over::Axis(axis, _) => reduce_dense(flat, *axis, kind),
            Over::Rows(rows) => {
                rows.with_flat_values(flat).and_then(|rows| reduce_last(rows, name_of(kind)))?.dense()
            }
            Over::Groups(groups) => groups.reduce(flat, kind),
        }
    }

    /// Returns, for each flat value, the result of its group. Along an inner axis, the result has size 1, which
    /// broadcasts.
    pub fn spread(&self, reduced: Value<'g>) -> Result<Value<'g>> {
        match &self.over {
            Over::Axis(0, size) => {
                let shape = reduced.shape();
                let inner = shape.dims().unwrap_or_default().iter().cloned();
                let sizes = std::iter::once(size.clone()).chain(inner);
                reduced.expand_dims(0)?.broadcast_to(TensorShape::new(sizes))
            }
            Over::Axis(axis, _) => reduced.expand_dims(*axis as i64),
            Over::Rows(rows) => reduced.gather(rows.value_rowids()?, 0),
            Over::Groups(groups) => reduced.gather(groups.ids, 0),
        }
    }
}

fn name_of(kind: ReductionKind) -> &'static str {
    match kind {
        ReductionKind::Sum => "sum",
        ReductionKind::Prod => "prod",
        ReductionKind::Max => "max",
        ReductionKind::Min => "min",
        ReductionKind::Any => "any",
        ReductionKind::All => "all",
    }
}

/// The flat values that a reduction over an outer axis combines.
pub(super) struct ValueGroups<'g> {
    /// The group of each flat value, which is the index of its result.
    pub ids: Value<'g>,
    /// How many groups there are.
    pub count: Param<'g>,
    /// The partitions of the result.
    pub partitions: Vec<RowPartitionValue<'g>>,
}

impl<'g> ValueGroups<'g> {
    /// Groups the flat values that differ only in their index along `axis`, which is axis 0 or a partitioned axis.
    pub fn along(value: RaggedValue<'g>, axis: usize) -> Result<ValueGroups<'g>> {
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
                (rows.value_rowids()?, dim_param(rows.own_nrows()?), all[..axis - 1].to_vec(), axis)
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
        Ok(ValueGroups { ids, count, partitions })
    }

    fn reduce(&self, flat: Value<'g>, kind: ReductionKind) -> Result<Value<'g>> {
        let count = self.count.clone();
        if matches!(kind, ReductionKind::Any | ReductionKind::All) && flat.dtype() != DType::Bool {
            let message = format!("the elements must be bool, got {}", flat.dtype());
            return Err(refuse(flat.graph(), ErrorKind::DType, message)
                .with_help("compare the operand with .not_equal(0)"));
        }
        match kind {
            ReductionKind::Sum => flat.unsorted_segment_sum(self.ids, count),
            ReductionKind::Prod => flat.unsorted_segment_prod(self.ids, count),
            ReductionKind::Max => flat.unsorted_segment_max(self.ids, count),
            ReductionKind::Min => flat.unsorted_segment_min(self.ids, count),
            ReductionKind::Any => flat.cast(DType::I32)?.unsorted_segment_max(self.ids, count)?.greater(0),
            ReductionKind::All => flat.cast(DType::I32)?.unsorted_segment_min(self.ids, count)?.greater(0),
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
}
