//! `neg`: every element with its sign turned.

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};
use crate::shape_fns;

impl<'g> Value<'g> {
    /// Every element with its sign turned; also written `-x`.
    ///
    /// `[..] -> [..]`, signed integers and floats. Integers wrap: the least one is its own negative. As
    /// TensorFlow's `Neg`.
    ///
    /// # Errors
    /// The element type is not a signed integer or a float.
    #[expect(clippy::should_implement_trait, reason = "the operator cannot return a `Result`")]
    #[track_caller]
    pub fn neg(self) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("neg", lower)
    .operands(&[Operand::Data("x")])
    .shape_fn(shape_fns::math::neg)
    .dtype_rule(dtype::unary::signed)
    .tensorflow(&[TfOp::new("Neg")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    -cx.operand(0, index)
}

#[cfg(test)]
mod tests {
    use super::DEF;
    use crate::ops::testing::{recorded, shape_table};

    shape_table! { DEF, {},
        "[2, n]" => "[2, d0_1]",
        "?" => "?",
        "u8[2]" => error "must be a signed integer or a float, got u8",
    }

    #[test]
    fn recorded_values() {
        recorded(&DEF);
    }
}
