//! `truncatediv`: integer quotients rounded toward zero.

use std::panic::Location;

use crate::dtype;
use crate::error::Result;
use crate::expr::{BinaryOp, Expr, Index, LowerCx};
use crate::graph::{IntoOperand, Value};
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::broadcast::lower_primitive;
use crate::shape_fns;

impl<'g> Value<'g> {
    /// The quotient rounded toward zero.
    ///
    /// `[..], [..] -> broadcast`, integers of one dtype. The least integer by -1 wraps. As TensorFlow's
    /// `TruncateDiv`.
    ///
    /// # Errors
    /// The dtypes differ or are not integers, or the shapes do not broadcast.
    ///
    /// The run fails where an integer is divided by zero.
    #[track_caller]
    pub fn truncatediv(self, other: impl IntoOperand<'g>) -> Result<Value<'g>> {
        self.binary(&DEF, other, Location::caller())
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("truncatediv", lower)
    .operands(&[Operand::Data("x"), Operand::Data("y")])
    .shape_fn(shape_fns::common::broadcast)
    .dtype_rule(dtype::binary::integer)
    .tensorflow(&[TfOp::new("TruncateDiv").own_shape_fn()]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    lower_primitive(cx, index, BinaryOp::Div)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::DEF;
    use crate::error::ErrorKind;
    use crate::ops::testing::{check_tensor, run, run_one, shape_table, tensor};

    shape_table! { DEF, {},
        "i32[2, n]; i32[n]" => "i32[2, d0_1]",
        "i32[3, 1]; i32[?]" => "i32[3, d1_0]",
        "i32?; i32[2]" => "i32?",
        "i32[2, 3]; i32[2]" => error "3 and 2",
        "i32[2]; i64[2]" => error "one dtype, got i32 and i64",
    }

    #[test]
    fn an_integer_divided_by_zero_fails_the_run() {
        let error =
            run(&DEF, &Attrs::new(), &[tensor(&[2], &[1i32, 2]), tensor(&[2], &[1i32, 0])]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DivideByZero);
    }

    #[test]
    fn values() {
        let x = tensor(&[4], &[7i64, -7, 7, -7]);
        let y = tensor(&[4], &[2i64, 2, -2, -2]);
        check_tensor(
            &run_one(&DEF, &Attrs::new(), &[x, y]),
            &tensor(&[4], &[3i64, -3, -3, 3]),
            "truncatediv",
        );
    }
}
