//! `reciprocal`: one by every element.

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};
use crate::shape_fns;

impl<'g> Value<'g> {
    /// One by every element.
    ///
    /// `[..] -> [..]`, floats. Infinite at zero. As TensorFlow's `Reciprocal` and `Inv`.
    ///
    /// # Errors
    /// The element type is not a float.
    #[track_caller]
    pub fn reciprocal(self) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("reciprocal", lower)
    .operands(&[Operand::Data("x")])
    .shape_fn(shape_fns::common::unary)
    .dtype_rule(dtype::unary::float)
    .tensorflow(&[TfOp::new("Reciprocal"), TfOp::new("Inv")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let x = cx.operand(0, index);
    x.like(1.0) / x
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
        let x = tensor(&[4], &[2.0f32, -4.0, 0.0, f32::INFINITY]);
        let expected = tensor(&[4], &[0.5f32, -0.25, f32::INFINITY, 0.0]);
        check_tensor(&run_one(&DEF, &Attrs::new(), &[x]), &expected, "reciprocal");
    }
}
