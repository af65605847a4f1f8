//! `parallel_concat`: writes rows into one tensor as they become available.

use crate::error::bail;
use crate::{Dim, InferenceContext, Result, TensorShape, counted};

/// `n` values `[1, a..] -> [n, a..]`. Attribute `shape` is the shape of the output.
///
/// # Errors
/// The first dimension of a value provably differs from 1, or `shape` provably differs from the shape of the values.
pub fn parallel_concat(cx: &mut InferenceContext<'_>) -> Result<()> {
    let shape = cx.shape("shape")?.clone();
    let mut rest = cx.table().import(&shape.slice(1..));
    for index in 0..cx.len() {
        let value = cx.with_rank_at_least(index, 1)?;
        if let Some(first) = value.dim(0) {
            cx.merge(first, &Dim::known(1))
                .map_err(|_| cx.blame(index, format_args!("must have size 1 along axis 0, got {value}")))?;
        }
        rest = cx.merge_shapes(&rest, &value.slice(1..)).map_err(|error| error.operand(index))?;
    }
    let count = Dim::known(i64::try_from(cx.len()).unwrap_or(i64::MAX));
    if let Some(rows) = shape.dims().map(<[Dim]>::first) {
        let Some(rows) = rows else { bail!("shape must have rank at least 1, got {shape}") };
        if rows.same(&count) == Some(false) {
            bail!(
                "shape must have one row for each of {count}, got {shape}",
                count = counted(count, "value")
            );
        }
    }
    cx.set_output(0, TensorShape::new([count]).concatenate(&rest));
    Ok(())
}

/// Outputs the shape in attribute `shape`.
///
/// # Errors
/// The attribute is absent.
pub fn parallel_concat_start(cx: &mut InferenceContext<'_>) -> Result<()> {
    let shape = cx.shape("shape")?.clone();
    let shape = cx.table().import(&shape);
    cx.set_output(0, shape);
    Ok(())
}

/// `value[n, a..], update[1, a..] -> [n, a..]`.
///
/// # Errors
/// Never fails.
pub fn parallel_concat_update(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.set_output(0, cx.input(0).clone());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{parallel_concat, parallel_concat_start, parallel_concat_update};
    use crate::shape;
    use crate::testing::shape_table;

    shape_table! { rows: parallel_concat, ["values.."];
        {shape: shape![2, 3]} "[1, ?]; [?, 3]" => "[2, 3]";
        {shape: shape![2, ?]} "[1, n]; [1, n]" => "[2, n]";
        {shape: shape![2, 3]} "[1, 3]; [2, 3]" => "error operand 1 must have size 1 along axis 0, got [2, 3]";
        {shape: shape![3, 3]} "[1, 3]; [1, 3]" => "error shape must have one row for each of 2 values, got [3, 3]";
        {shape: shape![2, 3]} "[1, 3]; [1, 4]" => "error shapes must agree, got 3 and 4 at axis 0";
    }
    shape_table! { started: parallel_concat_start, [];
        {shape: shape![1, 2, "n"]} "" => "[1, 2, n]";
    }
    shape_table! { updated: parallel_concat_update, ["value", "update"];
        {} "[n, 3]; [1, 3]" => "[n, 3]";
    }
}
