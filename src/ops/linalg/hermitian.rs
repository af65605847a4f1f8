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
