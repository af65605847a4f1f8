//! `tridiagonal_solve` and `tridiagonal_matmul`: matrices with three diagonals.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, InferenceContext, ShapeError};

use super::batch::{MatrixBatch, dtype_of, refuse, set_batch};
use super::matrix::Matrix;
use super::number::{MatrixNumber, with_number_type};
use crate::dtype::{self, Class};
use crate::error::Result;
use crate::graph::{IntoOperand, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::shape_fns::linalg;

impl<'g> Value<'g> {
    /// Solves systems of linear equations whose matrices have three diagonals, the rows of `self`: above the main
    /// diagonal, the main diagonal, below it. The last element of the first row and the first element of the last row
    /// have no effect. Rows are exchanged where this makes the solution more precise.
    ///
    /// `[..batch, 3, n], [..batch, n, k] -> [..batch, n, k]`, floats and complex numbers of one dtype, computed in f64
    /// and rounded once. As TensorFlow's `TridiagonalSolve`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let diagonals = g.constant([[1.0, 1.0, 0.0], [2.0, 2.0, 2.0], [0.0, 1.0, 1.0]])?;
    /// let y = diagonals.tridiagonal_solve(g.constant([[3.0], [4.0], [3.0]])?)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([[1.0], [1.0], [1.0]]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtypes differ or are not supported, a rank is below 2, or sizes differ. The run fails if a matrix is not
    /// invertible.
    #[track_caller]
    pub fn tridiagonal_solve(self, rhs: impl IntoOperand<'g>) -> Result<Value<'g>> {
        self.binary(&SOLVE, rhs, Location::caller())
    }

    /// Multiplies matrices of three diagonals by matrices: `self` is the main diagonal, `above` the diagonal above it,
    /// and `below` the diagonal below it. The last element of `above` and the first element of `below` have no effect.
    ///
    /// `[..batch, 1, n]` three times, `[..batch, n, k] -> [..batch, n, k]`, floats and complex numbers of one dtype,
    /// computed in f64 and rounded once. As TensorFlow's `TridiagonalMatMul`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let [above, below] = [g.constant([[1.0, 1.0, 0.0]])?, g.constant([[0.0, 1.0, 1.0]])?];
    /// let x = g.constant([[1.0], [1.0], [1.0]])?;
    /// let y = g.constant([[2.0, 2.0, 2.0]])?.tridiagonal_matmul(above, below, x)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([[3.0], [4.0], [3.0]]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtypes differ or are not supported, a rank is below 2, or sizes differ.
    #[track_caller]
    pub fn tridiagonal_matmul(self, above: Value<'g>, below: Value<'g>, rhs: Value<'g>) -> Result<Value<'g>> {
        self.graph().op(&MATMUL).data_all(&[above, self, below, rhs]).finish()
    }
}

pub(crate) static SOLVE: OpDef =
    OpDef::host("tridiagonal_solve", |cx| with_number_type!(dtype_of(cx)?, solve(cx)))
        .attrs(&[Attribute::bool_or("perturb_singular", false)])
        .operands(&[Operand::Data("diagonals"), Operand::Data("rhs")])
        .shape_fn(shape)
        .dtype_rule(dtype::binary::inexact)
        .tensorflow(&[TfOp::new("TridiagonalSolve")]);

pub(crate) static MATMUL: OpDef =
    OpDef::host("tridiagonal_matmul", |cx| with_number_type!(dtype_of(cx)?, multiply(cx)))
        .operands(&[
            Operand::Data("superdiag"),
            Operand::Data("maindiag"),
            Operand::Data("subdiag"),
            Operand::Data("rhs"),
        ])
        .shape_fn(linalg::tridiagonal_matmul)
        .dtype_rule(|dtypes, _| Ok(vec![dtype::common(dtypes, 0, 4, Class::Inexact)?]))
        .tensorflow(&[TfOp::new("TridiagonalMatMul")]);

/// Infers the shape of the solutions, and refuses to perturb the diagonals of singular matrices.
fn shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    if cx.bool_or("perturb_singular", false)? {
        return Err(ShapeError::new("perturb_singular must be false, got true"));
    }
    linalg::tridiagonal_solve(cx)
}

fn solve<T: MatrixNumber>(cx: &mut HostCx<'_>) -> Result<()> {
    let (matrices, sides) = (MatrixBatch::<T>::read(cx, 0)?, MatrixBatch::<T>::read(cx, 1)?);
    let solutions = matrices.try_map_with(&sides, |diagonals, rhs| Ok(eliminate(&diagonals, rhs)?.data))?;
    let dtype = dtype_of(cx)?;
    set_batch(cx, 0, dtype, &sides.sizes, &sides.shape(), solutions)
}

/// Solves a system by elimination. Exchanging two rows gives a third diagonal on the right.
fn eliminate<T: MatrixNumber>(diagonals: &Matrix<T>, mut x: Matrix<T>) -> Result<Matrix<T>> {
    let size = x.rows;
    if x.columns == 0 {
        // Without right-hand sides, every matrix has the solution.
        return Ok(x);
    }
    let diagonal = |row: usize| diagonals.data[row * size..][..size].to_vec();
    let (mut above, mut main, mut below) = (diagonal(0), diagonal(1), diagonal(2));
    let mut second = vec![T::zero(); size];
    for row in 0..size.saturating_sub(1) {
        if below[row + 1].magnitude() > main[row].magnitude() {
            std::mem::swap(&mut main[row], &mut below[row + 1]);
            std::mem::swap(&mut main[row + 1], &mut above[row]);
            if row + 2 < size {
                second[row] = above[row + 1];
                above[row + 1] = T::zero();
            }
            x.swap_rows(row, row + 1);
        }
        if main[row] == T::zero() {
            return singular();
        }
        let factor = below[row + 1].divide(main[row]);
        main[row + 1] -= factor * above[row];
        if row + 2 < size {
            above[row + 1] -= factor * second[row];
        }
        x.add_row(row + 1, -factor, row);
    }
    for row in (0..size).rev() {
        if main[row] == T::zero() {
            return singular();
        }
        if row + 1 < size {
            x.add_row(row, -above[row], row + 1);
        }
        if row + 2 < size {
            x.add_row(row, -second[row], row + 2);
        }
        for column in 0..x.columns {
            x[(row, column)] = x[(row, column)].divide(main[row]);
        }
    }
    Ok(x)
}

fn singular<T>() -> Result<T> {
    refuse("a matrix must be invertible, got a singular one")
}

fn multiply<T: MatrixNumber>(cx: &mut HostCx<'_>) -> Result<()> {
    let diagonals: Vec<MatrixBatch<T>> =
        (0..3).map(|operand| MatrixBatch::read(cx, operand)).collect::<Result<_>>()?;
    let sides = MatrixBatch::<T>::read(cx, 3)?;
    let products = sides.in_parts(sides.len(), |number| {
        let [above, main, below] = [0, 1, 2].map(|diagonal| diagonals[diagonal].at(number));
        let rhs = sides.at(number);
        let mut product =
            Matrix::from_fn(rhs.rows, rhs.columns, |row, column| main[(0, row)] * rhs[(row, column)]);
        for row in 0..rhs.rows {
            let values = |row: usize| &rhs.data[row * rhs.columns..][..rhs.columns];
            if row + 1 < rhs.rows {
                product.add_scaled_row(row, above[(0, row)], values(row + 1));
            }
            if row > 0 {
                product.add_scaled_row(row, below[(0, row)], values(row - 1));
            }
        }
        Ok(product.data)
    })?;
    let dtype = dtype_of(cx)?;
    set_batch(cx, 0, dtype, &sides.sizes, &sides.shape(), products)
}

#[cfg(test)]
mod tests {
    use num_complex::Complex64;
    use shapeflow_shape_fns::{Attrs, DType};

    use super::super::batch::numbers;
    use super::super::matrix::check_matrix;
    use super::*;
    use crate::ops::testing::{run, run_one, shape_table, tensor};
    use crate::tensor::Tensor;

    shape_table! { SOLVE, {},
        "[b, 3, n]; [?, 4, k]" => "[d0_0, 4, d1_2]",
        "[2, 4]; [4, 1]" => error "",
    }
    shape_table! { perturbed: SOLVE, {"perturb_singular": true},
        "[3, n]; [n, k]" => error "perturb_singular must be false, got true",
    }
    shape_table! { products: MATMUL, {},
        "f64[1, n]; f64[1, 4]; f64[1, ?]; f64[n, k]" => "f64[4, d3_1]",
        "[1, 4]; [1, 4]; [1, 4]; f64[4, 2]" => error "one dtype, got f32 and f64",
    }

    fn check<T: MatrixNumber + std::fmt::Debug>(dtype: DType) {
        let batch = |x: &Tensor| MatrixBatch::<T>::of(&x.view()).unwrap();
        for size in [1, 2, 3, 7] {
            let diagonals = numbers(dtype, &[3, size]);
            let rhs = numbers(dtype, &[size, 2]);
            let d = batch(&diagonals).at(0);
            let full = Matrix::from_fn(size, size, |row, column| match (row as i64) - (column as i64) {
                -1 => d[(0, row)],
                0 => d[(1, row)],
                1 => d[(2, row)],
                _ => T::zero(),
            });
            let x = run_one(&SOLVE, &Attrs::new(), &[diagonals, rhs.clone()]);
            check_matrix(&full.times(&batch(&x).at(0)), &batch(&rhs).at(0));
            let row = |row: usize| T::write(dtype, &[1, size], &d.data[row * size..][..size]).unwrap();
            let product = run_one(&MATMUL, &Attrs::new(), &[row(0), row(1), row(2), rhs.clone()]);
            check_matrix(&batch(&product).at(0), &full.times(&batch(&rhs).at(0)));
        }
    }

    #[test]
    fn solutions_and_products_are_those_of_the_full_matrix() {
        check::<f64>(DType::F64);
        check::<Complex64>(DType::C128);
    }

    #[test]
    fn a_singular_matrix_fails_the_run() {
        let diagonals = tensor(&[3, 2], &[1.0f64, 0.0, 1.0, 1.0, 0.0, 1.0]);
        let error = run(&SOLVE, &Attrs::new(), &[diagonals, tensor(&[2, 1], &[1.0f64, 1.0])]).unwrap_err();
        assert!(error.message().contains("must be invertible"));
    }
}
