//! `gather_nd(params, indices)`: slices of `params`, each by a vector of positions.

use crate::error::bail;
use crate::{Dim, InferenceContext, PartialElements, Result, TensorShape};

/// `params[p0, …, pn], indices[i.., k] -> [i.., pk, …, pn]`. Positions are checked when the op runs.
///
/// # Errors
/// An operand is a scalar, or the last dimension of `indices` is more than the rank of `params`.
pub fn gather_nd(cx: &mut InferenceContext<'_>) -> Result<()> {
    let params = cx.with_rank_at_least(0, 1)?;
    let Some((leading, [depth])) = cx.last_axes::<1>(1)? else { return Ok(()) };
    let Some(dims) = params.dims() else { return Ok(()) };
    let Some(depth) = depth.as_known() else { return Ok(()) };
    let Some(rest) = usize::try_from(depth).ok().and_then(|depth| dims.get(depth..)) else {
        bail!(
            "the last dimension of indices must be at most the rank of params, got {depth} and {} in {params}",
            dims.len()
        );
    };
    let output = leading.concatenate(&TensorShape::from(rest));
    if let (Some(value), Some(at), 1) = (cx.input_value(0).cloned(), cx.input_value(1).cloned(), dims.len()) {
        take(cx, &value, &at, depth, &output)?;
    }
    cx.set_output(0, output);
    Ok(())
}

/// The elements of a vector at known positions; all others are new integers.
fn take(
    cx: &mut InferenceContext<'_>,
    value: &PartialElements,
    at: &PartialElements,
    depth: i64,
    output: &TensorShape,
) -> Result<()> {
    let (1, Some(sizes)) = (depth, output.as_known()) else { return Ok(()) };
    let pick = |at: &Dim| value.get(usize::try_from(at.as_known()?).ok()?).cloned();
    let mut elements: Vec<Dim> = Vec::with_capacity(at.len());
    for at in at.elements() {
        elements.push(pick(at).unwrap_or_else(|| cx.fresh_integer()));
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
        {} "[]; i32 [m, 0]" => "error params must have rank at least 1";
        {} "[n]; i32 []" => "error indices must have rank at least 1";
    }
}
