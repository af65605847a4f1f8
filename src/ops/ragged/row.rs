//! A row of a ragged value whose position a run computes.

use super::numbers::number;
use super::range::range_parts;
use crate::error::Result;
use crate::graph::{AnyValue, RaggedValue, RowPartitionValue, Value};
use crate::ops::SliceItem;

impl<'g> RaggedValue<'g> {
    /// Returns the values of the outermost partition from `start` up to `limit`, two scalars with the dtype of the
    /// splits. The cost does not depend on the number of other values.
    pub(crate) fn values_between(self, start: Value<'g>, limit: Value<'g>) -> Result<AnyValue<'g>> {
        let (mut start, mut limit) = (start, limit);
        let one = number(self.graph(), start.dtype(), 1)?;
        let mut partitions = Vec::new();
        for partition in &self.partitions()[1..] {
            let (_, positions) = range_parts(start, (limit + one).ok()?, one)?;
            let splits = partition.row_splits().gather(positions, 0)?;
            (start, limit) =
                (splits.slice_with(&[SliceItem::at(0)])?, splits.slice_with(&[SliceItem::at(-1)])?);
            let splits = (splits - start).ok()?;
            let uniform = partition.uniform_row_length().filter(|length| length.is_known());
            partitions.push(RowPartitionValue::new("row_splits", splits, splits, uniform)?);
        }
        let (_, positions) = range_parts(start, limit, one)?;
        Ok(AnyValue::of(self.flat_values().gather(positions, 0)?, &partitions))
    }
}
