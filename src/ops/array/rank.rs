//! `rank`: returns the rank of a tensor as a tensor.

use shapeflow_shape_fns::{Attribute, DType};

use super::in_tensorflow;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfFunction, TfOp};

use super::shape::size_dtype;

impl<'g> Value<'g> {
    /// Returns the number of axes as an i64 scalar.
    ///
    /// `[..] -> i64[]`, any dtype. As TensorFlow's `Rank`, whose result is i32: see [`Value::rank_tensor_as`]. Fuses
    /// into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[1, 2], [3, 4]])?.rank_tensor()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from(2i64));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The value is [poisoned](Value).
    #[doc(alias = "ndim")]
    #[doc(alias = "rank")]
    #[track_caller]
    pub fn rank_tensor(self) -> Result<Value<'g>> {
        self.rank_tensor_as(DType::I64)
    }

    /// Returns the number of axes as a scalar of `dtype`, i32 or i64.
    ///
    /// `[..] -> dtype[]`; else as [`Value::rank_tensor`].
    ///
    /// ```
    /// use shapeflow::{DType, Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[1, 2], [3, 4]])?.rank_tensor_as(DType::I32)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from(2i32));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `dtype` is neither i32 nor i64.
    #[track_caller]
    pub fn rank_tensor_as(self, dtype: DType) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).attr("out_type", dtype).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("rank", lower)
    .attrs(&[Attribute::dtype_or("out_type", DType::I64)])
    .in_tensorflow(TfFunction::Composed(in_tensorflow::rank))
    .operands(&[Operand::Data("x")])
    .shape_fn(shapeflow_shape_fns::array::rank)
    .dtype_rule(size_dtype)
    .tensorflow(&[TfOp::new("Rank").output_type("out_type")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, _index: &[Index]) -> Expr {
    Expr::constant(cx.dims(0).len() as i64).cast(cx.output_dtype(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::shape_table;

    shape_table! { DEF, {},
        "[n, 3]" => "i64[]",
        "?" => "i64[]",
    }
}
