//! `space_to_depth(input, block_size)` moves blocks of the spatial axes into the channels; `depth_to_space` moves them
//! back.

use crate::error::bail;
use crate::{Dim, InferenceContext, Result, ShapeError, TensorShape, counted};

/// The axes of a data format.
struct Axes {
    /// The axes of height and width.
    spatial: [usize; 2],
    /// The axis of the channels.
    channels: usize,
    /// The number of axes.
    rank: usize,
}

/// Reads the attributes `data_format` and `block_size`.
fn axes_and_block(cx: &InferenceContext<'_>) -> Result<(Axes, Dim)> {
    let block = cx.int("block_size")?;
    if block < 2 {
        bail!("block_size must be at least 2, got {block}");
    }
    let axes = match cx.str_or("data_format", "NHWC")? {
        "NHWC" => Axes { spatial: [1, 2], channels: 3, rank: 4 },
        "NCHW" => Axes { spatial: [2, 3], channels: 1, rank: 4 },
        "NCHW_VECT_C" => Axes { spatial: [2, 3], channels: 1, rank: 5 },
        other => bail!("data_format must be NHWC, NCHW or NCHW_VECT_C, got {other:?}"),
    };
    Ok((axes, Dim::known(block)))
}

/// Returns `dim / by`, which must be exact. `axis` is for the message.
fn divide_exactly(cx: &mut InferenceContext<'_>, dim: &Dim, by: &Dim, axis: usize) -> Result<Dim> {
    cx.exact_div(dim, by).map_err(|_| {
        ShapeError::new(format_args!(
            "input must have a multiple of {by} along axis {axis}, got {dim}",
            by = counted(by, "element")
        ))
        .operand(0)
    })
}

/// `[n, h, w, c], block_size=k -> [n, h/k, w/k, c*k*k]`, in the order of `data_format`.
///
/// # Errors
/// The rank does not fit the format, `block_size` is less than 2, or a spatial size is provably not a multiple of
/// `block_size`.
pub fn space_to_depth(cx: &mut InferenceContext<'_>) -> Result<()> {
    let (axes, block) = axes_and_block(cx)?;
    let mut dims = cx.with_rank(0, axes.rank)?.dims().unwrap_or_default().to_vec();
    for axis in axes.spatial {
        dims[axis] = divide_exactly(cx, &dims[axis], &block, axis)?;
    }
    let square = cx.mul(&block, &block)?;
    dims[axes.channels] = cx.mul(&dims[axes.channels], &square)?;
    cx.set_output(0, TensorShape::from(dims));
    Ok(())
}

/// `[n, h, w, c], block_size=k -> [n, h*k, w*k, c/(k*k)]`, in the order of `data_format`.
///
/// # Errors
/// The rank does not fit the format, `block_size` is less than 2, or the number of channels is provably not a multiple
/// of the square of `block_size`.
pub fn depth_to_space(cx: &mut InferenceContext<'_>) -> Result<()> {
    let (axes, block) = axes_and_block(cx)?;
    let mut dims = cx.with_rank(0, axes.rank)?.dims().unwrap_or_default().to_vec();
    for axis in axes.spatial {
        dims[axis] = cx.mul(&dims[axis], &block)?;
    }
    let square = cx.mul(&block, &block)?;
    dims[axes.channels] = divide_exactly(cx, &dims[axes.channels], &square, axes.channels)?;
    cx.set_output(0, TensorShape::from(dims));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{depth_to_space, space_to_depth};
    use crate::testing::shape_table;

    shape_table! { to_depth: space_to_depth, ["input"];
        {block_size: 2} "[n, 4, ?, c]" => "[n, 2, floordiv(d0_2, 2), 4*c] if 2 divides d0_2";
        {block_size: 2, data_format: "NCHW"} "[n, c, 4, 4*w]" => "[n, 4*c, 2, 2*w]";
        {block_size: 2, data_format: "NCHW_VECT_C"} "[n, 2, 4, 4, 4]" => "[n, 8, 2, 2, 4]";
        {block_size: 2} "?" => "[?, floordiv(?, 2), floordiv(?, 2), 4*?]";
        {block_size: 2} "[n, 4, 3, c]" => "error input must have a multiple of 2 elements along axis 2, got 3";
        {block_size: 1} "[n, 4, 3, c]" => "error block_size must be at least 2, got 1";
        {block_size: i64::MAX} "[n, 0, 0, c]" => "error overflow";
    }
    shape_table! { from_depth: depth_to_space, ["input"];
        {block_size: 2} "[n, h, 3, 12]" => "[n, 2*h, 6, 3]";
        {block_size: 2} "[n, h, 3, c]" => "[n, 2*h, 6, floordiv(c, 4)] if 4 divides c";
        {block_size: 2} "[n, h, 3, 6]" => "error input must have a multiple of 4 elements along axis 3, got 6";
    }
}
