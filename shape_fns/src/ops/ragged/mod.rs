//! Shape functions of ragged tensors. A ragged tensor is flat values plus one vector of row splits per ragged axis.

mod row_count;
mod to_dense;

use crate::error::bail;
use crate::infer::registered::{Registered, row};
use crate::{Attr, Dim, InferenceContext, PartialElements, Result, TensorShape, counted};

pub use row_count::row_count;
pub use to_dense::ragged_to_dense;

#[rustfmt::skip]
pub(crate) static OPS: &[Registered] = &[
    row("RaggedCross", &["operands.."], ragged_cross).outputs(Some(2)),
    row("RaggedFillEmptyRows", &["value_rowids", "values", "nrows", "default_value"], fill_empty_rows).outputs(Some(4)),
    row("RaggedFillEmptyRowsGrad", &["reverse_index_map", "grad_values"], crate::sparse::fill_empty_rows_grad).outputs(Some(2)),
    row("RaggedGather", &["params_nested_splits..", "params_dense_values", "indices"], ragged_gather).outputs(None),
    row("RaggedRange", &["starts", "limits", "deltas"], ragged_range).outputs(Some(2)),
    row("RaggedTensorToSparse", &["rt_nested_splits..", "rt_dense_values"], ragged_to_sparse).outputs(Some(3)),
    row("RaggedTensorToTensor", &["shape", "values", "default_value", "row_partition_tensors.."], ragged_to_dense),
];

/// `starts[n], limits[n], deltas[n] -> row_splits[n+1], values[u]`: one range per row, where `u` depends on the data.
/// A scalar operand applies to all rows.
///
/// # Errors
/// An operand has more than one axis, or lengths provably differ.
pub fn ragged_range(cx: &mut InferenceContext<'_>) -> Result<()> {
    let (mut rows, mut all_scalar) = (None::<Dim>, true);
    for index in 0..cx.len() {
        let shape = cx.with_rank_at_most(index, 1)?;
        all_scalar &= shape.rank() == Some(0);
        if let Some([count]) = shape.dims() {
            rows = Some(match &rows {
                Some(previous) => cx
                    .agree("the lengths of starts, limits and deltas", previous, count)
                    .map_err(|error| error.operand(index))?,
                None => count.clone(),
            });
        }
    }
    let splits = match rows {
        Some(rows) => cx.add(&rows, &Dim::known(1))?,
        None if all_scalar => Dim::known(2),
        None => cx.fresh(),
    };
    let values = cx.fresh();
    cx.set_output(0, TensorShape::new([splits]));
    cx.set_output(1, TensorShape::new([values]));
    Ok(())
}

/// Gathers rows of a ragged tensor. The outputs are one vector of row splits per ragged axis, then the values. Indices
/// of rank `r` add `r-1` ragged axes; the splits of these axes follow from the sizes of `indices`.
///
/// # Errors
/// An operand of row splits is not a vector, the values or the indices are a scalar, or the number of ragged axes of
/// the outputs differs from the number of ragged axes of `params` plus `r-1`.
pub fn ragged_gather(cx: &mut InferenceContext<'_>) -> Result<()> {
    // The operands: a vector of row splits for each ragged axis of `params`, the values of `params`, the indices.
    let Some(params_ragged) = cx.len().checked_sub(2) else {
        bail!("ragged_gather must have row splits, values and indices, got {}", counted(cx.len(), "operand"));
    };
    for splits in 0..params_ragged {
        cx.axes::<1>(splits)?;
    }
    let (values, indices) = (params_ragged, params_ragged + 1);
    let (values_shape, indices_shape) =
        (cx.with_rank_at_least(values, 1)?, cx.with_rank_at_least(indices, 1)?);
    let output_ragged = cx.outputs().saturating_sub(1);
    let Some(added) = output_ragged.checked_sub(params_ragged) else {
        bail!(
            "the result must have at least the {params_ragged} of params, got {output_ragged}",
            params_ragged = counted(params_ragged, "ragged axis")
        );
    };
    if let Some(rank) = indices_shape.rank().filter(|rank| *rank != added + 1) {
        return Err(cx.blame(
            indices,
            format_args!(
                "must have rank {} to extend {params_ragged} to {output_ragged}, got rank {rank}",
                added + 1,
                params_ragged = counted(params_ragged, "ragged axis")
            ),
        ));
    }
    let mut rows = Some(Dim::known(1));
    for level in 0..output_ragged {
        let size = indices_shape.dims().and_then(|dims| dims.get(level));
        rows = match (rows, size) {
            (Some(rows), Some(size)) => Some(cx.mul(&rows, size)?),
            _ => None,
        };
        let splits = match &rows {
            Some(rows) => cx.add(rows, &Dim::known(1))?,
            None => cx.fresh(),
        };
        cx.set_output(level, TensorShape::new([splits]));
    }
    if values_shape.rank().is_some() {
        let gathered = cx.fresh();
        cx.set_output(output_ragged, TensorShape::new([gathered]).concatenate(&values_shape.slice(1..)));
    }
    Ok(())
}

/// Converts a ragged tensor to `indices[n, rank], values[n], dense_shape[rank]`, with one element per value. The first
/// size of the dense shape is the number of rows. The last sizes of the dense shape are the values' sizes without the
/// first.
///
/// # Errors
/// An operand of row splits is not a vector, or the values are a scalar.
pub fn ragged_to_sparse(cx: &mut InferenceContext<'_>) -> Result<()> {
    let Some(ragged) = cx.len().checked_sub(1) else {
        bail!("ragged_to_sparse must have row splits and values, got no operands")
    };
    for splits in 0..ragged {
        cx.axes::<1>(splits)?;
    }
    let values = cx.with_rank_at_least(ragged, 1)?;
    let count = values.num_elements().unwrap_or_else(|| cx.fresh());
    let rank = match values.rank() {
        Some(rank) => Dim::known(i64::try_from(rank.saturating_add(ragged)).unwrap_or(i64::MAX)),
        None => cx.fresh(),
    };
    cx.set_output(0, TensorShape::new([count.clone(), rank.clone()]));
    cx.set_output(1, TensorShape::new([count]));
    cx.set_output(2, TensorShape::new([rank]));
    if let Some([_, inner @ ..]) = values.dims()
        && ragged > 0
    {
        let mut sizes = vec![row_count(cx, 0)?];
        for _ in 0..ragged {
            sizes.push(cx.fresh());
        }
        sizes.extend(inner.iter().cloned());
        cx.set_output_value(2, PartialElements::vector(sizes));
    }
    Ok(())
}

/// `value_rowids[n], values[n], nrows[], default_value[]` to
/// `row_ids[m], values[m], empty_row_indicator[nrows], reverse_index_map[n]`, where `m` depends on the data. The last
/// output holds the new index of each value.
///
/// # Errors
/// Row ids or values are not vectors, their lengths provably differ, or `nrows` or `default_value` is not a scalar.
pub fn fill_empty_rows(cx: &mut InferenceContext<'_>) -> Result<()> {
    let ([ids], [values]) = (cx.axes::<1>(0)?, cx.axes::<1>(1)?);
    let before =
        cx.agree("the numbers of row ids and of values", &ids, &values).map_err(|error| error.operand(1))?;
    let rows = cx.make_dim_for_scalar_input("nrows")?;
    cx.scalars(&["default_value"])?;
    let after = cx.fresh();
    for (output, size) in [after.clone(), after, rows, before].into_iter().enumerate() {
        cx.set_output(output, TensorShape::new([size]));
    }
    Ok(())
}

/// Crosses the features of each row of ragged, sparse and dense matrices: `-> values[u], row_splits[rows+1]`, where
/// `u` depends on the data.
///
/// The operands are, in this order: ragged values, ragged row splits, sparse indices, sparse values, sparse shapes,
/// dense matrices. Attribute `input_order` has a letter for each input: `R` for a ragged, `S` for a sparse, `D` for a
/// dense input.
///
/// # Errors
/// The numbers of rows provably differ, or an operand has the wrong rank.
pub fn ragged_cross(cx: &mut InferenceContext<'_>) -> Result<()> {
    let (ragged, sparse) = match cx.attr("input_order") {
        Some(Attr::Str(order)) => (order.matches('R').count(), order.matches('S').count()),
        _ => (0, 0),
    };
    let first_shape = ragged.saturating_mul(2).saturating_add(sparse.saturating_mul(2));
    let first_dense = first_shape.saturating_add(sparse);
    let mut rows = None;
    for index in ragged..cx.len() {
        let operand_rows = if index < ragged.saturating_mul(2) {
            row_count(cx, index)?
        } else if (first_shape..first_dense).contains(&index) {
            match cx.input_value(index).and_then(|sizes| sizes.get(0).cloned()) {
                Some(size) if cx.at_least(&size, &Dim::known(0)) => size,
                _ => continue,
            }
        } else if index >= first_dense {
            let [operand_rows, _] = cx.axes::<2>(index)?;
            operand_rows
        } else {
            continue;
        };
        rows = Some(match rows {
            Some(previous) => cx
                .agree("the numbers of rows", &previous, &operand_rows)
                .map_err(|error| error.operand(index))?,
            None => operand_rows,
        });
    }
    let values = cx.fresh();
    let splits = match rows {
        Some(rows) => cx.add(&rows, &Dim::known(1))?,
        None => cx.fresh(),
    };
    cx.set_output(0, TensorShape::new([values]));
    cx.set_output(1, TensorShape::new([splits]));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{fill_empty_rows, ragged_cross, ragged_gather, ragged_range, ragged_to_sparse};
    use crate::testing::shape_table;

    shape_table! { ranges: ragged_range, ["starts", "limits", "deltas"];
        {} "[]; [n]; [?]" => "[n+1]; [?]";
        {} "[]; []; []" => "[2]; [?]";
        {} "?; []; []" => "[?]; [?]";
        {} "?; [3]; [4]" => "error(2 outputs) the lengths of starts, limits and deltas must agree, got 3 and 4";
        {} "[1, 2]; []; []" => "error(2 outputs) starts must have rank at most 1";
    }
    shape_table! { gathered: ragged_gather, ["params_nested_splits..", "params_dense_values", "indices"];
        {} "i64 [4]; i64 [?]; [?, 7]; i32 [n, 3]" => "[n+1]; [3*n+1]; [?]; [?, 7]";
        {} "i64 [4]; ?; i32 [6]" => "[7]; ?";
        {} "i64 [4]; [9, m]; ?" => "[?]; [?]; [?, m]";
        {} "i64 [4]; [9]; i32 [6]" => "error(3 outputs) indices must have rank 2 to extend 1 ragged axis to 2, got rank 1";
        {} "i64 [4, 2]; [9]; ?" => "error(2 outputs) must have rank 1";
    }
    shape_table! { ragged_to_sparse_shapes: ragged_to_sparse, ["rt_nested_splits..", "rt_dense_values"];
        {} "i64 [4]; i64 [?]; [n, 7]" => "[7*n, 4]; [7*n]; [4] = [3, ?, ?, 7]";
        {} "i64 [4]; ?" => "[?, ?]; [?]; [?]";
        {} "i64 [4, 2]; [5]" => "error(3 outputs) operand 0 must have rank 1";
    }
    shape_table! { filled: fill_empty_rows, ["value_rowids", "values", "nrows", "default_value"];
        {} "i64 [?]; [4]; i64 [] = n; []" => "[?]; [?]; [n]; [4]";
        {} "i64 [5]; [4]; ?; ?" => "error(4 outputs) the numbers of row ids and of values must agree, got 5 and 4";
    }
    shape_table! { crossed: ragged_cross, ["operands.."];
        {} "[n, 2]; [3, ?]" => "[?]; [4]";
        {input_order: "SD"} "[m, 2]; [m]; i64 [2] = [b, 7]; [b, 4]" => "[?]; [b+1]";
        {input_order: "RD"} "[m]; i64 [n+1]; [n, 4]" => "[?]; [n+1]";
        {} "[2, 2]; [3, 2]" => "error(2 outputs) the numbers of rows must agree, got 2 and 3";
    }
}
