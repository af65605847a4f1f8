//! `transpose` of ragged values.

use shapeflow_shape_fns::{Dim, counted};

use super::errors::{known_ints, refuse};
use super::numbers::{dim_param, number, size_value};
use super::partition::splits_of_lengths;
use super::reduce::rank_of;
use super::select::take;
use crate::error::{ErrorKind, Result};
use crate::graph::{AnyValue, IntoParam, Param, RaggedValue, RowPartitionValue, Value};
use crate::ops::SliceItem;

impl<'g> RaggedValue<'g> {
    /// Reorders the axes: axis `i` of the result is axis `perm[i]` of `self`. `perm` may swap axis 0 or a partitioned
    /// axis with its neighbor, and may move the inner axes.
    ///
    /// `[n, (r), ..] -> [?, (c), ..]` for `perm` `[1, 0, ..]`, any dtype. Row `j` of the result has item `j` of each
    /// row that is long enough, in the order of the rows. A second transpose gives the original value if no row is
    /// longer than the row before it. A swap of a partitioned axis with an inner axis transposes each row as a dense
    /// matrix: `[n, (r), k] -> [n, k, (r)]` for `perm` `[0, 2, 1]`. As numpy's `transpose` where all rows have one
    /// length; TensorFlow's `tf.transpose` refuses ragged values. The order is computed on the host, and gathers fuse
    /// into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[1, 2, 3], [], [4, 5]])?;
    /// let columns = g.compile(rt.transpose([1, 0])?)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(columns, ragged![[1, 4], [2, 5], [3]]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `perm` is not a permutation of the axes, or moves axis 0 or a partitioned axis by more than one place.
    #[track_caller]
    pub fn transpose(self, perm: impl IntoParam<'g>) -> Result<RaggedValue<'g>> {
        self.in_call("transpose", || {
            let perm = known_ints(self.graph(), perm, "perm")?;
            let (rank, depth) = (rank_of(self)?, self.ragged_rank());
            let mut sorted = perm.clone();
            sorted.sort_unstable();
            if !sorted.iter().copied().eq(0..rank as i64) {
                let message = format!(
                    "perm must be a permutation of the {rank}, got {perm:?}",
                    rank = counted(rank, "axis")
                );
                return Err(refuse(self.graph(), ErrorKind::Shape, message));
            }
            let perm: Vec<usize> = perm.iter().map(|axis| *axis as usize).collect();
            let Some(first) = (0..=depth).find(|axis| perm[*axis] != *axis) else {
                return self.transposed_inside(&perm[depth + 1..]);
            };
            // `perm` must swap axis `first` with the axis after it, and the other partitioned axes must stay.
            let is_swap = perm[first + 1] == first && (first + 2..=depth).all(|axis| perm[axis] == axis);
            if !is_swap || (first < depth && perm[first] != first + 1) {
                let message = format!(
                    "a transpose must move axis 0 and the partitioned axes by at most one place, got {perm:?} for {}",
                    self.shape_text()
                );
                return Err(refuse(self.graph(), ErrorKind::Shape, message).with_help(
                    "use one transpose for each pair of neighboring axes, or to_tensor, which pads the rows",
                ));
            }
            if first < depth {
                return self.swapped(first)?.transposed_inside(&perm[depth + 1..]);
            }
            // The inner axis that changes places becomes a uniform partition.
            let inner = [&perm[depth..=depth], &perm[depth + 2..]].concat();
            let moved = self.transposed_inside(&inner)?;
            let last = AnyValue::Dense(moved.flat_values()).rows(moved.row_splits().dtype())?;
            let outer = moved.partitions();
            let split = outer.iter().rev().fold(AnyValue::Ragged(last), |x, rows| x.split_by(*rows).into());
            split.ragged()?.swapped(depth)
        })
    }

    /// Reorders the inner axes: `axes` has their numbers in `self`.
    fn transposed_inside(self, axes: &[usize]) -> Result<RaggedValue<'g>> {
        let depth = self.ragged_rank();
        if axes.iter().copied().eq(depth + 1..depth + 1 + axes.len()) {
            return Ok(self);
        }
        let perm: Vec<i64> =
            std::iter::once(0).chain(axes.iter().map(|axis| (axis - depth) as i64)).collect();
        self.map_flat_values(|flat| flat.transpose(perm))
    }

    /// Swaps `axis` and the axis after it. Both are axis 0 or partitioned axes.
    fn swapped(self, axis: usize) -> Result<RaggedValue<'g>> {
        let all = self.partitions();
        let (graph, dtype, rows) = (self.graph(), self.row_splits().dtype(), all[axis]);
        let inner = |level: usize| RaggedValue::new(self.flat_values(), &all[level..]);
        let (items, outer) = (inner(axis), axis.checked_sub(1).map(inner));
        let zero = number(graph, dtype, 0)?;
        let (lengths, uniform) = (rows.row_lengths()?, rows.uniform_row_length());
        let scalar = |dim: Dim| -> Result<Value<'g>> { size_value(graph, dim, dtype) };
        let mut ids = items.columns()?;
        let mut partitions = all[..axis.saturating_sub(1)].to_vec();
        let count = match outer {
            None => match &uniform {
                Some(length) => dim_param(length.clone()),
                None => Param::Value(lengths.reduce_max(0)?.maximum(zero)?),
            },
            Some(outer) => {
                // An entry of the outer axis holds rows. The number of rows of its transpose is the length of its
                // longest row.
                let of_row = outer.value_rowids()?;
                let longest = match &uniform {
                    Some(length) => scalar(length.clone())?.broadcast_to([outer.own_nrows()?])?,
                    None => {
                        lengths.unsorted_segment_max(of_row, dim_param(outer.own_nrows()?))?.maximum(zero)?
                    }
                };
                let splits = splits_of_lengths(longest)?;
                partitions.push(RowPartitionValue::new("splits", splits, splits, uniform.clone())?);
                let starts = splits.slice_with(&[SliceItem::span(0, -1)])?.gather(of_row, 0)?;
                ids = (starts.gather(items.value_rowids()?, 0)? + ids).ok()?;
                Param::Value(splits.slice_with(&[SliceItem::at(-1)])?)
            }
        };
        // The sort keeps the order of equal ids.
        let order = ids.argsort(0, false)?;
        let splits = ids.gather(order, 0)?.segment_ids_to_row_splits(count)?;
        let length = match outer {
            None => Some(items.own_nrows()?),
            Some(outer) => outer.uniform_row_length(),
        };
        let length = length.filter(|_| uniform.is_some());
        partitions.push(RowPartitionValue::new("splits", splits, splits, length)?);
        let moved = take(items.values(), order)?;
        partitions.into_iter().rev().fold(moved, |x, rows| x.split_by(rows).into()).ragged()
    }
}
