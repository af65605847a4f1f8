//! `dynamic_stitch(indices.., data..)`: rows of several tensors, each to the place its index names.

use crate::error::bail;
use crate::{Dim, InferenceContext, Result, ShapeError, TensorShape};

/// `indices_i[p_i..], data_i[p_i.., d..] -> [1 + the greatest index, d..]`. The number of rows is known where all indices
/// are; without any it is 0.
///
/// # Errors
/// There are not as many indices as data, a tensor does not provably begin with the axes of its indices, what follows
/// provably differs, or an index is negative.
pub fn dynamic_stitch(cx: &mut InferenceContext<'_>) -> Result<()> {
    let (indices, data) = (cx.operands_named("indices"), cx.operands_named("data"));
    if indices.is_empty() || indices.len() != data.len() {
        bail!(
            "there must be as many indices as data and at least one, got {} and {}",
            indices.len(),
            data.len()
        );
    }
    let mut rest = TensorShape::unranked();
    let mut rows = Some(Dim::known(0));
    for (at, from) in indices.zip(data) {
        let (places, values) = (cx.input(at).clone(), cx.input(from).clone());
        cx.merge_prefix(&values, &places).map_err(|_| {
            ShapeError::new(format_args!(
                "data must begin with the axes of their indices, got {values} and {places}"
            ))
            .operand(from)
        })?;
        if let (Some(dims), Some(first)) = (values.dims(), places.rank()) {
            let own = TensorShape::from(dims.get(first..).unwrap_or_default());
            rest = cx.merge_shapes(&rest, &own).map_err(|_| {
                ShapeError::new(format_args!(
                    "data must agree after the axes of their indices, got {rest} and {own} in {values}"
                ))
                .operand(from)
            })?;
        }
        rows = match (rows, cx.input_value(at).cloned()) {
            (Some(mut rows), Some(value)) => {
                for index in value.elements() {
                    cx.require_not_negative("indices", index)?;
                    let next = cx.add(index, &Dim::known(1))?;
                    rows = cx.max(&rows, &next)?;
                }
                Some(rows)
            }
            (rows, None) if places.num_elements().is_some_and(|count| count == 0) => rows,
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
        {} "i32 [2]; [3, 4]" => "error data must begin with the axes of their indices, got [3, 4] and [2]";
        {} "i32 [2]; i32 [2]; [2, 4]; [2, 5]" => "error data must agree after the axes of their indices, got [4] and [5] in [2, 5]";
        {} "[1] = [-1]; [1]" => "error indices must not be negative, got -1";
    }
}
