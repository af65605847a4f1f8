//! `floordiv`: quotients rounded down.

use std::panic::Location;

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx, math};
use crate::graph::{IntoOperand, Value};
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::broadcast::lower_binary;
use crate::shape_fns;

impl<'g> Value<'g> {
    /// The quotient rounded toward minus infinity.
    ///
    /// `[..], [..] -> broadcast`, integers and floats of one dtype. Floats: the floor of the quotient. The
    /// least integer by -1 wraps. As TensorFlow's `FloorDiv`.
    ///
    /// # Errors
    /// The dtypes differ or are not integers or floats, or the shapes do not broadcast.
    ///
    /// The run fails where an integer is divided by zero.
    #[track_caller]
    pub fn floordiv(self, other: impl IntoOperand<'g>) -> Result<Value<'g>> {
        self.binary(&DEF, other, Location::caller())
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("floordiv", lower)
    .operands(&[Operand::Data("x"), Operand::Data("y")])
    .shape_fn(shape_fns::math::floordiv)
    .dtype_rule(dtype::binary::number)
    .tensorflow(&[TfOp::new("FloorDiv")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    lower_binary(cx, index, math::floordiv)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::DEF;
    use crate::error::ErrorKind;
    use crate::ops::testing::{recorded, run, shape_table, tensor};

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

    #[test]
    fn an_integer_divided_by_zero_fails_the_run() {
        let error =
            run(&DEF, &Attrs::new(), &[tensor(&[2], &[1i32, 2]), tensor(&[2], &[1i32, 0])]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DivideByZero);
    }
}
