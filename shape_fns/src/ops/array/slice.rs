//! `slice(x, begin, size)`: extracts a box (a rectangular part) from `x`.

use super::propagate::{element_at, propagate_elements};
use crate::{Dim, Guard, InferenceContext, List, Result, ShapeError, TensorShape};

/// Extracts `begin[i] .. begin[i] + size[i]` along axis `i`. A size of -1 extends to the end of the axis:
/// `[n, 4], begin=[1, 0], size=[-1, 2] -> [n-1, 2]`. Sets the derived parameter `begin`, one entry per axis.
///
/// # Errors
/// The length of `begin` or `size` differs from the rank, a size is less than -1, or the box provably exceeds `x`.
pub fn slice(cx: &mut InferenceContext<'_>) -> Result<()> {
    let (begin, size) = (cx.param_vector("begin")?, cx.param_vector("size")?);
    let input = cx.input(0).clone();
    let lengths = [("begin", begin.known_len()), ("size", size.known_len())];
    let Some(rank) = input.rank().or(lengths[0].1).or(lengths[1].1) else { return Ok(()) };
    for (name, len) in lengths {
        if let Some(len) = len.filter(|len| *len != rank) {
            return Err(
                cx.blame_param(name, format_args!("must have one entry per axis, got {len} for rank {rank}"))
            );
        }
    }
    let input = cx.with_rank(0, rank)?;
    let (mut dims, mut starts) = (Vec::with_capacity(rank), Vec::with_capacity(rank));
    for (axis, dim) in input.dims().unwrap_or_default().iter().enumerate() {
        let start = match &begin {
            List::Elements(begin) => begin[axis].clone(),
            _ => cx.fresh_integer(),
        };
        cx.require_not_negative("begin", &start)?;
        let size = match &size {
            List::Elements(size) => Some(&size[axis]),
            _ => None,
        };
        let length = sliced_length(cx, dim, &start, size)?;
        if !cx.mentions_fresh_symbol(&start) && !cx.mentions_fresh_symbol(&length) {
            let end = cx.add(&start, &length)?;
            cx.require(Guard::Ge(dim.clone(), end.clone())).map_err(|_| {
                ShapeError::new(format_args!(
                    "a slice must lie within the tensor, got {start} to {end} at axis {axis} of {input}"
                ))
                .with_help("a size of -1 extends to the end of the axis; a strided slice clamps its range to the axis")
            })?;
        }
        dims.push(length);
        starts.push(start);
    }
    cx.set_output(0, TensorShape::from(dims));
    let known = |start: &Dim| usize::try_from(start.as_known()?).ok();
    if let (Some(value), Some(offsets)) =
        (cx.input_value(0).cloned(), starts.iter().map(known).collect::<Option<Vec<usize>>>())
    {
        propagate_elements(cx, 0, |index| {
            element_at(
                &value,
                index.iter().zip(&offsets).map(|(position, offset)| position.saturating_add(*offset)),
            )
        });
    }
    cx.set_derived("begin", starts);
    Ok(())
}

/// Returns the output's dimension along one axis. `size` is `None` if the size is unknown.
fn sliced_length(cx: &mut InferenceContext<'_>, dim: &Dim, start: &Dim, size: Option<&Dim>) -> Result<Dim> {
    let Some(size) = size else {
        // Any slice of an empty axis is empty.
        return Ok(if *dim == 0 { Dim::known(0) } else { cx.fresh() });
    };
    match size.as_known() {
        Some(-1) if cx.mentions_fresh_symbol(start) => Ok(cx.fresh()),
        Some(-1) => {
            cx.require(Guard::Ge(dim.clone(), start.clone())).map_err(|_| {
                ShapeError::new(format_args!("begin must be at most the dimension, got {start} and {dim}"))
            })?;
            cx.sub(dim, start)
        }
        Some(value) if value < -1 => {
            Err(cx.blame_param("size", format_args!("must be at least -1, got {value}")))
        }
        Some(_) => Ok(size.clone()),
        None if cx.at_least(size, &Dim::known(0)) => Ok(size.clone()),
        None if cx.mentions_fresh_symbol(start) => Ok(cx.fresh()),
        None => {
            // The length is `size + (size < 0) * (dim - start + 1)`, which is `dim - start` for a size of -1.
            cx.require(Guard::Ge(size.clone(), Dim::known(-1)))?;
            let to_end = cx.one_if_negative(size)?;
            let rest = cx.sub(dim, start)?;
            let added = cx.add(&rest, &Dim::known(1))?;
            let added = cx.mul(&to_end, &added)?;
            cx.add(size, &added)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::slice;
    use crate::testing::shape_table;

    shape_table! { elements: slice, ["x", "begin", "size"];
        {begin: [1], size: [2]} "i32 [4] = [1, n, ?, 4]" => "[2] = [n, v0_2]";
        {begin: [0, 1], size: [-1, 1]} "i32 [2, 2] = [1, n, 3, m]" => "[2, 1] = [n, m]";
    }
    shape_table! { shapes: slice, ["x", "begin", "size"];
        {begin: [1, 0], size: [2, 3]} "[4, 3]" => "[2, 3]";
        {begin: [1, 0], size: [-1, -1]} "[n, m]" => "[n-1, m] if n >= 1";
        {begin: [0, 2], size: [3, 1]} "[?, n]" => "[3, 1] if d0_0 >= 3, n >= 3";
        {size: [2, -1]} "[n, 4]; i32 [2]" => "[2, ?]";
        {begin: [0]} "[n]; i32 [1]" => "[?]";
        {begin: [1]} "[n]; [1] = [k]" => "[k] if n >= k+1";
        {size: [-1]} "[n]; [1] = [?]" => "[n-v1_0] if v1_0 >= 0, n >= v1_0";
        {begin: [0]} "[n]; [1] = [?]" => "[max(-v1_0, 0)*n+max(-v1_0, 0)+v1_0]";
        {begin: [0, 0], size: [1, -1]} "?" => "[1, ?]";
        {} "?; i32 [?]; i32 [?]" => "?";
        {begin: [3], size: [0]} "[3]" => "[0]";
        {begin: [1], size: [2]} "i32 [4] = [1, n, ?, 4]" => "[2] = [n, v0_2]";
        {begin: [3], size: [4]} "[5]" => "error a slice must lie within the tensor, got 3 to 7 at axis 0 of [5]";
        {begin: [0], size: [-2]} "[5]" => "error size must be at least -1, got -2";
        {begin: [-1], size: [1]} "[5]" => "error begin must not be negative, got -1";
        {begin: [6], size: [-1]} "[5]" => "error begin must be at most the dimension, got 6 and 5";
        {begin: [0], size: [1]} "[5, 5]" => "error begin must have one entry per axis, got 1 for rank 2";
        {begin: [0, 0], size: [1]} "[5, 5]" => "error size must have one entry per axis, got 1 for rank 2";
    }
}
