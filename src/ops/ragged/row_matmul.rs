//! `ragged_matmul`: products of the matrices that follow one another in flat values; a host op.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use shapeflow_shape_fns::{Attribute, DType, TensorShape, counted};

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::op::{HostCx, HostThreads, OpDef, Operand};
use crate::ops::integers::ints;
use crate::ops::row_major::RowMajor;
use crate::ops::rows::{narrow, widened};
use crate::tensor::{Element, Tensor, TensorView, TensorViewMut};
use crate::tiles::{Float, SliceMatMul};

/// Multiplies matrix `i` of `a`, `[rows[i], inner[i]]`, by matrix `i` of `b`, `[other_inner[i], columns[i]]`:
/// `a [..], b [..], rows i64[n], inner i64[n], other_inner i64[n], columns i64[n] -> [Σ rows[i] · columns[i]]`.
/// Attributes `transpose_a` and `transpose_b` say that an operand holds its matrices transposed. The run fails unless
/// the inner sizes of matrices that give elements agree, and the sizes of all matrices cover the operands.
pub(super) static DEF: OpDef = OpDef::host("ragged_matmul", run)
    .attrs(&[Attribute::bool_or("transpose_a", false), Attribute::bool_or("transpose_b", false)])
    .operands(&[
        Operand::Data("a"),
        Operand::Data("b"),
        Operand::Data("rows"),
        Operand::Data("inner"),
        Operand::Data("other_inner"),
        Operand::Data("columns"),
    ])
    .shape_fn(|cx| {
        for operand in 0..6 {
            cx.with_rank(operand, 1)?;
        }
        let elements = cx.fresh();
        cx.set_output(0, TensorShape::new([elements]));
        Ok(())
    })
    .dtype_rule(|dtypes, _| {
        for operand in 2..6 {
            dtype::check_indices(dtypes, operand)?;
        }
        Ok(vec![dtype::common(dtypes, 0, 2, dtype::Class::Number)?])
    });

/// The sizes of the matrices of one product, and where they start.
#[derive(Clone, Copy)]
struct RowProduct {
    /// The rows of the result, the inner size, and the columns of the result.
    sizes: [usize; 3],
    /// The first elements of the operands and of the result.
    starts: [usize; 3],
}

/// Some rows of one product.
type Rows = (RowProduct, Range<usize>);

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let (a, b) = (RowMajor::new(cx.input(0)?)?, RowMajor::new(cx.input(1)?)?);
    let (a, b) = (a.view(), b.view());
    let mut sizes = [const { Vec::new() }; 4];
    for (operand, sizes) in (2..).zip(&mut sizes) {
        *sizes = ints(&RowMajor::new(cx.input(operand)?)?.view());
    }
    let transposed = ["transpose_a", "transpose_b"].map(|name| cx.attrs().bool(name));
    let (products, elements) = products(&sizes, [a.len(), b.len()])?;
    let threads = cx.threads();
    if matches!(a.dtype(), DType::F16 | DType::BF16) {
        let (a, b) = (widened(&a)?, widened(&b)?);
        let mut wide = Tensor::allocate(DType::F32, &[elements])?;
        multiply(threads, [a.view(), b.view()], &products, transposed, &mut wide.view_mut()?)?;
        return narrow(wide.view(), &mut cx.unfilled_output(0, &[elements])?);
    }
    multiply(threads, [a, b], &products, transposed, &mut cx.unfilled_output(0, &[elements])?)
}

/// Returns the products and the number of elements of all results.
fn products(sizes: &[Vec<i64>; 4], lens: [usize; 2]) -> Result<(Vec<RowProduct>, usize)> {
    let [rows, inner, other_inner, columns] = sizes;
    let count = rows.len();
    if let Some(other) = sizes.iter().map(Vec::len).find(|len| *len != count) {
        return Err(wrong(format!("there must be as many matrices on both sides, got {count} and {other}")));
    }
    let too_large = || wrong("the matrices must fit in memory".to_string());
    let mut starts = [0usize; 3];
    let mut products = Vec::with_capacity(count);
    let of_rows = rows.iter().zip(inner).zip(other_inner).zip(columns);
    for (row, (((m, k), other), n)) in of_rows.enumerate() {
        let size = |size: i64| {
            usize::try_from(size).map_err(|_| {
                wrong(format!("the sizes of a matrix must not be negative, got {size} at row {row}"))
            })
        };
        let [m, k, other, n] = [size(*m)?, size(*k)?, size(*other)?, size(*n)?];
        if k != other && m > 0 && n > 0 {
            let message = format!(
                "the inner sizes of a product must agree in every row, got {k} and {other} at row {row}"
            );
            return Err(wrong(message));
        }
        let add = |start: usize, [x, y]: [usize; 2]| {
            x.checked_mul(y).and_then(|len| start.checked_add(len)).ok_or_else(too_large)
        };
        let ends = [add(starts[0], [m, k])?, add(starts[1], [other, n])?, add(starts[2], [m, n])?];
        if m > 0 && n > 0 {
            products.push(RowProduct { sizes: [m, k, n], starts });
        }
        starts = ends;
    }
    for (side, len) in lens.into_iter().enumerate() {
        if starts[side] != len {
            let elements = starts[side];
            return Err(wrong(format!(
                "the sizes of the matrices must cover all {len} of operand {side}, got {elements}",
                len = counted(len, "element")
            )));
        }
    }
    Ok((products, starts[2]))
}

fn wrong(message: String) -> Error {
    Error::new(ErrorKind::Guard, Phase::Run, message)
}

/// Computes the products of each dtype.
fn multiply(
    threads: HostThreads<'_>,
    [a, b]: [TensorView<'_>; 2],
    products: &[RowProduct],
    transposed: [bool; 2],
    out: &mut TensorViewMut<'_>,
) -> Result<()> {
    // Wrapping sums and products have the same bits for signed and for unsigned integers.
    macro_rules! wrapping {
        ($T:ident) => {
            each_part(threads, products, 1, out.as_mut_unsigned::<$T>()?, &{
                let (a, b) = (a.as_unsigned::<$T>()?, b.as_unsigned::<$T>()?);
                move |parts, mut out| {
                    for (product, rows) in parts {
                        let (piece, rest) = out.split_at_mut(rows.len() * product.sizes[2]);
                        let add = |sum: $T, x: $T, y: $T| sum.wrapping_add(x.wrapping_mul(y));
                        add_products(product, transposed, [a, b], rows.clone(), piece, add);
                        out = rest;
                    }
                }
            })
        };
    }
    match a.dtype() {
        DType::F32 => floats::<f32>(threads, [a, b], products, transposed, out)?,
        DType::F64 => floats::<f64>(threads, [a, b], products, transposed, out)?,
        DType::I8 | DType::U8 => wrapping!(u8),
        DType::I16 | DType::U16 => wrapping!(u16),
        DType::I32 | DType::U32 => wrapping!(u32),
        DType::I64 | DType::U64 => wrapping!(u64),
        other => return Err(wrong(format!("multiplied matrices must be integers or floats, got {other}"))),
    }
    Ok(())
}

fn floats<T: Element + Float + Send + Sync>(
    threads: HostThreads<'_>,
    [a, b]: [TensorView<'_>; 2],
    products: &[RowProduct],
    transposed: [bool; 2],
    out: &mut TensorViewMut<'_>,
) -> Result<()> {
    let (a, b) = (a.as_slice::<T>()?, b.as_slice::<T>()?);
    each_part(threads, products, 16, out.as_mut_slice::<T>()?, &|parts, mut out| {
        let mut workspace = Vec::new();
        for (product, rows) in parts {
            let (piece, rest) = out.split_at_mut(rows.len() * product.sizes[2]);
            let [a, b] = product.operands([a, b]);
            let matmul = SliceMatMul { sizes: product.sizes, transposed };
            matmul.run(a, b, rows.clone(), piece, &mut workspace);
            out = rest;
        }
    });
    Ok(())
}

impl RowProduct {
    /// Returns the matrices among the elements of all matrices.
    fn operands<'a, T>(&self, [a, b]: [&'a [T]; 2]) -> [&'a [T]; 2] {
        let ([m, k, n], [a_start, b_start, _]) = (self.sizes, self.starts);
        [&a[a_start..a_start + m * k], &b[b_start..b_start + k * n]]
    }
}

/// Computes some rows of a product of integers, with `add(sum, x, y) = sum + x · y`.
fn add_products<T: Copy + Default>(
    product: &RowProduct,
    transposed: [bool; 2],
    operands: [&[T]; 2],
    rows: Range<usize>,
    out: &mut [T],
    add: impl Fn(T, T, T) -> T,
) {
    let [m, k, n] = product.sizes;
    let [a, b] = product.operands(operands);
    for (row, out) in rows.zip(out.chunks_exact_mut(n)) {
        out.fill(T::default());
        for inner in 0..k {
            let x = if transposed[0] { a[inner * m + row] } else { a[row * k + inner] };
            for (column, sum) in out.iter_mut().enumerate() {
                let y = if transposed[1] { b[column * k + inner] } else { b[inner * n + column] };
                *sum = add(*sum, x, y);
            }
        }
    }
}

/// Calls `f` on the rows of the products, in parts of about the same cost, on several threads if the products are
/// large. A nanosecond has `speed` multiplications.
fn each_part<T: Send>(
    threads: HostThreads<'_>,
    products: &[RowProduct],
    speed: usize,
    out: &mut [T],
    f: &(dyn Fn(&[Rows], &mut [T]) + Sync),
) {
    let row_cost = |product: &RowProduct| (product.sizes[1].max(1) * product.sizes[2]).div_ceil(speed).max(1);
    let cost = products.iter().map(|product| product.sizes[0].saturating_mul(row_cost(product)));
    let total = cost.fold(0, usize::saturating_add);
    let target = total.div_ceil(threads.parts(total)).max(1);
    let (mut parts, mut part, mut elements, mut left) = (Vec::new(), Vec::new(), 0, target);
    let mut rest = out;
    for product in products {
        let [m, _, n] = product.sizes;
        let mut begin = 0;
        while begin < m {
            let end = m.min(begin + (left / row_cost(product)).max(1));
            part.push((*product, begin..end));
            elements += (end - begin) * n;
            left = left.saturating_sub((end - begin) * row_cost(product));
            begin = end;
            if left == 0 {
                let (piece, others) = rest.split_at_mut(elements);
                parts.push(Mutex::new((std::mem::take(&mut part), piece)));
                (rest, elements, left) = (others, 0, target);
            }
        }
    }
    parts.push(Mutex::new((part, rest)));
    threads.for_each(parts.len(), &|number| {
        // Each part is locked once, so the lock is free and no other call has panicked with it.
        let mut part = parts[number].lock().unwrap_or_else(PoisonError::into_inner);
        let (rows, out) = &mut *part;
        f(rows, out);
    });
}
