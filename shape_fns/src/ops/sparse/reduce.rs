//! Reductions of sparse tensors to dense or sparse tensors.

use super::operand::{SparseOperand, set_sparse};
use crate::{Dim, InferenceContext, PartialElements, Result, TensorShape};

/// The dense sum or maximum along `reduction_axes`. Drops these axes, or keeps them with size 1 if attribute
/// `keep_dims` is set. An axis may be given twice.
///
/// # Errors
/// The first three operands are not a sparse tensor, or an axis is outside the rank.
pub fn reduce(cx: &mut InferenceContext<'_>) -> Result<()> {
    let output = reduced(cx)?;
    cx.set_output(0, output);
    Ok(())
}

/// Like [`reduce`], but outputs a sparse tensor whose number of elements depends on the data.
///
/// # Errors
/// Same as [`reduce`].
pub fn reduce_sparse(cx: &mut InferenceContext<'_>) -> Result<()> {
    let output = reduced(cx)?;
    let count = cx.fresh();
    let rank = match output.rank() {
        Some(rank) => Dim::known(i64::try_from(rank).unwrap_or(i64::MAX)),
        None => cx.fresh(),
    };
    set_sparse(cx, 0, &count, &rank);
    if let Some(sizes) = output.dims() {
        cx.set_output_value(2, PartialElements::vector(sizes.iter().cloned()));
    }
    Ok(())
}

/// Returns the reduced dense shape.
fn reduced(cx: &mut InferenceContext<'_>) -> Result<TensorShape> {
    SparseOperand::read(cx, 0)?;
    let input = cx.input_as_shape("input_shape")?;
    without_axes(cx, &input, "reduction_axes")
}

/// Drops the axes in parameter `name` from a shape, or sets them to 1 if attribute `keep_dims` is set. An axis may be
/// given twice.
///
/// # Errors
/// An axis is outside the rank.
pub(crate) fn without_axes(
    cx: &mut InferenceContext<'_>,
    input: &TensorShape,
    name: &str,
) -> Result<TensorShape> {
    let keep = cx.bool_or("keep_dims", false)?;
    let axes = cx.param_list(name)?;
    let Some(dims) = input.dims() else { return Ok(TensorShape::unranked()) };
    let Some(known) = axes.as_known() else {
        return Ok(match axes.known_len() {
            _ if keep => cx.unknown_shape_of_rank(dims.len()),
            // Several axes may repeat, so the number of dropped axes is unknown.
            Some(1) => cx.unknown_shape_of_rank(dims.len().saturating_sub(1)),
            _ => TensorShape::unranked(),
        });
    };
    let mut reduced = vec![false; dims.len()];
    for axis in known {
        let axis = cx.axis_of(name, axis, dims.len())?;
        if let Some(reduced) = reduced.get_mut(axis) {
            *reduced = true;
        }
    }
    Ok(TensorShape::new(dims.iter().zip(reduced).filter_map(|(dim, reduced)| match (reduced, keep) {
        (false, _) => Some(dim.clone()),
        (true, true) => Some(Dim::known(1)),
        (true, false) => None,
    })))
}

#[cfg(test)]
mod tests {
    use super::{reduce, reduce_sparse};
    use crate::testing::shape_table;

    shape_table! { dense: reduce, ["indices", "values", "input_shape", "reduction_axes"];
        {} "?; ?; ?; ?" => "?";
        {} "?; ?; i64 [2] = [n, 4]; i32 [2] = [1, -1]" => "[n]";
        {keep_dims: true} "?; ?; i64 [2] = [n, 4]; i32 [] = 1" => "[n, 1]";
        {} "?; ?; i64 [2]; i32 []" => "[?]";
        {keep_dims: true} "?; ?; i64 [2]; i32 ?" => "[?, ?]";
        {} "?; ?; i64 [2]; i32 [] = 2" => "error reduction_axes must be in [-2, 2), got 2";
    }
    shape_table! { sparse: reduce_sparse, ["indices", "values", "input_shape", "reduction_axes"];
        {} "?; ?; i64 [2] = [n, 4]; i32 [1] = [1]" => "[?, 1]; [?]; [1] = [n]";
        {} "?; ?; i64 [2] = [n, 4]; i32 [2] = [0, 1]" => "[?, 0]; [?]; [0] = []";
        {} "?; ?; ?; ?" => "[?, ?]; [?]; [?]";
    }
}
