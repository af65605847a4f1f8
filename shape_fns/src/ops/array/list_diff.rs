//! `list_diff(x, y)`: the elements of `x` that are not in `y`, and their indices in `x`.

use crate::{Dim, InferenceContext, Result, TensorShape};

/// `x[n], y[m] -> out[k], idx[k]`, where `k` depends on the data. If `n` is 0, `k` is 0; if `m` is 0, `k` is `n`.
///
/// # Errors
/// An operand is not a vector.
pub fn list_diff(cx: &mut InferenceContext<'_>) -> Result<()> {
    let ([values], [excluded]) = (cx.axes::<1>(0)?, cx.axes::<1>(1)?);
    let kept = match (values.as_known(), excluded.as_known()) {
        (Some(0), _) => Dim::known(0),
        (_, Some(0)) => values,
        _ => cx.fresh(),
    };
    cx.set_output(0, TensorShape::new([kept.clone()]));
    cx.set_output(1, TensorShape::new([kept]));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::list_diff;
    use crate::testing::shape_table;

    shape_table! { shapes: list_diff, ["x", "y"];
        {} "[n]; [m]" => "[?]; [?]";
        {} "[n]; [0]" => "[n]; [n]";
        {} "[0]; [m]" => "[0]; [0]";
        {} "[n, 2]; [m]" => "error(2 outputs) x must have rank 1";
    }
}
