//! `identity`: returns its operand.

use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};

impl<'g> Value<'g> {
    /// Returns the same elements as a new value.
    ///
    /// `[..] -> [..]`, any dtype. As TensorFlow's `Identity`; unlike TensorFlow, inference also tracks the elements of
    /// shape tensors through the op. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([1, 2])?.identity()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([1, 2]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The value is [poisoned](Value).
    #[doc(alias = "stop_gradient")]
    #[doc(alias = "detach")]
    #[doc(alias = "copy")]
    #[track_caller]
    pub fn identity(self) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("identity", lower)
    .operands(&[Operand::Data("x")])
    .shape_fn(shapeflow_shape_fns::array::identity)
    .reinterprets()
    .forwards(|_, _| true)
    .tensorflow(&[
        TfOp::new("Identity"),
        TfOp::new("StopGradient"),
        TfOp::new("PreventGradient").own_shape_fn(),
        TfOp::new("Snapshot"),
        TfOp::new("GuaranteeConst"),
    ]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    cx.operand(0, index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::shape_table;

    shape_table! { DEF, {},
        "[n, ?, 3]" => "[n, d0_1, 3]",
        "i32?" => "i32?",
    }
}
