//! `pad(x, paddings, mode)`: adds elements before and after every axis of `x`.

use super::propagate::{element_at, propagate_elements};
use crate::error::bail;
use crate::{Dim, Guard, InferenceContext, Param, PartialElements, Result, ShapeError, TensorShape};

/// `[d0, …], paddings=[[b0, a0], …] -> [b0+d0+a0, …]`; `paddings` is read in row-major order.
///
/// Mode `reflect` allows at most `d-1` elements per side and thus refuses empty axes. Mode `symmetric` allows at most
/// `d`. Sets the derived parameter `before`: the number of elements added before each axis.
///
/// # Errors
/// `paddings` does not hold one pair per axis, a padding is negative, or a mirrored padding provably exceeds its
/// limit.
pub fn pad(cx: &mut InferenceContext<'_>) -> Result<()> {
    let input = cx.input(0).clone();
    let mirrored = mirrored_edge(cx)?;
    let Some((shape, paddings_before)) = padded_shape(cx, input, mirrored)? else { return Ok(()) };
    cx.set_output(0, shape);
    propagate_padded(cx, &paddings_before, mirrored);
    cx.set_derived("before", paddings_before);
    Ok(())
}

/// Returns the shape `input` padded by parameter `paddings` and attribute `mode`; `None` if its rank is unknown.
///
/// # Errors
/// Same as [`pad`].
pub(crate) fn padded(cx: &mut InferenceContext<'_>, input: TensorShape) -> Result<Option<TensorShape>> {
    let mirrored = mirrored_edge(cx)?;
    Ok(padded_shape(cx, input, mirrored)?.map(|(shape, _)| shape))
}

/// Returns the number of elements at an edge that a mirrored padding does not repeat; `None` for a constant padding.
fn mirrored_edge(cx: &InferenceContext<'_>) -> Result<Option<i64>> {
    let mode = cx.str_or("mode", "constant")?;
    match mode.to_ascii_lowercase().as_str() {
        "constant" => Ok(None),
        "reflect" => Ok(Some(1)),
        "symmetric" => Ok(Some(0)),
        _ => bail!("mode must be constant, reflect or symmetric, got {mode:?}"),
    }
}

/// Returns the padded shape of `input` and the paddings before its axes; `None` if the rank is unknown. A shape
/// `input` of unknown rank is that of operand 0.
fn padded_shape(
    cx: &mut InferenceContext<'_>,
    input: TensorShape,
    mirrored: Option<i64>,
) -> Result<Option<(TensorShape, Vec<Dim>)>> {
    let mode = cx.str_or("mode", "constant")?.to_string();
    let (elements, rank) = match cx.param("paddings")? {
        Param::Known(value) | Param::Partial(value) => {
            if value.len() % 2 != 0 || value.rank() > 2 || (value.rank() == 2 && value.sizes()[1] != 2) {
                return Err(cx.blame_param(
                    "paddings",
                    format_args!("must hold pairs, got sizes {:?}", value.sizes()),
                ));
            }
            let rank = value.len() / 2;
            (Some(value), Some(rank))
        }
        _ => (None, pair_count(cx)?),
    };
    if let (Some(input_rank), Some(rank)) = (input.rank(), rank)
        && input_rank != rank
    {
        let error =
            cx.blame_param("paddings", format_args!("must have one pair per axis, got {rank} for {input}"));
        let help = rank < input_rank;
        return Err(error.with_help_if(help.then_some("use the pair 0, 0 for an axis without padding")));
    }
    let Some(rank) = input.rank().or(rank) else { return Ok(None) };
    let input = if input.rank().is_some() { input } else { cx.with_rank(0, rank)? };
    let (mut dims, mut paddings_before) = (Vec::with_capacity(rank), Vec::with_capacity(rank));
    for (axis, dim) in input.dims().unwrap_or_default().iter().enumerate() {
        let Some(elements) = &elements else {
            dims.push(cx.fresh());
            paddings_before.push(cx.fresh_integer());
            continue;
        };
        let sides =
            [2 * axis, 2 * axis + 1].map(|position| elements.get(position).cloned().unwrap_or(Dim::known(0)));
        let mut padded = dim.clone();
        for side in &sides {
            cx.require_not_negative("paddings", side)?;
            if let Some(excluded) = mirrored {
                let required = cx.add(side, &Dim::known(excluded))?;
                cx.require(Guard::Ge(dim.clone(), required)).map_err(|_| {
                    let limit = if excluded == 1 { "less than" } else { "at most" };
                    ShapeError::new(format_args!(
                        "{mode} padding must be {limit} the size {dim} of axis {axis}, got {side}"
                    ))
                })?;
            }
            padded = cx.add(&padded, side)?;
        }
        dims.push(padded);
        let [before, _] = sides;
        paddings_before.push(before);
    }
    Ok(Some((TensorShape::from(dims), paddings_before)))
}

/// Sets the output's elements if the operand's elements are tracked and the padding before every axis is known.
/// `mirrored` is `None` for constant padding, 1 for `reflect` and 0 for `symmetric`.
fn propagate_padded(cx: &mut InferenceContext<'_>, paddings_before: &[Dim], mirrored: Option<i64>) {
    let paddings_before: Option<Vec<i64>> = paddings_before.iter().map(Dim::as_known).collect();
    let (Some(paddings_before), Some(value)) = (paddings_before, cx.input_value(0).cloned()) else { return };
    let fill = match cx.operand("constant_values") {
        Some(index) => cx.input_value(index).and_then(|value| value.get(0).cloned()),
        None => Some(Dim::known(0)),
    };
    let source = |position: usize, before: i64, size: usize| -> Option<usize> {
        let (position, size) = (i64::try_from(position).ok()?, i64::try_from(size).ok()?);
        let unpadded = position.checked_sub(before)?;
        let source = match mirrored {
            Some(excluded) if unpadded < 0 => unpadded.checked_neg()?.checked_sub(1 - excluded)?,
            Some(excluded) if unpadded >= size => {
                size.checked_mul(2)?.checked_sub(unpadded)?.checked_sub(1 + excluded)?
            }
            _ => unpadded,
        };
        usize::try_from(source).ok().filter(|_| source < size)
    };
    propagate_elements(cx, 0, |index| {
        let axes = index.iter().zip(&paddings_before).zip(value.sizes());
        match axes
            .map(|((position, before), size)| source(*position, *before, *size))
            .collect::<Option<Vec<_>>>()
        {
            Some(index) => element_at(&value, index),
            None => fill.clone(),
        }
    });
}

/// Returns the number of entries, or `None` if the number is unknown or exceeds [`PartialElements::MAX`].
fn known_count(dim: &Dim) -> Option<usize> {
    usize::try_from(dim.as_known()?).ok().filter(|count| *count <= PartialElements::MAX)
}

/// Returns the number of pairs in `paddings`, whose elements are unknown.
fn pair_count(cx: &InferenceContext<'_>) -> Result<Option<usize>> {
    let Some(index) = cx.operand("paddings") else { return Ok(None) };
    let shape = cx.input(index);
    match shape.dims() {
        None => Ok(None),
        Some([pairs, two]) if two.same(&Dim::known(2)) != Some(false) => Ok(known_count(pairs)),
        Some([elements]) => Ok(known_count(elements).map(|elements| elements / 2)),
        _ => Err(cx.blame(index, format_args!("must hold pairs, got {shape}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::pad;
    use crate::testing::shape_table;

    shape_table! { elements: pad, ["x", "paddings", "constant_values"];
        {} "i32 [2] = [n, 3]; [1, 2] = [1, 2]; i32 [] = 7" => "[5] = [7, n, 3, 7, 7]";
        {} "i32 [2] = [n, 3]; [1, 2] = [1, 0]; i32 []" => "[3] = [?, n, 3]";
    }
    shape_table! { zeros: pad, ["x", "paddings"];
        {} "i32 [2, 1] = [n, 3]; [2, 2] = [0, 0, 1, 0]" => "[2, 2] = [0, n, 0, 3]";
        {mode: "reflect"} "i32 [3] = [n, 3, ?]; [1, 2] = [2, 1]" => "[6] = [v0_2, 3, n, 3, v0_2, 3]";
        {mode: "symmetric"} "i32 [3] = [n, 3, ?]; [1, 2] = [2, 1]" => "[6] = [3, n, n, 3, v0_2, v0_2]";
    }
    shape_table! { shapes: pad, ["x", "paddings"];
        {paddings: [1, 2, 0, 0]} "[2, ?]" => "[5, d0_1]";
        {paddings: [1, 1]} "[n]" => "[n+2]";
        {} "[n, 2]; i32 [2, 2] = [1, k, ?, 0]" => "[k+n+1, v1_2+2] if v1_2 >= 0";
        {} "[n]; i32 [1, 2]" => "[?]";
        {} "?; i32 [3, 2]" => "[?, ?, ?]";
        {} "?; i32 [?, 2]" => "?";
        {paddings: [2, 0], mode: "REFLECT"} "[n]" => "[n+2] if n >= 3";
        {paddings: [0, 0], mode: "reflect"} "[n]" => "[n] if n >= 1";
        {paddings: [0, 0], mode: "reflect"} "[0]" => "error reflect padding must be less than the size 0 of axis 0";
        {paddings: [2, 3], mode: "SYMMETRIC"} "[3]" => "[8]";
        {paddings: [1, 2, 3]} "[2]" => "error paddings must hold pairs";
        {paddings: [1, 2]} "[2, 2]" => "error paddings must have one pair per axis, got 1 for [2, 2]";
        {paddings: [-1, 2]} "[2]" => "error paddings must not be negative, got -1";
        {paddings: [3, 0], mode: "reflect"} "[3]" => "error reflect padding must be less than the size 3 of axis 0";
        {paddings: [0, 0], mode: "edge"} "[3]" => "error mode must be constant, reflect or symmetric";
        {} "[2]; i32 [1, 3]" => "error paddings must hold pairs, got [1, 3]";
    }
}
