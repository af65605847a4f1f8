//! Axes of size 1 of a ragged operand: their only item is repeated for the items of the other operand.
//!
//! Only axes whose size is known to be 1 when the graph is built are repeated.

use shapeflow_shape_fns::Dim;

use super::counts::with_equal_counts;
use super::numbers::dim_param;
use super::partition::uniform_rows;
use super::select::take;
use crate::error::Result;
use crate::graph::{AnyValue, RaggedValue};

fn is_one(size: &Dim) -> bool {
    size.as_known() == Some(1)
}

impl<'g> RaggedValue<'g> {
    fn has_one_row(self) -> bool {
        self.own_nrows().is_ok_and(|rows| is_one(&rows))
    }

    fn has_rows_of_one(self) -> bool {
        self.uniform_row_length().as_ref().is_some_and(is_one)
    }

    /// Repeats the only row `count` times.
    fn with_repeated_row(self, count: Dim) -> Result<RaggedValue<'g>> {
        take(self.into(), self.graph().fill([count], 0i64)?)?.ragged()
    }

    /// Gives each row the outermost partition of `other`. Each row of `self` has one item, which is repeated. Returns
    /// both values.
    fn with_repeated_items(self, other: RaggedValue<'g>) -> Result<[RaggedValue<'g>; 2]> {
        let requirement = "the number of rows of operands must be";
        let (values, other) = with_equal_counts(self.values(), other, requirement)?;
        Ok([take(values, other.value_rowids()?)?.split_by(other.partition()), other])
    }

    /// Repeats the items of axes of size 1 of either value for the items of the other value, along axis 0 and the
    /// partitioned axes that both have.
    pub(super) fn stretched(self, other: RaggedValue<'g>) -> Result<[RaggedValue<'g>; 2]> {
        let (mut a, mut b) = (self, other);
        match (a.has_one_row(), b.has_one_row()) {
            (true, false) => a = a.with_repeated_row(b.own_nrows()?)?,
            (false, true) => b = b.with_repeated_row(a.own_nrows()?)?,
            _ => {}
        }
        RaggedValue::stretched_inside(a, b)
    }

    /// Repeats as [`stretched`](Self::stretched) does, along the partitioned axes.
    fn stretched_inside(a: RaggedValue<'g>, b: RaggedValue<'g>) -> Result<[RaggedValue<'g>; 2]> {
        let (mut a, mut b) = (a, b);
        match (a.has_rows_of_one(), b.has_rows_of_one()) {
            (true, false) => [a, b] = a.with_repeated_items(b)?,
            (false, true) => [b, a] = b.with_repeated_items(a)?,
            _ => {}
        }
        let (AnyValue::Ragged(inner_a), AnyValue::Ragged(inner_b)) = (a.values(), b.values()) else {
            return Ok([a, b]);
        };
        let has_ones = |value: RaggedValue<'g>| {
            value.partitions().iter().any(|rows| rows.uniform_row_length().as_ref().is_some_and(is_one))
        };
        if !has_ones(inner_a) && !has_ones(inner_b) {
            return Ok([a, b]);
        }
        let [inner_a, inner_b] = RaggedValue::stretched_inside(inner_a, inner_b)?;
        Ok([a.with_values_unchecked(inner_a.into()), b.with_values_unchecked(inner_b.into())])
    }

    /// Repeats the items of axes of size 1 for the axes of a dense operand: `sizes` has a size for axis 0 and for each
    /// partitioned axis.
    pub(super) fn stretched_to(self, sizes: &[Dim]) -> Result<RaggedValue<'g>> {
        let Some((first, rest)) = sizes.split_first() else { return Ok(self) };
        let value = match self.has_one_row() && !is_one(first) {
            true => self.with_repeated_row(first.clone())?,
            false => self,
        };
        value.stretched_inside_to(rest)
    }

    fn stretched_inside_to(self, sizes: &[Dim]) -> Result<RaggedValue<'g>> {
        let Some((size, rest)) = sizes.split_first() else { return Ok(self) };
        let mut value = self;
        if value.has_rows_of_one() && !is_one(size) {
            let (graph, dtype, count) = (value.graph(), value.row_splits().dtype(), value.own_nrows()?);
            let rows = uniform_rows(graph, dtype, count.clone(), size.clone())?;
            let rowids = rows.row_splits().rowids(dim_param(count * size.clone()))?;
            value = take(value.values(), rowids)?.split_by(rows);
        }
        match value.values() {
            AnyValue::Ragged(inner) => {
                let stretched = inner.stretched_inside_to(rest)?;
                Ok(value.with_values_unchecked(stretched.into()))
            }
            AnyValue::Dense(_) => Ok(value),
        }
    }
}
