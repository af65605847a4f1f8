//! `eigen`: eigenvalues and eigenvectors of Hermitian matrices.

use num_complex::Complex64;

use super::implicit_ql::Tridiagonal;
use super::matrix::{Matrix, scale_of};
use super::number::MatrixNumber;
use super::reflection::Reflection;
use super::vectors::{dot_and_add_conjugates, inner_product, subtract_two_scaled};

/// The eigenvalues of a Hermitian matrix in ascending order, and eigenvectors as columns.
pub(super) struct Eigen<T> {
    pub(super) values: Vec<f64>,
    /// The eigenvectors; a matrix without columns if they were not asked for.
    pub(super) vectors: Matrix<T>,
}

/// Returns the eigenvalues of a Hermitian matrix, and its eigenvectors with `has_vectors`. The function reads the lower
/// triangle. Returns `None` if an element is not finite.
///
/// Householder reflections make the matrix real and tridiagonal; the implicit QL iteration makes it diagonal.
pub(super) fn eigen<T: MatrixNumber>(a: &Matrix<T>, has_vectors: bool) -> Option<Eigen<T>> {
    let size = a.rows;
    let mut lower =
        Matrix::from_fn(size, size, |row, column| if column <= row { a[(row, column)] } else { T::zero() });
    let unit = scale_of(&lower)?;
    lower.data.iter_mut().for_each(|x| *x = x.over(unit));
    let (mut tridiagonal, reflections) = reduce(lower);
    let mut q = Matrix::identity(if has_vectors { size } else { 0 });
    if has_vectors {
        for (step, reflection) in reflections.into_iter().enumerate().rev() {
            if let Some(reflection) = reflection {
                reflection.adjoint().rows(&mut q, step + 1, step + 1..size);
            }
        }
    }
    // Each row has the real parts of a column of `q`, then the imaginary parts. The rotations are real.
    let mut rows = Matrix::from_fn(q.columns, T::PARTS * q.rows, |row, column| match column < size {
        true => q[(column, row)].real(),
        false => q[(column - size, row)].to_complex().im,
    });
    tridiagonal.diagonalize(&mut rows);
    let values = tridiagonal.diagonal;
    let mut order: Vec<usize> = (0..size).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let vectors = Matrix::from_fn(q.rows, q.columns, |row, column| {
        let imaginary = if T::PARTS == 2 { rows[(order[column], size + row)] } else { 0.0 };
        T::of_complex(Complex64::new(rows[(order[column], row)], imaginary))
    });
    Some(Eigen { values: order.iter().map(|i| values[*i] * unit).collect(), vectors })
}

/// Reduces a Hermitian matrix, given by its lower triangle, to a real tridiagonal one. Reflection `i` acts on the rows
/// and columns after `i`.
fn reduce<T: MatrixNumber>(mut a: Matrix<T>) -> (Tridiagonal, Vec<Option<Reflection<T>>>) {
    let size = a.rows;
    let (mut diagonal, mut beside) = (Vec::with_capacity(size), Vec::with_capacity(size));
    let mut reflections = Vec::with_capacity(size);
    let (mut column, mut product) = (Vec::with_capacity(size), Vec::with_capacity(size));
    for step in 0..size {
        diagonal.push(a[(step, step)].real());
        if step + 1 == size {
            beside.push(0.0);
            break;
        }
        column.clear();
        column.extend((step + 1..size).map(|row| a[(row, step)]));
        let reflection = Reflection::of(&column);
        beside.push(reflection.as_ref().map_or(column[0], |reflection| reflection.image).real());
        if let Some(reflection) = &reflection {
            product.clear();
            product.resize(column.len(), T::zero());
            reflect_both_sides(&mut a, step + 1, reflection, &mut product);
        }
        reflections.push(reflection);
    }
    (Tridiagonal { diagonal, beside }, reflections)
}

/// Replaces the block of rows and columns `start..` of a Hermitian matrix by `h · block · hᴴ`, where `h` is a
/// reflection. `product` are zeros.
fn reflect_both_sides<T: MatrixNumber>(
    a: &mut Matrix<T>,
    start: usize,
    reflection: &Reflection<T>,
    product: &mut [T],
) {
    let (tau, v) = (reflection.tau, &reflection.vector[..]);
    // The product of the block and the vector. An element below the diagonal stands for two elements.
    for i in 0..v.len() {
        let row = &a.row(start + i)[start..][..i + 1];
        let (left, diagonal) = row.split_at(i);
        let sum = dot_and_add_conjugates(left, &v[..i], v[i], &mut product[..i]);
        product[i] += sum + T::from_real(diagonal[0].real()) * v[i];
    }
    // The result is `block - v · wᴴ - w · vᴴ` for `w = conj(tau) · product - |tau|² (vᴴ · product) / 2 · v`.
    let half = inner_product(v, product).real() * tau.square_magnitude() / 2.0;
    for (w, v) in product.iter_mut().zip(v) {
        *w = tau.conj() * *w - v.scaled(half);
    }
    let w = &*product;
    for i in 0..v.len() {
        let row = &mut a.row_mut(start + i)[start..][..i + 1];
        subtract_two_scaled(row, v[i], &w[..i + 1], w[i], &v[..i + 1]);
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use shapeflow_shape_fns::DType;

    use super::super::batch::{MatrixBatch, numbers};
    use super::super::matrix::check_matrix;
    use super::*;

    /// Checks the eigenvalues and eigenvectors of a Hermitian matrix, and returns the eigenvalues.
    #[track_caller]
    fn check<T: MatrixNumber + Debug>(a: &Matrix<T>) -> Vec<f64> {
        let Eigen { values, vectors } = eigen(a, true).unwrap();
        let unit = a.data.iter().map(|x| x.magnitude()).fold(0.0, f64::max);
        let unit = if unit > 0.0 { unit } else { 1.0 };
        let scaled = Matrix::from_fn(a.rows, a.rows, |row, column| a[(row, column)].over(unit));
        let multiples = Matrix::from_fn(a.rows, a.rows, |row, column| {
            vectors[(row, column)].scaled(values[column] / unit)
        });
        check_matrix(&scaled.times(&vectors), &multiples);
        check_matrix(&vectors.adjoint().times(&vectors), &Matrix::identity(a.rows));
        assert!(values.is_sorted(), "{values:?}");
        assert_eq!(eigen(a, false).unwrap().values, values);
        values
    }

    fn random<T: MatrixNumber>(dtype: DType, size: usize) -> Matrix<T> {
        let a = MatrixBatch::<T>::of(&numbers(dtype, &[size, size]).view()).unwrap().at(0);
        Matrix::from_fn(size, size, |row, column| a[(row, column)] + a[(column, row)].conj())
    }

    /// Returns a matrix with these eigenvalues.
    fn of_values(values: &[f64]) -> Matrix<f64> {
        let vectors = eigen(&random::<f64>(DType::F64, values.len()), true).unwrap().vectors;
        let scaled = Matrix::from_fn(values.len(), values.len(), |i, j| vectors[(i, j)] * values[j]);
        scaled.times(&vectors.adjoint())
    }

    #[test]
    fn eigenvectors_are_orthonormal_for_every_size() {
        for size in (0..20).chain([31, 32, 33, 64]) {
            check(&random::<f64>(DType::F64, size));
            check(&random::<Complex64>(DType::C128, size));
        }
    }

    #[test]
    fn eigenvalues_of_known_matrices_are_precise() {
        let close = |got: &[f64], expected: &[f64], error: f64| {
            let is_close = got.iter().zip(expected).all(|(got, expected)| (got - expected).abs() <= error);
            assert!(got.len() == expected.len() && is_close, "{got:?} {expected:?}");
        };
        close(&check(&of_values(&[1.0, 1e-8, 1e-16])), &[1e-16, 1e-8, 1.0], 1e-15);
        close(&check(&of_values(&[3.0, -1.0, 3.0, -1.0, 3.0])), &[-1.0, -1.0, 3.0, 3.0, 3.0], 1e-14);
        for size in [1, 2, 7] {
            close(&check(&Matrix::<f64>::from_fn(size, size, |_, _| 0.0)), &vec![0.0; size], 0.0);
            close(&check(&Matrix::<f64>::identity(size)), &vec![1.0; size], 0.0);
            let ones = check(&Matrix::from_fn(size, size, |_, _| Complex64::ONE));
            close(&ones[..size - 1], &vec![0.0; size - 1], 1e-14);
            close(&ones[size - 1..], &[size as f64], 1e-14);
        }
        let swap = |row: usize, column: usize| if row.abs_diff(column) == 1 { 1.0 } else { 0.0 };
        close(&check(&Matrix::from_fn(2, 2, swap)), &[-1.0, 1.0], 1e-15);
        // The second difference matrix, whose eigenvalues are cosines.
        let size = 30;
        let expected = (1..=size).map(|k| -2.0 * (std::f64::consts::PI * k as f64 / 31.0).cos());
        close(&check(&Matrix::from_fn(size, size, swap)), &expected.collect::<Vec<f64>>(), 1e-14);
        let hilbert = Matrix::from_fn(10, 10, |row, column| 1.0 / (row + column + 1) as f64);
        let hilbert = check(&hilbert);
        close(&hilbert[8..], &[0.342_929_548_483_509_3, 1.751_919_670_265_177_5], 1e-14);
    }

    /// The largest eigenvalues of Wilkinson's matrix are pairs that agree in 14 digits.
    #[test]
    fn nearly_equal_eigenvalues_have_orthonormal_eigenvectors() {
        let wilkinson = Matrix::from_fn(21, 21, |row, column| match row.abs_diff(column) {
            0 => row.abs_diff(10) as f64,
            1 => 1.0,
            _ => 0.0,
        });
        let values = check(&wilkinson);
        assert!((values[20] - 10.746_194_182_903_393).abs() < 1e-13, "{values:?}");
        assert!((values[19] - 10.746_194_182_903_322).abs() < 1e-13, "{values:?}");
    }

    #[test]
    fn matrices_of_every_scale_and_grade_converge() {
        for scale in [1e-310, 1e-300, 1e-160, 1e150, 1e300] {
            let a = random::<f64>(DType::F64, 6);
            check(&Matrix::from_fn(6, 6, |row, column| a[(row, column)] * (scale / 4.0)));
        }
        for base in [1e-20f64, 1e-8, 1e8, 1e20] {
            let grade = |i: usize| base.powi(i as i32);
            let a = random::<Complex64>(DType::C128, 7);
            check(&Matrix::from_fn(7, 7, |row, column| a[(row, column)] * grade(row) * grade(column)));
            let tridiagonal = |row: usize, column: usize| match row.abs_diff(column) {
                0 | 1 => grade(row.max(column)),
                _ => 0.0,
            };
            check(&Matrix::from_fn(7, 7, tridiagonal));
        }
    }
}
