//! `relu`: negative elements as zero.

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx, math};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};
use crate::shape_fns;

impl<'g> Value<'g> {
    /// The larger of every element and zero; NaN stays NaN.
    ///
    /// `[..] -> [..]`, integers and floats. As TensorFlow's `Relu`.
    ///
    /// # Errors
    /// The element type is not an integer or a float.
    #[track_caller]
    pub fn relu(self) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("relu", lower)
    .operands(&[Operand::Data("x")])
    .shape_fn(shape_fns::common::unary)
    .dtype_rule(dtype::unary::number)
    .tensorflow(&[TfOp::new("Relu")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    math::relu(cx.operand(0, index))
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::DEF;
    use crate::ops::testing::{check_tensor, recorded, run_one, shape_table, tensor};

    shape_table! { DEF, {},
        "[2, n]" => "[2, d0_1]",
        "?" => "?",
        "bool[2]" => error "must be an integer or a float, got bool",
    }

    #[test]
    fn recorded_values() {
        recorded(&DEF);
    }

    #[test]
    fn values() {
        let x = [-3.0, -0.5, 0.0, 0.5, 3.0, 100.0, f64::NAN];
        let expected = x.map(|x: f64| if x < 0.0 { 0.0 } else { x });
        check_tensor(&run_one(&DEF, &Attrs::new(), &[tensor(&[7], &x)]), &tensor(&[7], &expected), "relu");
    }
}
