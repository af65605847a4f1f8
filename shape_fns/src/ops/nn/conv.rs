//! Convolutions: `conv_2d`, `conv_3d`, `depthwise_conv_2d`, and `conv`, which covers 2 and 3 spatial axes.

use super::layout::Layout;
use super::window::{Padding, Window, padding};
use crate::error::bail;
use crate::{Dim, Guard, InferenceContext, Result, ShapeError, TensorShape, array, counted};

/// The dimensions of a filter.
struct Filter {
    /// The size of the window along each spatial axis.
    spatial: Vec<Dim>,
    /// The number of input channels per group.
    inputs: Dim,
    /// The number of filters; for a depthwise convolution, the number of filters per input channel.
    outputs: Dim,
}

/// The maximum rank of an input of unknown shape. TensorFlow has no tensors of a higher rank.
const MAX_RANK: usize = 254;

/// How the channels of the input are divided into groups.
#[derive(Clone, Copy)]
enum Channels {
    /// The number of groups is the quotient of the input's and the filter's channels.
    Implied,
    /// An explicit number of groups.
    Groups(i64),
    /// Each channel is a group of its own (depthwise).
    Separate,
}

/// `input[n, h, w, c], filter[kh, kw, c/groups, m] -> [n, oh, ow, m]`, in the order of `data_format` (`NHWC`, `NCHW`,
/// `NCHW_VECT_C`).
///
/// With padding `SAME`, an axis of size `d` has `ceildiv(d, stride)` window positions. With `VALID` it has
/// `floordiv(d - (k-1)*dilation - 1, stride) + 1`. `EXPLICIT` adds `explicit_paddings` to `d` first. If `d` is unknown,
/// the window may exceed the axis by less than two strides: the axis then has no positions.
///
/// # Errors
/// An operand has the wrong rank, the window provably does not fit, the number of input channels is provably not a
/// multiple of the number of filter channels, the number of filters is provably not a multiple of the number of groups,
/// or an attribute is out of range.
pub fn conv_2d(cx: &mut InferenceContext<'_>) -> Result<()> {
    let layout = Layout::of(cx, 2)?;
    convolve(cx, layout, &[], Channels::Implied)
}

/// Like [`conv_2d`], for volumes: `input[n, d, h, w, c], filter[kd, kh, kw, c/groups, m] -> [n, od, oh, ow, m]`, in
/// the order of `data_format` (`NDHWC`, `NCDHW`).
///
/// # Errors
/// Same as [`conv_2d`].
pub fn conv_3d(cx: &mut InferenceContext<'_>) -> Result<()> {
    let layout = Layout::of(cx, 3)?;
    convolve(cx, layout, &[], Channels::Implied)
}

/// `input[n, h, w, c], filter[kh, kw, c, m] -> [n, oh, ow, c*m]`: convolves each channel separately.
///
/// # Errors
/// Same as [`conv_2d`], or the numbers of channels of input and filter provably differ.
pub fn depthwise_conv_2d(cx: &mut InferenceContext<'_>) -> Result<()> {
    let layout = Layout::of(cx, 2)?;
    convolve(cx, layout, &[], Channels::Separate)
}

/// [`conv_2d`] or [`conv_3d`], depending on the rank of the operands. Attribute `batch_dims` is the number of batch
/// axes, `groups` the number of groups, and `data_format` is `CHANNELS_LAST` or `CHANNELS_FIRST`. The output is
/// unranked if both operands are unranked.
///
/// # Errors
/// Same as [`conv_2d`], `batch_dims` or `groups` is out of range, or the input's channels provably differ from the
/// filter's channels times the groups.
pub fn conv(cx: &mut InferenceContext<'_>) -> Result<()> {
    let (batch, groups) = (cx.int_or("batch_dims", 1)?, cx.int_or("groups", 1)?);
    if groups < 1 {
        bail!("groups must be at least 1, got {groups}");
    }
    let Some(batch) = usize::try_from(batch).ok().filter(|batch| *batch >= 1) else {
        bail!("batch_dims must be at least 1, got {batch}");
    };
    let input = cx.input(0).clone();
    let spatial = match (input.rank(), cx.input(1).rank()) {
        (Some(rank), _) => rank.checked_sub(batch).and_then(|rest| rest.checked_sub(1)),
        (None, Some(rank)) => rank.checked_sub(2),
        (None, None) => return Ok(()),
    };
    let Some(spatial @ (2 | 3)) = spatial else {
        bail!(
            "operands must have 2 or 3 spatial axes, got input {input} with {batch} and filter {}",
            cx.input(1),
            batch = counted(batch, "batch axis")
        );
    };
    let leading: Vec<Dim> = match input.dims() {
        Some(dims) => dims[..batch - 1].to_vec(),
        None if batch > MAX_RANK - spatial - 1 => {
            bail!("batch_dims must be at most {}, got {batch}", MAX_RANK - spatial - 1)
        }
        None => (1..batch).map(|_| cx.fresh()).collect(),
    };
    let layout = Layout::of(cx, spatial)?;
    convolve(cx, layout, &leading, Channels::Groups(groups))
}

/// `input[n, h, w, c], paddings[4, 2], filter[kh, kw, c, m] -> [n, oh, ow, m]`: [`conv_2d`] of the input, after it is
/// padded as by [`array::pad`].
///
/// # Errors
/// Same as [`conv_2d`] and [`array::pad`].
pub fn padded_conv_2d(cx: &mut InferenceContext<'_>) -> Result<()> {
    let input = cx.with_rank(0, 4)?;
    convolve_padded(cx, input)
}

/// `input[n, h, w, c], size[2], paddings[4, 2], filter[kh, kw, c, m] -> [n, oh, ow, m]`: [`padded_conv_2d`] of the
/// input, after it is resized to the height and the width in `size`.
///
/// # Errors
/// Same as [`padded_conv_2d`] and [`image::resize`](crate::image::resize).
pub fn resized_conv_2d(cx: &mut InferenceContext<'_>) -> Result<()> {
    crate::image::resize(cx)?;
    let resized = cx.output(0).clone();
    convolve_padded(cx, resized)
}

/// Sets the output of the convolution of an input of this shape, padded by `paddings`.
fn convolve_padded(cx: &mut InferenceContext<'_>, input: TensorShape) -> Result<()> {
    let padded = array::padded(cx, input)?;
    let layout = Layout::of(cx, 2)?;
    let filter = cx.operand("filter").unwrap_or(1);
    let Some(dims) = padded.as_ref().and_then(TensorShape::dims) else { return Ok(()) };
    convolve_dims(cx, layout, &[], dims, filter, Channels::Implied)
}

/// Sets the output of all convolutions. `leading` are the batch dimensions before the last batch dimension.
fn convolve(
    cx: &mut InferenceContext<'_>,
    layout: Layout,
    leading: &[Dim],
    channels: Channels,
) -> Result<()> {
    let input = match leading {
        [] => layout.dims(cx, 0)?,
        _ => {
            let shape = cx.with_rank(0, leading.len() + layout.rank())?;
            shape.dims().unwrap_or_default()[leading.len()..].to_vec()
        }
    };
    convolve_dims(cx, layout, leading, &input, 1, channels)
}

/// Does the same as [`convolve`] for an input of these dimensions. `filter_operand` is the index of the filter.
fn convolve_dims(
    cx: &mut InferenceContext<'_>,
    layout: Layout,
    leading: &[Dim],
    input: &[Dim],
    filter_operand: usize,
    channels: Channels,
) -> Result<()> {
    let filter = filter(cx, layout, filter_operand)?;
    let strides = layout.entries_of(cx, "strides", false)?;
    let dilations = layout.entries_of(cx, "dilations", true)?;
    let explicit = layout.explicit_paddings(cx)?;
    let mut input_channels = input[layout.channel()].clone();
    // The size of the inner axis of `NCHW_VECT_C`, which holds some of the channels.
    let vector_len = if layout.has_vectors { input.last().cloned() } else { None };
    if let Some(vector_len) = &vector_len {
        input_channels = cx.mul(&input_channels, vector_len)?;
    }
    let outputs = match_channels(cx, &input_channels, &filter, channels)?;
    let mut positions = Vec::with_capacity(layout.spatial);
    for (spatial, size) in filter.spatial.iter().enumerate() {
        let axis = layout.axis(spatial);
        let padding = match &explicit {
            Some(pairs) => Padding::Explicit(pairs[axis][0].saturating_add(pairs[axis][1])),
            None => padding(cx)?,
        };
        let window = Window {
            axis: axis + leading.len(),
            size,
            stride: &Dim::known(strides[axis]),
            dilation: dilations[axis],
            padding,
        };
        positions.push(window.position_count(cx, &input[axis])?);
    }
    let outputs = match &vector_len {
        Some(vector_len) => cx.exact_div(&outputs, vector_len)?,
        None => outputs,
    };
    let output = layout.shape(input[0].clone(), positions, outputs, vector_len);
    cx.set_output(0, TensorShape::from(leading).concatenate(&output));
    Ok(())
}

/// Returns the filter's dimensions. Attribute `filter_format` is `HWIO` or `OIHW`, for volumes also `DHWIO` or `OIDHW`,
/// and `OIHW_VECT_I` for filters with vectors of input channels.
fn filter(cx: &mut InferenceContext<'_>, layout: Layout, operand: usize) -> Result<Filter> {
    let format = cx.str_or("filter_format", if layout.has_vectors { "OIHW_VECT_I" } else { "HWIO" })?;
    let (outputs_first, has_vectors) = match format {
        "HWIO" | "DHWIO" => (false, false),
        "OIHW" | "OIDHW" => (true, false),
        "OIHW_VECT_I" => (true, true),
        _ => bail!("filter_format must be HWIO, DHWIO, OIHW, OIDHW or OIHW_VECT_I, got {format:?}"),
    };
    let shape = cx.with_rank(operand, layout.spatial + 2 + usize::from(has_vectors))?;
    let dims = shape.dims().unwrap_or_default();
    let (spatial, [inputs, outputs]) = if outputs_first {
        (dims[2..2 + layout.spatial].to_vec(), [dims[1].clone(), dims[0].clone()])
    } else {
        (dims[..layout.spatial].to_vec(), [dims[layout.spatial].clone(), dims[layout.spatial + 1].clone()])
    };
    let inputs = match dims.last() {
        Some(vector_len) if has_vectors => cx.mul(&inputs, vector_len)?,
        _ => inputs,
    };
    Ok(Filter { spatial, inputs, outputs })
}

/// Requires that the numbers of channels of the input and of the filter fit each other as `channels` says. Returns the
/// number of channels of the output.
fn match_channels(
    cx: &mut InferenceContext<'_>,
    input_channels: &Dim,
    filter: &Filter,
    channels: Channels,
) -> Result<Dim> {
    let inputs = &filter.inputs;
    let groups = match channels {
        Channels::Separate => {
            let unified = cx.agree("the numbers of channels of input and filter", input_channels, inputs)?;
            return cx.mul(&unified, &filter.outputs);
        }
        Channels::Groups(groups) => {
            let groups = Dim::known(groups);
            let all = cx.mul(inputs, &groups)?;
            cx.merge(input_channels, &all).map_err(|_| {
                ShapeError::new(format_args!(
                    "the number of input channels must be the filter's times the number of groups, got {input_channels}, {inputs} \
                     and {groups}"
                ))
            })?;
            groups
        }
        Channels::Implied => {
            let divides = Guard::Divides { divisor: inputs.clone(), dividend: input_channels.clone() };
            cx.require(divides).map_err(|_| {
                ShapeError::new(format_args!(
                    "the number of input channels must be a multiple of the filter's, got {input_channels} and {inputs}"
                ))
                .operand(1)
            })?;
            match input_channels.exact_div(inputs) {
                Some(groups) if groups.is_known() => groups,
                _ => return Ok(filter.outputs.clone()),
            }
        }
    };
    let divides = Guard::Divides { divisor: groups.clone(), dividend: filter.outputs.clone() };
    cx.require(divides).map_err(|_| {
        ShapeError::new(format_args!(
            "the number of filters must be a multiple of the number of groups, got {} and {groups}",
            filter.outputs
        ))
        .operand(1)
    })?;
    Ok(filter.outputs.clone())
}

#[cfg(test)]
mod tests {
    use super::{conv, conv_2d, conv_3d, depthwise_conv_2d, padded_conv_2d, resized_conv_2d};
    use crate::testing::shape_table;

    shape_table! { two_spatial_axes: conv_2d, ["input", "filter"];
        {strides: [1, 1, 1, 1], padding: "SAME"} "[?, h, w, 3]; [3, 3, 3, m]" => "[d0_0, h, w, m]";
        {strides: [1, 2, 2, 1], padding: "SAME"} "[n, h, 7, 3]; [3, 3, 3, 8]" => "[n, ceildiv(h, 2), 4, 8]";
        {strides: [1, 1, 1, 1], padding: "VALID"} "[n, ?, 7, 3]; [3, 3, 3, 8]" => "[n, d0_1-2, 5, 8] if d0_1-1 >= 1";
        {strides: [1, 1, 2, 1], padding: "VALID", dilations: [1, 1, 2, 1]} "[n, 9, 9, 4]; [1, 3, 2, 8]" => "[n, 9, 3, 8]";
        {strides: [1, 1, 1, 1], padding: "VALID", data_format: "NCHW"} "[n, 3, 9, w]; [1, 1, 3, 8]" => "[n, 8, 9, w]";
        {strides: [1, 1, 1, 1], padding: "EXPLICIT", explicit_paddings: [0, 0, 1, 2, 0, 0, 0, 0]} "[n, h, 4, 1]; [3, 1, 1, 1]" => "[n, h+1, 4, 1]";
        {strides: [1, 1, 1, 1], padding: "VALID", data_format: "NCHW_VECT_C"} "[n, 2, 5, 5, 4]; [8, 2, 3, 3, 4]" => "[n, 2, 3, 3, 4]";
        {strides: [1, 1, 1, 1], padding: "SAME"} "?; ?" => "[?, ?, ?, ?]";
        {strides: [1, 1, 1, 1], padding: "VALID"} "[1, 2, 9, 3]; [3, 3, 3, 8]" => "error a window must fit into the input, got a window of 3 for 2 at axis 1";
        {strides: [1, 1, 1, 1], padding: "VALID"} "[1, 9, 9, 3]; [3, 3, 2, 8]" => "error the number of input channels must be a multiple of the filter's, got 3 and 2";
        {strides: [1, 1, 1, 1], padding: "VALID"} "[1, 9, 9, 4]; [3, 3, 2, 7]" => "error the number of filters must be a multiple of the number of groups, got 7 and 2";
        {strides: [1, 0, 1, 1], padding: "VALID"} "[1, 9, 9, 4]; [3, 3, 4, 7]" => "error strides must be at least 1, got 0";
        {strides: [1, 1, 1], padding: "VALID"} "[1, 9, 9, 4]; [3, 3, 4, 7]" => "error strides must have 4 entries, got 3";
        {strides: [1, 1, 1, 1], padding: "HALF"} "[1, 9, 9, 4]; [3, 3, 4, 7]" => "error padding must be VALID or SAME, got \"HALF\"";
        {strides: [1, 1, 1, 1], padding: "SAME"} "[9, 9, 4]; [3, 3, 4, 7]" => "error input must have rank 4, got rank 3 in [9, 9, 4]";
    }
    shape_table! { padded: padded_conv_2d, ["input", "paddings", "filter"];
        {strides: [1, 1, 1, 1], padding: "VALID", mode: "REFLECT"} "[n, 4, w, 3]; [4, 2] = [0, 0, 1, 1, 2, 0, 0, 0]; [3, 1, 3, 8]" => "[n, 4, w+2, 8] if n >= 1, w >= 3";
        {strides: [1, 1, 1, 1], padding: "SAME", mode: "SYMMETRIC"} "?; [4, 2]; [3, 1, 3, 8]" => "[?, ?, ?, 8]";
        {strides: [1, 1, 1, 1], padding: "VALID", mode: "REFLECT"} "[n, 4, 4, 3]; [4, 2] = [0, 0, 4, 0, 0, 0, 0, 0]; [1, 1, 3, 8]" => "error REFLECT padding must be less than the size 4 of axis 1";
    }
    shape_table! { resized: resized_conv_2d, ["input", "size", "paddings", "filter"];
        {strides: [1, 2, 1, 1], padding: "VALID", mode: "REFLECT"} "[n, h, w, 3]; [2] = [6, 7]; [4, 2] = [0, 0, 1, 0, 0, 2, 0, 0]; [3, 1, 3, 8]" => "[n, 3, 9, 8]";
    }
    shape_table! { three_spatial_axes: conv_3d, ["input", "filter"];
        {strides: [1, 2, 1, 1, 1], padding: "SAME"} "[n, d, 4, 4, 2]; [2, 2, 2, 2, 5]" => "[n, ceildiv(d, 2), 4, 4, 5]";
        {strides: [1, 1, 1, 1, 1], padding: "VALID", data_format: "NCDHW"} "[n, 2, 4, 4, ?]; [2, 2, 1, 2, 5]" => "[n, 5, 3, 3, d0_4]";
    }
    shape_table! { depthwise: depthwise_conv_2d, ["input", "filter"];
        {strides: [1, 1, 1, 1], padding: "VALID"} "[n, 5, 5, ?]; [3, 3, c, 2]" => "[n, 3, 3, 2*c]";
        {strides: [1, 1, 1, 1], padding: "VALID"} "[n, 5, 5, 3]; [3, 3, 4, 2]" => "error the numbers of channels of input and filter must agree, got 3 and 4";
    }
    shape_table! { any_spatial_axes: conv, ["input", "filter"];
        {strides: [1, 1, 1, 1], padding: "SAME", groups: 2} "[n, 4, w, ?]; [3, 3, 4, 6]" => "[n, 4, w, 6]";
        {strides: [1, 1, 1, 1], padding: "SAME", batch_dims: 2} "[b, n, 4, w, 3]; [3, 3, 3, 6]" => "[b, n, 4, w, 6]";
        {strides: [1, 1, 1, 1], padding: "SAME"} "?; [3, 3, 4, 6]" => "[?, ?, ?, 6]";
        {strides: [1, 1, 1, 1], padding: "SAME"} "?; ?" => "?";
        {strides: [1, 1, 1, 1], padding: "SAME", groups: 2} "[n, 4, 4, 4]; [3, 3, 4, 6]" => "error the number of input channels must be the filter's times the number of groups, got 4, 4 and 2";
        {strides: [1, 1, 1, 1], padding: "SAME", batch_dims: 0} "[n, 4, 4, 4]; [3, 3, 4, 6]" => "error batch_dims must be at least 1, got 0";
        {strides: [1, 1, 1, 1], padding: "SAME", batch_dims: 2000000000} "?; [3, 3, 4, 6]" => "error batch_dims must be at most 251, got 2000000000";
    }
}
