//! `roll(input, shift, axis)`: shifts elements along axes; elements that leave one end enter at the other end.

use crate::error::bail;
use crate::{Dim, InferenceContext, List, Result, TensorShape};

/// Keeps the shape of `input`. `shift` and `axis` are scalars or vectors of the same length. If the axes are known,
/// sets the derived parameter `shift`: for every axis of `input`, the sum of its shifts modulo its size.
///
/// # Errors
/// `input` is a scalar, `shift` or `axis` has more than one axis, their lengths provably differ, or an axis is
/// outside the rank.
pub fn roll(cx: &mut InferenceContext<'_>) -> Result<()> {
    let shape = cx.with_rank_at_least(0, 1)?;
    let mut common = TensorShape::unranked();
    for name in ["shift", "axis"] {
        if let Some(index) = cx.operand(name) {
            let parameter = cx.with_rank_at_most(index, 1)?;
            common = cx.merge_shapes(&common, &parameter).map_err(|error| error.operand(index))?;
        }
    }
    let axes = cx.param_list("axis")?;
    let shifts = cx.param_list("shift")?;
    if let (Some(axes), Some(shifts)) = (axes.known_len(), shifts.known_len())
        && axes != shifts
    {
        bail!("shift and axis must have the same length, got {shifts} and {axes}");
    }
    if let (Some(dims), List::Elements(axes)) = (shape.dims(), &axes) {
        let known: Vec<Option<i64>> = axes.iter().map(Dim::as_known).collect();
        let mut sums = vec![Dim::known(0); dims.len()];
        let mut is_complete = true;
        for (entry, axis) in known.into_iter().enumerate() {
            let Some(axis) = axis else {
                is_complete = false;
                continue;
            };
            let axis = cx.axis_of("axis", axis, dims.len())?;
            let shift = match &shifts {
                List::Elements(shifts) => shifts[entry].clone(),
                _ => cx.fresh_integer(),
            };
            // An axis of size 0 has no elements to shift.
            let size = cx.max(&dims[axis], &Dim::known(1))?;
            let shift = cx.modulo(&shift, &size)?;
            let sum = cx.add(&sums[axis], &shift)?;
            sums[axis] = cx.modulo(&sum, &size)?;
        }
        if is_complete {
            cx.set_derived("shift", sums);
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
        {} "[n]; [1] = [3]; i32 [2]" => "error shapes must agree, got 1 and 2 at axis 0";
        {shift: [1, 2], axis: 0} "[n]" => "error shift and axis must have the same length, got 2 and 1";
        {} "[]; i32 []; i32 []" => "error input must have rank at least 1";
        {} "[n]; i32 [1]; [1] = [1]" => "error axis must be in [-1, 1), got 1";
        {} "[n]; i32 [2]; i32 [1]" => "error shapes must agree, got 2 and 1 at axis 0";
        {} "[n]; i32 [2, 2]; ?" => "error shift must have rank at most 1";
    }
}
