//! `extract_glimpse(input, size, offsets)`: a window of every image.

use super::resize::height_and_width;
use crate::{Dim, InferenceContext, Result, TensorShape};

/// `input[n, h, w, c], size=[height, width], offsets[n, 2] -> [n, height, width, c]`.
///
/// # Errors
/// An operand has the wrong rank, batches provably differ, an offset is provably not two numbers, or `size` not two sizes.
pub fn extract_glimpse(cx: &mut InferenceContext<'_>) -> Result<()> {
    let [batch, _, _, channels] = cx.axes::<4>(0)?;
    let [count, numbers] = cx.axes::<2>(2)?;
    let batch = cx.agree("the batches of input and offsets", &batch, &count)?;
    cx.agree("an offset's numbers and 2", &numbers, &Dim::known(2))?;
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
        {} "[2, h, w, c]; i32 [2]; [3, 2]" => "error the batches of input and offsets must agree, got 2 and 3";
        {} "[2, h, w, c]; i32 [2]; [2, 3]" => "error an offset's numbers and 2 must agree, got 3 and 2";
    }
}
