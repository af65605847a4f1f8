//! `bias_add(value, bias)`: adds one number per channel.

use crate::{Dim, InferenceContext, Result, TensorShape};

/// Returns the shape of operand 0 and its channel axis, or `None` for the axis if the operand is unranked.
fn shape_and_channel_axis(cx: &mut InferenceContext<'_>) -> Result<(TensorShape, Option<usize>)> {
    let channels_first = cx.str_or("data_format", "NHWC")?.starts_with("NC");
    let shape = cx.with_rank_at_least(0, if channels_first { 3 } else { 2 })?;
    let axis = shape.rank().map(|rank| if channels_first { 1 } else { rank - 1 });
    Ok((shape, axis))
}

/// `value[.., c], bias[c] -> [.., c]`. With `data_format="NCHW"` the channels are axis 1.
///
/// # Errors
/// The rank of `value` is less than 2 (3 if the channels are axis 1), the rank of `bias` is not 1, or the numbers of
/// channels provably differ.
pub fn bias_add(cx: &mut InferenceContext<'_>) -> Result<()> {
    let (shape, axis) = shape_and_channel_axis(cx)?;
    let [bias] = cx.axes::<1>(1)?;
    let Some(axis) = axis else { return Ok(()) };
    let mut dims: Vec<Dim> = shape.dims().unwrap_or_default().to_vec();
    dims[axis] = cx.agree("the numbers of channels of value and bias", &dims[axis], &bias)?;
    cx.set_output(0, TensorShape::from(dims));
    Ok(())
}

/// The gradient of the bias: `[.., c] -> [c]`.
///
/// # Errors
/// The rank is less than 2 (3 if the channels are axis 1).
pub fn bias_add_grad(cx: &mut InferenceContext<'_>) -> Result<()> {
    let (shape, axis) = shape_and_channel_axis(cx)?;
    let channels = match (shape.dims(), axis) {
        (Some(dims), Some(axis)) => dims[axis].clone(),
        _ => cx.fresh(),
    };
    cx.set_output(0, TensorShape::new([channels]));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{bias_add, bias_add_grad};
    use crate::testing::shape_table;

    shape_table! { shapes: bias_add, ["value", "bias"];
        {} "[n, ?]; [?]" => "[n, d0_1]";
        {} "[n, 4, ?]; [3]" => "[n, 4, 3]";
        {data_format: "NCHW"} "[n, c, 4, 4]; [3]" => "[n, 3, 4, 4]";
        {} "?; [3]" => "?";
        {} "[n, 4]; [3]" => "error the numbers of channels of value and bias must agree, got 4 and 3";
        {} "[n]; [3]" => "error value must have rank at least 2";
        {} "[n, 3]; [1, 3]" => "error bias must have rank 1";
    }
    shape_table! { gradients: bias_add_grad, ["out_backprop"];
        {} "[n, 4, c]" => "[c]";
        {data_format: "NCHW"} "[n, c, 4, 4]" => "[c]";
        {} "?" => "[?]";
    }
}
