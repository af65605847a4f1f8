//! `mul`: products.

use std::panic::Location;

use crate::dtype;
use crate::error::Result;
use crate::expr::{BinaryOp, Expr, Index, LowerCx};
use crate::graph::{IntoOperand, Value};
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::broadcast::lower_primitive;
use crate::shape_fns;

impl<'g> Value<'g> {
    /// `self * other`; also written so.
    ///
    /// `[..], [..] -> broadcast`, integers and floats of one dtype. Integers wrap. As TensorFlow's `Mul`.
    ///
    /// # Errors
    /// The dtypes differ or are not integers or floats, or the shapes do not broadcast.
    #[expect(clippy::should_implement_trait, reason = "the operator cannot return a `Result`")]
    #[track_caller]
    pub fn mul(self, other: impl IntoOperand<'g>) -> Result<Value<'g>> {
        self.binary(&DEF, other, Location::caller())
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("mul", lower)
    .operands(&[Operand::Data("x"), Operand::Data("y")])
    .shape_fn(shape_fns::math::mul)
    .dtype_rule(dtype::binary::number)
    .tensorflow(&[TfOp::new("Mul")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    lower_primitive(cx, index, BinaryOp::Mul)
}

#[cfg(test)]
mod tests {
    use super::DEF;
    use crate::ops::testing::{recorded, shape_table};

    shape_table! { DEF, {},
        "[2, n]; [n]" => "[2, d0_1]",
        "[3, 1]; [?]" => "[3, d1_0]",
        "?; [2]" => "?",
        "[2, 3]; [2]" => error "3 and 2",
        "[2]; f64[2]" => error "one dtype, got f32 and f64",
    }

    #[test]
    fn recorded_values() {
        recorded(&DEF);
    }
}
