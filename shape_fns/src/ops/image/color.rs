//! Color conversions and adjustments.

use crate::common::require_last_dim;
use crate::{InferenceContext, Result, TensorShape};

/// `[.., 3] -> [.., 3]`.
///
/// # Errors
/// The operand is a scalar, or its last dimension provably differs from 3.
pub fn convert_color(cx: &mut InferenceContext<'_>) -> Result<()> {
    let Some((leading, [channels])) = cx.last_axes::<1>(0)? else { return Ok(()) };
    let channels = require_last_dim(cx, 0, &channels, 3)?;
    cx.set_output(0, leading.concatenate(&TensorShape::new([channels])));
    Ok(())
}

/// Keeps the shape of the images `[.., h, w, c]`. All other operands are scalars.
///
/// # Errors
/// The images have fewer than 3 axes, or another operand is not a scalar.
pub fn adjust(cx: &mut InferenceContext<'_>) -> Result<()> {
    let shape = cx.with_rank_at_least(0, 3)?;
    for index in 1..cx.len() {
        cx.scalar(index)?;
    }
    cx.set_output(0, shape);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{adjust, convert_color};
    use crate::testing::shape_table;

    shape_table! { converted: convert_color, ["images"];
        {} "[n, ?]" => "[n, 3]";
        {} "?" => "?";
        {} "[n, 4]" => "error images must have size 3 at the last axis, got 4 in [n, 4]";
        {} "[]" => "error images must have rank at least 1";
    }
    shape_table! { adjusted: adjust, ["images", "delta"];
        {} "[n, ?, w, 3]; []" => "[n, d0_1, w, 3]";
        {} "[n, 3]; []" => "error images must have rank at least 3";
        {} "[n, h, w, 3]; [1]" => "error delta must have rank 0";
    }
}
