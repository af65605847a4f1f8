//! [`Tile`]: a piece of a result whose sums stay in registers while both operands pass by.

use std::hint::black_box;

use super::cache::{Ahead, prefetch};
use super::kernel::Float;
use super::register::Register;

/// Tiles of a result one under the other, `out = a · b` or `out += a · b`: each of as many rows and vectors of columns
/// as the function it is given to has.
pub(super) struct Tile<T> {
    /// How many tiles.
    pub count: usize,
    /// How many products an element sums.
    pub depth: usize,
    /// Element `(i, p)` of the first tile at `i * a_row + p * a_step`.
    pub a: *const T,
    pub a_row: usize,
    pub a_step: usize,
    /// From a tile to the next.
    pub a_next: usize,
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
    /// What is brought near meanwhile.
    pub ahead: Ahead<T>,
}

/// Computes the tiles. Every element is the sum of its products in their order, so that it does not depend on the rows
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
pub(super) const UNROLL: usize = 4;

/// # Safety
/// As [`TileFn`].
#[inline(always)]
pub(super) unsafe fn compute<R: Register, const MODE: u8, const ROWS: usize, const VECTORS: usize>(
    tile: &Tile<R::Element>,
) {
    // SAFETY: the caller's, and that a prefetch may be given any address.
    unsafe {
        let packed = MODE == PACKED;
        let (a_step, b_step) = if packed { (ROWS, VECTORS * R::LANES) } else { (tile.a_step, tile.b_step) };
        // Where rows are apart, each has an offset of its own that the compiler cannot compute from another: it
        // would, by a chain of additions as long as the step.
        let mut rows = [0; ROWS];
        for (i, row) in rows.iter_mut().enumerate() {
            *row = if packed || i == 0 { i } else { black_box(i * tile.a_row) };
        }
        let mut ahead = tile.ahead;
        for number in 0..tile.count {
            let out = tile.out.add(number * ROWS * tile.out_row);
            for i in 0..ROWS {
                // The result is touched once for many steps, so that nothing else brings it near in time.
                let out = out.wrapping_add(i * tile.out_row);
                prefetch(out);
                prefetch(out.wrapping_add(VECTORS * R::LANES - 1));
            }
            ahead.before(VECTORS * R::LANES);
            let mut sums = [[R::zero(); VECTORS]; ROWS];
            let (mut left, mut a, mut b) = (tile.depth, tile.a.add(number * tile.a_next), tile.b);
            let mut copy = tile.copy;
            if packed {
                while left >= UNROLL {
                    ahead.within();
                    for p in 0..UNROLL {
                        let b = b.add(p * b_step);
                        step::<R, MODE, ROWS, VECTORS>(&mut sums, b, copy, |i| a.add(p * a_step + i));
                    }
                    left -= UNROLL;
                    a = a.add(UNROLL * a_step);
                    b = b.add(UNROLL * b_step);
                }
            }
            while left > 0 {
                step::<R, MODE, ROWS, VECTORS>(&mut sums, b, copy, |i| a.add(rows[i]));
                left -= 1;
                a = a.wrapping_add(a_step);
                b = b.wrapping_add(b_step);
                if MODE == COPYING {
                    copy = copy.add(VECTORS * R::LANES);
                }
            }
            store(tile, out, sums);
        }
    }
}

/// Adds the products of a column of `a`, whose elements are at `left`, and a row of `b`, which is copied if the mode says
/// so. Of the two the one of fewer registers stays in them while the other passes, so that there is room for both
/// beside the sums.
///
/// # Safety
/// As [`TileFn`].
#[inline(always)]
unsafe fn step<R: Register, const MODE: u8, const ROWS: usize, const VECTORS: usize>(
    sums: &mut [[R; VECTORS]; ROWS],
    b: *const R::Element,
    copy: *mut R::Element,
    left: impl Fn(usize) -> *const R::Element,
) {
    // SAFETY: the caller's.
    unsafe {
        let right = |j: usize| {
            let vector = R::load(b.add(j * R::LANES));
            if MODE == COPYING {
                vector.store(copy.add(j * R::LANES));
            }
            vector
        };
        if ROWS < VECTORS {
            let mut column = [R::zero(); ROWS];
            for (i, vector) in column.iter_mut().enumerate() {
                *vector = R::splat(left(i));
            }
            for j in 0..VECTORS {
                let right = right(j);
                for (sums, left) in sums.iter_mut().zip(column) {
                    sums[j] = left.mul_add(right, sums[j]);
                }
            }
        } else {
            let mut row = [R::zero(); VECTORS];
            for (j, vector) in row.iter_mut().enumerate() {
                *vector = right(j);
            }
            for (i, sums) in sums.iter_mut().enumerate() {
                let left = R::splat(left(i));
                for (sum, right) in sums.iter_mut().zip(row) {
                    *sum = left.mul_add(right, *sum);
                }
            }
        }
    }
}

/// # Safety
/// As [`TileFn`].
#[inline(always)]
unsafe fn store<R: Register, const ROWS: usize, const VECTORS: usize>(
    tile: &Tile<R::Element>,
    out: *mut R::Element,
    sums: [[R; VECTORS]; ROWS],
) {
    // SAFETY: the caller's; sums are as many elements as their vectors have.
    unsafe {
        if tile.columns < VECTORS * R::LANES {
            store_columns(tile, out, (&raw const sums).cast(), ROWS, VECTORS * R::LANES);
            return;
        }
        for (i, sums) in sums.iter().enumerate() {
            for (j, sum) in sums.iter().enumerate() {
                let out = out.add(i * tile.out_row + j * R::LANES);
                if tile.add { R::load(out).add(*sum).store(out) } else { sum.store(out) }
            }
        }
    }
}

/// Stores the columns that the result has, of rows of `width` sums.
///
/// # Safety
/// As [`TileFn`], for so many sums at `sums`.
#[cold]
#[inline(never)]
unsafe fn store_columns<T: Float>(tile: &Tile<T>, out: *mut T, sums: *const T, rows: usize, width: usize) {
    for i in 0..rows {
        for j in 0..tile.columns {
            // SAFETY: the caller's.
            unsafe {
                let (out, sum) = (out.add(i * tile.out_row + j), sums.add(i * width + j).read_unaligned());
                out.write_unaligned(if tile.add { out.read_unaligned() + sum } else { sum });
            }
        }
    }
}
