//! `reverse`: reverses axes.

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::{IntoParam, Value};
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::derived;

impl<'g> Value<'g> {
    /// Reverses the order of the elements along the given axes. Without axes, the result equals `self`.
    ///
    /// `[..] -> [..]`, any dtype. Negative axes count from the end. As TensorFlow's `ReverseV2`. Fuses into kernels.
    ///
    /// # Errors
    /// An axis is out of range or given twice.
    #[track_caller]
    pub fn reverse(self, axes: impl IntoParam<'g>) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).structure("axis", axes).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("reverse", lower)
    .attrs(&[])
    .operands(&[Operand::Data("x"), Operand::Structure("axis")])
    .shape_fn(shapeflow_shape_fns::array::reverse)
    .dtype_rule(dtype::unary::any)
    .tensorflow(&[TfOp::new("ReverseV2")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let dims = cx.dims(0);
    let reversed = derived::axes(cx);
    let read: Vec<Index> = index
        .iter()
        .zip(&dims)
        .enumerate()
        .map(|(axis, (position, dim))| {
            if reversed.contains(&axis) {
                Index::constant(dim - 1) - position.clone()
            } else {
                position.clone()
            }
        })
        .collect();
    cx.operand(0, &read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::shape_table;

    shape_table! { DEF, {"axis": [0, -1]},
        "[n, 2, 3]" => "[n, 2, 3]",
        "[n]" => error "must not repeat an axis",
    }
}
