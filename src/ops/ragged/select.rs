//! Ops that move rows of ragged values: concat, stack, masks.

use std::panic::Location;

use shapeflow_shape_fns::{DType, Dim};

use super::errors::{known_int, no_axis, refuse};
use super::numbers::{dim_value, number, own_dim};
use super::partition::{splits_of_lengths, uniform_partition};
use super::range::range_parts;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{AnyValue, IntoParam, RaggedValue, RowPartitionValue, Value};
use crate::ops::{SliceItem, concat as concat_dense, stack};

/// Selects along axis 0 by positions that lie within the axis.
pub(super) fn take<'g>(value: AnyValue<'g>, indices: Value<'g>) -> Result<AnyValue<'g>> {
    let ragged = match value {
        AnyValue::Dense(value) => return value.gather(indices, 0).map(AnyValue::Dense),
        AnyValue::Ragged(ragged) => ragged,
    };
    let starts = ragged.row_starts()?.gather(indices, 0)?;
    let limits = ragged.row_limits()?.gather(indices, 0)?;
    let (splits, positions) = range_parts(starts, limits, number(ragged.graph(), starts.dtype(), 1)?)?;
    let values = take(ragged.values(), positions)?;
    let uniform = ragged.partition().uniform_row_length();
    let splits = splits.cast(starts.dtype())?;
    Ok(values.split_by(RowPartitionValue::new("splits", splits, splits, uniform)?).into())
}

/// Joins values along axis 0. All are dense, or all are ragged with the same number of partitions.
fn join_rows<'g>(values: &[AnyValue<'g>]) -> Result<AnyValue<'g>> {
    let ragged: Vec<RaggedValue<'g>> = values.iter().filter_map(|value| value.ragged().ok()).collect();
    let Some(first) = ragged.first() else {
        let dense: Vec<Value<'g>> = values.iter().map(|value| value.flat_values()).collect();
        return concat_dense(&dense, 0).map(AnyValue::Dense);
    };
    let lengths: Vec<Value<'g>> = ragged.iter().map(|value| value.row_lengths()).collect::<Result<_>>()?;
    let inner: Vec<AnyValue<'g>> = ragged.iter().map(|value| value.values()).collect();
    let splits = splits_of_lengths(concat_dense(&lengths, 0)?)?;
    let uniform = first.partition().uniform_row_length();
    let uniform = uniform.filter(|length| {
        ragged.iter().all(|value| {
            let other = value.partition().uniform_row_length();
            let splits = [*first, *value].map(|value| value.row_splits());
            let same = |other| value.graph().same_dim_given(&splits, length, &other);
            other.is_some_and(|other| matches!(same(other), Ok(Some(true))))
        })
    });
    Ok(join_rows(&inner)?.split_by(RowPartitionValue::new("splits", splits, splits, uniform)?).into())
}

/// Returns an axis counted from the front.
pub(super) fn axis_of<'g>(value: RaggedValue<'g>, axis: impl IntoParam<'g>, extra: i64) -> Result<usize> {
    let axis = known_int(value.graph(), axis, "axis")?;
    let rank = super::reduce::rank_of(value)? as i64 + extra;
    let index = if axis < 0 { axis + rank } else { axis };
    match (0..rank).contains(&index) {
        true => Ok(index as usize),
        false => Err(no_axis(value.graph(), rank, axis)),
    }
}

impl<'g> RaggedValue<'g> {
    /// Returns other values with the outermost partition of `self`.
    pub(super) fn with_values_unchecked(self, values: AnyValue<'g>) -> RaggedValue<'g> {
        values.split_by(self.partition())
    }

    /// Joins ragged or dense values along an axis. Along axis 1, rows are joined: all values have the same number of
    /// rows. Along a later axis, all values have the same partitions before it; the run compares row splits that are
    /// not known to be the same.
    ///
    /// `[n, (r), ..], [m, (s), ..] -> [n+m, (t), ..]` along axis 0, any dtype. A dense value of rank 2 or more counts
    /// as a ragged one whose rows have one length. The result has as many partitions as the value with the most. As
    /// TensorFlow's `tf.concat`. It is composed of joins and gathers, which fuse into kernels.
    ///
    /// ```
    /// use shapeflow::{AnyValue, Graph, RaggedValue, ragged};
    ///
    /// let g = Graph::new();
    /// let a = g.ragged_constant(&ragged![[1, 2], [3]])?;
    /// let b = g.ragged_constant(&ragged![[4], [5, 6]])?;
    /// let joined = [RaggedValue::concat(&[a, b], 0)?, RaggedValue::concat(&[a, b], 1)?];
    /// let results = g.compile(&joined.map(AnyValue::from))?.run_named(&[])?;
    /// assert_eq!(results.ragged_at(0)?.to_string(), "[[1, 2], [3], [4], [5, 6]]");
    /// assert_eq!(results.ragged_at(1)?.to_string(), "[[1, 2, 4], [3, 5, 6]]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are no values, the axis does not exist, dtypes or ranks differ or are unknown, all values are dense
    /// vectors, numbers of rows are known to differ, or dtypes of row splits differ. The run fails if numbers of rows
    /// differ, or row splits before a later axis; the error names the first row that differs.
    #[track_caller]
    pub fn concat(
        values: &[impl Into<AnyValue<'g>> + Copy],
        axis: impl IntoParam<'g>,
    ) -> Result<RaggedValue<'g>> {
        let values: Vec<AnyValue<'g>> = values.iter().map(|value| (*value).into()).collect();
        let Some(first) = values.first() else {
            return Err(no_values("concat", Location::caller()));
        };
        first.graph().in_call("concat", || {
            let values = with_equal_ranks(&values)?;
            let axis = axis_of(values[0], axis, 0)?;
            let values: Vec<AnyValue<'g>> = values.into_iter().map(AnyValue::Ragged).collect();
            concat_along(&values, axis)?.ragged()
        })
    }

    /// Stacks ragged or dense values along a new axis.
    ///
    /// `[n, (r)], [m, (s)] -> [2, (k), (t)]` along axis 0, any dtype. A dense value of rank 2 or more counts as a
    /// ragged one whose rows have one length. Vectors of any lengths become the rows along axis 0:
    /// `[n], [m] -> [2, (r)]`. As TensorFlow's `tf.ragged.stack`. It is composed of joins and gathers, which fuse into
    /// kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, RaggedValue, ragged};
    ///
    /// let g = Graph::new();
    /// let (x, y) = (g.ragged_constant(&ragged![[1, 2], [3]])?, g.ragged_constant(&ragged![[4]])?);
    /// let y = RaggedValue::stack(&[x, y], 0)?;
    /// let y = g.compile(y)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(y, ragged![[[1, 2], [3]], [[4]]]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`RaggedValue::concat`]; vectors are stacked along axis 0 only.
    #[track_caller]
    pub fn stack(
        values: &[impl Into<AnyValue<'g>> + Copy],
        axis: impl IntoParam<'g>,
    ) -> Result<RaggedValue<'g>> {
        let values: Vec<AnyValue<'g>> = values.iter().map(|value| (*value).into()).collect();
        let Some(first) = values.first() else {
            return Err(no_values("stack", Location::caller()));
        };
        first.graph().in_call("stack", || {
            let axis = known_int(first.graph(), axis, "axis")?;
            let is_vector = |value: &AnyValue<'g>| any_rank(*value) == Some(1);
            if values.iter().all(is_vector) && matches!(axis, 0 | -2) {
                let vectors: Vec<Value<'g>> = values.iter().map(|value| value.flat_values()).collect();
                return stack_rows(&vectors).map(|(rows, _)| rows);
            }
            let values = with_equal_ranks(&values)?;
            let axis = axis_of(values[0], axis, 1)? as i64;
            let expanded = values.iter().map(|value| value.expand_dims(axis)).collect::<Result<Vec<_>>>()?;
            RaggedValue::concat(&expanded, axis)
        })
    }

    /// Adds a uniform axis of size 1. Along axis 0 it has one row, which holds all rows.
    ///
    /// `[n, (r)] -> [1, (k), (r)]` for axis 0 and `[n, 1, (r)]` for axis 1, any dtype. As TensorFlow's
    /// `tf.expand_dims`. It is composed of other ops; no value moves.
    ///
    /// ```
    /// use shapeflow::{Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[1, 2], [3]])?;
    /// let y = rt.expand_dims(1)?;
    /// let y = g.compile(y)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(y.to_string(), "[[[1, 2]], [[3]]]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The axis does not exist.
    #[track_caller]
    pub fn expand_dims(self, axis: impl IntoParam<'g>) -> Result<RaggedValue<'g>> {
        self.in_call("expand_dims", || {
            let axis = axis_of(self, axis, 1)?;
            let depth = self.ragged_rank();
            if axis > depth {
                return self.map_flat_values(|flat| flat.expand_dims((axis - depth) as i64));
            }
            let partitions = self.partitions();
            if axis == 0 {
                let rows = uniform_partition(self.into(), Dim::known(1), self.own_nrows()?)?;
                return Ok(AnyValue::Ragged(self).split_by(rows));
            }
            let inner = AnyValue::of(self.flat_values(), &partitions[axis - 1..]);
            let inner = inner.split_by(uniform_partition(inner, inner.count()?, Dim::known(1))?);
            Ok(partitions[..axis - 1]
                .iter()
                .rev()
                .fold(inner, |value, rows| AnyValue::Ragged(value).split_by(*rows)))
        })
    }

    /// Returns the number of elements, as a scalar.
    ///
    /// As [`Value::size_tensor`] of the flat values.
    ///
    /// # Errors
    /// As [`Value::size_tensor`].
    #[track_caller]
    pub fn size(self) -> Result<Value<'g>> {
        self.in_call("size", || self.flat_values().size_tensor())
    }
}

/// Stacks dense values of any sizes along axis 0 as rows. Returns the rows and their lengths, i64.
pub(super) fn stack_rows<'g>(values: &[Value<'g>]) -> Result<(RaggedValue<'g>, Value<'g>)> {
    let lengths = values.iter().map(|value| dim_value(value.graph(), own_dim(*value, 0)?)?.reshape([1i64]));
    let lengths = concat_dense(&lengths.collect::<Result<Vec<Value<'g>>>>()?, 0)?;
    let splits = splits_of_lengths(lengths)?;
    let rows = RowPartitionValue::new("splits", splits, splits, None)?;
    Ok((RaggedValue::new(concat_dense(values, 0)?, &[rows]), lengths))
}

/// Returns the number of axes if it is known.
pub(super) fn any_rank(value: AnyValue<'_>) -> Option<usize> {
    match value {
        AnyValue::Dense(value) => value.shape().rank(),
        AnyValue::Ragged(value) => value.shape().rank(),
    }
}

/// Returns values of one rank as ragged values with the same number of partitions: uniform partitions are added.
fn with_equal_ranks<'g>(values: &[AnyValue<'g>]) -> Result<Vec<RaggedValue<'g>>> {
    let graph = values[0].graph();
    let ranks: Vec<Option<usize>> = values.iter().map(|value| any_rank(*value)).collect();
    if let Some(other) = ranks.iter().find(|rank| rank.is_none() || **rank != ranks[0]) {
        let text = |rank: &Option<usize>| rank.map_or("an unknown rank".to_string(), |rank| rank.to_string());
        let message =
            format!("joined values must have one known rank, got {} and {}", text(&ranks[0]), text(other));
        return Err(refuse(graph, ErrorKind::Shape, message));
    }
    let splits = values.iter().find_map(|value| value.partitions().first().copied());
    let dtype = splits.map_or(DType::I64, |rows| rows.row_splits().dtype());
    for value in values {
        value.check_splits_dtype(dtype)?;
    }
    let depth = values.iter().map(|value| value.partitions().len()).max().unwrap_or(0).max(1);
    values.iter().map(|value| deepened(*value, depth, dtype)?.ragged()).collect()
}

/// Returns a value with `depth` partitions. The innermost ones may be new and uniform.
fn deepened<'g>(value: AnyValue<'g>, depth: usize, dtype: DType) -> Result<AnyValue<'g>> {
    if depth <= value.partitions().len() {
        return Ok(value);
    }
    let rows = value.rows(dtype)?;
    Ok(rows.with_values_unchecked(deepened(rows.values(), depth - 1, dtype)?).into())
}

/// Returns the error about a call without values.
pub(super) fn no_values(op: &'static str, location: &'static Location<'static>) -> Error {
    let message = "there must be at least one value, got none";
    Error::new(ErrorKind::Attribute, Phase::Build, message).with_op(op, op).at(location)
}

/// Joins values along an axis.
fn concat_along<'g>(values: &[AnyValue<'g>], axis: usize) -> Result<AnyValue<'g>> {
    if axis == 0 {
        return join_rows(values);
    }
    let Some(first) = values.first().and_then(|value| value.ragged().ok()) else {
        let dense: Vec<Value<'g>> = values.iter().map(|value| value.flat_values()).collect();
        return concat_dense(&dense, axis as i64).map(AnyValue::Dense);
    };
    let ragged = values.iter().map(|value| value.ragged()).collect::<Result<Vec<_>>>()?;
    if axis > 1 {
        // Each part of the result depends on a part of the first value, which has the checks.
        let first = ragged[1..].iter().try_fold(first, |first, value| first.with_rows_of(*value, 1))?;
        let inner: Vec<AnyValue<'g>> =
            std::iter::once(first).chain(ragged[1..].iter().copied()).map(RaggedValue::values).collect();
        return Ok(first.with_values_unchecked(concat_along(&inner, axis - 1)?).into());
    }
    // The rows of all values, one value after the other, are taken in the order of the rows of the result.
    let (count, rows) = (ragged.len() as i64, first.own_nrows()?);
    let mut start = Dim::known(0);
    let mut numbers = Vec::with_capacity(ragged.len());
    for value in &ragged {
        let got = value.own_nrows()?;
        if first.graph().same_dim(&rows, &got) == Some(false) {
            let message =
                format!("values joined along axis 1 must have one number of rows, got {rows} and {got}");
            return Err(refuse(first.graph(), ErrorKind::Shape, message));
        }
        let end = start.clone() + got;
        numbers.push(first.graph().range(&start, &end, 1i64)?);
        start = end;
    }
    // The run fails here if a value has another number of rows.
    let order = stack(&numbers, 1)?.reshape([-1])?;
    let joined = join_rows(values)?.ragged()?;
    let ordered = take(joined.into(), order)?.ragged()?;
    let splits = ordered.row_splits().slice_with(&[SliceItem::from(..).step(count)])?;
    let lengths = ragged.iter().map(|value| value.partition().uniform_row_length());
    let uniform = lengths.reduce(|sum, length| Some(sum? + length?)).flatten();
    let rows = RowPartitionValue::new("splits", splits, splits, uniform)?;
    Ok(ordered.values().split_by(rows).into())
}
