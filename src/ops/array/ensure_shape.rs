//! `ensure_shape`: returns its operand, whose shape must fit a given one.

use shapeflow_shape_fns::{Attribute, TensorShape};

use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};

impl<'g> Value<'g> {
    /// Returns the same elements with a shape that is unified with `shape`. The run fails if a size differs.
    ///
    /// `[..] -> shape`, any dtype; unknown dimensions of `shape` allow any size. As TensorFlow's `EnsureShape`. Fuses
    /// into kernels.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape![?, ?])?.ensure_shape(shape!["n", 3])?;
    /// assert_eq!(x.shape().to_string(), "[n, 3]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The shapes provably differ.
    #[doc(alias = "set_shape")]
    #[track_caller]
    pub fn ensure_shape(self, shape: impl Into<TensorShape>) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).attr("shape", shape.into()).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("ensure_shape", lower)
    .attrs(&[Attribute::shape("shape")])
    .operands(&[Operand::Data("x")])
    .shape_fn(shapeflow_shape_fns::control::ensure_shape)
    .reinterprets()
    .tensorflow(&[TfOp::new("EnsureShape")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    cx.operand(0, index)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::shape;

    use super::*;
    use crate::ops::testing::shape_table;

    shape_table! { DEF, {"shape": shape![2, ?]},
        "[n, m]" => "[2, m]",
        "string?" => "string[2, ?]",
        "[3, 2]" => error "shapes must agree, got 3 and 2",
        "[2]" => error "rank",
    }
}
