//! `max_pool_with_argmax`: the maximum of every window of an image, and the position of the maximum.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType, Dim, InferenceContext, ShapeError, TensorShape};

use super::pool::require_ones;
use super::reduce_window::{given_dims, position_count};
use super::window::{
    Padding, Windows, data_format, dims_of, of_rank, operand_values, refuse, window_dims, with_pool_windows,
};
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoParam, Value};
use crate::op::{CompositeCx, HostCx, OpDef, Operand, TfOp};
use crate::ops::array::unstack::exactly;
use crate::ops::host_params::param_ints;
use crate::ops::nn::DataFormat;
use crate::ops::row_major::RowMajor;
use crate::ops::sort::order::order_keys;

impl<'g> Value<'g> {
    /// Returns the maximum of every window, as [`Value::max_pool`] does, and its position: the number of the element in
    /// its image, in row-major order.
    ///
    /// `[n, h, w, c] -> [n, oh, ow, c], i64[n, oh, ow, c]`, or `[n, c, h, w] -> [n, c, oh, ow], i64[n, c, oh, ow]`;
    /// integers and floats. Of equal elements, the one with the lower position counts; NaN counts as the largest. As
    /// TensorFlow's `MaxPoolWithArgmax`, which may ignore a NaN. The op is composed of an op that finds the positions,
    /// which runs on the host, and of a gather, which fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{DataFormat, Graph, Padding, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([[[[1], [5]], [[5], [2]]]])?;
    /// let pooled = x.max_pool_with_argmax([2, 2], [2, 2], Padding::Valid, DataFormat::ChannelsLast)?;
    /// let [largest, positions] = g.compile(pooled)?.run(&[])?;
    /// assert_eq!((largest, positions), (Tensor::from([[[[5]]]]), Tensor::from([[[[1i64]]]])));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::max_pool`]; also if the padding is explicit.
    #[doc(alias = "max_pool2d")]
    #[track_caller]
    pub fn max_pool_with_argmax(
        self,
        sizes: impl IntoParam<'g>,
        strides: impl IntoParam<'g>,
        padding: Padding,
        format: DataFormat,
    ) -> Result<[Value<'g>; 2]> {
        let location = Location::caller();
        self.graph().in_call_at("max_pool_with_argmax", location, || {
            let params = [sizes.into_param(), strides.into_param()];
            let call = self.graph().op(&DEF).data(self);
            let call = with_pool_windows(call, params, 2, &padding, format);
            exactly(call.finish_all_at(location)?.into_vec())
        })
    }
}

pub(crate) static DEF: OpDef = OpDef::composite("max_pool_with_argmax", build)
    .attrs(&[
        Attribute::dtype_or("Targmax", DType::I64),
        Attribute::bool_or("include_batch_in_index", false),
        Attribute::str("padding"),
        Attribute::ints_or("explicit_paddings", &[]),
        Attribute::str_or("data_format", "NHWC"),
    ])
    .operands(&[Operand::Data("input"), Operand::Size("ksize"), Operand::Size("strides")])
    .outputs(|_, _| 2)
    .dtype_rule(|dtypes, attrs| {
        Ok(vec![dtype::common(dtypes, 0, 1, dtype::Class::Number)?, index_dtype(attrs)?])
    })
    .tensorflow(&[TfOp::new("MaxPoolWithArgmax")]);

/// A part of pools: the positions of the maxima. With attribute `include_batch_in_index`, a position also counts the
/// elements of all earlier images. A window without elements has the position -1.
pub(super) static POSITIONS: OpDef = OpDef::host("max_pool_positions", run)
    .internal()
    .attrs(&[
        Attribute::bool_or("include_batch_in_index", false),
        Attribute::str("padding"),
        Attribute::ints_or("explicit_paddings", &[]),
        Attribute::str_or("data_format", "NHWC"),
    ])
    .operands(&[Operand::Data("input"), Operand::Size("ksize"), Operand::Size("strides")])
    .shape_fn(shape)
    .dtype_rule(|dtypes, _| dtype::common(dtypes, 0, 1, dtype::Class::Number).map(|_| vec![DType::I64]));

/// Infers the number of windows, which is 0 for a window that exceeds the image a little: see `reduce_window`.
fn shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    let image = cx.axes::<4>(0)?;
    let (Some(sizes), Some(strides)) = (given_dims(cx, "ksize")?, given_dims(cx, "strides")?) else {
        let unknown = cx.unknown_shape_of_rank(4);
        cx.set_output(0, unknown);
        return Ok(());
    };
    if sizes.len() != 4 || strides.len() != 4 {
        return Err(ShapeError::new("ksize and strides must have 4 entries"));
    }
    let explicit = cx.ints_or("explicit_paddings", &[])?.to_vec();
    let is_same = cx.str("padding")? == "SAME";
    let mut counts = Vec::with_capacity(4);
    for (axis, extent) in image.iter().enumerate() {
        let (size, stride) = (&sizes[axis], &strides[axis]);
        counts.push(if is_same {
            cx.ceil_div(extent, stride)?
        } else {
            let padding = explicit.iter().skip(2 * axis).take(2).sum();
            let padded = cx.add(extent, &Dim::known(padding))?;
            position_count(cx, axis, &padded, [size, stride], None)?
        });
    }
    cx.set_output(0, TensorShape::from(counts));
    Ok(())
}

/// Returns the positions of the maxima of the windows that `attrs` and the values `params` of `ksize` and `strides`
/// describe. Positions count from the first element of the first image, or of each image.
///
/// # Errors
/// The attributes are invalid, or windows provably span images or channels.
pub(super) fn positions<'g>(
    x: Value<'g>,
    attrs: &Attrs,
    [sizes, strides]: [Option<Value<'g>>; 2],
    from_first_image: bool,
) -> Result<Value<'g>> {
    let format = data_format(attrs, 2)?;
    let ones = [0, format.channel_axis(4)];
    let sizes = window_dims(attrs, "ksize", sizes, 4, &ones)?;
    let strides = window_dims(attrs, "strides", strides, 4, &ones)?;
    require_ones(&ones, &sizes, &strides)?;
    let dims = dims_of(x);
    Windows::with_ones(attrs, format, &dims, [&sizes, &strides], &ones)?.require_fit(&dims)?;
    let call = x.graph().op(&POSITIONS).data(x);
    let kept = ["padding", "explicit_paddings", "data_format"];
    let kept = kept.into_iter().filter_map(|name| Some((name, attrs.get(name)?.clone())));
    let call = kept.fold(call, |call, (name, value)| call.attr(name, value));
    let call = call.size("ksize", &sizes[..]).size("strides", &strides[..]);
    call.attr("include_batch_in_index", from_first_image).finish()
}

/// Returns the dtype of the positions.
fn index_dtype(attrs: &Attrs) -> Result<DType> {
    match attrs.dtype("Targmax") {
        index @ (DType::I32 | DType::I64) => Ok(index),
        other => dtype::refuse(format!("Targmax must be i32 or i64, got {other}")),
    }
}

fn build<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    dtype::common(&[values[0].dtype()], 0, 1, dtype::Class::Number)?;
    let index = index_dtype(cx.attrs())?;
    if cx.attrs().str("padding") == "EXPLICIT" {
        return refuse("padding must be SAME or VALID, got EXPLICIT".to_string());
    }
    let x = of_rank(values[0], 4, "the operand of a pool")?;
    let [_, sizes, strides] = operand_values(cx, ["input", "ksize", "strides"], values);
    let places = positions(x, cx.attrs(), [sizes, strides], true)?;
    let largest = x.reshape([-1])?.gather(places, 0)?;
    let places = match cx.attrs().bool("include_batch_in_index") {
        true => places,
        false => positions(x, cx.attrs(), [sizes, strides], false)?,
    };
    Ok(vec![largest, places.cast(index)?])
}

/// Windows along an axis of an image.
struct PoolAxis {
    /// The number of windows.
    count: usize,
    /// For each window: its first position within the axis, and its last position plus 1.
    ranges: Vec<[usize; 2]>,
}

impl PoolAxis {
    /// # Errors
    /// No window fits.
    fn new(
        extent: usize,
        size: usize,
        stride: usize,
        padding: &str,
        explicit: [usize; 2],
    ) -> Result<PoolAxis> {
        let (count, before) = match padding {
            "SAME" => {
                let count = extent.div_ceil(stride);
                let missing = (count.saturating_sub(1) * stride + size).saturating_sub(extent);
                (count, missing / 2)
            }
            // `(padded - size + stride) / stride`, rounded toward zero.
            _ => match (explicit[0] + extent + explicit[1] + stride).checked_sub(size) {
                Some(dividend) => (dividend / stride, explicit[0]),
                None if explicit[0] + extent + explicit[1] + 2 * stride > size => (0, explicit[0]),
                None => {
                    let message = format!("a window must fit into the input, got {size} and {extent}");
                    return Err(Error::new(ErrorKind::Shape, Phase::Run, message));
                }
            },
        };
        let range = |window: usize| {
            let start = window * stride;
            [start.saturating_sub(before).min(extent), (start + size).saturating_sub(before).min(extent)]
        };
        Ok(PoolAxis { count, ranges: (0..count).map(range).collect() })
    }
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let x = RowMajor::new(cx.input(0)?)?;
    let x = x.view();
    let format = data_format(cx.attrs(), 2)?;
    let list = |name: &str, operand: usize| -> Result<Vec<usize>> {
        let entries = param_ints(cx, name, operand)?.unwrap_or_default();
        Ok(entries.into_iter().map(|entry| usize::try_from(entry).unwrap_or(0)).collect())
    };
    // A size that an attribute gives is not among the operands.
    let first = 1 + usize::from(cx.attrs().get("ksize").is_none());
    let (sizes, strides) = (list("ksize", 1)?, list("strides", first)?);
    let explicit = list("explicit_paddings", usize::MAX)?;
    let padding = cx.attrs().str("padding").to_string();
    let height = format.first_spatial_axis();
    let width = height + 1;
    let axis = |axis: usize| {
        let pair = explicit.get(2 * axis..2 * axis + 2).map_or([0, 0], |pair| [pair[0], pair[1]]);
        PoolAxis::new(x.sizes()[axis], sizes[axis], strides[axis], &padding, pair)
    };
    let (rows, columns) = (axis(height)?, axis(width)?);
    let [images, channels] = [x.sizes()[0], x.sizes()[format.channel_axis(4)]];
    let keys = order_keys(&x)?;
    let row_length = x.sizes()[width];
    // The distance from an element to the next row, column and channel.
    let [to_row, to_column, to_channel] = match format {
        DataFormat::ChannelsLast => [row_length * channels, channels, 1],
        DataFormat::ChannelsFirst => [row_length, 1, row_length * x.sizes()[height]],
    };
    let image_length = x.sizes()[1..].iter().product::<usize>();
    let from_first = cx.attrs().bool("include_batch_in_index");
    let mut result_sizes = x.sizes().to_vec();
    (result_sizes[height], result_sizes[width]) = (rows.count, columns.count);
    let mut result = cx.unfilled_output(0, &result_sizes)?;
    let result = result.as_mut_slice::<i64>()?;
    let mut found = result.iter_mut();
    let mut window = |image: usize, channel: usize, [top, bottom]: [usize; 2], [left, right]: [usize; 2]| {
        let start = image * image_length;
        let mut best: Option<(u64, usize)> = None;
        for row in top..bottom {
            for column in left..right {
                let position = row * to_row + column * to_column + channel * to_channel;
                let key = keys[start + position];
                if best.is_none_or(|(largest, _)| key > largest) {
                    best = Some((key, position));
                }
            }
        }
        let offset = if from_first { start } else { 0 };
        let place = found.next().expect("there is an element for every window");
        *place = best.map_or(-1, |(_, position)| (offset + position) as i64);
    };
    for image in 0..images {
        match format {
            DataFormat::ChannelsLast => {
                for row in &rows.ranges {
                    for column in &columns.ranges {
                        (0..channels).for_each(|channel| window(image, channel, *row, *column));
                    }
                }
            }
            DataFormat::ChannelsFirst => {
                for channel in 0..channels {
                    for row in &rows.ranges {
                        columns.ranges.iter().for_each(|column| window(image, channel, *row, *column));
                    }
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run_one, shape_table, tensor};

    shape_table! { POSITIONS, {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"},
        "[n, 4, 5, c]" => "i64[n, 2, 3, c]",
        "bool[1, 2, 2, 1]" => error "the element type must be an integer or a float",
        "[4]" => error "rank 4",
    }

    #[test]
    fn positions_count_from_the_image_or_from_the_first_image() {
        let x = tensor(&[2, 2, 2, 1], &[1, 5, 5, 2, 7, 7, 0, 9]);
        let attrs = Attrs::new().with("ksize", [1, 2, 2, 1]).with("strides", [1, 2, 2, 1]);
        let attrs = attrs.with("padding", "VALID");
        let places = run_one(&POSITIONS, &attrs, std::slice::from_ref(&x));
        assert_eq!(places.to_vec::<i64>().unwrap(), [1, 3]);
        let places = run_one(&POSITIONS, &attrs.with("include_batch_in_index", true), &[x]);
        assert_eq!(places.to_vec::<i64>().unwrap(), [1, 7]);
    }

    #[test]
    fn a_window_in_the_padding_has_no_position() {
        let attrs = Attrs::new().with("ksize", [1, 1, 1, 1]).with("strides", [1, 1, 1, 1]);
        let attrs = attrs.with("padding", "EXPLICIT").with("explicit_paddings", [0, 0, 1, 0, 0, 1, 0, 0]);
        let places = run_one(&POSITIONS, &attrs, &[tensor(&[1, 1, 1, 2], &[3.0f64, 4.0])]);
        assert_eq!(places.to_vec::<i64>().unwrap(), [-1, -1, -1, -1, 0, 1, -1, -1]);
    }
}
