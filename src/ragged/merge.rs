//! Ragged tensors with other values, other splits, or merged axes.

use shapeflow_shape_fns::{DType, counted};

use super::construct::value_count;
use super::{RaggedItem, RaggedTensor, RowPartition, shape_error};
use crate::error::{Result, at_caller};
use crate::tensor::Tensor;

impl RaggedTensor {
    /// Makes a ragged tensor from `values` and the outermost partition of `self`.
    ///
    /// # Errors
    /// The number of values differs, `values` is a scalar, or `values` is ragged with splits of another dtype.
    #[track_caller]
    pub fn with_values(&self, values: impl Into<RaggedItem>) -> Result<RaggedTensor> {
        at_caller(|| {
            let values = values.into();
            let (count, nvals) = (value_count(&values)?, self.partition().nvals());
            if count != nvals {
                return Err(shape_error(format!(
                    "there must be {nvals}, got {count}",
                    nvals = counted(nvals, "value")
                )));
            }
            RaggedTensor::partitioned(self.partition().clone(), values)
        })
    }

    /// Makes a ragged tensor from flat values and the partitions of `self`.
    ///
    /// ```
    /// use shapeflow::ragged;
    ///
    /// let rt = ragged![[1, 2], [], [3]].with_flat_values([0.5f32, 1.5, 2.5])?;
    /// assert_eq!(rt.to_string(), "[[0.5, 1.5], [], [2.5]]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The number of values differs.
    #[track_caller]
    pub fn with_flat_values(&self, flat: impl Into<Tensor>) -> Result<RaggedTensor> {
        at_caller(|| {
            let flat = flat.into();
            let (got, count) = (flat.sizes().first().copied(), self.flat.sizes()[0]);
            if got != Some(count) {
                return Err(shape_error(format!(
                    "there must be {count}, got sizes {:?}",
                    flat.sizes(),
                    count = counted(count, "flat value")
                )));
            }
            Ok(RaggedTensor { flat, partitions: self.partitions.clone() })
        })
    }

    /// Returns the tensor with row splits of another dtype, i32 or i64.
    ///
    /// # Errors
    /// The dtype is neither i32 nor i64, or a split does not fit the dtype.
    #[track_caller]
    pub fn with_row_splits_dtype(&self, dtype: DType) -> Result<RaggedTensor> {
        at_caller(|| {
            let partitions = self.partitions.iter().map(|partition| partition.with_dtype(dtype));
            Ok(RaggedTensor { flat: self.flat.clone(), partitions: partitions.collect::<Result<_>>()? })
        })
    }

    /// Merges the axes from `outer` up to and including `inner` into one axis. Negative axes count from the end.
    ///
    /// ```
    /// use shapeflow::ragged;
    ///
    /// let rt = ragged![[[1, 2], [3]], [], [[4]]];
    /// assert_eq!(rt.merge_dims(0, 1)?.to_string(), "[[1, 2], [3], [4]]");
    /// assert_eq!(rt.merge_dims(1, 2)?.to_string(), "[[1, 2, 3], [], [4]]");
    /// assert_eq!(rt.merge_dims(0, 2)?.to_string(), "[1, 2, 3, 4]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// An axis does not exist, `outer` is after `inner`, or the row length of merged uniform axes does not fit a
    /// `usize`.
    #[track_caller]
    pub fn merge_dims(&self, outer: i64, inner: i64) -> Result<RaggedItem> {
        at_caller(|| {
            let (outer, inner) = (self.axis(outer)?, self.axis(inner)?);
            if outer > inner {
                return Err(shape_error(format!(
                    "the outer axis must not be after the inner axis, got {outer} and {inner}"
                )));
            }
            let count = self.partitions.len();
            let (mut flat, mut partitions) = (self.flat.clone(), self.partitions.clone());
            if inner > count {
                // Inner axes of the flat values join axis 0 of the flat values, or one another.
                let first = outer.saturating_sub(count);
                let last = inner - count;
                let sizes = flat.sizes();
                let merged: usize = sizes[first..=last].iter().product();
                let factor: usize = sizes[1..=last].iter().product();
                flat = flat.reshape(&[&sizes[..first], &[merged], &sizes[last + 1..]].concat())?;
                if outer <= count {
                    let partition = partitions[count - 1].clone();
                    let dtype = partition.row_splits().dtype();
                    let ends = partition.ranges().map(|range| range.end * factor);
                    let stretched = match partition.uniform_row_length() {
                        Some(length) => {
                            RowPartition::uniform(product([length, factor])?, partition.nrows(), dtype)?
                        }
                        None => RowPartition::of_offsets(dtype, std::iter::once(0).chain(ends))?,
                    };
                    partitions[count - 1] = stretched;
                }
            }
            // Partition `i` makes axis `i + 1` from axis `i`. Merging axes `outer..=inner` joins partitions
            // `outer..inner`.
            let joined = outer.min(count)..inner.min(count);
            if outer == 0 {
                partitions.drain(joined);
            } else if !joined.is_empty() {
                let outermost = partitions[outer - 1].clone();
                let ends = outermost.ranges().map(|range| {
                    let mut end = range.end;
                    for partition in &partitions[joined.clone()] {
                        end = if end == 0 { 0 } else { partition.range(end - 1).end };
                    }
                    end
                });
                let dtype = outermost.row_splits().dtype();
                let lengths: Option<Vec<usize>> = std::iter::once(&outermost)
                    .chain(&partitions[joined.clone()])
                    .map(RowPartition::uniform_row_length)
                    .collect();
                let merged = match lengths {
                    Some(lengths) => RowPartition::uniform(product(lengths)?, outermost.nrows(), dtype)?,
                    None => RowPartition::of_offsets(dtype, std::iter::once(0).chain(ends))?,
                };
                partitions.drain(joined);
                partitions[outer - 1] = merged;
            }
            Ok(RaggedItem::of(flat, partitions))
        })
    }
}

/// Multiplies the row lengths of uniform partitions, which have no bound if there are no rows.
fn product(lengths: impl IntoIterator<Item = usize>) -> Result<usize> {
    let product = lengths.into_iter().try_fold(1usize, usize::checked_mul);
    product.ok_or_else(|| shape_error("the length of merged rows must fit a usize".to_string()))
}
