//! Ops that select from ragged values by index: gather_nd, where_indices, select_rows.

use shapeflow_shape_fns::{DType, Dim};

use super::errors::refuse;
use super::numbers::own_shape;
use super::partition::uniform_partition;
use super::select::take;
use super::splits::POSITION;
use crate::error::{ErrorKind, Result};
use crate::graph::{AnyValue, RaggedValue, Value};
use crate::ops::{SliceItem, concat};

impl<'g> RaggedValue<'g> {
    /// Selects by index along the first axes: `out[i] = self[indices[i, 0], …, indices[i, k-1]]`. If `k` is the rank,
    /// elements are selected; else the results are rows or slices.
    ///
    /// `[n, (r), ..], indices [i.., k] -> [i.., ..]`. The indices are dense or ragged, i32 or i64; their last axis is
    /// uniform. An index outside its row fails the run; TensorFlow's `tf.gather_nd` reads another row instead.
    ///
    /// As TensorFlow's `tf.gather_nd` for indices that lie in their rows. It is composed of gathers, which fuse into
    /// kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let params = g.ragged_constant(&ragged![[[0, 1], [10]], [[100], [110, 111, 112], [120]], [[], [210]]])?;
    /// let rows = params.gather_nd(g.constant([[2, 1], [0, 0]])?)?;
    /// let items = params.gather_nd(g.constant([[0, 0, 1], [1, 1, 2]])?)?;
    /// let results = g.compile(&[rows, items])?.run_named(&[])?;
    /// assert_eq!(results.ragged_at(0)?.to_string(), "[[210], [0, 1]]");
    /// assert_eq!(results.items()?[1].1.to_string(), "[1, 112]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The size of the last axis of the indices is unknown, 0, or more than the rank; or the indices are neither i32
    /// nor i64.
    #[track_caller]
    pub fn gather_nd(self, indices: impl Into<AnyValue<'g>>) -> Result<AnyValue<'g>> {
        self.in_call("gather_nd", || {
            let indices = match indices.into() {
                AnyValue::Dense(indices) => indices,
                AnyValue::Ragged(indices) => {
                    return Ok(indices.around(self.gather_nd(indices.flat_values())?));
                }
            };
            let (shape, rank) = (own_shape(indices)?, super::reduce::rank_of(self)?);
            let count = shape.dims().and_then(|dims| dims.last()).and_then(Dim::as_known);
            let Some(count) = count.filter(|count| (1..=rank as i64).contains(count)) else {
                let message = format!(
                    "the last axis of the indices must have a size from 1 to the rank {rank}, got {shape}"
                );
                return Err(refuse(self.graph(), ErrorKind::Shape, message));
            };
            let column =
                |axis: i64| indices.slice_with(&[SliceItem::Rest, SliceItem::at(axis)])?.cast(DType::I64);
            let (mut value, mut at) = (AnyValue::Ragged(self), column(0)?);
            for axis in 1..count {
                value = match value {
                    AnyValue::Ragged(ragged) => {
                        at = position(ragged, at, column(axis)?)?;
                        ragged.values()
                    }
                    AnyValue::Dense(values) => {
                        let inner =
                            indices.slice_with(&[SliceItem::Rest, (axis..).into()])?.cast(DType::I64)?;
                        return values
                            .gather_nd(concat(&[at.expand_dims(-1)?, inner], -1)?)
                            .map(AnyValue::Dense);
                    }
                };
            }
            gather_any(value, at.into())
        })
    }

    /// Returns the indices of all elements that are true or nonzero, in row-major order:
    /// `[n, (r), ..] -> i64[?, rank]`.
    ///
    /// As TensorFlow's `tf.where` with one argument. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor, ragged};
    ///
    /// let g = Graph::new();
    /// let flags = g.ragged_constant(&ragged![[true, false], [], [true]])?;
    /// let [indices] = g.compile(flags.where_indices()?)?.run(&[])?;
    /// assert_eq!(indices, Tensor::from([[0i64, 0], [2, 0]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are neither bool nor numbers.
    #[doc(alias = "nonzero")]
    #[track_caller]
    pub fn where_indices(self) -> Result<Value<'g>> {
        self.in_call("where_indices", || {
            let [indices, values, _] = self.to_sparse()?;
            indices.boolean_mask(values.cast(DType::Bool)?, 0)
        })
    }

    /// Takes row `i` of `self` where `condition[i]` is true, and of `no` elsewhere.
    ///
    /// `[n, (r), ..], condition bool[n], no [n, (s), ..] -> [n, (t), ..]`. The rows may have different lengths. As
    /// TensorFlow's `tf.compat.v1.where` with a vector.
    ///
    /// It is composed of other ops: the rows of both are joined, and gathered on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let (yes, no) = (g.ragged_constant(&ragged![[1, 2], [3]])?, g.ragged_constant(&ragged![[4], [5, 6, 7]])?);
    /// let rows = yes.select_rows(g.constant([true, false])?, no)?;
    /// assert_eq!(g.compile(rows)?.run_named(&[])?.ragged_at(0)?.to_string(), "[[1, 2], [5, 6, 7]]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `condition` is not a vector of bool, dtypes differ, or numbers of rows are known to differ. The run fails if
    /// numbers of rows differ.
    #[track_caller]
    pub fn select_rows(self, condition: Value<'g>, no: RaggedValue<'g>) -> Result<RaggedValue<'g>> {
        self.in_call("select_rows", || {
            let count = self.own_nrows()?;
            let condition = condition.ensure_shape([count.clone()])?;
            let yes = self.graph().range(0i64, &count, 1i64)?;
            let other = self.graph().range(&count, count.clone() + no.own_nrows()?, 1i64)?;
            let other = other.ensure_shape([count])?;
            let rows = condition.select(yes, other)?;
            take(RaggedValue::concat(&[self, no], 0)?.into(), rows)?.ragged()
        })
    }

    /// Puts all partitions of `self` around values.
    pub(super) fn around(self, values: AnyValue<'g>) -> AnyValue<'g> {
        self.partitions().into_iter().rev().fold(values, |values, rows| values.split_by(rows).into())
    }
}

/// Returns the position of item `column` of row `row` in the values, for each pair. The run fails if there is no such
/// item.
pub(super) fn position<'g>(x: RaggedValue<'g>, rows: Value<'g>, columns: Value<'g>) -> Result<Value<'g>> {
    // A position of 64 bits may be out of range of i32.
    let [splits, rows, columns] = [x.row_splits(), rows, columns].map(|value| value.cast(DType::I64));
    let (splits, rows, columns) = (splits?, rows?, columns?);
    x.graph().op(&POSITION).data(splits).data(rows).data(columns).finish()
}

/// Selects positions along axis 0. The axes of the indices replace axis 0.
pub(super) fn gather_any<'g>(x: AnyValue<'g>, indices: AnyValue<'g>) -> Result<AnyValue<'g>> {
    let indices = match (x, indices) {
        (_, AnyValue::Ragged(indices)) => {
            return Ok(indices.around(gather_any(x, indices.flat_values().into())?));
        }
        (AnyValue::Dense(x), AnyValue::Dense(indices)) => return x.gather(indices, 0).map(AnyValue::Dense),
        (AnyValue::Ragged(_), AnyValue::Dense(indices)) => indices,
    };
    let shape = own_shape(indices)?;
    match shape.dims() {
        None => {
            let message = "the indices of a ragged value must have a known rank".to_string();
            Err(refuse(x.graph(), ErrorKind::Shape, message))
        }
        Some([]) => Ok(take(x, indices.reshape([1i64])?)?.ragged()?.values()),
        Some(sizes) => {
            let mut taken = take(x, if sizes.len() == 1 { indices } else { indices.reshape([-1i64])? })?;
            for axis in (1..sizes.len()).rev() {
                let rows = sizes[..axis].iter().cloned().reduce(|rows, size| rows * size);
                let rows = uniform_partition(taken, rows.expect("an axis is before"), sizes[axis].clone())?;
                taken = taken.split_by(rows).into();
            }
            Ok(taken)
        }
    }
}
