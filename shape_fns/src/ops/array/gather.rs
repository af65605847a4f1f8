//! `gather(params, indices, axis)`: selects slices of `params` along an axis.

use super::propagate::{element_at, propagate_elements};
use crate::error::bail;
use crate::{Dim, Guard, InferenceContext, Result, ShapeError, TensorShape, normalize_axis};

/// `params[a.., d, b..], indices[i..] -> [a.., i.., b..]`, where `d` is the dimension at `axis`.
///
/// The first `batch_dims` axes of both operands are unified and iterate together. The op itself checks its indices when
/// it runs. If `axis` is unknown, only the rank of the output is known. Sets the derived parameters `axis` and
/// `batch_dims`, counted from the front.
///
/// # Errors
/// `params` is a scalar, `axis` or `batch_dims` is outside the rank, `axis` is less than `batch_dims`, batch
/// dimensions provably differ, or a known index is out of bounds.
pub fn gather(cx: &mut InferenceContext<'_>) -> Result<()> {
    let params = cx.with_rank_at_least(0, 1)?;
    let indices = cx.input(1).clone();
    let batch = match cx.int_or("batch_dims", 0)? {
        0 => 0,
        batch => {
            let Some(rank) = indices.rank() else { return Ok(()) };
            let from_front = match batch < 0 {
                true => normalize_axis(batch, rank).ok(),
                false => usize::try_from(batch).ok().filter(|batch| *batch <= rank),
            };
            match from_front {
                Some(batch) => batch,
                None => bail!("batch_dims must be in [-{rank}, {rank}], got {batch}"),
            }
        }
    };
    cx.param_scalar("axis")?;
    let (Some(dims), Some(index_dims)) = (params.dims(), indices.dims()) else { return Ok(()) };
    if batch >= dims.len() {
        bail!("batch_dims must be less than the rank of params, got {batch} for {params}");
    }
    let given = cx.attr("axis").is_some() || cx.operand("axis").is_some();
    let axis = if given { cx.param_axis("axis", dims.len())? } else { Some(batch) };
    let Some(axis) = axis else {
        let output = cx.unknown_shape_of_rank(dims.len() + index_dims.len() - 1 - batch);
        cx.set_output(0, output);
        return Ok(());
    };
    if axis < batch {
        bail!("axis must be at least batch_dims, got {axis} and {batch}");
    }
    let mut output = Vec::with_capacity(dims.len() + index_dims.len());
    for (position, (a, b)) in dims.iter().zip(index_dims).take(batch).enumerate() {
        output.push(cx.merge(a, b).map_err(|_| {
            ShapeError::new(format_args!("batch dimensions must agree, got {a} and {b} at axis {position}"))
                .operand(1)
        })?);
    }
    output.extend(dims.iter().take(axis).skip(batch).cloned());
    output.extend(index_dims.iter().skip(batch).cloned());
    output.extend(dims.iter().skip(axis + 1).cloned());
    // TensorFlow reads no index if the result has no elements.
    if !dims.iter().enumerate().any(|(other, dim)| other != axis && *dim == 0) {
        check_known(cx, &dims[axis], axis)?;
    }
    cx.set_derived("axis", [Dim::known(axis as i64)]);
    cx.set_derived("batch_dims", [Dim::known(batch as i64)]);
    cx.set_output(0, TensorShape::from(output));
    if batch == 0
        && let (Some(values), Some(picks)) = (cx.input_value(0).cloned(), cx.input_value(1).cloned())
    {
        propagate_elements(cx, 0, |index| {
            let end = axis.checked_add(picks.rank())?;
            let (before, pick, after) = (index.get(..axis)?, index.get(axis..end)?, index.get(end..)?);
            let pick = usize::try_from(element_at(&picks, pick.iter().copied())?.as_known()?).ok()?;
            element_at(&values, before.iter().copied().chain([pick]).chain(after.iter().copied()))
        });
    }
    Ok(())
}

/// Refuses known indices that are out of bounds. Unknown dimensions get no requirement: the op checks its indices
/// itself.
fn check_known(cx: &mut InferenceContext<'_>, dim: &Dim, axis: usize) -> Result<()> {
    let Some(indices) = cx.input_value(1) else { return Ok(()) };
    for (position, index) in indices.elements().iter().enumerate() {
        let Some(index) = index.as_known() else { continue };
        let is_less = Guard::Ge(dim.clone(), Dim::known(index.saturating_add(1))).decide();
        if index < 0 || is_less == Some(false) {
            return Err(cx.blame(
                1,
                format_args!(
                    "must be in [0, {dim}), the range of axis {axis}, got {index} at position {position}"
                ),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::gather;
    use crate::testing::shape_table;

    shape_table! { shapes: gather, ["params", "indices", "axis"];
        {axis: 0} "[n, 3]; i32 [?, 2]" => "[d1_0, 2, 3]";
        {axis: -1} "[n, 3]; i32 []" => "[n]";
        {axis: 0} "[0, 0]; i32 [1] = [7]" => "[1, 0]";
        {axis: 0} "[0, 3]; i32 [1] = [0]" => "error must be in [0, 0)";
        {axis: 1, batch_dims: 1} "[b, n, 3]; i32 [?, k]" => "[b, k, 3]";
        {axis: 2, batch_dims: -1} "[b, n, 3]; i32 [2, k]" => "[2, n, k]";
        {axis: 2, batch_dims: -3} "[b, n, 3]; i32 [2, k]" => "error batch_dims must be in [-2, 2], got -3";
        {} "[n, 3]; i32 [k]" => "[k, 3]";
        {} "[n, 3]; i32 [k]; i32 []" => "[?, ?]";
        {} "[n, 3]; i32 [k]; [] = 1" => "[n, k]";
        {axis: 0} "?; i32 [k]" => "?";
        {axis: 0} "i32 [3] = [a, ?, 5]; [2] = [2, 0]" => "[2] = [5, a]";
        {axis: 0} "i32 [3] = [a, ?, 5]; [] = 1" => "[] = v0_1";
        {axis: 0} "i32 [2, 2] = [a, b, 3, 4]; [] = 1" => "[2] = [3, 4]";
        {axis: 1} "i32 [2, 2] = [a, b, 3, 4]; [2] = [1, ?]" => "[2, 2] = [b, ?, 4, ?]";
        {axis: 0} "i32 [3] = [a, ?, 5]; [2] = [?, 0]" => "[2] = [?, a]";
        {axis: 0} "[]; i32 [k]" => "error params must have rank at least 1";
        {axis: 2} "[2, 3]; i32 [k]" => "error axis must be in [-2, 2), got 2";
        {axis: 0, batch_dims: 1} "[2, 3]; i32 [2]" => "error axis must be at least batch_dims, got 0 and 1";
        {axis: 1, batch_dims: 1} "[2, 3]; i32 [3]" => "error batch dimensions must agree, got 2 and 3 at axis 0";
        {axis: 0} "[3]; [2] = [0, 3]" => "error indices must be in [0, 3), the range of axis 0, got 3 at position 1";
        {axis: 0} "[3]; [1] = [-1]" => "error indices must be in [0, 3), the range of axis 0, got -1 at position 0";
    }
}
