//! Converts quantized numbers from one range to another.

use super::quantized_unary;
use crate::{InferenceContext, Result, TensorShape};

/// `input[..], input_min[], input_max[], requested_output_min[], requested_output_max[] -> [..], min[], max[]`.
///
/// # Errors
/// A minimum or a maximum of a range is not a scalar.
pub fn requantize(cx: &mut InferenceContext<'_>) -> Result<()> {
    quantized_unary(cx)
}

/// Like [`requantize`], but the range of the input is two vectors with one element per channel.
///
/// # Errors
/// The ends of the input's range are not vectors, their lengths provably differ, or an end of the requested range is
/// not a scalar.
pub fn requantize_per_channel(cx: &mut InferenceContext<'_>) -> Result<()> {
    let ([low], [high]) = (cx.axes::<1>(1)?, cx.axes::<1>(2)?);
    cx.agree("the numbers of minima and maxima", &low, &high)?;
    cx.scalar(3)?;
    cx.scalar(4)?;
    let shape = cx.input(0).clone();
    cx.set_output(0, shape);
    cx.set_output(1, TensorShape::scalar());
    cx.set_output(2, TensorShape::scalar());
    Ok(())
}

/// The least and the greatest number that occur in `input`: `input[..], input_min[], input_max[] -> min[], max[]`.
///
/// # Errors
/// A minimum or a maximum of a range is not a scalar.
pub fn requantization_range(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.scalar(1)?;
    cx.scalar(2)?;
    cx.set_output(0, TensorShape::scalar());
    cx.set_output(1, TensorShape::scalar());
    Ok(())
}

/// Like [`requantization_range`], but the range of the input is two vectors with one element per channel.
///
/// # Errors
/// The ends of the range are not vectors, or their lengths provably differ.
pub fn range_per_channel(cx: &mut InferenceContext<'_>) -> Result<()> {
    let ([low], [high]) = (cx.axes::<1>(1)?, cx.axes::<1>(2)?);
    cx.agree("the numbers of minima and maxima", &low, &high)?;
    cx.set_output(0, TensorShape::scalar());
    cx.set_output(1, TensorShape::scalar());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{range_per_channel, requantization_range, requantize, requantize_per_channel};
    use crate::testing::shape_table;

    shape_table! { per_tensor: requantize, ["input", "input_min", "input_max", "requested_output_min", "requested_output_max"];
        {} "[n, ?]; []; []; ?; ?" => "[n, d0_1]; []; []";
        {} "[n, ?]; []; []; [1]; ?" => "error(3 outputs) requested_output_min must have rank 0";
    }
    shape_table! { per_channel: requantize_per_channel, ["input", "input_min", "input_max", "requested_output_min", "requested_output_max"];
        {} "[n, ?]; [c]; [?]; ?; ?" => "[n, d0_1]; []; []";
        {} "[n, ?]; [2]; [3]; ?; ?" => "error(3 outputs) the numbers of minima and maxima must agree, got 2 and 3";
    }
    shape_table! { per_tensor_ranges: requantization_range, ["input", "input_min", "input_max"];
        {} "?; []; []" => "[]; []";
    }
    shape_table! { per_channel_ranges: range_per_channel, ["input", "input_min", "input_max"];
        {} "?; [n]; ?" => "[]; []";
        {} "?; []; ?" => "error(2 outputs) input_min must have rank 1";
    }
}
