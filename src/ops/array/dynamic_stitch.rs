//! `dynamic_stitch`: rows of several tensors, each to the place that is named for it.

use std::panic::Location;

use shapeflow_shape_fns::{Attrs, DType};

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::Value;
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::row_major::RowMajor;
use crate::ops::rows::{Positions, greatest, put};

use super::concat::first_of;

/// The rows of every tensor of `data` at the places that the one of `indices` beside it names; of several for one place
/// the last stays. A place that none names holds zeros, where TensorFlow leaves what was there before.
///
/// `indices_i [p_i..], data_i [p_i.., d..] -> [1 + the greatest index, d..]`, any one dtype; indices are i32 or i64. A
/// negative index fails the run. The opposite of [`Value::dynamic_partition`]. TensorFlow's `DynamicStitch`, and its
/// `ParallelDynamicStitch`, where several rows for one place are undefined.
///
/// ```
/// use shapeflow::{Graph, dynamic_stitch};
///
/// let g = Graph::new();
/// let (even, odd) = (g.constant([10, 12])?, g.constant([11, 13])?);
/// let y = dynamic_stitch(&[g.constant([0, 2])?, g.constant([1, 3])?], &[even, odd])?;
/// let [y] = g.compile(y)?.run(&[])?;
/// assert_eq!(y.to_vec::<i32>()?, [10, 11, 12, 13]);
/// # Ok::<(), shapeflow::Error>(())
/// ```
///
/// # Errors
/// There are no tensors, or not as many of both, several dtypes, or sizes that disagree.
#[track_caller]
pub fn dynamic_stitch<'g>(indices: &[Value<'g>], data: &[Value<'g>]) -> Result<Value<'g>> {
    let first = first_of(data, "dynamic_stitch")?;
    if indices.len() != data.len() {
        let message =
            format!("there must be as many indices as data, got {} and {}", indices.len(), data.len());
        return Err(Error::new(ErrorKind::Attribute, Phase::Build, message).at(Location::caller()));
    }
    first.graph().op(&DEF).data_all(indices).data_all(data).finish()
}

pub(crate) static DEF: OpDef = OpDef::host("dynamic_stitch", run)
    .operands(&[Operand::Variadic("indices.."), Operand::Variadic("data..")])
    .shape_fn(shapeflow_shape_fns::array::dynamic_stitch)
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("DynamicStitch"), TfOp::new("ParallelDynamicStitch")]);

fn dtypes(operands: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    let (indices, data) = operands.split_at(operands.len() / 2);
    dtype::indices(indices, 0)?;
    Ok(vec![dtype::common(operands, indices.len(), indices.len() + data.len(), dtype::Class::Any)?])
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let parts = cx.inputs() / 2;
    let given = |from: usize| -> Result<Vec<RowMajor<'_>>> {
        (from..from + parts).map(|at| RowMajor::new(cx.input(at)?)).collect()
    };
    let (indices, data) = (given(0)?, given(parts)?);
    let mut rows = 0;
    for indices in &indices {
        rows = rows.max(greatest(indices.view())?.map_or(0, |greatest| greatest.saturating_add(1)));
    }
    let (Some(first), Some(rank)) = (data.first(), indices.first().map(|at| at.view().sizes().len())) else {
        return Err(Error::msg("dynamic_stitch needs at least one tensor"));
    };
    let row = first.view().sizes().get(rank..).unwrap_or_default();
    let mut output = cx.output(0, &[&[rows], row].concat())?;
    let sizes = [rows];
    for (indices, data) in indices.iter().zip(&data) {
        put(&mut output, data.view(), row.iter().product(), &Positions::new(indices.view(), &sizes)?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{recorded, run, shape_table, tensor};

    shape_table! { DEF, {},
        "i32[n]; i32[]; [n, 3]; [3]" => "[?, 3]",
        "i64[n]; string[n]" => "string[?]",
        "[n]; [n]" => error "a parameter must be i32 or i64, got f32",
        "i32[2]; [3]" => error "data must begin with the axes of their indices",
        "i32[n]; i32[]; [n]; f64[]" => error "operands must have one dtype, got f32 and f64",
    }

    #[test]
    fn values_are_those_recorded() {
        recorded(&DEF);
    }

    #[test]
    fn a_negative_index_is_an_error() {
        let mut places = vec![1i32; 5000];
        places[4000] = -1;
        let error = run(&DEF, &Attrs::new(), &[tensor(&[5000], &places), tensor(&[5000], &[0u8; 5000])]);
        assert_eq!(error.unwrap_err().message(), "an index into axis 0 must lie in [0, 2), got -1");
    }

    #[test]
    fn as_many_indices_as_data() {
        let g = crate::Graph::new();
        let x = g.constant([1, 2]).unwrap();
        let error = dynamic_stitch(&[x], &[x, x]).unwrap_err();
        assert_eq!(error.message(), "there must be as many indices as data, got 1 and 2");
    }
}
