//! `singular`: singular values and vectors of matrices.

use super::hermitian::{Eigen, eigen};
use super::matrix::{Matrix, scale_of};
use super::number::MatrixNumber;
use super::qr::PivotedQr;
use super::vectors::{add_scaled, inner_product, rotate, square_norm};

/// The number of sweeps after which the rotations end, converged or not. A sweep squares the distance from convergence,
/// so that a dozen is enough.
const MOST_SWEEPS: usize = 60;

/// The number of rows up to which rotations alone are fastest.
const FEW_ROWS: usize = 8;

/// Which factors a caller needs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Factors {
    /// The singular values alone.
    None,
    /// As many columns as there are singular values.
    Reduced,
    /// Square factors.
    Full,
}

/// The singular values of a matrix in descending order, and its factors: `u · diag(values) · vᴴ`.
pub(super) struct Singular<T> {
    pub(super) values: Vec<f64>,
    /// The factors; matrices without elements if the caller needs none.
    pub(super) u: Matrix<T>,
    pub(super) v: Matrix<T>,
}

/// Returns the singular values of a matrix and its factors. All are NaN if an element of the matrix is not finite.
///
/// Householder reflections with column pivoting make the matrix triangular. One-sided Jacobi rotations then make the
/// rows of the triangle orthogonal. Small singular values are as precise as the columns of the matrix allow.
pub(super) fn singular<T: MatrixNumber>(a: &Matrix<T>, factors: Factors) -> Singular<T> {
    if a.rows < a.columns {
        let Singular { values, u, v } = singular(&a.adjoint(), factors);
        return Singular { values, u: v, v: u };
    }
    let (rows, columns) = (a.rows, a.columns);
    let (kept_rows, kept_columns, kept) = match factors {
        Factors::None => (0, 0, 0),
        Factors::Reduced => (rows, columns, columns),
        Factors::Full => (rows, columns, rows),
    };
    let Some(scale) = scale_of(a) else {
        let nan = |rows, columns| Matrix::from_fn(rows, columns, |_, _| T::from_real(f64::NAN));
        let (u, v) = (nan(kept_rows, kept), nan(kept_columns, kept_columns));
        return Singular { values: vec![f64::NAN; columns], u, v };
    };
    let scaled = Matrix::from_fn(columns, rows, |row, column| a[(column, row)].over(scale));
    let PivotedQr { triangle, order, reflections } = PivotedQr::of_columns(scaled);
    let (products, turns) = orthogonal_rows(triangle, factors != Factors::None);
    let norms: Vec<f64> = (0..columns).map(|row| square_norm(products.row(row)).sqrt()).collect();
    let mut descending: Vec<usize> = (0..columns).collect();
    descending.sort_by(|a, b| norms[*b].total_cmp(&norms[*a]));
    let values = descending.iter().map(|row| norms[*row] * scale).collect();
    if factors == Factors::None {
        let none = || Matrix::from_fn(0, 0, |_, _| T::zero());
        return Singular { values, u: none(), v: none() };
    }
    // The factor `u` is the product of the reflections and the inverse rotations.
    let mut u = Matrix::from_fn(rows, kept, |row, column| match column < columns {
        true if row < columns => turns[(descending[column], row)].conj(),
        false if row == column => T::one(),
        _ => T::zero(),
    });
    for (step, reflection) in reflections.into_iter().enumerate().rev() {
        if let Some(reflection) = reflection {
            reflection.adjoint().rows(&mut u, step, 0..kept);
        }
    }
    // A row that is only rounding errors has no direction.
    let least = 2.0 * negligible_square(&products).sqrt();
    let known: Vec<Vec<T>> = descending
        .iter()
        .filter(|row| norms[**row] > least)
        .map(|row| products.row(*row).iter().map(|x| x.over(norms[*row]).conj()).collect())
        .collect();
    let directions = completed(known, columns);
    let mut v = Matrix::from_fn(columns, columns, |_, _| T::zero());
    for (row, direction) in order.into_iter().enumerate() {
        for (column, vector) in directions.iter().enumerate() {
            v[(direction, column)] = vector[row];
        }
    }
    Singular { values, u, v }
}

/// Returns the square of a norm that is only a rounding error.
fn negligible_square<T: MatrixNumber>(rows: &Matrix<T>) -> f64 {
    square_norm(&rows.data) * f64::EPSILON.powi(2) * 1e-4
}

/// Rotates the rows of a square matrix until they are orthogonal. Returns the rotated matrix `turns · rows`, and the
/// unitary `turns` if `has_turns`.
fn orthogonal_rows<T: MatrixNumber>(mut rows: Matrix<T>, has_turns: bool) -> (Matrix<T>, Matrix<T>) {
    let size = rows.rows;
    let mut turns = Matrix::identity(if has_turns { size } else { 0 });
    let negligible = negligible_square(&rows);
    if size > FEW_ROWS
        && let Some(Eigen { vectors, .. }) = eigen(&rows.times(&rows.adjoint()), true)
    {
        // The eigenvectors of `rows · rowsᴴ` are as orthonormal as products of rotations. They make large rows
        // orthogonal at once; the squares of small singular values are lost in rounding errors.
        let adjoint = Matrix::from_fn(size, size, |row, column| vectors[(column, size - 1 - row)].conj());
        rows = adjoint.times(&rows);
        if has_turns {
            turns = adjoint;
        }
    }
    for _ in 0..MOST_SWEEPS {
        if !sweep(&mut rows, &mut turns, negligible) {
            break;
        }
    }
    (rows, turns)
}

/// Makes each pair of rows orthogonal once. Returns whether some pair was not orthogonal before.
fn sweep<T: MatrixNumber>(rows: &mut Matrix<T>, turns: &mut Matrix<T>, negligible: f64) -> bool {
    let mut has_rotated = false;
    let mut squares: Vec<f64> = (0..rows.rows).map(|row| square_norm(rows.row(row))).collect();
    for p in 0..rows.rows {
        for q in p + 1..rows.rows {
            let (a, b) = (squares[p], squares[q]);
            if a.min(b) <= negligible {
                continue;
            }
            let (x, y) = rows.two_rows_mut(p, q);
            let c = inner_product(x, y);
            let magnitude = c.magnitude();
            if magnitude <= 8.0 * f64::EPSILON * (a * b).sqrt() {
                continue;
            }
            has_rotated = true;
            let ratio = (b - a) / (2.0 * magnitude);
            let tangent = ratio.signum() / (ratio.abs() + (ratio * ratio + 1.0).sqrt());
            let cos = 1.0 / (tangent * tangent + 1.0).sqrt();
            let sin = c.scaled(cos * tangent / magnitude);
            rotate(x, y, cos, sin);
            squares[p] = updated(a, a - tangent * magnitude, x);
            squares[q] = updated(b, b + tangent * magnitude, y);
            if turns.rows > 0 {
                let (x, y) = turns.two_rows_mut(p, q);
                rotate(x, y, cos, sin);
            }
        }
    }
    has_rotated
}

/// Returns `after`, the square of the norm of the rotated vector `x`, or a sum of squares if the difference from
/// `before` leaves few correct digits.
#[inline(always)]
fn updated<T: MatrixNumber>(before: f64, after: f64, x: &[T]) -> f64 {
    if after < 0.1 * before { square_norm(x) } else { after }
}

/// Extends orthonormal vectors of `size` elements to `size` orthonormal vectors.
fn completed<T: MatrixNumber>(mut vectors: Vec<Vec<T>>, size: usize) -> Vec<Vec<T>> {
    for unit in 0..size {
        if vectors.len() == size {
            break;
        }
        let mut candidate = vec![T::zero(); size];
        candidate[unit] = T::one();
        // The second pass removes the remainders that rounding leaves after the first pass.
        for _ in 0..2 {
            for vector in &vectors {
                let product = inner_product(vector, &candidate);
                add_scaled(&mut candidate, -product, vector);
            }
        }
        let norm = square_norm(&candidate).sqrt();
        // If there are fewer than `size` vectors, some unit vector is at least `1/sqrt(size)` away from their span.
        // Half of this leaves room for rounding.
        if norm * (size as f64).sqrt() > 0.5 {
            vectors.push(candidate.into_iter().map(|x| x.over(norm)).collect());
        }
    }
    vectors
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use num_complex::Complex64;
    use shapeflow_shape_fns::DType;

    use super::super::batch::{MatrixBatch, numbers};
    use super::super::matrix::check_matrix;
    use super::*;

    fn random<T: MatrixNumber>(dtype: DType, rows: usize, columns: usize) -> Matrix<T> {
        MatrixBatch::of(&numbers(dtype, &[rows, columns]).view()).unwrap().at(0)
    }

    #[track_caller]
    fn check<T: MatrixNumber + Debug>(a: &Matrix<T>) -> Vec<f64> {
        for factors in [Factors::Reduced, Factors::Full] {
            let Singular { values, u, v } = singular(a, factors);
            let product = Matrix::from_fn(u.rows, v.columns, |row, column| match values.get(column) {
                Some(value) => u[(row, column)].scaled(*value),
                None => T::zero(),
            });
            check_matrix(&product.times(&v.adjoint()), a);
            check_matrix(&u.adjoint().times(&u), &Matrix::identity(u.columns));
            check_matrix(&v.adjoint().times(&v), &Matrix::identity(v.columns));
        }
        let values = singular(a, Factors::None).values;
        assert!(values.is_sorted_by(|a, b| a >= b), "{values:?}");
        let with_factors = singular(a, Factors::Reduced).values;
        assert!(values.iter().zip(with_factors).all(|(a, b)| (a - b).abs() <= 1e-14 * b), "{values:?}");
        values
    }

    #[test]
    fn factors_are_orthonormal_for_every_size() {
        for (rows, columns) in [(0, 3), (1, 1), (2, 5), (8, 8), (9, 9), (40, 9), (17, 33), (64, 64)] {
            check(&random::<f64>(DType::F64, rows, columns));
            check(&random::<Complex64>(DType::C128, rows, columns));
        }
    }

    #[test]
    fn matrices_without_full_rank_have_orthonormal_factors() {
        for (size, rank) in [(5, 0), (5, 1), (12, 1), (12, 7), (20, 19)] {
            let a = random::<f64>(DType::F64, size + 2, rank).times(&random::<f64>(DType::F64, rank, size));
            let values = check(&a);
            assert!(values[rank..].iter().all(|value| *value < 1e-13), "{values:?}");
        }
        check(&Matrix::<Complex64>::identity(12));
    }

    /// The columns have different scales. Methods that reduce the matrix to two diagonals lose the small ones.
    #[test]
    fn small_singular_values_are_as_precise_as_the_columns() {
        for size in [4, 12] {
            let scale = |column: usize| 10f64.powi(-2 * column as i32 * 12 / size as i32);
            let q = check_unitary(size);
            let graded = Matrix::from_fn(size, size, |row, column| q[(row, column)] * scale(column));
            let values = singular(&graded, Factors::Reduced).values;
            for (column, value) in values.iter().enumerate().filter(|(column, _)| scale(*column) > 1e-17) {
                assert!((value / scale(column) - 1.0).abs() < 1e-13, "{values:?}");
            }
        }
    }

    fn check_unitary(size: usize) -> Matrix<f64> {
        singular(&random::<f64>(DType::F64, size, size), Factors::Reduced).u
    }

    #[test]
    fn singular_values_of_the_hilbert_matrix_are_precise() {
        let hilbert = Matrix::from_fn(10, 10, |row, column| 1.0 / (row + column + 1) as f64);
        let values = check(&hilbert);
        assert!((values[0] - 1.751_919_670_265_177_5).abs() < 1e-14, "{values:?}");
        assert!((values[9] / 1.093_153_819_379_665_8e-13 - 1.0).abs() < 1e-2, "{values:?}");
    }
}
