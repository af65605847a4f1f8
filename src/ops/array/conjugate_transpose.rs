//! `conjugate_transpose`: transposes and conjugates.

use crate::dtype;
use crate::error::Result;
use crate::graph::{IntoParam, Value};
use crate::op::{Absent, OpDef, Operand, TfOp};

use super::transpose::lower;

impl<'g> Value<'g> {
    /// Permutes the axes as [`Value::transpose`] does and conjugates the elements. A real number is its own conjugate.
    ///
    /// `[d0, …, dn] -> [d(perm[0]), …, d(perm[n])]`, bool, integers and floats. As TensorFlow's `ConjugateTranspose`.
    /// Fuses into kernels.
    ///
    /// # Errors
    /// `perm` is not a permutation of the axes, or the dtype is not supported.
    #[track_caller]
    pub fn conjugate_transpose(self, perm: impl IntoParam<'g>) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).structure("perm", perm).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("conjugate_transpose", lower)
    .operands(&[Operand::Data("x"), Operand::Structure("perm")])
    .shape_fn(shapeflow_shape_fns::array::transpose)
    .dtype_rule(dtype::unary::scalar)
    .tensorflow(&[TfOp::new("ConjugateTranspose").absent(&[("perm", Absent::ReversedAxes)])]);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::shape_table;

    shape_table! { DEF, {"perm": [1, 0]},
        "[2, n]" => "[n, 2]",
        "c64[2, n]" => error "the element type must be bool, an integer or a float",
    }
}
