//! Batch normalization and its gradients.

use crate::error::bail;
use crate::{Dim, Guard, InferenceContext, Result, ShapeError, TensorShape, counted};

/// Returns the shape of operand `index` and its number of channels, which is its dimension at `axis`. Requires rank
/// `rank`, and unifies the number of channels with the lengths of the operands `vectors`.
fn with_vectors(
    cx: &mut InferenceContext<'_>,
    index: usize,
    rank: usize,
    axis: usize,
    vectors: &[usize],
) -> Result<(TensorShape, Dim)> {
    let shape = cx.with_rank(index, rank)?;
    let mut dims: Vec<Dim> = shape.dims().unwrap_or_default().to_vec();
    for &vector in vectors {
        let [length] = cx.axes::<1>(vector)?;
        let channels = cx.merge(&dims[axis], &length).map_err(|_| {
            cx.blame(
                vector,
                format_args!(
                    "must have one element per channel, got {length} for {} at axis {axis} of {shape}",
                    counted(&dims[axis], "channel")
                ),
            )
        })?;
        dims[axis] = channels;
    }
    let channels = dims[axis].clone();
    Ok((TensorShape::from(dims), channels))
}

/// Returns the rank and the channel axis that `data_format` names.
fn rank_and_channel_axis(cx: &InferenceContext<'_>) -> Result<(usize, usize)> {
    match cx.str_or("data_format", "NHWC")? {
        "NHWC" => Ok((4, 3)),
        "NCHW" => Ok((4, 1)),
        "NDHWC" => Ok((5, 4)),
        "NCDHW" => Ok((5, 1)),
        other => bail!("data_format must be NHWC, NCHW, NDHWC or NCDHW, got {other:?}"),
    }
}

/// `x[n, h, w, c], scale[c], offset[c], mean[c], variance[c] -> [n, h, w, c], [c], [c], [c], [c]`, in the order of
/// `data_format`.
///
/// A sixth output is unranked. If `is_training`, `mean` and `variance` are not read.
///
/// # Errors
/// An operand has the wrong rank, or the numbers of channels provably differ.
pub fn fused_batch_norm(cx: &mut InferenceContext<'_>) -> Result<()> {
    let (rank, axis) = rank_and_channel_axis(cx)?;
    let training = cx.bool_or("is_training", true)?;
    let (output, channels) = with_vectors(cx, 0, rank, axis, if training { &[1, 2] } else { &[1, 2, 3, 4] })?;
    cx.set_output(0, output);
    for index in 1..cx.outputs().min(5) {
        cx.set_output(index, TensorShape::new([channels.clone()]));
    }
    Ok(())
}

/// Like [`fused_batch_norm`], with an activation and operands `side_input` of the shape of `x`. If `is_training`, the
/// number of channels must be a multiple of 4.
///
/// # Errors
/// Same as [`fused_batch_norm`], the number of channels is provably not a multiple of 4, or the shape of a side input
/// provably differs.
pub fn fused_batch_norm_ex(cx: &mut InferenceContext<'_>) -> Result<()> {
    fused_batch_norm(cx)?;
    let (_, axis) = rank_and_channel_axis(cx)?;
    let channels = cx.output(0).dims().and_then(|dims| dims.get(axis)).cloned();
    if let (Some(channels), true) = (channels, cx.bool_or("is_training", true)?) {
        let fours = Guard::Divides { divisor: Dim::known(4), dividend: channels.clone() };
        cx.require(fours).map_err(|_| {
            ShapeError::new(format_args!("the number of channels must be a multiple of 4, got {channels}"))
                .operand(0)
        })?;
    }
    for index in cx.operands_named("side_input") {
        let (shape, side) = (cx.output(0).clone(), cx.input(index).clone());
        let both = cx.merge_shapes(&shape, &side).map_err(|error| error.operand(index))?;
        cx.set_output(0, both);
    }
    Ok(())
}

/// `y_backprop[n, h, w, c], x[n, h, w, c], scale[c], reserve_space_1[c], reserve_space_2[c]` to
/// `[n, h, w, c], [c], [c], [0], [0]`, in the order of `data_format`.
///
/// # Errors
/// An operand has the wrong rank, or shapes provably differ.
pub fn fused_batch_norm_grad(cx: &mut InferenceContext<'_>) -> Result<()> {
    let (rank, axis) = rank_and_channel_axis(cx)?;
    let x = cx.with_rank(1, rank)?;
    let (output, channels) = with_vectors(cx, 0, rank, axis, &[2, 3, 4])?;
    let output = cx.merge_shapes(&output, &x).map_err(|error| error.operand(1))?;
    cx.set_output(0, output);
    for index in [1, 2] {
        cx.set_output(index, TensorShape::new([channels.clone()]));
    }
    for index in [3, 4] {
        cx.set_output(index, TensorShape::new([Dim::known(0)]));
    }
    Ok(())
}

/// `t[n, h, w, c], m[c], v[c], beta[c], gamma[c] -> [n, h, w, c]`.
///
/// # Errors
/// An operand has the wrong rank, or the numbers of channels provably differ.
pub fn batch_norm(cx: &mut InferenceContext<'_>) -> Result<()> {
    let (output, _) = with_vectors(cx, 0, 4, 3, &[1, 2, 3, 4])?;
    cx.set_output(0, output);
    Ok(())
}

/// `t[n, h, w, c], m[c], v[c], gamma[c], backprop[n, h, w, c] -> [n, h, w, c], [c], [c], [c], [c]`.
///
/// # Errors
/// An operand has the wrong rank, or shapes provably differ.
pub fn batch_norm_grad(cx: &mut InferenceContext<'_>) -> Result<()> {
    let (shape, _) = with_vectors(cx, 0, 4, 3, &[1, 2, 3])?;
    let backprop = cx.input(4).clone();
    let output = cx.merge_shapes(&shape, &backprop).map_err(|error| error.operand(4))?;
    let channels = output.dim(3).cloned().unwrap_or_else(|| cx.fresh());
    cx.set_output(0, output);
    for index in 1..5 {
        cx.set_output(index, TensorShape::new([channels.clone()]));
    }
    Ok(())
}

/// Like [`batch_norm`] on quantized tensors. Each operand and the output is followed by two scalars: the minimum and
/// the maximum of its range.
///
/// # Errors
/// Same as [`batch_norm`], or a minimum or a maximum of a range is not a scalar.
pub fn quantized_batch_norm(cx: &mut InferenceContext<'_>) -> Result<()> {
    let (output, _) = with_vectors(cx, 0, 4, 3, &[3, 6, 9, 12])?;
    for operand in [0, 3, 6, 9, 12] {
        cx.scalar(operand + 1)?;
        cx.scalar(operand + 2)?;
    }
    cx.set_output(0, output);
    cx.set_output(1, TensorShape::scalar());
    cx.set_output(2, TensorShape::scalar());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{batch_norm, batch_norm_grad, fused_batch_norm, fused_batch_norm_ex, fused_batch_norm_grad};
    use crate::testing::shape_table;

    shape_table! { fused: fused_batch_norm, ["x", "scale", "offset", "mean", "variance"];
        {} "[n, h, w, ?]; [c]; ?; [0]; [0]" => "[n, h, w, c]; [c]; [c]; [c]; [c]; ?";
        {data_format: "NCHW", is_training: false} "[n, ?, h, w]; ?; ?; [3]; ?" => "[n, 3, h, w]; [3]; [3]; [3]; [3]";
        {data_format: "NDHWC"} "?; [3]; ?; ?; ?" => "[?, ?, ?, ?, 3]; [3]; [3]; [3]; [3]; ?";
        {} "[n, h, w, 4]; [3]; ?; ?; ?" => "error(5 outputs) scale must have one element per channel, got 3 for 4 channels at axis 3";
        {data_format: "CHWN"} "?; [3]; ?; ?; ?" => "error(5 outputs) data_format must be NHWC, NCHW, NDHWC or NCDHW, got \"CHWN\"";
    }
    shape_table! { fused_with_side_input: fused_batch_norm_ex, ["x", "scale", "offset", "mean", "variance", "side_input.."];
        {} "[n, h, w, 4]; ?; ?; ?; ?; [2, ?, ?, ?]" => "[2, h, w, 4]; [4]; [4]; [4]; [4]; ?";
        {} "[n, h, w, 6]; ?; ?; ?; ?" => "error(6 outputs) the number of channels must be a multiple of 4, got 6";
    }
    shape_table! { fused_gradient: fused_batch_norm_grad, ["y_backprop", "x", "scale", "reserve_space_1", "reserve_space_2"];
        {} "[n, ?, w, ?]; [?, h, ?, ?]; [c]; ?; ?" => "[n, h, w, c]; [c]; [c]; [0]; [0]";
        {} "[n, 4, w, 3]; [n, 5, w, 3]; ?; ?; ?" => "error(5 outputs) shapes must agree, got 4 and 5 at axis 1";
    }
    shape_table! { with_global_normalization: batch_norm, ["t", "m", "v", "beta", "gamma"];
        {} "[n, h, w, ?]; [?]; [?]; [?]; [4]" => "[n, h, w, 4]";
        {} "[n, h, w, 4]; [?]; [?]; [3]; [4]" => "error beta must have one element per channel, got 3 for 4 channels";
        {} "[n, h, w, 4]; [?]; [?]; [2, 2]; [4]" => "error beta must have rank 1";
    }
    shape_table! { with_global_normalization_gradient: batch_norm_grad, ["t", "m", "v", "gamma", "backprop"];
        {} "[1, ?, 3, ?]; [?]; [?]; [?]; [?, 2, ?, 4]" => "[1, 2, 3, 4]; [4]; [4]; [4]; [4]";
    }
}
