//! `bitwise_not`: every bit inverted.

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};
use crate::shape_fns;

impl<'g> Value<'g> {
    /// Every bit inverted, of bools the logical opposite; also written `!x`.
    ///
    /// `[..] -> [..]`, integers and bool. As TensorFlow's `Invert`.
    ///
    /// # Errors
    /// The element type is not an integer or bool.
    #[track_caller]
    pub fn bitwise_not(self) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("bitwise_not", lower)
    .operands(&[Operand::Data("x")])
    .shape_fn(shape_fns::common::unary)
    .dtype_rule(dtype::unary::bits)
    .tensorflow(&[TfOp::new("Invert")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    !cx.operand(0, index)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::DEF;
    use crate::ops::testing::{check_tensor, run_one, shape_table, tensor};

    shape_table! { DEF, {},
        "i32[2, n]" => "[2, d0_1]",
        "i32?" => "?",
        "f32[2]" => error "must be an integer or bool, got f32",
    }

    #[test]
    fn values() {
        let x = tensor(&[3], &[0i32, -1, 5]);
        check_tensor(&run_one(&DEF, &Attrs::new(), &[x]), &tensor(&[3], &[-1i32, 0, -6]), "bitwise_not");
        let x = tensor(&[2], &[true, false]);
        check_tensor(&run_one(&DEF, &Attrs::new(), &[x]), &tensor(&[2], &[false, true]), "bitwise_not");
    }
}
