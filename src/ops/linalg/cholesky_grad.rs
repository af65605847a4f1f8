//! `cholesky_grad`: the gradient of Cholesky factors.

use std::panic::Location;

use super::batch::{MatrixBatch, dtype_of, set_batch};
use super::matrix::Matrix;
use super::triangular::{Triangle, substitute};
use crate::dtype;
use crate::error::Result;
use crate::graph::{IntoOperand, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::shape_fns::linalg;

impl<'g> Value<'g> {
    /// Returns the gradient with respect to symmetric matrices. `self` holds the Cholesky factors of the matrices (see
    /// [`Value::cholesky`]), and `grad` the gradient with respect to the factors. The op reads the lower triangles
    /// only. The result is symmetric. A 0 on a diagonal gives infinities and NaN.
    ///
    /// `[..batch, n, n], grad [..batch, n, n] -> [..batch, n, n]`, floats, computed in f64 and rounded once. As
    /// TensorFlow's `CholeskyGrad`. Runs on the host.
    ///
    /// ```
    /// // The factor of [[4]] is [[2]], and d√a/da = 1/(2√a).
    /// let g = shapeflow::Graph::new();
    /// let grad = g.constant([[2.0]])?.cholesky_grad(g.constant([[1.0]])?)?;
    /// let [y] = g.compile(grad)?.run(&[])?;
    /// assert_eq!(y.to_vec::<f64>()?, [0.25]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtypes differ or are not floats, the shapes differ, or the last two axes differ.
    #[track_caller]
    pub fn cholesky_grad(self, grad: impl IntoOperand<'g>) -> Result<Value<'g>> {
        self.binary(&DEF, grad, Location::caller())
    }
}

pub(crate) static DEF: OpDef = OpDef::host("cholesky_grad", run)
    .operands(&[Operand::Data("l"), Operand::Data("grad")])
    .shape_fn(linalg::cholesky_grad)
    .dtype_rule(dtype::binary::float)
    .tensorflow(&[TfOp::new("CholeskyGrad"), TfOp::new("BatchCholeskyGrad")]);

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let (factors, grads) = (MatrixBatch::<f64>::read(cx, 0)?, MatrixBatch::<f64>::read(cx, 1)?);
    let gradients = factors.try_map_with(&grads, |l, grad| Ok(gradient(&l, &grad).data))?;
    let dtype = dtype_of(cx)?;
    set_batch(cx, 0, dtype, &factors.sizes, &factors.shape(), gradients)
}

/// Returns the symmetric part of `l⁻ᵀ · p · l⁻¹`, where `p` is the lower triangle of `lᵀ · grad` with half of its
/// diagonal.
fn gradient(l: &Matrix<f64>, grad: &Matrix<f64>) -> Matrix<f64> {
    let size = l.rows;
    let lower = |x: &Matrix<f64>| {
        Matrix::from_fn(size, size, |row, column| if column <= row { x[(row, column)] } else { 0.0 })
    };
    let l = lower(l);
    let mut p = lower(&l.adjoint().times(&lower(grad)));
    for i in 0..size {
        p[(i, i)] /= 2.0;
    }
    let above = l.adjoint();
    // The transpose of `p · l⁻¹` is `l⁻ᵀ · pᵀ`.
    let right = substitute(&above, p.adjoint(), Triangle::Upper).adjoint();
    let whole = substitute(&above, right, Triangle::Upper);
    Matrix::from_fn(size, size, |row, column| (whole[(row, column)] + whole[(column, row)]) / 2.0)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::{Attrs, DType};

    use super::super::batch::numbers;
    use super::super::triangular::factor;
    use super::*;
    use crate::ops::testing::{run_one, shape_table};

    shape_table! { DEF, {},
        "[b, n, n]; [b, n, n]" => "[b, d0_1, d0_1]",
        "[2, 3]; [2, 3]" => error "l must hold square matrices, got 2 by 3",
        "c64[2, 2]; c64[2, 2]" => error "must be a float, got c64",
    }

    /// Compares the gradient of `Σ grad · cholesky(a)` with finite differences.
    #[test]
    fn the_gradient_agrees_with_finite_differences() {
        for size in [0usize, 1, 2, 4] {
            let of = |tensor: &crate::Tensor| MatrixBatch::<f64>::of(&tensor.view()).unwrap().at(0);
            let root = of(&numbers(DType::F64, &[size, size + 1]));
            let mut a = root.times(&root.adjoint());
            (0..size).for_each(|i| a[(i, i)] += 1.0);
            let grad = numbers(DType::F64, &[size, size]);
            let loss = |a: &Matrix<f64>| -> f64 {
                factor(a).data.iter().zip(&of(&grad).data).map(|(l, grad)| l * grad).sum()
            };
            let l = crate::Tensor::from_vec(&[size, size], factor(&a).data).unwrap();
            let got = of(&run_one(&DEF, &Attrs::new(), &[l, grad.clone()]));
            for (row, column) in (0..size).flat_map(|row| (0..=row).map(move |column| (row, column))) {
                let moved = |step: f64| {
                    let mut a = a.clone();
                    a[(row, column)] += step;
                    loss(&a)
                };
                // An element below the diagonal stands for two elements of the symmetric matrix.
                let twice = if row == column { 1.0 } else { 2.0 };
                let expected = (moved(1e-5) - moved(-1e-5)) / 2e-5 / twice;
                assert!((got[(row, column)] - expected).abs() < 1e-6, "{row} {column}: {got:?} {expected}");
            }
        }
    }
}
