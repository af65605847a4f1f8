//! Functions of TensorFlow ops for reductions and running sums of rows. An export writes them.

use shapeflow_shape_fns::DType;

use super::in_tensorflow::{rowids, shifted};
use crate::error::{Error, Result};
use crate::graph::Value;
use crate::op::CompositeCx;
use crate::ops::SliceItem;
use crate::ops::in_tensorflow::{operands, rank_of, widened, with_last_axes};
use crate::ops::sort::in_tensorflow::{elements_of_keys, keys, most};

/// Values in rows.
struct Rows<'g> {
    /// The values; halves are f32.
    values: Value<'g>,
    rank: usize,
    /// The first position of each row, i64.
    starts: Value<'g>,
    /// The length of each row, i64.
    lengths: Value<'g>,
    /// The row of each value, i64.
    ids: Value<'g>,
    /// The number of rows.
    count: Value<'g>,
}

impl<'g> Rows<'g> {
    fn of(values: &[Value<'g>]) -> Result<Rows<'g>> {
        let [x, splits] = operands(values)?;
        let rank = rank_of(x)?;
        let splits = splits.cast(DType::I64)?;
        let [ends, starts] = shifted(splits)?;
        Ok(Rows {
            values: widened(x)?,
            rank,
            starts,
            lengths: (ends - starts).ok()?,
            ids: rowids(splits, x.shape_tensor()?.slice_with(&[SliceItem::at(0)])?)?,
            count: starts.size_tensor()?,
        })
    }

    /// Gives a tensor of rows, or of values, axes of size 1 for the axes of a value.
    fn aligned(&self, x: Value<'g>) -> Result<Value<'g>> {
        with_last_axes(x, self.rank - 1)
    }

    /// Returns the position of each value in its row.
    fn positions(&self) -> Result<Value<'g>> {
        let positions = self.values.graph().range(0, self.ids.size_tensor()?, 1)?;
        (positions - self.starts.gather(self.ids, 0)?).ok()
    }

    /// Returns keys of the values. The greatest key of a row is the key of its extremum. NaN has the greatest key of
    /// all.
    fn extreme_keys(&self, largest: bool) -> Result<Value<'g>> {
        let keys = keys(self.values)?;
        match largest {
            true => Ok(keys),
            false if keys.dtype() == self.values.dtype() => keys.bitwise_not(),
            false => self.values.is_nan()?.select(most(keys.dtype()), keys.bitwise_not()?),
        }
    }

    fn extremum(&self, largest: bool, dtype: DType) -> Result<Value<'g>> {
        let keys = self.extreme_keys(largest)?.unsorted_segment_max(self.ids, self.count)?;
        let ordered = if largest { keys } else { keys.bitwise_not()? };
        if keys.dtype() == self.values.dtype() {
            return Ok(ordered);
        }
        let is_nan = keys.equal(most(keys.dtype()))?;
        let elements =
            is_nan.select(f64::NAN, elements_of_keys(ordered, self.values.dtype())?)?.cast(dtype)?;
        let greatest = match dtype {
            DType::F16 => half::f16::MAX.to_f64(),
            DType::BF16 => half::bf16::MAX.to_f64(),
            DType::F32 => f64::from(f32::MAX),
            _ => f64::MAX,
        };
        let is_empty = self.aligned(self.lengths.equal(0)?)?;
        is_empty.select(if largest { -greatest } else { greatest }, elements)
    }

    /// Returns the first position of the extremum of each row; -1 for an empty row.
    fn argument(&self, largest: bool) -> Result<Value<'g>> {
        let keys = self.extreme_keys(largest)?;
        let extremum = keys.unsorted_segment_max(self.ids, self.count)?;
        let is_extremum = keys.equal(extremum.gather(self.ids, 0)?)?;
        let positions = is_extremum.select(self.aligned(self.positions()?)?, i64::MAX)?;
        let first = positions.unsorted_segment_min(self.ids, self.count)?;
        first.equal(i64::MAX)?.select(-1, first)
    }

    fn sum(&self) -> Result<Value<'g>> {
        self.values.unsorted_segment_sum(self.ids, self.count)
    }
}

/// `ragged_reduce`: reduces each row.
pub(super) fn reduce<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let rows = Rows::of(values)?;
    let dtype = values[0].dtype();
    let flags = || rows.values.cast(DType::I32);
    let reduced = match cx.attrs().str("reduce") {
        "sum" => rows.sum()?.cast(dtype),
        "prod" => rows.values.unsorted_segment_prod(rows.ids, rows.count)?.cast(dtype),
        "mean" => {
            let count = rows.aligned(rows.lengths.cast(rows.values.dtype())?)?;
            (rows.sum()? / count).cast(dtype)
        }
        // The maximum of no flags is negative.
        "any" => flags()?.unsorted_segment_max(rows.ids, rows.count)?.greater(0),
        "all" => flags()?.unsorted_segment_min(rows.ids, rows.count)?.greater(0),
        name @ ("max" | "min") => rows.extremum(name == "max", dtype),
        name @ ("argmax" | "argmin") => rows.argument(name == "argmax"),
        _ => return Err(Error::msg("the reduction must be known")),
    };
    Ok(vec![reduced?])
}

/// `ragged_cumsum`: sums rows that are padded to one length.
pub(super) fn cumsum<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let rows = Rows::of(values)?;
    let graph = rows.values.graph();
    let zero = graph.constant([0i64])?;
    let longest = crate::ops::array::concat::concat(&[zero, rows.lengths], 0)?.reduce_max(0)?;
    let columns = graph.range(0, longest, 1)?;
    let within = columns.less(rows.lengths.expand_dims(1)?)?;
    let positions = within.select((rows.starts.expand_dims(1)? + columns).ok()?, 0)?;
    let padded = rows.values.gather(positions, 0)?;
    let padded = rows.aligned(within)?.select(padded, padded.zeros_like()?)?;
    let sums = padded.cumsum_with(1, cx.attrs().bool("exclusive"), cx.attrs().bool("reverse"))?;
    let places = crate::ops::array::stack::stack(&[rows.ids, rows.positions()?], 1)?;
    Ok(vec![sums.gather_nd(places)?.cast(values[0].dtype())?])
}
