//! `roll(input, shift, axis)`: shifts elements along axes; elements that leave one end enter at the other end.

use crate::{InferenceContext, List, Result};

/// Keeps the shape of `input`. `shift` and `axis` are scalars or vectors of the same length.
///
/// # Errors
/// The operand is a scalar, `shift` or `axis` has more than one axis, their lengths provably differ, or an axis is
/// outside the rank.
pub fn roll(cx: &mut InferenceContext<'_>) -> Result<()> {
    let shape = cx.with_rank_at_least(0, 1)?;
    let mut common = crate::TensorShape::unranked();
    for name in ["shift", "axis"] {
        if let Some(index) = cx.operand(name) {
            let parameter = cx.with_rank_at_most(index, 1)?;
            common = cx.merge_shapes(&common, &parameter).map_err(|error| error.operand(index))?;
        }
    }
    if let (Some(rank), List::Elements(axes)) = (shape.rank(), cx.param_list("axis")?) {
        for axis in axes.iter().filter_map(|axis| axis.as_known()) {
            cx.axis_of("axis", axis, rank)?;
        }
    }
    cx.set_output(0, shape);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::roll;
    use crate::testing::shape_table;

    shape_table! { shapes: roll, ["input", "shift", "axis"];
        {} "[n, ?]; i32 [2]; i32 [?]" => "[n, d0_1]";
        {} "[n, ?]; i32 []; [] = -2" => "[n, d0_1]";
        {} "[]; i32 []; i32 []" => "error input must have rank at least 1";
        {} "[n]; i32 [1]; [1] = [1]" => "error axis must be in [-1, 1), got 1";
        {} "[n]; i32 [2]; i32 [1]" => "error shapes must agree, got 2 and 1 at axis 0";
        {} "[n]; i32 [2, 2]; ?" => "error shift must have rank at most 1";
    }
}
