//! `lrn(input)`: local response normalization, and its gradient.

use crate::{InferenceContext, Result};

/// Keeps the shape of the operand, which must have rank 4.
///
/// # Errors
/// The rank is not 4.
pub fn lrn(cx: &mut InferenceContext<'_>) -> Result<()> {
    let shape = cx.with_rank(0, 4)?;
    cx.set_output(0, shape);
    Ok(())
}

/// Unifies the shapes of all operands, which must have rank 4.
///
/// # Errors
/// A rank is not 4, or shapes provably differ.
pub fn lrn_grad(cx: &mut InferenceContext<'_>) -> Result<()> {
    let mut shape = cx.with_rank(0, 4)?;
    for index in 1..cx.len() {
        let other = cx.input(index).clone();
        shape = cx.merge_shapes(&shape, &other).map_err(|error| error.operand(index))?;
    }
    cx.set_output(0, shape);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{lrn, lrn_grad};
    use crate::testing::shape_table;

    shape_table! { shapes: lrn, ["input"];
        {} "[n, ?, 3, 4]" => "[n, d0_1, 3, 4]";
        {} "?" => "[?, ?, ?, ?]";
        {} "[n, 3]" => "error input must have rank 4";
    }
    shape_table! { gradients: lrn_grad, ["input_grads", "input_image", "output_image"];
        {} "[1, ?, ?, 4]; [?, 2, ?, ?]; [?, ?, 3, ?]" => "[1, 2, 3, 4]";
        {} "?; [1, 2]; ?" => "error shapes must have the same rank";
    }
}
