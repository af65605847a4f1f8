//! `list_diff(x, y)`: the elements of `x` that are not in `y`, and where they stand.

use crate::{Dim, InferenceContext, Result, TensorShape};

/// `x[n], y[m] -> [k], [k]`, where the data decide `k`; none of none.
///
/// # Errors
/// An operand is no vector.
pub fn list_diff(cx: &mut InferenceContext<'_>) -> Result<()> {
    let ([from], [without]) = (cx.axes::<1>(0)?, cx.axes::<1>(1)?);
    let left = match (from.as_known(), without.as_known()) {
        (Some(0), _) => Dim::known(0),
        (_, Some(0)) => from,
        _ => cx.fresh(),
    };
    cx.set_output(0, TensorShape::new([left.clone()]));
    cx.set_output(1, TensorShape::new([left]));
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
        {} "[n, 2]; [m]" => "error(2) x must have rank 1";
    }
}
