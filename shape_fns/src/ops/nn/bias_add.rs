//! `bias_add(value, bias)`: a number for every channel.

use crate::{Dim, InferenceContext, Result, TensorShape};

/// The axis of the channels of an operand, whose rank is known, and its shape.
fn channel(cx: &mut InferenceContext<'_>) -> Result<(TensorShape, Option<usize>)> {
    let first = cx.str_or("data_format", "NHWC")?.starts_with("NC");
    let shape = cx.with_rank_at_least(0, if first { 3 } else { 2 })?;
    let axis = shape.rank().map(|rank| if first { 1 } else { rank - 1 });
    Ok((shape, axis))
}

/// `value[.., c], bias[c] -> [.., c]`; with `data_format="NCHW"` the channels are axis 1.
///
/// # Errors
/// The rank of `value` is less than 2 (3 where the channels are axis 1), that of `bias` not 1, or the channels provably
/// differ.
pub fn bias_add(cx: &mut InferenceContext<'_>) -> Result<()> {
    let (shape, axis) = channel(cx)?;
    let [bias] = cx.axes::<1>(1)?;
    let Some(axis) = axis else { return Ok(()) };
    let mut dims: Vec<Dim> = shape.dims().unwrap_or_default().to_vec();
    dims[axis] = cx.agree("the channels of value and bias", &dims[axis], &bias)?;
    cx.set_output(0, TensorShape::from(dims));
    Ok(())
}

/// `[.., c] -> [c]`: the gradient of the bias.
///
/// # Errors
/// Same as [`bias_add`] of the first operand.
pub fn bias_add_grad(cx: &mut InferenceContext<'_>) -> Result<()> {
    let (shape, axis) = channel(cx)?;
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
        {} "[n, 4]; [3]" => "error the channels of value and bias must agree, got 4 and 3";
        {} "[n]; [3]" => "error value must have rank at least 2";
        {} "[n, 3]; [1, 3]" => "error bias must have rank 1";
    }
    shape_table! { gradients: bias_add_grad, ["out_backprop"];
        {} "[n, 4, c]" => "[c]";
        {data_format: "NCHW"} "[n, c, 4, 4]" => "[c]";
        {} "?" => "[?]";
    }
}
