//! `scatter_nd(indices, updates, shape)`: writes slices into a tensor; each row of `indices` is one multi-dimensional
//! index.

use crate::{Dim, InferenceContext, Result, ShapeError, TensorShape};

/// `indices[i.., k], updates[i.., d_k, …], shape=[d_0, …] -> [d_0, …]`, where `d_k` is the size of axis `k` of the
/// result. The op itself checks its indices when it runs.
///
/// # Errors
/// `indices` or `updates` is a scalar, the axes of `updates` provably differ from the axes of `indices` or of the
/// result, `k` exceeds the rank of the result, a size is negative, or the result is empty but `indices` or `updates` is
/// not.
pub fn scatter_nd(cx: &mut InferenceContext<'_>) -> Result<()> {
    let (indices, updates) = (cx.with_rank_at_least(0, 1)?, cx.with_rank_at_least(1, 1)?);
    let shape = cx.input_as_shape("shape")?;
    let shape = match (shape.rank(), cx.operand("shape")) {
        (None, Some(index)) => {
            cx.with_rank(index, 1)?;
            shape
        }
        _ => shape,
    };
    unify_with_result(cx, &shape, &indices, &updates)?;
    cx.set_output(0, shape);
    Ok(())
}

/// Like [`scatter_nd`], but updates an existing tensor and keeps the tensor's shape:
/// `tensor[d_0, …], indices[i.., k], updates[i.., d_k, …] -> [d_0, …]`. A scalar `updates` applies to all indices.
///
/// # Errors
/// Same as [`scatter_nd`].
pub fn tensor_scatter(cx: &mut InferenceContext<'_>) -> Result<()> {
    let (shape, indices) = (cx.with_rank_at_least(0, 1)?, cx.with_rank_at_least(1, 1)?);
    let updates = cx.input(2).clone();
    unify_with_result(cx, &shape, &indices, &updates)?;
    cx.set_output(0, shape);
    Ok(())
}

/// Returns whether the shape provably has elements.
fn is_nonempty(shape: &TensorShape) -> bool {
    shape.dims().is_some_and(|dims| dims.iter().all(|dim| dim.same(&Dim::known(0)) == Some(false)))
}

/// Unifies the axes of indices and updates with the axes of the result.
fn unify_with_result(
    cx: &mut InferenceContext<'_>,
    shape: &TensorShape,
    indices: &TensorShape,
    updates: &TensorShape,
) -> Result<()> {
    let empty = shape.dims().is_some_and(|dims| dims.iter().any(|dim| *dim == 0));
    if empty && (is_nonempty(indices) || is_nonempty(updates)) {
        return Err(ShapeError::new(format_args!(
            "indices and updates must be empty if the result is, got {indices} and {updates} for {shape}"
        )));
    }
    let (Some(index_dims), Some(values)) = (indices.dims(), updates.dims()) else { return Ok(()) };
    let Some((depth, leading)) = index_dims.split_last() else { return Ok(()) };
    if values.is_empty() {
        return Ok(());
    }
    let leading = TensorShape::from(leading);
    cx.merge_prefix(updates, &leading).map_err(|_| {
        ShapeError::new(format_args!(
            "updates must have all axes of indices except the last as leading axes, got {updates} and {indices}"
        ))
    })?;
    let (Some(dims), Some(depth)) = (shape.dims(), depth.as_known()) else { return Ok(()) };
    let Some(rest) = usize::try_from(depth).ok().and_then(|depth| dims.get(depth..)) else {
        return Err(ShapeError::new(format_args!(
            "the last dimension of indices must be at most the rank of the result, got {depth} for {shape}"
        )));
    };
    let tail = TensorShape::from(values.get(index_dims.len() - 1..).unwrap_or_default());
    cx.merge_shapes(&tail, &TensorShape::from(rest)).map_err(|_| {
        ShapeError::new(format_args!(
            "updates must end with the axes of the result from axis {depth} on, got {updates} for {shape}"
        ))
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{scatter_nd, tensor_scatter};
    use crate::testing::shape_table;

    shape_table! { new: scatter_nd, ["indices", "updates", "shape"];
        {} "i32 [m, 1]; [?, 3]; [2] = [n, 3]" => "[n, 3]";
        {} "i32 [m, 2]; [m]; i32 [2]" => "[?, ?]";
        {} "?; ?; i32 [?]" => "?";
        {} "i32 [2, 1]; [3]; i32 [?]" => "error updates must have all axes of indices except the last as leading axes, got [3] and [2, 1]";
        {} "i32 [2, 3]; [2]; [2] = [4, 5]" => "error the last dimension of indices must be at most the rank of the result, got 3 for [4, 5]";
        {} "i32 [2, 1]; [2, 4]; [2] = [4, 5]" => "error updates must end with the axes of the result from axis 1 on, got [2, 4] for [4, 5]";
        {} "i32 [2, 1]; [2]; [1] = [0]" => "error indices and updates must be empty if the result is";
        {} "i32 [2, 1]; [2]; [1] = [-1]" => "error shape must not be negative, got -1";
        {} "i32 [2, 1]; [2]; i32 []" => "error shape must be a vector, got rank 0";
    }
    shape_table! { existing: tensor_scatter, ["tensor", "indices", "updates"];
        {} "[?, 4]; i32 [m, 1]; [?, ?]" => "[d0_0, 4]";
        {} "[n, 4]; i32 [m, 1]; []" => "[n, 4]";
        {} "[n, 4]; i32 [m, 2]; [m, 1]" => "error updates must end with the axes of the result from axis 2 on";
        {} "[]; i32 [m, 2]; [m]" => "error tensor must have rank at least 1";
    }
}
