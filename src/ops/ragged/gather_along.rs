//! `gather` along an axis: dense or ragged values, selected by dense or ragged indices.

use shapeflow_shape_fns::{DType, Dim, TensorShape};

use super::counts::with_equal_counts;
use super::errors::{known_int, no_axis, refuse};
use super::index::{gather_any, position};
use super::numbers::own_shape;
use super::partition::uniform_partition;
use super::reduce::rank_of;
use super::select::{axis_of, take};
use crate::error::{ErrorKind, Result};
use crate::graph::{AnyValue, IntoParam, RaggedValue, Value};

impl<'g> RaggedValue<'g> {
    /// Selects along `axis` by index. The axes of the indices replace the axis. A negative `axis` counts from the end.
    ///
    /// `[n, (r), ..], indices [k..] -> [k.., (r), ..]` along axis 0, and `[n, k.., ..]` along axis 1, which selects the
    /// same indices from every row. Any dtype; the indices are dense or ragged, i32 or i64. An index out of range fails
    /// the run. As TensorFlow's `tf.gather`.
    ///
    /// It is composed of a computation of positions on the host and of a gather, which fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[1, 2], [6, 7], [3, 4, 5]])?;
    /// let (rows, columns) = (rt.gather(g.constant([2, 0, 2])?, 0)?, rt.gather(g.constant([1, 0])?, 1)?);
    /// let results = g.compile((("rows", rows), ("columns", columns)))?.run_named(&[])?;
    /// assert_eq!(results.ragged("rows")?.to_string(), "[[3, 4, 5], [1, 2], [3, 4, 5]]");
    /// assert_eq!(results.tensor("columns")?, &Tensor::from([[2, 1], [7, 6], [4, 3]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The axis does not exist, or the indices have an unknown rank, are neither i32 nor i64, or have row splits of
    /// another dtype.
    #[doc(alias = "take")]
    #[track_caller]
    pub fn gather(self, indices: impl Into<AnyValue<'g>>, axis: impl IntoParam<'g>) -> Result<AnyValue<'g>> {
        self.in_call("gather", || AnyValue::from(self).gather_batched(indices, axis, 0))
    }

    /// Gathers as [`RaggedValue::gather`] does, separately for each index of the first `batch_dims` axes, which `self`
    /// and `indices` share.
    ///
    /// With `batch_dims` 1 along axis 1, item `j` of row `i` is item `indices[i, j]` of row `i`:
    /// `[n, (r), ..], indices [n, (k)] -> [n, (k), ..]`. As TensorFlow's `tf.gather` with `batch_dims`.
    ///
    /// ```
    /// use shapeflow::{Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[10, 20, 30], [], [40]])?;
    /// let picked = rt.gather_batched(g.ragged_constant(&ragged![[2, 0], [], [0]])?, 1, 1)?;
    /// let picked = g.compile(picked)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(picked.to_string(), "[[30, 10], [], [40]]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`RaggedValue::gather`]; also if `batch_dims` is more than `axis` or than the rank of the indices, or
    /// the first axes are known to differ. The run fails if the first axes differ.
    #[doc(alias = "batch_gather")]
    #[doc(alias = "take_along_axis")]
    #[track_caller]
    pub fn gather_batched(
        self,
        indices: impl Into<AnyValue<'g>>,
        axis: impl IntoParam<'g>,
        batch_dims: impl IntoParam<'g>,
    ) -> Result<AnyValue<'g>> {
        self.in_call("gather_batched", || AnyValue::from(self).gather_batched(indices, axis, batch_dims))
    }
}

impl<'g> Value<'g> {
    /// Selects along `axis` by ragged indices, whose axes replace the axis. An embedding of ragged ids is
    /// `table.gather_ragged(ids, 0)`.
    ///
    /// `[.., k, ..], indices [n, (r)] -> [.., n, (r), ..]`, any dtype; the indices are i32 or i64. An index out of
    /// range fails the run. As TensorFlow's `tf.gather` with ragged indices. It is composed of gathers, which fuse into
    /// kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let table = g.constant([10, 20, 30])?;
    /// let rows = table.gather_ragged(g.ragged_constant(&ragged![[2, 0], [], [1]])?, 0)?;
    /// let rows = g.compile(rows)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(rows.to_string(), "[[30, 10], [], [20]]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The axis does not exist, the rank is unknown, or the indices are neither i32 nor i64.
    #[doc(alias = "embedding_lookup")]
    #[track_caller]
    pub fn gather_ragged(
        self,
        indices: RaggedValue<'g>,
        axis: impl IntoParam<'g>,
    ) -> Result<RaggedValue<'g>> {
        self.graph()
            .in_call("gather_ragged", || AnyValue::from(self).gather_batched(indices, axis, 0)?.ragged())
    }
}

impl<'g> AnyValue<'g> {
    /// Selects from dense or ragged values by dense or ragged indices. The result is ragged if one of both is.
    ///
    /// As [`RaggedValue::gather_batched`] and [`Value::gather_batched`].
    ///
    /// # Errors
    /// As [`RaggedValue::gather_batched`] and [`Value::gather_batched`].
    #[track_caller]
    pub fn gather_batched(
        self,
        indices: impl Into<AnyValue<'g>>,
        axis: impl IntoParam<'g>,
        batch_dims: impl IntoParam<'g>,
    ) -> Result<AnyValue<'g>> {
        self.graph().in_call("gather_batched", || {
            let indices = indices.into();
            let axis = known_int(self.graph(), axis, "axis")?;
            let batch_dims = known_int(self.graph(), batch_dims, "batch_dims")?;
            if let (AnyValue::Dense(x), AnyValue::Dense(indices)) = (self, indices) {
                return x.gather_batched(indices, axis, batch_dims).map(AnyValue::Dense);
            }
            if let (AnyValue::Ragged(x), AnyValue::Ragged(indices)) = (self, indices) {
                let [ours, theirs] = [x, indices].map(|value| value.row_splits().dtype());
                if ours != theirs {
                    let message = format!("all row_splits must have one dtype, got {ours} and {theirs}");
                    return Err(refuse(self.graph(), ErrorKind::DType, message)
                        .with_help("use with_row_splits_dtype to convert one of them"));
                }
            }
            let axis = match self {
                AnyValue::Ragged(x) => axis_of(x, axis, 0)?,
                AnyValue::Dense(x) => dense_axis(x, axis)?,
            };
            let rank = match indices {
                AnyValue::Ragged(indices) => rank_of(indices)?,
                AnyValue::Dense(indices) => known_rank(indices)?,
            } as i64;
            let batch = if batch_dims < 0 { batch_dims + rank } else { batch_dims };
            if !(0..=rank.min(axis as i64)).contains(&batch) {
                let message = format!(
                    "batch_dims must be at most the axis, {axis}, and the rank of the indices, {rank}, got {batch_dims}"
                );
                return Err(refuse(self.graph(), ErrorKind::Attribute, message));
            }
            gather(self, indices, axis, batch as usize)
        })
    }
}

/// Gathers with an axis and a number of batch axes that are not negative.
fn gather<'g>(x: AnyValue<'g>, indices: AnyValue<'g>, axis: usize, batch: usize) -> Result<AnyValue<'g>> {
    if let (AnyValue::Dense(x), AnyValue::Dense(indices)) = (x, indices) {
        return x.gather_batched(indices, axis as i64, batch as i64).map(AnyValue::Dense);
    }
    if axis == 0 {
        return gather_any(x, indices);
    }
    let splits = [x, indices].into_iter().find_map(|value| value.partitions().first().copied());
    let dtype = splits.map_or(DType::I64, |rows| rows.row_splits().dtype());
    let rows = x.rows(dtype)?;
    match (batch, axis) {
        // Every row has the same indices.
        (0, 1) => gather(rows.into(), indices.repeated(rows.own_nrows()?)?, 1, 1),
        (0, _) => Ok(rows.with_values_unchecked(gather(rows.values(), indices, axis - 1, 0)?).into()),
        (1, 1) => {
            let (_, indices) = same_count(rows, indices, "indices")?;
            let flat = indices.flat_values();
            let ids = match indices {
                AnyValue::Dense(_) => x.graph().range(0i64, rows.own_nrows()?, 1i64)?,
                AnyValue::Ragged(indices) => indices.outer_rowids()?,
            };
            let inner = known_rank(flat)? - 1;
            let ids = (0..inner).try_fold(ids, |ids, _| ids.expand_dims(-1))?.broadcast_to(flat.shape())?;
            let taken = gather_any(rows.values(), position(rows, ids, flat)?.into())?;
            Ok(match indices {
                AnyValue::Dense(_) => taken,
                AnyValue::Ragged(indices) => indices.around(taken),
            })
        }
        (1, _) => {
            // Every value of a row has the indices of the row.
            let (rows, indices) = same_count(rows, indices, "indices")?;
            let repeated = take(indices, rows.value_rowids()?)?;
            Ok(rows.with_values_unchecked(gather(rows.values(), repeated, axis - 1, 1)?).into())
        }
        _ => {
            let [rows, indices] = rows.with_equal_rows(indices.rows(dtype)?)?;
            let taken = gather(rows.values(), indices.values(), axis - 1, batch - 1)?;
            Ok(rows.with_values_unchecked(taken).into())
        }
    }
}

/// Returns a ragged value and an operand, which errors call `what`, guarded by the check that the operand has one entry
/// along axis 0 for each row.
pub(super) fn same_count<'g>(
    rows: RaggedValue<'g>,
    operand: AnyValue<'g>,
    what: &str,
) -> Result<(RaggedValue<'g>, AnyValue<'g>)> {
    let (operand, rows) = with_equal_counts(operand, rows, &format!("the number of rows of {what} must be"))?;
    Ok((rows, operand))
}

impl<'g> AnyValue<'g> {
    /// Returns the value as a ragged one. A dense value gets a uniform partition with row splits of `dtype`.
    pub(super) fn rows(self, dtype: DType) -> Result<RaggedValue<'g>> {
        let dense = match self {
            AnyValue::Ragged(value) => return Ok(value),
            AnyValue::Dense(dense) => dense,
        };
        let shape = own_shape(dense)?;
        let Some([count, length, inner @ ..]) = shape.dims() else {
            let message = format!("the value must have rank at least 2, got {shape}");
            return Err(refuse(dense.graph(), ErrorKind::Shape, message));
        };
        let flat = [&[count.clone() * length.clone()], inner].concat();
        let values = AnyValue::Dense(dense.reshape(TensorShape::new(flat))?);
        let rows = values.split_by(uniform_partition(values, count.clone(), length.clone())?);
        if dtype == DType::I64 { Ok(rows) } else { rows.with_row_splits_dtype(dtype) }
    }

    /// Repeats the value `count` times along a new axis 0.
    fn repeated(self, count: Dim) -> Result<AnyValue<'g>> {
        match self {
            AnyValue::Dense(value) => {
                let shape = own_shape(value)?;
                let sizes = std::iter::once(count).chain(shape.dims().unwrap_or_default().iter().cloned());
                value.expand_dims(0)?.broadcast_to(TensorShape::new(sizes)).map(AnyValue::Dense)
            }
            AnyValue::Ragged(value) => {
                let zeros = self.graph().fill([count], 0i64)?;
                take(value.expand_dims(0)?.into(), zeros)
            }
        }
    }
}

fn known_rank(value: Value<'_>) -> Result<usize> {
    value.shape().rank().ok_or_else(|| {
        let message = "a dense operand of a ragged op must have a known rank".to_string();
        refuse(value.graph(), ErrorKind::Shape, message)
    })
}

/// Returns an axis of a dense value counted from the front.
fn dense_axis(value: Value<'_>, axis: i64) -> Result<usize> {
    let rank = known_rank(value)? as i64;
    let index = if axis < 0 { axis + rank } else { axis };
    match (0..rank).contains(&index) {
        true => Ok(index as usize),
        false => Err(no_axis(value.graph(), rank, axis)),
    }
}
