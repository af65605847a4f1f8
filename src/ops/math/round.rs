//! `round`: the nearest integer, ties to even.

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx, UnaryOp};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};
use crate::shape_fns;

impl<'g> Value<'g> {
    /// The integer nearest to every element; of two equally near ones the even one.
    ///
    /// `[..] -> [..]`, integers and floats. Integers stay as they are, as in TensorFlow's Python API. As
    /// TensorFlow's `Round` and `Rint`.
    ///
    /// # Errors
    /// The element type is not an integer or a float.
    #[track_caller]
    pub fn round(self) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("round", lower)
    .operands(&[Operand::Data("x")])
    .shape_fn(shape_fns::common::unary)
    .dtype_rule(dtype::unary::number)
    .tensorflow(&[TfOp::new("Round"), TfOp::new("Rint")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let x = cx.operand(0, index);
    if x.dtype().is_float() { x.unary(UnaryOp::Round) } else { x }
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
