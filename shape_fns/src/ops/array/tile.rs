//! `tile(x, multiples)`: repeats `x` along every axis.

use super::propagate::{element_at, propagate_elements};
use crate::{Dim, InferenceContext, List, Result, TensorShape};

/// `[d0, …, dn], multiples=[m0, …, mn] -> [d0*m0, …, dn*mn]`. If one of `d` and `m` is 0, the product is 0 even if the
/// other factor is unknown.
///
/// # Errors
/// The length of `multiples` differs from the rank, or a multiple is negative.
pub fn tile(cx: &mut InferenceContext<'_>) -> Result<()> {
    let multiples = cx.param_vector("multiples")?;
    let input = cx.input(0).clone();
    if let (Some(rank), Some(count)) = (input.rank(), multiples.known_len())
        && rank != count
    {
        return Err(cx.blame_param(
            "multiples",
            format_args!("must have one entry per axis, got {count} for {input}"),
        ));
    }
    let Some(rank) = input.rank().or(multiples.known_len()) else { return Ok(()) };
    let input = cx.with_rank(0, rank)?;
    let mut dims = Vec::with_capacity(rank);
    for (axis, dim) in input.dims().unwrap_or_default().iter().enumerate() {
        dims.push(match &multiples {
            List::Elements(multiples) => {
                cx.require_not_negative("multiples", &multiples[axis])?;
                cx.mul(dim, &multiples[axis])?
            }
            _ if *dim == 0 => Dim::known(0),
            _ => cx.fresh(),
        });
    }
    cx.set_output(0, TensorShape::from(dims));
    if let Some(value) = cx.input_value(0).cloned() {
        let repeated = |index: &[usize]| {
            let axes = index.iter().zip(value.sizes());
            element_at(&value, axes.map(|(position, size)| position.checked_rem(*size).unwrap_or(0)))
        };
        propagate_elements(cx, 0, repeated);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::tile;
    use crate::testing::shape_table;

    shape_table! { elements: tile, ["x", "multiples"];
        {} "i32 [2] = [n, 3]; [1] = [2]" => "[4] = [n, 3, n, 3]";
        {} "i32 [2, 1] = [n, 3]; [2] = [1, 2]" => "[2, 2] = [n, n, 3, 3]";
    }
    shape_table! { shapes: tile, ["x", "multiples"];
        {multiples: [2, 1]} "[n, ?]" => "[2*n, d0_1]";
        {multiples: [0]} "[?]" => "[0]";
        {} "[0, 3]; i32 [2]" => "[0, ?]";
        {} "[3]; [1] = [k]" => "[3*k]";
        {} "[3]; [1] = [?]" => "[3*v1_0] if v1_0 >= 0";
        {multiples: [2, 2]} "?" => "[2*?, 2*?]";
        {multiples: []} "[]" => "[]";
        {} "?; i32 [?]" => "?";
        {multiples: [2]} "[2, 3]" => "error multiples must have one entry per axis, got 1 for [2, 3]";
        {multiples: [-1]} "[2]" => "error multiples must not be negative, got -1";
        {multiples: [i64::MAX]} "[2]" => "error overflow";
    }
}
