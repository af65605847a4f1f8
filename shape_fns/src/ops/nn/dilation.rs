//! `dilation_2d(input, filter)`: grayscale dilation, the maximum of window plus filter; and its gradients.

use super::layout::Layout;
use super::window::{Window, padding};
use crate::{Dim, InferenceContext, Result, TensorShape};

/// `input[n, h, w, c], filter[kh, kw, c] -> [n, oh, ow, c]`, with attributes `strides`, `rates` and `padding`.
///
/// A window that exceeds the image by less than two strides yields 0 positions, as in TensorFlow's kernel. Sets the
/// derived parameter `before`: the number of elements of padding before the rows and before the columns.
///
/// # Errors
/// An operand has the wrong rank, the channels provably differ, the window provably exceeds the image by two strides or
/// more, or an attribute is out of range.
pub fn dilation_2d(cx: &mut InferenceContext<'_>) -> Result<()> {
    let layout = Layout { spatial: 2, channels_first: false, has_vectors: false };
    let [batch, height, width, input_channels] = cx.axes::<4>(0)?;
    let [rows, columns, channels] = cx.axes::<3>(1)?;
    let (strides, rates) = (layout.entries_of(cx, "strides", false)?, layout.entries_of(cx, "rates", false)?);
    let channels = cx.agree("the numbers of channels of input and filter", &input_channels, &channels)?;
    let (mut positions, mut before) = (Vec::with_capacity(2), Vec::with_capacity(2));
    for (axis, (size, input)) in [(rows, height), (columns, width)].into_iter().enumerate() {
        let axis = axis + 1;
        let stride = Dim::known(strides[axis]);
        let window =
            Window { axis, size: &size, stride: &stride, dilation: rates[axis], padding: padding(cx)? };
        let count = window.position_count_or_zero(cx, &input)?;
        before.push(window.padding_before(cx, &input, &count)?);
        positions.push(count);
    }
    cx.set_derived("before", before);
    cx.set_output(0, layout.shape(batch, positions, channels, None));
    Ok(())
}

/// The gradient of the input, with the shape of the input.
///
/// # Errors
/// Never fails.
pub fn dilation_2d_input(cx: &mut InferenceContext<'_>) -> Result<()> {
    let shape: TensorShape = cx.input(0).clone();
    cx.set_output(0, shape);
    Ok(())
}

/// The gradient of the filter, with the shape of the filter.
///
/// # Errors
/// Never fails.
pub fn dilation_2d_filter(cx: &mut InferenceContext<'_>) -> Result<()> {
    let shape: TensorShape = cx.input(1).clone();
    cx.set_output(0, shape);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{dilation_2d, dilation_2d_filter, dilation_2d_input};
    use crate::testing::shape_table;

    shape_table! { shapes: dilation_2d, ["input", "filter"];
        {strides: [1, 1, 2, 1], rates: [1, 2, 1, 1], padding: "VALID"} "[n, 7, 7, ?]; [2, 3, c]" => "[n, 5, 3, c]";
        {strides: [1, 2, 2, 1], rates: [1, 1, 1, 1], padding: "SAME"} "[n, h, 7, 2]; [2, 3, 2]" => "[n, ceildiv(h, 2), 4, 2]";
        {strides: [1, 1, 1, 1], rates: [1, 1, 1, 1], padding: "VALID"} "[n, 1, 7, 2]; [2, 3, 2]" => "[n, 0, 5, 2]";
        {strides: [1, 1, 1, 1], rates: [1, 1, 1, 1], padding: "SAME"} "[n, h, 7, 2]; [2, 3, 3]" => "error the numbers of channels of input and filter must agree, got 2 and 3";
        {strides: [1, 1, 1, 1], rates: [1, 1], padding: "SAME"} "[n, h, 7, 2]; [2, 3, 2]" => "error rates must have 4 entries, got 2";
    }
    shape_table! { inputs: dilation_2d_input, ["input", "filter", "out_backprop"];
        {} "[n, ?]; ?; ?" => "[n, d0_1]";
    }
    shape_table! { filters: dilation_2d_filter, ["input", "filter", "out_backprop"];
        {} "?; [2, ?]; ?" => "[2, d1_1]";
    }
}
