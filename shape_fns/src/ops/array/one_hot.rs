//! `one_hot(indices, depth, on_value, off_value, axis)`: encodes each index as a vector that has `on_value` at the
//! position of the index.

use crate::{InferenceContext, Result, TensorShape, normalize_axis};

/// `[i0, …, in], depth=d -> [i0, …, in, d]`: inserts the new axis at position `axis` (default -1: last). Sets the
/// derived parameter `axis`: the position of the new axis, counted from the front.
///
/// # Errors
/// `depth` is negative or not a scalar, `axis` is outside `-1..=rank`, or `on_value` or `off_value` is not a scalar.
pub fn one_hot(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.scalars(&["on_value", "off_value"])?;
    let depth = cx.make_dim_for_scalar_input("depth")?;
    let axis = cx.int_or("axis", -1)?;
    if axis < -1 {
        return Err(cx.blame_param("axis", format_args!("must be at least -1, got {axis}")));
    }
    let indices = cx.input(0).clone();
    let Some(dims) = indices.dims() else { return Ok(()) };
    let rank = dims.len();
    let axis = normalize_axis(axis, rank + 1)
        .map_err(|_| cx.blame_param("axis", format_args!("must be in [-1, {rank}], got {axis}")))?;
    let mut dims = dims.to_vec();
    dims.insert(axis, depth);
    cx.set_derived("axis", [crate::Dim::known(axis as i64)]);
    cx.set_output(0, TensorShape::from(dims));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::one_hot;
    use crate::testing::shape_table;

    // `d0_1` is the unknown dimension at axis 1 of operand 0; `v1_0` is the unknown element 0 of operand 1.
    shape_table! { shapes: one_hot, ["indices", "depth", "on_value", "off_value"];
        {depth: 3} "i32 [n, ?]; []; []" => "[n, d0_1, 3]";
        {axis: 0} "i32 [n]; [] = ?; []; []" => "[v1_0, n] if v1_0 >= 0";
        {axis: 1} "i32 [n, m]; i32 []; []; []" => "[n, ?, m]";
        {} "i32 ?; [] = 2; []; []" => "?";
        {depth: -1} "i32 [2]; []; []" => "error depth must not be negative, got -1";
        {depth: 2, axis: -2} "i32 [2]; []; []" => "error axis must be at least -1, got -2";
        {depth: 2, axis: 2} "i32 [2]; []; []" => "error axis must be in [-1, 1], got 2";
        {depth: 2} "i32 [2]; [1]; []" => "error on_value must have rank 0";
    }
}
