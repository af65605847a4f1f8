//! `ragged_reduce`: reduces each row of values to one element; a host op over row splits.

use std::ops::{Add, Mul, Range};
use std::sync::{Mutex, PoisonError};

use shapeflow_shape_fns::{Attribute, Attrs, DType, TensorShape};

use super::reduce_in_tensorflow;
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::op::{HostCx, HostThreads, OpDef, Operand, TfFunction};
use crate::ops::row_major::RowMajor;
use crate::ops::rows::{narrow, widened};
use crate::tensor::{Element, Tensor, TensorView, TensorViewMut};

/// Reduces rows: `values [nvals, d..], splits [nrows+1] -> [nrows, d..]`. Attribute `reduce` names the reduction.
pub(crate) static DEF: OpDef = OpDef::host("ragged_reduce", run)
    .attrs(&[Attribute::str_or("reduce", "sum")])
    .in_tensorflow(TfFunction::Composed(reduce_in_tensorflow::reduce))
    .operands(&[Operand::Data("values"), Operand::Data("row_splits")])
    .shape_fn(|cx| {
        let values = cx.with_rank_at_least(0, 1)?;
        let rows = shapeflow_shape_fns::ragged::row_count(cx, 1)?;
        if values.rank().is_some() {
            cx.set_output(0, TensorShape::new([rows]).concatenate(&values.slice(1..)));
        }
        Ok(())
    })
    .dtype_rule(dtypes);

fn dtypes(dtypes: &[DType], attrs: &Attrs) -> Result<Vec<DType>> {
    dtype::check_indices(dtypes, 1)?;
    let class = match name(attrs) {
        "any" | "all" => dtype::Class::Bool,
        "mean" => dtype::Class::Inexact,
        "sum" | "prod" => dtype::Class::Numeric,
        _ => dtype::Class::Number,
    };
    let values = dtype::common(dtypes, 0, 1, class)?;
    Ok(vec![if matches!(name(attrs), "argmax" | "argmin") { DType::I64 } else { values }])
}

fn name(attrs: &Attrs) -> &str {
    attrs.str("reduce")
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let (values, splits) = (RowMajor::new(cx.input(0)?)?, RowMajor::new(cx.input(1)?)?);
    let (values, splits) = (values.view(), splits.view());
    let offsets = offsets(splits, values.sizes()[0])?;
    let sizes = [&[offsets.len() - 1], &values.sizes()[1..]].concat();
    let (name, threads) = (name(cx.attrs()), cx.threads());
    if matches!(values.dtype(), DType::F16 | DType::BF16) {
        let wide = widened(&values)?;
        if matches!(name, "argmax" | "argmin") {
            return reduce(threads, name, wide.view(), &offsets, &mut cx.unfilled_output(0, &sizes)?);
        }
        let mut sums = Tensor::allocate(DType::F32, &sizes)?;
        reduce(threads, name, wide.view(), &offsets, &mut sums.view_mut()?)?;
        fill_empty_rows(name, &offsets, values.dtype(), &mut sums)?;
        return narrow(sums.view(), &mut cx.unfilled_output(0, &sizes)?);
    }
    reduce(threads, name, values, &offsets, &mut cx.unfilled_output(0, &sizes)?)
}

/// Writes the lowest or highest finite number of a half dtype as the extremum of each empty row.
fn fill_empty_rows(name: &str, offsets: &[usize], dtype: DType, extrema: &mut Tensor) -> Result<()> {
    let sign = match name {
        "max" => -1.0,
        "min" => 1.0,
        _ => return Ok(()),
    };
    let most = if dtype == DType::F16 { half::f16::MAX.to_f32() } else { half::bf16::MAX.to_f32() };
    let extrema = extrema.as_mut_slice::<f32>()?;
    let row = extrema.len().checked_div(offsets.len() - 1).unwrap_or(0);
    for (index, _) in offsets.windows(2).enumerate().filter(|(_, pair)| pair[0] == pair[1]) {
        extrema[index * row..(index + 1) * row].fill(sign * most);
    }
    Ok(())
}

/// Returns the splits as positions within `nvals` values that never decrease.
pub(super) fn offsets(splits: TensorView<'_>, nvals: usize) -> Result<Vec<usize>> {
    fn within<I: Copy + Into<i64>>(splits: &[I], nvals: usize) -> Vec<usize> {
        let mut last = 0;
        let position = |split: &I| {
            // A negative split becomes a number above every size.
            last = (Into::<i64>::into(*split) as usize).min(nvals).max(last);
            last
        };
        splits.iter().map(position).collect()
    }
    Ok(match splits.dtype() {
        DType::I32 => within(splits.as_slice::<i32>()?, nvals),
        _ => within(splits.as_slice::<i64>()?, nvals),
    })
}

fn reduce(
    threads: HostThreads<'_>,
    name: &str,
    x: TensorView<'_>,
    offsets: &[usize],
    y: &mut TensorViewMut<'_>,
) -> Result<()> {
    // Wrapping sums and products have the same bits for signed and for unsigned integers.
    macro_rules! wrapping {
        ($T:ident) => {{
            let (x, y) = (x.as_unsigned::<$T>()?, y.as_mut_unsigned::<$T>()?);
            match name {
                "prod" => rows(threads, x, offsets, y, 1, $T::wrapping_mul, |product, _| product),
                _ => rows(threads, x, offsets, y, 0, $T::wrapping_add, |sum, _| sum),
            }
            Ok(())
        }};
    }
    macro_rules! extrema {
        ($T:ident, $least:expr, $most:expr, $max:expr, $min:expr) => {{
            let x = x.as_slice::<$T>()?;
            match name {
                "argmax" => arg_extremum(threads, x, offsets, y.as_mut_slice::<i64>()?, |a: $T, b: $T| {
                    a > b || (a != a && b == b)
                }),
                "argmin" => arg_extremum(threads, x, offsets, y.as_mut_slice::<i64>()?, |a: $T, b: $T| {
                    a < b || (a != a && b == b)
                }),
                "max" => rows(threads, x, offsets, y.as_mut_slice()?, $least, $max, |most, count| {
                    if count == 0 { $T::MIN } else { most }
                }),
                "min" => rows(threads, x, offsets, y.as_mut_slice()?, $most, $min, |least, count| {
                    if count == 0 { $T::MAX } else { least }
                }),
                other => return Err(unknown(other)),
            }
            Ok(())
        }};
        ($T:ident) => {
            extrema!($T, $T::MIN, $T::MAX, Ord::max, Ord::min)
        };
    }
    macro_rules! floats {
        ($T:ident) => {{
            let values = x.as_slice::<$T>()?;
            match name {
                "sum" => rows(threads, values, offsets, y.as_mut_slice()?, 0.0, $T::add, |sum, _| sum),
                "mean" => rows(threads, values, offsets, y.as_mut_slice()?, 0.0, $T::add, |sum, count| {
                    sum / count as $T
                }),
                "prod" => {
                    rows(threads, values, offsets, y.as_mut_slice()?, 1.0, $T::mul, |product, _| product)
                }
                _ => {
                    return extrema!(
                        $T,
                        $T::NEG_INFINITY,
                        $T::INFINITY,
                        |a: $T, b: $T| if a > b || a != a { a } else { b },
                        |a: $T, b: $T| if a < b || a != a { a } else { b }
                    );
                }
            }
            Ok(())
        }};
    }
    macro_rules! complex {
        ($T:ident) => {{
            let (x, _) = x.as_bits::<$T>()?.as_chunks::<2>();
            let (y, _) = y.as_mut_bits::<$T>()?.as_chunks_mut::<2>();
            let add = |a: [$T; 2], b: [$T; 2]| [a[0] + b[0], a[1] + b[1]];
            // A product with 1 is the other factor, also if it is infinite: the formula gives NaN then.
            let one = [1.0, 0.0];
            let mul = |a: [$T; 2], b: [$T; 2]| match () {
                () if a == one => b,
                () if b == one => a,
                () => [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]],
            };
            match name {
                "sum" => rows(threads, x, offsets, y, [0.0; 2], add, |sum, _| sum),
                "mean" => rows(threads, x, offsets, y, [0.0; 2], add, |sum, count| {
                    sum.map(|part| part / count as $T)
                }),
                "prod" => rows(threads, x, offsets, y, one, mul, |product, _| product),
                other => return Err(unknown(other)),
            }
            Ok(())
        }};
    }
    let is_wrapping = matches!(name, "sum" | "prod");
    match x.dtype() {
        DType::Bool => {
            let (x, y) = (x.as_slice::<bool>()?, y.as_mut_slice::<bool>()?);
            match name {
                "any" => rows(threads, x, offsets, y, false, |a, b| a | b, |any, _| any),
                "all" => rows(threads, x, offsets, y, true, |a, b| a & b, |all, _| all),
                other => return Err(unknown(other)),
            }
            Ok(())
        }
        DType::I8 | DType::U8 if is_wrapping => wrapping!(u8),
        DType::I16 | DType::U16 if is_wrapping => wrapping!(u16),
        DType::I32 | DType::U32 if is_wrapping => wrapping!(u32),
        DType::I64 | DType::U64 if is_wrapping => wrapping!(u64),
        DType::I8 => extrema!(i8),
        DType::I16 => extrema!(i16),
        DType::I32 => extrema!(i32),
        DType::I64 => extrema!(i64),
        DType::U8 => extrema!(u8),
        DType::U16 => extrema!(u16),
        DType::U32 => extrema!(u32),
        DType::U64 => extrema!(u64),
        DType::F32 => floats!(f32),
        DType::F64 => floats!(f64),
        DType::C64 => complex!(f32),
        DType::C128 => complex!(f64),
        other => {
            let message =
                format!("reduced rows must be bool, integers, floats or complex numbers, got {other}");
            Err(Error::new(ErrorKind::DType, Phase::Run, message))
        }
    }
}

fn unknown(name: &str) -> Error {
    Error::new(ErrorKind::Attribute, Phase::Run, format!("reduce must name a reduction, got {name:?}"))
}

/// The number of partial results of a row of scalars. The compiler keeps them in vector registers.
const LANES: usize = 8;

/// The cost of a row besides its values, in values: its bounds are read, and its partial results are combined.
const ROW_COST: usize = 8;

/// Calls `f` on pieces of `y` with the ranges of their rows, on several threads if the rows hold many values. Every
/// piece costs about the same, so that a few long rows do not wait for many short rows.
fn each_piece<R: Send>(
    threads: HostThreads<'_>,
    offsets: &[usize],
    y: &mut [R],
    f: &(dyn Fn(Range<usize>, &mut [R]) + Sync),
) {
    let nrows = offsets.len() - 1;
    let Some(width) = y.len().checked_div(nrows).filter(|width| *width > 0) else { return };
    let cost = |row: usize| (offsets[row] - offsets[0]) * width + row * ROW_COST;
    let total = cost(nrows);
    // A value takes about half a nanosecond.
    let parts = threads.parts(total / 2).min(nrows);
    let mut pieces = Vec::with_capacity(parts);
    let (mut rest, mut begin) = (y, 0);
    for part in 1..=parts {
        // The costs ascend with the rows.
        let (mut low, mut high) = (begin, nrows);
        let target = (total as u128 * part as u128 / parts as u128) as usize;
        while low < high {
            let middle = low.midpoint(high);
            if cost(middle) < target { low = middle + 1 } else { high = middle }
        }
        let end = if part == parts { nrows } else { low };
        let (piece, others) = rest.split_at_mut((end - begin) * width);
        pieces.push(Mutex::new((begin..end, piece)));
        (rest, begin) = (others, end);
    }
    threads.for_each(parts, &|part| {
        // Each piece is locked once, so the lock is free and no other call has panicked with it.
        let mut piece = pieces[part].lock().unwrap_or_else(PoisonError::into_inner);
        let (rows, y) = &mut *piece;
        f(rows.clone(), y);
    });
}

/// Reduces rows of `x` to elements of `y`. `finish` gets the result of a row and the number of its values.
fn rows<T: Copy + Send + Sync>(
    threads: HostThreads<'_>,
    x: &[T],
    offsets: &[usize],
    y: &mut [T],
    start: T,
    combine: impl Fn(T, T) -> T + Copy + Sync,
    finish: impl Fn(T, usize) -> T + Sync,
) {
    let width = y.len().checked_div(offsets.len() - 1).unwrap_or(0);
    each_piece(threads, offsets, y, &|rows, y| {
        let pairs = offsets[rows.start..=rows.end].windows(2);
        if width == 1 {
            for (pair, y) in pairs.zip(y) {
                *y = finish(reduce_row(x, pair[0], pair[1], start, combine), pair[1] - pair[0]);
            }
            return;
        }
        for (pair, y) in pairs.zip(y.chunks_exact_mut(width)) {
            y.fill(start);
            for x in x[pair[0] * width..pair[1] * width].chunks_exact(width) {
                for (y, x) in y.iter_mut().zip(x) {
                    *y = combine(*y, *x);
                }
            }
            for y in y {
                *y = finish(*y, pair[1] - pair[0]);
            }
        }
    });
}

/// Reduces the scalars of one row. They are combined in [`LANES`] independent chains, and the results of the chains in
/// pairs. `start` changes no element that it is combined with.
#[inline]
fn reduce_row<T: Copy>(x: &[T], begin: usize, end: usize, start: T, combine: impl Fn(T, T) -> T) -> T {
    let (chunks, rest) = x[begin..end].as_chunks::<LANES>();
    let mut lanes = [start; LANES];
    for chunk in chunks {
        for (lane, x) in lanes.iter_mut().zip(chunk) {
            *lane = combine(*lane, *x);
        }
    }
    if !rest.is_empty() {
        let first = end - rest.len();
        // A whole vector is read, if there is one, and `start` takes the place of elements after the row.
        match x.get(first..first + LANES).and_then(<[T]>::first_chunk::<LANES>) {
            Some(chunk) => {
                for (number, (lane, x)) in lanes.iter_mut().zip(chunk).enumerate() {
                    *lane = combine(*lane, if number < rest.len() { *x } else { start });
                }
            }
            None => {
                for (lane, x) in lanes.iter_mut().zip(rest) {
                    *lane = combine(*lane, *x);
                }
            }
        }
    }
    let mut count = LANES;
    while count > 1 {
        count /= 2;
        for lane in 0..count {
            lanes[lane] = combine(lanes[lane], lanes[lane + count]);
        }
    }
    lanes[0]
}

/// Finds the position of the first extremum of each row; -1 for an empty row. `wins(a, b)` returns whether `a` comes
/// before an earlier `b`.
fn arg_extremum<T: Element>(
    threads: HostThreads<'_>,
    x: &[T],
    offsets: &[usize],
    y: &mut [i64],
    wins: impl Fn(T, T) -> bool + Sync,
) {
    let width = y.len().checked_div(offsets.len() - 1).unwrap_or(0);
    each_piece(threads, offsets, y, &|rows, y| {
        let pairs = offsets[rows.start..=rows.end].windows(2);
        for (pair, y) in pairs.zip(y.chunks_exact_mut(width)) {
            for (column, y) in y.iter_mut().enumerate() {
                let mut best: Option<(i64, T)> = None;
                for (position, value) in (pair[0]..pair[1]).enumerate() {
                    let value = x[value * width + column];
                    if best.is_none_or(|(_, found)| wins(value, found)) {
                        best = Some((position as i64, value));
                    }
                }
                *y = best.map_or(-1, |(position, _)| position);
            }
        }
    });
}
