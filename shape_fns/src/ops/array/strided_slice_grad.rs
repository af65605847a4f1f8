//! `strided_slice_grad(shape, begin, end, strides, dy)`: the gradient of a strided slice.
//! `strided_slice_update(input, begin, end, strides, value)`: a tensor with another slice.

use super::strided_slice::{Sliced, sliced};
use crate::{Dim, Guard, InferenceContext, Result, TensorShape};

/// The gradient of [`strided_slice`](super::strided_slice):
/// `shape=[n, 4], begin=[1, 0], end=[n, 2], dy[max(0, n-1), 2] -> [n, 4]`. Sets the derived parameters of the slice.
///
/// # Errors
/// Same as the slice, or the shape of `dy` provably differs from the shape of the slice.
pub fn strided_slice_grad(cx: &mut InferenceContext<'_>) -> Result<()> {
    let shape = cx.input_as_shape("shape")?;
    if let Some(Sliced { output, axes, starts, strides }) = sliced(cx, &shape)? {
        let index = cx.len().saturating_sub(1);
        let (dy, slice) = (cx.input(index).clone(), TensorShape::from(output));
        cx.merge_shapes(&slice, &dy).map_err(|_| {
            cx.blame(index, format_args!("must have the shape of the slice, {slice}, got {dy}"))
        })?;
        cx.set_derived("start", starts);
        cx.set_derived("stride", strides);
        cx.set_derived("axes", axes);
    }
    cx.set_output(0, shape);
    Ok(())
}

/// Replaces the elements of a [slice](super::strided_slice) of `input` by `value`, and keeps the shape of `input`.
/// `value` broadcasts to the shape of the slice; it may have more leading axes of size 1. Sets the derived parameters
/// of the slice, and `sizes`: the sizes of the slice.
///
/// # Errors
/// Same as the slice, or `value` provably does not broadcast to the shape of the slice.
pub fn strided_slice_update(cx: &mut InferenceContext<'_>) -> Result<()> {
    let input = cx.input(0).clone();
    if let Some(Sliced { output, axes, starts, strides }) = sliced(cx, &input)? {
        let index = cx.len().saturating_sub(1);
        let value = cx.input(index).clone();
        let dims = value.dims().unwrap_or_default();
        for (from_end, dim) in dims.iter().rev().enumerate() {
            let to = output.iter().rev().nth(from_end).cloned().unwrap_or(Dim::known(1));
            cx.require(Guard::OneOrEqual(dim.clone(), to)).map_err(|_| {
                let slice = TensorShape::new(output.iter().cloned());
                cx.blame(
                    index,
                    format_args!("must broadcast to the shape of the slice, {slice}, got {value}"),
                )
            })?;
        }
        cx.set_derived("start", starts);
        cx.set_derived("stride", strides);
        cx.set_derived("axes", axes);
        cx.set_derived("sizes", output);
    }
    cx.set_output(0, input);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{strided_slice_grad, strided_slice_update};
    use crate::testing::shape_table;

    shape_table! { gradients: strided_slice_grad, ["shape", "begin", "end", "strides", "dy"];
        {} "[2] = [4, n]; [2] = [1, 0]; [2] = [4, 0]; [2] = [2, 1]; [2, 0]" => "[4, n]";
        {} "[3] = [n, 2, ?]; i32 [?]; i32 [?]; i32 [?]; ?" => "[n, 2, v0_2] if v0_2 >= 0";
        {} "i32 [2]; i32 [1]; i32 [1]; i32 [1]; [m, n]" => "[?, n]";
        {} "?; ?; ?; ?; ?" => "?";
        {} "[1] = [4]; [1] = [1]; [1] = [4]; [1] = [2]; [3]" => "error dy must have the shape of the slice, [2], got [3]";
        {shrink_axis_mask: 1} "[1] = [4]; [1] = [5]; [1] = [6]; [1] = [1]; []" => "error index 5 must lie within axis 0 of size 4";
    }
    shape_table! { updates: strided_slice_update, ["input", "begin", "end", "strides", "value"];
        {} "[4, n]; [2] = [1, 0]; [2] = [4, 0]; [2] = [2, 1]; [2, 0]" => "[4, n]";
        {} "[4, n]; [1] = [1]; [1] = [4]; [1] = [2]; [1, 2, 1]" => "[4, n]";
        {} "?; i32 [1]; i32 [1]; i32 [1]; []" => "?";
        {} "[4]; [1] = [1]; [1] = [4]; [1] = [2]; [3]" => "error value must broadcast to the shape of the slice, [2], got [3]";
        {} "[4]; [1] = [1]; [1] = [4]; [1] = [2]; [3, 2]" => "error value must broadcast to the shape of the slice, [2], got [3, 2]";
    }
}
