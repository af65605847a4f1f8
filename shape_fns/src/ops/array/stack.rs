//! `stack(values, axis)` joins tensors of the same shape along a new axis; `unstack(x, axis)` takes a tensor apart.

use super::propagate::{element_at, propagate_elements};
use crate::error::bail;
use crate::shape::advice;
use crate::{Dim, InferenceContext, Result, ShapeError, TensorShape};

/// `k` operands of shape `[d0, …, dn]` give `[d0, …, k, …, dn]`. The operands' shapes are unified. Sets the derived
/// parameter `axis`, counted from the front, which the body of the op reads.
///
/// # Errors
/// Ranks or dimensions provably differ, or `axis` is outside `-rank-1..=rank`.
pub fn stack(cx: &mut InferenceContext<'_>) -> Result<()> {
    let members = cx.operands_named("values");
    let count = members.len();
    if count == 0 {
        bail!("stack must have at least one operand, got none");
    }
    let mut shape = TensorShape::unranked();
    for index in members.clone() {
        let member = cx.input(index).clone();
        shape = cx.merge_shapes(&shape, &member).map_err(|error| {
            let axis = advice::concat_axis(&shape, &member);
            ShapeError::new(format_args!("stacked operands must have the same shape: {error}"))
                .with_help_if(
                    axis.map(|axis| format!("concat joins along axis {axis}, the only one that differs")),
                )
                .operand(index)
        })?;
    }
    let Some(dims) = shape.dims() else { return Ok(()) };
    let axis = match cx.attr("axis") {
        None => 0,
        Some(_) => match cx.param_axis("axis", dims.len() + 1)? {
            Some(axis) => axis,
            None => return Ok(()),
        },
    };
    let mut dims = dims.to_vec();
    dims.insert(axis, Dim::known(count as i64));
    cx.set_derived("axis", [Dim::known(axis as i64)]);
    cx.set_output(0, TensorShape::from(dims));
    if members.clone().any(|index| cx.input_value(index).is_some()) {
        let values: Vec<_> = members.map(|index| cx.input_value(index).cloned()).collect();
        propagate_elements(cx, 0, |index| {
            let mut source = index.to_vec();
            let member = source.remove(axis);
            element_at(values.get(member)?.as_ref()?, source)
        });
    }
    Ok(())
}

/// Sets output `i` to slice `i` of `x` along `axis`, without that axis. The dimension along `axis` is unified with the
/// number of outputs. Sets the derived parameter `axis`, counted from the front, which the body of the op reads.
///
/// # Errors
/// The dimension provably differs from the number of outputs, or `axis` is outside the rank.
pub fn unstack(cx: &mut InferenceContext<'_>) -> Result<()> {
    let input = cx.input(0).clone();
    let Some(dims) = input.dims() else { return Ok(()) };
    let Some(rank) = Some(dims.len()).filter(|rank| *rank > 0) else {
        return Err(cx.blame(0, "must have an axis to unstack, got a scalar"));
    };
    let axis = match cx.attr("axis") {
        None => 0,
        Some(_) => match cx.param_axis("axis", rank)? {
            Some(axis) => axis,
            None => return Ok(()),
        },
    };
    let count = cx.outputs();
    cx.merge(&dims[axis], &Dim::known(count as i64)).map_err(|_| {
        cx.blame(0, format_args!("must have size {count} along axis {axis}, got {} in {input}", dims[axis]))
    })?;
    cx.set_derived("axis", [Dim::known(axis as i64)]);
    let mut rest = dims.to_vec();
    rest.remove(axis);
    let value = cx.input_value(0).cloned();
    for output in 0..count {
        cx.set_output(output, TensorShape::from(rest.as_slice()));
        let Some(value) = &value else { continue };
        propagate_elements(cx, output, |index| {
            let mut source = index.to_vec();
            source.insert(axis, output);
            element_at(value, source)
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{stack, unstack};
    use crate::testing::shape_table;

    shape_table! { stacked: stack, ["values.."];
        {axis: 0} "[2, n]; [2, n]; [2, n]" => "[3, 2, n]";
        {axis: -1} "[?, 3]; [4, ?]" => "[4, 3, 2]";
        {} "[]; []" => "[2]";
        {axis: 1} "[n]; [m]" => "[n, 2]";
        {axis: 0} "?; [3]" => "[2, 3]";
        {axis: 0} "?; ?" => "?";
        {axis: 0} "i32 [] = n; i32 []; i32 [] = 3" => "[3] = [n, ?, 3]";
        {axis: 1} "i32 [2] = [1, n]; i32 [2] = [3, 4]" => "[2, 2] = [1, 3, n, 4]";
        {axis: 0} "i32 [2] = [1, n]; i32 [2] = [3, 4]" => "[2, 2] = [1, n, 3, 4]";
        {axis: 0} "[2]; [3]" => "error stacked operands must have the same shape: shapes must agree, got 2 and 3 at axis 0";
        {axis: 2} "[2]; [2]" => "error axis must be in [-2, 2), got 2";
    }

    shape_table! { unstacked: unstack, ["x"];
        {axis: 0} "[2, n]" => "[n]; [n]";
        {axis: -1} "[n, ?]" => "[n]; [n]; [n]";
        {axis: 0} "?" => "?; ?";
        {axis: 0} "i32 [2] = [n, 3]" => "[] = n; [] = 3";
        {axis: 1} "i32 [2, 2] = [n, 3, m, 4]" => "[2] = [n, m]; [2] = [3, 4]";
        {axis: 0} "[3, 2]" => "error x must have size 1 along axis 0, got 3 in [3, 2]";
        {axis: 1} "[3]" => "error axis must be in [-1, 1), got 1";
        {axis: 0} "[]" => "error x must have an axis to unstack, got a scalar";
    }
}
