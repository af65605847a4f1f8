//! `Reflection`: Householder reflections of the rows and columns of a matrix.

use super::matrix::{Matrix, MatrixNumber};

/// The reflection `1 - tau v vᴴ`, which maps a given vector to a multiple of its first unit vector.
pub(super) struct Reflection<T> {
    tau: T,
    /// The vector `v`, whose first element is 1.
    vector: Vec<T>,
    /// The first element of the reflected vector.
    pub(super) image: T,
}

impl<T: MatrixNumber> Reflection<T> {
    /// Makes the reflection that maps `x` to a multiple of its first unit vector; `None` if `x` is such a multiple, and
    /// the factor is real.
    pub(super) fn of(x: &[T]) -> Option<Reflection<T>> {
        let (first, others) = x.split_first()?;
        let tail: f64 = others.iter().map(|x| x.magnitude().powi(2)).sum();
        if tail == 0.0 && *first == T::from_real(first.real()) {
            return None;
        }
        let norm = first.magnitude().hypot(tail.sqrt());
        let image = T::from_real(if first.real() >= 0.0 { -norm } else { norm });
        let mut vector = vec![T::one()];
        vector.extend(others.iter().map(|x| x.divide(*first - image)));
        let tau = (image - *first).divide(image).conj();
        Some(Reflection { tau, vector, image })
    }

    /// Replaces a matrix by the product of the reflection and the matrix. The reflection acts on rows `start..`, and on
    /// columns `columns` only.
    pub(super) fn rows(&self, a: &mut Matrix<T>, start: usize, columns: std::ops::Range<usize>) {
        for column in columns {
            let mut dot = T::zero();
            for (row, v) in self.vector.iter().enumerate() {
                dot += v.conj() * a[(start + row, column)];
            }
            for (row, v) in self.vector.iter().enumerate() {
                a[(start + row, column)] -= self.tau * *v * dot;
            }
        }
    }

    /// Replaces a matrix by the product of the matrix and the adjoint of the reflection. The reflection acts on columns
    /// `start..`, and on rows `rows` only.
    pub(super) fn columns(&self, a: &mut Matrix<T>, start: usize, rows: std::ops::Range<usize>) {
        for row in rows {
            let mut dot = T::zero();
            for (column, v) in self.vector.iter().enumerate() {
                dot += *v * a[(row, start + column)];
            }
            for (column, v) in self.vector.iter().enumerate() {
                a[(row, start + column)] -= self.tau.conj() * dot * v.conj();
            }
        }
    }
}
