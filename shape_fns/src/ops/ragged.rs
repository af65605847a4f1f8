//! Shape functions of ragged tensors. A ragged tensor is flat values plus one vector of row splits per ragged axis.

use crate::error::bail;
use crate::infer::registered::{Registered, row};
use crate::{Attr, Dim, Guard, InferenceContext, List, PartialElements, Result, TensorShape};

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

/// Returns the number of rows that the row splits in operand `index` describe: the number of splits minus 1.
///
/// # Errors
/// The operand is not a vector, or it is provably empty.
pub fn row_count(cx: &mut InferenceContext<'_>, index: usize) -> Result<Dim> {
    if cx.input(index).rank().is_none() {
        return Ok(cx.fresh());
    }
    let [splits] = cx.axes::<1>(index)?;
    if splits == 0 {
        return Err(cx.blame(index, "must have one more element than there are rows, got no elements"));
    }
    cx.sub(&splits, &Dim::known(1))
}

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
        bail!("ragged_gather must have row splits, values and indices, got {} operands", cx.len());
    };
    for splits in 0..params_ragged {
        cx.axes::<1>(splits)?;
    }
    let (values, indices) = (params_ragged, params_ragged + 1);
    let (values_shape, indices_shape) =
        (cx.with_rank_at_least(values, 1)?, cx.with_rank_at_least(indices, 1)?);
    let output_ragged = cx.outputs().saturating_sub(1);
    let Some(added) = output_ragged.checked_sub(params_ragged) else {
        bail!("the result must have at least the {params_ragged} ragged axes of params, got {output_ragged}");
    };
    if let Some(rank) = indices_shape.rank().filter(|rank| *rank != added + 1) {
        return Err(cx.blame(
            indices,
            format_args!(
                "must have rank {} to extend {params_ragged} ragged axes to {output_ragged}, got rank {rank}",
                added + 1
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

/// Converts a ragged tensor to a dense tensor of shape `shape`. A size of -1 means the number of rows, the length of
/// the longest row, or the size of the values, depending on the axis.
///
/// # Errors
/// The length of `shape` differs from the rank of the ragged tensor, a size is provably less than -1 or differs from
/// the size of the values, a scalar `shape` is provably not -1, or `default_value` provably does not broadcast to a row
/// of the values.
pub fn ragged_to_dense(cx: &mut InferenceContext<'_>) -> Result<()> {
    let types = match cx.attr("row_partition_types") {
        Some(Attr::Strs(types)) => types.to_vec(),
        Some(Attr::Str(one)) => vec![one.clone()],
        _ => bail!("row_partition_types must be given: it is a list of strings"),
    };
    let partitions = cx.operands_named("row_partition_tensors");
    let has_row_count = types.first().is_some_and(|kind| &**kind == "FIRST_DIM_SIZE");
    let ragged = types.len().saturating_sub(usize::from(has_row_count));
    let values = cx.input(1).clone();
    check_default(cx, &values)?;
    let given = if cx.input(0).rank() == Some(0) { List::Unknown(None) } else { cx.param_vector("shape")? };
    check_requested(cx, &given)?;
    let rank = match (values.rank(), given.known_len()) {
        (Some(inner), Some(len)) if ragged.saturating_add(inner) != len => {
            return Err(cx.blame(
                0,
                format_args!(
                    "must have one size for each of {} axes, got {len}",
                    ragged.saturating_add(inner)
                ),
            ));
        }
        (Some(inner), _) => ragged.saturating_add(inner),
        (None, Some(len)) => len,
        (None, None) => return Ok(()),
    };
    let mut output = Vec::with_capacity(rank);
    for axis in 0..rank {
        let inner = match values.dims() {
            Some(dims) if axis > ragged => dims.get(axis - ragged).cloned(),
            _ => None,
        };
        output.push(match (requested_size(cx, &given, axis), inner) {
            (RequestedSize::Size(size), Some(inner)) => cx.merge(&inner, &size).map_err(|_| {
                cx.blame(
                    0,
                    format_args!(
                        "must have the sizes of the values, got {size} for size {inner} at axis {axis}"
                    ),
                )
            })?,
            (RequestedSize::Size(size), None) => size,
            // The element of `shape` is -1 or unknown. The axis has the size of the values in both cases, because a
            // requested size must be equal to the size of the values.
            (_, Some(inner)) => inner,
            (RequestedSize::Natural, None) if axis == 0 => match types.first().map(|kind| &**kind) {
                Some("FIRST_DIM_SIZE") => first_dim_size(cx, partitions.start),
                Some("ROW_SPLITS") => row_count(cx, partitions.start)?,
                _ => cx.fresh(),
            },
            _ => cx.fresh(),
        });
    }
    cx.set_output(0, TensorShape::new(output));
    Ok(())
}

/// Checks that each known size is at least -1, and that a scalar `shape` is -1 if it is known.
fn check_requested(cx: &mut InferenceContext<'_>, given: &List) -> Result<()> {
    let scalar = match cx.input(0).rank() {
        Some(0) => cx.input_value(0).and_then(|value| value.get(0).and_then(Dim::as_known)),
        _ => None,
    };
    if let Some(other) = scalar.filter(|size| *size != -1) {
        return Err(cx.blame(0, format_args!("must be -1 if it is a scalar, got {other}")));
    }
    let List::Elements(sizes) = given else { return Ok(()) };
    match sizes.iter().filter_map(Dim::as_known).find(|size| *size < -1) {
        Some(size) => Err(cx.blame(0, format_args!("must have sizes of at least -1, got {size}"))),
        None => Ok(()),
    }
}

/// The size that the operand `shape` requests for an axis.
enum RequestedSize {
    /// An explicit size.
    Size(Dim),
    /// -1: the size of the ragged tensor.
    Natural,
    /// An unknown element, which may be a size or -1.
    Either,
}

/// Returns the size that `given`, the operand `shape`, requests for an axis.
fn requested_size(cx: &mut InferenceContext<'_>, given: &List, axis: usize) -> RequestedSize {
    match given {
        List::Elements(sizes) => match sizes.get(axis) {
            Some(size) if *size == -1 => RequestedSize::Natural,
            Some(size) if cx.at_least(size, &Dim::known(0)) => RequestedSize::Size(size.clone()),
            _ => RequestedSize::Either,
        },
        _ => RequestedSize::Either,
    }
}

/// Returns the number of rows in the scalar operand `partition`, or a fresh dimension if the number is unknown.
fn first_dim_size(cx: &mut InferenceContext<'_>, partition: usize) -> Dim {
    let size = cx.input_value(partition).and_then(|value| value.get(0).cloned());
    match size {
        Some(size) if cx.at_least(&size, &Dim::known(0)) => size,
        _ => cx.fresh(),
    }
}

/// Requires the default value to broadcast to a row of the values.
fn check_default(cx: &mut InferenceContext<'_>, values: &TensorShape) -> Result<()> {
    let default = cx.input(2).clone();
    let (Some([_, inner @ ..]), Some(sizes)) = (values.dims(), default.dims()) else { return Ok(()) };
    let Some(offset) = inner.len().checked_sub(sizes.len()) else {
        return Err(
            cx.blame(2, format_args!("must broadcast to a row of the values, got {default} for {values}"))
        );
    };
    for (dim, size) in inner.iter().skip(offset).zip(sizes) {
        cx.require(Guard::OneOrEqual(size.clone(), dim.clone())).map_err(|_| {
            cx.blame(2, format_args!("must broadcast to a row of the values, got {default} for {values}"))
        })?;
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
    use super::{
        fill_empty_rows, ragged_cross, ragged_gather, ragged_range, ragged_to_dense, ragged_to_sparse,
    };
    use crate::testing::{check, shape_table};
    use crate::{Attr, Attrs};

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
        {} "i64 [4]; [9]; i32 [6]" => "error(3 outputs) indices must have rank 2 to extend 1 ragged axes to 2, got rank 1";
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

    #[test]
    fn ragged_tensors_convert_to_dense_shapes() {
        let names = ["shape", "values", "default_value", "row_partition_tensors.."];
        let attrs = |types: &[&str]| {
            let types = types.iter().map(|kind| std::sync::Arc::from(*kind)).collect();
            Attrs::new().with("row_partition_types", Attr::Strs(types))
        };
        for (types, inputs, expected) in [
            (vec!["ROW_SPLITS"], "i64 [2] = [-1, -1]; [?]; []; i64 [n]", "[n-1, ?]"),
            (vec!["ROW_SPLITS"], "i64 [3] = [-1, 5, -1]; [?, 7]; []; i64 [4]", "[3, 5, 7]"),
            (vec!["ROW_SPLITS"], "i64 [3] = [m, -1, 7]; [?, k]; [1]; i64 [4]", "[m, ?, 7]"),
            (vec!["ROW_SPLITS"], "i64 []; [?, n]; []; i64 [4]", "[?, ?, n]"),
            (
                vec!["FIRST_DIM_SIZE", "VALUE_ROWIDS"],
                "i64 [3] = [4, 5, 6]; ?; []; i64 []; i64 [9]",
                "[4, 5, 6]",
            ),
            (
                vec!["FIRST_DIM_SIZE", "VALUE_ROWIDS"],
                "i64 [2] = [-1, -1]; [9]; []; i64 [] = 3; i64 [9]",
                "[3, ?]",
            ),
            (vec!["ROW_SPLITS"], "i64 ?; ?; []; i64 [4]", "?"),
            (
                vec!["ROW_SPLITS"],
                "i64 [3] = [4, 5, 6]; [?, 7]; []; i64 [4]",
                "error shape must have the sizes of the values, got 6 for size 7 at axis 2",
            ),
            (
                vec!["ROW_SPLITS"],
                "i64 [3] = [4, -2, 7]; [?, 7]; []; i64 [4]",
                "error shape must have sizes of at least -1, got -2",
            ),
            (
                vec!["ROW_SPLITS"],
                "i64 [] = 7; [?]; []; i64 [4]",
                "error shape must be -1 if it is a scalar, got 7",
            ),
            (vec!["ROW_SPLITS"], "i64 [] = -1; [?]; []; i64 [4]", "[3, ?]"),
            (
                vec!["ROW_SPLITS"],
                "i64 [2] = [4, 5]; [?, 7]; []; i64 [4]",
                "error shape must have one size for each of 3 axes, got 2",
            ),
            (
                vec!["ROW_SPLITS"],
                "i64 ?; [?, 7]; [3]; i64 [4]",
                "error default_value must broadcast to a row of the values, got [3] for [?, 7]",
            ),
        ] {
            check(ragged_to_dense, &names, &attrs(&types), inputs, expected);
        }
    }
}
