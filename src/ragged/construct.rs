//! Constructors of [`RaggedTensor`] from TensorFlow's encodings of row partitions.

use shapeflow_shape_fns::{DType, counted};

use super::encoding::{
    check_vector, ints, rows_of_rowids, running_sum, splits_of_rowids, splits_of_unchecked_rowids, wide,
    with_ints,
};
use super::mistake::bad_lengths;
use super::{Encoding, RaggedItem, RaggedTensor, RowPartition, Unchecked, shape_error};
use crate::error::{Error, ErrorKind, Phase, Result, at_caller};
use crate::tensor::Tensor;

impl RaggedTensor {
    /// Splits values at positions: row `i` holds `values[splits[i]..splits[i + 1]]`.
    ///
    /// ```
    /// use shapeflow::RaggedTensor;
    ///
    /// let rt = RaggedTensor::from_row_splits([3, 1, 4, 1, 5, 9, 2, 6], [0i64, 4, 4, 7, 8, 8])?;
    /// assert_eq!(rt.to_string(), "[[3, 1, 4, 1], [], [5, 9, 2], [6], []]");
    /// let error = RaggedTensor::from_row_splits([3, 1, 4], [0i64, 2, 1, 3]).unwrap_err();
    /// assert_eq!(error.message(), "row_splits must not decrease, got 1 after 2 at position 2");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The splits are not a vector of i32 or i64, do not start at 0, decrease, or do not end at the number of values.
    /// Or the values are a scalar, or are ragged with splits of another dtype.
    #[track_caller]
    pub fn from_row_splits(
        values: impl Into<RaggedItem>,
        splits: impl Into<Encoding<Tensor>>,
    ) -> Result<RaggedTensor> {
        at_caller(|| {
            let values = values.into();
            let partition = RowPartition::from_row_splits(splits, value_count(&values)?)?;
            RaggedTensor::partitioned(partition, values)
        })
    }

    /// Puts a partition around values. The number of values of `partition` must be the number of rows of `values`.
    ///
    /// # Errors
    /// The dtypes of the splits differ.
    pub(crate) fn partitioned(partition: RowPartition, values: RaggedItem) -> Result<RaggedTensor> {
        let (flat, mut partitions) = values.into_parts();
        if let Some(inner) = partitions.first() {
            let (outer, inner) = (partition.row_splits().dtype(), inner.row_splits().dtype());
            if outer != inner {
                let message = format!("all row_splits must have one dtype, got {outer} and {inner}");
                return Err(Error::new(ErrorKind::DType, Phase::Run, message)
                    .with_help("use with_row_splits_dtype to convert one of them"));
            }
        }
        partitions.insert(0, partition);
        Ok(RaggedTensor { flat, partitions })
    }

    /// Splits values into rows of given lengths.
    ///
    /// ```
    /// use shapeflow::RaggedTensor;
    ///
    /// let rt = RaggedTensor::from_row_lengths([3, 1, 4, 1, 5, 9, 2, 6], [4i64, 0, 3, 1, 0])?;
    /// assert_eq!(rt.to_string(), "[[3, 1, 4, 1], [], [5, 9, 2], [6], []]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The lengths are not a vector of i32 or i64, one is negative, or their sum is not the number of values. Or the
    /// values are a scalar, or are ragged with splits of another dtype.
    #[track_caller]
    pub fn from_row_lengths(
        values: impl Into<RaggedItem>,
        lengths: impl Into<Encoding<Tensor>>,
    ) -> Result<RaggedTensor> {
        at_caller(|| {
            let (values, Encoding { data: lengths, is_checked }) = (values.into(), lengths.into());
            check_vector("row_lengths", &lengths.view())?;
            let nvals = value_count(&values)?;
            let partition = match is_checked {
                true => partition_of_lengths(&lengths, nvals)?,
                false => RowPartition::from_row_splits(Unchecked(running_sum(&lengths)?), nvals)?,
            };
            RaggedTensor::partitioned(partition, values)
        })
    }

    /// Splits values into rows that start at given positions; each row ends where the next one starts.
    ///
    /// ```
    /// use shapeflow::RaggedTensor;
    ///
    /// let rt = RaggedTensor::from_row_starts([3, 1, 4, 1, 5, 9, 2, 6], [0i64, 4, 4, 7, 8])?;
    /// assert_eq!(rt.to_string(), "[[3, 1, 4, 1], [], [5, 9, 2], [6], []]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The starts are not an ascending vector of i32 or i64 that begins with 0, or one is above the number of values.
    /// Or the values are a scalar, or are ragged with splits of another dtype.
    #[track_caller]
    pub fn from_row_starts(
        values: impl Into<RaggedItem>,
        starts: impl Into<Encoding<Tensor>>,
    ) -> Result<RaggedTensor> {
        at_caller(|| {
            let (values, starts) = (values.into(), starts.into());
            check_vector("row_starts", &starts.data.view())?;
            let nvals = value_count(&values)?;
            let last = ints(starts.data.dtype(), [nvals].into_iter())?;
            let splits = Encoding { data: join(&starts.data, &last)?, ..starts };
            RaggedTensor::partitioned(RowPartition::encoded("row_starts", splits, nvals)?, values)
        })
    }

    /// Splits values into rows that end at given positions; each row starts where the previous one ends.
    ///
    /// ```
    /// use shapeflow::RaggedTensor;
    ///
    /// let rt = RaggedTensor::from_row_limits([3, 1, 4, 1, 5, 9, 2, 6], [4i64, 4, 7, 8, 8])?;
    /// assert_eq!(rt.to_string(), "[[3, 1, 4, 1], [], [5, 9, 2], [6], []]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The limits are not an ascending vector of i32 or i64 that ends with the number of values, or one is negative. Or
    /// the values are a scalar, or are ragged with splits of another dtype.
    #[track_caller]
    pub fn from_row_limits(
        values: impl Into<RaggedItem>,
        limits: impl Into<Encoding<Tensor>>,
    ) -> Result<RaggedTensor> {
        at_caller(|| {
            let (values, limits) = (values.into(), limits.into());
            check_vector("row_limits", &limits.data.view())?;
            let first = ints(limits.data.dtype(), [0].into_iter())?;
            let splits = Encoding { data: join(&first, &limits.data)?, ..limits };
            let partition = RowPartition::encoded("row_limits", splits, value_count(&values)?)?;
            RaggedTensor::partitioned(partition, values)
        })
    }

    /// Puts value `i` into row `rowids[i]`. Without `nrows`, the last row id gives the number of rows.
    ///
    /// ```
    /// use shapeflow::RaggedTensor;
    ///
    /// let rt = RaggedTensor::from_value_rowids([3, 1, 4, 1, 5, 9, 2, 6], [0i64, 0, 0, 0, 2, 2, 2, 3], Some(5))?;
    /// assert_eq!(rt.to_string(), "[[3, 1, 4, 1], [], [5, 9, 2], [6], []]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The row ids are not an ascending vector of i32 or i64 with one id for each value, or one is negative or not less
    /// than `nrows`. Without `nrows`, it is an error if the last row id makes more than 2^24 rows and also more than 64
    /// rows for each value. Or the values are a scalar, or are ragged with splits of another dtype.
    #[track_caller]
    pub fn from_value_rowids(
        values: impl Into<RaggedItem>,
        rowids: impl Into<Encoding<Tensor>>,
        nrows: Option<usize>,
    ) -> Result<RaggedTensor> {
        at_caller(|| {
            let (values, Encoding { data: rowids, is_checked }) = (values.into(), rowids.into());
            check_vector("value_rowids", &rowids.view())?;
            let nvals = value_count(&values)?;
            if rowids.len() != nvals {
                let got = rowids.len();
                return Err(shape_error(format!(
                    "value_rowids must have one id for each of {nvals}, got {got}",
                    nvals = counted(nvals, "value")
                )));
            }
            let splits = with_ints!(rowids, |ids| {
                let nrows = nrows.map_or_else(|| rows_of_rowids(ids), Ok)?;
                if is_checked {
                    splits_of_rowids(ids, nrows)?
                } else {
                    splits_of_unchecked_rowids(ids, nrows)?
                }
            });
            let splits = Unchecked(ints(rowids.dtype(), splits.into_iter())?);
            RaggedTensor::partitioned(RowPartition::from_row_splits(splits, nvals)?, values)
        })
    }

    /// Splits values into rows of one length. The axis of the result is uniform. Without `nrows`, the number of rows is
    /// the number of values divided by `length`, or 0 if `length` is 0.
    ///
    /// ```
    /// use shapeflow::{RaggedTensor, ragged};
    ///
    /// let values = ragged![[1, 2], [3], [4, 5, 6], []];
    /// let rt = RaggedTensor::from_uniform_row_length(values, 2, None)?;
    /// assert_eq!(rt.to_string(), "[[[1, 2], [3]], [[4, 5, 6], []]]");
    /// assert_eq!((rt.shape().to_string(), rt.uniform_row_length()), ("[2, 2, ?]".to_string(), Some(2)));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The number of rows times `length` is not the number of values, or the values are a scalar.
    #[track_caller]
    pub fn from_uniform_row_length(
        values: impl Into<RaggedItem>,
        length: usize,
        nrows: Option<usize>,
    ) -> Result<RaggedTensor> {
        at_caller(|| {
            let values = values.into();
            let nvals = value_count(&values)?;
            let rows = nrows.or_else(|| nvals.checked_div(length)).unwrap_or(0);
            if rows.checked_mul(length) != Some(nvals) {
                return Err(shape_error(match nrows {
                    Some(rows) => {
                        format!(
                            "there must be {} for {rows} of {length}, got {nvals}",
                            counted(rows.saturating_mul(length), "value"),
                            rows = counted(rows, "row"),
                            length = counted(length, "value")
                        )
                    }
                    None => {
                        format!(
                            "the number of values must be a multiple of the row length {length}, got {nvals}"
                        )
                    }
                }));
            }
            let dtype = match &values {
                RaggedItem::Ragged(ragged) => ragged.row_splits_dtype(),
                RaggedItem::Dense(_) => DType::I64,
            };
            RaggedTensor::partitioned(RowPartition::uniform(length, rows, dtype)?, values)
        })
    }

    /// Splits flat values into nested rows. Each vector in `splits` makes one partition; the vector of the outermost
    /// partition comes first.
    ///
    /// ```
    /// use shapeflow::{RaggedTensor, Tensor};
    ///
    /// let splits = [Tensor::from([0i64, 3, 3, 5]), Tensor::from([0i64, 4, 4, 7, 8, 8])];
    /// let rt = RaggedTensor::from_nested_row_splits([3, 1, 4, 1, 5, 9, 2, 6], &splits)?;
    /// assert_eq!(rt.to_string(), "[[[3, 1, 4, 1], [], [5, 9, 2]], [], [[6], []]]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are no splits; else as [`RaggedTensor::from_row_splits`].
    #[track_caller]
    pub fn from_nested_row_splits<S: Clone + Into<Encoding<Tensor>>>(
        flat: impl Into<Tensor>,
        splits: &[S],
    ) -> Result<RaggedTensor> {
        at_caller(|| {
            nest(flat.into(), "row_splits", splits, |values, splits| {
                RaggedTensor::from_row_splits(values, splits.clone())
            })
        })
    }

    /// Splits flat values into nested rows. Each vector in `lengths` makes one partition; the vector of the outermost
    /// partition comes first.
    ///
    /// # Errors
    /// There are no lengths; else as [`RaggedTensor::from_row_lengths`].
    #[track_caller]
    pub fn from_nested_row_lengths<L: Clone + Into<Encoding<Tensor>>>(
        flat: impl Into<Tensor>,
        lengths: &[L],
    ) -> Result<RaggedTensor> {
        at_caller(|| {
            nest(flat.into(), "row_lengths", lengths, |values, lengths| {
                RaggedTensor::from_row_lengths(values, lengths.clone())
            })
        })
    }

    /// Puts flat values into nested rows. Each vector in `rowids` makes one partition; the vector of the outermost
    /// partition comes first. `nrows` is empty, or has the number of rows of each partition.
    ///
    /// # Errors
    /// `rowids` is empty, or `nrows` is neither empty nor as long as `rowids`; else as
    /// [`RaggedTensor::from_value_rowids`].
    #[track_caller]
    pub fn from_nested_value_rowids<I: Clone + Into<Encoding<Tensor>>>(
        flat: impl Into<Tensor>,
        rowids: &[I],
        nrows: &[usize],
    ) -> Result<RaggedTensor> {
        at_caller(|| {
            if !nrows.is_empty() && nrows.len() != rowids.len() {
                return Err(shape_error(format!(
                    "nrows must have one number for each of {} value_rowids, got {}",
                    rowids.len(),
                    nrows.len()
                )));
            }
            let mut nrows = nrows.iter().rev();
            nest(flat.into(), "value_rowids", rowids, |values, rowids| {
                RaggedTensor::from_value_rowids(values, rowids.clone(), nrows.next().copied())
            })
        })
    }
}

/// Returns the number of values that a partition splits.
pub(super) fn value_count(values: &RaggedItem) -> Result<usize> {
    match values {
        RaggedItem::Ragged(ragged) => Ok(ragged.nrows()),
        RaggedItem::Dense(tensor) => tensor
            .sizes()
            .first()
            .copied()
            .ok_or_else(|| shape_error("values must have rank at least 1, got a scalar".to_string())),
    }
}

/// Makes the partition of `nvals` values into rows of these lengths.
pub(super) fn partition_of_lengths(lengths: &Tensor, nvals: usize) -> Result<RowPartition> {
    let bad = with_ints!(lengths, |lengths| bad_lengths(lengths.iter().map(|&length| wide(length)), nvals));
    if let Some(message) = bad {
        return Err(shape_error(message));
    }
    // Lengths that are not negative and add up to the number of values have running sums that fit.
    let offsets = with_ints!(lengths, |lengths| {
        let ends = lengths.iter().scan(0usize, |sum, &length| {
            *sum += wide(length) as usize;
            Some(*sum)
        });
        std::iter::once(0).chain(ends).collect::<Vec<usize>>()
    });
    RowPartition::of_offsets(lengths.dtype(), offsets.into_iter())
}

/// Joins two vectors of one dtype, i32 or i64.
fn join(first: &Tensor, second: &Tensor) -> Result<Tensor> {
    if first.dtype() == DType::I32 {
        return Ok(Tensor::from([first.as_slice::<i32>()?, second.as_slice::<i32>()?].concat()));
    }
    Ok(Tensor::from([first.as_slice::<i64>()?, second.as_slice::<i64>()?].concat()))
}

/// Puts partitions around flat values, innermost first. An error names the partition if there are several.
fn nest<'a, E>(
    flat: Tensor,
    name: &str,
    encodings: &'a [E],
    mut wrap: impl FnMut(RaggedItem, &'a E) -> Result<RaggedTensor>,
) -> Result<RaggedTensor> {
    let mut values = RaggedItem::Dense(flat);
    for (level, encoding) in encodings.iter().enumerate().rev() {
        let wrapped = wrap(values, encoding).map_err(|error| match encodings.len() {
            1 => error,
            _ => error.about(format!("partition {level}")),
        });
        values = RaggedItem::Ragged(wrapped?);
    }
    match values {
        RaggedItem::Ragged(ragged) => Ok(ragged),
        RaggedItem::Dense(_) => {
            Err(shape_error(format!("there must be at least one vector of {name}, got none")))
        }
    }
}
