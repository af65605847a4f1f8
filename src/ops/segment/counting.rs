//! [`count`]: counts the integers of a tensor.

use shapeflow_shape_fns::DType;

use crate::error::{Error, ErrorKind, Phase, Result};
use crate::op::HostCx;
use crate::ops::integers::ints;
use crate::ops::row_major::RowMajor;
use crate::tensor::{TensorView, place_text};

/// The rows of the result in which the numbers count.
pub(super) enum CountedRows {
    /// Each row counts one block of numbers. The blocks have this length and follow each other.
    Blocks(usize),
    /// The row of each number.
    Each(Vec<usize>),
}

/// Returns the row in which element `element` of a sparse tensor counts: its first index, or 0 for a vector. `indices`
/// are operand 0, and `shape` has the sizes of the tensor.
///
/// # Errors
/// The element has no index, or its index lies outside the shape.
pub(super) fn row_of(indices: &[i64], shape: &[i64], element: usize) -> Result<usize> {
    let rank = shape.len();
    let index = indices.get(element * rank..(element + 1) * rank).unwrap_or_default();
    if index.len() == rank && index.iter().zip(shape).all(|(index, size)| (0..*size).contains(index)) {
        return Ok(if rank > 1 { index[0] as usize } else { 0 });
    }
    let message = format!("an index must lie within {shape:?}, got {index:?}");
    Err(Error::new(ErrorKind::Index, Phase::Run, message).in_element(0, &format!(" at [{element}]")))
}

/// Counts integers in an output of these sizes, along whose last axis the integers are indices. `x` is the row-major
/// view of operand `operand`.
///
/// # Errors
/// An integer is negative, or there is not one weight for each integer.
pub(super) fn count(
    cx: &mut HostCx<'_>,
    operand: usize,
    x: &TensorView<'_>,
    sizes: &[usize],
    rows: &CountedRows,
) -> Result<()> {
    match x.as_slice::<i32>() {
        Ok(numbers) => count_numbers(cx, operand, numbers, sizes, rows),
        Err(_) => count_numbers(cx, operand, &ints(x), sizes, rows),
    }
}

fn count_numbers<I: Copy + Into<i64>>(
    cx: &mut HostCx<'_>,
    operand: usize,
    numbers: &[I],
    sizes: &[usize],
    rows: &CountedRows,
) -> Result<()> {
    let is_binary = cx.attrs().bool("binary_output");
    let weights = RowMajor::new(cx.input(cx.inputs() - 1)?)?;
    let weights = weights.view();
    if !weights.is_empty() && weights.len() != numbers.len() {
        let message =
            format!("there must be one weight per number, got {} for {}", weights.len(), numbers.len());
        return Err(Error::new(ErrorKind::Shape, Phase::Run, message));
    }
    let size = sizes.last().copied().unwrap_or(0);
    let mut output = cx.output(0, sizes)?;
    macro_rules! of {
        ($T:ty, $one:literal, $add:expr, $many:expr) => {{
            let (counts, weights) = (output.as_mut_slice::<$T>()?, weights.as_slice::<$T>()?);
            let one = |count: &mut $T, _: usize| *count = $one;
            let more = |count: &mut $T, _: usize| *count = $add(*count, $one);
            let weight = |count: &mut $T, position: usize| *count = $add(*count, weights[position]);
            match (is_binary, weights.is_empty()) {
                (true, _) => for_each_count(counts, size, numbers, rows, one),
                (_, true) => match rows {
                    CountedRows::Blocks(block) if size <= SMALL && *block >= MANY * size => {
                        let rows = numbers.chunks((*block).max(1)).enumerate();
                        rows.fold(true, |all, (row, numbers)| {
                            all & count_in_tables(&mut counts[row * size..][..size], numbers, $many)
                        })
                    }
                    _ => for_each_count(counts, size, numbers, rows, more),
                },
                (_, false) => for_each_count(counts, size, numbers, rows, weight),
            }
        }};
    }
    let all_count = match weights.dtype() {
        DType::I32 => of!(i32, 1, i32::wrapping_add, |count| count as i32),
        DType::I64 => of!(i64, 1, i64::wrapping_add, |count| count as i64),
        DType::F32 => of!(f32, 1.0, std::ops::Add::add, |count| count as f32),
        _ => of!(f64, 1.0, std::ops::Add::add, |count| count as f64),
    };
    // A negative number has no count, so no number is negative if each number has one.
    let position = if all_count { None } else { numbers.iter().position(|number| (*number).into() < 0) };
    let Some(position) = position else { return Ok(()) };
    let negative: i64 = numbers[position].into();
    let message = format!("a counted number must not be negative, got {negative}");
    let place = place_text(position, cx.input(operand)?.sizes());
    Err(Error::new(ErrorKind::Data, Phase::Run, message).in_element(operand, &place))
}

/// The greatest number of counts, and the least number of numbers for each count, for which [`count_in_tables`] is
/// used.
const SMALL: usize = 4096;
const MANY: usize = 16;

/// The number of tables of [`count_in_tables`].
const TABLES: usize = 4;

/// Sets `counts` to the counts of the numbers below `counts.len()`. Returns whether every number has a count.
/// Neighbors count in different tables, so that equal neighbors do not wait for each other.
fn count_in_tables<T, I: Copy + Into<i64>>(
    counts: &mut [T],
    numbers: &[I],
    number: impl Fn(u64) -> T,
) -> bool {
    let size = counts.len();
    let mut sums = vec![0u64; size];
    // Counts of 32 bits leave room for the numbers in the first cache.
    let mut tables = vec![0u32; TABLES * size];
    for numbers in numbers.chunks(u32::MAX as usize) {
        tables.fill(0);
        let (first, rest) = tables.split_at_mut(size);
        let (second, rest) = rest.split_at_mut(size);
        let (third, fourth) = rest.split_at_mut(size);
        let add = |table: &mut [u32], number: I| {
            if let Some(count) = table.get_mut(number.into() as u64 as usize) {
                *count += 1;
            }
        };
        let (groups, left) = numbers.as_chunks::<TABLES>();
        for [a, b, c, d] in groups {
            add(first, *a);
            add(second, *b);
            add(third, *c);
            add(fourth, *d);
        }
        left.iter().for_each(|number| add(first, *number));
        for (at, sum) in sums.iter_mut().enumerate() {
            *sum += [first[at], second[at], third[at], fourth[at]].map(u64::from).iter().sum::<u64>();
        }
    }
    for (count, sum) in counts.iter_mut().zip(&sums) {
        *count = number(*sum);
    }
    sums.iter().sum::<u64>() == numbers.len() as u64
}

/// Calls `change` with the count of each number and the position of the number. Returns whether every number has a
/// count: a negative number or a number of `size` or more has none.
fn for_each_count<T, I: Copy + Into<i64>>(
    counts: &mut [T],
    size: usize,
    numbers: &[I],
    rows: &CountedRows,
    mut change: impl FnMut(&mut T, usize),
) -> bool {
    let mut all_count = true;
    let mut in_row = |row: usize, numbers: &[I], first: usize| {
        let counts = &mut counts[row * size..][..size];
        for (offset, number) in numbers.iter().enumerate() {
            match counts.get_mut((*number).into() as u64 as usize) {
                Some(count) => change(count, first + offset),
                None => all_count = false,
            }
        }
    };
    match rows {
        CountedRows::Blocks(block) => {
            for (row, numbers) in numbers.chunks((*block).max(1)).enumerate() {
                in_row(row, numbers, row * block);
            }
        }
        CountedRows::Each(rows) => {
            for (position, row) in rows.iter().enumerate() {
                in_row(*row, &numbers[position..position + 1], position);
            }
        }
    }
    all_count
}
