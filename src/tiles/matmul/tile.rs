//! [`Tile`]: a piece of a result whose sums stay in registers while both operands pass by.

use std::hint::black_box;

use super::cache::prefetch;
use super::register::Register;

/// `out = a · b`, or `out += a · b`, of as many rows and vectors of columns as the function it is given to has.
pub(super) struct Tile<T> {
    /// How many products an element sums.
    pub depth: usize,
    /// Element `(i, p)` at `i * a_row + p * a_step`.
    pub a: *const T,
    pub a_row: usize,
    pub a_step: usize,
    /// Element `(p, j)` at `p * b_step + j`.
    pub b: *const T,
    pub b_step: usize,
    /// Where a function that copies leaves the rows of `b`, one right after the other.
    pub copy: *mut T,
    /// Element `(i, j)` at `i * out_row + j`.
    pub out: *mut T,
    pub out_row: usize,
    /// Columns that are stored, of which only the last vector may lack some.
    pub columns: usize,
    /// Whether sums are added to what is there.
    pub add: bool,
}

/// Computes a tile. Every element is the sum of its products in their order, so that it does not depend on the rows
/// and columns around it, nor on which of the functions computes it.
///
/// # Safety
/// The processor has what the function is made for. `tile` says where the operands can be read, whole vectors of `b`
/// too, and `out` and `copy` written; these two overlap neither each other nor the operands.
pub(super) type TileFn<T> = unsafe fn(&Tile<T>);

/// Both operands are packed: every step reads the elements that follow those of the step before.
pub(super) const PACKED: u8 = 0;
/// Operands are where the tile says.
pub(super) const STRIDED: u8 = 1;
/// As [`STRIDED`], and `b` is copied as it passes.
pub(super) const COPYING: u8 = 2;

/// Steps of a packed tile in one turn of its loop.
const UNROLL: usize = 4;

/// # Safety
/// As [`TileFn`].
#[inline(always)]
pub(super) unsafe fn compute<R: Register, const MODE: u8, const ROWS: usize, const VECTORS: usize>(
    tile: &Tile<R::Element>,
) {
    // SAFETY: the caller's, and that a prefetch may be given any address.
    unsafe {
        for i in 0..ROWS {
            // The result is touched once for many steps, so that nothing else brings it near in time.
            let out = tile.out.wrapping_add(i * tile.out_row);
            prefetch(out);
            prefetch(out.wrapping_add(VECTORS * R::LANES - 1));
        }
        let packed = MODE == PACKED;
        let (a_step, b_step) = if packed { (ROWS, VECTORS * R::LANES) } else { (tile.a_step, tile.b_step) };
        // Where rows are apart, each has a pointer of its own that the compiler cannot compute from another: it
        // would, by a chain of additions as long as the step.
        let mut rows = [tile.a; ROWS];
        if !packed {
            for (i, row) in rows.iter_mut().enumerate() {
                *row = black_box(row.add(i * tile.a_row));
            }
        }
        let mut sums = [[R::zero(); VECTORS]; ROWS];
        let (mut left, mut at, mut b, mut copy) = (tile.depth, 0, tile.b, tile.copy);
        if packed {
            while left >= UNROLL {
                for p in 0..UNROLL {
                    let row = row::<R, MODE, VECTORS>(b.add(p * b_step), copy);
                    step(&mut sums, row, |i| tile.a.add(at + p * a_step + i));
                }
                left -= UNROLL;
                at += UNROLL * a_step;
                b = b.add(UNROLL * b_step);
            }
        }
        while left > 0 {
            let row = row::<R, MODE, VECTORS>(b, copy);
            step(&mut sums, row, |i| if packed { tile.a.add(at + i) } else { rows[i].add(at) });
            left -= 1;
            at += a_step;
            b = b.add(b_step);
            if MODE == COPYING {
                copy = copy.add(VECTORS * R::LANES);
            }
        }
        store(tile, sums);
    }
}

/// A row of `b`, copied if the mode says so.
///
/// # Safety
/// As [`TileFn`].
#[inline(always)]
unsafe fn row<R: Register, const MODE: u8, const VECTORS: usize>(
    b: *const R::Element,
    copy: *mut R::Element,
) -> [R; VECTORS] {
    // SAFETY: the caller's.
    unsafe {
        let mut row = [R::zero(); VECTORS];
        for (j, vector) in row.iter_mut().enumerate() {
            *vector = R::load(b.add(j * R::LANES));
            if MODE == COPYING {
                vector.store(copy.add(j * R::LANES));
            }
        }
        row
    }
}

/// Adds the products of a column of `a`, whose elements are at `left`, and a row of `b`.
///
/// # Safety
/// As [`TileFn`].
#[inline(always)]
unsafe fn step<R: Register, const ROWS: usize, const VECTORS: usize>(
    sums: &mut [[R; VECTORS]; ROWS],
    row: [R; VECTORS],
    left: impl Fn(usize) -> *const R::Element,
) {
    for (i, sums) in sums.iter_mut().enumerate() {
        // SAFETY: the caller's.
        unsafe {
            let left = R::splat(left(i));
            for (sum, right) in sums.iter_mut().zip(row) {
                *sum = left.mul_add(right, *sum);
            }
        }
    }
}

/// # Safety
/// As [`TileFn`].
#[inline(always)]
unsafe fn store<R: Register, const ROWS: usize, const VECTORS: usize>(
    tile: &Tile<R::Element>,
    sums: [[R; VECTORS]; ROWS],
) {
    // SAFETY: the caller's; columns that are not whole vectors are stored one by one.
    unsafe {
        let whole = tile.columns == VECTORS * R::LANES;
        for (i, sums) in sums.iter().enumerate() {
            let out = tile.out.add(i * tile.out_row);
            if whole {
                for (j, sum) in sums.iter().enumerate() {
                    let out = out.add(j * R::LANES);
                    if tile.add { R::load(out).add(*sum).store(out) } else { sum.store(out) }
                }
            } else {
                let kept = *sums;
                let kept = kept.as_ptr().cast::<R::Element>();
                for j in 0..tile.columns {
                    let (out, sum) = (out.add(j), kept.add(j).read());
                    out.write_unaligned(if tile.add { out.read_unaligned() + sum } else { sum });
                }
            }
        }
    }
}
