//! `approximate_equal`: whether two elements differ by at most a tolerance.

use std::panic::Location;

use shapeflow_shape_fns::Attribute;

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::{IntoOperand, Value};
use crate::op::{CompositeCx, OpDef, Operand, TfFunction, TfOp};
use crate::ops::in_tensorflow::operands;
use crate::shape_fns;

impl<'g> Value<'g> {
    /// `|self - other| <= tolerance`. False for NaN, and for two equal infinities.
    ///
    /// `[..], [..] -> bool[..]`, floats of one dtype; the shapes must be equal. `tolerance` is rounded to the element
    /// type. As TensorFlow's `ApproximateEqual`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([1.0, 2.0])?.approximate_equal(g.constant([1.001, 2.1])?, 0.01)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([true, false]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtypes differ or are not floats, or the shapes differ.
    #[doc(alias = "isclose")]
    #[track_caller]
    pub fn approximate_equal(self, other: impl IntoOperand<'g>, tolerance: f64) -> Result<Value<'g>> {
        let location = Location::caller();
        let other = other.into_operand(self, location);
        self.graph().op(&DEF).data(self).data(other).attr("tolerance", tolerance).finish_at(location)
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("approximate_equal", lower)
    .attrs(&[Attribute::float_or("tolerance", DEFAULT_TOLERANCE as f64)])
    .operands(&[Operand::Data("x"), Operand::Data("y")])
    .shape_fn(shape_fns::common::same_shape)
    .dtype_rule(dtype::comparison::float)
    .tensorflow(&[TfOp::new("ApproximateEqual")])
    .in_tensorflow(TfFunction::Composed(in_tensorflow));

/// TensorFlow's default tolerance.
const DEFAULT_TOLERANCE: f32 = 1e-5;

/// TensorFlow's op lacks f16 and bf16. In a wider dtype, neither the difference nor the tolerance would be rounded.
fn in_tensorflow<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let [x, y] = operands(values)?;
    let tolerance = x.graph().constant(cx.attrs().float("tolerance"))?.cast(x.dtype())?;
    Ok(vec![x.sub(y)?.abs()?.less_equal(tolerance)?])
}

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let tolerance = cx.attrs().float("tolerance");
    let difference = (cx.operand(0, index) - cx.operand(1, index)).abs();
    let limit = difference.like(tolerance);
    difference.less_equal(limit)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::DEF;
    use crate::ops::testing::{check_tensor, run_one, shape_table, tensor};

    shape_table! { DEF, {"tolerance": 0.5},
        "[2, n]; [?, 3]" => "bool[2, 3]",
        "[2]; [3]" => error "must agree, got 2 and 3",
        "i32[2]; i32[2]" => error "must be a float, got i32",
    }

    #[test]
    fn values() {
        let infinity = f32::INFINITY;
        let x = tensor(&[4], &[1.0, f32::NAN, infinity, 1.0]);
        let y = tensor(&[4], &[1.5, 1.0, infinity, 1.75]);
        let got = run_one(&DEF, &Attrs::new().with("tolerance", 0.5), &[x, y]);
        check_tensor(&got, &tensor(&[4], &[true, false, false, false]), "approximate_equal");
    }
}
