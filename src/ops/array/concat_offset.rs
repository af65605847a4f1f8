//! `concat_offset`: where each tensor starts in a concatenation.

use shapeflow_shape_fns::{Attrs, DType};

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoParam, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::host_params::param_ints;
use crate::ops::integers::{int_tensor, ints};

use super::axis::resolve;
use super::concat::first_of;

/// Returns, for tensors of these shapes that are joined along `axis`, the index at which each one starts.
///
/// Each shape is a vector `[n]` and gives a vector `[n]`, i32 or i64. Entry `axis` of a result is the sum of the
/// earlier tensors' sizes along `axis`. All other entries are 0. A negative `axis` counts from the end. The run fails
/// if the shapes differ at another axis. As TensorFlow's `ConcatOffset`. Runs on the host.
///
/// ```
/// use shapeflow::{Graph, concat_offset};
///
/// let g = Graph::new();
/// let offsets = concat_offset(1, &[g.constant([2, 3])?, g.constant([2, 4])?])?;
/// let [first, second] = g.compile(&offsets)?.run(&[])?;
/// assert_eq!((first.to_vec::<i32>()?, second.to_vec::<i32>()?), (vec![0, 0], vec![0, 3]));
/// # Ok::<(), shapeflow::Error>(())
/// ```
///
/// # Errors
/// There are no shapes, they are not integer vectors of one dtype, or the axis is out of range.
#[track_caller]
pub fn concat_offset<'g>(axis: impl IntoParam<'g>, shapes: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let first = first_of(shapes, "concat_offset")?;
    first.graph().op(&DEF).structure("concat_dim", axis).data_all(shapes).finish_all()
}

pub(crate) static DEF: OpDef = OpDef::host("concat_offset", run)
    .operands(&[Operand::Structure("concat_dim"), Operand::Variadic("shape..")])
    .outputs(|attrs, operands| operands.saturating_sub(first_shape(attrs)))
    .shape_fn(shapeflow_shape_fns::array::concat_offset)
    .dtype_rule(|dtypes, attrs| {
        dtype::check_indices(dtypes, 0)?;
        let first = first_shape(attrs);
        let dtype = dtype::common(dtypes, first, dtypes.len(), dtype::Class::Integer)?;
        Ok(vec![dtype; dtypes.len().saturating_sub(first)])
    })
    .tensorflow(&[TfOp::new("ConcatOffset")]);

/// Returns the number of the first operand that is a shape.
fn first_shape(attrs: &Attrs) -> usize {
    usize::from(attrs.get("concat_dim").is_none())
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let wrong = |message: String| Err(Error::new(ErrorKind::Shape, Phase::Run, message));
    let start = first_shape(cx.attrs());
    let shapes: Vec<Vec<i64>> = (start..cx.inputs())
        .map(|operand| cx.input(operand).map(|shape| ints(&shape)))
        .collect::<Result<_>>()?;
    let rank = shapes.first().map_or(0, Vec::len);
    let given = param_ints(cx, "concat_dim", 0)?.and_then(|axes| axes.first().copied()).unwrap_or(0);
    let Some(axis) = resolve(given, rank) else {
        return wrong(format!("concat_dim must be in [-{rank}, {rank}), got {given}"));
    };
    let mut offset = 0usize;
    for (output, shape) in shapes.iter().enumerate() {
        let agrees = shape.len() == rank && (0..rank).all(|at| at == axis || shape[at] == shapes[0][at]);
        if !agrees {
            return wrong(format!(
                "shapes must agree except at axis {axis}, got {:?} and {shape:?}",
                shapes[0]
            ));
        }
        let offsets = (0..rank).map(|at| if at == axis { offset } else { 0 });
        let dtype: DType = cx.input(start)?.dtype();
        cx.set_output(output, int_tensor(dtype, &[rank], offsets)?)?;
        offset = offset.wrapping_add(shape[axis] as usize);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run, shape_table, tensor};

    shape_table! { DEF, {"concat_dim": -1},
        "i32[2]; i32[2]" => "i32[2]; i32[2]",
        "i32[2]; i64[2]" => error "operands must have one dtype",
        "[2]; [2]" => error "the element type must be i32 or i64, got f32",
    }

    #[test]
    fn sizes_are_added_up_along_the_axis() {
        let shapes = [[2, 3], [2, 5], [2, 1i64]].map(|shape| tensor(&[2], &shape));
        let attrs = Attrs::new().with("concat_dim", 1);
        let offsets = run(&DEF, &attrs, &shapes).unwrap();
        let offsets: Vec<Vec<i64>> = offsets.iter().map(|offset| offset.to_vec().unwrap()).collect();
        assert_eq!(offsets, [[0, 0], [0, 3], [0, 8]]);
        let error = run(&DEF, &Attrs::new().with("concat_dim", 0), &shapes).unwrap_err();
        assert!(error.message().contains("must agree"), "{error}");
    }
}
