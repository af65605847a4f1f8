//! `cos`: cosines.

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx, math};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};
use crate::shape_fns;

impl<'g> Value<'g> {
    /// The cosine of every element, in radians.
    ///
    /// `[..] -> [..]`, floats. As TensorFlow's `Cos`.
    /// From the exact result it is at most 1.6 ulp away in f32, 1.4 ulp in f64, there for arguments up to 1e6.
    ///
    /// # Errors
    /// The element type is not a float.
    #[track_caller]
    pub fn cos(self) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("cos", lower)
    .operands(&[Operand::Data("x")])
    .shape_fn(shape_fns::common::unary)
    .dtype_rule(dtype::unary::float)
    .tensorflow(&[TfOp::new("Cos")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    math::cos(cx.operand(0, index))
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
