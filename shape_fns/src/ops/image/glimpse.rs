//! `extract_glimpse(input, size, offsets)`: extracts one window from each image.

use super::resize::height_and_width;
use crate::common::require_last_dim;
use crate::{InferenceContext, Result, TensorShape};

/// `input[n, h, w, c], size=[height, width], offsets[n, 2] -> [n, height, width, c]`.
///
/// # Errors
/// An operand has the wrong rank, the batch sizes provably differ, the offsets are provably not pairs, or `size` does
/// not hold two sizes.
pub fn extract_glimpse(cx: &mut InferenceContext<'_>) -> Result<()> {
    let [batch, _, _, channels] = cx.axes::<4>(0)?;
    // The offsets are the operand after `size`, or after the input if `size` is an attribute.
    let offsets = cx.operand("offsets").unwrap_or(2);
    let [count, coordinates] = cx.axes::<2>(offsets)?;
    let batch = cx.agree("the batch sizes of input and offsets", &batch, &count)?;
    require_last_dim(cx, offsets, &coordinates, 2)?;
    let [height, width] = height_and_width(cx, "size")?;
    cx.set_output(0, TensorShape::new([batch, height, width, channels]));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::extract_glimpse;
    use crate::testing::shape_table;

    shape_table! { shapes: extract_glimpse, ["input", "size", "offsets"];
        {} "[?, h, w, c]; [2] = [20, k]; [n, 2]" => "[n, 20, k, c]";
        {} "[?, h, w, c]; i32 [2]; [n, ?]" => "[n, ?, ?, c]";
        {} "[2, h, w, c]; i32 [2]; [3, 2]" => "error the batch sizes of input and offsets must agree, got 2 and 3";
        {} "[2, h, w, c]; i32 [2]; [2, 3]" => "error offsets must have size 2 at the last axis, got 3 in [2, 3]";
    }
}
