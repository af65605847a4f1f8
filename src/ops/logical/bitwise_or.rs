//! `bitwise_or`: bitwise `|`.

use std::panic::Location;

use crate::dtype;
use crate::error::Result;
use crate::expr::{BinaryOp, Expr, Index, LowerCx};
use crate::graph::{IntoOperand, Value};
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::broadcast::lower_primitive;
use crate::shape_fns;

impl<'g> Value<'g> {
    /// Bitwise or, of bools the logical one; also written `self | other`.
    ///
    /// `[..], [..] -> broadcast`, integers and bool of one dtype. As TensorFlow's `BitwiseOr`.
    ///
    /// # Errors
    /// The dtypes differ or are not integers or bool, or the shapes do not broadcast.
    #[track_caller]
    pub fn bitwise_or(self, other: impl IntoOperand<'g>) -> Result<Value<'g>> {
        self.binary(&DEF, other, Location::caller())
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("bitwise_or", lower)
    .operands(&[Operand::Data("x"), Operand::Data("y")])
    .shape_fn(shape_fns::common::broadcast)
    .dtype_rule(dtype::binary::bits)
    .tensorflow(&[TfOp::new("BitwiseOr")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    lower_primitive(cx, index, BinaryOp::Or)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::DEF;
    use crate::ops::testing::{check_tensor, run_one, shape_table, tensor};

    shape_table! { DEF, {},
        "i32[2, n]; i32[n]" => "i32[2, d0_1]",
        "i32[3, 1]; i32[?]" => "i32[3, d1_0]",
        "i32?; i32[2]" => "i32?",
        "i32[2, 3]; i32[2]" => error "3 and 2",
        "i32[2]; i64[2]" => error "one dtype, got i32 and i64",
        "bool[n]; bool[n]" => "bool[n]",
        "[n]; [n]" => error "an integer or bool, got f32",
    }

    #[test]
    fn values() {
        let (x, y) = (tensor(&[2], &[0b1100u8, 255]), tensor(&[2], &[0b1010u8, 0]));
        check_tensor(&run_one(&DEF, &Attrs::new(), &[x, y]), &tensor(&[2], &[0b1110, 255u8]), "bitwise_or");
        let (x, y) = (tensor(&[2], &[true, false]), tensor(&[2], &[true, true]));
        check_tensor(&run_one(&DEF, &Attrs::new(), &[x, y]), &tensor(&[2], &[true, true]), "bitwise_or");
    }
}
