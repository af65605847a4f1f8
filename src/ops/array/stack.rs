//! `stack`: joins tensors of one shape along a new axis.

use shapeflow_shape_fns::{Attribute, Attrs, DType, Dim};

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, InRange, Index, LowerCx};
use crate::graph::{IntoParam, Value};
use crate::op::{OpDef, Operand, TfOp};

use super::axis::{body_axis, without};
use super::concat::first_of;

/// Joins the values along a new axis, which becomes axis `axis` of the result.
///
/// `k × [d0, …] -> [.., k, ..]`, any one dtype. A negative `axis` counts from the end of the result. The shapes must
/// agree and are unified. As TensorFlow's `Pack`. Fuses into kernels.
///
/// ```
/// use shapeflow::{Graph, Tensor, stack};
///
/// let g = Graph::new();
/// let values = [g.constant([1, 4])?, g.constant([2, 5])?, g.constant([3, 6])?];
/// let [rows, columns] = g.compile([stack(&values, 0)?, stack(&values, 1)?])?.run(&[])?;
/// assert_eq!(rows, Tensor::from([[1, 4], [2, 5], [3, 6]]));
/// assert_eq!(columns, Tensor::from([[1, 2, 3], [4, 5, 6]]));
/// # Ok::<(), shapeflow::Error>(())
/// ```
///
/// # Errors
/// There are no values, their dtypes or shapes differ, or the axis is out of range.
#[doc(alias = "pack")]
#[track_caller]
pub fn stack<'g>(values: &[Value<'g>], axis: impl IntoParam<'g>) -> Result<Value<'g>> {
    let first = first_of(values, "stack")?;
    first.graph().op(&DEF).int_attr("axis", axis).data_all(values).finish()
}

pub(crate) static DEF: OpDef = OpDef::compute("stack", lower)
    .attrs(&[Attribute::int_or("axis", 0)])
    .operands(&[Operand::Variadic("values..")])
    .shape_fn(shapeflow_shape_fns::array::stack)
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("Pack")]);

fn dtypes(operands: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    Ok(vec![dtype::common(operands, 0, operands.len(), dtype::Class::Any)?])
}

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let axis = body_axis(cx);
    let position = &index[axis];
    let read = without(index, axis);
    let mut arms: Vec<(Vec<InRange>, Expr)> = (0..cx.operands())
        .map(|value| {
            let low = value as i64;
            let range = InRange { index: position.clone(), low: Dim::known(low), high: Dim::known(low + 1) };
            (vec![range], cx.operand(value, &read))
        })
        .collect();
    match arms.pop() {
        Some((_, last)) => Expr::case(arms, last),
        None => cx.operand(0, &read),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::shape_table;

    shape_table! { DEF, {"axis": -1},
        "[?, 3]; [4, ?]" => "[4, 3, 2]",
        "[]; []; []" => "[3]",
        "[2]; [3]" => error "must have the same shape",
        "i32[]; i64[]" => error "operands must have one dtype, got i32 and i64",
    }
}
