//! `eigen` and `singular`: eigenvalues and singular values by Jacobi rotations.

use super::matrix::{Matrix, MatrixNumber};

/// The number of sweeps after which the rotations end, converged or not. A sweep squares the distance from convergence,
/// so that a dozen is enough.
const MOST_SWEEPS: usize = 60;

/// A rotation of two columns that makes a Hermitian matrix `[[a, c], [conj c, b]]` diagonal: with the phase `p`, the
/// new columns are `cos · x - sin · conj(p) · y` and `sin · p · x + cos · y`.
struct Rotation<T> {
    cos: T,
    sin: T,
    phase: T,
}

impl<T: MatrixNumber> Rotation<T> {
    fn new(a: f64, b: f64, c: T) -> Rotation<T> {
        let magnitude = c.magnitude();
        let ratio = (b - a) / (2.0 * magnitude);
        let tangent = ratio.signum() / (ratio.abs() + ratio.hypot(1.0));
        let cos = 1.0 / tangent.hypot(1.0);
        let phase = c.over(magnitude);
        Rotation { cos: T::from_real(cos), sin: T::from_real(cos * tangent), phase }
    }

    /// Rotates columns `p` and `q`.
    fn columns(&self, a: &mut Matrix<T>, p: usize, q: usize) {
        for row in 0..a.rows {
            let (x, y) = (a[(row, p)], a[(row, q)]);
            a[(row, p)] = self.cos * x - self.sin * self.phase.conj() * y;
            a[(row, q)] = self.sin * self.phase * x + self.cos * y;
        }
    }

    /// Rotates rows `p` and `q` by the conjugate.
    fn rows(&self, a: &mut Matrix<T>, p: usize, q: usize) {
        for column in 0..a.columns {
            let (x, y) = (a[(p, column)], a[(q, column)]);
            a[(p, column)] = self.cos * x - self.sin * self.phase * y;
            a[(q, column)] = self.sin * self.phase.conj() * x + self.cos * y;
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

/// Returns the eigenvalues of a Hermitian matrix in ascending order, and eigenvectors as columns. The function
/// reads the lower triangle. Returns `None` if an element is not finite.
pub(super) fn eigen<T: MatrixNumber>(a: &Matrix<T>) -> Option<(Vec<f64>, Matrix<T>)> {
    let size = a.rows;
    let h = Matrix::from_fn(size, size, |row, column| match row.cmp(&column) {
        std::cmp::Ordering::Less => a[(column, row)].conj(),
        std::cmp::Ordering::Equal => T::from_real(a[(row, row)].real()),
        std::cmp::Ordering::Greater => a[(row, column)],
    });
    let unit = scale_of(&h)?;
    let mut h = Matrix::from_fn(size, size, |row, column| h[(row, column)].over(unit));
    let mut vectors = Matrix::identity(size);
    let scale = h.data.iter().map(|x| x.magnitude()).fold(0.0, f64::max);
    for _ in 0..MOST_SWEEPS {
        let mut has_rotated = false;
        for p in 0..size {
            for q in p + 1..size {
                let c = h[(p, q)];
                if c.magnitude() <= f64::EPSILON * 1e-2 * scale {
                    continue;
                }
                has_rotated = true;
                let rotation = Rotation::new(h[(p, p)].real(), h[(q, q)].real(), c);
                rotation.columns(&mut h, p, q);
                rotation.rows(&mut h, p, q);
                (h[(p, q)], h[(q, p)]) = (T::zero(), T::zero());
                rotation.columns(&mut vectors, p, q);
            }
        }
        if !has_rotated {
            break;
        }
    }
    let values: Vec<f64> = (0..size).map(|i| h[(i, i)].real()).collect();
    let mut order: Vec<usize> = (0..size).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let sorted = Matrix::from_fn(size, size, |row, column| vectors[(row, order[column])]);
    Some((order.iter().map(|i| values[*i] * unit).collect(), sorted))
}

/// Returns the singular values of a matrix in descending order, and the factors `u` and `v`, square if `is_full`. All
/// are NaN if an element of the matrix is not finite.
pub(super) fn singular<T: MatrixNumber>(a: &Matrix<T>, is_full: bool) -> (Vec<f64>, Matrix<T>, Matrix<T>) {
    if a.rows < a.columns {
        let (s, v, u) = singular(&a.adjoint(), is_full);
        return (s, u, v);
    }
    let (rows, columns) = (a.rows, a.columns);
    let Some(scale) = scale_of(a) else {
        let nan = |rows, columns| Matrix::from_fn(rows, columns, |_, _| T::from_real(f64::NAN));
        return (
            vec![f64::NAN; columns],
            nan(rows, if is_full { rows } else { columns }),
            nan(columns, columns),
        );
    };
    // Rotations make the columns of the product a · v orthogonal.
    let mut product = Matrix::from_fn(rows, columns, |row, column| a[(row, column)].over(scale));
    let mut v = Matrix::identity(columns);
    let square: f64 = product.data.iter().map(|x| x.magnitude().powi(2)).sum();
    // Smaller columns are only rounding errors.
    let negligible = square * f64::EPSILON.powi(2) * 1e-4;
    for _ in 0..MOST_SWEEPS {
        let mut has_rotated = false;
        for p in 0..columns {
            for q in p + 1..columns {
                let (mut a, mut b, mut c) = (0.0, 0.0, T::zero());
                for row in 0..rows {
                    let (x, y) = (product[(row, p)], product[(row, q)]);
                    a += x.magnitude().powi(2);
                    b += y.magnitude().powi(2);
                    c += x.conj() * y;
                }
                let smallest = 8.0 * f64::EPSILON * (a * b).sqrt();
                if c.magnitude() <= smallest || a.min(b) <= negligible {
                    continue;
                }
                has_rotated = true;
                let rotation = Rotation::new(a, b, c);
                rotation.columns(&mut product, p, q);
                rotation.columns(&mut v, p, q);
            }
        }
        if !has_rotated {
            break;
        }
    }
    let norm =
        |column: usize| (0..rows).map(|row| product[(row, column)].magnitude().powi(2)).sum::<f64>().sqrt();
    let norms: Vec<f64> = (0..columns).map(norm).collect();
    let mut order: Vec<usize> = (0..columns).collect();
    order.sort_by(|a, b| norms[*b].total_cmp(&norms[*a]));
    let values: Vec<f64> = order.iter().map(|column| norms[*column]).collect();
    // A column that is only rounding errors has no direction.
    let least = values.first().map_or(0.0, |largest| largest * f64::EPSILON * rows as f64);
    let known: Vec<Vec<T>> = order
        .iter()
        .filter(|column| norms[**column] > least)
        .map(|column| (0..rows).map(|row| product[(row, *column)].over(norms[*column])).collect())
        .collect();
    let u = completed(known, rows, if is_full { rows } else { columns });
    let values = values.into_iter().map(|value| value * scale).collect();
    (values, u, Matrix::from_fn(columns, columns, |row, column| v[(row, order[column])]))
}

/// Extends orthonormal columns to `count` orthonormal columns of `rows` elements.
fn completed<T: MatrixNumber>(mut columns: Vec<Vec<T>>, rows: usize, count: usize) -> Matrix<T> {
    for unit in 0..rows {
        if columns.len() == count {
            break;
        }
        let mut candidate: Vec<T> =
            (0..rows).map(|row| if row == unit { T::one() } else { T::zero() }).collect();
        // The second pass removes the remainders that rounding leaves after the first pass.
        for _ in 0..2 {
            for column in &columns {
                let mut dot = T::zero();
                for (x, y) in column.iter().zip(&candidate) {
                    dot += x.conj() * *y;
                }
                for (x, y) in candidate.iter_mut().zip(column) {
                    *x -= dot * *y;
                }
            }
        }
        let norm = candidate.iter().map(|x| x.magnitude().powi(2)).sum::<f64>().sqrt();
        // If there are fewer than `rows` columns, some unit vector is at least `1/sqrt(rows)` away from their span.
        // Half of this leaves room for rounding.
        if norm * (rows as f64).sqrt() > 0.5 {
            columns.push(candidate.into_iter().map(|x| x.over(norm)).collect());
        }
    }
    Matrix::from_fn(rows, count, |row, column| columns[column][row])
}
