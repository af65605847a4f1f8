//! `tile`: repeats a tensor along its axes.

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::{IntoParam, Value};
use crate::op::{OpDef, Operand, TfOp};

impl<'g> Value<'g> {
    /// Repeats `self` `multiples[i]` times along axis `i`. A multiple of 0 gives an empty axis.
    ///
    /// `[d0, …] -> [multiples[0]*d0, …]`, any dtype. As TensorFlow's `Tile`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::Graph;
    ///
    /// let g = Graph::new();
    /// let y = g.constant([1, 2, 3, 4])?.tile([2])?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y.to_vec::<i32>()?, [1, 2, 3, 4, 1, 2, 3, 4]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `multiples` does not have one entry per axis, or an entry is negative.
    #[doc(alias = "repeat")]
    #[track_caller]
    pub fn tile(self, multiples: impl IntoParam<'g>) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).size("multiples", multiples).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("tile", lower)
    .operands(&[Operand::Data("x"), Operand::Size("multiples")])
    .shape_fn(shapeflow_shape_fns::array::tile)
    .dtype_rule(dtype::unary::any)
    .tensorflow(&[TfOp::new("Tile")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let (source, target) = (cx.dims(0), cx.output_dims(0));
    let read: Vec<Index> = index
        .iter()
        .zip(source.iter().zip(&target))
        .map(
            |(position, (source, target))| {
                if source == target { position.clone() } else { position.clone().modulo(source.clone()) }
            },
        )
        .collect();
    cx.operand(0, &read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::shape_table;

    shape_table! { DEF, {"multiples": [2, 1]},
        "[n, 3]" => "[2*n, 3]",
        "?" => "[2*?, ?]",
        "[3]" => error "multiples",
    }
    shape_table! { fed: DEF, {},
        "[n, 3]; multiples=i32[2]" => "[?*n, 3*?]",
    }
}
