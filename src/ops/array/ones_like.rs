//! `ones_like`: a tensor of ones in the shape of another tensor.

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};

impl<'g> Value<'g> {
    /// Makes a tensor of ones (`true` for bool) of the same shape and dtype.
    ///
    /// `[..] -> [..]`, any dtype but string. As TensorFlow's `OnesLike`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[5, 6], [7, 8]])?.ones_like()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[1, 1], [1, 1]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are strings.
    #[track_caller]
    pub fn ones_like(self) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("ones_like", lower)
    .operands(&[Operand::Data("x")])
    .shape_fn(shapeflow_shape_fns::common::unary)
    .dtype_rule(dtype::unary::fixed)
    .tensorflow(&[TfOp::new("OnesLike")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, _index: &[Index]) -> Expr {
    Expr::number(cx.output_dtype(0), 1.0)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::*;
    use crate::ops::testing::{run_one, shape_table, tensor};

    shape_table! { DEF, {},
        "[n, 3]" => "[n, 3]",
        "bool?" => "bool?",
        "string[n]" => error "the element type must be any but string",
    }

    #[test]
    fn elements_are_constant() {
        let y = run_one(&DEF, &Attrs::new(), &[tensor(&[2], &[5i8, 6])]);
        assert_eq!(y.to_vec::<i8>().unwrap(), [1, 1]);
    }
}
