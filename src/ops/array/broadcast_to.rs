//! `broadcast_to`: repeats elements along axes of size 1 up to a shape.

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::{IntoShapeArg, Value};
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::broadcast::broadcast_index;

impl<'g> Value<'g> {
    /// Repeats elements along new leading axes and along axes of size 1, so that the result has shape `shape`.
    ///
    /// `[..] -> shape`, any dtype. `shape` is an array or slice of sizes, a shape, or a value that holds the sizes.
    /// As TensorFlow's `BroadcastTo`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[1], [2]])?.broadcast_to([2, 3])?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[1, 1, 1], [2, 2, 2]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `self` has more axes than `shape`, or a dimension of `self` is neither 1 nor the dimension of `shape`.
    #[doc(alias = "expand")]
    #[track_caller]
    pub fn broadcast_to(self, shape: impl IntoShapeArg<'g>) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).size("shape", shape.into_shape_arg()).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("broadcast_to", lower)
    .operands(&[Operand::Data("x"), Operand::Size("shape")])
    .shape_fn(shapeflow_shape_fns::array::broadcast_to)
    .dtype_rule(dtype::unary::any)
    .tensorflow(&[TfOp::new("BroadcastTo")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let read = broadcast_index(cx, 0, index);
    cx.operand(0, &read)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::shape;

    use super::*;
    use crate::ops::testing::shape_table;

    shape_table! { DEF, {"shape": shape!["n", 3]},
        "[3]" => "[n, 3]",
        "[1, 1]" => "[n, 3]",
        "[n, 1]" => "[n, 3]",
        "[4, 4]" => error "x must have size 1 or 3, got 4 at axis 1 of [4, 4]",
    }
    shape_table! { fed: DEF, {},
        "[3]; shape=i64[2]" => "[?, 3]",
    }
}
