//! `square`: every element times itself.

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};
use crate::shape_fns;

impl<'g> Value<'g> {
    /// Every element times itself.
    ///
    /// `[..] -> [..]`, integers and floats. Integers wrap. As TensorFlow's `Square`.
    ///
    /// # Errors
    /// The element type is not an integer or a float.
    #[track_caller]
    pub fn square(self) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("square", lower)
    .operands(&[Operand::Data("x")])
    .shape_fn(shape_fns::common::unary)
    .dtype_rule(dtype::unary::number)
    .tensorflow(&[TfOp::new("Square")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let x = cx.operand(0, index);
    x.clone() * x
}

#[cfg(test)]
mod tests {
    use super::DEF;
    use crate::ops::testing::{recorded, shape_table};

    shape_table! { DEF, {},
        "[2, n]" => "[2, d0_1]",
        "?" => "?",
        "bool[2]" => error "must be an integer or a float, got bool",
    }

    #[test]
    fn recorded_values() {
        recorded(&DEF);
    }
}
