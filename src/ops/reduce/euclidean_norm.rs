//! `euclidean_norm`: square roots of sums of squares over axes.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, DType};

use super::axes::IntoAxes;
use super::reduction::Reduction;
use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx, ReduceOp};
use crate::graph::Value;
use crate::op::{Absent, OpDef, Operand, TfOp};
use crate::ops::widen::widen;
use crate::shape_fns;

impl<'g> Value<'g> {
    /// `sqrt(sum(|x|²))` over the given axes; 0 for no elements.
    ///
    /// `[.., d, ..] -> [.., ..]`, or `[.., 1, ..]` with [`Axes::keep_dims`](crate::Axes::keep_dims); integers, floats
    /// and complex numbers. The norm of complex numbers is complex, with the imaginary part 0. f16 and bf16 are
    /// computed as f32 and rounded once. Integers are squared and added in their own dtype, in which they wrap, and the
    /// root is rounded toward zero. As TensorFlow's `EuclideanNorm`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[3.0, 4.0], [0.0, 2.0]])?.euclidean_norm(1)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([5.0, 2.0]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not an integer, a float or a complex number, or an axis is out of range or given twice.
    #[doc(alias = "reduce_euclidean_norm")]
    #[doc(alias = "norm")]
    #[track_caller]
    pub fn euclidean_norm(self, axes: impl IntoAxes<'g>) -> Result<Value<'g>> {
        axes.into_axes().reduce(self, &DEF, Location::caller())
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("euclidean_norm", lower)
    .attrs(&[Attribute::bool_or("keep_dims", false)])
    .operands(&[Operand::Data("input"), Operand::Structure("axis")])
    .shape_fn(shape_fns::reduce::reduce)
    .dtype_rule(dtype::unary::numeric)
    .tensorflow(&[TfOp::new("EuclideanNorm").absent(&[("axis", Absent::AllAxes)])]);

fn lower(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let reduction = Reduction::new(cx);
    let sum = reduction.reduce(cx, ReduceOp::Sum, index, &|x| {
        let x = widen(x);
        match x.dtype().is_complex() {
            true => x.real() * x.real() + x.imag() * x.imag(),
            false => &x * &x,
        }
    });
    let sum = if sum.dtype().is_float() { sum } else { sum.cast(DType::F64) };
    let norm = sum.sqrt();
    match cx.output_dtype(output) {
        dtype if dtype.is_complex() => Expr::complex(norm.clone(), norm.like(0.0)),
        dtype => norm.cast(dtype),
    }
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::DEF;
    use crate::ops::testing::{check_tensor, run_one, shape_table, tensor};

    shape_table! { DEF, {"axis": [0, -1]},
        "[2, n, 3]" => "[d0_1]",
        "[n]" => error "axis",
        "bool[2, 3]" => error "must be an integer, a float or a complex number, got bool",
    }
    shape_table! { kept: DEF, {"axis": [1], "keep_dims": true},
        "[2, n, 3]" => "[2, 1, 3]",
    }

    #[test]
    fn values() {
        let attrs = Attrs::new().with("axis", [1]);
        let norm = |x| run_one(&DEF, &attrs, &[x]);
        check_tensor(&norm(tensor(&[1, 2], &[3.0f32, -4.0])), &tensor(&[1], &[5.0f32]), "f32");
        check_tensor(&norm(tensor(&[2, 3], &[3, 5, -7, 1, 1, 1])), &tensor(&[2], &[9, 1]), "i32");
        check_tensor(&norm(tensor(&[1, 2], &[100u8, 100])), &tensor(&[1], &[5u8]), "u8");
        check_tensor(&norm(tensor::<f64>(&[2, 0], &[])), &tensor(&[2], &[0.0, 0.0]), "no elements");
    }
}
