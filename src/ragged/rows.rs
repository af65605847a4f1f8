//! [`take_rows`]: copies ranges of rows; a range of outer rows is a range of inner rows too.

use std::ops::Range;

use shapeflow_shape_fns::DType;

use super::{RaggedItem, RaggedTensor, RowPartition};
use crate::error::Result;
use crate::tensor::{Tensor, TensorView, size_of_element};

/// Copies ranges of positions along axis 0 to a new tensor, in order. All elements of a range are copied at once.
///
/// # Errors
/// The allocation fails.
pub(crate) fn take_rows(x: TensorView<'_>, ranges: &[Range<usize>]) -> Result<Tensor> {
    let row: usize = x.sizes()[1..].iter().product();
    let count: usize = ranges.iter().map(ExactSizeIterator::len).sum();
    let sizes: Vec<usize> = std::iter::once(count).chain(x.sizes()[1..].iter().copied()).collect();
    if x.dtype() == DType::String {
        let elements = ranges.iter().flat_map(|range| range.start * row..range.end * row);
        let strings: Vec<&[u8]> = elements.filter_map(|element| x.element(element)).collect();
        return Tensor::from_strings(&sizes, &strings);
    }
    let size = row * size_of_element(x.dtype())?;
    let mut taken = Tensor::allocate(x.dtype(), &sizes)?;
    let mut view = taken.view_mut()?;
    let (from, mut to) = (x.bytes(), view.bytes_mut());
    for range in ranges {
        let (head, rest) = to.split_at_mut(range.len() * size);
        head.copy_from_slice(&from[range.start * size..range.end * size]);
        to = rest;
    }
    Ok(taken)
}

impl RaggedItem {
    /// Takes ranges of positions along axis 0, in order.
    pub(crate) fn take(&self, ranges: &[Range<usize>]) -> Result<RaggedItem> {
        match self {
            RaggedItem::Dense(tensor) => Ok(RaggedItem::Dense(take_rows(tensor.view(), ranges)?)),
            RaggedItem::Ragged(ragged) => Ok(RaggedItem::Ragged(ragged.take(ranges)?)),
        }
    }

    /// Returns the size of axis 0.
    pub(crate) fn len(&self) -> usize {
        match self {
            RaggedItem::Dense(tensor) => tensor.sizes().first().copied().unwrap_or(0),
            RaggedItem::Ragged(ragged) => ragged.nrows(),
        }
    }
}

impl RaggedTensor {
    /// Takes ranges of rows, in order.
    pub(crate) fn take(&self, ranges: &[Range<usize>]) -> Result<RaggedTensor> {
        let mut ranges = ranges.to_vec();
        let mut partitions = Vec::with_capacity(self.partitions.len());
        for partition in &self.partitions {
            let mut end = 0;
            let ends = ranges.iter().flat_map(|range| range.clone()).map(|row| {
                end += partition.range(row).len();
                end
            });
            let dtype = partition.row_splits().dtype();
            partitions.push(match partition.uniform_row_length() {
                Some(length) => {
                    RowPartition::uniform(length, ranges.iter().map(ExactSizeIterator::len).sum(), dtype)?
                }
                None => RowPartition::of_offsets(dtype, std::iter::once(0).chain(ends))?,
            });
            ranges = ranges.iter().flat_map(|range| partition.cover(range.clone())).collect();
        }
        Ok(RaggedTensor { flat: take_rows(self.flat.view(), &ranges)?, partitions })
    }
}

impl RowPartition {
    /// Returns the ranges of values of a range of rows. Rows that follow each other without a gap give one range.
    fn cover(&self, rows: Range<usize>) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for row in rows {
            let range = self.range(row);
            match ranges.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                _ => ranges.push(range),
            }
        }
        ranges
    }
}
