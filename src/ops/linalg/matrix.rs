//! `Matrix`: the matrices that host ops compute with.

use std::ops::{Index, IndexMut, Range};

use super::number::MatrixNumber;
use super::vectors::{add_scaled, dot, subtract_scaled_rows};

/// A matrix, row by row.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Matrix<T> {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) data: Vec<T>,
}

impl<T> Index<(usize, usize)> for Matrix<T> {
    type Output = T;
    fn index(&self, (row, column): (usize, usize)) -> &T {
        &self.data[row * self.columns + column]
    }
}

impl<T> IndexMut<(usize, usize)> for Matrix<T> {
    fn index_mut(&mut self, (row, column): (usize, usize)) -> &mut T {
        &mut self.data[row * self.columns + column]
    }
}

impl<T: MatrixNumber> Matrix<T> {
    pub(super) fn from_fn(rows: usize, columns: usize, element: impl Fn(usize, usize) -> T) -> Matrix<T> {
        let mut data = Vec::with_capacity(rows * columns);
        for row in 0..rows {
            for column in 0..columns {
                data.push(element(row, column));
            }
        }
        Matrix { rows, columns, data }
    }

    pub(super) fn identity(size: usize) -> Matrix<T> {
        Matrix::from_fn(size, size, |row, column| if row == column { T::one() } else { T::zero() })
    }

    /// Returns the conjugate transpose.
    pub(super) fn adjoint(&self) -> Matrix<T> {
        Matrix::from_fn(self.columns, self.rows, |row, column| self[(column, row)].conj())
    }

    pub(super) fn times(&self, other: &Matrix<T>) -> Matrix<T> {
        let data = T::multiply([self.rows, self.columns, other.columns], &self.data, &other.data);
        Matrix { rows: self.rows, columns: other.columns, data }
    }

    /// Returns a block of the matrix.
    pub(super) fn block(&self, rows: Range<usize>, columns: Range<usize>) -> Matrix<T> {
        let mut data = Vec::with_capacity(rows.len() * columns.len());
        for row in rows.clone() {
            data.extend_from_slice(&self.row(row)[columns.clone()]);
        }
        Matrix { rows: rows.len(), columns: columns.len(), data }
    }

    /// Subtracts a matrix from the block whose first element is `(row, column)`.
    pub(super) fn subtract_block(&mut self, row: usize, column: usize, other: &Matrix<T>) {
        for i in 0..other.rows {
            for (x, y) in self.row_mut(row + i)[column..].iter_mut().zip(other.row(i)) {
                *x -= *y;
            }
        }
    }

    #[inline]
    pub(super) fn row(&self, row: usize) -> &[T] {
        &self.data[row * self.columns..][..self.columns]
    }

    #[inline]
    pub(super) fn row_mut(&mut self, row: usize) -> &mut [T] {
        &mut self.data[row * self.columns..][..self.columns]
    }

    /// Returns two different rows.
    pub(super) fn two_rows_mut(&mut self, a: usize, b: usize) -> (&mut [T], &mut [T]) {
        let columns = self.columns;
        let (above, below) = self.data.split_at_mut(a.max(b) * columns);
        let (upper, lower) = (&mut above[a.min(b) * columns..][..columns], &mut below[..columns]);
        if a < b { (upper, lower) } else { (lower, upper) }
    }

    /// Adds `factor · values` to a row.
    pub(super) fn add_scaled_row(&mut self, row: usize, factor: T, values: &[T]) {
        add_scaled(self.row_mut(row), factor, values);
    }

    /// Adds `factor` times row `from` to row `to`.
    pub(super) fn add_row(&mut self, to: usize, factor: T, from: usize) {
        let (to, from) = self.two_rows_mut(to, from);
        add_scaled(to, factor, from);
    }

    /// Subtracts `Σ factors[i] · row(first + i)` from another row.
    pub(super) fn subtract_rows(&mut self, row: usize, factors: &[T], first: usize) {
        if factors.is_empty() {
            return;
        }
        let columns = self.columns;
        let (above, rest) = self.data.split_at_mut(row * columns);
        let (to, below) = rest.split_at_mut(columns);
        let others =
            if first < row { &above[first * columns..] } else { &below[(first - row - 1) * columns..] };
        match to {
            [to] => *to -= dot(factors, &others[..factors.len()]),
            _ => subtract_scaled_rows(to, factors, others, columns),
        }
    }

    pub(super) fn swap_rows(&mut self, a: usize, b: usize) {
        if a != b {
            let (a, b) = self.two_rows_mut(a, b);
            a.swap_with_slice(b);
        }
    }
}

/// Returns a power of 2 near the largest magnitude of a matrix, or 1 for a matrix of zeros. Divided by it, no square of
/// an element overflows, and only the square of a negligible element underflows. The power is at least 2^-1000, whose
/// inverse is finite. Returns `None` if an element is not finite.
pub(super) fn scale_of<T: MatrixNumber>(a: &Matrix<T>) -> Option<f64> {
    if !a.data.iter().all(|x| x.magnitude().is_finite()) {
        return None;
    }
    let largest = a.data.iter().map(|x| x.magnitude()).fold(0.0, f64::max);
    Some(if largest > 0.0 { f64::powi(2.0, (largest.log2().floor() as i32).max(-1000)) } else { 1.0 })
}

/// Checks that two matrices are equal up to rounding.
#[cfg(test)]
#[track_caller]
pub(super) fn check_matrix<T: MatrixNumber + std::fmt::Debug>(got: &Matrix<T>, expected: &Matrix<T>) {
    assert_eq!((got.rows, got.columns), (expected.rows, expected.columns));
    let is_close = |(got, expected): (&T, &T)| (*got - *expected).magnitude() < 1e-12;
    assert!(got.data.iter().zip(&expected.data).all(is_close), "{got:?} is not {expected:?}");
}
