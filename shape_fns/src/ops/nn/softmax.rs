//! `softmax(logits, axis)`: exponentials divided by their sum along an axis.

use crate::{Dim, InferenceContext, Result};

/// Keeps the shape of the operand. Sets the derived parameter `axis`, counted from the front, if `axis` is known. The
/// default is the last axis.
///
/// # Errors
/// The operand is a scalar, or `axis` is outside the rank.
pub fn softmax(cx: &mut InferenceContext<'_>) -> Result<()> {
    let shape = cx.with_rank_at_least(0, 1)?;
    if let Some(rank) = shape.rank() {
        let given = cx.attr("axis").is_some() || cx.operand("axis").is_some();
        let axis = if given { cx.param_axis("axis", rank)? } else { Some(rank - 1) };
        if let Some(axis) = axis {
            cx.set_derived("axis", [Dim::known(axis as i64)]);
        }
    }
    cx.set_output(0, shape);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::testing::shape_table;

    shape_table! { shapes: super::softmax, ["logits", "axis"];
        {} "[2, ?]" => "[2, d0_1]";
        {axis: -2} "[2, n]" => "[2, n]";
        {} "?" => "?";
        {} "[]" => "error logits must have rank at least 1, got rank 0 in []";
        {axis: 2} "[2, n]" => "error axis must be in [-2, 2), got 2";
    }
}
