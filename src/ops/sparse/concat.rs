//! `sparse_concat`: joins sparse tensors along an axis.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType, normalize_axis};

use crate::dtype;
use crate::error::Result;
use crate::graph::{IntoParam, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::integers::ints;
use crate::ops::row_major::RowMajor;
use crate::tensor::{StringsBuilder, Tensor, TensorView};

use super::operand::{check_i64, refuse, rows_of};

/// Joins sparse tensors along `axis`. Each tensor is given by its indices, values and sizes. The result is also
/// indices, values and sizes; its elements stand in row-major order.
///
/// `[count, r], values [count], shape [r]` of each `-> [sum of counts, r], [sum of counts], [r]`. The values have any
/// dtype, the indices and sizes are i64. A negative axis counts from the end. As TensorFlow's `SparseConcat`. Runs on
/// the host.
///
/// ```
/// use shapeflow::{Graph, sparse_concat};
///
/// let g = Graph::new();
/// let a = [g.constant([[0i64, 1]])?, g.constant([1.5f32])?, g.constant([2i64, 2])?];
/// let b = [g.constant([[0i64, 0], [1, 2]])?, g.constant([2.5f32, 3.5])?, g.constant([2i64, 3])?];
/// let [indices, _, shape] = g.compile(&sparse_concat(&[a, b], 1)?[..])?.run(&[])?;
/// assert_eq!(indices.to_vec::<i64>()?, [0, 1, 0, 2, 1, 4]);
/// assert_eq!(shape.to_vec::<i64>()?, [2, 5]);
/// # Ok::<(), shapeflow::Error>(())
/// ```
///
/// # Errors
/// There is no tensor, the ranks or the dtypes of the values differ, or `axis` is out of range. The run fails if the
/// sizes differ along another axis.
#[track_caller]
pub fn sparse_concat<'g>(tensors: &[[Value<'g>; 3]], axis: impl IntoParam<'g>) -> Result<[Value<'g>; 3]> {
    let location = Location::caller();
    let Some([first, ..]) = tensors.first() else {
        return dtype::refuse("sparse_concat must have at least one tensor, got none".to_string());
    };
    let mut call = first.graph().op(&DEF);
    for part in 0..3 {
        call = tensors.iter().fold(call, |call, tensor| call.data(tensor[part]));
    }
    let outputs = call.int_attr("concat_dim", axis).finish_all_at(location)?;
    Ok([outputs[0], outputs[1], outputs[2]])
}

pub(crate) static DEF: OpDef = OpDef::host("sparse_concat", run)
    .attrs(&[Attribute::int_or("concat_dim", 0)])
    .operands(&[Operand::Variadic("operands..")])
    .outputs(|_, _| 3)
    .shape_fn(shapeflow_shape_fns::sparse::concat)
    .dtype_rule(|dtypes, _| {
        let count = dtypes.len() / 3;
        let (indices, shapes) = (0..count, 2 * count..dtypes.len());
        check_i64(dtypes, &indices.chain(shapes).collect::<Vec<_>>())?;
        Ok(vec![DType::I64, dtype::common(dtypes, count, 2 * count, dtype::Class::Stored)?, DType::I64])
    })
    .tensorflow(&[TfOp::new("SparseConcat")]);

fn axis_of(attrs: &Attrs, rank: usize) -> Result<usize> {
    let axis = attrs.int("concat_dim");
    Ok(normalize_axis(axis, rank)?)
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let inputs: Vec<RowMajor<'_>> =
        (0..cx.inputs()).map(|operand| RowMajor::new(cx.input(operand)?)).collect::<Result<_>>()?;
    let count = inputs.len() / 3;
    let shapes: Vec<Vec<i64>> = inputs[2 * count..].iter().map(|shape| ints(&shape.view())).collect();
    let mut sizes = shapes[0].clone();
    let axis = axis_of(cx.attrs(), sizes.len())?;
    // For each element: its index, its tensor, and its position in the tensor.
    let mut elements: Vec<(Vec<i64>, usize, usize)> = Vec::new();
    let mut offset = 0i64;
    for (tensor, shape) in shapes.iter().enumerate() {
        let differs = |other: usize| other != axis && shape.get(other) != sizes.get(other);
        if shape.len() != sizes.len() || (0..sizes.len()).any(differs) {
            return refuse(format!(
                "sparse tensors must have equal sizes except at axis {axis}, got {sizes:?} and {shape:?}"
            ));
        }
        for (position, row) in rows_of(inputs[tensor].view(), shape)?.0.into_iter().enumerate() {
            let mut index = row.to_vec();
            index[axis] = index[axis].wrapping_add(offset);
            elements.push((index, tensor, position));
        }
        let Some(sum) = offset.checked_add(shape[axis]) else {
            return refuse(format!("the sum of the sizes must fit i64, got {offset} and {}", shape[axis]));
        };
        offset = sum;
    }
    sizes[axis] = offset;
    elements.sort_by(|a, b| a.0.cmp(&b.0));
    let indices: Vec<i64> = elements.iter().flat_map(|(index, ..)| index).copied().collect();
    cx.set_output(0, Tensor::from_slice(&[elements.len(), sizes.len()], &indices)?)?;
    let values: Vec<TensorView<'_>> = inputs[count..2 * count].iter().map(RowMajor::view).collect();
    set_values(cx, &values, &elements)?;
    cx.set_output(2, Tensor::from_slice(&[sizes.len()], &sizes)?)
}

/// Sets output 1 to the values of `elements`. An element is its index, its tensor, and its position in the tensor.
fn set_values(
    cx: &mut HostCx<'_>,
    values: &[TensorView<'_>],
    elements: &[(Vec<i64>, usize, usize)],
) -> Result<()> {
    if values[0].dtype() == DType::String {
        let mut strings = StringsBuilder::with_capacity(elements.len(), 0)?;
        for (_, tensor, position) in elements {
            strings.push(values[*tensor].as_strings()?.at(*position))?;
        }
        return cx.set_output(1, strings.finish(&[elements.len()])?);
    }
    let mut output = cx.unfilled_output(1, &[elements.len()])?;
    let width = output.bytes_mut().len() / elements.len().max(1);
    for (to, (_, tensor, position)) in output.bytes_mut().chunks_exact_mut(width.max(1)).zip(elements) {
        to.copy_from_slice(&values[*tensor].bytes()[position * width..(position + 1) * width]);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run, shape_table, tensor};

    shape_table! { DEF, {"concat_dim": -1},
        "i64[n, 2]; i64[m, 2]; f16[n]; f16[m]; i64[2]; i64[2]" => "i64[m+n, 2]; f16[m+n]; i64[2]",
        "i64[n, 2]; i64[m, 2]; f16[n]; f32[m]; i64[2]; i64[2]" => error "operands must have one dtype",
        "i64[n, 2]; f32[n]; i32[2]" => error "indices and shapes must be i64, got i32 in operand 2",
    }

    #[test]
    fn elements_of_all_tensors_stand_in_row_major_order() {
        let words = |words: &[&str]| Tensor::from_strings(&[words.len()], words).unwrap();
        let operands = [
            tensor(&[2, 2], &[1i64, 0, 0, 1]),
            tensor(&[1, 2], &[0i64, 0]),
            words(&["b", "a"]),
            words(&["c"]),
            tensor(&[2], &[2i64, 2]),
            tensor(&[2], &[2i64, 1]),
        ];
        let outputs = run(&DEF, &Attrs::new().with("concat_dim", 1), &operands).unwrap();
        assert_eq!(outputs[0], tensor(&[3, 2], &[0i64, 1, 0, 2, 1, 0]));
        assert_eq!(outputs[1], words(&["a", "c", "b"]));
        assert_eq!(outputs[2].to_vec::<i64>().unwrap(), [2, 3]);
        let error = run(&DEF, &Attrs::new().with("concat_dim", 0), &operands).unwrap_err();
        assert!(error.message().contains("must have equal sizes except at axis 0"), "{error}");
    }
}
