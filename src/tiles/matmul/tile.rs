//! [`Tile`]: a part of a result whose sums stay in registers while both operands are read.

use std::hint::black_box;

use super::prefetcher::Prefetcher;
use super::register::Register;
use crate::tiles::prefetch::prefetch_line;

/// Tiles of a result, one below the other: `out = a · b` or `out += a · b`. The [`TileFn`] determines the number of
/// rows of a tile, and the number of vectors per row.
///
/// A run is terms of a sum whose left factors are `a_step` elements apart. It has `a_run` terms. In row `i` of the
/// first tile, the left factor of term `s` of run `r` is at `a + a_rows[i] + a_runs[r] + s * a_step`.
pub(super) struct Tile<'a, T> {
    /// The number of tiles.
    pub count: usize,
    pub a: *const T,
    /// The distance of each row of a tile from its first row.
    pub a_rows: [usize; MAX_ROWS],
    /// The distance of each run from the first. A packed left operand has one run.
    pub a_runs: &'a [usize],
    pub a_run: usize,
    pub a_step: usize,
    /// The distance from the rows of one tile to the rows of the next tile, in elements of `a`.
    pub a_next: usize,
    /// The right factor of term `p` in column `j` is at `b + p * b_step + j`.
    pub b: *const T,
    pub b_step: usize,
    /// A [`COPYING`] function writes the rows of `b` here, without gaps.
    pub copy: *mut T,
    /// Element `(i, j)` is at `i * out_row + j`.
    pub out: *mut T,
    pub out_row: usize,
    /// The number of columns to store. Only the last vector of a row may be partial.
    pub columns: usize,
    /// Whether the sums are added to `out`. If not, the sums overwrite `out`.
    pub add: bool,
    /// Prefetches the next panel while these tiles are computed.
    pub prefetcher: Prefetcher<T>,
}

/// A function that computes tiles.
///
/// Each sum adds its terms in their order. So all functions of a kernel compute the same element, whatever rows and
/// columns are around it.
///
/// # Safety
/// The processor has the function's instructions. The operands that `tile` names are readable, including whole vectors
/// of `b`. `out` and `copy` are writable, and overlap neither each other nor the operands.
pub(super) type TileFn<T> = unsafe fn(&Tile<'_, T>);

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
    tile: &Tile<'_, R::Element>,
) {
    // SAFETY: the caller's promise.
    unsafe {
        // The offset of each strided row stays in a register. Without `black_box`, each step would have a chain of
        // `ROWS` additions: `address of row i = address of row (i - 1) + stride`.
        let mut rows = [0; ROWS];
        for (i, row) in rows.iter_mut().enumerate() {
            *row = if MODE == PACKED || i == 0 { i } else { black_box(tile.a_rows[i]) };
        }
        let mut prefetcher = tile.prefetcher;
        let mut index = 0;
        // A tile of one vector has too few independent sums to hide the latency of additions, so two run at once. A
        // `COPYING` call has one tile.
        if const { VECTORS == 1 && MODE != COPYING } {
            while index + 2 <= tile.count {
                adjacent_tiles::<R, MODE, ROWS, VECTORS, 2>(tile, index, &rows, &mut prefetcher);
                index += 2;
            }
        }
        while index < tile.count {
            adjacent_tiles::<R, MODE, ROWS, VECTORS, 1>(tile, index, &rows, &mut prefetcher);
            index += 1;
        }
    }
}

/// Computes `TILES` tiles at once, from tile `index` on. `rows` are the offsets of the rows of a tile.
///
/// # Safety
/// As [`TileFn`].
#[inline(always)]
unsafe fn adjacent_tiles<
    R: Register,
    const MODE: u8,
    const ROWS: usize,
    const VECTORS: usize,
    const TILES: usize,
>(
    tile: &Tile<'_, R::Element>,
    index: usize,
    rows: &[usize; ROWS],
    prefetcher: &mut Prefetcher<R::Element>,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let packed = MODE == PACKED;
        let (a_step, b_step) = if packed { (ROWS, VECTORS * R::LANES) } else { (tile.a_step, tile.b_step) };
        // These are loops because `std::array::from_fn` and `map` are not always inlined.
        let mut outs = [tile.out.wrapping_add(index * ROWS * tile.out_row); TILES];
        for (number, out) in outs.iter_mut().enumerate() {
            *out = out.wrapping_add(number * ROWS * tile.out_row);
        }
        for out in outs {
            for i in 0..ROWS {
                // The tile accesses the result only at its end, so hardware does not prefetch the result in time.
                let out = out.wrapping_add(i * tile.out_row);
                prefetch_line(out);
                prefetch_line(out.wrapping_add(VECTORS * R::LANES - 1));
            }
            prefetcher.before_tile(VECTORS * R::LANES);
        }
        let mut sums = [[[R::zero(); VECTORS]; ROWS]; TILES];
        let (first, mut b, mut copy) = (tile.a.add(index * tile.a_next), tile.b, tile.copy);
        for run in tile.a_runs {
            let mut remaining = tile.a_run;
            let mut a = [first.wrapping_add(*run); TILES];
            for (number, a) in a.iter_mut().enumerate() {
                // All tiles share the offsets of rows. Without `black_box`, the compiler would keep a pointer for each
                // row of each tile, and run out of registers.
                *a = black_box(a.wrapping_add(number.wrapping_mul(tile.a_next)));
            }
            if const { MODE == PACKED } {
                while remaining >= UNROLL {
                    prefetcher.in_iteration();
                    for p in 0..UNROLL {
                        let left = |number: usize, i: usize| a[number].add(p * a_step + i);
                        step::<R, MODE, ROWS, VECTORS, TILES>(&mut sums, b.add(p * b_step), copy, left);
                    }
                    remaining -= UNROLL;
                    for a in &mut a {
                        *a = a.add(UNROLL * a_step);
                    }
                    b = b.add(UNROLL * b_step);
                }
            }
            while remaining > 0 {
                let left = |number: usize, i: usize| a[number].wrapping_add(rows[i]);
                step::<R, MODE, ROWS, VECTORS, TILES>(&mut sums, b, copy, left);
                remaining -= 1;
                for a in &mut a {
                    *a = a.wrapping_add(a_step);
                }
                b = b.wrapping_add(b_step);
                if const { MODE == COPYING } {
                    copy = copy.add(VECTORS * R::LANES);
                }
            }
        }
        for (number, sums) in sums.iter().enumerate() {
            store(tile, outs[number], sums);
        }
    }
}

/// Adds one term to each sum: the left factor of row `i` of tile `t`, at `left(t, i)`, times the row of `b`. In
/// [`COPYING`] mode it also copies the row.
///
/// The operand that takes fewer registers is loaded whole. The other is loaded one vector at a time. So both fit into
/// the registers that the sums leave free.
///
/// # Safety
/// As [`TileFn`].
#[inline(always)]
unsafe fn step<R: Register, const MODE: u8, const ROWS: usize, const VECTORS: usize, const TILES: usize>(
    sums: &mut [[[R; VECTORS]; ROWS]; TILES],
    b: *const R::Element,
    copy: *mut R::Element,
    left: impl Fn(usize, usize) -> *const R::Element,
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
        if const { TILES * ROWS < VECTORS } {
            let mut columns = [[R::zero(); ROWS]; TILES];
            for (number, column) in columns.iter_mut().enumerate() {
                for (i, vector) in column.iter_mut().enumerate() {
                    *vector = R::splat(left(number, i));
                }
            }
            for j in 0..VECTORS {
                let right = right(j);
                for (sums, column) in sums.iter_mut().zip(columns) {
                    for (sums, left) in sums.iter_mut().zip(column) {
                        sums[j] = left.mul_add(right, sums[j]);
                    }
                }
            }
        } else {
            let mut row = [R::zero(); VECTORS];
            for (j, vector) in row.iter_mut().enumerate() {
                *vector = right(j);
            }
            for (number, sums) in sums.iter_mut().enumerate() {
                for (i, sums) in sums.iter_mut().enumerate() {
                    let left = R::splat(left(number, i));
                    for (sum, right) in sums.iter_mut().zip(row) {
                        *sum = left.mul_add(right, *sum);
                    }
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
    tile: &Tile<'_, R::Element>,
    out: *mut R::Element,
    sums: &[[R; VECTORS]; ROWS],
) {
    // SAFETY: the caller's promise; `sums` has `ROWS * VECTORS * LANES` elements.
    unsafe {
        let last = tile.columns - (VECTORS - 1) * R::LANES;
        let is_whole = last >= R::LANES;
        for (i, sums) in sums.iter().enumerate() {
            for (j, sum) in sums.iter().enumerate() {
                let out = out.add(i * tile.out_row + j * R::LANES);
                match (is_whole || j + 1 < VECTORS, tile.add) {
                    (true, false) => sum.store(out),
                    (true, true) => R::load(out).add(*sum).store(out),
                    (false, false) => sum.store_first(out, last),
                    (false, true) => R::load_first(out, last).add(*sum).store_first(out, last),
                }
            }
        }
    }
}
