//! `concat`: joins tensors along an axis.

use std::panic::Location;

use shapeflow_shape_fns::{Attrs, DType};

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::{Expr, InRange, Index, LowerCx};
use crate::graph::{IntoParam, Value};
use crate::op::{CompositeCx, OpDef, Operand, TfFunction, TfOp};

use super::axis::body_axis;

/// Joins the values along `axis`, in their order.
///
/// `[a, d1, …], [b, d1, …] -> [a+b, d1, …]` for axis 0, any one dtype. A negative `axis` counts from the end. The other
/// dimensions must agree and are unified. As TensorFlow's `ConcatV2`. Fuses into kernels.
///
/// ```
/// use shapeflow::{Graph, Tensor, concat};
///
/// let g = Graph::new();
/// let (a, b) = (g.constant([[1, 2, 3], [4, 5, 6]])?, g.constant([[7, 8, 9], [10, 11, 12]])?);
/// let [rows, columns] = g.compile([concat(&[a, b], 0)?, concat(&[a, b], 1)?])?.run(&[])?;
/// assert_eq!(rows, Tensor::from([[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]]));
/// assert_eq!(columns, Tensor::from([[1, 2, 3, 7, 8, 9], [4, 5, 6, 10, 11, 12]]));
///
/// let a = g.constant([[[1, 2], [2, 3]], [[4, 4], [5, 3]]])?;
/// let b = g.constant([[[7, 4], [8, 4]], [[2, 10], [15, 11]]])?;
/// let [last] = g.compile(concat(&[a, b], -1)?)?.run(&[])?;
/// assert_eq!(last, Tensor::from([[[1, 2, 7, 4], [2, 3, 8, 4]], [[4, 4, 2, 10], [5, 3, 15, 11]]]));
/// # Ok::<(), shapeflow::Error>(())
/// ```
///
/// # Errors
/// There are no values, the values are scalars (see [`stack`](fn@crate::stack)), their dtypes, ranks or other sizes
/// differ, or the axis is out of range.
#[doc(alias = "cat")]
#[doc(alias = "concatenate")]
#[doc(alias = "hstack")]
#[doc(alias = "vstack")]
#[doc(alias = "dstack")]
#[track_caller]
pub fn concat<'g>(values: &[Value<'g>], axis: impl IntoParam<'g>) -> Result<Value<'g>> {
    let first = first_of(values, "concat")?;
    first.graph().op(&DEF).structure("axis", axis).data_all(values).finish()
}

/// Returns the first value, whose graph gets the node.
///
/// # Errors
/// There are no values.
#[track_caller]
pub(super) fn first_of<'g>(values: &[Value<'g>], op: &'static str) -> Result<Value<'g>> {
    let location = Location::caller();
    values.first().copied().ok_or_else(|| {
        let error =
            Error::new(ErrorKind::Attribute, Phase::Build, "there must be at least one value, got none");
        error.with_op(op, op).at(location)
    })
}

pub(crate) static DEF: OpDef = OpDef::compute("concat", lower)
    .operands(&[Operand::Structure("axis"), Operand::Variadic("values..")])
    .shape_fn(shapeflow_shape_fns::array::concat)
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("ConcatV2"), TfOp::new("Concat")])
    .in_tensorflow(TfFunction::Composed(concat_of_one));

/// TensorFlow joins two values at least.
fn concat_of_one<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let first = usize::from(cx.attrs().get("axis").is_none());
    match values.get(first..) {
        Some([value]) => Ok(vec![value.identity()?]),
        _ => Err(Error::msg("there must be one value")),
    }
}

fn dtypes(operands: &[DType], attrs: &Attrs) -> Result<Vec<DType>> {
    let first = usize::from(attrs.get("axis").is_none());
    dtype::check_indices(operands.get(..first).unwrap_or_default(), 0)?;
    Ok(vec![dtype::common(operands, first, operands.len(), dtype::Class::Any)?])
}

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let axis = body_axis(cx);
    let first = usize::from(cx.attrs().get("axis").is_none());
    let mut arms = Vec::new();
    let starts = cx.derived("start");
    let mut read = index.to_vec();
    let along = &index[axis];
    for (value, low) in (first..cx.operands()).zip(&starts) {
        if cx.dims(value)[axis].as_known() == Some(0) {
            continue;
        }
        read[axis] = along.clone() - Index::constant(low.clone());
        let high = starts.get(value - first + 1).unwrap_or(&cx.output_dims(0)[axis]).clone();
        let range = InRange { index: along.clone(), low: low.clone(), high };
        arms.push((vec![range], cx.operand(value, &read)));
    }
    match arms.pop() {
        Some((_, last)) => Expr::case(arms, last),
        None => cx.operand(first, index),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::shape_table;

    shape_table! { DEF, {"axis": 0},
        "[a, 3]; [b, ?]" => "[a+b, 3]",
        "[a, 3]; ?" => "[?, 3]",
        "[n]" => "[n]",
        "[a, 3]; [b, 4]" => error "all dimensions except axis 0 must agree, got 3 and 4 at axis 1",
        "[a]; f64[b]" => error "operands must have one dtype, got f32 and f64",
        "[]; []" => error "stack joins scalars",
    }
    shape_table! { last: DEF, {"axis": -1},
        "[2, ?]; [2, m]; [?, 1]" => "[2, ?+m+1]",
    }
    shape_table! { fed: DEF, {},
        "[2, n]; [2, m]; axis=i32[]" => "[?, ?]",
    }

    #[test]
    fn no_values_are_refused() {
        let error = concat(&[], 0).unwrap_err();
        assert_eq!(error.message(), "concat: there must be at least one value, got none");
        let location = error.location().unwrap();
        assert_eq!((location.file(), location.line()), (file!(), line!() - 3));
    }
}
