//! [`RowPartition`]: how values are split into rows.

use std::sync::{Arc, OnceLock};

use shapeflow_shape_fns::DType;

use super::encoding::{
    check_fits, check_splits_dtype, check_vector, ints, row_range, rowids_of_splits, with_ints,
};
use super::mistake::{first_mistake, message_of};
use super::{Encoding, shape_error};
use crate::error::{Result, at_caller};
use crate::tensor::Tensor;

/// How `nvals` values are split into rows: the row splits, and every other encoding, which is computed once and kept.
///
/// ```
/// use shapeflow::RowPartition;
///
/// let rows = RowPartition::from_row_splits([0i64, 4, 4, 7, 8, 8], 8)?;
/// assert_eq!((rows.nrows(), rows.nvals()), (5, 8));
/// assert_eq!(rows.row_lengths().to_vec::<i64>()?, [4, 0, 3, 1, 0]);
/// assert_eq!(rows.row_starts().to_vec::<i64>()?, [0, 4, 4, 7, 8]);
/// assert_eq!(rows.row_limits().to_vec::<i64>()?, [4, 4, 7, 8, 8]);
/// assert_eq!(rows.value_rowids().to_vec::<i64>()?, [0, 0, 0, 0, 2, 2, 2, 3]);
/// # Ok::<(), shapeflow::Error>(())
/// ```
#[derive(Clone)]
pub struct RowPartition {
    /// A vector of i32 or i64 with one more element than there are rows.
    splits: Tensor,
    /// The number of values.
    nvals: usize,
    /// The length of every row of a uniform partition.
    uniform: Option<usize>,
    derived: Arc<Derived>,
}

/// The other encodings of a partition, each computed when it is first used.
#[derive(Default)]
struct Derived {
    lengths: OnceLock<Tensor>,
    starts: OnceLock<Tensor>,
    limits: OnceLock<Tensor>,
    rowids: OnceLock<Tensor>,
}

/// Compares the splits, the numbers of values, and the row lengths of uniform partitions.
impl PartialEq for RowPartition {
    fn eq(&self, other: &RowPartition) -> bool {
        self.splits == other.splits && self.nvals == other.nvals && self.uniform == other.uniform
    }
}

impl Eq for RowPartition {}

impl std::fmt::Debug for RowPartition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RowPartition({})", self.splits)
    }
}

impl RowPartition {
    /// Makes a partition from row splits, which start at 0, never decrease, and end at `nvals`.
    /// [`Unchecked`](crate::Unchecked) splits are not checked.
    ///
    /// # Errors
    /// The splits are not a vector of i32 or i64, or have no element, or `nvals` does not fit their dtype. For checked
    /// splits, also: they do not start at 0, they decrease, or they do not end at `nvals`; the error names the first
    /// bad position.
    #[track_caller]
    pub fn from_row_splits(splits: impl Into<Encoding<Tensor>>, nvals: usize) -> Result<RowPartition> {
        at_caller(|| RowPartition::encoded("row_splits", splits.into(), nvals))
    }

    /// Makes a partition from row splits, which come from the encoding that is named `encoding`. Errors are about this
    /// encoding.
    pub(super) fn encoded(encoding: &str, splits: Encoding<Tensor>, nvals: usize) -> Result<RowPartition> {
        let Encoding { data: splits, is_checked } = splits;
        check_vector("row_splits", &splits.view())?;
        let bad = with_ints!(splits, |ints| {
            let mistake = first_mistake(ints, nvals).filter(|_| is_checked || ints.is_empty());
            mistake.map(|mistake| message_of(encoding, &mistake, ints, nvals))
        });
        match bad {
            Some(message) => Err(shape_error(message)),
            None => {
                check_fits(nvals, splits.dtype())?;
                Ok(RowPartition::of(splits, nvals))
            }
        }
    }

    /// Makes the partition of `nrows` rows of `length` values. The splits are of `dtype`, i32 or i64.
    ///
    /// # Errors
    /// `dtype` is neither i32 nor i64, the last split does not fit `dtype`, or the number of values does not fit a
    /// `usize`.
    #[track_caller]
    pub fn uniform(length: usize, nrows: usize, dtype: DType) -> Result<RowPartition> {
        at_caller(|| {
            check_splits_dtype(dtype)?;
            let Some(nvals) = nrows.checked_mul(length) else {
                return Err(shape_error(format!("{nrows} rows of {length} values are too many values")));
            };
            let splits = ints(dtype, (0..=nrows).map(|row| row * length))?;
            Ok(RowPartition { uniform: Some(length), ..RowPartition::of(splits, nvals) })
        })
    }

    /// Makes a partition from offsets, which start at 0 and never decrease.
    pub(crate) fn of_offsets(dtype: DType, offsets: impl Iterator<Item = usize>) -> Result<RowPartition> {
        let mut nvals = 0;
        let splits = ints(dtype, offsets.inspect(|&offset| nvals = offset))?;
        Ok(RowPartition::of(splits, nvals))
    }

    fn of(splits: Tensor, nvals: usize) -> RowPartition {
        RowPartition { splits, nvals, uniform: None, derived: Arc::default() }
    }

    /// Returns the row splits: row `i` holds the values from `splits[i]` up to `splits[i + 1]`.
    pub fn row_splits(&self) -> &Tensor {
        &self.splits
    }

    /// Returns the number of rows.
    pub fn nrows(&self) -> usize {
        self.splits.len() - 1
    }

    /// Returns the number of values.
    pub fn nvals(&self) -> usize {
        self.nvals
    }

    /// Returns the length of every row if the partition is uniform.
    pub fn uniform_row_length(&self) -> Option<usize> {
        self.uniform
    }

    /// Returns the range of values of a row. The range lies within the values even if the splits are wrong. `row` must
    /// be less than the number of rows.
    pub(crate) fn range(&self, row: usize) -> std::ops::Range<usize> {
        let range = |splits: &Tensor| -> Result<(usize, usize)> {
            Ok(with_ints!(splits, |ints| row_range(ints, row, self.nvals)))
        };
        let (start, end) = range(&self.splits).expect("splits are i32 or i64");
        start..end
    }

    /// Returns the range of values of every row.
    pub(crate) fn ranges(
        &self,
    ) -> impl ExactSizeIterator<Item = std::ops::Range<usize>> + DoubleEndedIterator + '_ {
        (0..self.nrows()).map(|row| self.range(row))
    }

    /// Returns the length of the longest row, or the row length of a uniform partition, which may have no rows. A
    /// ragged partition without rows gives 0.
    pub(crate) fn longest_row(&self) -> usize {
        self.uniform.unwrap_or_else(|| self.ranges().map(|range| range.len()).max().unwrap_or(0))
    }

    /// Returns the length of each row.
    pub fn row_lengths(&self) -> &Tensor {
        self.cached(&self.derived.lengths, self.ranges().map(|range| range.len()))
    }

    /// Returns the start of each row.
    pub fn row_starts(&self) -> &Tensor {
        self.cached(&self.derived.starts, self.ranges().map(|range| range.start))
    }

    /// Returns the end of each row.
    pub fn row_limits(&self) -> &Tensor {
        self.cached(&self.derived.limits, self.ranges().map(|range| range.end))
    }

    fn cached<'a>(&self, place: &'a OnceLock<Tensor>, numbers: impl Iterator<Item = usize>) -> &'a Tensor {
        place.get_or_init(|| {
            ints(self.splits.dtype(), numbers)
                .expect("a position within the values fits the dtype of the splits")
        })
    }

    /// Returns, for each value, the number of the row that holds the value.
    ///
    /// # Panics
    /// There is no memory for one number per value.
    pub fn value_rowids(&self) -> &Tensor {
        self.derived.rowids.get_or_init(|| {
            let rowids = || -> Result<Tensor> {
                let mut rowids = Tensor::zeros(self.splits.dtype(), &[self.nvals])?;
                match self.splits.dtype() {
                    DType::I32 => {
                        rowids_of_splits(self.splits.as_slice::<i32>()?, rowids.as_mut_slice::<i32>()?)
                    }
                    _ => rowids_of_splits(self.splits.as_slice::<i64>()?, rowids.as_mut_slice::<i64>()?),
                }
                Ok(rowids)
            };
            rowids().expect("splits are i32 or i64, and there is memory for one number per value")
        })
    }

    /// Returns the partition with splits of another dtype.
    ///
    /// # Errors
    /// The dtype is neither i32 nor i64, or a split does not fit the dtype.
    #[track_caller]
    pub fn with_dtype(&self, dtype: DType) -> Result<RowPartition> {
        at_caller(|| {
            check_splits_dtype(dtype)?;
            if dtype == self.splits.dtype() {
                return Ok(self.clone());
            }
            let offsets = std::iter::once(0).chain(self.ranges().map(|range| range.end));
            let splits = ints(dtype, offsets)?;
            Ok(RowPartition { uniform: self.uniform, ..RowPartition::of(splits, self.nvals) })
        })
    }
}
