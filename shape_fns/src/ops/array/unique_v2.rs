//! `unique(x, axis)`: the distinct slices along an axis.

use super::unique::{count_distinct, unique};
use crate::{InferenceContext, List, Result, TensorShape};

/// `x[.., n, ..], axis -> y[.., u, ..], idx[n]`, where `u` depends on the data. The vector `axis` has one element, or
/// none if `x` is a vector.
///
/// # Errors
/// `axis` is not a vector of at most one element, it is outside the rank, or it is empty and `x` is not a vector.
pub fn unique_v2(cx: &mut InferenceContext<'_>) -> Result<()> {
    distinct_slices(cx)
}

/// Like [`unique_v2`], with a third output `count[u]`: the number of occurrences of each slice.
///
/// # Errors
/// Same as [`unique_v2`].
pub fn unique_with_counts_v2(cx: &mut InferenceContext<'_>) -> Result<()> {
    distinct_slices(cx)?;
    let counted = cx.output(2).clone();
    if counted.rank().is_none() {
        let counts = cx.unknown_shape_of_rank(1);
        cx.set_output(2, counts);
    }
    Ok(())
}

/// Sets the shapes of output 0, the distinct slices, of output 1, which holds for each slice of `x` its position in
/// output 0, and of output 2, the number of occurrences of each distinct slice.
fn distinct_slices(cx: &mut InferenceContext<'_>) -> Result<()> {
    let list = cx.param_vector("axis")?;
    let shape = cx.input(0).clone();
    match list.known_len() {
        Some(0) => {
            unique(cx)?;
            let distinct = cx.output(0).clone();
            cx.set_output(2, distinct);
            return Ok(());
        }
        Some(1) => {}
        Some(count) => {
            return Err(cx.blame_param("axis", format_args!("must have at most one element, got {count}")));
        }
        None => {}
    }
    let known = match &list {
        List::Elements(elements) => elements.first().and_then(|axis| axis.as_known()),
        _ => None,
    };
    let (Some(axis), Some(dims)) = (known, shape.dims()) else {
        let indices = cx.unknown_shape_of_rank(1);
        if let Some(rank) = shape.rank() {
            let distinct = cx.unknown_shape_of_rank(rank);
            cx.set_output(0, distinct);
        }
        cx.set_output(1, indices);
        return Ok(());
    };
    let axis = cx.axis_of("axis", axis, dims.len())?;
    let mut dims = dims.to_vec();
    let all = dims[axis].clone();
    let distinct = count_distinct(cx, &all);
    dims[axis] = distinct.clone();
    cx.set_output(0, TensorShape::from(dims));
    cx.set_output(1, TensorShape::new([all]));
    cx.set_output(2, TensorShape::new([distinct]));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{unique_v2, unique_with_counts_v2};
    use crate::testing::shape_table;

    shape_table! { slices: unique_v2, ["x", "axis"];
        {} "[n, 4]; [1] = [0]" => "[?, 4]; [n]";
        {} "[n, 1]; [1] = [-1]" => "[n, 1]; [1]";
        {} "[n, 4]; i32 [1]" => "[?, ?]; [?]";
        {} "?; [1] = [0]" => "?; [?]";
        {} "[n, 4]; i32 [?]" => "[?, ?]; [?]";
        {} "[n]; i32 [0]" => "[?]; [n]";
        {} "[n, 4]; i32 [0]" => "error(2 outputs) x must have rank 1";
        {} "[n, 4]; i32 [2]" => "error(2 outputs) axis must have at most one element, got 2";
        {} "[n, 4]; [1] = [2]" => "error(2 outputs) axis must be in [-2, 2), got 2";
    }
    shape_table! { counted: unique_with_counts_v2, ["x", "axis"];
        {} "[n, 1]; [1] = [1]" => "[n, 1]; [1]; [1]";
        {} "[n, 4]; i32 [1]" => "[?, ?]; [?]; [?]";
        {} "[3]; i32 [0]" => "[?]; [3]; [?]";
    }
}
