//! Ops whose output shape is given by the elements of an operand.

use crate::{InferenceContext, Result};

/// Sets the output's sizes to the elements of operand `shape`.
///
/// # Errors
/// `shape` is not a vector, or an element is negative.
pub fn with_shape(cx: &mut InferenceContext<'_>) -> Result<()> {
    let shape = cx.input_as_shape("shape")?;
    cx.set_output(0, shape);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::with_shape;
    use crate::testing::shape_table;

    shape_table! { shapes: with_shape, ["shape"];
        {} "[3] = [n, 2, ?]" => "[n, 2, v0_2] if v0_2 >= 0";
        {} "i32 [2]" => "[?, ?]";
        {} "?" => "?";
        {} "[1] = [-2]" => "error shape must not be negative, got -2";
        {} "i32 [2, 2]" => "error shape must be a vector, got rank 2";
    }
}
