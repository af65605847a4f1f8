//! `erf`: the error function.

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx, math};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};
use crate::shape_fns;

impl<'g> Value<'g> {
    /// The error function of every element.
    ///
    /// `[..] -> [..]`, floats. At the infinities it is 1 and -1, where TensorFlow's gives NaN for f64. As
    /// TensorFlow's `Erf`.
    /// From the exact result it is at most 1.4 ulp away in f32, 1 ulp in f64.
    ///
    /// # Errors
    /// The element type is not a float.
    #[track_caller]
    pub fn erf(self) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("erf", lower)
    .operands(&[Operand::Data("x")])
    .shape_fn(shape_fns::common::unary)
    .dtype_rule(dtype::unary::float)
    .tensorflow(&[TfOp::new("Erf")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    math::erf(cx.operand(0, index))
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
