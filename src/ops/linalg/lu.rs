//! `matrix_solve`, `matrix_inverse` and determinants, by elimination with partial pivoting.

use std::panic::Location;

use shapeflow_shape_fns::Attribute;

use super::batch::{MatrixBatch, dtype_of, refuse, set_batch};
use super::matrix::Matrix;
use super::number::{MatrixNumber, with_number_type};
use super::triangular::{Triangle, substitute};
use super::vectors::{add_scaled, subtract_scaled_rows};
use crate::dtype;
use crate::error::Result;
use crate::graph::{IntoOperand, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::array::unstack::exactly;
use crate::shape_fns::linalg;

impl<'g> Value<'g> {
    /// Solves systems of linear equations: the matrix `x` for which `self · x = rhs`. With `adjoint`, the conjugate
    /// transpose of `self` takes the place of `self`.
    ///
    /// `[..batch, n, n], [..batch, n, k] -> [..batch, n, k]`, floats and complex numbers of one dtype, computed in f64
    /// and rounded once. As TensorFlow's `MatrixSolve`. Runs on the host.
    ///
    /// ```
    /// let g = shapeflow::Graph::new();
    /// let (a, b) = (g.constant([[2.0f32, 1.0], [1.0, 3.0]])?, g.constant([[3.0f32], [5.0]])?);
    /// let [x] = g.compile(a.matrix_solve(b, false)?)?.run(&[])?;
    /// assert_eq!(x.to_vec::<f32>()?, [0.8, 1.4]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtypes differ or are not supported, a rank is below 2, or sizes differ. The run fails if a matrix is not
    /// invertible.
    #[doc(alias = "solve")]
    #[track_caller]
    pub fn matrix_solve(self, rhs: impl IntoOperand<'g>, adjoint: bool) -> Result<Value<'g>> {
        let location = Location::caller();
        let rhs = rhs.into_operand(self, location);
        self.graph().op(&SOLVE).data(self).data(rhs).attr("adjoint", adjoint).finish_at(location)
    }

    /// Inverts square matrices. With `adjoint`, the conjugate transpose of `self` takes the place of `self`.
    ///
    /// `[..batch, n, n] -> [..batch, n, n]`, floats and complex numbers, computed in f64 and rounded once. As
    /// TensorFlow's `MatrixInverse`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[1.0, 2.0], [3.0, 4.0]])?.matrix_inverse(false)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([[-2.0, 1.0], [1.5, -0.5]]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not supported, or the last two axes differ. The run fails if a matrix is not invertible.
    #[doc(alias = "inv")]
    #[doc(alias = "inverse")]
    #[track_caller]
    pub fn matrix_inverse(self, adjoint: bool) -> Result<Value<'g>> {
        self.graph().op(&INVERSE).data(self).attr("adjoint", adjoint).finish()
    }

    /// Returns the determinants of square matrices; 1 for an empty matrix.
    ///
    /// `[..batch, n, n] -> [..batch]`, floats and complex numbers, computed in f64 and rounded once. As TensorFlow's
    /// `MatrixDeterminant`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[1.0, 2.0], [3.0, 4.0]])?.matrix_determinant()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from(-2.0), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not supported, or the last two axes differ.
    #[doc(alias = "det")]
    #[track_caller]
    pub fn matrix_determinant(self) -> Result<Value<'g>> {
        self.graph().op(&DETERMINANT).data(self).finish()
    }

    /// Returns the sign of the determinant of each square matrix, a number of absolute value 1 or 0, and the logarithm
    /// of the absolute value of the determinant, which is -inf for the sign 0.
    ///
    /// `[..batch, n, n] -> [..batch], [..batch]`, floats and complex numbers, computed in f64 and rounded once. As
    /// TensorFlow's `LogMatrixDeterminant`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let [sign, logarithm] = g.constant([[1.0, 2.0], [3.0, 4.0]])?.log_matrix_determinant()?;
    /// let [sign, logarithm] = g.compile([sign, logarithm])?.run(&[])?;
    /// assert_eq!(sign.item::<f64>()?, -1.0);
    /// logarithm.allclose(&Tensor::from(0.6931), 1e-3, 0.0).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not supported, or the last two axes differ.
    #[doc(alias = "logdet")]
    #[doc(alias = "slogdet")]
    #[track_caller]
    pub fn log_matrix_determinant(self) -> Result<[Value<'g>; 2]> {
        exactly(self.graph().op(&LOG_DETERMINANT).data(self).finish_all()?)
    }
}

pub(crate) static SOLVE: OpDef =
    OpDef::host("matrix_solve", |cx| with_number_type!(dtype_of(cx)?, solve(cx)))
        .attrs(&[Attribute::bool_or("adjoint", false)])
        .operands(&[Operand::Data("matrix"), Operand::Data("rhs")])
        .shape_fn(linalg::matrix_solve)
        .dtype_rule(dtype::binary::inexact)
        .tensorflow(&[TfOp::new("MatrixSolve"), TfOp::new("BatchMatrixSolve")]);

pub(crate) static INVERSE: OpDef =
    OpDef::host("matrix_inverse", |cx| with_number_type!(dtype_of(cx)?, invert(cx)))
        .attrs(&[Attribute::bool_or("adjoint", false)])
        .operands(&[Operand::Data("input")])
        .shape_fn(linalg::square_matrix)
        .dtype_rule(dtype::unary::inexact)
        .tensorflow(&[TfOp::new("MatrixInverse"), TfOp::new("BatchMatrixInverse")]);

pub(crate) static DETERMINANT: OpDef =
    OpDef::host("matrix_determinant", |cx| with_number_type!(dtype_of(cx)?, determinant(cx)))
        .operands(&[Operand::Data("input")])
        .shape_fn(linalg::determinant)
        .dtype_rule(dtype::unary::inexact)
        .tensorflow(&[TfOp::new("MatrixDeterminant"), TfOp::new("BatchMatrixDeterminant")]);

pub(crate) static LOG_DETERMINANT: OpDef =
    OpDef::host("log_matrix_determinant", |cx| with_number_type!(dtype_of(cx)?, log_determinant(cx)))
        .operands(&[Operand::Data("input")])
        .outputs(|_, _| 2)
        .shape_fn(linalg::determinant)
        .dtype_rule(|dtypes, _| Ok(vec![dtype::common(dtypes, 0, 1, dtype::Class::Inexact)?; 2]))
        .tensorflow(&[TfOp::new("LogMatrixDeterminant")]);

/// The number of columns that are eliminated before the columns after them are updated by a product of matrices.
const BLOCK: usize = 32;

/// The factors of a matrix whose rows are permuted: `U`, and below its diagonal `L`, whose diagonal is 1.
pub(super) struct Lu<T> {
    pub(super) factors: Matrix<T>,
    /// For each row of the permuted matrix, the number of this row in the given matrix.
    pub(super) order: Vec<usize>,
    is_odd: bool,
}

impl<T: MatrixNumber> Lu<T> {
    pub(super) fn new(mut a: Matrix<T>) -> Lu<T> {
        let size = a.rows;
        let mut order: Vec<usize> = (0..size).collect();
        let mut is_odd = false;
        for start in (0..size).step_by(BLOCK) {
            let end = size.min(start + BLOCK);
            for column in start..end {
                let larger = |best: usize, row: usize| {
                    if a[(row, column)].magnitude() > a[(best, column)].magnitude() { row } else { best }
                };
                let pivot = (column + 1..size).fold(column, larger);
                if pivot != column {
                    a.swap_rows(pivot, column);
                    order.swap(pivot, column);
                    is_odd = !is_odd;
                }
                eliminate(&mut a, column, end);
            }
            if end < size {
                // The panel of columns is done. The other columns of its rows are next, then the rest of the matrix.
                for row in start + 1..end {
                    let (above, below) = a.data.split_at_mut(row * size);
                    let (factors, rest) = below[..size].split_at_mut(end);
                    subtract_scaled_rows(rest, &factors[start..row], &above[start * size + end..], size);
                }
                let product = a.block(end..size, start..end).times(&a.block(start..end, end..size));
                a.subtract_block(end, end, &product);
            }
        }
        Lu { factors: a, order, is_odd }
    }

    fn diagonal(&self) -> impl Iterator<Item = T> + '_ {
        (0..self.factors.rows).map(|i| self.factors[(i, i)])
    }

    pub(super) fn is_singular(&self) -> bool {
        self.diagonal().any(|x| x == T::zero())
    }

    /// Returns the solution of the system; the matrix must not be singular.
    pub(super) fn solve(&self, rhs: &Matrix<T>) -> Matrix<T> {
        let mut x = Vec::with_capacity(rhs.data.len());
        for row in &self.order {
            x.extend_from_slice(rhs.row(*row));
        }
        let x = Matrix { rows: rhs.rows, columns: rhs.columns, data: x };
        substitute(&self.factors, substitute(&self.factors, x, Triangle::UnitLower), Triangle::Upper)
    }
}

/// Subtracts multiples of the pivot row from the rows below, in the columns after `column` and before `end`.
fn eliminate<T: MatrixNumber>(a: &mut Matrix<T>, column: usize, end: usize) {
    let size = a.columns;
    let divisor = a[(column, column)];
    if divisor == T::zero() {
        return;
    }
    let (above, below) = a.data.split_at_mut((column + 1) * size);
    let pivot = &above[column * size..][column + 1..end];
    for row in below.chunks_exact_mut(size) {
        let factor = row[column].divide(divisor);
        row[column] = factor;
        add_scaled(&mut row[column + 1..end], -factor, pivot);
    }
}

/// Factors a matrix, or its conjugate transpose with `is_adjoint`.
fn factor<T: MatrixNumber>(a: Matrix<T>, is_adjoint: bool) -> Result<Lu<T>> {
    let lu = Lu::new(if is_adjoint { a.adjoint() } else { a });
    if lu.is_singular() { refuse("a matrix must be invertible, got a singular one") } else { Ok(lu) }
}

fn solve<T: MatrixNumber>(cx: &mut HostCx<'_>) -> Result<()> {
    let (matrices, sides) = (MatrixBatch::<T>::read(cx, 0)?, MatrixBatch::<T>::read(cx, 1)?);
    let is_adjoint = cx.attrs().bool("adjoint");
    // Without right-hand sides, every matrix has the solution.
    let solutions = matrices.try_map_with(&sides, |a, b| {
        Ok(if b.columns == 0 { b.data } else { factor(a, is_adjoint)?.solve(&b).data })
    })?;
    let dtype = dtype_of(cx)?;
    set_batch(cx, 0, dtype, &sides.sizes, &sides.shape(), solutions)
}

fn invert<T: MatrixNumber>(cx: &mut HostCx<'_>) -> Result<()> {
    let matrices = MatrixBatch::<T>::read(cx, 0)?;
    let is_adjoint = cx.attrs().bool("adjoint");
    let inverses = matrices.try_map(|a| {
        let identity = Matrix::identity(a.rows);
        Ok(factor(a, is_adjoint)?.solve(&identity).data)
    })?;
    let dtype = dtype_of(cx)?;
    set_batch(cx, 0, dtype, &matrices.sizes, &matrices.shape(), inverses)
}

fn determinant<T: MatrixNumber>(cx: &mut HostCx<'_>) -> Result<()> {
    let matrices = MatrixBatch::<T>::read(cx, 0)?;
    let determinants = matrices.try_map(|a| {
        let lu = Lu::new(a);
        let sign = if lu.is_odd { -T::one() } else { T::one() };
        Ok(vec![lu.diagonal().fold(sign, |product, x| product * x)])
    })?;
    let dtype = dtype_of(cx)?;
    set_batch(cx, 0, dtype, &matrices.sizes, &[], determinants)
}

fn log_determinant<T: MatrixNumber>(cx: &mut HostCx<'_>) -> Result<()> {
    let matrices = MatrixBatch::<T>::read(cx, 0)?;
    let both = matrices.try_map(|a| {
        let lu = Lu::new(a);
        let mut sign = if lu.is_odd { -T::one() } else { T::one() };
        let mut logarithm = 0.0;
        for x in lu.diagonal() {
            let magnitude = x.magnitude();
            logarithm += magnitude.ln();
            sign = sign * if magnitude == 0.0 { T::zero() } else { x.over(magnitude) };
        }
        Ok((vec![sign], vec![T::from_real(logarithm)]))
    })?;
    let (signs, logarithms) = both.into_iter().unzip();
    let dtype = dtype_of(cx)?;
    set_batch(cx, 0, dtype, &matrices.sizes, &[], signs)?;
    set_batch(cx, 1, dtype, &matrices.sizes, &[], logarithms)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::{Attrs, DType};

    use super::super::batch::numbers;
    use super::super::matrix::check_matrix;
    use super::*;
    use crate::ops::testing::{check_tensor, run, run_one, shape_table, tensor};
    use crate::tensor::Tensor;

    shape_table! { SOLVE, {"adjoint": false},
        "[b, n, 3]; [?, 3, k]" => "[d0_0, 3, d1_2]",
        "[2, 2]; f64[2, 2]" => error "one dtype, got f32 and f64",
        "[2, 3]; [2, 2]" => error "",
    }
    shape_table! { determinants: DETERMINANT, {},
        "c64[b, n, 3]" => "c64[d0_0]",
        "i32[2, 2]" => error "must be a float or a complex number, got i32",
    }

    fn inverses<T: MatrixNumber + std::fmt::Debug>(dtype: DType) {
        for size in [0, 1, 2, 5, 9, 33, 70] {
            let a = numbers(dtype, &[2, size, size]);
            let inverse = run_one(&INVERSE, &Attrs::new(), std::slice::from_ref(&a));
            let adjoint = Attrs::new().with("adjoint", true);
            let rhs = numbers(dtype, &[2, size, 3]);
            let x = run_one(&SOLVE, &adjoint, &[a.clone(), rhs.clone()]);
            let batch = |x: &Tensor| MatrixBatch::<T>::of(&x.view()).unwrap();
            for number in 0..2 {
                let a = batch(&a).at(number);
                check_matrix(&a.times(&batch(&inverse).at(number)), &Matrix::identity(size));
                check_matrix(&a.adjoint().times(&batch(&x).at(number)), &batch(&rhs).at(number));
            }
        }
    }

    #[test]
    fn inverses_and_solutions_solve_the_system() {
        inverses::<f64>(DType::F64);
        inverses::<num_complex::Complex64>(DType::C128);
    }

    #[test]
    fn more_empty_matrices_than_memory_holds_are_refused() {
        let x = Tensor::zeros(DType::F64, &[1 << 50, 0, 0]).unwrap();
        for def in [&DETERMINANT, &INVERSE] {
            let error = run(def, &Attrs::new(), std::slice::from_ref(&x)).unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::Memory);
        }
    }

    /// The squares of these numbers overflow or underflow.
    #[test]
    fn complex_numbers_of_extreme_scale_are_divided() {
        for scale in [1e-300, 1e-200, 1e160, 1e300] {
            let matrix = |[re, im]: [f64; 2]| {
                Tensor::from_bits(DType::C128, &[1, 1], &[re * scale, im * scale]).unwrap()
            };
            let operands = [matrix([1.0, 1.0]), matrix([1.0, 0.0])];
            for def in [&SOLVE, &super::super::triangular::SOLVE] {
                let x = run_one(def, &Attrs::new(), &operands);
                let x = MatrixBatch::<num_complex::Complex64>::of(&x.view()).unwrap().at(0);
                assert!(
                    (x.data[0] - num_complex::Complex64::new(0.5, -0.5)).norm() < 1e-15,
                    "{scale}: {x:?}"
                );
            }
        }
    }

    #[test]
    fn singular_matrices_have_the_determinant_0_and_no_inverse() {
        let a = tensor(&[2, 2], &[1.0f32, 2.0, 2.0, 4.0]);
        check_tensor(
            &run_one(&DETERMINANT, &Attrs::new(), std::slice::from_ref(&a)),
            &tensor(&[], &[0.0f32]),
            "det",
        );
        let [sign, logarithm] = &run(&LOG_DETERMINANT, &Attrs::new(), std::slice::from_ref(&a)).unwrap()[..]
        else {
            panic!()
        };
        assert_eq!((sign.item::<f32>().unwrap(), logarithm.item::<f32>().unwrap()), (0.0, f32::NEG_INFINITY));
        let error = run(&INVERSE, &Attrs::new(), std::slice::from_ref(&a)).unwrap_err();
        assert!(error.message().starts_with("a matrix must be invertible, got a singular one"), "{error}");
        let none = tensor::<f32>(&[2, 0], &[]);
        assert_eq!(run_one(&SOLVE, &Attrs::new(), &[a.clone(), none.clone()]), none);
        let swapped = tensor(&[2, 2], &[0.0f64, 2.0, 3.0, 1.0]);
        check_tensor(&run_one(&DETERMINANT, &Attrs::new(), &[swapped]), &tensor(&[], &[-6.0f64]), "det");
    }
}
