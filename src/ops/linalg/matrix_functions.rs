//! `matrix_square_root`, `matrix_logarithm` and `matrix_exponential`: functions of square matrices.

use std::f64::consts::PI;

use num_complex::Complex64;

use super::batch::{MatrixBatch, dtype_of, set_batch};
use super::in_tensorflow;
use super::lu::Lu;
use super::matrix::Matrix;
use super::number::{MatrixNumber, with_number_type};
use super::schur::Schur;
use super::triangular::{Triangle, substitute};
use crate::dtype;
use crate::error::Result;
use crate::graph::Value;
use crate::op::{HostCx, OpDef, Operand, TfFunction, TfOp};
use crate::shape_fns::linalg;

/// Functions of matrices. A row holds the documentation, the names of the method and of the definition, the dtypes, the
/// TensorFlow op type, the dtype rule, the function of one matrix, and, for an op type that TensorFlow has removed, the
/// composition of other TensorFlow ops that computes it.
macro_rules! matrix_functions {
    ($($(#[$meta:meta])* $method:ident, $DEF:ident, $dtypes:literal, $op:literal, $rule:path, $run:expr
        $(, $function:path)?;)*) => {
        impl<'g> Value<'g> {$(
            $(#[$meta])*
            ///
            #[doc = concat!(
                "`[..batch, n, n] -> [..batch, n, n]`, ", $dtypes,
                ", computed in f64 and rounded once. As TensorFlow's `", $op, "`. Runs on the host.",
            )]
            ///
            /// # Errors
            /// The element type is not supported, or the last two axes differ.
            #[track_caller]
            pub fn $method(self) -> Result<Value<'g>> {
                self.graph().op(&$DEF).data(self).finish()
            }
        )*}

        $(pub(crate) static $DEF: OpDef = OpDef::host(stringify!($method), $run)
            .operands(&[Operand::Data("input")])
            .shape_fn(linalg::square_matrix)
            .dtype_rule($rule)
            .tensorflow(&[TfOp::new($op)])
            $(.in_tensorflow(TfFunction::Composed($function)))?;)*
    };
}

matrix_functions! {
    /// Returns the principal square roots of matrices: the matrix `y` for which `y · y = self`, and whose eigenvalues
    /// have no negative real part. All elements of `y` are NaN if `self` has a repeated eigenvalue 0, an infinity or a
    /// NaN; for real numbers also if `self` has a negative real eigenvalue.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[5.0, 4.0], [4.0, 5.0]])?.matrix_square_root()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([[2.0, 1.0], [1.0, 2.0]]), 1e-12, 0.0).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    #[doc(alias = "sqrtm")]
    matrix_square_root, SQUARE_ROOT, "floats and complex numbers", "MatrixSquareRoot", dtype::unary::inexact,
    |cx| with_number_type!(dtype_of(cx)?, square_root(cx));
    /// Returns the principal logarithms of matrices: the matrix `y` whose exponential is `self`, and whose eigenvalues
    /// have imaginary parts in (-π, π]. All elements of `y` are NaN if `self` has the eigenvalue 0, an infinity or a
    /// NaN.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([[1.0, 2.0], [0.0, 1.0]])?;
    /// let y = x.complex(x.zeros_like()?)?.matrix_logarithm()?.real()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([[0.0, 2.0], [0.0, 0.0]]), 1e-12, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    #[doc(alias = "logm")]
    matrix_logarithm, LOGARITHM, "complex numbers", "MatrixLogarithm", dtype::unary::complex,
    |cx| of_each(cx, |a: &Matrix<Complex64>| of_triangle(a, |form| triangle_logarithm(&form.triangle)));
    /// Returns the exponentials of matrices: the sum of `self^k / k!` over all `k`.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[0.0, 2.0], [0.0, 0.0]])?.matrix_exponential()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([[1.0, 2.0], [0.0, 1.0]]), 1e-12, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    #[doc(alias = "expm")]
    matrix_exponential, EXPONENTIAL, "floats and complex numbers", "MatrixExponential", dtype::unary::inexact,
    |cx| with_number_type!(dtype_of(cx)?, exponential(cx)), in_tensorflow::matrix_exponential;
}

/// Applies a function to each matrix of operand 0.
fn of_each<T: MatrixNumber>(
    cx: &mut HostCx<'_>,
    function: impl Fn(&Matrix<T>) -> Matrix<T> + Sync,
) -> Result<()> {
    let matrices = MatrixBatch::<T>::read(cx, 0)?;
    let results = matrices.try_map(|a| Ok(function(&a).data))?;
    let dtype = dtype_of(cx)?;
    set_batch(cx, 0, dtype, &matrices.sizes, &matrices.shape(), results)
}

/// Applies a function of triangular matrices to the Schur form of a matrix. The result is NaN if the matrix has no
/// Schur form, or an element of the function's result is not finite.
fn of_triangle<T: MatrixNumber>(
    a: &Matrix<T>,
    function: impl Fn(&Schur) -> Option<Matrix<Complex64>>,
) -> Matrix<T> {
    let form = Schur::of(a);
    let result = form.as_ref().and_then(&function).filter(|result| result.data.iter().all(|x| x.is_finite()));
    match (form, result) {
        (Some(form), Some(result)) => {
            let product = form.vectors.times(&result).times(&form.vectors.adjoint());
            Matrix::from_fn(a.rows, a.rows, |row, column| T::of_complex(product[(row, column)]))
        }
        _ => all_nan(a.rows),
    }
}

fn all_nan<T: MatrixNumber>(size: usize) -> Matrix<T> {
    let nan = T::of_complex(Complex64::new(f64::NAN, f64::NAN));
    Matrix::from_fn(size, size, |_, _| nan)
}

fn square_root<T: MatrixNumber>(cx: &mut HostCx<'_>) -> Result<()> {
    let is_complex = dtype_of(cx)?.is_complex();
    of_each(cx, |a: &Matrix<T>| {
        of_triangle(a, |form| {
            let has_real_root = || form.values().iter().all(|value| value.im != 0.0 || value.re >= 0.0);
            (is_complex || has_real_root()).then(|| triangle_root(&form.triangle))
        })
    })
}

/// Returns the principal square root of an upper triangular matrix. If two elements of the diagonal are 0, some element
/// of the result is not finite.
fn triangle_root(t: &Matrix<Complex64>) -> Matrix<Complex64> {
    let size = t.rows;
    let mut root = Matrix::from_fn(size, size, |_, _| Complex64::ZERO);
    for column in 0..size {
        root[(column, column)] = t[(column, column)].sqrt();
        for row in (0..column).rev() {
            let mut rest = t[(row, column)];
            for k in row + 1..column {
                rest -= root[(row, k)] * root[(k, column)];
            }
            root[(row, column)] = rest.divide(root[(row, row)] + root[(column, column)]);
        }
    }
    root
}

/// Returns the principal logarithm of an upper triangular matrix; `None` if an eigenvalue is 0. With `2^k`-th roots,
/// the matrix comes close to the identity, where quadrature of `∫ x / (1 + s x) ds` gives the logarithm of `1 + x`.
fn triangle_logarithm(t: &Matrix<Complex64>) -> Option<Matrix<Complex64>> {
    /// The number of roots after which the matrix is close to the identity, whatever its elements.
    const MOST_ROOTS: usize = 2200;
    let size = t.rows;
    let logarithms: Vec<Complex64> = (0..size).map(|i| t[(i, i)].ln()).collect();
    if !logarithms.iter().all(|x| x.is_finite()) {
        return None;
    }
    // `root_minus_one` is `root - identity`; the logarithms give its diagonal without cancellation.
    let (mut root, mut factor, mut root_minus_one) = (t.clone(), 1.0, t.clone());
    for _ in 0..MOST_ROOTS {
        for (i, logarithm) in logarithms.iter().enumerate() {
            // exp(x) - 1 without cancellation.
            let half = *logarithm / (2.0 * factor);
            root_minus_one[(i, i)] = half.sinh() * half.exp() * 2.0;
        }
        if norm(&root_minus_one) <= 0.25 || !root.data.iter().all(|x| x.is_finite()) {
            break;
        }
        root = triangle_root(&root);
        root_minus_one = root.clone();
        factor *= 2.0;
    }
    if norm(&root_minus_one).is_nan() || norm(&root_minus_one) > 0.25 {
        return None;
    }
    let mut sum = Matrix::from_fn(size, size, |_, _| Complex64::ZERO);
    for (node, weight) in quadrature(8) {
        let divisor = Matrix::from_fn(size, size, |row, column| {
            let unit = if row == column { Complex64::ONE } else { Complex64::ZERO };
            unit + root_minus_one[(row, column)] * node
        });
        let part = substitute(&divisor, root_minus_one.clone(), Triangle::Upper);
        for (sum, part) in sum.data.iter_mut().zip(part.data) {
            *sum += part * (weight * factor);
        }
    }
    for (i, logarithm) in logarithms.into_iter().enumerate() {
        sum[(i, i)] = logarithm;
    }
    Some(sum)
}

/// Returns the nodes and weights of Gauss-Legendre quadrature on [0, 1] with `count` nodes.
fn quadrature(count: usize) -> Vec<(f64, f64)> {
    let node = |number: usize| {
        let mut x = (PI * (number as f64 + 0.75) / (count as f64 + 0.5)).cos();
        let mut slope = 1.0;
        // Each iteration of Newton's method doubles the number of correct digits.
        for _ in 0..8 {
            let (mut value, mut before) = (1.0, 0.0);
            for degree in 0..count {
                let degree = degree as f64;
                let next = ((2.0 * degree + 1.0) * x * value - degree * before) / (degree + 1.0);
                (before, value) = (value, next);
            }
            slope = count as f64 * (x * value - before) / (x * x - 1.0);
            x -= value / slope;
        }
        ((x + 1.0) / 2.0, 1.0 / ((1.0 - x * x) * slope * slope))
    };
    (0..count).map(node).collect()
}

/// Returns the greatest sum of magnitudes of a column; NaN if an element is NaN.
fn norm<T: MatrixNumber>(a: &Matrix<T>) -> f64 {
    let sums = (0..a.columns).map(|column| (0..a.rows).map(|row| a[(row, column)].magnitude()).sum::<f64>());
    sums.fold(0.0, |most, sum| if sum > most || sum.is_nan() { sum } else { most })
}

fn exponential<T: MatrixNumber>(cx: &mut HostCx<'_>) -> Result<()> {
    of_each(cx, |a: &Matrix<T>| exponential_of(a))
}

/// Returns the exponential of a matrix: the diagonal Padé approximant of degree 13 of `a / 2^k`, squared `k` times.
fn exponential_of<T: MatrixNumber>(a: &Matrix<T>) -> Matrix<T> {
    /// The norm up to which the approximant is as precise as f64.
    const LARGEST_NORM: f64 = 5.37;
    const DEGREE: usize = 13;
    let (size, norm) = (a.rows, norm(a));
    if !norm.is_finite() {
        return all_nan(size);
    }
    let squarings = (norm / LARGEST_NORM).log2().ceil().max(0.0) as i32;
    let divisor = f64::powi(2.0, squarings);
    let a = Matrix::from_fn(size, size, |row, column| a[(row, column)].over(divisor));
    let mut coefficients = vec![1.0];
    for k in 1..=DEGREE {
        let ratio = (DEGREE - k + 1) as f64 / ((2 * DEGREE - k + 1) * k) as f64;
        coefficients.push(coefficients[k - 1] * ratio);
    }
    // The terms of even degree, and the terms of odd degree divided by `a`, with as few products as possible.
    let second = a.times(&a);
    let fourth = second.times(&second);
    let sixth = fourth.times(&second);
    let terms = |parity: usize| {
        let sum = |[zeroth, x, y, z]: [f64; 4]| {
            Matrix::from_fn(size, size, |row, column| {
                let i = (row, column);
                let unit = if row == column { T::from_real(zeroth) } else { T::zero() };
                unit + second[i].scaled(x) + fourth[i].scaled(y) + sixth[i].scaled(z)
            })
        };
        let [c0, c2, c4, c6, c8, c10, c12] = std::array::from_fn(|i| coefficients[2 * i + parity]);
        let mut terms = sixth.times(&sum([0.0, c8, c10, c12]));
        for (term, low) in terms.data.iter_mut().zip(sum([c0, c2, c4, c6]).data) {
            *term += low;
        }
        terms
    };
    let (even, odd) = (terms(0), a.times(&terms(1)));
    let numerator = Matrix::from_fn(size, size, |row, column| even[(row, column)] + odd[(row, column)]);
    let denominator = Matrix::from_fn(size, size, |row, column| even[(row, column)] - odd[(row, column)]);
    let mut result = Lu::new(denominator).solve(&numerator);
    for _ in 0..squarings {
        result = result.times(&result);
    }
    result
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::{Attrs, DType};

    use super::super::batch::numbers;
    use super::super::matrix::check_matrix;
    use super::*;
    use crate::ops::testing::{run_one, shape_table, tensor};
    use crate::tensor::Tensor;

    shape_table! { SQUARE_ROOT, {},
        "c64[b, n, 3]" => "c64[d0_0, 3, 3]",
        "[2, 3]" => error "must hold square matrices",
        "i32[2, 2]" => error "must be a float or a complex number, got i32",
    }
    shape_table! { logarithms: LOGARITHM, {},
        "[2, 2]" => error "must be a complex number, got f32",
    }

    fn matrix<T: MatrixNumber>(x: &Tensor) -> Matrix<T> {
        MatrixBatch::of(&x.view()).unwrap().at(0)
    }

    fn run<T: MatrixNumber>(def: &OpDef, x: &Tensor) -> Matrix<T> {
        matrix(&run_one(def, &Attrs::new(), std::slice::from_ref(x)))
    }

    #[test]
    fn roots_multiply_to_the_matrices() {
        for size in [0, 1, 2, 5, 9] {
            let x = numbers(DType::F64, &[size, size]);
            // A product with its transpose has no negative eigenvalues.
            let a = matrix::<f64>(&x).times(&matrix::<f64>(&x).adjoint());
            let root = run::<f64>(&SQUARE_ROOT, &f64::write(DType::F64, &[size, size], &a.data).unwrap());
            check_matrix(&root.times(&root), &a);
            let x = numbers(DType::C128, &[size, size]);
            let root = run::<Complex64>(&SQUARE_ROOT, &x);
            check_matrix(&root.times(&root), &matrix(&x));
        }
    }

    #[test]
    fn logarithms_are_inverse_to_exponentials() {
        for (size, scale) in [(0, 1.0), (1, 1.0), (2, 0.01), (3, 1.0), (6, 0.4), (6, 1e-9)] {
            let x = numbers(DType::C128, &[size, size]);
            let a = matrix::<Complex64>(&x);
            let a = Matrix::from_fn(size, size, |row, column| a[(row, column)] * scale);
            let exponential = exponential_of(&a);
            let x = Complex64::write(DType::C128, &[size, size], &exponential.data).unwrap();
            check_matrix(&run::<Complex64>(&LOGARITHM, &x), &a);
        }
    }

    #[test]
    fn exponentials_of_opposite_matrices_are_inverse() {
        for (size, scale) in [(4, 1e-3), (4, 0.5), (20, 0.3), (40, 0.2)] {
            let a = matrix::<Complex64>(&numbers(DType::C128, &[size, size]));
            let scaled = |factor: f64| Matrix::from_fn(size, size, |row, column| a[(row, column)] * factor);
            let product = exponential_of(&scaled(scale)).times(&exponential_of(&scaled(-scale)));
            check_matrix(&product, &Matrix::identity(size));
        }
    }

    #[test]
    fn exponentials_of_large_matrices_are_those_of_rotations() {
        for angle in [0.5f64, 3.0, 30.0, 100.0] {
            let a = tensor(&[2, 2], &[0.0, -angle, angle, 0.0]);
            let (sin, cos) = angle.sin_cos();
            let expected = Matrix { rows: 2, columns: 2, data: vec![cos, -sin, sin, cos] };
            check_matrix(&run::<f64>(&EXPONENTIAL, &a), &expected);
        }
    }

    #[test]
    fn matrices_without_a_root_or_a_logarithm_give_nan() {
        let all_nan = |def, x: Tensor| {
            let parts = match x.dtype() {
                DType::F64 => run::<f64>(def, &x).data.iter().map(|x| x.to_complex()).collect(),
                _ => run::<Complex64>(def, &x).data,
            };
            parts.iter().all(|x| x.re.is_nan())
        };
        assert!(all_nan(&SQUARE_ROOT, tensor(&[2, 2], &[-4.0f64, 0.0, 0.0, 9.0])));
        assert!(all_nan(&SQUARE_ROOT, tensor(&[2, 2], &[0.0f64, 1.0, 0.0, 0.0])));
        assert!(all_nan(&SQUARE_ROOT, tensor(&[2, 2], &[f64::INFINITY, 1.0, 0.0, 1.0])));
        assert!(!all_nan(&SQUARE_ROOT, tensor(&[2, 2], &[0.0f64, 1.0, 0.0, 4.0])));
        let complex = |data: [f64; 4]| {
            let data = data.map(|x| Complex64::new(x, 0.0));
            Complex64::write(DType::C128, &[2, 2], &data).unwrap()
        };
        assert!(!all_nan(&SQUARE_ROOT, complex([-4.0, 0.0, 0.0, 9.0])));
        assert!(all_nan(&LOGARITHM, complex([0.0, 0.0, 0.0, 9.0])));
        assert!(all_nan(&LOGARITHM, complex([f64::NAN, 0.0, 0.0, 9.0])));
    }
}
