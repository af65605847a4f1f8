//! `ragged_gather`: selects rows of a ragged tensor by index.

use std::ops::Range;

use shapeflow_shape_fns::{Attribute, Attrs, DType, counted};

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ragged::{RaggedTensor, splits_tensor};
use crate::tensor::{Tensor, place_text};

/// The outputs are the row splits of the result, outermost first, then its flat values. Indices of rank `r` add `r - 1`
/// partitions of uniform rows. Attribute `OUTPUT_RAGGED_RANK` is the number of row splits of the result.
pub(crate) static DEF: OpDef = OpDef::host("ragged_gather", run)
    .attrs(&[Attribute::int("OUTPUT_RAGGED_RANK").optional()])
    .operands(&[
        Operand::Variadic("params_nested_splits.."),
        Operand::Data("params_dense_values"),
        Operand::Data("indices"),
    ])
    .outputs(|attrs, operands| output_rank(attrs, operands) + 1)
    .shape_fn(shapeflow_shape_fns::ragged::ragged_gather)
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("RaggedGather")]);

/// Returns the number of row splits of the result.
fn output_rank(attrs: &Attrs, operands: usize) -> usize {
    match attrs.get("OUTPUT_RAGGED_RANK") {
        Some(_) => usize::try_from(attrs.int("OUTPUT_RAGGED_RANK")).unwrap_or(0),
        None => operands.saturating_sub(2),
    }
}

fn dtypes(dtypes: &[DType], attrs: &Attrs) -> Result<Vec<DType>> {
    let [splits @ .., values, indices] = dtypes else {
        return dtype::refuse(format!(
            "there must be row splits, values and indices, got {}",
            counted(dtypes.len(), "operand")
        ));
    };
    dtype::check_indices(&[*indices], 0)?;
    let first = splits.first().copied().unwrap_or(DType::I64);
    for &other in splits {
        dtype::check_indices(&[other], 0)?;
        if other != first {
            return dtype::refuse(format!("all row_splits must have one dtype, got {first} and {other}"));
        }
    }
    let mut outputs = vec![first; output_rank(attrs, dtypes.len())];
    outputs.push(*values);
    Ok(outputs)
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let count = cx.inputs() - 2;
    let guard = |error: Error| Error::new(ErrorKind::Guard, Phase::Run, error.message());
    let splits = (0..count).map(|operand| cx.input(operand)?.to_tensor()).collect::<Result<Vec<Tensor>>>()?;
    let ragged =
        RaggedTensor::from_nested_row_splits(cx.input(count)?.to_tensor()?, &splits).map_err(guard)?;
    let indices = cx.input(count + 1)?.to_tensor()?;
    let (rows, sizes) = (ragged.nrows(), indices.sizes().to_vec());
    let range =
        |(number, index): (usize, i64)| match usize::try_from(index).ok().filter(|index| *index < rows) {
            Some(index) => Ok(index..index + 1),
            None => {
                let message = format!("an index into axis 0 must lie in [0, {rows}), got {index}");
                let error = Error::new(ErrorKind::Index, Phase::Run, message);
                Err(error.in_element(count + 1, &place_text(number, &sizes)))
            }
        };
    let ranges: Vec<Range<usize>> = match indices.dtype() {
        DType::I32 => {
            let indices = indices.as_slice::<i32>()?.iter().enumerate();
            indices.map(|(number, &index)| range((number, index.into()))).collect::<Result<_>>()?
        }
        _ => indices.as_slice::<i64>()?.iter().copied().enumerate().map(range).collect::<Result<_>>()?,
    };
    let taken = ragged.take(&ranges)?;
    let mut output = 0;
    for level in 1..sizes.len() {
        let rows: usize = sizes[..level].iter().product();
        let splits = splits_tensor(ragged.row_splits_dtype(), (0..=rows).map(|row| row * sizes[level]))?;
        cx.set_output(output, splits)?;
        output += 1;
    }
    for splits in taken.nested_row_splits() {
        cx.set_output(output, splits.clone())?;
        output += 1;
    }
    cx.set_output(output, taken.flat_values().clone())
}
