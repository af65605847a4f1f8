//! `leaky_relu_grad`: the gradient of `leaky_relu`.

use shapeflow_shape_fns::Attribute;

use std::panic::Location;

use super::leaky_relu::alpha;
use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::{IntoOperand, Value};
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::widen::widened_pair;
use crate::shape_fns;

impl<'g> Value<'g> {
    /// The gradient of [`Value::leaky_relu`]: `self` if `features > 0`, else `alpha * self`. `self` is the gradient of
    /// the loss with respect to the result, and `features` is the operand of `leaky_relu`.
    ///
    /// `[..], [..] -> [..]`, floats of one dtype. See [`Value::leaky_relu`] for `alpha`. As TensorFlow's
    /// `LeakyReluGrad`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([4.0, 4.0])?.leaky_relu_grad(g.constant([-2.0, 3.0])?, 0.25)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([1.0, 4.0]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtypes differ or are not floats, or the shapes differ.
    #[track_caller]
    pub fn leaky_relu_grad(self, features: impl IntoOperand<'g>, alpha: f64) -> Result<Value<'g>> {
        let location = Location::caller();
        let features = features.into_operand(self, location);
        self.graph().op(&DEF).data(self).data(features).attr("alpha", alpha).finish_at(location)
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("leaky_relu_grad", lower)
    .attrs(&[Attribute::float_or("alpha", 0.2f32 as f64)])
    .operands(&[Operand::Data("gradients"), Operand::Data("features")])
    .shape_fn(shape_fns::common::same_shape)
    .dtype_rule(dtype::binary::float)
    .tensorflow(&[TfOp::new("LeakyReluGrad")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let alpha = alpha(cx.attrs());
    let (gradient, x) = (cx.operand(0, index), cx.operand(1, index));
    // TensorFlow rounds alpha to the element type.
    let alpha = x.like(alpha);
    widened_pair(gradient, x, |gradient, x| {
        let (zero, alpha) = (x.like(0.0), alpha.cast(x.dtype()));
        zero.less(x).select(gradient.clone(), alpha * gradient)
    })
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::DEF;
    use crate::ops::testing::{check_tensor, run_one, shape_table, tensor};

    shape_table! { DEF, {"alpha": 0.1},
        "[2, n]; [?, 3]" => "[2, 3]",
        "[2]; [3]" => error "must agree, got 2 and 3",
        "i32[2]; i32[2]" => error "must be a float, got i32",
    }

    #[test]
    fn values() {
        let gradient = tensor(&[4], &[1.0f64, 2.0, 3.0, 4.0]);
        let x = tensor(&[4], &[-2.0f64, 0.0, 3.0, f64::NAN]);
        let expected = tensor(&[4], &[0.5f64, 1.0, 3.0, 2.0]);
        let got = run_one(&DEF, &Attrs::new().with("alpha", 0.5), &[gradient, x]);
        check_tensor(&got, &expected, "leaky_relu_grad");
    }
}
