//! `atan2`: the angle of a point.

use std::panic::Location;

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx, math};
use crate::graph::{IntoOperand, Value};
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::broadcast::lower_binary;
use crate::shape_fns;

impl<'g> Value<'g> {
    /// Computes the angle of the point `(x, y) = (other, self)` in `[-π, π]` radians.
    ///
    /// `[..], [..] -> broadcast`, floats of one dtype. The error is at most 1.4 ulp in f32 and f64. As TensorFlow's
    /// `Atan2`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([1.0, 0.0])?.atan2(g.constant([1.0, -1.0])?)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([0.7854, 3.142]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtypes differ or are not floats, or the shapes do not broadcast.
    #[doc(alias = "arctan2")]
    #[track_caller]
    pub fn atan2(self, other: impl IntoOperand<'g>) -> Result<Value<'g>> {
        self.binary(&DEF, other, Location::caller())
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("atan2", lower)
    .operands(&[Operand::Data("y"), Operand::Data("x")])
    .shape_fn(shape_fns::common::broadcast)
    .dtype_rule(dtype::binary::float)
    .tensorflow(&[TfOp::new("Atan2")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    lower_binary(cx, index, math::atan2)
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
