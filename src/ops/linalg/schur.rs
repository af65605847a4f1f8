//! `Schur`: a square matrix as the product `u t uᴴ`, where `u` is unitary and `t` is upper triangular.

use num_complex::Complex64;
use smallvec::{SmallVec, smallvec};

use super::matrix::{Matrix, scale_of};
use super::number::MatrixNumber;
use super::reflection::Reflection;
use super::vectors::{self, length};

/// The number of iterations for one eigenvalue after which a matrix has no Schur form.
const MOST_ITERATIONS: usize = 120;

/// The Schur form of a matrix.
pub(super) struct Schur {
    /// The unitary factor `u`.
    pub(super) vectors: Matrix<Complex64>,
    /// The triangular factor `t`, whose diagonal has the eigenvalues.
    pub(super) triangle: Matrix<Complex64>,
    /// Whether all elements of the matrix are real. Then its real eigenvalues have the imaginary part 0, and its other
    /// eigenvalues are pairs of conjugate numbers, the one with the positive imaginary part first.
    pub(super) is_real: bool,
}

impl Schur {
    /// Returns the Schur form of a square matrix; `None` if an element is not finite, or the iteration does not
    /// converge.
    pub(super) fn of<T: MatrixNumber>(a: &Matrix<T>) -> Option<Schur> {
        let unit = scale_of(a)?;
        let scaled = Matrix::from_fn(a.rows, a.rows, |row, column| a[(row, column)].over(unit).to_complex());
        let is_real = scaled.data.iter().all(|x| x.im == 0.0);
        let (mut triangle, vectors) = match is_real {
            true => of_real(Matrix::from_fn(a.rows, a.rows, |row, column| scaled[(row, column)].re))?,
            false => {
                let (mut h, mut adjoint) = hessenberg(scaled);
                iterate(&mut h, &mut adjoint, complex_step)?;
                (h, adjoint.adjoint())
            }
        };
        for row in 0..a.rows {
            for column in 0..a.rows {
                triangle[(row, column)] =
                    if column < row { Complex64::ZERO } else { triangle[(row, column)] * unit };
            }
        }
        Some(Schur { vectors, triangle, is_real })
    }

    /// Returns the eigenvalues, in the order of the diagonal.
    pub(super) fn values(&self) -> Vec<Complex64> {
        (0..self.triangle.rows).map(|i| self.triangle[(i, i)]).collect()
    }
}

/// Returns a matrix without elements below the first subdiagonal, and the adjoint of the unitary `u` for which
/// `a = u h uᴴ`.
fn hessenberg<T: MatrixNumber>(mut h: Matrix<T>) -> (Matrix<T>, Matrix<T>) {
    let size = h.rows;
    let mut adjoint = Matrix::identity(size);
    for step in 1..size.saturating_sub(1) {
        let column: Vec<T> = (step..size).map(|row| h[(row, step - 1)]).collect();
        let Some(reflection) = Reflection::of(&column) else { continue };
        reflection.rows(&mut h, step, step - 1..size);
        reflection.columns(&mut h, step, 0..size);
        reflection.rows(&mut adjoint, step, 1..size);
        set_column(&mut h, step, step - 1, reflection.image);
    }
    (h, adjoint)
}

/// Sets the elements of a column from row `start` on to `first`, and to zeros below.
fn set_column<T: MatrixNumber>(h: &mut Matrix<T>, start: usize, column: usize, first: T) {
    for row in start..h.rows {
        h[(row, column)] = if row == start { first } else { T::zero() };
    }
}

/// A step of an iteration on rows and columns `first..=last` of a matrix, and on the adjoint of its unitary factor. The
/// number says how many steps were taken since the last eigenvalue was found. Returns how many rows at the end of the
/// block are finished.
type Step<T> = fn(&mut Matrix<T>, &mut Matrix<T>, usize, usize, usize) -> usize;

/// Steps until every block of a Hessenberg matrix is finished; `None` if the iteration does not converge.
fn iterate<T: MatrixNumber>(h: &mut Matrix<T>, adjoint: &mut Matrix<T>, step: Step<T>) -> Option<()> {
    let norm = h.data.iter().map(|x| x.magnitude()).fold(0.0, f64::max);
    let (mut rows, mut iterations) = (h.rows, 0);
    while rows > 1 {
        let last = rows - 1;
        let is_small = |row: &usize| {
            let beside = h[(row - 1, row - 1)].magnitude() + h[(*row, *row)].magnitude();
            let beside = if beside == 0.0 { norm } else { beside };
            h[(*row, row - 1)].magnitude() <= f64::EPSILON * beside
        };
        let first = (1..=last).rev().find(is_small).unwrap_or(0);
        if first > 0 {
            h[(first, first - 1)] = T::zero();
        }
        let finished = if first == last { 1 } else { step(h, adjoint, first, last, iterations) };
        rows -= finished;
        iterations = if finished > 0 { 0 } else { iterations + 1 };
        if iterations > MOST_ITERATIONS {
            return None;
        }
    }
    Some(())
}

/// Changes the basis of rows and columns `k` and `k + 1`: the first new basis vector is a multiple of `[x, y]`. The
/// matrix has no elements in the columns before `k - 1` of these rows, and below row `k + 2` of these columns.
fn turn<T: MatrixNumber>(h: &mut Matrix<T>, adjoint: &mut Matrix<T>, k: usize, [x, y]: [T; 2]) {
    let norm = length(x.magnitude(), y.magnitude());
    if y == T::zero() || norm == 0.0 {
        return;
    }
    let (x, y) = (x.over(norm), y.over(norm));
    let start = k.saturating_sub(1);
    let (a, b) = h.two_rows_mut(k, k + 1);
    vectors::turn(&mut a[start..], &mut b[start..], x, y);
    for row in 0..h.rows.min(k + 3) {
        let (a, b) = (h[(row, k)], h[(row, k + 1)]);
        h[(row, k)] = a * x + b * y;
        h[(row, k + 1)] = b * x.conj() - a * y.conj();
    }
    let (a, b) = adjoint.two_rows_mut(k, k + 1);
    vectors::turn(a, b, x, y);
}

/// Returns whether a step uses another shift than usual, because the iteration may go in circles.
fn is_exceptional(iterations: usize) -> bool {
    iterations > 0 && iterations.is_multiple_of(10)
}

/// A step of the QR iteration with one shift.
fn complex_step(
    h: &mut Matrix<Complex64>,
    adjoint: &mut Matrix<Complex64>,
    first: usize,
    last: usize,
    iterations: usize,
) -> usize {
    let (a, b) = (h[(last - 1, last - 1)], h[(last - 1, last)]);
    let (c, d) = (h[(last, last - 1)], h[(last, last)]);
    let half = (a - d) / 2.0;
    let root = (half * half + b * c).sqrt();
    let larger = if (half + root).norm() < (half - root).norm() { half - root } else { half + root };
    let shift = match (is_exceptional(iterations), larger == Complex64::ZERO) {
        (true, _) => d + c.norm(),
        (false, true) => d,
        (false, false) => d - (b * c).divide(larger),
    };
    for k in first..last {
        match k > first {
            false => turn(h, adjoint, k, [h[(k, k)] - shift, h[(k + 1, k)]]),
            true => {
                turn(h, adjoint, k, [h[(k, k - 1)], h[(k + 1, k - 1)]]);
                h[(k + 1, k - 1)] = Complex64::ZERO;
            }
        }
    }
    0
}

/// A step of the QR iteration with two shifts, which are real or conjugate. A block of two rows is finished: it becomes
/// triangular if its eigenvalues are real.
fn real_step(
    h: &mut Matrix<f64>,
    adjoint: &mut Matrix<f64>,
    first: usize,
    last: usize,
    iterations: usize,
) -> usize {
    if first + 1 == last {
        split(h, adjoint, first);
        return 2;
    }
    let (d, c) = (h[(last, last)], h[(last, last - 1)]);
    let (mut trace, mut determinant) =
        (h[(last - 1, last - 1)] + d, h[(last - 1, last - 1)] * d - c * h[(last - 1, last)]);
    if is_exceptional(iterations) {
        let scale = c.abs() + h[(last - 1, last - 2)].abs();
        let both = 0.75 * scale + d;
        (trace, determinant) = (2.0 * both, both * both + 0.4375 * scale * scale);
    }
    let size = h.rows;
    // The first column of (h - s)(h - t), where s and t are the shifts.
    let (a, below) = (h[(first, first)], h[(first + 1, first)]);
    let mut column: SmallVec<[f64; 3]> = smallvec![
        a * a + h[(first, first + 1)] * below - trace * a + determinant,
        below * (a + h[(first + 1, first + 1)] - trace),
        below * h[(first + 2, first + 1)],
    ];
    for k in first..last {
        let end = (k + 2).min(last);
        if k > first {
            column = (k..=end).map(|row| h[(row, k - 1)]).collect();
        }
        let Some(reflection) = Reflection::of(&column) else { continue };
        // The rows have no elements before column `k - 1`, and the columns none below row `k + 3`.
        reflection.rows(h, k, k.saturating_sub(1)..size);
        reflection.columns(h, k, 0..size.min(k + 4));
        reflection.rows(adjoint, k, 0..size);
        if k > first {
            set_column(h, k, k - 1, reflection.image);
        }
    }
    0
}

/// Makes a block of rows and columns `k` and `k + 1` triangular if its eigenvalues are real.
fn split(h: &mut Matrix<f64>, adjoint: &mut Matrix<f64>, k: usize) {
    let (half, product) = ((h[(k, k)] - h[(k + 1, k + 1)]) / 2.0, h[(k, k + 1)] * h[(k + 1, k)]);
    let square = half * half + product;
    if square >= 0.0 {
        let root = if half >= 0.0 { square.sqrt() } else { -square.sqrt() };
        turn(h, adjoint, k, [half + root, h[(k + 1, k)]]);
        h[(k + 1, k)] = 0.0;
    }
}

/// Returns the triangular and the unitary factor of a real matrix.
fn of_real(a: Matrix<f64>) -> Option<(Matrix<Complex64>, Matrix<Complex64>)> {
    let size = a.rows;
    let (mut h, mut adjoint) = hessenberg(a);
    iterate(&mut h, &mut adjoint, real_step)?;
    let complex = |a: Matrix<f64>| Matrix::from_fn(size, size, |row, column| a[(row, column)].to_complex());
    let (mut t, mut adjoint) = (complex(h), complex(adjoint));
    for k in 1..size {
        let below = t[(k, k - 1)];
        if below == Complex64::ZERO {
            continue;
        }
        let (half, d) = ((t[(k - 1, k - 1)] - t[(k, k)]) / 2.0, t[(k, k)]);
        let square = (half * half + t[(k - 1, k)] * below).re;
        let offset = Complex64::new(half.re, (-square).sqrt());
        turn(&mut t, &mut adjoint, k - 1, [offset, below]);
        let value = d + offset;
        (t[(k - 1, k - 1)], t[(k, k - 1)], t[(k, k)]) = (value, Complex64::ZERO, value.conj());
    }
    Some((t, adjoint.adjoint()))
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::DType;

    use super::super::batch::{MatrixBatch, numbers};
    use super::super::matrix::check_matrix;
    use super::*;

    fn check<T: MatrixNumber>(a: &Matrix<T>) {
        let form = Schur::of(a).unwrap();
        let (u, t) = (&form.vectors, &form.triangle);
        let complex = Matrix::from_fn(a.rows, a.rows, |row, column| a[(row, column)].to_complex());
        check_matrix(&u.adjoint().times(u), &Matrix::identity(a.rows));
        check_matrix(&u.times(t).times(&u.adjoint()), &complex);
        for row in 0..a.rows {
            assert!((0..row).all(|column| t[(row, column)] == Complex64::ZERO));
        }
    }

    #[test]
    fn factors_give_the_matrices_back() {
        for size in [0, 1, 2, 3, 4, 7, 20, 50] {
            for dtype in [DType::F64, DType::C128] {
                let x = numbers(dtype, &[size, size]);
                match dtype {
                    DType::F64 => check(&MatrixBatch::<f64>::of(&x.view()).unwrap().at(0)),
                    _ => check(&MatrixBatch::<Complex64>::of(&x.view()).unwrap().at(0)),
                }
            }
        }
    }

    /// Shifts of the trailing block alone would go in circles for a cyclic permutation.
    #[test]
    fn permutations_and_repeated_eigenvalues_converge() {
        for size in [2, 3, 4, 5, 8] {
            let cycle = |row: usize, column: usize| if (row + 1) % size == column { 1.0 } else { 0.0 };
            check(&Matrix::from_fn(size, size, cycle));
            check(&Matrix::from_fn(size, size, |row, column| Complex64::new(0.0, cycle(row, column))));
            check(&Matrix::from_fn(size, size, |_, _| 1.0));
            check(&Matrix::from_fn(size, size, |row, column| if row <= column { 2.0 } else { 0.0 }));
            check(&Matrix::from_fn(size, size, |row, column| if row >= column { 2.0 } else { 0.0 }));
        }
        assert!(Schur::of(&Matrix::from_fn(2, 2, |_, _| f64::NAN)).is_none());
    }

    #[test]
    fn real_matrices_have_real_eigenvalues_and_conjugate_pairs() {
        let a = Matrix { rows: 3, columns: 3, data: vec![0.0, -2.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, -3.0] };
        let values = Schur::of(&a).unwrap().values();
        let i = Complex64::I;
        assert_eq!(values, [i * 2.0, i * -2.0, Complex64::new(-3.0, 0.0)]);
    }
}
