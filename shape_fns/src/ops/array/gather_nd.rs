//! `gather_nd(params, indices)`: selects slices of `params`; each row of `indices` is one multi-dimensional index.

use crate::error::bail;
use crate::{Dim, InferenceContext, PartialElements, Result, ShapeError, TensorShape};

/// `params[p0, …, pn], indices[i.., k] -> [i.., pk, …, pn]`.
///
/// The first `batch_dims` axes of both operands are unified and iterate together. The op itself checks its indices
/// when it runs. Sets the derived parameter `batch_dims`.
///
/// # Errors
/// An operand is a scalar, `batch_dims` is negative or outside a rank, batch dimensions provably differ, or the last
/// dimension of `indices` exceeds the number of axes of `params` after the batch.
pub fn gather_nd(cx: &mut InferenceContext<'_>) -> Result<()> {
    let given = cx.int_or("batch_dims", 0)?;
    let Ok(batch) = usize::try_from(given) else {
        bail!("batch_dims must not be negative, got {given}");
    };
    let params = cx.with_rank_at_least(0, batch.saturating_add(1))?;
    let Some((leading, [depth])) = cx.last_axes::<1>(1)? else { return Ok(()) };
    let (Some(dims), Some(leading_dims)) = (params.dims(), leading.dims()) else { return Ok(()) };
    if batch > leading_dims.len() {
        bail!("batch_dims must be less than the rank of indices, got {batch} for {}", cx.input(1));
    }
    let mut output = leading_dims.to_vec();
    for (axis, (a, b)) in dims.iter().zip(leading_dims).take(batch).enumerate() {
        output[axis] = cx.merge(a, b).map_err(|_| {
            ShapeError::new(format_args!("batch dimensions must agree, got {a} and {b} at axis {axis}"))
                .operand(1)
        })?;
    }
    let Some(depth) = depth.as_known() else { return Ok(()) };
    let after = usize::try_from(depth).ok().and_then(|depth| depth.checked_add(batch));
    let Some(rest) = after.and_then(|after| dims.get(after..)) else {
        bail!(
            "the last dimension of indices must be at most the rank of params{}, got {depth} and {} in {params}",
            if batch > 0 { " after the batch axes" } else { "" },
            dims.len() - batch
        );
    };
    output.extend_from_slice(rest);
    let output = TensorShape::from(output);
    if let (Some(value), Some(indices), 1) =
        (cx.input_value(0).cloned(), cx.input_value(1).cloned(), dims.len())
    {
        propagate_gathered(cx, &value, &indices, depth, &output)?;
    }
    cx.set_derived("batch_dims", [Dim::known(given)]);
    cx.set_output(0, output);
    Ok(())
}

/// Sets the output's elements to the elements of vector `value` at `indices`. An index that is unknown or out of
/// bounds gives a fresh integer.
fn propagate_gathered(
    cx: &mut InferenceContext<'_>,
    value: &PartialElements,
    indices: &PartialElements,
    depth: i64,
    output: &TensorShape,
) -> Result<()> {
    let (1, Some(sizes)) = (depth, output.as_known()) else { return Ok(()) };
    let element = |index: &Dim| value.get(usize::try_from(index.as_known()?).ok()?).cloned();
    let mut elements: Vec<Dim> = Vec::with_capacity(indices.len());
    for index in indices.elements() {
        elements.push(element(index).unwrap_or_else(|| cx.fresh_integer()));
    }
    cx.set_output_value(0, PartialElements::with_sizes(&sizes, elements)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::gather_nd;
    use crate::testing::shape_table;

    shape_table! { slices: gather_nd, ["params", "indices"];
        {} "[n, 4, ?]; i32 [m, 2]" => "[m, d0_2]";
        {} "[n, 4]; i32 [m, 0]" => "[m, n, 4]";
        {} "[n, 4]; i32 [2]" => "[]";
        {} "[n, 4]; i32 [m, ?]" => "?";
        {} "?; i32 [m, 2]" => "?";
        {} "i32 [3] = [a, 5, ?]; [2, 1] = [1, 0]" => "[2] = [5, a]";
        {} "[n, 4]; i32 [m, 3]" => "error the last dimension of indices must be at most the rank of params, got 3 and 2 in [n, 4]";
        {batch_dims: 1} "[b, n, 3]; i32 [?, k, 1]" => "[b, k, 3]";
        {batch_dims: 1} "[2, n]; i32 [3, 1]" => "error batch dimensions must agree, got 2 and 3 at axis 0";
        {batch_dims: 1} "[2, n]; i32 [1]" => "error batch_dims must be less than the rank of indices, got 1 for [1]";
        {batch_dims: 1} "[2, n]; i32 [2, 2]" => "error the last dimension of indices must be at most the rank of params after the batch axes, got 2 and 1 in [2, n]";
        {batch_dims: -1} "[2, n]; i32 [2, 2]" => "error batch_dims must not be negative, got -1";
        {} "[]; i32 [m, 0]" => "error params must have rank at least 1";
        {} "[n]; i32 []" => "error indices must have rank at least 1";
    }
}
