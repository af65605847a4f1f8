//! `acos`: arc cosines.

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx, math};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};
use crate::shape_fns;

impl<'g> Value<'g> {
    /// The angle in `[0, π]` whose cosine each element is, in radians; NaN outside `[-1, 1]`.
    ///
    /// `[..] -> [..]`, floats. As TensorFlow's `Acos`.
    /// From the exact result it is at most 1.2 ulp away in f32, 1.2 ulp in f64.
    ///
    /// # Errors
    /// The element type is not a float.
    #[track_caller]
    pub fn acos(self) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("acos", lower)
    .operands(&[Operand::Data("x")])
    .shape_fn(shape_fns::common::unary)
    .dtype_rule(dtype::unary::float)
    .tensorflow(&[TfOp::new("Acos")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    math::acos(cx.operand(0, index))
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
