//! `conv_2d_input_grad`, `conv_3d_input_grad`, `conv_3d_input_grad_like` and `depthwise_conv_2d_input_grad`: the
//! gradients of convolutions with respect to their inputs.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType, Dim, counted};

use super::conv::{Geometry, IMAGE_ATTRS, VOLUME_ATTRS, convolve_fitting, convolved};
use super::conv_by_residues::gradient_by_residues;
use super::list_as_shape::{Requirements, list_dims};
use super::window::{Windows, by_groups, dims_of, of_rank, padded, param_dims, refuse, with_shape};
use crate::dtype;
use crate::error::Result;
use crate::expr::Scalar;
use crate::graph::{IntoOperand, IntoParam, Value};
use crate::op::{CompositeCx, OpDef, Operand, TfOp};
use crate::ops::nn::{DataFormat, Padding};

impl<'g> Value<'g> {
    /// Returns the gradient of [`Value::conv_2d`] with respect to its images, whose sizes are `input_sizes`, from the
    /// gradient `self` of its result. This is a transposed convolution: `self` may be any images, which it enlarges by
    /// the strides.
    ///
    /// `[n, oh, ow, g*m], filter [kh, kw, c, g*m], input_sizes -> [n, h, w, g*c]`, or `[n, g*m, oh, ow] -> [n, g*c, h,
    /// w]`; integers (which wrap) and floats of one dtype. The other parameters are those of the convolution, which
    /// maps images of `input_sizes` to the sizes of `self`. `input_sizes` may hold only `[h, w]`: then there is one
    /// group of channels. As TensorFlow's `Conv2DBackpropInput` and `tf.nn.conv2d_transpose`. The op is composed of one
    /// convolution with the reversed filter and of moves, such as paddings, before and after it. No zeros between the
    /// positions are multiplied, unless the filter is dilated.
    ///
    /// ```
    /// use shapeflow::{DType, DataFormat, Graph, Padding, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n", 8, 8, 16])?;
    /// let filter = g.input("filter", DType::F32, [3, 3, 4, 16])?;
    /// let (step, one) = ([2, 2], [1, 1]);
    /// let y = x.conv_2d_input_grad(filter, [16, 16], step, one, Padding::Same, DataFormat::ChannelsLast)?;
    /// assert_eq!(y.shape().to_string(), "[n, 16, 16, 4]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// A convolution of images of `input_sizes` does not have the sizes of `self`; else as [`Value::conv_2d`].
    #[doc(alias = "conv2d_transpose")]
    #[doc(alias = "conv_transpose2d")]
    #[doc(alias = "deconvolution")]
    #[track_caller]
    pub fn conv_2d_input_grad(
        self,
        filter: impl IntoOperand<'g>,
        input_sizes: impl IntoParam<'g>,
        strides: impl IntoParam<'g>,
        dilations: impl IntoParam<'g>,
        padding: Padding,
        format: DataFormat,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        let filter = filter.into_operand(self, location);
        let lists = [strides.into_param(), dilations.into_param()];
        let call = self.graph().op(&INPUT).size("input_sizes", input_sizes).data(filter).data(self);
        convolved::<2>(call, lists, &padding, format).finish_at(location)
    }

    /// Returns the gradient of [`Value::conv_3d`] with respect to its volumes, as [`Value::conv_2d_input_grad`] does
    /// for images.
    ///
    /// `[n, od, oh, ow, g*m], filter [kd, kh, kw, c, g*m], input_sizes -> [n, d, h, w, g*c]`; else as
    /// [`Value::conv_2d_input_grad`]. As TensorFlow's `Conv3DBackpropInputV2`. The op is composed of paddings and a
    /// convolution with the reversed filter.
    ///
    /// ```
    /// use shapeflow::{DType, DataFormat, Graph, Padding, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n", 4, 4, 4, 16])?;
    /// let filter = g.input("filter", DType::F32, [3, 3, 3, 2, 16])?;
    /// let (step, one) = ([2, 2, 2], [1, 1, 1]);
    /// let y = x.conv_3d_input_grad(filter, [8, 8, 8], step, one, Padding::Same, DataFormat::ChannelsLast)?;
    /// assert_eq!(y.shape().to_string(), "[n, 8, 8, 8, 2]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The padding is explicit, or a rank is not 5; else as [`Value::conv_2d_input_grad`].
    #[doc(alias = "conv3d_transpose")]
    #[doc(alias = "conv_transpose3d")]
    #[track_caller]
    pub fn conv_3d_input_grad(
        self,
        filter: impl IntoOperand<'g>,
        input_sizes: impl IntoParam<'g>,
        strides: impl IntoParam<'g>,
        dilations: impl IntoParam<'g>,
        padding: Padding,
        format: DataFormat,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        let filter = filter.into_operand(self, location);
        let lists = [strides.into_param(), dilations.into_param()];
        let call = self.graph().op(&VOLUMES_INPUT).size("input_sizes", input_sizes).data(filter).data(self);
        convolved::<3>(call, lists, &padding, format).finish_at(location)
    }

    /// Returns the gradient of [`Value::depthwise_conv_2d`] with respect to its images, as
    /// [`Value::conv_2d_input_grad`] does for a convolution.
    ///
    /// `[n, oh, ow, c*m], filter [kh, kw, c, m], input_sizes -> [n, h, w, c]`; else as [`Value::conv_2d_input_grad`].
    /// As TensorFlow's `DepthwiseConv2dNativeBackpropInput`. The op is composed of paddings and a reduction, which fuse
    /// into kernels.
    ///
    /// ```
    /// use shapeflow::{DType, DataFormat, Graph, Padding, shape};
    ///
    /// let g = Graph::new();
    /// let gradient = g.input("gradient", DType::F32, shape!["n", 8, 8, 6])?;
    /// let filter = g.input("filter", DType::F32, [3, 3, 3, 2])?;
    /// let one = [1, 1];
    /// let format = DataFormat::ChannelsLast;
    /// let y = gradient.depthwise_conv_2d_input_grad(filter, [8, 8], one, one, Padding::Same, format)?;
    /// assert_eq!(y.shape().to_string(), "[n, 8, 8, 3]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::conv_2d_input_grad`].
    #[track_caller]
    pub fn depthwise_conv_2d_input_grad(
        self,
        filter: impl IntoOperand<'g>,
        input_sizes: impl IntoParam<'g>,
        strides: impl IntoParam<'g>,
        dilations: impl IntoParam<'g>,
        padding: Padding,
        format: DataFormat,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        let filter = filter.into_operand(self, location);
        let lists = [strides.into_param(), dilations.into_param()];
        let call = self.graph().op(&DEPTHWISE_INPUT).size("input_sizes", input_sizes).data(filter).data(self);
        convolved::<2>(call, lists, &padding, format).finish_at(location)
    }
}

/// The gradient with respect to the images:
/// `input_sizes, filter [kh, kw, c, m], out_backprop [n, oh, ow, m] -> [n, h, w, c]`. The op convolves `out_backprop`
/// with the reversed filter; a stride makes several filters of it, see [`gradient_by_residues`]. If the filter is
/// dilated, the op puts `stride - 1` zeros between the elements of `out_backprop` instead. As TensorFlow's
/// `Conv2DBackpropInput`.
pub(crate) static INPUT: OpDef =
    OpDef::composite("conv_2d_input_grad", |cx, values| build_input(cx, values, 2))
        .attrs(IMAGE_ATTRS)
        .operands(&[Operand::Size("input_sizes"), Operand::Data("filter"), Operand::Data("out_backprop")])
        .dtype_rule(same_as_last)
        .tensorflow(&[TfOp::new("Conv2DBackpropInput")]);

/// As [`INPUT`] for volumes: `input_sizes, filter [kd, kh, kw, c, m], out_backprop [n, od, oh, ow, m] ->
/// [n, d, h, w, c]`. As TensorFlow's `Conv3DBackpropInputV2`.
pub(crate) static VOLUMES_INPUT: OpDef =
    OpDef::composite("conv_3d_input_grad", |cx, values| build_input(cx, values, 3))
        .attrs(VOLUME_ATTRS)
        .operands(&[Operand::Size("input_sizes"), Operand::Data("filter"), Operand::Data("out_backprop")])
        .dtype_rule(same_as_last)
        .tensorflow(&[TfOp::new("Conv3DBackpropInputV2")]);

/// As [`VOLUMES_INPUT`], with an input whose shape is the shape of the result, and the channels last. As TensorFlow's
/// `Conv3DBackpropInput`.
pub(crate) static VOLUMES_INPUT_LIKE: OpDef =
    OpDef::composite("conv_3d_input_grad_like", build_volumes_input_like)
        .attrs(&[Attribute::ints("strides"), Attribute::ints_or("dilations", &[]), Attribute::str("padding")])
        .operands(&[Operand::Data("input"), Operand::Data("filter"), Operand::Data("out_backprop")])
        .dtype_rule(same_as_last)
        .tensorflow(&[TfOp::new("Conv3DBackpropInput")]);

/// As [`INPUT`] for a depthwise convolution: `input_sizes, filter [kh, kw, c, m], out_backprop [n, oh, ow, c*m] ->
/// [n, h, w, c]`. As TensorFlow's `DepthwiseConv2dNativeBackpropInput`.
pub(crate) static DEPTHWISE_INPUT: OpDef =
    OpDef::composite("depthwise_conv_2d_input_grad", build_depthwise_input)
        .attrs(IMAGE_ATTRS)
        .operands(&[Operand::Size("input_sizes"), Operand::Data("filter"), Operand::Data("out_backprop")])
        .dtype_rule(same_as_last)
        .tensorflow(&[TfOp::new("DepthwiseConv2dNativeBackpropInput")]);

fn same_as_last(dtypes: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    Ok(vec![dtype::common(dtypes, dtypes.len().saturating_sub(1), dtypes.len(), dtype::Class::Number)?])
}

/// Returns the dimensions that the parameter `name` holds: the sizes of `rank` axes. `value` holds the parameter if it
/// is not an attribute. If the parameter may hold the sizes of the spatial axes only, `others` are the batch size and
/// the number of channels, and the axis of the channels; the result may then be short if its length is known.
///
/// # Errors
/// The parameter is absent, or provably has another length.
pub(super) fn result_dims<'g>(
    cx: &CompositeCx<'_>,
    name: &'static str,
    value: Option<Value<'g>>,
    rank: usize,
    others: Option<([Dim; 2], usize)>,
) -> Result<Vec<Dim>> {
    if let Some(dims) = param_dims(cx.attrs(), name, value.as_ref())
        && value.is_none_or(|value| value.graph().read().are_defined_by_sizes(&dims))
    {
        return Ok(dims);
    }
    match value {
        Some(value) => {
            list_dims(value.graph(), value, Requirements { name, rank, least: 0, ones: &[], others })
        }
        None => refuse(format!("{name} must be given: it is a list of sizes")),
    }
}

/// Returns the gradient with respect to an input whose sizes are the parameter `input_sizes`.
fn input_gradient_of_sizes<'g>(
    cx: &CompositeCx<'_>,
    geometry: &Geometry,
    fed: Option<&Value<'g>>,
    [filter, gradient]: [Value<'g>; 2],
    is_depthwise: bool,
) -> Result<Vec<Value<'g>>> {
    let (spatial, rank) = (geometry.spatial(), geometry.spatial() + 2);
    let filter = of_rank(filter, rank, "the filter of a convolution")?;
    let gradient = of_rank(gradient, rank, "the gradient of a convolution")?;
    let others = [dims_of(gradient)[0].clone(), dims_of(filter)[spatial].clone()];
    let channel_axis = if geometry.channels_are_first() { 1 } else { rank - 1 };
    let given = result_dims(cx, "input_sizes", fed.copied(), rank, Some((others, channel_axis)))?;
    input_gradient(geometry, given, filter, gradient, is_depthwise)
}

fn build_input<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>], spatial: usize) -> Result<Vec<Value<'g>>> {
    let [fed @ .., filter, gradient] = values else {
        return refuse("the gradient of a convolution needs a filter and a gradient".to_string());
    };
    dtype::common(&[filter.dtype(), gradient.dtype()], 0, 2, dtype::Class::Number)?;
    let geometry = Geometry::new(cx.attrs(), spatial)?;
    input_gradient_of_sizes(cx, &geometry, fed.first(), [*filter, *gradient], false)
}

fn build_depthwise_input<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let [fed @ .., filter, gradient] = values else {
        return refuse("the gradient of a convolution needs a filter and a gradient".to_string());
    };
    dtype::common(&[filter.dtype(), gradient.dtype()], 0, 2, dtype::Class::Number)?;
    let geometry = Geometry::new(cx.attrs(), 2)?;
    input_gradient_of_sizes(cx, &geometry, fed.first(), [*filter, *gradient], true)
}

fn build_volumes_input_like<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let [input, filter, gradient] = *values else {
        return refuse("the gradient of a convolution needs an input, a filter and a gradient".to_string());
    };
    dtype::common(&[input.dtype(), filter.dtype(), gradient.dtype()], 0, 3, dtype::Class::Number)?;
    let attrs = cx.attrs().clone().with("data_format", DataFormat::ChannelsLast.name(3));
    let input = of_rank(input, 5, "the input of a convolution")?;
    input_gradient(&Geometry::new(&attrs, 3)?, dims_of(input), filter, gradient, false)
}

/// Returns the gradient with respect to an input of the sizes `given`: all of them, or the sizes of the spatial axes.
/// If the convolution `is_depthwise`, each channel of the input is a group.
fn input_gradient<'g>(
    geometry: &Geometry,
    given: Vec<Dim>,
    filter: Value<'g>,
    gradient: Value<'g>,
    is_depthwise: bool,
) -> Result<Vec<Value<'g>>> {
    let spatial = geometry.spatial();
    let filter = of_rank(filter, spatial + 2, "the filter of a convolution")?;
    let gradient = geometry.channels_last(gradient, "the gradient of a convolution")?;
    let weights = dims_of(filter);
    let image = image_dims(geometry, given, &dims_of(gradient)[0], &weights[spatial])?;
    let filters = match is_depthwise {
        true => weights[spatial].checked_mul(&weights[spatial + 1])?,
        false => weights[spatial + 1].clone(),
    };
    let windows = geometry.windows(&image, &weights[..spatial])?;
    let gradient = of_windows(gradient, &windows, &image, &filters)?;
    let groups = if is_depthwise { 1 } else { group_count(&image[spatial + 1], &weights[spatial])? };
    let mut of_group = image.clone();
    of_group[spatial + 1] = weights[spatial].clone();
    let result = by_groups(groups, [filter, gradient], |filter, gradient| {
        one_group_gradient(geometry, &of_group, filter, gradient)
    })?;
    let result = with_shape("the input and its gradient", result, &image)?;
    Ok(vec![geometry.in_format(result)?])
}

/// Returns the gradient with respect to images of the dimensions `image`, whose channels are one group. All values have
/// the channels last.
fn one_group_gradient<'g>(
    geometry: &Geometry,
    image: &[Dim],
    filter: Value<'g>,
    gradient: Value<'g>,
) -> Result<Value<'g>> {
    let spatial = geometry.spatial();
    let windows = geometry.windows(image, &dims_of(filter)[..spatial])?;
    if let Some(result) = gradient_by_residues(geometry, &windows, image, filter, gradient)? {
        return Ok(result);
    }
    let gradient = spread_over(gradient, &windows, image, 1..=spatial)?;
    let filter_axes: Vec<usize> = (0..spatial).collect();
    let swapped: Vec<usize> = (0..spatial).chain([spatial + 1, spatial]).collect();
    let reversed = filter.reverse(filter_axes)?.transpose(swapped)?;
    convolve_fitting(&geometry.of_stride_1(), gradient, reversed)
}

/// Returns the number of groups of `inputs` channels. If it is not known, there must be one group, which a run checks.
///
/// # Errors
/// The channels are provably no groups.
pub(super) fn group_count(channels: &Dim, inputs: &Dim) -> Result<i64> {
    match channels.exact_div(inputs).map(|groups| groups.as_known()) {
        Some(Some(groups)) if groups > 0 => Ok(groups),
        _ if channels.same(inputs) != Some(false) => Ok(1),
        _ if channels.is_known() && inputs.is_known() => refuse(format!(
            "the number of channels of the input must be a multiple of the filter's, got {channels} and {inputs}"
        )),
        _ => refuse(format!(
            "the gradient of a convolution needs a known number of groups of channels, got {channels} and filters of \
             {inputs}",
            channels = counted(channels, "channel")
        )),
    }
}

/// Returns the gradient of the result of a convolution of images with these dimensions. It must have one element for
/// each window and filter.
pub(super) fn of_windows<'g>(
    gradient: Value<'g>,
    windows: &Windows,
    image: &[Dim],
    filters: &Dim,
) -> Result<Value<'g>> {
    let mut expected = windows.all_counts(image)?;
    expected[image.len() - 1] = filters.clone();
    with_shape("the gradient and the windows of a convolution", gradient, &expected)
}

/// Returns the sizes of images with the channels last. `given` has the sizes of all axes, in the format of the op, or
/// only the sizes of the spatial axes.
fn image_dims(geometry: &Geometry, given: Vec<Dim>, batch: &Dim, channels: &Dim) -> Result<Vec<Dim>> {
    let rank = geometry.spatial() + 2;
    if let Some(size) = given.iter().find(|size| size.lt(&Dim::known(0)) == Some(true)) {
        return refuse(format!("input_sizes must not be negative, got {size}"));
    }
    let mut given = given;
    if given.len() == geometry.spatial() {
        given.insert(0, batch.clone());
        given.push(channels.clone());
        return Ok(given);
    }
    if given.len() != rank {
        return refuse(format!(
            "input_sizes must have {} or {rank}, got {}",
            rank - 2,
            given.len(),
            rank = counted(rank, "entry")
        ));
    }
    if geometry.channels_are_first() {
        given[1..].rotate_left(1);
    }
    Ok(given)
}

/// Puts `stride - 1` zeros between the elements of a gradient of windows, and zeros around them, along `axes`. Then a
/// window at each position holds the gradients of all windows that cover this position of the images, in reverse order.
/// Windows that cover only padding are cut off. `image` has the dimensions of the images.
pub(super) fn spread_over<'g>(
    gradient: Value<'g>,
    windows: &Windows,
    image: &[Dim],
    axes: impl IntoIterator<Item = usize>,
) -> Result<Value<'g>> {
    let zero = Dim::known(0);
    let mut paddings = vec![[zero.clone(), zero.clone()]; image.len()];
    // For each axis with windows to cut off: how many elements are cut off at its start, and how many stay.
    let mut cut = Vec::new();
    let mut gradient = gradient;
    for axis in axes {
        gradient = spread(gradient, axis, &windows.strides[axis])?;
        let ([front, back], span) = (&windows.paddings[axis], windows.span(axis)?);
        let reach = span.checked_sub(Dim::known(1))?;
        // A window covers only padding if an explicit padding is as large as the window.
        let has_outside =
            |padding: &Dim| !matches!(padding.as_known(), None | Some(0)) && reach.lt(padding) != Some(false);
        let (starts_outside, ends_outside) = (has_outside(front), has_outside(back));
        let mut before = reach.checked_sub(front)?;
        let mut after = image[axis].checked_add(front)?.checked_sub(&dims_of(gradient)[axis])?;
        let mut begin = zero.clone();
        if starts_outside {
            begin = front.checked_sub(&reach)?.max(&zero)?;
            before = before.max(&zero)?;
        }
        if ends_outside {
            after = after.max(&zero)?;
        }
        if starts_outside || ends_outside {
            cut.push((axis, begin, image[axis].checked_add(&reach)?));
        }
        paddings[axis] = [before, after];
    }
    let padded = padded(gradient, &paddings, Scalar::zero(gradient.dtype()))?;
    if cut.is_empty() {
        return Ok(padded);
    }
    let mut begins = vec![zero; image.len()];
    let mut sizes = dims_of(padded);
    for (axis, begin, size) in cut {
        (begins[axis], sizes[axis]) = (begin, size);
    }
    padded.slice(&begins[..], &sizes[..])
}

/// Puts `stride - 1` zeros between the elements along an axis.
pub(crate) fn spread<'g>(x: Value<'g>, axis: usize, stride: &Dim) -> Result<Value<'g>> {
    if stride.as_known() == Some(1) {
        return Ok(x);
    }
    let mut dims = dims_of(x);
    let (zero, one) = (Dim::known(0), Dim::known(1));
    let mut paddings = vec![[zero.clone(), zero.clone()]; dims.len() + 1];
    paddings[axis + 1][1] = stride.checked_sub(&one)?;
    let spread = padded(x.expand_dims(axis as i64 + 1)?, &paddings, Scalar::zero(x.dtype()))?;
    let count = dims[axis].clone();
    dims[axis] = count.checked_mul(stride)?;
    let spread = spread.reshape(&dims[..])?;
    // The zeros after the last element are cut off.
    dims[axis] = count.checked_sub(&one)?.checked_mul(stride)?.checked_add(&one)?.max(&zero)?;
    spread.slice(vec![0; dims.len()], &dims[..])
}

#[cfg(test)]
mod tests;
