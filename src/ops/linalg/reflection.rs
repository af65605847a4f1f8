//! `Reflection`: Householder reflections of the rows and columns of a matrix.

use std::ops::Range;

use smallvec::{SmallVec, smallvec};

use super::matrix::Matrix;
use super::number::MatrixNumber;
use super::vectors::{add_scaled, dot, inner_product, length, square_norm, subtract_scaled_rows};

/// A vector. Reflections of small matrices allocate no memory.
type Vector<T> = SmallVec<[T; 8]>;

/// The reflection `1 - tau v vᴴ`, which maps a given vector to a multiple of its first unit vector.
pub(super) struct Reflection<T> {
    pub(super) tau: T,
    /// The vector `v`, whose first element is 1.
    pub(super) vector: Vector<T>,
    /// The first element of the reflected vector.
    pub(super) image: T,
}

impl<T: MatrixNumber> Reflection<T> {
    /// Makes the reflection that maps `x` to a multiple of its first unit vector; `None` if `x` is such a multiple, and
    /// the factor is real.
    pub(super) fn of(x: &[T]) -> Option<Reflection<T>> {
        let (first, others) = x.split_first()?;
        let tail = norm(others);
        if tail == 0.0 && *first == T::from_real(first.real()) {
            return None;
        }
        let norm = length(first.magnitude(), tail);
        let image = T::from_real(if first.real() >= 0.0 { -norm } else { norm });
        let divisor = *first - image;
        let mut vector = Vector::with_capacity(x.len());
        vector.push(T::one());
        vector.extend(others.iter().map(|x| x.divide(divisor)));
        let tau = (image - *first).divide(image).conj();
        Some(Reflection { tau, vector, image })
    }

    /// Returns the inverse reflection.
    pub(super) fn adjoint(self) -> Reflection<T> {
        Reflection { tau: self.tau.conj(), ..self }
    }

    /// Reflects a vector.
    pub(super) fn apply(&self, x: &mut [T]) {
        let product = inner_product(&self.vector, x);
        add_scaled(x, -(self.tau * product), &self.vector);
    }

    /// Replaces a matrix by the product of the reflection and the matrix. The reflection acts on rows `start..`, and on
    /// columns `columns` only.
    pub(super) fn rows(&self, a: &mut Matrix<T>, start: usize, columns: Range<usize>) {
        if columns.is_empty() {
            return;
        }
        let stride = a.columns;
        let block = &mut a.data[start * stride + columns.start..];
        // The product `-vᴴ · a`.
        let mut products: Vector<T> = smallvec![T::zero(); columns.len()];
        let conjugates: Vector<T> = self.vector.iter().map(|v| v.conj()).collect();
        subtract_scaled_rows(&mut products, &conjugates, block, stride);
        for (v, row) in self.vector.iter().zip(block.chunks_mut(stride)) {
            add_scaled(&mut row[..columns.len()], self.tau * *v, &products);
        }
    }

    /// Replaces a matrix by the product of the matrix and the adjoint of the reflection. The reflection acts on columns
    /// `start..`, and on rows `rows` only.
    pub(super) fn columns(&self, a: &mut Matrix<T>, start: usize, rows: Range<usize>) {
        if let [_, b, c] = self.vector[..] {
            // Most reflections of the QR iteration are of three columns.
            for row in rows {
                if let Some([x, y, z]) = a.row_mut(row)[start..].first_chunk_mut() {
                    let product = self.tau.conj() * (*x + b * *y + c * *z);
                    *x -= product;
                    *y -= product * b.conj();
                    *z -= product * c.conj();
                }
            }
            return;
        }
        let conjugates: Vector<T> = self.vector.iter().map(|v| v.conj()).collect();
        for row in rows {
            let part = &mut a.row_mut(row)[start..start + conjugates.len()];
            let product = dot(&self.vector, part);
            add_scaled(part, -(self.tau.conj() * product), &conjugates);
        }
    }
}

/// Returns the Euclidean norm of a vector. No square of an element overflows, and only the square of a negligible
/// element underflows.
fn norm<T: MatrixNumber>(x: &[T]) -> f64 {
    let square = square_norm(x);
    // Squares in this range are as precise as the elements.
    if (1e-280..1e280).contains(&square) {
        return square.sqrt();
    }
    let largest = x.iter().map(|x| x.magnitude()).fold(0.0, f64::max);
    if largest == 0.0 {
        // The square is 0 or NaN.
        return square;
    }
    largest * x.iter().map(|x| x.over(largest).square_magnitude()).sum::<f64>().sqrt()
}
