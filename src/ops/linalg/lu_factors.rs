//! `lu`: a matrix with permuted rows as the product of two triangular factors.

use shapeflow_shape_fns::{Attribute, DType};

use super::batch::{MatrixBatch, dtype_of, refuse, set_batch};
use super::lu::Lu;
use super::number::{MatrixNumber, with_number_type};
use crate::dtype::{self, Class};
use crate::error::Result;
use crate::graph::Value;
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::array::unstack::exactly;
use crate::ops::integers::int_tensor;
use crate::shape_fns::linalg;

impl<'g> Value<'g> {
    /// Factors matrices into `l · u`, where `l` is lower triangular with ones on its diagonal, and `u` is upper
    /// triangular. Returns `[lu, p]`: `lu` has `l` below its diagonal, and `u` on and above its diagonal; row `i` of
    /// the product is row `p[i]` of `self`.
    ///
    /// `[..batch, n, n] -> [..batch, n, n], i32[..batch, n]`, floats and complex numbers, computed in f64 by
    /// elimination with partial pivoting, and rounded once. As TensorFlow's `Lu`. Runs on the host.
    ///
    /// ```
    /// let g = shapeflow::Graph::new();
    /// let [lu, p] = g.constant([[1.0, 2.0], [4.0, 2.0]])?.lu()?;
    /// let [lu, p] = g.compile([lu, p])?.run(&[])?;
    /// assert_eq!((lu.to_vec::<f64>()?, p.to_vec::<i32>()?), (vec![4.0, 2.0, 0.25, 1.5], vec![1, 0]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not supported, or the last two axes differ. The run fails if a matrix is not invertible.
    #[doc(alias = "lu_factor")]
    #[track_caller]
    pub fn lu(self) -> Result<[Value<'g>; 2]> {
        exactly(self.graph().op(&DEF).data(self).finish_all()?)
    }
}

pub(crate) static DEF: OpDef = OpDef::host("lu", |cx| with_number_type!(dtype_of(cx)?, run(cx)))
    .attrs(&[Attribute::dtype_or("output_idx_type", DType::I32)])
    .operands(&[Operand::Data("input")])
    .outputs(|_, _| 2)
    .shape_fn(linalg::lu)
    .dtype_rule(|dtypes, attrs| {
        let x = dtype::common(dtypes, 0, 1, Class::Inexact)?;
        match attrs.dtype("output_idx_type") {
            index @ (DType::I32 | DType::I64) => Ok(vec![x, index]),
            other => dtype::refuse(format!("output_idx_type must be i32 or i64, got {other}")),
        }
    })
    .tensorflow(&[TfOp::new("Lu")]);

fn run<T: MatrixNumber>(cx: &mut HostCx<'_>) -> Result<()> {
    let matrices = MatrixBatch::<T>::read(cx, 0)?;
    let both = matrices.try_map(|a| {
        let lu = Lu::new(a);
        if lu.is_singular() {
            return refuse("a matrix must be invertible, got a singular one");
        }
        Ok((lu.factors.data, lu.order))
    })?;
    let (factors, orders): (_, Vec<_>) = both.into_iter().unzip();
    let (dtype, [size, _]) = (dtype_of(cx)?, matrices.shape());
    set_batch(cx, 0, dtype, &matrices.sizes, &[size, size], factors)?;
    let sizes: Vec<usize> = matrices.sizes.iter().copied().chain([size]).collect();
    let order = int_tensor(cx.attrs().dtype("output_idx_type"), &sizes, orders.into_iter().flatten())?;
    cx.set_output(1, order)
}

#[cfg(test)]
mod tests {
    use num_complex::Complex64;
    use shapeflow_shape_fns::Attrs;

    use super::super::batch::numbers;
    use super::super::matrix::{Matrix, check_matrix};
    use super::*;
    use crate::ops::testing::{run, shape_table, tensor};

    shape_table! { DEF, {},
        "c64[b, n, 3]" => "c64[d0_0, 3, 3]; i32[d0_0, 3]",
        "[2, 3]" => error "must hold square matrices",
    }
    shape_table! { narrow: DEF, {"output_idx_type": DType::I16},
        "[2, 2]" => error "output_idx_type must be i32 or i64, got i16",
    }

    fn check<T: MatrixNumber + std::fmt::Debug>(dtype: DType) {
        for size in [0, 1, 2, 7, 32, 33, 70] {
            let x = numbers(dtype, &[2, size, size]);
            let outputs = run(&DEF, &Attrs::new(), std::slice::from_ref(&x)).unwrap();
            let (a, lu) =
                (MatrixBatch::<T>::of(&x.view()).unwrap(), MatrixBatch::<T>::of(&outputs[0].view()).unwrap());
            let order = outputs[1].to_vec::<i32>().unwrap();
            for number in 0..2 {
                let (a, lu) = (a.at(number), lu.at(number));
                let part = |lower: bool| {
                    Matrix::from_fn(size, size, |row, column| match (row > column) == lower {
                        true => lu[(row, column)],
                        false if row == column => T::one(),
                        false => T::zero(),
                    })
                };
                let order = &order[number * size..][..size];
                let permuted = Matrix::from_fn(size, size, |row, column| a[(order[row] as usize, column)]);
                check_matrix(&part(true).times(&part(false)), &permuted);
            }
        }
    }

    #[test]
    fn factors_multiply_to_the_permuted_matrices() {
        check::<f64>(DType::F64);
        check::<Complex64>(DType::C128);
    }

    #[test]
    fn a_singular_matrix_fails_the_run() {
        let error = run(&DEF, &Attrs::new(), &[tensor(&[2, 2], &[1.0f64, 2.0, 2.0, 4.0])]).unwrap_err();
        assert!(error.message().starts_with("a matrix must be invertible, got a singular one"), "{error}");
    }
}
