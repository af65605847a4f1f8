//! `split`: splits a tensor into equal parts along an axis.

use shapeflow_shape_fns::Attribute;

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::{IntoParam, Value};
use crate::op::{OpDef, Operand, TfOp};

use super::axis::body_axis;
use super::unstack::{count, counted, exactly};

impl<'g> Value<'g> {
    /// Splits `self` into `N` equal parts along `axis`.
    ///
    /// `[.., N*k, ..] -> N × [.., k, ..]`, any dtype. A negative `axis` counts from the end. An unknown dimension `n`
    /// gives `floordiv(n, N)`, and the run checks that `N` divides the dimension. As TensorFlow's `Split`. Fuses into
    /// kernels.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, shape};
    ///
    /// let g = Graph::new();
    /// let [first, _, _] = g.input("x", DType::F32, shape![5, 30])?.split::<3>(1)?;
    /// assert_eq!(first.shape().to_string(), "[5, 10]");
    /// let [left, right] = g.constant([[1, 2], [3, 4]])?.split(1)?;
    /// let [left, right] = g.compile([left, right])?.run(&[])?;
    /// assert_eq!((left.to_vec::<i32>()?, right.to_vec::<i32>()?), (vec![1, 3], vec![2, 4]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The axis is out of range, or `N` does not divide its dimension.
    #[doc(alias = "chunk")]
    #[track_caller]
    pub fn split<const N: usize>(self, axis: impl IntoParam<'g>) -> Result<[Value<'g>; N]> {
        exactly(self.graph().op(&DEF).structure("axis", axis).data(self).attr("num", N as i64).finish_all()?)
    }

    /// Splits as [`Value::split`] does, into `num` parts.
    ///
    /// ```
    /// let g = shapeflow::Graph::new();
    /// let parts = g.constant([1, 2, 3, 4, 5, 6])?.split_n(3, 0)?;
    /// let [_, second, _] = g.compile(&parts)?.run(&[])?;
    /// assert_eq!(second.to_vec::<i32>()?, [3, 4]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::split`]; also if `num` is not between 1 and 65536.
    #[doc(alias = "chunk")]
    #[doc(alias = "array_split")]
    #[track_caller]
    pub fn split_n(self, num: impl IntoParam<'g>, axis: impl IntoParam<'g>) -> Result<Vec<Value<'g>>> {
        self.graph().op(&DEF).structure("axis", axis).data(self).int_attr("num", num).finish_all()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("split", lower)
    .attrs(&[Attribute::int("num")])
    .operands(&[Operand::Structure("axis"), Operand::Data("x")])
    .outputs(count)
    .shape_fn(shapeflow_shape_fns::array::split)
    .dtype_rule(|dtypes, attrs| {
        let x = dtypes.len().saturating_sub(1);
        dtype::check_indices(dtypes.get(..x).unwrap_or_default(), 0)?;
        counted(dtype::common(dtypes, x, x + 1, dtype::Class::Any)?, attrs, 1)
    })
    .tensorflow(&[TfOp::new("Split").attrs(&[("num_split", "num")])]);

fn lower(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let axis = body_axis(cx);
    let mut read = index.to_vec();
    if let (Some(position), Some(part)) = (read.get_mut(axis), cx.output_dims(output).get(axis)) {
        *position = position.clone() + Index::constant(part * output);
    }
    cx.operand(cx.operands() - 1, &read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::shape_table;

    shape_table! { DEF, {"axis": -1, "num": 2},
        "[n, 4]" => "[n, 2]; [n, 2]",
        "[4*n]" => "[2*n]; [2*n]",
        "[n]" => "[floordiv(n, 2)]; [floordiv(n, 2)]",
        "[n, 3]" => error "must split into equal parts, got 3 into 2 at axis 1",
    }
    shape_table! { no_parts: DEF, {"num": 0},
        "[4]" => error "num must be between 1 and 65536, got 0",
    }
    shape_table! { fed: DEF, {"num": 2},
        "[n, 4]; axis=i32[]" => "[?, ?]; [?, ?]",
    }
}
