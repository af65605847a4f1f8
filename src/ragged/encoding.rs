//! Conversions between the encodings of a row partition, on slices and tensors of i32 and i64.

use shapeflow_shape_fns::DType;

use super::shape_error;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::tensor::{Element, Tensor, TensorView};

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
    if !matches!(tensor.dtype(), DType::I32 | DType::I64) {
        let message = format!("{name} must be i32 or i64, got {}", tensor.dtype());
        return Err(Error::new(ErrorKind::DType, Phase::Run, message));
    }
    Ok(())
}

/// Makes a vector of `dtype`, i32 or i64, from numbers.
///
/// # Errors
/// A number does not fit the dtype.
pub(crate) fn ints(dtype: DType, numbers: impl Iterator<Item = usize>) -> Result<Tensor> {
    if dtype == DType::I32 {
        let narrow = numbers.map(|number| i32::try_from(number).map_err(|_| too_large(number, dtype)));
        return Ok(Tensor::from(narrow.collect::<Result<Vec<i32>>>()?));
    }
    let wide = numbers.map(|number| i64::try_from(number).map_err(|_| too_large(number, dtype)));
    Ok(Tensor::from(wide.collect::<Result<Vec<i64>>>()?))
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

/// Returns the index of the first split that is wrong, and the reason: the first split must be 0, no split may be less
/// than the split before it, and the last split must be the number of values.
pub(crate) fn first_bad_split<I: Offset>(splits: &[I], nvals: Option<usize>) -> Option<(usize, String)> {
    if let Some(bad) = no_split(splits) {
        return Some(bad);
    }
    let first: i64 = splits[0].into();
    if first != 0 {
        return Some((0, format!("row_splits must start at 0, got {first}")));
    }
    // A loop without an exit is vectorised; the position is looked up only for the error. If no split is negative, then
    // no difference overflows. If a split is negative, then this split or an earlier split is less than the split
    // before it.
    let pairs = || splits.windows(2).map(|pair| (Into::<i64>::into(pair[0]), Into::<i64>::into(pair[1])));
    let signs = pairs().fold(0, |signs, (before, this)| signs | this.wrapping_sub(before) | this);
    if signs < 0 {
        let descent = pairs().position(|(before, this)| this < before);
        let position = descent.expect("splits from 0 without a descent have no negative sign") + 1;
        let (before, this): (i64, i64) = (splits[position - 1].into(), splits[position].into());
        let message =
            format!("row_splits must not decrease, got {this} after {before} at position {position}");
        return Some((position, message));
    }
    bad_end(splits, nvals)
}

/// Returns what is wrong with the last split, which must be the number of values.
pub(crate) fn bad_end<I: Offset>(splits: &[I], nvals: Option<usize>) -> Option<(usize, String)> {
    let last: i64 = (*splits.last()?).into();
    let nvals = nvals.filter(|nvals| i64::try_from(*nvals) != Ok(last))?;
    let position = splits.len() - 1;
    let message =
        format!("row_splits must end at the number of values, {nvals}, got {last} at position {position}");
    Some((position, message))
}

/// Returns the reason why splits without any element are wrong. Even unchecked splits must have an element.
pub(crate) fn no_split<I: Offset>(splits: &[I]) -> Option<(usize, String)> {
    let message = "row_splits must have at least one element, got none";
    splits.is_empty().then(|| (0, message.to_string()))
}

/// Returns the row of each of the values that the splits cover. Splits that decrease or exceed `nvals` give no position
/// outside `nvals`.
pub(crate) fn rowids_of_splits<I: Offset, O: Offset + Default>(splits: &[I], rowids: &mut [O]) {
    for row in 0..splits.len().saturating_sub(1) {
        let (start, end) = row_range(splits, row, rowids.len());
        let id = O::try_from(row as i64).unwrap_or_default();
        rowids[start..end].fill(id);
    }
}

/// Returns the range of values of a row, within `nvals` for any splits.
#[inline]
pub(crate) fn row_range<I: Offset>(splits: &[I], row: usize, nvals: usize) -> (usize, usize) {
    // A negative split becomes a number above every size.
    let at = |index: usize| (Into::<i64>::into(splits[index]) as usize).min(nvals);
    let start = at(row);
    (start, at(row + 1).max(start))
}

/// Returns the number of rows that row ids need: the greatest id plus 1.
pub(crate) fn rows_of_rowids<I: Offset>(rowids: &[I]) -> usize {
    let greatest = rowids.iter().map(|&id| id.into()).max();
    greatest.and_then(|id| usize::try_from(id).ok()).map_or(0, |id| id + 1)
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

/// Computes splits from the number of values of each row. Row ids in any order are counted, and ids outside the rows
/// are skipped.
///
/// # Errors
/// Memory is refused.
pub(crate) fn count_rowids<I: Offset>(rowids: &[I], nrows: usize) -> Result<Vec<usize>> {
    let mut splits = room_for_splits(nrows)?;
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

/// Allocates an empty list with room for `nrows + 1` splits.
fn room_for_splits(nrows: usize) -> Result<Vec<usize>> {
    let mut splits = Vec::new();
    splits.try_reserve_exact(nrows.saturating_add(1)).map_err(|_| {
        Error::new(ErrorKind::Memory, Phase::Run, format!("{nrows} row splits need too much memory"))
    })?;
    Ok(splits)
}

/// Computes splits from the row of each value.
///
/// # Errors
/// The row ids decrease, are negative, or are not less than the number of rows.
pub(crate) fn splits_of_rowids<I: Offset>(rowids: &[I], nrows: usize) -> Result<Vec<usize>> {
    let mut splits = room_for_splits(nrows)?;
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
