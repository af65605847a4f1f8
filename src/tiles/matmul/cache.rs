//! Bringing memory near before it is read.

/// Bytes of a cache line.
pub(super) const LINE: usize = 64;

/// Asks for the line at an address, which may be any.
#[inline(always)]
pub(super) fn prefetch<T>(at: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch reads nothing that the program can see, and fails nowhere.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = at;
}

/// A panel that is brought near while tiles are computed.
#[derive(Clone, Copy)]
pub(super) struct Ahead<T> {
    at: *const T,
    /// Rows that are left, and elements from one to the next.
    rows: usize,
    row: usize,
    /// Rows that are brought before a tile.
    each: usize,
    /// Elements that are passed in a turn of a tile's loop, and in all of it.
    turn: usize,
    tile: usize,
}

impl<T: Copy> Ahead<T> {
    /// Nothing: only what is near already.
    pub(super) fn none(at: *const T) -> Ahead<T> {
        Ahead { at, rows: 0, row: 0, each: 0, turn: 0, tile: 0 }
    }

    /// Rows that are apart, a share before each of so many tiles.
    pub(super) fn rows(at: *const T, row: usize, rows: usize, tiles: usize) -> Ahead<T> {
        Ahead { rows, row, each: rows.div_ceil(tiles.max(1)), ..Ahead::none(at) }
    }

    /// So many elements, line by line in so many tiles, whose loops have so many turns.
    pub(super) fn run(at: *const T, elements: usize, tiles: usize, turns: usize) -> Ahead<T> {
        let turn = elements.div_ceil((tiles * turns).max(1));
        Ahead { turn, tile: turn * turns, ..Ahead::none(at) }
    }

    /// What is left after so many tiles.
    pub(super) fn after(mut self, tiles: usize) -> Ahead<T> {
        self.skip((tiles * self.each).min(self.rows));
        self.at = self.at.wrapping_add(tiles * self.tile);
        self
    }

    fn skip(&mut self, rows: usize) {
        self.at = self.at.wrapping_add(rows * self.row);
        self.rows -= rows;
    }

    /// Brings what comes before a tile: rows of `width` elements.
    #[inline(always)]
    pub(super) fn before(&mut self, width: usize) {
        for _ in 0..self.each.min(self.rows) {
            for line in (0..width).step_by(LINE / size_of::<T>()) {
                prefetch(self.at.wrapping_add(line));
            }
            // A row may begin within a line.
            prefetch(self.at.wrapping_add(width - 1));
            self.skip(1);
        }
    }

    /// Brings what comes in a turn.
    #[inline(always)]
    pub(super) fn within(&mut self) {
        prefetch(self.at);
        self.at = self.at.wrapping_add(self.turn);
    }
}
