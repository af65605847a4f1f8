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

/// Rows of a panel that are brought near, so many at a time.
#[derive(Clone, Copy)]
pub(super) struct Ahead<T> {
    at: *const T,
    row: usize,
    rows: usize,
    /// Rows that are brought at a time.
    each: usize,
}

impl<T: Copy> Ahead<T> {
    /// Rows of a panel, `row` apart, in so many shares.
    pub(super) fn new(at: *const T, row: usize, rows: usize, shares: usize) -> Ahead<T> {
        Ahead { at, row, rows, each: rows.div_ceil(shares.max(1)) }
    }

    /// Nothing.
    pub(super) fn none() -> Ahead<T> {
        Ahead::new(std::ptr::null(), 0, 0, 0)
    }

    /// What follows so many shares.
    pub(super) fn after(mut self, shares: usize) -> Ahead<T> {
        self.skip((shares * self.each).min(self.rows));
        self
    }

    fn skip(&mut self, rows: usize) {
        self.at = self.at.wrapping_add(rows * self.row);
        self.rows -= rows;
    }

    /// Brings the next share, rows of `width` elements, which is a constant to the compiler.
    #[inline(always)]
    pub(super) fn bring(&mut self, width: usize) {
        for _ in 0..self.each.min(self.rows) {
            for line in (0..width).step_by(LINE / size_of::<T>()) {
                prefetch(self.at.wrapping_add(line));
            }
            // A row may begin within a line.
            prefetch(self.at.wrapping_add(width - 1));
            self.skip(1);
        }
    }
}
