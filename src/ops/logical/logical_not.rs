//! `logical_not`: the opposite of every element.

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};
use crate::shape_fns;

impl<'g> Value<'g> {
    /// The opposite of every element.
    ///
    /// `[..] -> [..]`, bool. As TensorFlow's `LogicalNot`.
    ///
    /// # Errors
    /// The element type is not bool.
    #[track_caller]
    pub fn logical_not(self) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("logical_not", lower)
    .operands(&[Operand::Data("x")])
    .shape_fn(shape_fns::common::unary)
    .dtype_rule(dtype::unary::boolean)
    .tensorflow(&[TfOp::new("LogicalNot")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    !cx.operand(0, index)
}

#[cfg(test)]
mod tests {
    use super::DEF;
    use crate::ops::testing::{recorded, shape_table};

    shape_table! { DEF, {},
        "bool[2, n]" => "[2, d0_1]",
        "bool?" => "?",
        "i32[2]" => error "must be bool, got i32",
    }

    #[test]
    fn recorded_values() {
        recorded(&DEF);
    }
}
