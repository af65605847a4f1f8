//! [`StridedMatrix`]: a matrix in memory, with any strides.

/// The elements of a matrix: element `(i, j)` is at `start + i * row + j * column`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StridedMatrix<T> {
    pub start: *const T,
    /// The distance from a row to the next row, in elements.
    pub row: usize,
    /// The distance from a column to the next column, in elements.
    pub column: usize,
}

impl<T> StridedMatrix<T> {
    /// Returns the part of the matrix that starts at element `(row, column)`.
    ///
    /// # Safety
    /// The matrix has this element.
    pub(super) unsafe fn from(&self, row: usize, column: usize) -> StridedMatrix<T> {
        // SAFETY: the caller's promise.
        StridedMatrix { start: unsafe { self.start.add(row * self.row + column * self.column) }, ..*self }
    }
}
