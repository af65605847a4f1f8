//! [`PackedMatrix`]: a right operand that was packed once, for many matmuls.

use super::blocks::{depth_blocks, parts};
use super::kernel::{Float, TileFunctions};
use super::pack::{UnpackedPanel, pack};
use super::strided::StridedMatrix;
use crate::tiles::cpu::CACHE_LINE;

/// The columns of a packed matrix from `column` on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PackedMatrix<T> {
    start: *const T,
    /// The number of columns of the whole matrix, rounded up to whole panels.
    width: usize,
    /// The index of the first column in the whole matrix.
    column: usize,
}

impl<T: Float> PackedMatrix<T> {
    /// Returns how many elements a packed matrix of `k` rows and `n` columns takes; `usize::MAX` if the number
    /// overflows. The elements fill whole cache lines.
    pub(crate) fn packed_len(k: usize, n: usize) -> usize {
        PackedMatrix::packed_len_for(T::kernel(), k, n)
    }

    pub(super) fn packed_len_for(kernel: &'static TileFunctions<T>, k: usize, n: usize) -> usize {
        let len = k.saturating_mul(n.saturating_add(kernel.panel()));
        len.checked_next_multiple_of(CACHE_LINE).unwrap_or(usize::MAX)
    }

    /// Returns the matrix of `n` columns that [`PackedMatrix::pack`] wrote at `start`.
    pub(crate) fn new(start: *const T, n: usize) -> PackedMatrix<T> {
        PackedMatrix::new_for(T::kernel(), start, n)
    }

    pub(super) fn new_for(kernel: &'static TileFunctions<T>, start: *const T, n: usize) -> PackedMatrix<T> {
        PackedMatrix { start, width: n.next_multiple_of(kernel.panel()), column: 0 }
    }

    /// Packs a matrix of `k` rows and `n` columns. `run` is the number of columns of the left operand that are evenly
    /// spaced in memory. It determines the blocks of rows, see [`depth_blocks`].
    ///
    /// # Safety
    /// The matrix is readable, with all memory between its elements. [`PackedMatrix::packed_len`] elements are writable
    /// at `to` and do not overlap the matrix.
    pub(crate) unsafe fn pack(to: *mut T, b: &StridedMatrix<T>, [k, n]: [usize; 2], run: usize) {
        // SAFETY: the caller's promise.
        unsafe { PackedMatrix::pack_for(T::kernel(), to, b, [k, n], run) }
    }

    /// Packs a matrix for a given kernel.
    ///
    /// # Safety
    /// As [`PackedMatrix::pack`].
    pub(super) unsafe fn pack_for(
        kernel: &'static TileFunctions<T>,
        to: *mut T,
        b: &StridedMatrix<T>,
        [k, n]: [usize; 2],
        run: usize,
    ) {
        let packed = PackedMatrix::new_for(kernel, to, n);
        for (step, depth) in depth_blocks(k, run) {
            for (column, columns) in parts(n, kernel.panel()) {
                // SAFETY: the caller's promise. Panels lie one after the other; a narrow panel takes the memory of a
                // full one.
                unsafe {
                    let start = b.from(step, column).start;
                    let panel =
                        UnpackedPanel { start, along: b.row, across: b.column, depth, count: columns };
                    let to = to.add(packed.offset(step, depth, column));
                    pack(to, columns.next_multiple_of(kernel.lanes), &panel);
                }
            }
        }
    }

    /// Returns the part of the matrix that starts at `column`, which must be the first column of a panel.
    pub(crate) fn from(self, column: usize) -> PackedMatrix<T> {
        PackedMatrix { column: self.column + column, ..self }
    }

    /// Returns the address of the panels from `column` on, in the block of `depth` steps that starts at `step`.
    pub(super) fn block(&self, step: usize, depth: usize, column: usize) -> *const T {
        self.start.wrapping_add(self.offset(step, depth, self.column + column))
    }

    fn offset(&self, step: usize, depth: usize, column: usize) -> usize {
        step * self.width + column * depth
    }
}
