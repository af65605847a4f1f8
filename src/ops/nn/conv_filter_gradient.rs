//! `conv_2d_filter_grad`, `conv_3d_filter_grad`, `conv_3d_filter_grad_like` and `depthwise_conv_2d_filter_grad`: the
//! gradients of convolutions with respect to their filters.

use std::panic::Location;

use shapeflow_shape_fns::{Attr, Attribute, Attrs, DType, Dim, counted};

use super::conv::{Geometry, IMAGE_ATTRS, VOLUME_ATTRS, convolved};
use super::conv_gradient::{group_count, of_windows, result_dims};
use super::convolve_windows;
use super::window::{by_groups, dims_of, of_rank, padded, param_dims, refuse, with_shape};
use crate::dtype;
use crate::error::Result;
use crate::expr::Scalar;
use crate::graph::{IntoOperand, IntoParam, Value};
use crate::op::{CompositeCx, OpDef, Operand, TfOp};
use crate::ops::in_tensorflow::widened;
use crate::ops::nn::{DataFormat, Padding};

impl<'g> Value<'g> {
    /// Returns the gradient of [`Value::conv_2d`] with respect to its filter, whose sizes are `filter_sizes`, from the
    /// images `self` and the gradient of the result.
    ///
    /// `[n, h, w, g*c], gradient [n, oh, ow, g*m], filter_sizes -> [kh, kw, c, g*m]`, or `[n, g*c, h, w], [n, g*m, oh,
    /// ow]`; integers (which wrap) and floats of one dtype. The other parameters are those of the convolution. As
    /// TensorFlow's `Conv2DBackpropFilter`. The op is composed of a matmul of the windows of the images.
    ///
    /// ```
    /// use shapeflow::{DType, DataFormat, Graph, Padding, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n", 8, 8, 3])?;
    /// let gradient = g.input("gradient", DType::F32, shape!["n", 8, 8, 16])?;
    /// let one = [1, 1];
    /// let format = DataFormat::ChannelsLast;
    /// let y = x.conv_2d_filter_grad(gradient, [3, 3, 3, 16], one, one, Padding::Same, format)?;
    /// assert_eq!(y.shape().to_string(), "[3, 3, 3, 16]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `filter_sizes` is not known when the graph is built, or a convolution of `self` with a filter of these sizes
    /// does not have the sizes of the gradient; else as [`Value::conv_2d`].
    #[doc(alias = "conv2d_weight")]
    #[track_caller]
    pub fn conv_2d_filter_grad(
        self,
        gradient: impl IntoOperand<'g>,
        filter_sizes: impl IntoParam<'g>,
        strides: impl IntoParam<'g>,
        dilations: impl IntoParam<'g>,
        padding: Padding,
        format: DataFormat,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        let gradient = gradient.into_operand(self, location);
        let lists = [strides.into_param(), dilations.into_param()];
        let call = self.graph().op(&IMAGES).data(self).size("filter_sizes", filter_sizes).data(gradient);
        convolved::<2>(call, lists, &padding, format).finish_at(location)
    }

    /// Returns the gradient of [`Value::conv_3d`] with respect to its filter, as [`Value::conv_2d_filter_grad`] does
    /// for images.
    ///
    /// `[n, d, h, w, c], gradient [n, od, oh, ow, m], filter_sizes -> [kd, kh, kw, c, m]`, for one group; else as
    /// [`Value::conv_2d_filter_grad`]. As TensorFlow's `Conv3DBackpropFilterV2`. The op is composed of a convolution of
    /// the volumes with the gradient.
    ///
    /// ```
    /// use shapeflow::{DType, DataFormat, Graph, Padding, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n", 4, 4, 4, 3])?;
    /// let gradient = g.input("gradient", DType::F32, shape!["n", 4, 4, 4, 5])?;
    /// let one = [1, 1, 1];
    /// let format = DataFormat::ChannelsLast;
    /// let y = x.conv_3d_filter_grad(gradient, [3, 3, 3, 3, 5], one, one, Padding::Same, format)?;
    /// assert_eq!(y.shape().to_string(), "[3, 3, 3, 3, 5]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The padding is explicit, or a rank is not 5; else as [`Value::conv_2d_filter_grad`].
    #[doc(alias = "conv3d_weight")]
    #[track_caller]
    pub fn conv_3d_filter_grad(
        self,
        gradient: impl IntoOperand<'g>,
        filter_sizes: impl IntoParam<'g>,
        strides: impl IntoParam<'g>,
        dilations: impl IntoParam<'g>,
        padding: Padding,
        format: DataFormat,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        let gradient = gradient.into_operand(self, location);
        let lists = [strides.into_param(), dilations.into_param()];
        let call = self.graph().op(&VOLUMES).data(self).size("filter_sizes", filter_sizes).data(gradient);
        convolved::<3>(call, lists, &padding, format).finish_at(location)
    }

    /// Returns the gradient of [`Value::depthwise_conv_2d`] with respect to its filter, as
    /// [`Value::conv_2d_filter_grad`] does for a convolution.
    ///
    /// `[n, h, w, c], gradient [n, oh, ow, c*m], filter_sizes -> [kh, kw, c, m]`; else as
    /// [`Value::conv_2d_filter_grad`]. As TensorFlow's `DepthwiseConv2dNativeBackpropFilter`. The op is composed of
    /// paddings and a reduction, which fuse into kernels.
    ///
    /// ```
    /// use shapeflow::{DType, DataFormat, Graph, Padding, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n", 8, 8, 3])?;
    /// let gradient = g.input("gradient", DType::F32, shape!["n", 8, 8, 6])?;
    /// let one = [1, 1];
    /// let format = DataFormat::ChannelsLast;
    /// let y = x.depthwise_conv_2d_filter_grad(gradient, [3, 3, 3, 2], one, one, Padding::Same, format)?;
    /// assert_eq!(y.shape().to_string(), "[3, 3, 3, 2]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::conv_2d_filter_grad`].
    #[track_caller]
    pub fn depthwise_conv_2d_filter_grad(
        self,
        gradient: impl IntoOperand<'g>,
        filter_sizes: impl IntoParam<'g>,
        strides: impl IntoParam<'g>,
        dilations: impl IntoParam<'g>,
        padding: Padding,
        format: DataFormat,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        let gradient = gradient.into_operand(self, location);
        let lists = [strides.into_param(), dilations.into_param()];
        let call = self.graph().op(&DEPTHWISE).data(self).size("filter_sizes", filter_sizes).data(gradient);
        convolved::<2>(call, lists, &padding, format).finish_at(location)
    }
}

const OPERANDS: &[Operand] =
    &[Operand::Data("input"), Operand::Size("filter_sizes"), Operand::Data("out_backprop")];

/// The gradient with respect to the filter:
/// `input [n, h, w, c], filter_sizes, out_backprop [n, oh, ow, m] -> [kh, kw, c, m]`. The op is a matmul: the windows
/// of the images are one matrix, and `out_backprop` is the other matrix. As TensorFlow's `Conv2DBackpropFilter`.
pub(crate) static IMAGES: OpDef = OpDef::composite("conv_2d_filter_grad", build_images)
    .attrs(IMAGE_ATTRS)
    .operands(OPERANDS)
    .tensorflow(&[TfOp::new("Conv2DBackpropFilter")]);

/// As [`IMAGES`] for volumes: `input [n, d, h, w, c], filter_sizes, out_backprop [n, od, oh, ow, m] ->
/// [kd, kh, kw, c, m]`. The op is a convolution of the volumes with `out_backprop`. As TensorFlow's
/// `Conv3DBackpropFilterV2`.
pub(crate) static VOLUMES: OpDef = OpDef::composite("conv_3d_filter_grad", build_volumes)
    .attrs(VOLUME_ATTRS)
    .operands(OPERANDS)
    .dtype_rule(same_as_others)
    .tensorflow(&[TfOp::new("Conv3DBackpropFilterV2")]);

/// As [`VOLUMES`], with a filter whose shape is the shape of the result, and the channels last. As TensorFlow's
/// `Conv3DBackpropFilter`.
pub(crate) static VOLUMES_LIKE: OpDef = OpDef::composite("conv_3d_filter_grad_like", build_volumes_like)
    .attrs(&[Attribute::ints("strides"), Attribute::ints_or("dilations", &[]), Attribute::str("padding")])
    .operands(&[Operand::Data("input"), Operand::Data("filter"), Operand::Data("out_backprop")])
    .dtype_rule(same_as_others)
    .tensorflow(&[TfOp::new("Conv3DBackpropFilter")]);

/// As [`IMAGES`] for a depthwise convolution:
/// `input [n, h, w, c], filter_sizes, out_backprop [n, oh, ow, c*m] -> [kh, kw, c, m]`. As TensorFlow's
/// `DepthwiseConv2dNativeBackpropFilter`.
pub(crate) static DEPTHWISE: OpDef = OpDef::composite("depthwise_conv_2d_filter_grad", build_depthwise)
    .attrs(IMAGE_ATTRS)
    .operands(OPERANDS)
    .dtype_rule(same_as_others)
    .tensorflow(&[TfOp::new("DepthwiseConv2dNativeBackpropFilter")]);

/// The dtype of the input and of the gradient, which are the first and the last operand.
fn same_as_others(dtypes: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    let ends: Vec<DType> = dtypes.first().into_iter().chain(dtypes.last()).copied().collect();
    Ok(vec![dtype::common(&ends, 0, 2, dtype::Class::Number)?])
}

/// Returns the dimensions of a filter of images.
fn filter_dims(cx: &CompositeCx<'_>, fed: Option<&Value<'_>>) -> Result<Vec<Dim>> {
    match param_dims(cx.attrs(), "filter_sizes", fed) {
        Some(dims) => Ok(dims),
        None => refuse("filter_sizes must be known when the graph is built, got a fed tensor".to_string()),
    }
}

fn build_images<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let [x, fed @ .., gradient] = values else {
        return refuse("the gradient of a filter needs an input and a gradient".to_string());
    };
    dtype::common(&[x.dtype(), gradient.dtype()], 0, 2, dtype::Class::Number)?;
    let weights = filter_dims(cx, fed.first())?;
    let (geometry, [x, gradient]) = channels_last(cx.attrs(), [*x, *gradient])?;
    let groups = match &weights[..] {
        [_, _, inputs, _] => group_count(&dims_of(x)[3], inputs)?,
        _ => 1,
    };
    let mut of_group = weights.clone();
    if groups > 1 {
        of_group[3] = exact_part(&weights[3], groups)?;
    }
    let all = by_groups(groups, [x, gradient], |x, gradient| {
        Operands::new(&geometry, [x, gradient], of_group.clone(), false)?.one_group()
    })?;
    Ok(vec![all])
}

fn build_depthwise<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let [x, fed @ .., gradient] = values else {
        return refuse("the gradient of a filter needs an input and a gradient".to_string());
    };
    dtype::common(&[x.dtype(), gradient.dtype()], 0, 2, dtype::Class::Number)?;
    let weights = filter_dims(cx, fed.first())?;
    let (geometry, operands) = channels_last(cx.attrs(), [*x, *gradient])?;
    Ok(vec![Operands::new(&geometry, operands, weights, true)?.one_group_per_channel()?])
}

/// Returns the geometry of a convolution of images, and the images and the gradient with the channels last.
fn channels_last<'g>(attrs: &Attrs, [x, gradient]: [Value<'g>; 2]) -> Result<(Geometry, [Value<'g>; 2])> {
    let geometry = Geometry::new(attrs, 2)?;
    let x = geometry.channels_last(x, "the images of a convolution")?;
    let gradient = geometry.channels_last(gradient, "the gradient of a convolution")?;
    Ok((geometry, [x, gradient]))
}

/// Returns the number of filters of each group.
fn exact_part(filters: &Dim, groups: i64) -> Result<Dim> {
    filters.exact_div(Dim::known(groups)).map_or_else(
        || {
            refuse(format!(
                "the number of filters must be a multiple of {groups}, the number of groups, got {filters}"
            ))
        },
        Ok,
    )
}

/// The windows of images and the gradient of a convolution, with the channels last.
struct Operands<'g> {
    /// `[n, oh, ow, kh*kw*c]`.
    patches: Value<'g>,
    gradient: Value<'g>,
    /// The dimensions of the filter.
    weights: Vec<Dim>,
    /// The number of elements of the filter for each channel and each result.
    positions: i64,
}

impl<'g> Operands<'g> {
    /// # Errors
    /// An attribute or a shape is invalid, or the sizes of the windows are not known.
    fn new(
        geometry: &Geometry,
        [x, gradient]: [Value<'g>; 2],
        weights: Vec<Dim>,
        is_depthwise: bool,
    ) -> Result<Operands<'g>> {
        let [rows, columns, inputs, outputs] = &weights[..] else {
            return refuse(format!("filter_sizes must have 4 entries, got {}", weights.len()));
        };
        let (Some(rows), Some(columns)) = (rows.as_known(), columns.as_known()) else {
            return refuse(
                "filter_sizes must be known when the graph is built, got a fed tensor".to_string(),
            );
        };
        let x = with_channels(x, inputs)?;
        let dims = dims_of(x);
        let windows = geometry.windows(&dims, &weights[..2])?;
        let patches = geometry.patches(windows.pad(x, Scalar::zero(x.dtype()))?, [rows, columns])?;
        let filters = match is_depthwise {
            true => inputs.checked_mul(outputs)?,
            false => outputs.clone(),
        };
        let gradient = of_windows(gradient, &windows, &dims, &filters)?;
        Ok(Operands { patches, gradient, weights, positions: rows * columns })
    }

    /// Returns the product of the windows and the gradient.
    fn one_group(self) -> Result<Value<'g>> {
        let width = dims_of(self.patches)[3].clone();
        let patches = self.patches.reshape(&[Dim::known(-1), width][..])?;
        let gradient = self.gradient.reshape(&[Dim::known(-1), self.weights[3].clone()][..])?;
        patches.matmul_transposed(gradient, true, false)?.reshape(&self.weights[..])
    }

    /// Returns the products of the windows of each channel and the gradients of the channel's results.
    fn one_group_per_channel(self) -> Result<Value<'g>> {
        let (channels, filters) = (self.weights[2].clone(), self.weights[3].clone());
        let (one, any) = (Dim::known(1), Dim::known(-1));
        let dtype = self.patches.dtype();
        let wide = if matches!(dtype, DType::F16 | DType::BF16) { DType::F32 } else { dtype };
        let window = Dim::known(self.positions);
        let patches = self.patches.cast(wide)?;
        let patches = patches.reshape(&[any.clone(), window, channels.clone(), one.clone()][..])?;
        let gradient = self.gradient.cast(wide)?.reshape(&[any, one, channels, filters][..])?;
        patches.mul(gradient)?.reduce_sum(0)?.cast(dtype)?.reshape(&self.weights[..])
    }
}

/// Returns `x`, whose last axis must have the number of channels of the filter, `inputs`.
///
/// # Errors
/// The numbers provably differ.
fn with_channels<'g>(x: Value<'g>, inputs: &Dim) -> Result<Value<'g>> {
    let mut dims = dims_of(x);
    let channels = dims.last_mut().expect("images and volumes have channels");
    if channels.same(inputs) == Some(false) {
        return refuse(format!(
            "the gradient of a convolution needs one group of channels, got {channels} and filters of \
             {inputs}",
            channels = counted(channels, "channel")
        ));
    }
    *channels = inputs.clone();
    with_shape("the channels of the input and of the filter", x, &dims)
}

fn build_volumes<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let [x, fed @ .., gradient] = values else {
        return refuse("the gradient of a filter needs an input and a gradient".to_string());
    };
    dtype::common(&[x.dtype(), gradient.dtype()], 0, 2, dtype::Class::Number)?;
    let fed = fed.first().copied();
    let weights = result_dims(cx, "filter_sizes", fed, 5, None)?;
    Ok(vec![of_volumes(cx.attrs(), [*x, *gradient], weights)?])
}

fn build_volumes_like<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let [x, filter, gradient] = *values else {
        return refuse("the gradient of a filter needs an input, a filter and a gradient".to_string());
    };
    dtype::common(&[x.dtype(), filter.dtype(), gradient.dtype()], 0, 3, dtype::Class::Number)?;
    let attrs = cx.attrs().clone().with("data_format", DataFormat::ChannelsLast.name(3));
    let weights = dims_of(of_rank(filter, 5, "the filter of a convolution")?);
    Ok(vec![of_volumes(&attrs, [x, gradient], weights)?])
}

/// Convolves the volumes, whose channels take the place of the batch, with the gradient: the batch takes the place of
/// the channels, the strides are dilations, and the dilations are strides.
fn of_volumes<'g>(attrs: &Attrs, [x, gradient]: [Value<'g>; 2], weights: Vec<Dim>) -> Result<Value<'g>> {
    let geometry = Geometry::new(attrs, 3)?;
    let x = geometry.channels_last(x, "the volumes of a convolution")?;
    let gradient = geometry.channels_last(gradient, "the gradient of a convolution")?;
    let [_, _, _, inputs, outputs] = &weights[..] else {
        return refuse(format!("filter_sizes must have 5 entries, got {}", weights.len()));
    };
    let x = with_channels(x, inputs)?;
    let dims = dims_of(x);
    let mut windows = geometry.windows(&dims, &weights[..3])?;
    let mut gradient = of_windows(gradient, &windows, &dims, outputs)?;
    if dims[0].as_known().is_none_or(|batch| batch == 0) {
        // A convolution has channels. A volume of zeros adds nothing to the gradient.
        let mut paddings = vec![[Dim::known(0), Dim::known(0)]; 5];
        paddings[0][1] = Dim::known(1);
        gradient = padded(gradient, &paddings, Scalar::zero(gradient.dtype()))?;
        windows.paddings[0] = paddings.swap_remove(0);
    }
    let images = windows.pad(x, Scalar::zero(x.dtype()))?.transpose([4, 1, 2, 3, 0])?;
    let filter = gradient.transpose([1, 2, 3, 0, 4])?;
    let (images, filter) = (widened(images)?, widened(filter)?);
    let call = x.graph().op(&convolve_windows::VOLUMES).data(images).data(filter).attr("padding", "VALID");
    let call = call.attr("strides", Attr::Ints(windows.dilations.clone().into()));
    let all = call.attr("dilations", DataFormat::ChannelsLast.attr(&geometry.strides)).finish()?;
    // Behind the filter are the products with elements that no window reaches.
    let mut size = vec![dims_of(all)[0].clone()];
    size.extend(weights[..3].iter().cloned());
    size.push(outputs.clone());
    all.slice(vec![0; 5], &size[..])?.cast(x.dtype())?.transpose([1, 2, 3, 0, 4])?.reshape(&weights[..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;
    use crate::tensor::Tensor;
    use crate::{Attr, TensorShape as Shape, shape};

    /// The gradient of a filter of one element, over images of 4 by 4 pixels.
    fn filter_gradient(g: &Graph, gradient: Shape) -> Result<Value<'_>> {
        let x = g.input("x", DType::F32, [1, 4, 4, 1])?;
        let gradient = g.input("gradient", DType::F32, gradient)?;
        let call = g.op(&IMAGES).data(x).size("filter_sizes", [1, 1, 1, 1]).data(gradient);
        call.attr("strides", Attr::from([1, 1, 1, 1])).attr("padding", "VALID").finish()
    }

    #[test]
    fn a_run_refuses_channels_that_the_filter_does_not_have() {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape![1, 1, 1, ?]).unwrap();
        let gradient = g.input("gradient", DType::F32, [1, 1, 1, 2]).unwrap();
        let call = g.op(&DEPTHWISE).data(x).size("filter_sizes", [1, 1, 2, 1]).data(gradient);
        let y = call.attr("strides", Attr::from([1, 1, 1, 1])).attr("padding", "VALID").finish().unwrap();
        let exe = g.compile(y).unwrap();
        let run = |channels: usize| {
            let [x, gradient] = [channels, 2].map(|size| Tensor::full(&[1, 1, 1, size], 1.0f32).unwrap());
            exe.run::<1>(&[x.view(), gradient.view()])
        };
        assert_eq!(run(2).unwrap()[0].to_vec::<f32>().unwrap(), [1.0, 1.0]);
        assert!(run(4).is_err());
    }

    #[test]
    fn the_gradient_of_a_filter_has_one_element_for_each_window() {
        let g = Graph::new();
        let error = filter_gradient(&g, shape![1, 2, 8, 1]).unwrap_err();
        assert!(error.message().contains("[1, 4, 4, 1]"), "{error}");
        let g = Graph::new();
        let exe = g.compile(filter_gradient(&g, shape![?, ?, ?, 1]).unwrap()).unwrap();
        let run = |sizes: &[usize]| {
            let [x, gradient] = [&[1, 4, 4, 1], sizes].map(|sizes| Tensor::full(sizes, 1.0f32).unwrap());
            exe.run::<1>(&[x.view(), gradient.view()])
        };
        assert_eq!(run(&[1, 4, 4, 1]).unwrap()[0].to_vec::<f32>().unwrap(), [16.0]);
        assert!(run(&[1, 2, 8, 1]).is_err());
    }
}
