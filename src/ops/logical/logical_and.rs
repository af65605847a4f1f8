//! `logical_and`: whether both hold.

use std::panic::Location;

use crate::dtype;
use crate::error::Result;
use crate::expr::{BinaryOp, Expr, Index, LowerCx};
use crate::graph::{IntoOperand, Value};
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::broadcast::lower_primitive;
use crate::shape_fns;

impl<'g> Value<'g> {
    /// Whether both hold.
    ///
    /// `[..], [..] -> broadcast`, bool of one dtype. As TensorFlow's `LogicalAnd`.
    ///
    /// # Errors
    /// The dtypes differ or are not bool, or the shapes do not broadcast.
    #[track_caller]
    pub fn logical_and(self, other: impl IntoOperand<'g>) -> Result<Value<'g>> {
        self.binary(&DEF, other, Location::caller())
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("logical_and", lower)
    .operands(&[Operand::Data("x"), Operand::Data("y")])
    .shape_fn(shape_fns::common::broadcast)
    .dtype_rule(dtype::binary::boolean)
    .tensorflow(&[TfOp::new("LogicalAnd")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    lower_primitive(cx, index, BinaryOp::And)
}

#[cfg(test)]
mod tests {
    use super::DEF;
    use crate::ops::testing::{recorded, shape_table};

    shape_table! { DEF, {},
        "bool[2, n]; bool[n]" => "bool[2, d0_1]",
        "bool[3, 1]; bool[?]" => "bool[3, d1_0]",
        "bool?; bool[2]" => "bool?",
        "bool[2, 3]; bool[2]" => error "3 and 2",
        "bool[2]; i32[2]" => error "one dtype, got bool and i32",
    }

    #[test]
    fn recorded_values() {
        recorded(&DEF);
    }
}
