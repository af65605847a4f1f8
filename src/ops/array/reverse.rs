//! `reverse`: reverses axes.

use shapeflow_shape_fns::{Attrs, DType, Dim, Guard, InferenceContext, TensorShape};

use crate::dtype;
use crate::error::{Error, Result};
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::{IntoParam, Value};
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::derived;

impl<'g> Value<'g> {
    /// Reverses the order of the elements along the given axes. Without axes, the result equals `self`. A scalar stays
    /// as it is, whatever the axes are.
    ///
    /// `[..] -> [..]`, any dtype. Negative axes count from the end. As TensorFlow's `ReverseV2`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let block = |first| [[first, first + 1, first + 2], [first + 3, first + 4, first + 5]];
    /// let t = g.constant([[block(0), block(6)]])?;
    /// let reversed = [t.reverse([-1])?, t.reverse([1])?, t.reverse([2])?];
    /// let [along_rows, blocks, rows] = g.compile(reversed)?.run(&[])?;
    /// assert_eq!(along_rows, Tensor::from([[[[2, 1, 0], [5, 4, 3]], [[8, 7, 6], [11, 10, 9]]]]));
    /// assert_eq!(blocks, Tensor::from([[block(6), block(0)]]));
    /// assert_eq!(rows, Tensor::from([[[[3, 4, 5], [0, 1, 2]], [[9, 10, 11], [6, 7, 8]]]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// An axis is out of range or given twice. A run accepts every axis for a tensor without elements, if the axes are
    /// a value or the rank is unknown when the graph is built.
    #[doc(alias = "flip")]
    #[doc(alias = "fliplr")]
    #[doc(alias = "flipud")]
    #[track_caller]
    pub fn reverse(self, axes: impl IntoParam<'g>) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).structure("axis", axes).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("reverse", lower)
    .operands(&[Operand::Data("x"), Operand::Structure("axis")])
    .shape_fn(shape)
    .builder_shape_fn(shapeflow_shape_fns::array::reverse)
    .dtype_rule(dtype::unary::any)
    .tensorflow(&[TfOp::new("ReverseV2")]);

/// Infers the shape by the shape function of `ReverseV2`. If it refuses the axes, the tensor must be empty:
/// TensorFlow's kernel returns an empty tensor whatever the axes are.
fn shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    let refused = match shapeflow_shape_fns::array::reverse(cx) {
        Ok(()) => return Ok(()),
        Err(refused) => refused,
    };
    let Some(dims) = cx.input(0).dims().map(<[Dim]>::to_vec) else { return Err(refused) };
    let mut count = Dim::known(1);
    for dim in &dims {
        count = cx.mul(&count, dim)?;
    }
    if cx.require(Guard::Eq(count, Dim::known(0))).is_err() {
        return Err(refused);
    }
    cx.forward(0, 0);
    cx.set_derived("axis", []);
    Ok(())
}

/// An op for import only: a bool for every axis tells whether to reverse it.
pub(crate) static BY_FLAGS: OpDef = OpDef::composite("reverse_by_flags", |_, values| {
    let &[x, flags] = values else { return Err(Error::msg("reverse_by_flags needs a tensor and flags")) };
    dtypes(&[x.dtype(), flags.dtype()], &Attrs::new())?;
    let flags = x.graph().op(&FLAGS_OF_AXES).data(x).data(flags).finish()?;
    Ok(vec![x.reverse(flags.where_indices()?.reshape([-1])?)?])
})
.operands(&[Operand::Data("x"), Operand::Data("dims")])
.dtype_rule(dtypes)
.tensorflow(&[TfOp::new("Reverse")]);

/// A part of `reverse_by_flags`: returns the flags, one for every axis of the first operand.
pub(crate) static FLAGS_OF_AXES: OpDef = OpDef::compute("flags_of_axes", |cx, _, index| cx.operand(1, index))
    .internal()
    .operands(&[Operand::Data("x"), Operand::Data("flags")])
    .shape_fn(|cx| {
        let [mut flags] = cx.axes::<1>(1)?;
        if let Some(rank) = cx.input(0).rank() {
            flags = cx.agree("the number of flags and the rank", &flags, &Dim::known(rank as i64))?;
        }
        cx.set_output(0, TensorShape::new([flags]));
        Ok(())
    })
    .dtype_rule(|operands, attrs| dtypes(operands, attrs).map(|_| vec![DType::Bool]));

fn dtypes(dtypes: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    dtype::common(dtypes, 1, 2, dtype::Class::Bool)?;
    Ok(dtypes.iter().take(1).copied().collect())
}

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let dims = cx.dims(0);
    let reversed = derived::axes(cx);
    let read: Vec<Index> = index
        .iter()
        .zip(&dims)
        .enumerate()
        .map(|(axis, (position, dim))| {
            if reversed.contains(&axis) {
                Index::constant(dim - 1) - position.clone()
            } else {
                position.clone()
            }
        })
        .collect();
    cx.operand(0, &read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;
    use crate::ops::testing::shape_table;
    use crate::shape;
    use crate::tensor::Tensor;

    #[test]
    fn a_run_reverses_an_empty_tensor_along_any_axes() {
        let g = Graph::new();
        let (x, axes) = (
            g.input("x", DType::F32, shape![?, ?]).unwrap(),
            g.input("axes", DType::I32, shape![?]).unwrap(),
        );
        let exe = g.compile(x.reverse(axes).unwrap()).unwrap();
        let run = |sizes: &[usize], axes: &[i32]| {
            let axes = Tensor::from_vec(&[axes.len()], axes.to_vec()).unwrap();
            exe.run::<1>(&[Tensor::full(sizes, 1.0f32).unwrap().view(), axes.view()])
        };
        for axes in [&[0, 0][..], &[1, -1], &[7], &[-3]] {
            for sizes in [[0, 3], [2, 0]] {
                assert_eq!(run(&sizes, axes).unwrap()[0].sizes(), sizes);
            }
            let error = run(&[2, 3], axes).unwrap_err();
            assert!(error.to_string().contains("axis"), "{error}");
        }
        assert!(g.input("y", DType::F32, [0, 3]).unwrap().reverse([0, 0]).is_err());
    }

    shape_table! { DEF, {"axis": [0, -1]},
        "[n, 2, 3]" => "[n, 2, 3]",
        "[]" => "[]",
        "[n]" => error "must not repeat an axis",
    }
    shape_table! { flags: FLAGS_OF_AXES, {},
        "[n, 2]; bool[?]" => "bool[2]",
        "[n, 2]; bool[3]" => error "the number of flags and the rank must agree, got 3 and 2",
        "[n]; i32[1]" => error "must be bool, got i32",
    }
}
