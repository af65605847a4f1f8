//! Pooling over windows (average and maximum), and its gradients.

use super::conv_gradient::shape_param;
use super::layout::Layout;
use super::window::{Padding, Window, padding};
use crate::error::bail;
use crate::{Dim, InferenceContext, List, Result, counted};

/// Reads the window's sizes or strides from an attribute or an operand, one entry per axis. Returns `None` if the
/// entries are unknown.
fn entries(cx: &mut InferenceContext<'_>, layout: Layout, name: &str) -> Result<Option<Vec<Dim>>> {
    let list = cx.param_vector(name)?;
    if let Some(count) = list.known_len().filter(|count| *count != layout.entries()) {
        return Err(cx.blame_param(
            name,
            format_args!("must have {}, got {count}", counted(layout.entries(), "entry")),
        ));
    }
    match list {
        List::Elements(entries) => {
            if let Some(entry) = entries.iter().find(|entry| entry.as_known().is_some_and(|entry| entry < 1))
            {
                return Err(cx.blame_param(name, format_args!("must be at least 1, got {entry}")));
            }
            Ok(Some(entries))
        }
        List::Unknown(_) => Ok(None),
        List::Absent => bail!("{name} must be given: it is a list of integers"),
    }
}

/// Sets the outputs of all pooling ops. The windows slide along the spatial axes, and along the channels if `channels`
/// is set.
fn pool(cx: &mut InferenceContext<'_>, spatial: usize, channels: bool) -> Result<()> {
    let layout = Layout::of(cx, spatial)?;
    let input = layout.dims(cx, 0)?;
    let explicit = layout.explicit_paddings(cx)?;
    let (sizes, strides) = (entries(cx, layout, "ksize")?, entries(cx, layout, "strides")?);
    let mut position_count = |axis: usize| -> Result<Dim> {
        let (Some(sizes), Some(strides)) = (&sizes, &strides) else { return Ok(cx.fresh()) };
        let padding = match &explicit {
            Some(pairs) => Padding::Explicit(pairs[axis][0].saturating_add(pairs[axis][1])),
            None => padding(cx)?,
        };
        let window = Window { axis, size: &sizes[axis], stride: &strides[axis], dilation: 1, padding };
        window.position_count(cx, &input[axis])
    };
    let mut positions = Vec::with_capacity(spatial);
    for axis in 0..spatial {
        positions.push(position_count(layout.axis(axis))?);
    }
    let output_channels =
        if channels { position_count(layout.channel())? } else { input[layout.channel()].clone() };
    let vector_len = if layout.has_vectors { input.last().cloned() } else { None };
    let output = layout.shape(input[0].clone(), positions, output_channels, vector_len);
    for index in 0..cx.outputs() {
        cx.set_output(index, output.clone());
    }
    Ok(())
}

/// `[n, h, w, c] -> [n, oh, ow, c]`, in the order of `data_format` (`NHWC`, `NCHW`, `NCHW_VECT_C`), with `ksize`,
/// `strides` and `padding`. [`conv_2d`](super::conv_2d) documents `oh` and `ow`.
///
/// # Errors
/// The rank does not fit the format, a size or stride is less than 1, the window provably does not fit, or an
/// attribute is out of range.
pub fn avg_pool(cx: &mut InferenceContext<'_>) -> Result<()> {
    pool(cx, 2, false)
}

/// Like [`avg_pool`], but windows may span channels, and `ksize` and `strides` may be operands. All outputs have the
/// same shape.
///
/// # Errors
/// Same as [`avg_pool`].
pub fn max_pool(cx: &mut InferenceContext<'_>) -> Result<()> {
    pool(cx, 2, true)
}

/// Like [`avg_pool`], for volumes: `[n, d, h, w, c] -> [n, od, oh, ow, c]` (`NDHWC`, `NCDHW`).
///
/// # Errors
/// Same as [`avg_pool`].
pub fn avg_pool_3d(cx: &mut InferenceContext<'_>) -> Result<()> {
    pool(cx, 3, false)
}

/// Same as [`avg_pool_3d`].
///
/// # Errors
/// Same as [`avg_pool`].
pub fn max_pool_3d(cx: &mut InferenceContext<'_>) -> Result<()> {
    pool(cx, 3, false)
}

/// The gradient of a pool, with the shape of the first operand.
///
/// # Errors
/// The rank of the first operand is not 4.
pub fn pool_grad(cx: &mut InferenceContext<'_>) -> Result<()> {
    let shape = cx.with_rank(0, 4)?;
    cx.set_output(0, shape);
    Ok(())
}

/// The gradient of a pool of volumes, with the shape of the first operand.
///
/// # Errors
/// The rank of the first operand is not 5.
pub fn pool_grad_3d(cx: &mut InferenceContext<'_>) -> Result<()> {
    let shape = cx.with_rank(0, 5)?;
    cx.set_output(0, shape);
    Ok(())
}

/// The gradient of a pool, with the 4 sizes that the first operand holds.
///
/// # Errors
/// The operand does not hold 4 sizes, or a size is negative.
pub fn sized_pool_grad(cx: &mut InferenceContext<'_>) -> Result<()> {
    let shape = shape_param(cx, "orig_input_shape", 4)?;
    cx.set_output(0, shape);
    Ok(())
}

/// Like [`sized_pool_grad`], for volumes with 5 sizes.
///
/// # Errors
/// The operand does not hold 5 sizes, or a size is negative.
pub fn sized_pool_grad_3d(cx: &mut InferenceContext<'_>) -> Result<()> {
    let shape = shape_param(cx, "orig_input_shape", 5)?;
    cx.set_output(0, shape);
    Ok(())
}

/// Sets the gradient of a pool's gradient. Output 0 must hold the shape of the pool's output. Unifies operand
/// `like_input` with the pool's input and operand `like_output` with the pool's output.
fn second_order(cx: &mut InferenceContext<'_>, like_input: usize, like_output: usize) -> Result<()> {
    let (input, gradient) = (cx.input(0).clone(), cx.input(like_input).clone());
    cx.merge_shapes(&input, &gradient).map_err(|error| error.operand(like_input))?;
    let (pooled, given) = (cx.output(0).clone(), cx.input(like_output).clone());
    let both = cx.merge_shapes(&pooled, &given).map_err(|error| error.operand(like_output))?;
    cx.set_output(0, both);
    Ok(())
}

/// The gradient of the gradient of [`max_pool`], with operands `orig_input, orig_output, grad`. `grad` has the shape
/// of `orig_input`, and `orig_output` has the shape of the result.
///
/// # Errors
/// Same as [`max_pool`], or shapes provably differ.
pub fn max_pool_grad_grad(cx: &mut InferenceContext<'_>) -> Result<()> {
    max_pool(cx)?;
    second_order(cx, 2, 1)
}

/// Like [`max_pool_grad_grad`], for volumes.
///
/// # Errors
/// Same as [`max_pool_grad_grad`].
pub fn max_pool_3d_grad_grad(cx: &mut InferenceContext<'_>) -> Result<()> {
    max_pool_3d(cx)?;
    second_order(cx, 2, 1)
}

/// Like [`max_pool_grad_grad`], with operands `input, grad, argmax`. `grad` has the shape of `input`, and `argmax`
/// has the shape of the result.
///
/// # Errors
/// Same as [`max_pool_grad_grad`].
pub fn max_pool_argmax_grad_grad(cx: &mut InferenceContext<'_>) -> Result<()> {
    max_pool(cx)?;
    second_order(cx, 1, 2)
}

#[cfg(test)]
mod tests {
    use super::{
        avg_pool, avg_pool_3d, max_pool, max_pool_argmax_grad_grad, max_pool_grad_grad, pool_grad,
        sized_pool_grad,
    };
    use crate::testing::shape_table;

    shape_table! { averages: avg_pool, ["value"];
        {ksize: [1, 2, 2, 1], strides: [1, 2, 2, 1], padding: "VALID"} "[n, h, 7, c]" => "[n, floordiv(h, 2), 3, c]";
        {ksize: [1, 5, 2, 1], strides: [1, 2, 2, 1], padding: "VALID"} "[n, h, 7, c]" => "[n, max(0, ceildiv(h, 2)-2), 3, c] if h-1 >= 1";
        {ksize: [1, 2, 2, 1], strides: [1, 2, 2, 1], padding: "SAME"} "[n, ?, 7, c]" => "[n, ceildiv(d0_1, 2), 4, c]";
        {ksize: [1, 1, 2, 2], strides: [1, 1, 1, 1], padding: "VALID", data_format: "NCHW_VECT_C"} "[n, c, 5, 7, 4]" => "[n, c, 4, 6, 4]";
        {ksize: [1, 2, 2, 1], strides: [1, 2, 2, 1], padding: "SAME"} "?" => "[?, ceildiv(?, 2), ceildiv(?, 2), ?]";
        {ksize: [1, 3, 2, 1], strides: [1, 1, 1, 1], padding: "VALID"} "[n, 2, 7, c]" => "error a window must fit into the input, got a window of 3 for 2 at axis 1";
        {ksize: [1, 0, 2, 1], strides: [1, 1, 1, 1], padding: "VALID"} "[n, 2, 7, c]" => "error ksize must be at least 1, got 0";
        {ksize: [2, 2], strides: [1, 1, 1, 1], padding: "VALID"} "[n, 2, 7, c]" => "error ksize must have 4 entries, got 2";
        {ksize: [1, 1, 2, 2], strides: [1, 1, 1, 1], padding: "SAME", data_format: "NCHW_VECT_C"} "[n, c, 5, 7, 8]" => "error value must have vectors of 4 or 32 channels, got 8";
    }
    shape_table! { maxima: max_pool, ["input", "ksize", "strides"];
        {ksize: [1, 1, 1, 2], strides: [1, 1, 1, 2], padding: "VALID"} "[n, h, w, 6]" => "[n, h, w, 3]";
        {padding: "SAME"} "[n, 5, 7, 3]; [4] = [1, 2, 2, 1]; [4] = [1, 2, ?, 1]" => "[n, 3, ceildiv(7, v2_2), 3] if v2_2 >= 1";
        {padding: "SAME"} "[n, 5, 7, 3]; i32 [4]; [4] = [1, 2, 2, 1]" => "[n, ?, ?, ?]";
        {padding: "SAME"} "[n, 5, 7, 3]; i32 [3]; i32 [4]" => "error ksize must have 4 entries, got 3";
    }
    shape_table! { volumes: avg_pool_3d, ["input"];
        {ksize: [1, 2, 1, 1, 1], strides: [1, 2, 1, 1, 1], padding: "VALID"} "[n, 8, 5, 5, c]" => "[n, 4, 5, 5, c]";
    }
    shape_table! { gradients: pool_grad, ["orig_input", "orig_output", "grad"];
        {} "[n, ?, 3, 4]; ?; ?" => "[n, d0_1, 3, 4]";
        {} "[n, 3]; ?; ?" => "error orig_input must have rank 4";
    }
    shape_table! { gradients_by_size: sized_pool_grad, ["orig_input_shape", "grad"];
        {} "[4] = [n, 2, ?, 4]; ?" => "[n, 2, v0_2, 4] if v0_2 >= 0";
        {} "[3] = [1, 2, 3]; ?" => "error orig_input_shape must have 4 entries, got 3";
    }
    shape_table! { second_order_gradients: max_pool_grad_grad, ["orig_input", "orig_output", "grad"];
        {ksize: [1, 2, 2, 1], strides: [1, 2, 2, 1], padding: "VALID"} "[n, ?, 8, 3]; [2, 2, 4, 3]; [?, 5, 8, 3]" => "[2, 2, 4, 3]";
        {ksize: [1, 2, 2, 1], strides: [1, 2, 2, 1], padding: "VALID"} "[n, 4, 8, 3]; [2, 3, 4, 3]; ?" => "error shapes must agree, got 2 and 3 at axis 1";
    }
    shape_table! { second_order_gradients_by_argmax: max_pool_argmax_grad_grad, ["input", "grad", "argmax"];
        {ksize: [1, 2, 2, 1], strides: [1, 2, 2, 1], padding: "VALID"} "[n, 4, 8, 3]; ?; [2, ?, ?, ?]" => "[2, 2, 4, 3]";
    }
}
