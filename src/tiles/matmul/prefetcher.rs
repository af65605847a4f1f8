//! [`Prefetcher`]: prefetches the next panel while tiles of the present one are computed.

use crate::tiles::cpu::CACHE_LINE;
use crate::tiles::prefetch::prefetch_line;

/// A panel that is prefetched piece by piece while tiles are computed: as rows, some before each tile, or as contiguous
/// elements, some in each iteration of a tile's loop.
#[derive(Clone, Copy)]
pub(super) struct Prefetcher<T> {
    /// The address that is prefetched next.
    next: *const T,
    /// Rows that remain.
    rows: usize,
    /// Elements from a row to the next.
    row_stride: usize,
    /// Rows to prefetch before each tile.
    rows_per_tile: usize,
    /// Elements to prefetch in each iteration of a tile's loop.
    per_iteration: usize,
    /// Elements to prefetch in all iterations of a tile's loop.
    per_tile: usize,
}

impl<T: Copy> Prefetcher<T> {
    /// Returns a prefetcher that only touches `address` again, which is in the cache already.
    pub(super) fn none(address: *const T) -> Prefetcher<T> {
        Prefetcher { next: address, rows: 0, row_stride: 0, rows_per_tile: 0, per_iteration: 0, per_tile: 0 }
    }

    /// Prefetches `rows` rows, an equal share before each of `tiles` tiles.
    pub(super) fn rows(start: *const T, row_stride: usize, rows: usize, tiles: usize) -> Prefetcher<T> {
        let rows_per_tile = rows.div_ceil(tiles.max(1));
        Prefetcher { rows, row_stride, rows_per_tile, ..Prefetcher::none(start) }
    }

    /// Prefetches `len` contiguous elements, an equal share in each of the `iterations` of each of `tiles` tiles.
    pub(super) fn contiguous(start: *const T, len: usize, tiles: usize, iterations: usize) -> Prefetcher<T> {
        let per_iteration = len.div_ceil((tiles * iterations).max(1));
        Prefetcher { per_iteration, per_tile: per_iteration * iterations, ..Prefetcher::none(start) }
    }

    /// Returns the state of the prefetcher after `tiles` tiles.
    pub(super) fn after(mut self, tiles: usize) -> Prefetcher<T> {
        self.skip_rows((tiles * self.rows_per_tile).min(self.rows));
        self.next = self.next.wrapping_add(tiles * self.per_tile);
        self
    }

    fn skip_rows(&mut self, rows: usize) {
        self.next = self.next.wrapping_add(rows * self.row_stride);
        self.rows -= rows;
    }

    /// Prefetches the rows that are due before a tile. Each row has `width` elements.
    #[inline(always)]
    pub(super) fn before_tile(&mut self, width: usize) {
        for _ in 0..self.rows_per_tile.min(self.rows) {
            for offset in (0..width).step_by(CACHE_LINE / size_of::<T>()) {
                prefetch_line(self.next.wrapping_add(offset));
            }
            // A row that starts inside a cache line ends in one line more.
            prefetch_line(self.next.wrapping_add(width - 1));
            self.skip_rows(1);
        }
    }

    /// Prefetches the elements that are due in an iteration of a tile's loop.
    #[inline(always)]
    pub(super) fn in_iteration(&mut self) {
        prefetch_line(self.next);
        self.next = self.next.wrapping_add(self.per_iteration);
    }
}
