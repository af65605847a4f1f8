//! `expm1`: e to the power of every element, minus one.

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx, math};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};
use crate::shape_fns;

impl<'g> Value<'g> {
    /// e to the power of every element, minus one; exact near zero, where `exp` minus one is not.
    ///
    /// `[..] -> [..]`, floats. As TensorFlow's `Expm1`.
    /// From the exact result it is at most 1.6 ulp away in f32, 1.7 ulp in f64.
    ///
    /// # Errors
    /// The element type is not a float.
    #[track_caller]
    pub fn expm1(self) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("expm1", lower)
    .operands(&[Operand::Data("x")])
    .shape_fn(shape_fns::common::unary)
    .dtype_rule(dtype::unary::float)
    .tensorflow(&[TfOp::new("Expm1")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    math::expm1(cx.operand(0, index))
}

#[cfg(test)]
mod tests {
    use super::DEF;
    use crate::ops::testing::{recorded, shape_table};

    shape_table! { DEF, {},
        "[2, n]" => "[2, d0_1]",
        "?" => "?",
        "i32[2]" => error "must be a float, got i32",
    }

    #[test]
    fn recorded_values() {
        recorded(&DEF);
    }
}
