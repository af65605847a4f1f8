//! `shape`: the sizes of a tensor as a tensor.

use shapeflow_shape_fns::{Attrs, DType, Dim};

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, InRange, Index, LowerCx};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};

impl<'g> Value<'g> {
    /// The sizes of all axes as an i64 vector, known when the graph runs.
    ///
    /// `[d0, …, dn] -> i64[n + 1]`. The elements are followed through slices, gathers and arithmetic, so
    /// `x.reshape(y.shape_tensor()?)` keeps symbols. TensorFlow's `Shape`, whose default dtype is i32: see
    /// [`Value::shape_tensor_as`]. What is known now is [`Value::shape`].
    ///
    /// # Errors
    /// The value is poisoned.
    #[track_caller]
    pub fn shape_tensor(self) -> Result<Value<'g>> {
        self.shape_tensor_as(DType::I64)
    }

    /// As [`Value::shape_tensor`], as i32 or i64.
    ///
    /// # Errors
    /// Another dtype.
    #[track_caller]
    pub fn shape_tensor_as(self, dtype: DType) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).attr("out_type", dtype).finish()
    }
}

/// The rule of ops whose results are sizes: attribute `out_type`, i32 or i64.
pub(super) fn size_dtype(_: &[DType], attrs: &Attrs) -> Result<Vec<DType>> {
    match dtype::attribute(attrs, "out_type")?.unwrap_or(DType::I64) {
        dtype @ (DType::I32 | DType::I64) => Ok(vec![dtype]),
        other => dtype::refuse_with_help(
            format!("sizes must be i32 or i64, got {other}"),
            format!("ask for DType::I64, then cast with .cast({})", dtype::spelled(other)),
        ),
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("shape", lower)
    .operands(&[Operand::Data("x")])
    .shape_fn(shapeflow_shape_fns::array::shape)
    .dtype_rule(size_dtype)
    .tensorflow(&[TfOp::new("Shape")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let dtype = cx.output_dtype(0);
    let Some(at) = index.first() else { return Expr::constant(0i64).cast(dtype) };
    let mut arms: Vec<(Vec<InRange>, Expr)> = cx
        .dims(0)
        .into_iter()
        .enumerate()
        .map(|(axis, dim)| {
            let low = Dim::known(axis as i64);
            let range = InRange { index: at.clone(), high: &low + 1, low };
            (vec![range], Expr::size(dim).cast(dtype))
        })
        .collect();
    match arms.pop() {
        Some((_, last)) => Expr::case(arms, last),
        // A scalar's sizes are empty: no element is ever asked for.
        None => Expr::constant(0i64).cast(dtype),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use shapeflow_shape_fns::shape;

    use super::*;
    use crate::graph::Graph;
    use crate::ops::testing::shape_table;

    shape_table! { DEF, {},
        "[n, 3]" => "i64[2]",
        "[]" => "i64[0]",
        "?" => "i64[?]",
    }
    shape_table! { refused: DEF, {"out_type": DType::F32},
        "[n]" => error "sizes must be i32 or i64, got f32",
    }

    #[test]
    fn sizes_are_followed_into_reshape() {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["n", "m"]).unwrap();
        let sizes = x.shape_tensor().unwrap();
        assert_eq!(x.reshape(sizes.reverse([0]).unwrap()).unwrap().shape().rank(), Some(2));
        assert_eq!(x.reshape(sizes).unwrap().shape().to_string(), "[n, m]");
    }
}
