//! `dynamic_stitch(indices.., data..)`: `out[indices[k][i]] = data[k][i]`.

use crate::error::bail;
use crate::{Dim, InferenceContext, Result, ShapeError, TensorShape};

/// `indices_k[p_k..], data_k[p_k.., d..] -> [1 + the greatest index, d..]`. The number of rows is known if all indices
/// are known, and is 0 if there are no indices.
///
/// # Errors
/// The numbers of `indices` and `data` operands differ or are 0, the leading axes of a `data` operand provably differ
/// from its indices, the remaining axes provably differ, or an index is negative.
pub fn dynamic_stitch(cx: &mut InferenceContext<'_>) -> Result<()> {
    let (indices, data) = (cx.operands_named("indices"), cx.operands_named("data"));
    if indices.is_empty() || indices.len() != data.len() {
        bail!(
            "dynamic_stitch must have equally many indices and data, at least one of each, got {} and {}",
            indices.len(),
            data.len()
        );
    }
    let mut rest = TensorShape::unranked();
    let mut rows = Some(Dim::known(0));
    for (indices_operand, data_operand) in indices.zip(data) {
        let (positions, values) = (cx.input(indices_operand).clone(), cx.input(data_operand).clone());
        cx.merge_prefix(&values, &positions).map_err(|_| {
            ShapeError::new(format_args!(
                "data must have the axes of its indices as leading axes, got {values} and {positions}"
            ))
            .operand(data_operand)
        })?;
        if let (Some(dims), Some(index_rank)) = (values.dims(), positions.rank()) {
            let row = TensorShape::from(dims.get(index_rank..).unwrap_or_default());
            rest = cx.merge_shapes(&rest, &row).map_err(|_| {
                ShapeError::new(format_args!(
                    "every data operand must have the same shape after the axes of its indices, got {rest} and {row} \
                     in {values}"
                ))
                .operand(data_operand)
            })?;
        }
        rows = match (rows, cx.input_value(indices_operand).cloned()) {
            (Some(mut rows), Some(value)) => {
                for index in value.elements() {
                    cx.require_not_negative("indices", index)?;
                    let next = cx.add(index, &Dim::known(1))?;
                    rows = cx.max(&rows, &next)?;
                }
                Some(rows)
            }
            (rows, None) if positions.num_elements().is_some_and(|count| count == 0) => rows,
            _ => None,
        };
    }
    let rows = rows.unwrap_or_else(|| cx.fresh());
    cx.set_output(0, TensorShape::new([rows]).concatenate(&rest));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::dynamic_stitch;
    use crate::testing::shape_table;

    shape_table! { rows: dynamic_stitch, ["indices..", "data.."];
        {} "[2] = [0, 5]; [] = 3; [2, 4]; [?]" => "[6, 4]";
        {} "[1] = [k]; [] = 3; [?, 4]; [?]" => "[max(4, k+1), 4] if ";
        {} "i32 [?]; [] = 3; [2, n]; [?]" => "[?, n]";
        {} "i32 [0]; [] = 3; [0, ?]; [n]" => "[4, n]";
        {} "i32 [0]; i32 [0]; [0, ?]; [0, n]" => "[0, n]";
        {} "i32 [2]; ?" => "?";
        {} "i32 [2]; [3, 4]" => "error data must have the axes of its indices as leading axes, got [3, 4] and [2]";
        {} "i32 [2]; i32 [2]; [2, 4]; [2, 5]" => "error every data operand must have the same shape after the axes of its indices, got [4] and [5] in [2, 5]";
        {} "[1] = [-1]; [1]" => "error indices must not be negative, got -1";
    }
}
