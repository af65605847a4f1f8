//! `split`: splits a tensor into equal parts along an axis.

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::Value;
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
    /// # Errors
    /// The axis is out of range, or `N` does not divide its dimension.
    #[doc(alias = "chunk")]
    #[track_caller]
    pub fn split<const N: usize>(self, axis: i64) -> Result<[Value<'g>; N]> {
        exactly(self.graph().op(&DEF).structure("axis", axis).data(self).attr("num", N as i64).finish_all()?)
    }

    /// Splits as [`Value::split`] does, into `num` parts.
    ///
    /// # Errors
    /// As [`Value::split`].
    #[doc(alias = "chunk")]
    #[doc(alias = "array_split")]
    #[track_caller]
    pub fn split_n(self, num: i64, axis: i64) -> Result<Vec<Value<'g>>> {
        self.graph().op(&DEF).structure("axis", axis).data(self).attr("num", num).finish_all()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("split", lower)
    .attrs(&["num"])
    .operands(&[Operand::Structure("axis"), Operand::Data("x")])
    .outputs(count)
    .shape_fn(shapeflow_shape_fns::array::split)
    .dtype_rule(|dtypes, attrs| {
        let x = dtypes.len().saturating_sub(1);
        dtype::indices(dtypes.get(..x).unwrap_or_default(), 0)?;
        counted(dtype::common(dtypes, x, x + 1, dtype::Class::Any)?, attrs)
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
    shape_table! { fed: DEF, {"num": 2},
        "[n, 4]; axis=i32[]" => "[?, ?]; [?, ?]",
    }
}
