//! `broadcast_to(x, shape)`: repeats `x` along axes of size 1 and along new leading axes.

use super::propagate::{broadcast_element_at, propagate_elements};
use crate::error::bail;
use crate::{Dim, Guard, InferenceContext, List, Result, TensorShape};

/// Sets the output's sizes to `shape`. The axes of `x` align with the last axes of `shape`, and each dimension of `x`
/// must be 1 or equal to the size in `shape`.
///
/// # Errors
/// `x` has more axes than `shape`, a size is negative, or a dimension of `x` provably does not broadcast.
pub fn broadcast_to(cx: &mut InferenceContext<'_>) -> Result<()> {
    let input = cx.input(0).clone();
    let list = cx.param_vector("shape")?;
    let Some(rank) = list.known_len() else { return Ok(()) };
    let input_dims = input.dims().unwrap_or_default();
    if input_dims.len() > rank {
        bail!("shape must have at least as many axes as the operand, got {rank} for {input}");
    }
    let offset = rank - input_dims.len();
    let mut dims = Vec::with_capacity(rank);
    for axis in 0..rank {
        let dim = axis.checked_sub(offset).and_then(|axis| input_dims.get(axis));
        let size = match &list {
            List::Elements(sizes) => sizes.get(axis),
            _ => None,
        };
        let size = match (size, dim) {
            (Some(size), _) => {
                cx.require_not_negative("shape", size)?;
                size.clone()
            }
            // A dimension other than 1 must equal the size, so it determines an unknown size.
            (None, Some(dim)) if dim.same(&Dim::known(1)) == Some(false) => dim.clone(),
            _ => cx.fresh(),
        };
        if let Some(dim) = dim {
            let (from, to) = (dim.clone(), size.clone());
            cx.require(Guard::OneOrEqual(from.clone(), to.clone())).map_err(|_| {
                cx.blame(
                    0,
                    format_args!("must have size 1 or {to}, got {from} at axis {} of {input}", axis - offset),
                )
            })?;
        }
        dims.push(size);
    }
    cx.set_output(0, TensorShape::from(dims));
    if let Some(value) = cx.input_value(0).cloned() {
        propagate_elements(cx, 0, |index| broadcast_element_at(&value, index));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::broadcast_to;
    use crate::shape;
    use crate::testing::shape_table;

    shape_table! { elements: broadcast_to, ["x", "shape"];
        {shape: [3]} "i32 [] = n" => "[3] = [n, n, n]";
        {shape: [2, 2]} "i32 [2, 1] = [n, 3]" => "[2, 2] = [n, n, 3, 3]";
    }
    shape_table! { shapes: broadcast_to, ["x", "shape"];
        {shape: [4, 2, 3]} "[2, 1]" => "[4, 2, 3]";
        {shape: shape!["n", 3]} "[3]" => "[n, 3]";
        {shape: [4, 3]} "[n, 3]" => "[4, 3] if n in {1, 4}";
        {} "[5, ?]; i32 [3]" => "[?, 5, ?]";
        {} "[5]; [2] = [?, ?]" => "[v1_0, 5] if v1_0 >= 0, v1_1 >= 0";
        {} "[5]; i32 [?]" => "?";
        {shape: [2]} "?" => "[2]";
        {shape: [0]} "[1]" => "[0]";
        {shape: [4]} "[3]" => "error x must have size 1 or 4, got 3 at axis 0 of [3]";
        {shape: [4]} "[3, 4]" => "error as many axes as the operand, got 1 for [3, 4]";
        {shape: [-1]} "[3]" => "error shape must not be negative, got -1";
    }
}
