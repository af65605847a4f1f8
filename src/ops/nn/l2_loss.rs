//! `l2_loss`: half of the sum of squares.

use std::panic::Location;

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx, ReduceOp};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::widen::widen;
use crate::shape_fns;

impl<'g> Value<'g> {
    /// `sum(x²) / 2` over all elements.
    ///
    /// `[..] -> []`, floats. f16 and bf16 are computed as f32 and rounded once. As TensorFlow's `L2Loss`. Fuses into
    /// kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([3.0, 4.0])?.l2_loss()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from(12.5));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not a float.
    #[track_caller]
    pub fn l2_loss(self) -> Result<Value<'g>> {
        self.unary(&DEF, Location::caller())
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("l2_loss", lower)
    .operands(&[Operand::Data("t")])
    .shape_fn(shape_fns::nn::l2_loss)
    .dtype_rule(dtype::unary::float)
    .tensorflow(&[TfOp::new("L2Loss")]);

fn lower(cx: &mut dyn LowerCx, output: usize, _index: &[Index]) -> Expr {
    let extents = cx.dims(0);
    let sum = cx.reduce(ReduceOp::Sum, &extents, &mut |cx, inner| {
        let x = widen(cx.operand(0, inner));
        &x * &x
    });
    (sum.like(0.5) * sum).cast(cx.output_dtype(output))
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::DEF;
    use crate::ops::testing::{check_tensor, run_one, shape_table, tensor};

    shape_table! { DEF, {},
        "[2, n]" => "[]",
        "?" => "[]",
        "i32[2]" => error "must be a float, got i32",
    }

    #[test]
    fn values() {
        let loss = |x| run_one(&DEF, &Attrs::new(), &[x]);
        check_tensor(&loss(tensor(&[1, 3], &[1.0f32, 2.0, -3.0])), &tensor(&[], &[7.0f32]), "l2_loss");
        check_tensor(&loss(tensor(&[], &[4.0f64])), &tensor(&[], &[8.0f64]), "l2_loss");
        check_tensor(&loss(tensor::<f64>(&[0], &[])), &tensor(&[], &[0.0f64]), "l2_loss");
    }
}
