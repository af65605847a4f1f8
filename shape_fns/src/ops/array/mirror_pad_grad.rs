//! `mirror_pad_grad(input, paddings)`: the gradient of mirrored padding; it drops the padding.

use crate::common::require_last_dim;
use crate::error::bail;
use crate::{Dim, Guard, InferenceContext, Param, PartialElements, Result, ShapeError, TensorShape, counted};

/// `[d0, …], paddings=[[b0, a0], …] -> [d0-b0-a0, …]`.
///
/// # Errors
/// `mode` is neither `REFLECT` nor `SYMMETRIC`, the shape of `paddings` is not `[rank, 2]`, a padding is negative, or
/// the paddings are provably too long for the axis.
pub fn mirror_pad_grad(cx: &mut InferenceContext<'_>) -> Result<()> {
    let mode = cx.str_or("mode", "REFLECT")?;
    // The number of elements at an edge that the padding does not repeat.
    let excluded = match mode {
        "REFLECT" => 1,
        "SYMMETRIC" => 0,
        _ => bail!("mode must be REFLECT or SYMMETRIC, got {mode:?}"),
    };
    let rows = match cx.operand("paddings") {
        Some(index) => {
            let [rows, columns] = cx.axes::<2>(index)?;
            require_last_dim(cx, index, &columns, 2)?;
            rows
        }
        None => match cx.param_list("paddings")?.known_len() {
            Some(count) if count % 2 == 0 => Dim::known(count as i64 / 2),
            Some(count) => bail!("paddings must hold pairs, got {count}", count = counted(count, "element")),
            None => bail!("paddings must hold pairs, got an unknown number of elements"),
        },
    };
    let count = rows.as_known().and_then(|rows| usize::try_from(rows).ok());
    let Some(rank) = cx.input(0).rank().or(count.filter(|rows| *rows <= PartialElements::MAX)) else {
        return Ok(());
    };
    let Ok(rank_dim) = i64::try_from(rank) else { bail!("input has too many axes, got {rank}") };
    cx.agree("the number of rows of paddings and the rank of input", &rows, &Dim::known(rank_dim))?;
    let input = cx.with_rank(0, rank)?;
    let elements = match cx.param("paddings")? {
        Param::Known(value) | Param::Partial(value) if value.len() == 2 * rank => Some(value),
        _ => None,
    };
    let mut dims = Vec::with_capacity(rank);
    for (axis, dim) in input.dims().unwrap_or_default().iter().enumerate() {
        let sides = elements.as_ref().and_then(|value| value.elements().get(2 * axis..2 * axis + 2));
        let Some(sides) = sides else {
            dims.push(cx.fresh());
            continue;
        };
        let mut rest = dim.clone();
        for side in sides {
            cx.require_not_negative("paddings", side)?;
            rest = cx.sub(&rest, side)?;
        }
        cx.require(Guard::Ge(rest.clone(), Dim::known(0))).map_err(|_| {
            ShapeError::new(format_args!(
                "paddings must not exceed the size of the axis, got {} and {} for size {dim} at axis {axis}",
                sides[0], sides[1]
            ))
            .operand(1)
        })?;
        // One side of the padding mirrors at most every element of the unpadded axis, or every element but one.
        for side in sides {
            let least = cx.add(side, &Dim::known(excluded))?;
            cx.require(Guard::Ge(rest.clone(), least)).map_err(|_| {
                let limit = if excluded == 1 { "less than" } else { "at most" };
                ShapeError::new(format_args!(
                    "{mode} padding must be {limit} the unpadded size {rest} of axis {axis}, got {side}"
                ))
            })?;
        }
        dims.push(rest);
    }
    cx.set_output(0, TensorShape::from(dims));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::mirror_pad_grad;
    use crate::testing::shape_table;

    shape_table! { shapes: mirror_pad_grad, ["input", "paddings"];
        {} "[9, ?]; [2, 2] = [1, 2, 0, 0]" => "[6, d0_1]";
        {} "[n]; [1, 2] = [k, 1]" => "[n-k-1] if n-k-1 >= 0, n-k-1 >= k+1, n-k-1 >= 2";
        {} "[n, 4]; i32 [?, 2]" => "[?, ?]";
        {mode: "SYMMETRIC"} "[4]; [1, 2] = [2, 1]" => "error SYMMETRIC padding must be at most the unpadded size 1";
        {mode: "SYMMETRIC"} "[5]; [1, 2] = [2, 1]" => "[2]";
        {mode: "EDGE"} "[5]; [1, 2] = [2, 1]" => "error mode must be REFLECT or SYMMETRIC";
        {} "?; i32 [3, 2]" => "[?, ?, ?]";
        {} "?; i32 [?, 2]" => "?";
        {} "[2, 3]; i32 [3, 2]" => "error the number of rows of paddings and the rank of input must agree, got 3 and 2";
        {} "[2, 3]; i32 [2, 3]" => "error paddings must have size 2 at the last axis, got 3 in [2, 3]";
        {} "[2]; [1, 2] = [2, 1]" => "error paddings must not exceed the size of the axis, got 2 and 1 for size 2 at axis 0";
        {} "[2]; [1, 2] = [-1, 1]" => "error paddings must not be negative, got -1";
    }
}
