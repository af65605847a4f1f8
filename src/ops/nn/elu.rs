//! `elu`: `exp(x) - 1` below zero.

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx, math};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::wide::widened;
use crate::shape_fns;

impl<'g> Value<'g> {
    /// Every element, `exp(x) - 1` where it is negative.
    ///
    /// `[..] -> [..]`, floats. As TensorFlow's `Elu`.
    ///
    /// # Errors
    /// The element type is not a float.
    #[track_caller]
    pub fn elu(self) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("elu", lower)
    .operands(&[Operand::Data("x")])
    .shape_fn(shape_fns::common::unary)
    .dtype_rule(dtype::unary::float)
    .tensorflow(&[TfOp::new("Elu")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    widened(cx.operand(0, index), |x| {
        let zero = x.like(0.0);
        x.clone().less(zero).select(math::expm1(x.clone()), x)
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
        let expected = x.map(|x: f64| if x < 0.0 { x.exp_m1() } else { x });
        check_tensor(&run_one(&DEF, &Attrs::new(), &[tensor(&[7], &x)]), &tensor(&[7], &expected), "elu");
    }
}
