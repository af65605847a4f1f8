//! `banded_triangular_solve`: systems of linear equations with a triangular matrix, given by its diagonals.

use std::panic::Location;

use shapeflow_shape_fns::Attribute;

use super::batch::{MatrixBatch, broadcast, dtype_of, refuse, set_batch};
use super::matrix::Matrix;
use super::number::{MatrixNumber, with_number_type};
use crate::dtype;
use crate::error::Result;
use crate::graph::{IntoOperand, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::shape_fns::linalg;

impl<'g> Value<'g> {
    /// Solves triangular systems of linear equations: returns the matrix `x` for which `a · x = rhs`, where `self`
    /// holds `k` diagonals of the matrix `a`. With `lower`, `a[i, i - j] = self[j, i]`: row 0 is the main diagonal, and
    /// each row ends where its diagonal ends. Otherwise `a[i, i + k - 1 - j] = self[j, i]`: the last row is the main
    /// diagonal, and each row begins where its diagonal begins. The op does not read the other elements of `self`. With
    /// `adjoint`, the conjugate transpose of `a` takes the place of `a`.
    ///
    /// `[..a, k, n], [..b, n, m] -> [..broadcast, n, m]`, floats and complex numbers of one dtype, computed in f64 and
    /// rounded once. As TensorFlow's `BandedTriangularSolve`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// // The matrix [[2, 0, 0], [1, 4, 0], [0, 3, 1]].
    /// let bands = g.constant([[2.0, 4.0, 1.0], [0.0, 1.0, 3.0]])?;
    /// let y = bands.banded_triangular_solve(g.constant([[2.0], [9.0], [7.0]])?, true, false)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[1.0], [2.0], [1.0]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtypes differ or are not supported, a rank is below 2, `k` is not from 1 to `n`, sizes differ, or leading
    /// axes do not broadcast. The run fails if an element of a main diagonal is 0, or an operand has no elements.
    #[doc(alias = "solve_banded")]
    #[track_caller]
    pub fn banded_triangular_solve(
        self,
        rhs: impl IntoOperand<'g>,
        lower: bool,
        adjoint: bool,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        let rhs = rhs.into_operand(self, location);
        let call = self.graph().op(&DEF).data(self).data(rhs).attr("lower", lower).attr("adjoint", adjoint);
        call.finish_at(location)
    }
}

pub(crate) static DEF: OpDef =
    OpDef::host("banded_triangular_solve", |cx| with_number_type!(dtype_of(cx)?, solve(cx)))
        .attrs(&[Attribute::bool_or("lower", true), Attribute::bool_or("adjoint", false)])
        .operands(&[Operand::Data("matrix"), Operand::Data("rhs")])
        .shape_fn(linalg::banded_triangular_solve)
        .dtype_rule(dtype::binary::inexact)
        .tensorflow(&[TfOp::new("BandedTriangularSolve")]);

fn solve<T: MatrixNumber>(cx: &mut HostCx<'_>) -> Result<()> {
    for operand in 0..2 {
        if cx.input(operand)?.is_empty() {
            return refuse("the diagonals and the right-hand sides must have elements, got none");
        }
    }
    let (bands, sides) = (MatrixBatch::<T>::read(cx, 0)?, MatrixBatch::<T>::read(cx, 1)?);
    let (is_lower, is_adjoint) = (cx.attrs().bool("lower"), cx.attrs().bool("adjoint"));
    let (sizes, pairs) = broadcast(&bands.sizes, &sides.sizes)?;
    let solutions = bands.in_parts(pairs.len(), |number| {
        let [a, b] = pairs[number];
        let solution = substitute(&bands.at(a), sides.at(b), is_lower, is_adjoint);
        Ok(solution.map_err(|error| bands.in_matrix(a, error))?.data)
    })?;
    let dtype = dtype_of(cx)?;
    set_batch(cx, 0, dtype, &sizes, &sides.shape(), solutions)
}

/// Solves a system by substitution.
fn substitute<T: MatrixNumber>(
    bands: &Matrix<T>,
    mut x: Matrix<T>,
    is_lower: bool,
    is_adjoint: bool,
) -> Result<Matrix<T>> {
    let size = bands.columns;
    // The element of the matrix that is `offset` rows or columns away from element `i` of the main diagonal.
    let stored =
        |i: usize, offset: usize| bands[(if is_lower { offset } else { bands.rows - 1 - offset }, i)];
    let is_forward = is_lower != is_adjoint;
    for step in 0..size {
        let row = if is_forward { step } else { size - 1 - step };
        for offset in 1..bands.rows.min(step + 1) {
            let other = if is_forward { row - offset } else { row + offset };
            let factor = if is_adjoint { stored(other, offset).conj() } else { stored(row, offset) };
            x.add_row(row, -factor, other);
        }
        let diagonal = stored(row, 0);
        let divisor = if is_adjoint { diagonal.conj() } else { diagonal };
        if divisor == T::zero() {
            return refuse("the diagonal of a triangular matrix must have no 0, got one");
        }
        for column in 0..x.columns {
            x[(row, column)] = x[(row, column)].divide(divisor);
        }
    }
    Ok(x)
}

#[cfg(test)]
mod tests {
    use num_complex::Complex64;
    use shapeflow_shape_fns::{Attrs, DType};

    use super::super::batch::numbers;
    use super::super::matrix::check_matrix;
    use super::*;
    use crate::ops::testing::{run, run_one, shape_table, tensor};

    shape_table! { DEF, {"lower": true},
        "[2, 1, 2, 4]; [?, 4, k]" => "[2, d1_0, 4, d1_2]",
        "[5, 4]; [4, 1]" => error "must have 1 to 4 bands",
        "[2, 2]; f64[2, 2]" => error "one dtype, got f32 and f64",
    }

    fn check<T: MatrixNumber + std::fmt::Debug>(dtype: DType) {
        for (count, size) in [(1, 1), (1, 3), (2, 5), (5, 5)] {
            let (x, rhs) = (numbers(dtype, &[count, size]), numbers(dtype, &[2, size, 3]));
            let bands = MatrixBatch::<T>::of(&x.view()).unwrap().at(0);
            for (lower, adjoint) in [(true, false), (true, true), (false, false), (false, true)] {
                let a = Matrix::from_fn(size, size, |row, column| {
                    let (offset, band) = match lower {
                        true => (row.wrapping_sub(column), 0),
                        false => (column.wrapping_sub(row), count - 1),
                    };
                    match offset < count {
                        true => bands[(band.abs_diff(offset), row)],
                        false => T::zero(),
                    }
                });
                let a = if adjoint { a.adjoint() } else { a };
                let attrs = Attrs::new().with("lower", lower).with("adjoint", adjoint);
                let y = run_one(&DEF, &attrs, &[x.clone(), rhs.clone()]);
                for number in 0..2 {
                    let part = |x: &crate::Tensor| MatrixBatch::<T>::of(&x.view()).unwrap().at(number);
                    check_matrix(&a.times(&part(&y)), &part(&rhs));
                }
            }
        }
    }

    #[test]
    fn solutions_give_the_right_hand_sides_back() {
        check::<f64>(DType::F64);
        check::<Complex64>(DType::C128);
    }

    #[test]
    fn a_zero_on_the_diagonal_fails_the_run() {
        let operands = [tensor(&[1, 2], &[1.0f64, 0.0]), tensor(&[2, 1], &[1.0f64, 0.0])];
        let error = run(&DEF, &Attrs::new(), &operands).unwrap_err();
        assert!(error.message().contains("the diagonal of a triangular matrix must have no 0"));
    }
}
