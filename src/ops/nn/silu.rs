//! `silu`: `x * sigmoid(x)`.

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx, math};
use crate::graph::Value;
use crate::op::{OpDef, Operand};
use crate::ops::wide::widened;
use crate::shape_fns;

impl<'g> Value<'g> {
    /// `x * sigmoid(x)` for every element, also known as swish.
    ///
    /// `[..] -> [..]`, floats.
    ///
    /// # Errors
    /// The element type is not a float.
    #[track_caller]
    pub fn silu(self) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("silu", lower)
    .operands(&[Operand::Data("x")])
    .shape_fn(shape_fns::common::unary)
    .dtype_rule(dtype::unary::float);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    widened(cx.operand(0, index), |x| x.clone() * math::sigmoid(x))
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
        let expected = x.map(|x: f64| x / (1.0 + (-x).exp()));
        check_tensor(&run_one(&DEF, &Attrs::new(), &[tensor(&[7], &x)]), &tensor(&[7], &expected), "silu");
    }
}
