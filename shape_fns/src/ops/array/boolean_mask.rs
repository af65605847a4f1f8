//! `boolean_mask(tensor, mask, axis)` keeps the elements that a mask selects; `where_indices(condition)` returns the
//! indices of the nonzero elements.

use crate::error::bail;
use crate::{Dim, InferenceContext, Result, ShapeError, TensorShape};

/// `tensor[a.., m.., b..], mask[m..] -> [a.., u, b..]`, where `u` depends on the data.
///
/// The mask covers the axes of `tensor` from `axis` on (default 0); the covered dimensions are unified with the
/// dimensions of the mask. Sets the derived parameter `axis`, counted from the front.
///
/// # Errors
/// The mask is unranked or a scalar, it has more axes than `tensor` has from `axis` on, or a covered dimension
/// provably differs.
pub fn boolean_mask(cx: &mut InferenceContext<'_>) -> Result<()> {
    let mask = cx.input(1).clone();
    let masked = match mask.dims() {
        Some([]) => return Err(cx.blame(1, "must have at least one axis, got a scalar")),
        Some(masked) => masked,
        None => return Err(cx.blame(1, "must have a known rank, got ?")),
    };
    let tensor = cx.input(0).clone();
    let Some(dims) = tensor.dims() else { return Ok(()) };
    let given = cx.attr("axis").is_some() || cx.operand("axis").is_some();
    let axis = match cx.param_axis("axis", dims.len())? {
        Some(axis) => axis,
        None if given => {
            let Some(others) = dims.len().checked_sub(masked.len()) else {
                bail!("a mask must fit the tensor, got {mask} for {tensor}");
            };
            let output = cx.unknown_shape_of_rank(others + 1);
            cx.set_output(0, output);
            return Ok(());
        }
        None => 0,
    };
    if axis + masked.len() > dims.len() {
        bail!("a mask must fit the tensor, got {mask} at axis {axis} of {tensor}");
    }
    for (offset, (a, b)) in dims[axis..].iter().zip(masked).enumerate() {
        cx.merge(a, b).map_err(|_| {
            ShapeError::new(format_args!(
                "a mask must have the sizes of the axes that it covers, got {b} for size {a} of axis {}",
                axis + offset
            ))
            .operand(1)
        })?;
    }
    let empty = masked.iter().any(|dim| *dim == 0);
    let kept = if empty { Dim::known(0) } else { cx.fresh() };
    let mut output: Vec<Dim> = dims[..axis].to_vec();
    output.push(kept);
    output.extend_from_slice(&dims[axis + masked.len()..]);
    cx.set_derived("axis", [Dim::known(axis as i64)]);
    cx.set_output(0, TensorShape::from(output));
    Ok(())
}

/// `condition[d0, …, dk-1] -> [u, k]`: the indices of the nonzero elements, where `u` depends on the data.
///
/// # Errors
/// Never fails.
pub fn where_indices(cx: &mut InferenceContext<'_>) -> Result<()> {
    let rank = cx.input(0).rank();
    let empty = cx.input(0).dims().is_some_and(|dims| dims.iter().any(|dim| *dim == 0));
    let count = if empty { Dim::known(0) } else { cx.fresh() };
    let width = match rank {
        Some(rank) => Dim::known(rank as i64),
        None => cx.fresh(),
    };
    cx.set_output(0, TensorShape::new([count, width]));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{boolean_mask, where_indices};
    use crate::testing::shape_table;

    shape_table! { masks: boolean_mask, ["tensor", "mask"];
        {} "[n, 3]; bool [?]" => "[?, 3]";
        {axis: 1} "[n, 3, m]; bool [3]" => "[n, ?, m]";
        {axis: -2} "[n, 3, m]; bool [?, k]" => "[n, ?]";
        {} "?; bool [2]" => "?";
        {} "[0, 3]; bool [0]" => "[0, 3]";
        {} "[2, 3]; bool ?" => "error mask must have a known rank, got ?";
        {} "[2, 3]; bool []" => "error mask must have at least one axis, got a scalar";
        {} "[2, 3]; bool [3]" => "error a mask must have the sizes of the axes that it covers, got 3 for size 2 of axis 0";
        {axis: 1} "[2, 3]; bool [3, 2]" => "error a mask must fit the tensor, got [3, 2] at axis 1 of [2, 3]";
    }
    shape_table! { fed_axes: boolean_mask, ["tensor", "mask", "axis"];
        {} "[2, 3, 4]; bool [2, 3]; i32 []" => "[?, ?]";
        {} "[2, 3]; bool [2, 3, 1]; i32 []" => "error a mask must fit the tensor, got [2, 3, 1] for [2, 3]";
    }
    shape_table! { indices: where_indices, ["condition"];
        {} "bool [2, n, ?]" => "[?, 3]";
        {} "bool []" => "[?, 0]";
        {} "bool ?" => "[?, ?]";
        {} "bool [0, n]" => "[0, 2]";
    }
}
