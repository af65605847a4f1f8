//! `truncatemod`: remainders of rounding toward zero.

use std::panic::Location;

use crate::dtype;
use crate::error::Result;
use crate::expr::{BinaryOp, Expr, Index, LowerCx};
use crate::graph::{IntoOperand, Value};
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::broadcast::lower_primitive;
use crate::shape_fns;

impl<'g> Value<'g> {
    /// The remainder of [`Value::truncatediv`], which has the sign of `self`; of floats as C's `fmod`.
    ///
    /// `[..], [..] -> broadcast`, integers and floats of one dtype. As TensorFlow's `TruncateMod` and `Mod`.
    ///
    /// # Errors
    /// The dtypes differ or are not integers or floats, or the shapes do not broadcast.
    ///
    /// The run fails where an integer is divided by zero.
    #[track_caller]
    pub fn truncatemod(self, other: impl IntoOperand<'g>) -> Result<Value<'g>> {
        self.binary(&DEF, other, Location::caller())
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("truncatemod", lower)
    .operands(&[Operand::Data("x"), Operand::Data("y")])
    .shape_fn(shape_fns::common::broadcast)
    .dtype_rule(dtype::binary::number)
    .tensorflow(&[TfOp::new("TruncateMod").own_shape_fn(), TfOp::new("Mod").own_shape_fn()]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    lower_primitive(cx, index, BinaryOp::Rem)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::DEF;
    use crate::error::ErrorKind;
    use crate::ops::testing::{check_tensor, run, run_one, shape_table, tensor};

    shape_table! { DEF, {},
        "[2, n]; [n]" => "[2, d0_1]",
        "[3, 1]; [?]" => "[3, d1_0]",
        "?; [2]" => "?",
        "[2, 3]; [2]" => error "3 and 2",
        "[2]; f64[2]" => error "one dtype, got f32 and f64",
    }

    #[test]
    fn an_integer_divided_by_zero_fails_the_run() {
        let error =
            run(&DEF, &Attrs::new(), &[tensor(&[2], &[1i32, 2]), tensor(&[2], &[1i32, 0])]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DivideByZero);
    }

    #[test]
    fn values() {
        let x = tensor(&[4], &[7.5f32, -7.5, 7.5, -7.5]);
        let y = tensor(&[4], &[2.0f32, 2.0, -2.0, -2.0]);
        let expected = tensor(&[4], &[1.5f32, -1.5, 1.5, -1.5]);
        check_tensor(&run_one(&DEF, &Attrs::new(), &[x, y]), &expected, "truncatemod");
    }
}
