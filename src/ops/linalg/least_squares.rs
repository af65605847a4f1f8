//! `matrix_solve_ls`: the vectors that solve systems of linear equations best.

use shapeflow_shape_fns::Attribute;

use std::panic::Location;

use shapeflow_shape_fns::DType;

use super::batch::{MatrixBatch, dtype_of, refuse, set_batch};
use super::matrix::{Matrix, scale_of};
use super::number::{MatrixNumber, with_number_type};
use super::qr::{PivotedQr, qr};
use super::triangular::{Triangle, factor, substitute};
use crate::dtype::{self, Class};
use crate::error::Result;
use crate::graph::{IntoOperand, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::shape_fns::linalg;

impl<'g> Value<'g> {
    /// Solves systems of linear equations in the sense of least squares: returns the `x` that minimizes
    /// `‖self · x - rhs‖² + l2_regularizer ‖x‖²`. If several `x` minimize this sum, the result is the one of least
    /// norm.
    ///
    /// `[..batch, m, n], [..batch, m, k], f64[] -> [..batch, n, k]`, floats and complex numbers of one dtype, computed
    /// in f64 and rounded once. With `fast`, the op solves the normal equations by a Cholesky factor, and the run fails
    /// if they are singular. Without `fast`, the op uses a complete orthogonal decomposition, which determines the rank
    /// of the matrix up to rounding errors of the elements, and ignores the regularizer. As TensorFlow's
    /// `MatrixSolveLs` (`tf.linalg.lstsq`). Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// // The line through (0, 1), (1, 3) and (2, 5).
    /// let g = Graph::new();
    /// let points = g.constant([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])?;
    /// let line = points.matrix_solve_ls(g.constant([[1.0], [3.0], [5.0]])?, 0.0, true)?;
    /// let [line] = g.compile(line)?.run(&[])?;
    /// line.allclose(&Tensor::from([[2.0], [1.0]]), 1e-12, 0.0).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtypes differ or are not supported, a rank is below 2, the numbers of rows or the leading axes differ, or
    /// `l2_regularizer` is not an f64 scalar.
    #[doc(alias = "lstsq")]
    #[track_caller]
    pub fn matrix_solve_ls(
        self,
        rhs: impl IntoOperand<'g>,
        l2_regularizer: impl IntoOperand<'g>,
        fast: bool,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        // A Rust scalar or a dimension takes the dtype of this value.
        let f64_peer = self.graph().constant(0.0f64)?;
        let (rhs, l2) = (rhs.into_operand(self, location), l2_regularizer.into_operand(f64_peer, location));
        self.graph().op(&DEF).data(self).data(rhs).data(l2).attr("fast", fast).finish_at(location)
    }
}

pub(crate) static DEF: OpDef =
    OpDef::host("matrix_solve_ls", |cx| with_number_type!(dtype_of(cx)?, solve(cx)))
        .attrs(&[Attribute::bool_or("fast", true)])
        .operands(&[Operand::Data("matrix"), Operand::Data("rhs"), Operand::Data("l2_regularizer")])
        .shape_fn(linalg::matrix_solve_ls)
        .dtype_rule(|dtypes, _| {
            let dtype = dtype::common(dtypes, 0, 2, Class::Inexact)?;
            match dtypes.get(2) {
                Some(DType::F64) | None => Ok(vec![dtype]),
                Some(other) => dtype::refuse(format!("the regularizer must be f64, got {other}")),
            }
        })
        .tensorflow(&[TfOp::new("MatrixSolveLs"), TfOp::new("BatchMatrixSolveLs")]);

fn solve<T: MatrixNumber>(cx: &mut HostCx<'_>) -> Result<()> {
    let (matrices, sides) = (MatrixBatch::<T>::read(cx, 0)?, MatrixBatch::<T>::read(cx, 1)?);
    let l2 = cx.input(2)?.to_vec::<f64>()?.first().copied().unwrap_or(0.0);
    let is_fast = cx.attrs().bool("fast");
    let [_, unknowns] = matrices.shape();
    let [_, columns] = sides.shape();
    let epsilon = epsilon(dtype_of(cx)?);
    let solve = |a: Matrix<T>, b: Matrix<T>| {
        Ok(if is_fast { by_normal_equations(&a, &b, l2)? } else { by_orthogonal_factors(&a, b, epsilon) }
            .data)
    };
    let solutions = matrices.try_map_with(&sides, solve)?;
    let dtype = dtype_of(cx)?;
    set_batch(cx, 0, dtype, &sides.sizes, &[unknowns, columns], solutions)
}

/// Solves by the Cholesky factor of `aᴴ · a + l2`, or of `a · aᴴ + l2` if there are fewer equations than unknowns.
fn by_normal_equations<T: MatrixNumber>(a: &Matrix<T>, b: &Matrix<T>, l2: f64) -> Result<Matrix<T>> {
    let adjoint = a.adjoint();
    let is_tall = a.rows >= a.columns;
    let mut normal = if is_tall { adjoint.times(a) } else { a.times(&adjoint) };
    for i in 0..normal.rows {
        normal[(i, i)] += T::from_real(l2);
    }
    let lower = factor(&normal);
    if (0..lower.rows).any(|i| lower[(i, i)].real().is_nan()) {
        return refuse("a matrix must have full rank, got a lower rank")
            .map_err(|error| error.with_help("pass fast = false, or a larger regularizer"));
    }
    let solve = |side: Matrix<T>| {
        substitute(&lower.adjoint(), substitute(&lower, side, Triangle::Lower), Triangle::Upper)
    };
    Ok(if is_tall { solve(adjoint.times(b)) } else { adjoint.times(&solve(b.clone())) })
}

/// Returns the distance from 1 to the next number of a dtype, or of the parts of a complex dtype.
fn epsilon(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => half::f16::EPSILON.to_f64(),
        DType::BF16 => half::bf16::EPSILON.to_f64(),
        DType::F32 | DType::C64 => f64::from(f32::EPSILON),
        _ => f64::EPSILON,
    }
}

/// Solves by a complete orthogonal decomposition: a QR factorization with column pivoting shows the rank, and the
/// reflections of the rows of the triangular factor give the solution of least norm. Rows of the factor whose diagonal
/// is no larger than the errors of elements rounded with the relative error `epsilon` are left out. The solution is NaN
/// if an element of `a` is not finite.
fn by_orthogonal_factors<T: MatrixNumber>(a: &Matrix<T>, mut b: Matrix<T>, epsilon: f64) -> Matrix<T> {
    let (rows, unknowns, columns) = (a.rows, a.columns, b.columns);
    let Some(scale) = scale_of(a) else {
        return Matrix::from_fn(unknowns, columns, |_, _| T::from_real(f64::NAN));
    };
    let scaled = Matrix::from_fn(unknowns, rows, |row, column| a[(column, row)].over(scale));
    let PivotedQr { triangle, order, reflections } = PivotedQr::of_columns(scaled);
    for (step, reflection) in reflections.iter().enumerate() {
        if let Some(reflection) = reflection {
            reflection.rows(&mut b, step, 0..columns);
        }
    }
    let pivot = |i: usize| triangle[(i, i)].magnitude();
    let least = if triangle.rows > 0 { pivot(0) * epsilon * rows.max(unknowns) as f64 } else { 0.0 };
    let rank = (0..triangle.rows).take_while(|i| pivot(*i) > least).count();
    let (triangle, side) = (triangle.block(0..rank, 0..unknowns), b.block(0..rank, 0..columns));
    let solution = if rank == unknowns {
        substitute(&triangle, side, Triangle::Upper)
    } else {
        let (q, r) = qr(triangle.adjoint(), rank);
        q.times(&substitute(&r.block(0..rank, 0..rank).adjoint(), side, Triangle::Lower))
    };
    let mut x = Matrix::from_fn(unknowns, columns, |_, _| T::zero());
    for (row, unknown) in order.into_iter().enumerate() {
        for (x, value) in x.row_mut(unknown).iter_mut().zip(solution.row(row)) {
            *x = value.over(scale);
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::super::batch::numbers;
    use super::super::matrix::check_matrix;
    use super::*;
    use crate::ops::testing::{run, run_one, shape_table, tensor};

    shape_table! { DEF, {},
        "[b, m, n]; [b, m, k]; f64[]" => "[d0_0, d0_2, d1_2]",
        "[2, 3]; [4, 1]; f64[]" => error "the numbers of rows of matrix and rhs must agree, got 2 and 4",
        "i32[2, 3]; i32[2, 1]; f64[]" => error "must be a float or a complex number, got i32",
        "[2, 3]; [2, 1]; f32[]" => error "the regularizer must be f64, got f32",
    }

    fn solution<T: MatrixNumber>(
        rows: usize,
        columns: usize,
        l2: f64,
        is_fast: bool,
        dtype: DType,
    ) -> [Matrix<T>; 3] {
        let (a, b) = (numbers(dtype, &[rows, columns]), numbers(dtype, &[rows, 2]));
        let x =
            run_one(&DEF, &Attrs::new().with("fast", is_fast), &[a.clone(), b.clone(), tensor(&[], &[l2])]);
        [a, b, x].map(|tensor| MatrixBatch::of(&tensor.view()).unwrap().at(0))
    }

    /// Checks that the gradient of the minimized function is 0: `aᴴ · (a · x - b) + l2 · x = 0`.
    fn check<T: MatrixNumber + std::fmt::Debug>(dtype: DType) {
        for (rows, columns) in [(4, 2), (3, 3), (2, 4), (1, 1)] {
            for (l2, is_fast) in [(0.0, true), (0.5, true), (0.0, false)] {
                let [a, b, x] = solution::<T>(rows, columns, l2, is_fast, dtype);
                let product = a.times(&x);
                let rest = Matrix::from_fn(rows, 2, |row, column| product[(row, column)] - b[(row, column)]);
                let mut gradient = a.adjoint().times(&rest);
                for (part, x) in gradient.data.iter_mut().zip(&x.data) {
                    *part += T::from_real(l2) * *x;
                }
                check_matrix(&gradient, &Matrix::from_fn(columns, 2, |_, _| T::zero()));
            }
        }
    }

    #[test]
    fn solutions_are_at_a_minimum() {
        check::<f64>(DType::F64);
        check::<num_complex::Complex64>(DType::C128);
    }

    #[test]
    fn a_matrix_without_full_rank_has_a_solution_of_least_norm() {
        let operands =
            [tensor(&[2, 2], &[1.0, 2.0, 2.0, 4.0]), tensor(&[2, 1], &[1.0, 2.0]), tensor(&[], &[0.0])];
        let x = run_one(&DEF, &Attrs::new().with("fast", false), &operands);
        x.allclose(&tensor(&[2, 1], &[0.2, 0.4]), 1e-14, 0.0).unwrap();
        let error = run(&DEF, &Attrs::new(), &operands).unwrap_err();
        assert!(error.message().starts_with("a matrix must have full rank"), "{error}");
    }

    /// The matrix has rank 2, more rows than columns or fewer, and the solution is in the span of its rows.
    #[test]
    fn solutions_of_least_norm_are_in_the_span_of_the_rows() {
        for (rows, columns) in [(5, 4), (3, 6), (4, 4)] {
            let of =
                |sizes: &[usize]| MatrixBatch::<f64>::of(&numbers(DType::F64, sizes).view()).unwrap().at(0);
            let (left, right) = (of(&[rows, 2]), of(&[2, columns]));
            let a = left.times(&right);
            let b = of(&[rows, 3]);
            let x = by_orthogonal_factors(&a, b.clone(), f64::EPSILON);
            let product = a.times(&x);
            let rest = Matrix::from_fn(rows, 3, |row, column| product[(row, column)] - b[(row, column)]);
            check_matrix(&a.adjoint().times(&rest), &Matrix::from_fn(columns, 3, |_, _| 0.0));
            let weights = by_orthogonal_factors(&right.adjoint(), x.clone(), f64::EPSILON);
            check_matrix(&right.adjoint().times(&weights), &x);
            let nan = Matrix::from_fn(rows, columns, |_, _| f64::NAN);
            assert!(by_orthogonal_factors(&nan, b, f64::EPSILON).data.iter().all(|x| x.is_nan()));
        }
    }

    /// The second row is a tenth of the first, rounded to f32. Its rounding error is no information.
    #[test]
    fn singular_values_below_the_rounding_of_the_dtype_are_dropped() {
        let (a, b) = (tensor(&[2, 2], &[1.0f32, 3.0, 0.1, 0.3]), tensor(&[2, 1], &[3.0f32, 0.5]));
        let x = run_one(&DEF, &Attrs::new().with("fast", false), &[a, b, tensor(&[], &[0.0])]);
        assert!(x.to_vec::<f32>().unwrap().iter().all(|x| x.abs() < 2.0), "{x:?}");
    }

    #[test]
    fn no_equations_leave_zeros() {
        for is_fast in [true, false] {
            let x = solution::<f64>(0, 2, 0.5, is_fast, DType::F64);
            assert_eq!(x[2].data, [0.0; 4]);
        }
    }
}
