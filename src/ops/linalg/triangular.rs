//! `cholesky` and `matrix_triangular_solve`.

use shapeflow_shape_fns::Attribute;

use std::panic::Location;

use super::batch::{MatrixBatch, broadcast, dtype_of, set_batch};
use super::matrix::Matrix;
use super::number::{MatrixNumber, with_number_type};
use super::vectors::inner_product;
use crate::dtype;
use crate::error::Result;
use crate::graph::{IntoOperand, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::shape_fns::linalg;

impl<'g> Value<'g> {
    /// Returns the Cholesky factors of positive definite Hermitian matrices: the lower triangular matrix `l` for which
    /// `l · lᴴ = self`. The op reads the lower triangles only. A matrix that is not positive definite, or has a
    /// NaN, gives a lower triangle of NaN.
    ///
    /// `[..batch, n, n] -> [..batch, n, n]`, floats and complex numbers, computed in f64 and rounded once. As
    /// TensorFlow's `Cholesky`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[4.0, 2.0], [2.0, 5.0]])?.cholesky()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([[2.0, 0.0], [1.0, 2.0]]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not supported, or the last two axes differ.
    #[track_caller]
    pub fn cholesky(self) -> Result<Value<'g>> {
        self.graph().op(&CHOLESKY).data(self).finish()
    }

    /// Solves triangular systems of linear equations: returns the matrix `x` for which `self · x = rhs`. With `lower`,
    /// the op reads the lower triangles of `self`, else the upper triangles. With `adjoint`, the op uses the conjugate
    /// transpose of the triangular matrix in its place.
    ///
    /// `[..a, n, n], [..b, n, k] -> [..broadcast, n, k]`, floats and complex numbers of one dtype, computed in f64 and
    /// rounded once. A 0 on a diagonal gives infinities and NaN. As TensorFlow's `MatrixTriangularSolve`. Runs on the
    /// host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let lower = g.constant([[2.0, 0.0], [1.0, 4.0]])?;
    /// let y = lower.matrix_triangular_solve(g.constant([[2.0], [9.0]])?, true, false)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([[1.0], [2.0]]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtypes differ or are not supported, a rank is below 2, sizes differ, or leading axes do not broadcast.
    #[doc(alias = "triangular_solve")]
    #[doc(alias = "solve_triangular")]
    #[track_caller]
    pub fn matrix_triangular_solve(
        self,
        rhs: impl IntoOperand<'g>,
        lower: bool,
        adjoint: bool,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        let rhs = rhs.into_operand(self, location);
        let call = self.graph().op(&SOLVE).data(self).data(rhs).attr("lower", lower).attr("adjoint", adjoint);
        call.finish_at(location)
    }
}

pub(crate) static CHOLESKY: OpDef =
    OpDef::host("cholesky", |cx| with_number_type!(dtype_of(cx)?, cholesky(cx)))
        .operands(&[Operand::Data("input")])
        .shape_fn(linalg::square_matrix)
        .dtype_rule(dtype::unary::inexact)
        .tensorflow(&[TfOp::new("Cholesky"), TfOp::new("BatchCholesky")]);

pub(crate) static SOLVE: OpDef =
    OpDef::host("matrix_triangular_solve", |cx| with_number_type!(dtype_of(cx)?, solve(cx)))
        .attrs(&[Attribute::bool_or("lower", true), Attribute::bool_or("adjoint", false)])
        .operands(&[Operand::Data("matrix"), Operand::Data("rhs")])
        .shape_fn(linalg::triangular_solve)
        .dtype_rule(dtype::binary::inexact)
        .tensorflow(&[
            TfOp::new("MatrixTriangularSolve"),
            TfOp::new("BatchMatrixTriangularSolve").own_shape_fn(),
        ]);

/// The number of rows or columns that are computed before all others are updated by a product of matrices.
const BLOCK: usize = 32;

fn cholesky<T: MatrixNumber>(cx: &mut HostCx<'_>) -> Result<()> {
    let matrices = MatrixBatch::<T>::read(cx, 0)?;
    let factors = matrices.try_map(|a| Ok(factor(&a).data))?;
    let dtype = dtype_of(cx)?;
    set_batch(cx, 0, dtype, &matrices.sizes, &matrices.shape(), factors)
}

/// Returns the factor of a matrix, or a lower triangle of NaN if the matrix is not positive definite.
pub(super) fn factor<T: MatrixNumber>(a: &Matrix<T>) -> Matrix<T> {
    let size = a.rows;
    let mut l = a.clone();
    for start in (0..size).step_by(BLOCK) {
        let end = size.min(start + BLOCK);
        for row in start..end {
            for column in start..=row {
                let known = inner_product(&l.row(column)[start..column], &l.row(row)[start..column]);
                let rest = l[(row, column)] - known;
                if column < row {
                    l[(row, column)] = rest.divide(l[(column, column)]);
                } else if rest.real() > 0.0 {
                    l[(row, row)] = T::from_real(rest.real().sqrt());
                } else {
                    l.data.fill(T::from_real(f64::NAN));
                    return lower_triangle(l);
                }
            }
        }
        if end < size {
            let right = l.block(end..size, start..end).adjoint();
            let right = substitute(&l.block(start..end, start..end), right, Triangle::Lower);
            let below = right.adjoint();
            for row in end..size {
                l.row_mut(row)[start..end].copy_from_slice(below.row(row - end));
            }
            l.subtract_block(end, end, &below.times(&right));
        }
    }
    lower_triangle(l)
}

/// Sets the elements above the diagonal to 0.
fn lower_triangle<T: MatrixNumber>(mut a: Matrix<T>) -> Matrix<T> {
    for row in 0..a.rows {
        a.row_mut(row)[row + 1..].fill(T::zero());
    }
    a
}

fn solve<T: MatrixNumber>(cx: &mut HostCx<'_>) -> Result<()> {
    let (matrices, sides) = (MatrixBatch::<T>::read(cx, 0)?, MatrixBatch::<T>::read(cx, 1)?);
    let (is_lower, adjoint) = (cx.attrs().bool("lower"), cx.attrs().bool("adjoint"));
    let (sizes, pairs) = broadcast(&matrices.sizes, &sides.sizes)?;
    let part = if is_lower != adjoint { Triangle::Lower } else { Triangle::Upper };
    let solutions = matrices.in_parts(pairs.len(), |number| {
        let [a, b] = pairs[number];
        let a = if adjoint { matrices.at(a).adjoint() } else { matrices.at(a) };
        Ok(substitute(&a, sides.at(b), part).data)
    })?;
    let dtype = dtype_of(cx)?;
    set_batch(cx, 0, dtype, &sizes, &sides.shape(), solutions)
}

/// The part of a matrix that is a triangular matrix.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Triangle {
    Lower,
    /// The lower triangle, with ones in place of the diagonal.
    UnitLower,
    Upper,
}

/// Solves a triangular system by substitution. A 0 on the diagonal gives infinities and NaN.
pub(super) fn substitute<T: MatrixNumber>(a: &Matrix<T>, mut x: Matrix<T>, part: Triangle) -> Matrix<T> {
    let (size, columns) = (a.rows, x.columns);
    if columns == 0 {
        return x;
    }
    for step in (0..size).step_by(BLOCK) {
        let length = BLOCK.min(size - step);
        // The rows of this block, and the rows that are solved.
        let (start, solved) = match part {
            Triangle::Upper => (size - step - length, size - step..size),
            _ => (step, 0..step),
        };
        if step > 0 {
            let factors = a.block(start..start + length, solved.clone());
            let values = &x.data[solved.start * columns..solved.end * columns];
            let data = T::multiply([length, step, columns], &factors.data, values);
            x.subtract_block(start, 0, &Matrix { rows: length, columns, data });
        }
        for i in 0..length {
            let (row, solved) = match part {
                Triangle::Upper => (start + length - 1 - i, start + length - i..start + length),
                _ => (start + i, start..start + i),
            };
            x.subtract_rows(row, &a.row(row)[solved.clone()], solved.start);
            if part != Triangle::UnitLower {
                let divisor = a[(row, row)];
                x.row_mut(row).iter_mut().for_each(|x| *x = x.divide(divisor));
            }
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use num_complex::Complex64;
    use shapeflow_shape_fns::{Attrs, DType};

    use super::super::batch::numbers;
    use super::super::matrix::check_matrix;
    use super::*;
    use crate::ops::testing::{run_one, shape_table, tensor};
    use crate::tensor::Tensor;

    shape_table! { CHOLESKY, {},
        "c64[b, n, 3]" => "c64[d0_0, 3, 3]",
        "[2, 3]" => error "",
        "i32[2, 2]" => error "must be a float or a complex number, got i32",
    }
    shape_table! { solutions: SOLVE, {"lower": true},
        "[5, 1, n, 3]; [?, 3, k]" => "[5, d1_0, 3, d1_2]",
        "[2, 2]; f64[2, 2]" => error "one dtype, got f32 and f64",
    }

    fn check<T: MatrixNumber + std::fmt::Debug>(dtype: DType) {
        let batch = |x: &Tensor| MatrixBatch::<T>::of(&x.view()).unwrap();
        for size in [0, 1, 2, 6, 33, 70] {
            // A product with its adjoint is positive definite if the matrix is invertible.
            let root = batch(&numbers(dtype, &[size, size])).at(0);
            let product = root.times(&root.adjoint());
            let a = T::write(dtype, &[size, size], &product.data).unwrap();
            let l = run_one(&CHOLESKY, &Attrs::new(), &[a]);
            let factor = batch(&l).at(0);
            check_matrix(&factor.times(&factor.adjoint()), &product);
            let rhs = numbers(dtype, &[2, size, 3]);
            for (lower, adjoint) in [(true, false), (true, true), (false, false), (false, true)] {
                let upper = T::write(dtype, &[size, size], &factor.adjoint().data).unwrap();
                let attrs = Attrs::new().with("lower", lower).with("adjoint", adjoint);
                let matrix = if lower { l.clone() } else { upper };
                let x = run_one(&SOLVE, &attrs, &[matrix, rhs.clone()]);
                let a = if lower != adjoint { factor.clone() } else { factor.adjoint() };
                for number in 0..2 {
                    check_matrix(&a.times(&batch(&x).at(number)), &batch(&rhs).at(number));
                }
            }
        }
    }

    #[test]
    fn factors_and_solutions_give_the_matrices_back() {
        check::<f64>(DType::F64);
        check::<Complex64>(DType::C128);
    }

    #[test]
    fn a_matrix_without_a_factor_gives_nan_and_one_without_a_solution_gives_infinities() {
        let a = tensor(&[2, 2], &[1.0f64, 0.0, 2.0, 1.0]);
        let l = run_one(&CHOLESKY, &Attrs::new(), &[a]).to_vec::<f64>().unwrap();
        assert!(l[0].is_nan() && l[1] == 0.0 && l[2].is_nan() && l[3].is_nan());
        let a = tensor(&[2, 2], &[1.0f64, 0.0, 2.0, 0.0]);
        let x = run_one(&SOLVE, &Attrs::new(), &[a, tensor(&[2, 1], &[1.0f64, 1.0])]);
        assert_eq!(x.to_vec::<f64>().unwrap(), [1.0, f64::NEG_INFINITY]);
    }
}
