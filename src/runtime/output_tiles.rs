//! [`OutputTile`]: a part of the result of a matmul, which one thread computes.

use std::ops::Range;

/// The first column of a tile is a multiple of this number, so that a tile starts where packed columns start and on a
/// cache line.
const COLUMN_ALIGNMENT: usize = 64;

/// The number of multiplications for each thread above which every thread gets two tiles, because threads may differ in
/// speed.
const LONG_TILE: usize = 1 << 30;

/// No matrix is cut if there are at least this number of matrices for each thread.
const MATRICES_PER_THREAD: usize = 4;

/// A rectangle of one matrix of the result.
pub(super) struct OutputTile {
    /// Index in the batch.
    pub batch_index: usize,
    pub rows: Range<usize>,
    pub columns: Range<usize>,
}

/// The sizes of a batched matmul.
#[derive(Clone, Copy)]
pub(super) struct MatMulSizes {
    /// The number of matmuls of the batch.
    pub batch: usize,
    /// The number of rows of a matrix of the result.
    pub m: usize,
    /// The number of products that an element of the result sums.
    pub k: usize,
    /// The number of columns of a matrix of the result.
    pub n: usize,
}

impl MatMulSizes {
    /// Cuts the result into tiles for `threads` threads. The elements do not depend on the cut: one tile sums over all
    /// of `k` for each of its elements.
    pub(super) fn tiles(self, threads: usize) -> Vec<OutputTile> {
        let (rows, columns) = self.tile_size(threads);
        let cut = |size: usize, max: usize| {
            (0..size).step_by(max).map(move |start| start..size.min(start.saturating_add(max)))
        };
        let mut tiles = Vec::new();
        for batch_index in 0..self.batch {
            for rows in cut(self.m, rows) {
                let tile = |columns| OutputTile { batch_index, rows: rows.clone(), columns };
                tiles.extend(cut(self.n, columns).map(tile));
            }
        }
        tiles
    }

    /// Returns the maximum numbers of rows and columns of a tile. A thread packs the operands of its tile by itself, so
    /// few large tiles are faster than many small ones, and nearly square tiles are faster than long ones.
    fn tile_size(self, threads: usize) -> (usize, usize) {
        let MatMulSizes { m, k, n, .. } = self;
        if self.batch / MATRICES_PER_THREAD >= threads {
            return (m, n);
        }
        let is_long = m.saturating_mul(n).saturating_mul(k) / threads > LONG_TILE;
        let tiles = if is_long { 2 * threads } else { threads };
        let sizes = (1..=tiles).map(|across| {
            (m.div_ceil(tiles.div_ceil(across)), n.div_ceil(across).next_multiple_of(COLUMN_ALIGNMENT).min(n))
        });
        let best = sizes.min_by_key(|(rows, columns)| rows.saturating_add(*columns));
        best.expect("a pool has at least one thread")
    }

    /// Returns one tile for each matrix.
    pub(super) fn whole_matrices(self) -> impl Iterator<Item = OutputTile> {
        let indices = 0..self.batch;
        indices.map(move |batch_index| OutputTile { batch_index, rows: 0..self.m, columns: 0..self.n })
    }
}
