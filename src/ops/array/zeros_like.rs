//! `zeros_like`: a tensor of zeros in the shape of another tensor.

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};

impl<'g> Value<'g> {
    /// Makes a tensor of zeros (`false` for bool, empty strings for string) of the same shape and dtype.
    ///
    /// `[..] -> [..]`, any dtype. As TensorFlow's `ZerosLike`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([1.5, 2.5])?.zeros_like()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([0.0, 0.0]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// None.
    #[track_caller]
    pub fn zeros_like(self) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("zeros_like", lower)
    .operands(&[Operand::Data("x")])
    .shape_fn(shapeflow_shape_fns::common::unary)
    .dtype_rule(dtype::unary::any)
    .tensorflow(&[TfOp::new("ZerosLike")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, _index: &[Index]) -> Expr {
    Expr::zero(cx.output_dtype(0))
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::*;
    use crate::ops::testing::{run_one, shape_table, tensor};

    shape_table! { DEF, {},
        "[n, 3]" => "[n, 3]",
        "bool?" => "bool?",
        "string[n]" => "string[n]",
        "c64[n]" => "c64[n]",
    }

    #[test]
    fn elements_are_constant() {
        let y = run_one(&DEF, &Attrs::new(), &[tensor(&[2], &[5i8, 6])]);
        assert_eq!(y.to_vec::<i8>().unwrap(), [0, 0]);
    }
}
