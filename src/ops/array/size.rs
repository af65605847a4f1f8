//! `size`: returns the number of elements of a tensor as a tensor.

use shapeflow_shape_fns::{Attribute, DType};

use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};

use super::shape::size_dtype;

impl<'g> Value<'g> {
    /// Returns the number of elements at run time, as an i64 scalar.
    ///
    /// `[..] -> i64[]`, any dtype. As TensorFlow's `Size`, whose default is i32: see [`Value::size_tensor_as`]. Fuses
    /// into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[1, 2, 3]])?.size_tensor()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from(3i64));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The value is [poisoned](Value).
    #[doc(alias = "numel")]
    #[doc(alias = "size")]
    #[track_caller]
    pub fn size_tensor(self) -> Result<Value<'g>> {
        self.size_tensor_as(DType::I64)
    }

    /// Returns the number of elements at run time, as a scalar of `dtype`, i32 or i64.
    ///
    /// `[..] -> dtype[]`; else as [`Value::size_tensor`].
    ///
    /// ```
    /// use shapeflow::{DType, Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[1, 2, 3]])?.size_tensor_as(DType::I32)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from(3i32));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `dtype` is neither i32 nor i64. The run fails if it must compute a number that does not fit `dtype`.
    #[track_caller]
    pub fn size_tensor_as(self, dtype: DType) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).attr("out_type", dtype).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("size", lower)
    .attrs(&[Attribute::dtype_or("out_type", DType::I64)])
    .operands(&[Operand::Data("x")])
    .shape_fn(shapeflow_shape_fns::array::size)
    .dtype_rule(size_dtype)
    .tensorflow(&[TfOp::new("Size")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, _index: &[Index]) -> Expr {
    Expr::size_product(cx.dims(0)).size_as(cx.output_dtype(0))
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
