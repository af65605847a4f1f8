//! `pow`: powers.

use std::panic::Location;

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx, math};
use crate::graph::{IntoOperand, Value};
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::broadcast::lower_binary;
use crate::shape_fns;

impl<'g> Value<'g> {
    /// `self` to the power of `other`.
    ///
    /// `[..], [..] -> broadcast`, integers and floats of one dtype. Floats: as C's `pow`. Integers wrap. As
    /// TensorFlow's `Pow`.
    /// From the exact result it is at most 0.6 ulp away in f32, 1 ulp in f64.
    ///
    /// # Errors
    /// The dtypes differ or are not integers or floats, or the shapes do not broadcast.
    #[track_caller]
    pub fn pow(self, other: impl IntoOperand<'g>) -> Result<Value<'g>> {
        self.binary(&DEF, other, Location::caller())
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("pow", lower)
    .operands(&[Operand::Data("x"), Operand::Data("y")])
    .shape_fn(shape_fns::common::broadcast)
    .dtype_rule(dtype::binary::number)
    .tensorflow(&[TfOp::new("Pow")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    lower_binary(cx, index, math::pow)
}

#[cfg(test)]
mod tests {
    use super::DEF;
    use crate::ops::testing::{recorded, shape_table};

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
}
