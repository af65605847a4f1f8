//! Scatters: writes rows of one tensor into numbered rows of another tensor, or combines both rows.

use std::ops::{Add, Mul, Sub};

use half::{bf16, f16};
use shapeflow_shape_fns::DType;

use crate::error::{Error, ErrorKind, Phase, Result};
use crate::ops::positions::{NOWHERE, Positions, each_block};
use crate::tensor::{Element, Tensor, TensorView, TensorViewMut, size_of_element};
use crate::tiles::prefetch;

/// The operation that combines a row of the target with an update.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Combine {
    /// `target + update`; the logical or of bools.
    Add,
    /// `target - update`.
    Sub,
    /// `target * update`.
    Mul,
    /// The smaller of target and update; NaN if either is NaN.
    Min,
    /// The larger of target and update; NaN if either is NaN.
    Max,
}

/// Returns the greatest non-negative integer of `ints`; `None` if there is none.
///
/// # Errors
/// The elements are neither i32 nor i64.
pub(crate) fn greatest(ints: TensorView<'_>) -> Result<Option<usize>> {
    let greatest = match ints.dtype() {
        DType::I32 => i64::from(ints.as_slice::<i32>()?.iter().fold(-1, |greatest, int| greatest.max(*int))),
        _ => ints.as_slice::<i64>()?.iter().fold(-1, |greatest, int| greatest.max(*int)),
    };
    Ok(usize::try_from(greatest).ok())
}

/// Writes rows of `row` elements to their destinations; the last write wins.
///
/// # Errors
/// An index is out of range.
pub(crate) fn put(
    target: &mut TensorViewMut<'_>,
    updates: TensorView<'_>,
    row: usize,
    positions: &Positions<'_>,
) -> Result<()> {
    if updates.is_empty() {
        return Ok(());
    }
    let bytes = row * size_of_element(updates.dtype())?;
    let (target, updates) = (target.bytes_mut(), updates.bytes());
    match bytes {
        1 => put_small::<1>(target, updates, positions),
        2 => put_small::<2>(target, updates, positions),
        4 => put_small::<4>(target, updates, positions),
        8 => put_small::<8>(target, updates, positions),
        16 => put_small::<16>(target, updates, positions),
        _ => each_row(target, updates, bytes, positions, <[u8]>::copy_from_slice),
    }
}

/// Writes rows of `N` bytes to their destinations.
fn put_small<const N: usize>(target: &mut [u8], updates: &[u8], positions: &Positions<'_>) -> Result<()> {
    let (target, updates) = (target.as_chunks_mut::<N>().0, updates.as_chunks::<N>().0);
    // Stores need no prefetch, because nothing waits for them.
    let no_prefetch = |_: &[_], _| {};
    positions.each(target, updates, no_prefetch, |target, destination, update| {
        match target.get_mut(destination) {
            Some(slot) => {
                *slot = update;
                true
            }
            None => false,
        }
    })
}

/// Calls `f(target_row, update_row)` for each update of `row` elements.
fn each_row<T>(
    target: &mut [T],
    updates: &[T],
    row: usize,
    positions: &Positions<'_>,
    mut f: impl FnMut(&mut [T], &[T]),
) -> Result<()> {
    each_block(updates.len() / row, positions, &mut |first, destinations| {
        for (&destination, update) in destinations.iter().zip(updates[first * row..].chunks_exact(row)) {
            if destination != NOWHERE {
                f(&mut target[destination * row..][..row], update);
            }
        }
    })
}

/// Combines rows of `row` elements with the rows at their destinations, in the order of the updates. f16 and bf16 are
/// computed as f32 and rounded once.
///
/// # Errors
/// An index is out of range, or the allocation of the wider elements fails.
pub(crate) fn combine(
    target: &mut TensorViewMut<'_>,
    updates: TensorView<'_>,
    row: usize,
    how: Combine,
    positions: &Positions<'_>,
) -> Result<()> {
    macro_rules! of {
        ($T:ty, $add:expr, $sub:expr, $mul:expr, $min:expr, $max:expr) => {{
            let (target, updates) = (target.as_mut_slice::<$T>()?, updates.as_slice::<$T>()?);
            match how {
                Combine::Add => combine_rows(target, updates, row, positions, $add),
                Combine::Sub => combine_rows(target, updates, row, positions, $sub),
                Combine::Mul => combine_rows(target, updates, row, positions, $mul),
                Combine::Min => combine_rows(target, updates, row, positions, $min),
                Combine::Max => combine_rows(target, updates, row, positions, $max),
            }
        }};
        ($T:ident) => {{
            let (target, updates) = (target.as_mut_slice::<$T>()?, updates.as_slice::<$T>()?);
            match how {
                Combine::Min => combine_rows(target, updates, row, positions, Ord::min),
                _ => combine_rows(target, updates, row, positions, Ord::max),
            }
        }};
    }
    // Sums, differences and products have the same bits for signed and unsigned integers.
    macro_rules! wrapping {
        ($T:ident) => {{
            let (target, updates) = (target.as_mut_unsigned::<$T>()?, updates.as_unsigned::<$T>()?);
            match how {
                Combine::Sub => combine_rows(target, updates, row, positions, $T::wrapping_sub),
                Combine::Mul => combine_rows(target, updates, row, positions, $T::wrapping_mul),
                _ => combine_rows(target, updates, row, positions, $T::wrapping_add),
            }
        }};
    }
    if updates.is_empty() {
        return Ok(());
    }
    let is_extremum = matches!(how, Combine::Min | Combine::Max);
    match updates.dtype() {
        DType::Bool => {
            let (target, updates) = (target.as_mut_slice::<bool>()?, updates.as_slice::<bool>()?);
            match how {
                Combine::Add | Combine::Max => combine_rows(target, updates, row, positions, |a, b| a | b),
                Combine::Mul | Combine::Min => combine_rows(target, updates, row, positions, |a, b| a & b),
                Combine::Sub => combine_rows(target, updates, row, positions, |a, b| a & !b),
            }
        }
        DType::I8 | DType::U8 if !is_extremum => wrapping!(u8),
        DType::I16 | DType::U16 if !is_extremum => wrapping!(u16),
        DType::I32 | DType::U32 if !is_extremum => wrapping!(u32),
        DType::I64 | DType::U64 if !is_extremum => wrapping!(u64),
        DType::I8 => of!(i8),
        DType::I16 => of!(i16),
        DType::I32 => of!(i32),
        DType::I64 => of!(i64),
        DType::U8 => of!(u8),
        DType::U16 => of!(u16),
        DType::U32 => of!(u32),
        DType::U64 => of!(u64),
        DType::F32 => of!(f32, f32::add, f32::sub, f32::mul, smaller, larger),
        DType::F64 => of!(f64, f64::add, f64::sub, f64::mul, smaller, larger),
        DType::C64 => combine_complex::<f32>(target, updates, row, how, positions),
        DType::C128 => combine_complex::<f64>(target, updates, row, how, positions),
        DType::F16 | DType::BF16 => {
            let mut wide = widened(&target.as_view())?;
            combine(&mut wide.view_mut()?, widened(&updates)?.view(), row, how, positions)?;
            narrow(wide.view(), target)
        }
        other => Err(unsuitable(other, how)),
    }
}

/// Makes the error about rows whose dtype lacks an operation.
fn unsuitable(dtype: DType, how: Combine) -> Error {
    Error::new(ErrorKind::DType, Phase::Run, format!("rows of {dtype} cannot be combined by {how:?}"))
}

/// Combines complex numbers. Sums and differences are computed part by part.
fn combine_complex<T: Element + Add<Output = T> + Sub<Output = T> + Mul<Output = T>>(
    target: &mut TensorViewMut<'_>,
    updates: TensorView<'_>,
    row: usize,
    how: Combine,
    positions: &Positions<'_>,
) -> Result<()> {
    let dtype = updates.dtype();
    if how == Combine::Mul {
        let (target, _) = target.as_mut_bits::<T>()?.as_chunks_mut::<2>();
        let (updates, _) = updates.as_bits::<T>()?.as_chunks::<2>();
        return combine_rows(target, updates, row, positions, |[a, b], [c, d]| {
            [a * c - b * d, a * d + b * c]
        });
    }
    let (target, updates) = (target.as_mut_bits::<T>()?, updates.as_bits::<T>()?);
    match how {
        Combine::Add => combine_rows(target, updates, 2 * row, positions, T::add),
        Combine::Sub => combine_rows(target, updates, 2 * row, positions, T::sub),
        _ => Err(unsuitable(dtype, how)),
    }
}

/// Returns the smaller of `a` and `b`; NaN if either is NaN.
fn smaller<T: PartialOrd + Copy>(a: T, b: T) -> T {
    // Only NaN does not compare with itself.
    let b_is_nan = b.partial_cmp(&b).is_none();
    if b < a || b_is_nan { b } else { a }
}

/// Returns the larger of `a` and `b`; NaN if either is NaN.
fn larger<T: PartialOrd + Copy>(a: T, b: T) -> T {
    let b_is_nan = b.partial_cmp(&b).is_none();
    if b > a || b_is_nan { b } else { a }
}

/// Combines rows of `row` elements with the rows at their destinations by `f`, in the order of the updates.
fn combine_rows<T: Copy>(
    target: &mut [T],
    updates: &[T],
    row: usize,
    positions: &Positions<'_>,
    f: impl Fn(T, T) -> T,
) -> Result<()> {
    // Elements of 1 or 2 bytes are rare. They take the general loop: code of their own would take long to compile.
    if const { size_of::<T>() < 4 } || row > 1 {
        return each_row(target, updates, row, positions, |target, update| {
            for (slot, update) in target.iter_mut().zip(update) {
                *slot = f(*slot, *update);
            }
        });
    }
    let Some(mut sum) = updates.first().copied() else { return Ok(()) };
    if !positions.has_repeats() {
        return positions.each(target, updates, prefetch, |target, destination, update| {
            match target.get_mut(destination) {
                Some(slot) => {
                    *slot = f(*slot, update);
                    true
                }
                None => false,
            }
        });
    }
    let mut previous = NOWHERE;
    positions.each(target, updates, prefetch, |target, destination, update| {
        // For a repeated destination, the sum is still in a register. Reading it from memory would wait for the store.
        if destination != previous {
            let Some(first) = target.get(destination) else { return false };
            (sum, previous) = (*first, destination);
        }
        sum = f(sum, update);
        let Some(slot) = target.get_mut(destination) else { return false };
        *slot = sum;
        true
    })
}

/// Converts f16 or bf16 to f32.
pub(crate) fn widened(x: &TensorView<'_>) -> Result<Tensor> {
    let mut wide = Tensor::allocate(DType::F32, x.sizes())?;
    let is_f16 = x.dtype() == DType::F16;
    for (wide, &bits) in wide.as_mut_slice::<f32>()?.iter_mut().zip(x.as_bits::<u16>()?) {
        *wide = if is_f16 { f16::from_bits(bits).to_f32() } else { bf16::from_bits(bits).to_f32() };
    }
    Ok(wide)
}

/// Rounds f32 to the dtype of `to`, f16 or bf16.
pub(crate) fn narrow(x: TensorView<'_>, to: &mut TensorViewMut<'_>) -> Result<()> {
    let is_f16 = to.dtype() == DType::F16;
    for (bits, &x) in to.as_mut_bits::<u16>()?.iter_mut().zip(x.as_slice::<f32>()?) {
        *bits = if is_f16 { f16::from_f32(x).to_bits() } else { bf16::from_f32(x).to_bits() };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::positions::BLOCK;
    use crate::ops::testing::tensor;

    #[test]
    fn runs_and_blocks_are_combined_in_order() {
        let count = 3 * BLOCK + 7;
        let ids: Vec<i64> = (0..count as i64).map(|i| i / 5 % 3 - i64::from(i % 7 == 0) * 9).collect();
        let x: Vec<i32> = (0..count as i32).collect();
        let mut sums = Tensor::zeros(DType::I32, &[3]).unwrap();
        let ids_tensor = tensor(&[count], &ids);
        let positions = Positions::new(ids_tensor.view(), None, &[3]).unwrap().dropping_negative();
        combine(&mut sums.view_mut().unwrap(), tensor(&[count], &x).view(), 1, Combine::Add, &positions)
            .unwrap();
        let mut expected = [0; 3];
        for (id, x) in ids.iter().zip(&x).filter(|(id, _)| **id >= 0) {
            expected[*id as usize] += x;
        }
        assert_eq!(sums.to_vec::<i32>().unwrap(), expected);
    }

    #[test]
    fn negative_destinations_are_dropped_or_refused() {
        let (ids, x) = (tensor(&[6], &[-1i32, -1, 1, 1, -1, 1]), tensor(&[6], &[1i32, 2, 3, 4, 5, 6]));
        let mut sums = Tensor::zeros(DType::I32, &[2]).unwrap();
        let positions = Positions::new(ids.view(), None, &[2]).unwrap();
        let refused = combine(&mut sums.view_mut().unwrap(), x.view(), 1, Combine::Add, &positions);
        assert_eq!(refused.unwrap_err().message(), "an index into axis 0 must lie in [0, 2), got -1");
        let mut sums = Tensor::zeros(DType::I32, &[2]).unwrap();
        let positions = positions.dropping_negative();
        combine(&mut sums.view_mut().unwrap(), x.view(), 1, Combine::Add, &positions).unwrap();
        assert_eq!(sums.to_vec::<i32>().unwrap(), [0, 13]);
    }

    #[test]
    fn minimum_and_maximum_propagate_nan() {
        let nan = f32::NAN;
        for (a, b) in [(nan, 1.0), (1.0, nan)] {
            assert!(smaller(a, b).is_nan() && larger(a, b).is_nan());
        }
        assert_eq!((smaller(1.0, 2.0), larger(1.0, 2.0)), (1.0, 2.0));
    }
}
