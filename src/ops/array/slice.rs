//! `slice`: a box cut out of a tensor.

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::{IntoParam, Value};
use crate::op::{OpDef, Operand, TfOp};

impl<'g> Value<'g> {
    /// `size[i]` elements of axis `i` from `begin[i]` on; a size of -1 means the rest.
    ///
    /// Both have one entry per axis and are integers, dimensions, or values. Any dtype. TensorFlow's `Slice`,
    /// except that a box which provably reaches past the end is refused when the graph is built; there it
    /// fails when it runs.
    ///
    /// # Errors
    /// The lengths are not the rank, a size is below -1, or the box reaches outside.
    #[track_caller]
    pub fn slice(self, begin: impl IntoParam<'g>, size: impl IntoParam<'g>) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).size("begin", begin).size("size", size).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("slice", lower)
    .operands(&[Operand::Data("x"), Operand::Size("begin"), Operand::Size("size")])
    .shape_fn(shapeflow_shape_fns::array::slice)
    .dtype_rule(dtype::unary::any)
    .tensorflow(&[TfOp::new("Slice")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let begin = cx.derived("begin");
    let read: Vec<Index> =
        index.iter().zip(begin).map(|(at, begin)| at.clone() + Index::constant(begin)).collect();
    cx.operand(0, &read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::shape_table;

    shape_table! { DEF, {"begin": [1, 0], "size": [-1, 2]},
        "[4, 3]" => "[3, 2]",
        "[n, 3]" => "[n-1, 2]",
        "[4, 1]" => error "a slice must lie within the tensor, got 0 to 2 at axis 1",
        "[4]" => error "must have one entry per axis",
    }
    shape_table! { fed: DEF, {"size": [2]},
        "[4]; begin=i64[1]" => "[2]",
    }
}
