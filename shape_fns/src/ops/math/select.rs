//! `select(condition, x, y)` and `clip_by_value(x, low, high)`.

use crate::array::propagate::{broadcast_element_at, propagate_elements};
use crate::common::{self, require_broadcast};
use crate::{InferenceContext, Result, ShapeError};

/// Outputs the shape that the condition and both branches broadcast to.
///
/// # Errors
/// Two dimensions are provably different and neither is 1.
pub fn select(cx: &mut InferenceContext<'_>) -> Result<()> {
    common::broadcast(cx)?;
    propagate_selected(cx);
    Ok(())
}

/// Sets the known elements of the output. An element is known if its condition and the selected element are known, or
/// if both branches have the same element.
fn propagate_selected(cx: &mut InferenceContext<'_>) {
    let value = |index| cx.input_value(index).cloned();
    let [condition, x, y] = [value(0), value(1), value(2)];
    if !cx.input_dtype(1).is_some_and(|dtype| dtype.is_integer()) || (x.is_none() && y.is_none()) {
        return;
    }
    // A vector condition of `select_v1` selects along the first axis, whereas broadcasting aligns the last axes.
    if cx.input(0).rank() == Some(1) && cx.output(0).rank().is_some_and(|rank| rank > 1) {
        return;
    }
    propagate_elements(cx, 0, |index| {
        let [condition, x, y] = [&condition, &x, &y].map(|side| broadcast_element_at(side.as_ref()?, index));
        match condition.and_then(|condition| condition.as_known()) {
            Some(0) => y,
            Some(_) => x,
            None => x.filter(|x| Some(x) == y.as_ref()),
        }
    });
}

/// TensorFlow's first `Select`: the branches have the same shape. The condition has that shape too, or it is a scalar,
/// or a vector along the first axis.
///
/// # Errors
/// Ranks or dimensions provably differ.
pub fn select_v1(cx: &mut InferenceContext<'_>) -> Result<()> {
    let (condition, x, y) = (cx.input(0).clone(), cx.input(1).clone(), cx.input(2).clone());
    let mut output = cx.merge_shapes(&x, &y).map_err(|error| {
        ShapeError::new(format_args!("both branches must have the same shape: {error}")).operand(2)
    })?;
    match (condition.dims(), output.dims()) {
        (Some([]), _) | (None, _) => {}
        (Some([rows]), Some([first, rest @ ..])) if !rest.is_empty() => {
            cx.merge(rows, first).map_err(|_| {
                ShapeError::new(format_args!(
                    "condition must have one entry per row, got {rows} for {output}"
                ))
                .operand(0)
            })?;
        }
        // A vector condition does not determine the rank of unranked branches.
        (Some([_]), None) => {}
        _ => {
            output = cx.merge_shapes(&output, &condition).map_err(|error| {
                ShapeError::new(format_args!("condition must have the shape of the branches: {error}"))
                    .operand(0)
            })?;
        }
    }
    cx.set_output(0, output);
    propagate_selected(cx);
    Ok(())
}

/// Keeps the shape of `x`, to which `low` and `high` must broadcast.
///
/// # Errors
/// A bound provably does not broadcast to the shape of `x`.
pub fn clip_by_value(cx: &mut InferenceContext<'_>) -> Result<()> {
    let shape = cx.input(0).clone();
    for index in 1..cx.len() {
        require_broadcast(cx, index, None, &shape)?;
    }
    cx.set_output(0, shape);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{clip_by_value, select, select_v1};
    use crate::testing::shape_table;

    shape_table! { elements: select, ["condition", "x", "y"];
        {} "bool [3] = [1, 0, ?]; i32 [3] = [n, 2, 5]; i32 [3] = [1, m, 5]" => "[3] = [n, m, 5]";
        {} "bool [] = 1; i32 [2] = [n, 2]; i32 [2]" => "[2] = [n, 2]";
        {} "bool []; i32 [2] = [n, 2]; i32 [2] = [m, 2]" => "[2] = [?, 2]";
    }
    shape_table! { broadcasting: select, ["condition", "x", "y"];
        {} "bool [n, 1]; [m]; []" => "[n, m]";
        {} "bool [2]; [3]; []" => "error got 2 and 3 at axis 0";
    }
    shape_table! { version_1: select_v1, ["condition", "x", "y"];
        {} "bool [n, 3]; [?, ?]; [?, 3]" => "[n, 3]";
        {} "bool []; [n]; [?]" => "[n]";
        {} "bool [?]; [n, 3]; [n, 3]" => "[n, 3]";
        {} "bool ?; ?; [n]" => "[n]";
        {} "bool [2]; [3, 4]; [3, 4]" => "error condition must have one entry per row, got 2 for [3, 4]";
        {} "bool [2]; [3]; [4]" => "error both branches must have the same shape";
        {} "bool [2, 2]; [3]; [3]" => "error condition must have the shape of the branches";
    }
    shape_table! { clipped: clip_by_value, ["x", "low", "high"];
        {} "[n, 3]; []; [3]" => "[n, 3]";
        {} "[n]; [m]; []" => "[n] if m in {1, n}";
        {} "[3]; [2]; []" => "error low must broadcast to [3], got [2]";
        {} "[3]; []; [1, 3]" => "error high must broadcast to [3], got [1, 3]";
    }
}
