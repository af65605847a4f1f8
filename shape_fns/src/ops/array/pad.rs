//! `pad(x, paddings, mode)`: `x` with elements before and after along every axis.

use super::follow::{at, follow};
use crate::error::bail;
use crate::{Dim, Guard, InferenceContext, Param, PartialElements, Result, ShapeError, TensorShape};

/// `[d0, …], paddings=[[b0, a0], …] -> [b0+d0+a0, …]`; `paddings` is read row by row. Mode `reflect` allows at most
/// `d-1` elements a side, so it wants every axis not to be empty; `symmetric` allows at most `d`. Sets `before`, an entry an axis.
///
/// # Errors
/// `paddings` has not two entries an axis, one is negative, or mirrors provably more than there is.
pub fn pad(cx: &mut InferenceContext<'_>) -> Result<()> {
    let mode = cx.str_or("mode", "constant")?;
    let mirrored = match mode.to_ascii_lowercase().as_str() {
        "constant" => None,
        "reflect" => Some(1),
        "symmetric" => Some(0),
        _ => bail!("mode must be constant, reflect or symmetric, got {mode:?}"),
    };
    let input = cx.input(0).clone();
    let (elements, rank) = match cx.param("paddings")? {
        Param::Known(value) | Param::Partial(value) => {
            if value.len() % 2 != 0 || value.rank() > 2 || (value.rank() == 2 && value.sizes()[1] != 2) {
                return Err(
                    cx.blame_param("paddings", format_args!("must be pairs, got sizes {:?}", value.sizes()))
                );
            }
            let rank = value.len() / 2;
            (Some(value), Some(rank))
        }
        _ => (None, unknown_rank(cx)?),
    };
    if let (Some(own), Some(rank)) = (input.rank(), rank)
        && own != rank
    {
        let error =
            cx.blame_param("paddings", format_args!("must have one pair an axis, got {rank} for {input}"));
        let help = rank < own;
        return Err(error.with_help_if(help.then_some("0, 0 is the pair of an axis that stays as it is")));
    }
    let Some(rank) = input.rank().or(rank) else { return Ok(()) };
    let input = cx.with_rank(0, rank)?;
    let (mut dims, mut befores) = (Vec::with_capacity(rank), Vec::with_capacity(rank));
    for (axis, dim) in input.dims().unwrap_or_default().iter().enumerate() {
        let Some(elements) = &elements else {
            dims.push(cx.fresh());
            befores.push(cx.fresh_integer());
            continue;
        };
        let sides =
            [2 * axis, 2 * axis + 1].map(|position| elements.get(position).cloned().unwrap_or(Dim::known(0)));
        let mut padded = dim.clone();
        for side in &sides {
            cx.require_not_negative("paddings", side)?;
            if let Some(less) = mirrored {
                let most = cx.add(side, &Dim::known(less))?;
                cx.require(Guard::Ge(dim.clone(), most)).map_err(|_| {
                    ShapeError::new(format_args!(
                        "{mode} padding must be at most {dim}-{less} a side at axis {axis}, got {side}"
                    ))
                })?;
            }
            padded = cx.add(&padded, side)?;
        }
        dims.push(padded);
        let [before, _] = sides;
        befores.push(before);
    }
    cx.set_output(0, TensorShape::from(dims));
    follow_padded(cx, &befores, mirrored);
    cx.set_derived("before", befores);
    Ok(())
}

/// Sets the elements of the output where those of the operand are followed and so many stand before it on every axis.
/// `mirrored` is how many elements the axes are mirrored at.
fn follow_padded(cx: &mut InferenceContext<'_>, befores: &[Dim], mirrored: Option<i64>) {
    let befores: Option<Vec<i64>> = befores.iter().map(Dim::as_known).collect();
    let (Some(befores), Some(value)) = (befores, cx.input_value(0).cloned()) else { return };
    let fill = match cx.operand("constant_values") {
        Some(index) => cx.input_value(index).and_then(|value| value.get(0).cloned()),
        None => Some(Dim::known(0)),
    };
    let source = |position: usize, before: i64, size: usize| -> Option<usize> {
        let (position, size) = (i64::try_from(position).ok()?, i64::try_from(size).ok()?);
        let from = position.checked_sub(before)?;
        let from = match mirrored {
            Some(less) if from < 0 => from.checked_neg()?.checked_sub(1 - less)?,
            Some(less) if from >= size => size.checked_mul(2)?.checked_sub(from)?.checked_sub(1 + less)?,
            _ => from,
        };
        usize::try_from(from).ok().filter(|_| from < size)
    };
    follow(cx, 0, |index| {
        let own = index.iter().zip(&befores).zip(value.sizes());
        match own
            .map(|((position, before), size)| source(*position, *before, *size))
            .collect::<Option<Vec<_>>>()
        {
            Some(index) => at(&value, index),
            None => fill.clone(),
        }
    });
}

/// A number of entries that is known, and not more than are followed.
fn count(dim: &Dim) -> Option<usize> {
    usize::try_from(dim.as_known()?).ok().filter(|count| *count <= PartialElements::MAX)
}

/// The number of pairs of paddings whose elements are not known.
fn unknown_rank(cx: &InferenceContext<'_>) -> Result<Option<usize>> {
    let Some(index) = cx.operand("paddings") else { return Ok(None) };
    let shape = cx.input(index);
    match shape.dims() {
        None => Ok(None),
        Some([pairs, two]) if two.same(&Dim::known(2)) != Some(false) => Ok(count(pairs)),
        Some([elements]) => Ok(count(elements).map(|elements| elements / 2)),
        _ => Err(cx.blame(index, format_args!("must be pairs, got {shape}"))),
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
        {paddings: [0, 0], mode: "reflect"} "[0]" => "error reflect padding must be at most 0-1 a side at axis 0, got 0";
        {paddings: [2, 3], mode: "SYMMETRIC"} "[3]" => "[8]";
        {paddings: [1, 2, 3]} "[2]" => "error paddings must be pairs";
        {paddings: [1, 2]} "[2, 2]" => "error paddings must have one pair an axis, got 1 for [2, 2]";
        {paddings: [-1, 2]} "[2]" => "error paddings must not be negative, got -1";
        {paddings: [3, 0], mode: "reflect"} "[3]" => "error reflect padding must be at most 3-1 a side at axis 0, got 3";
        {paddings: [0, 0], mode: "edge"} "[3]" => "error mode must be constant, reflect or symmetric";
        {} "[2]; i32 [1, 3]" => "error paddings must be pairs, got [1, 3]";
    }
}
