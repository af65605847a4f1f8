//! `relu6`: elements between zero and six.

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};
use crate::shape_fns;

impl<'g> Value<'g> {
    /// Every element, at least zero and at most six; NaN stays NaN.
    ///
    /// `[..] -> [..]`, integers and floats. As TensorFlow's `Relu6`.
    ///
    /// # Errors
    /// The element type is not an integer or a float.
    #[track_caller]
    pub fn relu6(self) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("relu6", lower)
    .operands(&[Operand::Data("x")])
    .shape_fn(shape_fns::common::unary)
    .dtype_rule(dtype::unary::number)
    .tensorflow(&[TfOp::new("Relu6")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let x = cx.operand(0, index);
    let (low, high) = (x.like(0.0), x.like(6.0));
    x.maximum(low).minimum(high)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::DEF;
    use crate::ops::testing::{check_tensor, run_one, shape_table, tensor};

    shape_table! { DEF, {},
        "[2, n]" => "[2, d0_1]",
        "?" => "?",
        "bool[2]" => error "must be an integer or a float, got bool",
    }

    #[test]
    fn values() {
        let x = [-3.0, -0.5, 0.0, 0.5, 3.0, 100.0, f64::NAN];
        let expected = x.map(|x| x.clamp(0.0, 6.0));
        check_tensor(&run_one(&DEF, &Attrs::new(), &[tensor(&[7], &x)]), &tensor(&[7], &expected), "relu6");
    }
}
