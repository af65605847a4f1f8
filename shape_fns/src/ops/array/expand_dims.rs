//! `expand_dims(x, axis)` inserts an axis of size 1; `squeeze(x, axis)` drops such axes.

use smallvec::SmallVec;

use crate::{Dim, InferenceContext, List, PartialElements, Result, ShapeError, TensorShape, normalize_axis};

/// `[d0, …, dn] -> [d0, …, 1, …, dn]`: inserts an axis at position `axis` of the result. If `axis` is unknown, only
/// the rank of the output is known. Sets the derived parameter `axis`, counted from the front.
///
/// # Errors
/// `axis` is outside `-rank-1..=rank`.
pub fn expand_dims(cx: &mut InferenceContext<'_>) -> Result<()> {
    let axis = cx.param_single("axis")?.and_then(|axis| axis.as_known());
    let input = cx.input(0).clone();
    let Some(dims) = input.dims() else { return Ok(()) };
    match axis.map(|axis| cx.axis_of("axis", axis, dims.len() + 1)).transpose()? {
        Some(axis) => {
            let mut dims: SmallVec<[Dim; 4]> = dims.iter().cloned().collect();
            dims.insert(axis, Dim::known(1));
            cx.set_derived("axis", [Dim::known(axis as i64)]);
            cx.set_output(0, TensorShape::new(dims));
        }
        None if dims.iter().all(|dim| *dim == 1) => {
            cx.set_output(0, TensorShape::new(vec![Dim::known(1); dims.len() + 1]))
        }
        None => {
            let output = cx.unknown_shape_of_rank(dims.len() + 1);
            cx.set_output(0, output);
        }
    }
    keep_elements(cx);
    Ok(())
}

/// Drops the axes `axis`, each of size 1. Unknown dimensions along these axes are unified with 1.
///
/// If `axis` is absent or empty, drops every axis of size 1; the output is unranked if a dimension may or may not be 1.
/// Sets the derived parameter `axis`: the dropped axes, sorted and counted from the front.
///
/// # Errors
/// A dropped axis provably has another size than 1, or is outside the rank.
pub fn squeeze(cx: &mut InferenceContext<'_>) -> Result<()> {
    let input = cx.input(0).clone();
    let axes = match cx.param_list("axis")? {
        List::Absent => Vec::new(),
        list => match list.as_known() {
            Some(axes) => axes,
            None => {
                if let (Some(rank), Some(1)) = (input.rank(), list.known_len()) {
                    let output = cx.unknown_shape_of_rank(rank.saturating_sub(1));
                    cx.set_output(0, output);
                }
                return Ok(());
            }
        },
    };
    let Some(dims) = input.dims() else { return Ok(()) };
    let mut dropped: SmallVec<[bool; 6]> = SmallVec::from_elem(false, dims.len());
    for axis in &axes {
        let axis = normalize_axis(*axis, dims.len())?;
        dropped[axis] = true;
        cx.merge(&dims[axis], &Dim::known(1)).map_err(|_| {
            ShapeError::new(format_args!(
                "a squeezed axis must have size 1, got {} at axis {axis} of {input}",
                dims[axis]
            ))
            .with_help_if(crate::shape::advice::axes_of_one(&input))
            .operand(0)
        })?;
    }
    if axes.is_empty() {
        for (axis, dim) in dims.iter().enumerate() {
            match dim.same(&Dim::known(1)) {
                Some(one) => dropped[axis] = one,
                None => return Ok(()),
            }
        }
    }
    let kept = dims.iter().zip(&dropped).filter(|(_, dropped)| !**dropped).map(|(dim, _)| dim.clone());
    cx.set_output(0, TensorShape::new(kept));
    let axes = dropped.iter().enumerate().filter(|(_, dropped)| **dropped);
    cx.set_derived("axis", axes.map(|(axis, _)| Dim::known(axis as i64)));
    keep_elements(cx);
    Ok(())
}

/// Sets the output's elements to the elements of the first operand, in the same order.
fn keep_elements(cx: &mut InferenceContext<'_>) {
    if let (Some(sizes), Some(value)) = (cx.output(0).as_known(), cx.input_value(0))
        && let Ok(value) = PartialElements::with_sizes(&sizes, value.elements().iter().cloned())
    {
        cx.set_output_value(0, value);
    }
}

#[cfg(test)]
mod tests {
    use super::{expand_dims, squeeze};
    use crate::testing::shape_table;

    shape_table! { expand: expand_dims, ["x", "axis"];
        {axis: 0} "[2, ?]" => "[1, 2, d0_1]";
        {axis: -1} "[2, n]" => "[2, n, 1]";
        {axis: 0} "[]" => "[1]";
        {axis: 0} "?" => "?";
        {} "[n]; i32 []" => "[?, ?]";
        {} "[1]; i32 []" => "[1, 1]";
        {} "[n]; [1] = [1]" => "[n, 1]";
        {axis: 0} "i32 [] = n" => "[1] = [n]";
        {axis: 3} "[2, 3]" => "error axis must be in [-3, 3), got 3";
        {axis: [0, 1]} "[2, 3]" => "error axis must be one integer, got [0, 1]";
        {} "[2, 3]; i32 [3]" => "error axis must be one integer, got 3 elements";
    }

    shape_table! { squeezed: squeeze, ["x"];
        {} "[1, 2, 1, 3]" => "[2, 3]";
        {axis: [0]} "[1, n, 1]" => "[n, 1]";
        {axis: [-1, 0]} "[?, n, ?]" => "[n]";
        {} "[1, n]" => "?";
        {axis: []} "[1, 3]" => "[3]";
        {axis: [0]} "?" => "?";
        {axis: 0} "i64 [1] = [n]" => "[] = n";
        {axis: [1]} "[1, 3]" => "error a squeezed axis must have size 1, got 3 at axis 1 of [1, 3]";
        {axis: [2]} "[1, 3]" => "error axis must be in [-2, 2), got 2";
    }
}
