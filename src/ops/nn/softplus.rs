//! `softplus`: `log(1 + exp(x))`.

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx, math};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::wide::widened;
use crate::shape_fns;

impl<'g> Value<'g> {
    /// `log(1 + exp(x))` for every element, without overflow.
    ///
    /// `[..] -> [..]`, floats. As TensorFlow's `Softplus`.
    ///
    /// # Errors
    /// The element type is not a float.
    #[track_caller]
    pub fn softplus(self) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("softplus", lower)
    .operands(&[Operand::Data("x")])
    .shape_fn(shape_fns::common::unary)
    .dtype_rule(dtype::unary::float)
    .tensorflow(&[TfOp::new("Softplus")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    widened(cx.operand(0, index), |x| {
        let zero = x.like(0.0);
        x.clone().maximum(zero) + math::log1p(math::exp(-x.abs()))
    })
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::DEF;
    use crate::ops::testing::{check_tensor, run_one, shape_table, tensor};

    shape_table! { DEF, {},
        "[2, n]" => "[2, d0_1]",
        "?" => "?",
        "i32[2]" => error "must be a float, got i32",
    }

    #[test]
    fn values() {
        let x = [-3.0, -0.5, 0.0, 0.5, 3.0, 100.0, f64::NAN];
        let expected = x.map(|x: f64| if x > 40.0 { x } else { x.exp().ln_1p() });
        check_tensor(
            &run_one(&DEF, &Attrs::new(), &[tensor(&[7], &x)]),
            &tensor(&[7], &expected),
            "softplus",
        );
    }
}
