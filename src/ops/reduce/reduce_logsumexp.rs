//! `reduce_logsumexp`: logarithms of sums of exponentials over axes.

use shapeflow_shape_fns::Attribute;

use std::panic::Location;

use super::axes::IntoAxes;
use super::in_tensorflow;
use super::reduction::Reduction;
use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx, ReduceOp, math};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfFunction};
use crate::ops::widen::widen;
use crate::shape_fns;

impl<'g> Value<'g> {
    /// Computes `log(sum(exp(x)))` over the given axes, without overflow.
    ///
    /// `[.., d, ..] -> [.., ..]`, or `[.., 1, ..]` with [`Axes::keep_dims`](crate::Axes::keep_dims); floats. The result
    /// for no elements is -inf. As TensorFlow's `tf.reduce_logsumexp`, which TensorFlow composes of several ops. Fuses
    /// into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[1000.0, 1000.0], [0.0, 0.0]])?.reduce_logsumexp(1)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([1000.693, 0.6931]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not a float, or an axis is out of range or given twice.
    #[doc(alias = "logsumexp")]
    #[track_caller]
    pub fn reduce_logsumexp(self, axes: impl IntoAxes<'g>) -> Result<Value<'g>> {
        axes.into_axes().reduce(self, &DEF, Location::caller())
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("reduce_logsumexp", lower)
    .attrs(&[Attribute::bool_or("keep_dims", false)])
    .in_tensorflow(TfFunction::Composed(in_tensorflow::logsumexp))
    .operands(&[Operand::Data("input"), Operand::Structure("axis")])
    .shape_fn(shape_fns::reduce::reduce)
    .dtype_rule(dtype::unary::float);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let reduction = Reduction::new(cx);
    let dtype = cx.dtype(0);
    let largest = reduction.reduce(cx, ReduceOp::Max, index, &widen);
    // The shift is 0 if the largest element is infinite, because inf - inf would be NaN.
    let (zero, infinity) = (largest.like(0.0), largest.like(f64::INFINITY));
    let shift = largest.clone().abs().less(infinity).select(largest, zero);
    let sum = reduction.reduce(cx, ReduceOp::Sum, index, &|x| math::exp(widen(x) - shift.clone()));
    (math::log(sum) + shift).cast(dtype)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::DEF;
    use crate::ops::testing::{check_tensor, run_one, shape_table, tensor};

    shape_table! { DEF, {"axis": [0, -1]},
        "[2, n, 3]" => "[d0_1]",
        "?" => "?",
        "[n]" => error "axis",
        "i32[2, 3]" => error "must be a float, got i32",
    }
    shape_table! { kept: DEF, {"axis": [1], "keep_dims": true},
        "[2, n, 3]" => "[2, 1, 3]",
    }
    shape_table! { all_axes: DEF, {},
        "[2, n]" => "[]",
        "?" => "[]",
        "[2, n]; axis=i32[2]" => "[]",
        "[2, n]; axis=i64[]" => "[?]",
    }

    #[test]
    fn values() {
        let infinity = f64::INFINITY;
        let x = tensor(&[4, 2], &[1000.0f64, 1000.0, 0.0, -infinity, -infinity, -infinity, infinity, 1.0]);
        let expected = tensor(&[4], &[1000.0 + 2.0f64.ln(), 0.0, -infinity, infinity]);
        check_tensor(&run_one(&DEF, &Attrs::new().with("axis", [1]), &[x]), &expected, "reduce_logsumexp");
        let none = tensor::<f64>(&[0], &[]);
        check_tensor(&run_one(&DEF, &Attrs::new(), &[none]), &tensor(&[], &[-infinity]), "reduce_logsumexp");
    }
}
