//! `sign`: -1, 0 or 1 by the sign of every element.

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx, math};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};
use crate::shape_fns;

impl<'g> Value<'g> {
    /// -1, 0 or 1 as the element is negative, zero or positive.
    ///
    /// `[..] -> [..]`, signed integers and floats. NaN stays NaN. As TensorFlow's `Sign`.
    ///
    /// # Errors
    /// The element type is not a signed integer or a float.
    #[track_caller]
    pub fn sign(self) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("sign", lower)
    .operands(&[Operand::Data("x")])
    .shape_fn(shape_fns::common::unary)
    .dtype_rule(dtype::unary::signed)
    .tensorflow(&[TfOp::new("Sign")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    math::sign(cx.operand(0, index))
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
