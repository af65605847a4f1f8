//! `tan`: tangents.

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx, math};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};
use crate::shape_fns;

impl<'g> Value<'g> {
    /// The tangent of every element, in radians.
    ///
    /// `[..] -> [..]`, floats. As TensorFlow's `Tan`.
    /// From the exact result it is at most 0.6 ulp away in f32, 2.2 ulp in f64, there for arguments up to 1e6.
    ///
    /// # Errors
    /// The element type is not a float.
    #[track_caller]
    pub fn tan(self) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("tan", lower)
    .operands(&[Operand::Data("x")])
    .shape_fn(shape_fns::common::unary)
    .dtype_rule(dtype::unary::float)
    .tensorflow(&[TfOp::new("Tan")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    math::tan(cx.operand(0, index))
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::DEF;
    use crate::ops::testing::{check_tensor, run_one, shape_table, tensor};

    shape_table! { DEF, {},
        "[2, n]" => "[2, d0_1]",
        "?" => "?",
        "i32[2]" => error "must be a float, got i32",
    }

    #[test]
    fn values() {
        let angles = [0.0f64, 0.5, -1.5, 3.0];
        let expected = angles.map(f64::tan);
        check_tensor(
            &run_one(&DEF, &Attrs::new(), &[tensor(&[4], &angles)]),
            &tensor(&[4], &expected),
            "tan",
        );
    }
}
