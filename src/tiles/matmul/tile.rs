//! [`Tile`]: a part of a result whose sums stay in registers while both operands are read.

use std::hint::black_box;
use std::ops::Add;

use super::prefetcher::Prefetcher;
use super::register::Register;
use crate::tiles::prefetch::prefetch_line;

/// Tiles of a result, one below the other: `out = a · b` or `out += a · b`. The [`TileFn`] determines the number of
/// rows of a tile, and the number of vectors per row.
pub(super) struct Tile<T> {
    /// The number of tiles.
    pub count: usize,
    /// The number of terms in the sum of an element.
    pub depth: usize,
    /// Element `(i, p)` of the first tile is at `a_rows[i] + p * a_step`. `a_rows[0]` is 0.
    pub a: *const T,
    pub a_rows: [usize; MAX_ROWS],
    pub a_step: usize,
    /// The distance from the rows of one tile to the rows of the next tile, in elements of `a`.
    pub a_next: usize,
    /// Element `(p, j)` is at `p * b_step + j`.
    pub b: *const T,
    pub b_step: usize,
    /// A [`COPYING`] function writes the rows of `b` here, without gaps.
    pub copy: *mut T,
    /// Element `(i, j)` is at `i * out_row + j`.
    pub out: *mut T,
    pub out_row: usize,
    /// The number of columns to store. The last column lies in the last vector of a row.
    pub columns: usize,
    /// Whether the sums are added to `out`. If not, the sums overwrite `out`.
    pub add: bool,
    /// Prefetches the next panel while these tiles are computed.
    pub prefetcher: Prefetcher<T>,
}

/// A function that computes tiles.
///
/// Every element is the sum of its terms in their order. So an element depends neither on the rows and columns around
/// the element nor on the function that computes it.
///
/// # Safety
/// The processor has the function's instructions. The operands that `tile` names are readable, including whole vectors
/// of `b`. `out` and `copy` are writable, and overlap neither each other nor the operands.
pub(super) type TileFn<T> = unsafe fn(&Tile<T>);

/// Both operands are packed: each step reads the elements that follow the elements of the previous step.
pub(super) const PACKED: u8 = 0;
/// The operands have the tile's strides.
pub(super) const STRIDED: u8 = 1;
/// As [`STRIDED`], and `b` is packed into `copy` while it is read.
pub(super) const COPYING: u8 = 2;

/// The maximum number of rows of a tile.
pub(super) const MAX_ROWS: usize = 6;

/// Steps in one iteration of a packed tile's loop.
pub(super) const UNROLL: usize = 4;

/// Computes tiles of `ROWS` rows and `VECTORS` vectors per row, in [`PACKED`], [`STRIDED`], or [`COPYING`] mode.
///
/// # Safety
/// As [`TileFn`].
#[inline(always)]
pub(super) unsafe fn compute<R: Register, const MODE: u8, const ROWS: usize, const VECTORS: usize>(
    tile: &Tile<R::Element>,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let packed = MODE == PACKED;
        let (a_step, b_step) = if packed { (ROWS, VECTORS * R::LANES) } else { (tile.a_step, tile.b_step) };
        // Each strided row has its own offset in a register. `black_box` keeps the compiler from computing one offset
        // from another, which would make a chain of `ROWS` additions in each step.
        let mut rows = [0; ROWS];
        for (i, row) in rows.iter_mut().enumerate() {
            *row = if packed || i == 0 { i } else { black_box(tile.a_rows[i]) };
        }
        let mut prefetcher = tile.prefetcher;
        for index in 0..tile.count {
            let out = tile.out.add(index * ROWS * tile.out_row);
            for i in 0..ROWS {
                // The result is accessed only once after many steps, so hardware does not prefetch it in time.
                let out = out.wrapping_add(i * tile.out_row);
                prefetch_line(out);
                prefetch_line(out.wrapping_add(VECTORS * R::LANES - 1));
            }
            prefetcher.before_tile(VECTORS * R::LANES);
            let mut sums = [[R::zero(); VECTORS]; ROWS];
            let (mut remaining, mut a, mut b) = (tile.depth, tile.a.add(index * tile.a_next), tile.b);
            let mut copy = tile.copy;
            if const { MODE == PACKED } {
                while remaining >= UNROLL {
                    prefetcher.in_iteration();
                    for p in 0..UNROLL {
                        let b = b.add(p * b_step);
                        step::<R, MODE, ROWS, VECTORS>(&mut sums, b, copy, |i| a.add(p * a_step + i));
                    }
                    remaining -= UNROLL;
                    a = a.add(UNROLL * a_step);
                    b = b.add(UNROLL * b_step);
                }
            }
            while remaining > 0 {
                step::<R, MODE, ROWS, VECTORS>(&mut sums, b, copy, |i| a.wrapping_add(rows[i]));
                remaining -= 1;
                a = a.wrapping_add(a_step);
                b = b.wrapping_add(b_step);
                if const { MODE == COPYING } {
                    copy = copy.add(VECTORS * R::LANES);
                }
            }
            store(tile, out, sums);
        }
    }
}

/// Adds the outer product of a column of `a`, whose element `i` is at `left(i)`, and a row of `b` to the sums. In
/// [`COPYING`] mode it also copies the row.
///
/// The operand that takes fewer registers is loaded whole, and the other operand one vector at a time. So both operands
/// fit into the registers that the sums leave free.
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
    // SAFETY: the caller's promise.
    unsafe {
        let right = |j: usize| {
            let vector = R::load(b.add(j * R::LANES));
            if const { MODE == COPYING } {
                vector.store(copy.add(j * R::LANES));
            }
            vector
        };
        if const { ROWS < VECTORS } {
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

/// Stores the sums of a tile, or adds them to `out`.
///
/// # Safety
/// As [`TileFn`].
#[inline(always)]
unsafe fn store<R: Register, const ROWS: usize, const VECTORS: usize>(
    tile: &Tile<R::Element>,
    out: *mut R::Element,
    sums: [[R; VECTORS]; ROWS],
) {
    // SAFETY: the caller's promise; `sums` has `ROWS * VECTORS * LANES` elements.
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

/// Stores the first `tile.columns` columns of the sums, whose rows have `width` elements.
///
/// # Safety
/// As [`TileFn`]; `rows * width` sums are readable at `sums`.
#[cold]
#[inline(never)]
unsafe fn store_columns<T: Copy + Add<Output = T>>(
    tile: &Tile<T>,
    out: *mut T,
    sums: *const T,
    rows: usize,
    width: usize,
) {
    for i in 0..rows {
        for j in 0..tile.columns {
            // SAFETY: the caller's promise.
            unsafe {
                let (out, sum) = (out.add(i * tile.out_row + j), sums.add(i * width + j).read_unaligned());
                out.write_unaligned(if tile.add { out.read_unaligned() + sum } else { sum });
            }
        }
    }
}
