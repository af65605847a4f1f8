//! `unique(x)` and `unique_with_counts(x)`: the distinct elements of a vector, in the order of their first occurrence.

use crate::{Dim, InferenceContext, Result, TensorShape};

/// `x[n] -> y[u], idx[n]`, where `u` depends on the data.
///
/// # Errors
/// `x` is not a vector.
pub fn unique(cx: &mut InferenceContext<'_>) -> Result<()> {
    distinct(cx).map(drop)
}

/// `x[n] -> y[u], idx[n], count[u]`, where `u` depends on the data.
///
/// # Errors
/// `x` is not a vector.
pub fn unique_with_counts(cx: &mut InferenceContext<'_>) -> Result<()> {
    let count = distinct(cx)?;
    cx.set_output(2, TensorShape::new([count]));
    Ok(())
}

/// Sets the shapes of output 0, the distinct elements, and of output 1, which holds the position in output 0 of each
/// element of `x`. Returns the number of distinct elements.
fn distinct(cx: &mut InferenceContext<'_>) -> Result<Dim> {
    let shape = cx.with_rank(0, 1)?;
    let [size] = cx.axes::<1>(0)?;
    let count = count_distinct(cx, &size);
    cx.set_output(0, TensorShape::new([count.clone()]));
    cx.set_output(1, shape);
    Ok(count)
}

/// Returns the number of distinct elements among `total`: `total` itself if it is 0 or 1, otherwise a fresh dimension.
pub(super) fn count_distinct(cx: &mut InferenceContext<'_>, total: &Dim) -> Dim {
    match total.as_known() {
        Some(0 | 1) => total.clone(),
        _ => cx.fresh(),
    }
}

#[cfg(test)]
mod tests {
    use super::{unique, unique_with_counts};
    use crate::testing::shape_table;

    shape_table! { plain: unique, ["x"];
        {} "[n]" => "[?]; [n]";
        {} "?" => "[?]; [?]";
        {} "[1]" => "[1]; [1]";
        {} "[2, 2]" => "error(2 outputs) x must have rank 1, got rank 2 in [2, 2]";
    }
    shape_table! { counted: unique_with_counts, ["x"];
        {} "[?]" => "[?]; [d0_0]; [?]";
        {} "[0]" => "[0]; [0]; [0]";
    }
}
