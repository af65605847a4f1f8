//! `cumsum(x, axis)` and other scans along an axis.

use crate::{Dim, InferenceContext, Result};

/// Keeps the shape of `x`. Sets the derived parameter `axis`, counted from the front, if `axis` is known.
///
/// # Errors
/// `axis` is outside the rank.
pub fn cumsum(cx: &mut InferenceContext<'_>) -> Result<()> {
    let shape = cx.input(0).clone();
    if let Some(rank) = shape.rank()
        && let Some(axis) = cx.param_axis("axis", rank)?
    {
        cx.set_derived("axis", [Dim::known(axis as i64)]);
    }
    cx.set_output(0, shape);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::testing::shape_table;

    shape_table! { shapes: super::cumsum, ["x", "axis"];
        {axis: -1} "[2, ?]" => "[2, d0_1]";
        {} "[2, n]; i32 []" => "[2, n]";
        {axis: 2} "[2, n]" => "error axis must be in [-2, 2), got 2";
        {axis: 0} "[]" => "error axis requires a tensor of rank at least 1";
    }
}
