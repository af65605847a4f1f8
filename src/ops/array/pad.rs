//! `pad`: adds a border of one value around a tensor.

use shapeflow_shape_fns::{Attrs, DType, Dim};

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, InRange, Index, LowerCx};
use crate::graph::{IntoOperand, IntoParam, Value};
use crate::op::{OpDef, Operand, TfOp};

impl<'g> Value<'g> {
    /// Adds a border of zeros (`false` for bool, empty strings for string). `paddings` holds one pair per axis, one
    /// after the other: the number of elements before and the number after.
    ///
    /// `[d0, …] -> [paddings[0] + d0 + paddings[1], …]`, any dtype. If `paddings` is a value of the graph, its shape is
    /// `[rank, 2]`. As TensorFlow's `Pad`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[1, 2, 3], [4, 5, 6]])?.pad([1, 1, 2, 2])?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// let expected = [[0, 0, 0, 0, 0, 0, 0], [0, 0, 1, 2, 3, 0, 0], [0, 0, 4, 5, 6, 0, 0], [0, 0, 0, 0, 0, 0, 0]];
    /// assert_eq!(y, Tensor::from(expected));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `paddings` does not have one pair per axis, or an entry is negative.
    #[track_caller]
    pub fn pad(self, paddings: impl IntoParam<'g>) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).size("paddings", paddings).finish()
    }

    /// Adds a border of `value`, a scalar of the same dtype. `paddings` is as for [`Value::pad`]. Any dtype. As
    /// TensorFlow's `PadV2`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::Graph;
    ///
    /// let g = Graph::new();
    /// let y = g.constant([1, 2])?.pad_with([1, 2], 9)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y.to_vec::<i32>()?, [9, 1, 2, 9, 9]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::pad`]; also if `value` is not a scalar of the same dtype.
    #[track_caller]
    pub fn pad_with(self, paddings: impl IntoParam<'g>, value: impl IntoOperand<'g>) -> Result<Value<'g>> {
        let value = value.into_operand(self, std::panic::Location::caller());
        self.graph().op(&WITH).data(self).size("paddings", paddings).data(value).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("pad", lower)
    .operands(&[Operand::Data("x"), Operand::Size("paddings")])
    .shape_fn(shapeflow_shape_fns::array::pad)
    .dtype_rule(dtype::unary::any)
    .tensorflow(&[TfOp::new("Pad").pairs(&["paddings"])]);

pub(crate) static WITH: OpDef = OpDef::compute("pad_with", lower_with)
    .operands(&[Operand::Data("x"), Operand::Size("paddings"), Operand::Data("constant_values")])
    .shape_fn(shapeflow_shape_fns::array::pad)
    .dtype_rule(with_dtypes)
    .tensorflow(&[TfOp::new("PadV2").pairs(&["paddings"])]);

fn with_dtypes(operands: &[DType], attrs: &Attrs) -> Result<Vec<DType>> {
    match (operands.first(), operands.last()) {
        (Some(x), Some(value)) if x != value => dtype::refuse_with_help(
            format!("the border must have the dtype of the tensor, got {value} around {x}"),
            format!("cast the border with .cast({})", dtype::spelled(*x)),
        ),
        _ => dtype::unary::any(operands.get(..operands.len().saturating_sub(1)).unwrap_or_default(), attrs),
    }
}

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let zero = Expr::zero(cx.dtype(0));
    bordered(cx, index, zero)
}

fn lower_with(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let value = cx.operand(cx.operands() - 1, &[]);
    bordered(cx, index, value)
}

/// Returns the result's element at `index`: an element of the operand, or `border` outside the operand.
fn bordered(cx: &mut dyn LowerCx, index: &[Index], border: Expr) -> Expr {
    let before = cx.derived("before");
    let (source, target) = (cx.dims(0), cx.output_dims(0));
    let mut inside = Vec::new();
    let mut read = index.to_vec();
    for (axis, position) in read.iter_mut().enumerate() {
        if target[axis] == source[axis] {
            continue;
        }
        *position = position.clone() - Index::constant(before[axis].clone());
        inside.push(InRange { index: position.clone(), low: Dim::known(0), high: source[axis].clone() });
    }
    let element = cx.operand(0, &read);
    if inside.is_empty() { element } else { Expr::case(vec![(inside, element)], border) }
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attr;

    use super::*;
    use crate::expr::eval_cast;
    use crate::ops::testing::{recorded, run, run_one, shape_table, tensor};
    use crate::tensor::Tensor;

    shape_table! { DEF, {"paddings": [1, 2, 0, 0]},
        "[n, 3]" => "[n+3, 3]",
        "[3]" => error "paddings must have one pair per axis",
    }
    shape_table! { with: WITH, {"paddings": [1, 2]},
        "[n]; []" => "[n+3]",
        "[n]; f64[]" => error "the border must have the dtype of the tensor, got f64 around f32",
    }
    shape_table! { negative: DEF, {"paddings": [-1, 2]},
        "[3]" => error "paddings must not be negative, got -1",
    }
    shape_table! { fed: DEF, {},
        "[n]; paddings=i32[1, 2]" => "[?+?+n]",
    }

    #[test]
    fn values_are_those_recorded() {
        // The recorded cases give the border and the mode as attributes. They select `pad_with` or `mirror_pad`.
        static ANY: OpDef = OpDef::host("pad", |cx| {
            let x = cx.input(0)?.to_tensor()?;
            let mode = cx.attrs().get("mode").map(Attr::to_string).unwrap_or_default();
            let output = if mode.contains("constant") {
                let value = match cx.attrs().get("constant_value") {
                    Some(Attr::Int(value)) => *value as f64,
                    Some(Attr::Float(value)) => *value,
                    Some(Attr::Bool(value)) => f64::from(u8::from(*value)),
                    other => panic!("constant_value must be a number or a bool, got {other:?}"),
                };
                let mut border = Tensor::zeros(x.dtype(), &[])?;
                let value = eval_cast(crate::expr::Scalar::F64(value), x.dtype());
                value.write_bytes(border.view_mut()?.bytes_mut()).unwrap();
                run(&WITH, cx.attrs(), &[x, border])?
            } else {
                run(&super::super::mirror_pad::DEF, cx.attrs(), &[x])?
            };
            cx.set_output(0, output.into_iter().next().unwrap())
        })
        .shape_fn(shapeflow_shape_fns::array::pad);
        recorded(&ANY);
    }

    #[test]
    fn the_border_is_zero() {
        let attrs = Attrs::new().with("paddings", [1, 0, 0, 1]);
        let y = run_one(&DEF, &attrs, &[tensor(&[1, 2], &[7u8, 8])]);
        assert_eq!((y.sizes(), y.to_vec::<u8>().unwrap()), (&[2, 3][..], vec![0, 0, 0, 7, 8, 0]));
    }
}
