//! `reverse(x, axis)`: reverses the order of elements along some axes.

use super::propagate::{element_at, propagate_elements};
use crate::{Dim, InferenceContext, List, Result, normalize_axis};

/// Keeps the shape of `x`. Sets the derived parameter `axis`, sorted and counted from the front, if `axis` is known. A
/// scalar has no axes and stays as it is, whatever `axis` holds.
///
/// # Errors
/// An axis is outside the rank, or given twice.
pub fn reverse(cx: &mut InferenceContext<'_>) -> Result<()> {
    let list = cx.param_vector("axis")?;
    let shape = cx.input(0).clone();
    // TensorFlow accepts every axis for a scalar.
    if shape.rank() == Some(0) {
        cx.set_output(0, shape);
        set_reversed(cx, &[]);
        return Ok(());
    }
    if let (List::Elements(axes), Some(rank)) = (&list, shape.rank()) {
        let mut reversed = vec![false; rank];
        for axis in axes.iter().filter_map(Dim::as_known) {
            let axis = normalize_axis(axis, rank)?;
            if std::mem::replace(&mut reversed[axis], true) {
                return Err(
                    cx.blame_param("axis", format_args!("must not repeat an axis, got axis {axis} twice"))
                );
            }
        }
        if list.as_known().is_some() {
            cx.set_output(0, shape);
            set_reversed(cx, &reversed);
            return Ok(());
        }
    }
    cx.set_output(0, shape);
    Ok(())
}

/// Sets the derived parameter `axis` from one flag per axis, and sets the output's elements if the operand's elements
/// are tracked.
fn set_reversed(cx: &mut InferenceContext<'_>, reversed: &[bool]) {
    let axes = reversed.iter().enumerate().filter(|(_, reversed)| **reversed);
    cx.set_derived("axis", axes.map(|(axis, _)| Dim::known(axis as i64)));
    if let Some(value) = cx.input_value(0).cloned() {
        let source =
            |index: &[usize]| {
                let axes = index.iter().zip(value.sizes()).zip(reversed);
                element_at(
                    &value,
                    axes.map(|((position, size), reversed)| {
                        if *reversed { size.checked_sub(position + 1).unwrap_or(*size) } else { *position }
                    }),
                )
            };
        propagate_elements(cx, 0, source);
    }
}

/// Like [`reverse`], but the bool vector `dims` holds one flag per axis.
///
/// # Errors
/// The length of `dims` differs from the rank.
pub fn reverse_by_flags(cx: &mut InferenceContext<'_>) -> Result<()> {
    let flags = cx.param_vector("dims")?;
    let mut shape = cx.input(0).clone();
    match (shape.rank(), flags.known_len()) {
        (Some(rank), Some(len)) if rank != len => {
            return Err(
                cx.blame_param("dims", format_args!("must have one entry per axis, got {len} for {shape}"))
            );
        }
        (None, Some(len)) => shape = cx.unknown_shape_of_rank(len),
        _ => {}
    }
    cx.set_output(0, shape);
    if let Some(flags) = flags.as_known() {
        let flags: Vec<bool> = flags.into_iter().map(|flag| flag != 0).collect();
        set_reversed(cx, &flags);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{reverse, reverse_by_flags};
    use crate::testing::shape_table;

    shape_table! { elements: reverse, ["x", "axis"];
        {axis: [0]} "[]" => "[]";
        {axis: [0]} "i32 [3] = [n, 3, ?]" => "[3] = [v0_2, 3, n]";
        {axis: [-1]} "i32 [2, 2] = [n, 3, 4, m]" => "[2, 2] = [3, n, m, 4]";
        {} "i32 [3] = [n, 3, ?]; i32 [1]" => "[3]";
    }
    shape_table! { by_axis: reverse, ["x", "axis"];
        {axis: [0, -1]} "[2, n, ?]" => "[2, n, d0_2]";
        {axis: []} "[2]" => "[2]";
        {} "[2, n]; i32 [?]" => "[2, n]";
        {axis: [0]} "?" => "?";
        {axis: [0, -2]} "[2, 3]" => "error axis must not repeat an axis, got axis 0 twice";
        {axis: [2]} "[2, 3]" => "error axis must be in [-2, 2), got 2";
    }
    shape_table! { by_flags: reverse_by_flags, ["x", "dims"];
        {} "[2, n]; bool [2] = [1, 0]" => "[2, n]";
        {} "?; bool [2]" => "[?, ?]";
        {} "[2, n]; bool [3]" => "error dims must have one entry per axis, got 3 for [2, n]";
    }
}
