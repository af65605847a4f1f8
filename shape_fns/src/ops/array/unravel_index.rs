//! `unravel_index(indices, dims)`: converts flat row-major indices to multi-dimensional indices.

use crate::{InferenceContext, Result, TensorShape};

/// `indices[], dims[r] -> [r]` and `indices[i..], dims[r] -> [r, k]`, where `k` is the number of indices.
///
/// # Errors
/// `dims` is not a vector.
pub fn unravel_index(cx: &mut InferenceContext<'_>) -> Result<()> {
    let [rank] = cx.axes::<1>(1)?;
    let indices = cx.input(0).clone();
    let output = match indices.rank() {
        None => return Ok(()),
        Some(0) => TensorShape::new([rank]),
        Some(_) => {
            let count = indices.num_elements().unwrap_or_else(|| cx.fresh());
            TensorShape::new([rank, count])
        }
    };
    cx.set_output(0, output);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::unravel_index;
    use crate::testing::shape_table;

    shape_table! { shapes: unravel_index, ["indices", "dims"];
        {} "i32 []; i32 [?]" => "[d1_0]";
        {} "i32 [n, 3]; i32 [r]" => "[r, 3*n]";
        {} "?; i32 [2]" => "?";
        {} "i32 [2]; i32 [2, 2]" => "error dims must have rank 1";
    }
}
