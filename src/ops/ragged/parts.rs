//! The parts of a ragged value as outputs of an executable: named tensors.

use crate::error::Result;
use crate::graph::{AnyValue, RowPartitionValue, Value};
use crate::ops::concat;
use crate::ragged::{FLAT_VALUES, ROW_SPLITS, UNIFORM_ROWS};

use super::numbers::dim_value;

impl<'g> AnyValue<'g> {
    /// Returns the tensors that hold the value, with names below `name`. A uniform partition is the vector of its
    /// number of rows and its row length.
    pub(crate) fn parts(self, name: &str) -> Vec<(Option<String>, Value<'g>)> {
        let flat = self.flat_values();
        let partitions = self.partitions();
        if partitions.is_empty() {
            return vec![(Some(name.to_string()), flat)];
        }
        let mut parts = vec![(Some(format!("{name}{FLAT_VALUES}")), flat)];
        for (index, rows) in partitions.into_iter().enumerate() {
            parts.push(match rows.uniform_row_length() {
                None => (Some(format!("{name}{ROW_SPLITS}{index}")), rows.row_splits()),
                Some(_) => (Some(format!("{name}{UNIFORM_ROWS}{index}")), flat.or_poison(uniform_rows(rows))),
            });
        }
        parts
    }
}

/// Returns the number of rows and the row length of a uniform partition, in the dtype of its splits.
fn uniform_rows(partition: RowPartitionValue<'_>) -> Result<Value<'_>> {
    let length = partition.uniform_row_length().expect("the partition is uniform");
    let length = dim_value(partition.graph(), length)?.reshape([1i64])?;
    concat(&[dim_value(partition.graph(), partition.own_nrows()?)?.reshape([1i64])?, length], 0)?
        .cast(partition.row_splits().dtype())
}
