//! `max_pool` and `avg_pool`: the maximum and the mean of every window of an image or a volume.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Dim};

use super::reduce_window;
use super::window::{
    Padding, Windows, data_format, dims_of, list_text, of_rank, operand_values, refuse, window_dims,
    with_pool_windows,
};
use crate::dtype;
use crate::error::Result;
use crate::expr::Scalar;
use crate::graph::{IntoParam, Param, Value};
use crate::op::{CompositeCx, OpDef, Operand, TfOp};
use crate::ops::nn::DataFormat;

impl<'g> Value<'g> {
    /// Returns the maximum of every window of `sizes`: rows and columns of images, or depth, rows and columns of
    /// volumes. Windows start `strides` apart.
    ///
    /// `[n, h, w, c] -> [n, oh, ow, c]`, or `[n, c, h, w] -> [n, c, oh, ow]`; integers and floats. Volumes have an axis
    /// `d` before `h`. With [`Padding::Same`], `oh` is `ceil(h/stride)`; else it is the number of windows that fit.
    /// Padding is never the maximum. The maximum is NaN if an element is NaN, and -inf if all elements are -inf. As
    /// TensorFlow's `MaxPool` and `MaxPool3D`, which may ignore a NaN, and may give the lowest finite number for -inf;
    /// windows of volumes start as in [`Value::conv_3d`]. The op is composed of a padding and of a reduction, which fuse
    /// into kernels.
    ///
    /// ```
    /// use shapeflow::{DType, DataFormat, Graph, Padding, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n", 7, 8, 3])?;
    /// let y = x.max_pool([2, 2], [2, 2], Padding::Same, DataFormat::ChannelsLast)?;
    /// assert_eq!(y.shape().to_string(), "[n, 4, 4, 3]");
    /// let volumes = g.input("volumes", DType::F32, shape!["n", 6, 7, 8, 3])?;
    /// let y = volumes.max_pool([1, 2, 2], [1, 2, 2], Padding::Same, DataFormat::ChannelsLast)?;
    /// assert_eq!(y.shape().to_string(), "[n, 6, 4, 4, 3]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is neither an integer nor a float, there are not 2 or 3 sizes and as many strides, the rank is
    /// not the number of sizes plus 2, a size or stride is less than 1, no window fits, volumes have an explicit
    /// padding, or an explicit padding is not less than the size of the windows.
    ///
    /// A run checks what is unknown when the graph is built, such as sizes and strides that are values. Without
    /// [`Padding::Same`], the number of windows along an axis is `(h - size + stride) / stride`, rounded toward zero.
    /// The run fails if this number is negative.
    #[doc(alias = "max_pool2d")]
    #[doc(alias = "max_pool3d")]
    #[track_caller]
    pub fn max_pool(
        self,
        sizes: impl IntoParam<'g>,
        strides: impl IntoParam<'g>,
        padding: Padding,
        format: DataFormat,
    ) -> Result<Value<'g>> {
        let params = [sizes.into_param(), strides.into_param()];
        pooled(self, [&MAX, &MAX_OF_VOLUMES], params, &padding, format, Location::caller())
    }

    /// Returns the mean of every window. Takes the parameters of [`Value::max_pool`]. The mean leaves out
    /// the padding.
    ///
    /// `[n, h, w, c] -> [n, oh, ow, c]`, or `[n, c, h, w] -> [n, c, oh, ow]`; floats. Volumes have an axis `d` before
    /// `h`. f16 and bf16 are summed as f32 and rounded once. As TensorFlow's `AvgPool` and `AvgPool3D`; windows of
    /// volumes start as in [`Value::conv_3d`]. The op is composed of a padding and of a reduction, which fuse into
    /// kernels.
    ///
    /// ```
    /// use shapeflow::{DType, DataFormat, Graph, Padding, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n", 8, 8, 3])?;
    /// let y = x.avg_pool([2, 2], [2, 2], Padding::Valid, DataFormat::ChannelsLast)?;
    /// assert_eq!(y.shape().to_string(), "[n, 4, 4, 3]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not a float; else as [`Value::max_pool`].
    #[doc(alias = "avg_pool2d")]
    #[doc(alias = "avg_pool3d")]
    #[doc(alias = "average_pool")]
    #[track_caller]
    pub fn avg_pool(
        self,
        sizes: impl IntoParam<'g>,
        strides: impl IntoParam<'g>,
        padding: Padding,
        format: DataFormat,
    ) -> Result<Value<'g>> {
        let params = [sizes.into_param(), strides.into_param()];
        pooled(self, [&AVG, &AVG_OF_VOLUMES], params, &padding, format, Location::caller())
    }
}

/// Calls the first of the two ops for images, and the second one for volumes.
fn pooled<'g>(
    x: Value<'g>,
    [images, volumes]: [&'static OpDef; 2],
    [sizes, strides]: [Param<'g>; 2],
    padding: &Padding,
    format: DataFormat,
    location: &'static Location<'static>,
) -> Result<Value<'g>> {
    x.graph().in_call_at(images.name(), location, || {
        let call = |def| x.graph().op(def).data(x);
        match spatial_axes(x, &sizes, &strides) {
            Ok(spatial) => {
                let call = call(if spatial == 2 { images } else { volumes });
                with_pool_windows(call, [sizes, strides], spatial, padding, format).finish_at(location)
            }
            Err(error) => {
                let mut call = call(images);
                call.refuse(error);
                call.finish_at(location)
            }
        }
    })
}

/// Returns the number of spatial axes: the number of sizes, or of axes of `x` besides the batch and the channels.
///
/// # Errors
/// There are not 2 or 3 sizes and as many strides, or neither their number nor the rank of `x` is known.
fn spatial_axes<'g>(x: Value<'g>, sizes: &Param<'g>, strides: &Param<'g>) -> Result<usize> {
    let count = |list: &Param<'g>| match list {
        Param::Elements(list) => Some(list.elements().len() as i64),
        Param::Value(value) => value.shape().dims().and_then(|dims| dims.first()?.as_known()),
        Param::Refused(_) => None,
    };
    let by_rank = || x.shape().rank().map(|rank| rank as i64 - 2);
    let Some(spatial) = count(sizes).or_else(|| count(strides)).or_else(by_rank) else {
        return refuse("the number of sizes or the rank of the operand must be known".to_string());
    };
    match (spatial, count(strides)) {
        (2 | 3, Some(other)) if other != spatial => {
            refuse(format!("strides must be {spatial} integers, as sizes, got {other}"))
        }
        (2 | 3, _) => Ok(spatial as usize),
        _ => refuse(format!("sizes must be 2 integers for images or 3 integers for volumes, got {spatial}")),
    }
}

/// The attributes of a pool of images.
pub(super) const IMAGE_ATTRS: &[Attribute] = &[
    Attribute::str("padding"),
    Attribute::ints_or("explicit_paddings", &[]),
    Attribute::str_or("data_format", "NHWC"),
];

/// The attributes of a pool of volumes.
pub(super) const VOLUME_ATTRS: &[Attribute] =
    &[Attribute::str("padding"), Attribute::str_or("data_format", "NDHWC")];

pub(crate) static MAX: OpDef = OpDef::composite("max_pool", |cx, values| build(cx, values, 2, "max"))
    .attrs(IMAGE_ATTRS)
    .operands(&[Operand::Data("input"), Operand::Size("ksize"), Operand::Size("strides")])
    .tensorflow(&[TfOp::new("MaxPool"), TfOp::new("MaxPoolV2")]);

pub(crate) static MAX_OF_VOLUMES: OpDef =
    OpDef::composite("max_pool_3d", |cx, values| build(cx, values, 3, "max"))
        .attrs(VOLUME_ATTRS)
        .operands(&[Operand::Data("input"), Operand::Size("ksize"), Operand::Size("strides")])
        .tensorflow(&[TfOp::new("MaxPool3D")]);

pub(crate) static AVG: OpDef = OpDef::composite("avg_pool", |cx, values| build(cx, values, 2, "mean"))
    .attrs(IMAGE_ATTRS)
    .operands(&[Operand::Data("value"), Operand::Size("ksize"), Operand::Size("strides")])
    .tensorflow(&[TfOp::new("AvgPool")]);

pub(crate) static AVG_OF_VOLUMES: OpDef =
    OpDef::composite("avg_pool_3d", |cx, values| build(cx, values, 3, "mean"))
        .attrs(VOLUME_ATTRS)
        .operands(&[Operand::Data("input"), Operand::Size("ksize"), Operand::Size("strides")])
        .tensorflow(&[TfOp::new("AvgPool3D")]);

/// Refuses a padding so large that a window of a pool could have nothing but padding.
///
/// # Errors
/// A padding is not less than the size of the windows along its axis.
fn require_padding_below(sizes: &[Dim], paddings: &[[Dim; 2]]) -> Result<()> {
    for (axis, (size, pair)) in sizes.iter().zip(paddings).enumerate() {
        if let Some(padding) = pair.iter().find(|padding| padding.lt(size) == Some(false)) {
            return refuse(format!(
                "the padding of a pool must be less than its windows, got {padding} for windows of {size} at axis {axis}"
            ));
        }
    }
    Ok(())
}

/// Pads the operand and reduces its windows.
fn build<'g>(
    cx: &CompositeCx<'_>,
    values: &[Value<'g>],
    spatial: usize,
    op: &'static str,
) -> Result<Vec<Value<'g>>> {
    let class = if op == "max" { dtype::Class::Number } else { dtype::Class::Float };
    dtype::common(&[values[0].dtype()], 0, 1, class)?;
    let format = data_format(cx.attrs(), spatial)?;
    let rank = spatial + 2;
    let [_, sizes, strides] = operand_values(cx, ["input", "ksize", "strides"], values);
    // Along these axes, a window has size 1: the batch and, for volumes, the channels. A window of an image may span
    // its channels.
    let channels = (spatial == 3).then(|| format.channel_axis(rank));
    let ones: Vec<usize> = [0].into_iter().chain(channels).collect();
    let sizes = window_dims(cx.attrs(), "ksize", sizes, rank, &ones)?;
    let strides = window_dims(cx.attrs(), "strides", strides, rank, &ones)?;
    require_ones(&ones, &sizes, &strides)?;
    let x = of_rank(values[0], rank, "the operand of a pool")?;
    let dims = dims_of(x);
    let windows = Windows::with_ones(cx.attrs(), format, &dims, [&sizes, &strides], &ones)?;
    if cx.attrs().str("padding") == "EXPLICIT" {
        require_padding_below(&sizes, &windows.paddings)?;
    }
    windows.require_fit(&dims)?;
    let border = if op == "max" { Scalar::lowest(x.dtype()) } else { Scalar::zero(x.dtype()) };
    let before: Vec<Dim> = windows.paddings.iter().map(|[before, _]| before.clone()).collect();
    let positions = windows.positions();
    let spans = windows.checked_sizes(&sizes, &ones);
    let call = x.graph().op(&reduce_window::DEF).data(windows.pad(x, border)?);
    let call = call.size("sizes", &spans[..]).size("strides", &strides[..]);
    let call = call.attr("op", op).size("positions", &positions[..]);
    let call = match op {
        "mean" => call.size("before", &before[..]).size("extents", &dims[..]),
        _ => call,
    };
    Ok(vec![call.finish()?])
}

/// Refuses windows that provably span the batch, or the channels if their axis is in `ones`.
///
/// # Errors
/// The size or the stride of a window is provably not 1 along an axis of `ones`.
pub(super) fn require_ones(ones: &[usize], sizes: &[Dim], strides: &[Dim]) -> Result<()> {
    let one = Dim::known(1);
    let is_other = |list: &[Dim]| ones.iter().any(|axis| list[*axis].same(&one) == Some(false));
    if !is_other(sizes) && !is_other(strides) {
        return Ok(());
    }
    let what = if ones.len() == 1 { "the batch" } else { "the batch or the channels" };
    let (sizes, strides) = (list_text(sizes), list_text(strides));
    refuse(format!("a window must not span {what}, got ksize [{sizes}] and strides [{strides}]"))
}

#[cfg(test)]
mod tests {
    use super::MAX;
    use crate::{Attr, DType, Graph};

    #[test]
    fn the_batch_and_the_channels_have_no_padding() {
        let g = Graph::new();
        let x = g.input("x", DType::F32, [1, 4, 4, 2]).unwrap();
        for paddings in [[1, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 1]] {
            let call = g.op(&MAX).data(x).attr("padding", "EXPLICIT").attr("explicit_paddings", paddings);
            let call = call.attr("ksize", Attr::from([1, 2, 2, 1])).attr("strides", Attr::from([1, 1, 1, 1]));
            let error = call.finish().unwrap_err();
            assert!(error.message().contains("must be 0 for the batch and the channels"), "{error}");
        }
    }
}
