//! The elements of a ragged value along one axis: an axis of the flat values, or rows of reordered flat values.

use super::reduce::ValueGroups;
use super::reduce_rows;
use super::select::axis_of;
use crate::error::Result;
use crate::graph::{AnyValue, IntoParam, OpBuilder, RaggedValue, RowPartitionValue, Value};
use crate::op::OpDef;
use crate::ops::SliceItem;

/// Where the elements along an axis are.
pub(super) enum Along<'g> {
    /// Along this axis of the flat values.
    Inner(i64),
    /// In lines of flat values.
    Lines(Lines<'g>),
}

/// The flat values in lines. The flat values of a line differ only in their index along the axis.
pub(super) struct Lines<'g> {
    /// The line of each flat value.
    pub ids: Value<'g>,
    /// The row splits of the lines.
    splits: Value<'g>,
    /// The partitions of a value that has one element for each line.
    partitions: Vec<RowPartitionValue<'g>>,
    /// The order of the flat values; none if each line is a row of the last partition.
    order: Option<LineOrder<'g>>,
}

/// An order of the flat values in which the flat values of each line follow one another.
struct LineOrder<'g> {
    /// For each flat value in the new order: its number in the old order.
    sources: Value<'g>,
    /// For each flat value in the new order: its index along the axis.
    indices: Value<'g>,
}

impl<'g> Along<'g> {
    /// Finds the elements along an axis. A negative axis counts from the end.
    ///
    /// # Errors
    /// The axis does not exist, or it is unknown when the graph is built.
    pub fn of(value: RaggedValue<'g>, axis: impl IntoParam<'g>) -> Result<Along<'g>> {
        let axis = axis_of(value, axis, 0)?;
        let depth = value.ragged_rank();
        if axis > depth {
            return Ok(Along::Inner((axis - depth) as i64));
        }
        let all = value.partitions();
        let inner = |level: usize| RaggedValue::new(value.flat_values(), &all[level..]);
        if axis == depth {
            let (last, outer) = all.split_last().expect("a ragged value has at least one partition");
            let ids = inner(depth - 1).value_rowids()?;
            let (splits, partitions) = (last.row_splits(), outer.to_vec());
            return Ok(Along::Lines(Lines { ids, splits, partitions, order: None }));
        }
        let ValueGroups { ids, count, partitions } = ValueGroups::along(value, axis)?;
        // The sort keeps the order of equal ids, so a line ascends in the index along the axis.
        let sources = ids.argsort(0, false)?;
        let splits = ids.gather(sources, 0)?.segment_ids_to_row_splits(count)?;
        let mut indices = if axis == 0 { inner(0).value_rowids()? } else { inner(axis - 1).columns()? };
        for level in axis.max(1)..depth {
            indices = indices.gather(inner(level).value_rowids()?, 0)?;
        }
        let order = LineOrder { sources, indices: indices.gather(sources, 0)? };
        Ok(Along::Lines(Lines { ids, splits, partitions, order: Some(order) }))
    }
}

impl<'g> Lines<'g> {
    /// Starts a call of an op on the flat values in the order of the lines, and on the row splits of the lines.
    fn call(&self, def: &'static OpDef, flat: Value<'g>) -> Result<OpBuilder<'g>> {
        let flat = match &self.order {
            Some(order) => flat.gather(order.sources, 0)?,
            None => flat,
        };
        Ok(flat.graph().op(def).data(flat).data(self.splits))
    }

    /// Reduces each line to one element, by the reduction of this name.
    pub fn reduce(&self, flat: Value<'g>, name: &str) -> Result<Value<'g>> {
        self.call(&reduce_rows::DEF, flat)?.attr("reduce", name).finish()
    }

    /// Applies an op that gives one element for each element of a line.
    pub fn scan(
        &self,
        def: &'static OpDef,
        flat: Value<'g>,
        set: impl FnOnce(OpBuilder<'g>) -> OpBuilder<'g>,
    ) -> Result<Value<'g>> {
        self.in_flat_order(set(self.call(def, flat)?).finish()?)
    }

    /// Applies an op that gives a position in the line for each element of a line. Returns indices along the axis.
    pub fn scan_positions(
        &self,
        def: &'static OpDef,
        flat: Value<'g>,
        set: impl FnOnce(OpBuilder<'g>) -> OpBuilder<'g>,
    ) -> Result<Value<'g>> {
        let positions = set(self.call(def, flat)?).finish()?;
        let Some(order) = &self.order else { return Ok(positions) };
        let starts = self.starts()?.gather(self.ids.gather(order.sources, 0)?, 0)?;
        self.in_flat_order(order.indices_at(starts, positions)?)
    }

    /// Converts one position in each line to an index along the axis. Returns the indices with their partitions.
    pub fn reduced_positions(&self, positions: Value<'g>) -> Result<AnyValue<'g>> {
        let indices = match &self.order {
            Some(order) => order.indices_at(self.starts()?, positions)?,
            None => positions,
        };
        Ok(AnyValue::of(indices, &self.partitions))
    }

    /// Returns the start of each line.
    fn starts(&self) -> Result<Value<'g>> {
        self.splits.slice_with(&[SliceItem::span(0, -1)])
    }

    /// Puts values in the order of the lines back in the order of the flat values.
    fn in_flat_order(&self, values: Value<'g>) -> Result<Value<'g>> {
        match &self.order {
            Some(order) => values.gather(order.sources.invert_permutation()?, 0),
            None => Ok(values),
        }
    }
}

impl<'g> LineOrder<'g> {
    /// Returns the indices along the axis of the values at `positions` after `starts`. Each start belongs to a slice of
    /// positions.
    fn indices_at(&self, starts: Value<'g>, positions: Value<'g>) -> Result<Value<'g>> {
        let inner = positions.shape().rank().unwrap_or(1).saturating_sub(1);
        let starts = (0..inner).try_fold(starts, |starts, _| starts.expand_dims(-1))?;
        let places = (starts.cast(positions.dtype())? + positions).ok()?;
        self.indices.cast(positions.dtype())?.gather(places, 0)
    }
}
