//! `slice`: extracts a contiguous range along each axis.

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::{IntoParam, Value};
use crate::op::{OpDef, Operand, TfOp};

impl<'g> Value<'g> {
    /// Extracts `size[i]` elements of axis `i`, starting at `begin[i]`. A size of -1 extends to the end of the axis.
    ///
    /// `[d0, …] -> [size[0], …]`, any dtype. `begin` and `size` have one entry per axis and are integers, dimensions,
    /// or values. As TensorFlow's `Slice`; a range that provably exceeds its axis is refused when the graph is built,
    /// where TensorFlow fails at run time. Fuses into kernels. A list of dimensions and integers is a shape:
    /// `x.slice([0, 0], shape![&n, 4])?`.
    ///
    /// A size of -1 extends to the end also if it is a [`Dim`](crate::Dim): with the size `&n - 2`, the run does so if
    /// `n` is 1. Hence the size of the result is an expression that contains both cases, unless the dimension cannot be
    /// negative. [`Value::ensure_shape`] states that it is not: `x.slice([1], [&n - 2])?.ensure_shape([&n - 2])?` has
    /// the shape `[n-2]`, and a run in which `n` is 1 fails.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let t = g.constant([[[1, 1, 1], [2, 2, 2]], [[3, 3, 3], [4, 4, 4]], [[5, 5, 5], [6, 6, 6]]])?;
    /// let row = t.slice([1, 0, 0], [1, 1, 3])?;
    /// let rows = t.slice([1, 0, 0], [1, 2, 3])?;
    /// let first_rows = t.slice([1, 0, 0], [2, 1, 3])?;
    /// let [row, rows, first_rows] = g.compile([row, rows, first_rows])?.run(&[])?;
    /// assert_eq!(row, Tensor::from([[[3, 3, 3]]]));
    /// assert_eq!(rows, Tensor::from([[[3, 3, 3], [4, 4, 4]]]));
    /// assert_eq!(first_rows, Tensor::from([[[3, 3, 3]], [[5, 5, 5]]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `begin` or `size` does not have one entry per axis, a size is below -1, or a range exceeds its axis.
    #[doc(alias = "narrow")]
    #[doc(alias = "dynamic_slice")]
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
        index.iter().zip(begin).map(|(position, begin)| position.clone() + Index::constant(begin)).collect();
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
    #[test]
    fn a_size_is_stated_not_to_be_negative() -> Result<()> {
        use crate::{DType, Graph, Tensor, shape};

        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["n"])?;
        let size = x.dim(0)? - 2;
        let inner = x.slice([1], [&size])?.ensure_shape([&size])?;
        assert_eq!(inner.shape().to_string(), "[n-2]");
        let exe = g.compile(inner)?;
        let run = |elements: &[f32]| exe.run_all(&[Tensor::from(elements.to_vec()).view()]);
        assert_eq!(run(&[1.0, 2.0, 3.0, 4.0])?[0], Tensor::from([2.0f32, 3.0]));
        assert!(run(&[1.0]).is_err());
        Ok(())
    }

    shape_table! { fed: DEF, {"size": [2]},
        "[4]; begin=i64[1]" => "[2]",
    }
}
