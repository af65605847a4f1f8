//! Conversions between the encodings of a row partition, on slices and tensors of i32 and i64.

use shapeflow_shape_fns::DType;

use super::shape_error;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::tensor::{Element, Tensor, TensorView, reserved_vec};

/// An integer of a row partition.
pub(crate) trait Offset: Element + Copy + Into<i64> + TryFrom<i64> {}

impl Offset for i32 {}
impl Offset for i64 {}

/// Returns an integer of a row partition as an i64.
pub(crate) fn wide<I: Offset>(int: I) -> i64 {
    int.into()
}

/// Runs `$body` with `$ints` bound to the elements of a vector of i32 or i64.
macro_rules! with_ints {
    ($view:expr, |$ints:ident| $body:expr) => {
        match $view.dtype() {
            shapeflow_shape_fns::DType::I32 => {
                let $ints = $view.as_slice::<i32>()?;
                $body
            }
            _ => {
                let $ints = $view.as_slice::<i64>()?;
                $body
            }
        }
    };
}
pub(crate) use with_ints;

/// Checks that a tensor is a vector of i32 or i64. `name` is its name in the error.
pub(crate) fn check_vector(name: &str, tensor: &TensorView<'_>) -> Result<()> {
    if tensor.sizes().len() != 1 {
        return Err(shape_error(format!("{name} must be a vector, got sizes {:?}", tensor.sizes())));
    }
    check_int_dtype(name, tensor.dtype())
}

/// Checks that the dtype of row splits is i32 or i64.
pub(crate) fn check_splits_dtype(dtype: DType) -> Result<()> {
    check_int_dtype("row_splits", dtype)
}

fn check_int_dtype(name: &str, dtype: DType) -> Result<()> {
    if matches!(dtype, DType::I32 | DType::I64) {
        return Ok(());
    }
    Err(Error::new(ErrorKind::DType, Phase::Run, format!("{name} must be i32 or i64, got {dtype}")))
}

/// Checks that a position fits `dtype`, i32 or i64.
pub(crate) fn check_fits(position: usize, dtype: DType) -> Result<()> {
    let fits = match dtype {
        DType::I32 => i32::try_from(position).is_ok(),
        _ => i64::try_from(position).is_ok(),
    };
    if fits { Ok(()) } else { Err(too_large(position, dtype)) }
}

/// Makes a vector of `dtype`, i32 or i64, from numbers.
///
/// # Errors
/// A number does not fit the dtype, or memory is refused.
pub(crate) fn ints(dtype: DType, numbers: impl Iterator<Item = usize>) -> Result<Tensor> {
    fn collected<I: Offset + TryFrom<usize>>(
        dtype: DType,
        numbers: impl Iterator<Item = usize>,
    ) -> Result<Tensor> {
        let mut ints: Vec<I> = reserved_vec(numbers.size_hint().0)?;
        for number in numbers {
            if ints.len() == ints.capacity() {
                ints.try_reserve(1).map_err(|_| no_memory(ints.len()))?;
            }
            ints.push(I::try_from(number).map_err(|_| too_large(number, dtype))?);
        }
        Tensor::from_vec(&[ints.len()], ints)
    }
    match dtype {
        DType::I32 => collected::<i32>(dtype, numbers),
        _ => collected::<i64>(dtype, numbers),
    }
}

fn no_memory(count: usize) -> Error {
    Error::new(
        ErrorKind::Memory,
        Phase::Run,
        format!("{count} integers of a row partition need too much memory"),
    )
}

/// Makes a tensor of `dtype`, i32 or i64, whose elements are all `number`.
pub(crate) fn full(dtype: DType, sizes: &[usize], number: usize) -> Result<Tensor> {
    if dtype == DType::I32 {
        return Tensor::full(sizes, i32::try_from(number).map_err(|_| too_large(number, dtype))?);
    }
    Tensor::full(sizes, i64::try_from(number).map_err(|_| too_large(number, dtype))?)
}

fn too_large(number: usize, dtype: DType) -> Error {
    shape_error(format!("a position of a row partition must fit {dtype}, got {number}"))
        .with_help("use i64 row splits")
}

/// Writes, for each value, the number of the row that holds the value. Stays within `rowids` even if the splits
/// decrease or exceed the number of values. A value that no row holds gets row 0.
pub(crate) fn rowids_of_splits<I: Offset, O: Offset + Default>(splits: &[I], rowids: &mut [O]) {
    // The rows hold every value from the first split up to the last split.
    let nvals = rowids.len();
    let within = |split: Option<&I>| split.map_or(0, |&split| (wide(split) as usize).min(nvals));
    rowids[..within(splits.first())].fill(O::default());
    rowids[within(splits.last())..].fill(O::default());
    for row in 0..splits.len().saturating_sub(1) {
        let (start, end) = row_range(splits, row, nvals);
        let id = O::try_from(row as i64).unwrap_or_default();
        rowids[start..end].fill(id);
    }
}

/// Returns the range of values of a row. The range lies within `0..nvals` even if the splits are wrong.
#[inline]
pub(crate) fn row_range<I: Offset>(splits: &[I], row: usize, nvals: usize) -> (usize, usize) {
    // A negative split becomes a number above every size.
    let at = |index: usize| (Into::<i64>::into(splits[index]) as usize).min(nvals);
    let start = at(row);
    (start, at(row + 1).max(start))
}

/// The number of rows that row ids may imply if no number of rows is given: `n` ids may imply
/// `max(IMPLIED_ROWS, n * ROWS_PER_VALUE)` rows.
const IMPLIED_ROWS: usize = 1 << 24;

/// See [`IMPLIED_ROWS`].
const ROWS_PER_VALUE: usize = 64;

/// Returns the number of rows that row ids need: the greatest id plus 1.
///
/// # Errors
/// The greatest id needs more than [`IMPLIED_ROWS`] rows and more than [`ROWS_PER_VALUE`] rows for each id. Such an id
/// is usually a mistake, and the splits of so many rows would need gigabytes.
pub(crate) fn rows_of_rowids<I: Offset>(rowids: &[I]) -> Result<usize> {
    let greatest = rowids.iter().map(|&id| wide(id)).max();
    let rows = greatest.and_then(|id| usize::try_from(id).ok()).map_or(0, |id| id.saturating_add(1));
    let max_rows = IMPLIED_ROWS.max(rowids.len().saturating_mul(ROWS_PER_VALUE));
    if rows > max_rows {
        let message = format!(
            "without nrows, each of {} value_rowids must be less than {max_rows}, got {}",
            rowids.len(),
            rows - 1
        );
        return Err(shape_error(message).with_help("give the number of rows as nrows"));
    }
    Ok(rows)
}

/// Computes splits from row lengths without checks of the lengths. Sums wrap.
pub(crate) fn running_sum(lengths: &Tensor) -> Result<Tensor> {
    fn sums<I: Copy + Default>(lengths: &[I], add: impl Fn(I, I) -> I) -> Vec<I> {
        let mut sum = I::default();
        let ends = lengths.iter().map(|length| {
            sum = add(sum, *length);
            sum
        });
        std::iter::once(I::default()).chain(ends).collect()
    }
    Ok(match lengths.dtype() {
        DType::I32 => Tensor::from(sums(lengths.as_slice::<i32>()?, i32::wrapping_add)),
        _ => Tensor::from(sums(lengths.as_slice::<i64>()?, i64::wrapping_add)),
    })
}

/// Computes splits from row ids without checks of the ids: the ids may have any order, and an id outside the rows adds
/// no value.
///
/// # Errors
/// Memory is refused.
pub(crate) fn splits_of_unchecked_rowids<I: Offset>(rowids: &[I], nrows: usize) -> Result<Vec<usize>> {
    let mut splits = reserved_vec(nrows.saturating_add(1))?;
    splits.resize(nrows + 1, 0);
    for id in rowids {
        let row = usize::try_from(wide(*id)).ok().filter(|row| *row < nrows);
        if let Some(row) = row {
            splits[row + 1] += 1;
        }
    }
    for row in 0..nrows {
        splits[row + 1] += splits[row];
    }
    Ok(splits)
}

/// Computes splits from the row of each value.
///
/// # Errors
/// The row ids decrease, are negative, or are not less than the number of rows.
pub(crate) fn splits_of_rowids<I: Offset>(rowids: &[I], nrows: usize) -> Result<Vec<usize>> {
    let mut splits = reserved_vec(nrows.saturating_add(1))?;
    splits.push(0);
    let mut previous = 0;
    for (position, id) in rowids.iter().enumerate() {
        let id: i64 = (*id).into();
        if id < previous {
            let requirement = "value_rowids must be ascending and not negative";
            return Err(shape_error(format!(
                "{requirement}, got {id} after {previous} at position {position}"
            )));
        }
        if usize::try_from(id).map_or(true, |id| id >= nrows) {
            return Err(shape_error(format!(
                "value_rowids must be less than nrows, {nrows}, got {id} at position {position}"
            )));
        }
        splits.resize(id as usize + 1, position);
        previous = id;
    }
    splits.resize(nrows + 1, rowids.len());
    Ok(splits)
}
