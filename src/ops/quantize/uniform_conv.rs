//! `uniform_quantized_conv` and `uniform_quantized_conv_hybrid`: convolutions of uniformly quantized tensors. They are
//! composed of transposes, a convolution of integers and ops on its sums, which fuse into kernels.

use std::panic::Location;

use shapeflow_shape_fns::{Attr, Attribute, Attrs, DType, Dim};

use super::uniform::{Parameters, T_OUT, UniformQuantization, missing};
use super::uniform_dot::{HYBRID, Product, RoundedSlices, axis_of_channels, hybrid_pair};
use super::uniform_requantize::{PAIR, quantized_pair};
use super::uniform_rescale::BOUNDS;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoParam, Value};
use crate::op::{OpDef, TfOp};
use crate::ops::nn::Padding;
use crate::ops::nn::conv::{Geometry, convolve};
use crate::ops::nn::conv_gradient::spread;
use crate::ops::nn::window::{agree, dims_of, of_rank, refuse, with_shape};
use crate::ops::window_sizes::window;
use crate::shape_fns::quantize::{ConvolutionAxes, ConvolutionWindows, convolution_rank};
use crate::tensor::{Tensor, reserved_vec};

impl<'g> Value<'g> {
    /// Convolves quantized images with quantized filters. The integers, each minus its zero point, are multiplied and
    /// added in i32, which wraps, and the sums are requantized as by [`Value::uniform_requantize`]. The padding stands
    /// for 0. `quantizations` are those of the images, of the filters and of the result.
    ///
    /// `q[n, h, w, g*c], filter q[kh, kw, c, g*m] -> q[n, oh, ow, g*m]`; windows and groups as in [`Value::conv_2d`],
    /// but there is one group if `g` is unknown when the graph is built. The images have one scale; the filters may
    /// have scales along axis 3, and then also the result. As TensorFlow's `UniformQuantizedConvolution`, whose kernel
    /// takes qi8 and gives qi32. The op is composed of ops that fuse into kernels.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, Padding, UniformQuantization, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::QI8, shape!["n", "h", 8, 2])?;
    /// let filter = g.input("filter", DType::QI8, [3, 3, 2, 2])?;
    /// let of_x = UniformQuantization::of_tensor(&g, DType::QI8, 0.1, 3)?;
    /// let of_filter = UniformQuantization::of_slices(&g, DType::QI8, 3, &[0.5, 0.25], &[0, 0])?;
    /// let to = UniformQuantization::of_tensor(&g, DType::QI8, 0.2, -5)?;
    /// let y = x.uniform_quantized_conv_2d(filter, [2, 2], [1, 1], Padding::Same, [of_x, of_filter, to])?;
    /// assert_eq!(y.shape().to_string(), "[n, ceildiv(h, 2), 4, 2]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// An operand does not have the dtype of its quantization, the dtypes of the operands differ, or a quantization has
    /// an axis that the op does not allow. Else as [`Value::conv_2d`] and [`Value::uniform_requantize`].
    #[track_caller]
    pub fn uniform_quantized_conv_2d(
        self,
        filter: Value<'g>,
        strides: impl IntoParam<'g>,
        dilations: impl IntoParam<'g>,
        padding: Padding,
        quantizations: [UniformQuantization<'g>; 3],
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        let [from_self, from_filter, to] = quantizations;
        from_self.require_dtype("the images", self)?;
        from_filter.require_dtype("the filter", filter)?;
        let groups = match (self.shape().dims(), filter.shape().dims()) {
            (Some([.., channels]), Some([_, _, inputs, _])) => channels.exact_div(inputs),
            _ => None,
        };
        let groups = groups.and_then(|groups| groups.as_known()).unwrap_or(1);
        let list = |pair: [i64; 2]| Attr::from(pair);
        let call = self.graph().op(&CONV).data(self).data(filter).attr("dtype", to.dtype);
        let call =
            quantizations.into_iter().fold(call, |call, each| call.data(each.scales).data(each.zero_points));
        let call = call
            .attr("dimension_numbers", CHANNELS_LAST)
            .known_attr("window_strides", window(strides, "strides", list))
            .known_attr("rhs_dilation", window(dilations, "dilations", list))
            .attr("feature_group_count", groups);
        let call = match padding {
            Padding::Valid => call.attr("padding", "VALID"),
            Padding::Same => call.attr("padding", "SAME"),
            Padding::Explicit([rows, columns]) => call
                .attr("padding", "EXPLICIT")
                .attr("explicit_padding", [rows[0], rows[1], columns[0], columns[1]]),
        };
        let call = from_self.add_axis(call, "lhs_quantization_axis");
        let call =
            to.add_axis(from_filter.add_axis(call, "rhs_quantization_axis"), "output_quantization_axis");
        to.add_bounds(call, BOUNDS).finish_at(location)
    }
}

/// The message `UniformQuantizedConvolutionDimensionNumbersAttr` for images `[n, h, w, c]` and filters
/// `[kh, kw, c, m]`, serialized as attribute `dimension_numbers`.
const CHANNELS_LAST: &str =
    "\x10\x03\x1a\x02\x01\x02\x20\x02\x28\x03\x32\x02\x00\x01\x40\x03\x4a\x02\x01\x02";

/// The attributes of a convolution, and those in `$further`.
macro_rules! convolution_attrs {
    ($($further:expr),* $(,)?) => {
        &[
            Attribute::ints_or("window_strides", &[]),
            Attribute::str("padding"),
            Attribute::ints_or("explicit_padding", &[]),
            Attribute::ints_or("lhs_dilation", &[]),
            Attribute::ints_or("rhs_dilation", &[]),
            Attribute::int_or("batch_group_count", 1),
            Attribute::int_or("feature_group_count", 1),
            Attribute::bytes_or("dimension_numbers", ""),
            Attribute::int_or("rhs_quantization_axis", -1),
            $($further),*
        ]
    };
}

/// `q[n, g*c, h, w], q[m, c, kh, kw]`, and scales and zero points of `lhs`, `rhs` and the output
/// `-> dtype[n, m, oh, ow]`, for any number of spatial axes. Attribute `dimension_numbers` names the axes. If the ranks
/// of both operands are unknown, the attributes tell the rank; without them, it is 4. `rhs` may have a scale for each
/// output channel, and then also the output. The integers, each minus its zero point, are multiplied and added in i32,
/// which wraps; the padding and the elements that `lhs_dilation` puts between others stand for 0. The sums are
/// requantized as by [`Value::uniform_requantize`]. With `batch_group_count` `b`, group `i` of the output channels is
/// convolved with group `i` of the batch, and the batch of the output is `n/b`. As TensorFlow's
/// `UniformQuantizedConvolution`, whose kernel takes qi8 and gives qi32.
pub(crate) static CONV: OpDef = OpDef::composite("uniform_quantized_conv", |cx, values| {
    let dtypes: Vec<DType> = values.iter().map(|value| value.dtype()).collect();
    quantized_pair(&dtypes, cx.attrs())?;
    let &[lhs, rhs, ref parameters @ ..] = values else { return missing() };
    let conv = Convolution::of(cx.attrs(), [lhs, rhs])?;
    let (lhs, rhs) = (of_rank(lhs, conv.rank(), "lhs")?, of_rank(rhs, conv.rank(), "rhs")?);
    let channels = [conv.axes.filter[1], conv.axes.output[1]];
    let product = Product::of(cx.attrs(), [lhs, rhs], parameters, channels)?;
    let (images, filter) = (conv.channels_last(lhs)?, conv.filter(rhs)?);
    let sums = conv.convolve(product.lhs_steps(images)?, product.rhs_steps(filter)?)?;
    Ok(vec![conv.in_order(product.requantize(cx.attrs(), sums)?)?])
})
.attrs(convolution_attrs![
    Attribute::dtype_or("dtype", DType::QI32),
    Attribute::int_or("lhs_quantization_axis", -1),
    Attribute::int_or("output_quantization_axis", -1),
    Attribute::int("output_quantization_min_val").optional(),
    Attribute::int("output_quantization_max_val").optional(),
])
.operands(PAIR)
.dtype_rule(quantized_pair)
.tensorflow(&[TfOp::new("UniformQuantizedConvolution").attrs(T_OUT)]);

/// `f32[n, g*c, h, w], q[m, c, kh, kw]`, and scales and zero points of `rhs` `-> f32[n, m, oh, ow]`: as [`CONV`], but
/// each image is rounded to integers as [`Value::uniform_quantized_dot_hybrid`] rounds a row. As TensorFlow's
/// `UniformQuantizedConvolutionHybrid`.
pub(crate) static CONV_HYBRID: OpDef = OpDef::composite("uniform_quantized_conv_hybrid", |cx, values| {
    let dtypes: Vec<DType> = values.iter().map(|value| value.dtype()).collect();
    hybrid_pair(&dtypes)?;
    let &[lhs, rhs, scales, zero_points] = values else { return missing() };
    let conv = Convolution::of(cx.attrs(), [lhs, rhs])?;
    let (lhs, rhs) = (of_rank(lhs, conv.rank(), "lhs")?, of_rank(rhs, conv.rank(), "rhs")?);
    let axis = axis_of_channels(cx.attrs(), "rhs_quantization_axis", conv.axes.filter[1])?;
    let rhs_parameters = Parameters::of("rhs_", rhs, axis, [scales, zero_points])?;
    let image_axes: Vec<i64> = (1..conv.rank() as i64).collect();
    let rounded = RoundedSlices::of(conv.channels_last(lhs)?, &image_axes)?;
    let steps = rhs_parameters.steps(conv.filter(rhs)?)?;
    let sums = conv.convolve(rounded.steps, steps)?.cast(DType::F32)?;
    let scales = conv.image_scales(rounded.scales, &dims_of(sums))?;
    Ok(vec![conv.in_order(sums.mul(scales)?.mul(rhs_parameters.scales)?)?])
})
.attrs(convolution_attrs![])
.operands(HYBRID)
.dtype_rule(|dtypes, _| hybrid_pair(dtypes))
.tensorflow(&[TfOp::new("UniformQuantizedConvolutionHybrid")]);

/// The axes and windows of a convolution.
struct Convolution<'a> {
    axes: ConvolutionAxes,
    windows: ConvolutionWindows<'a>,
}

impl<'a> Convolution<'a> {
    /// Reads the attributes of a convolution.
    ///
    /// # Errors
    /// An attribute is wrong, or the rank is less than 3.
    fn of(attrs: &'a Attrs, operands: [Value<'_>; 2]) -> Result<Convolution<'a>> {
        let [lhs, rhs] = operands.map(|operand| operand.shape().rank());
        let rank = lhs.or(rhs).unwrap_or_else(|| convolution_rank(attrs));
        if rank < 3 {
            return refuse_shape(format!(
                "the operands of a convolution must have rank at least 3, got rank {rank}"
            ));
        }
        let axes = ConvolutionAxes::of(attrs, rank)?;
        Ok(Convolution { axes, windows: ConvolutionWindows::of(attrs, rank - 2)? })
    }

    fn rank(&self) -> usize {
        self.axes.input.len()
    }

    /// Transposes images to `[batch, spatial.., channels]`.
    fn channels_last<'g>(&self, x: Value<'g>) -> Result<Value<'g>> {
        let [batch, channels, spatial @ ..] = &self.axes.input[..] else { return missing() };
        x.transpose([&[*batch], spatial, &[*channels]].concat())
    }

    /// Transposes a filter to `[spatial.., input channels, output channels]`.
    fn filter<'g>(&self, x: Value<'g>) -> Result<Value<'g>> {
        let [inputs, outputs, spatial @ ..] = &self.axes.filter[..] else { return missing() };
        x.transpose([spatial, &[*inputs, *outputs]].concat())
    }

    /// Transposes a result `[batch, spatial.., channels]` to the order of the output.
    fn in_order<'g>(&self, y: Value<'g>) -> Result<Value<'g>> {
        let last = self.rank() - 1;
        let mut order = vec![0; self.rank()];
        for (position, axis) in self.axes.output.iter().enumerate() {
            order[*axis] = match position {
                0 => 0,
                1 => last,
                _ => position - 1,
            };
        }
        y.transpose(order)
    }

    /// Convolves images with the channels last.
    fn convolve<'g>(&self, images: Value<'g>, filter: Value<'g>) -> Result<Value<'g>> {
        let last = self.rank() - 1;
        let mut dims = dims_of(images);
        let [.., inputs, outputs] = &dims_of(filter)[..] else { return missing() };
        let channels = inputs.checked_mul(Dim::known(self.windows.feature_groups))?;
        let what = "the channels of lhs and feature_group_count times the input channels of rhs";
        agree(what, &dims[last..], std::slice::from_ref(&channels))?;
        dims[last] = channels;
        let mut x = self.groups_as_channels(with_shape(what, images, &dims)?, [inputs, outputs])?;
        for (index, dilation) in self.windows.lhs_dilations.iter().enumerate() {
            x = spread(x, index + 1, &Dim::known(*dilation))?;
        }
        let windows = &self.windows;
        let geometry = Geometry::channels_last_of(
            windows.strides.clone(),
            windows.rhs_dilations.clone(),
            windows.padding,
            windows.explicit.as_deref(),
        );
        convolve(&geometry, x, filter)
    }

    /// Returns the number of images of the output: the batch divided by the number of its groups.
    ///
    /// # Errors
    /// The batch provably is no multiple of the number of groups.
    fn images(&self, batch: &Dim) -> Result<Dim> {
        let groups = self.windows.batch_groups;
        match (batch.as_known(), batch.exact_div(Dim::known(groups))) {
            (_, Some(images)) => Ok(images),
            (Some(batch), None) => refuse_shape(format!(
                "the batch must be a multiple of batch_group_count, got {batch} and {groups}"
            )),
            // A reshape fails in a run unless the batch is a multiple.
            (None, None) => Ok(batch.floordiv(Dim::known(groups))?),
        }
    }

    /// Moves the batch groups to the axis of the channels. A grouped convolution, whose groups have `inputs` channels,
    /// then gives each of the `outputs` filters the channels of its batch group and its feature group.
    ///
    /// # Errors
    /// The batch or `outputs` provably is no multiple of a number of groups.
    fn groups_as_channels<'g>(&self, x: Value<'g>, [inputs, outputs]: [&Dim; 2]) -> Result<Value<'g>> {
        let (batch_groups, groups) = (self.windows.batch_groups, self.windows.feature_groups);
        if batch_groups == 1 {
            return Ok(x);
        }
        let dims = dims_of(x);
        let [batch, spatial @ .., channels] = &dims[..] else { return missing() };
        let split =
            [&[Dim::known(batch_groups), self.images(batch)?], spatial, std::slice::from_ref(channels)]
                .concat();
        let last = split.len() - 1;
        let moved: Vec<usize> = (1..last).chain([0, last]).collect();
        let x = x.reshape(&split[..])?.transpose(moved)?;
        let filter_groups = least_common_multiple(batch_groups, groups);
        if let Some(outputs) = outputs.as_known().filter(|outputs| outputs % filter_groups != 0) {
            return refuse(format!(
                "the number of filters must be a multiple of batch_group_count and feature_group_count, got \
                 {outputs}, {batch_groups} and {groups}"
            ));
        }
        let x = match groups {
            1 => x,
            _ => {
                // Group `i` of the filters reads batch group `i / (filter_groups / batch_groups)` and feature group
                // `i / (filter_groups / groups)`.
                let pairs = [&split[1..last], &[Dim::known(batch_groups * groups), inputs.clone()]].concat();
                let pair = |group: i64| {
                    group / (filter_groups / batch_groups) * groups + group / (filter_groups / groups)
                };
                let mut order = reserved_vec::<i64>(usize::try_from(filter_groups).unwrap_or(usize::MAX))?;
                order.extend((0..filter_groups).map(pair));
                let order = x.graph().constant(Tensor::from_vec(&[order.len()], order)?)?;
                x.reshape(&pairs[..])?.gather(order, last as i64 - 1)?
            }
        };
        let channels = inputs.checked_mul(Dim::known(filter_groups))?;
        x.reshape(&[&split[1..last], &[channels]].concat()[..])
    }

    /// Returns the scale of the image that each element of the output belongs to. The shape broadcasts to the output.
    /// `scales` has one scale for each image, and size 1 along the other axes. `output` is the shape of the output.
    fn image_scales<'g>(&self, scales: Value<'g>, output: &[Dim]) -> Result<Value<'g>> {
        let groups = self.windows.batch_groups;
        if groups == 1 {
            return Ok(scales);
        }
        let [images, .., channels] = output else { return missing() };
        let per_group = channels.exact_div(Dim::known(groups));
        let per_group = per_group.map_or_else(|| channels.floordiv(Dim::known(groups)), Ok)?;
        let of_groups = scales.reshape(&[Dim::known(groups), images.clone(), Dim::known(1)][..])?;
        let of_images = of_groups.transpose([1usize, 0, 2])?;
        let repeated = of_images.broadcast_to(&[images.clone(), Dim::known(groups), per_group][..])?;
        let mut sizes = vec![Dim::known(1); output.len()];
        (sizes[0], sizes[output.len() - 1]) = (images.clone(), channels.clone());
        repeated.reshape(&sizes[..])
    }
}

fn refuse_shape<T>(message: String) -> Result<T> {
    Err(Error::new(ErrorKind::Shape, Phase::Build, message))
}

/// Returns the least common multiple of two positive numbers of at most 31 bits.
fn least_common_multiple(a: i64, b: i64) -> i64 {
    let (mut divisor, mut rest) = (a, b);
    while rest != 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    a / divisor * b
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Graph, shape};

    fn call<'g>(g: &'g Graph, x: Value<'g>, filter: Value<'g>) -> crate::OpBuilder<'g> {
        padded(g, x, filter, "SAME")
    }

    fn padded<'g>(g: &'g Graph, x: Value<'g>, filter: Value<'g>, padding: &str) -> crate::OpBuilder<'g> {
        let parameters = || [g.constant(1.0f32).unwrap(), g.constant(0i32).unwrap()];
        let call = g.op(&CONV).data(x).data(filter).attr("padding", padding);
        (0..3).fold(call, |call, _| call.data_all(&parameters()))
    }

    fn filter<'g>(g: &'g Graph, sizes: &[usize]) -> Value<'g> {
        g.constant(Tensor::full(sizes, 1i32).unwrap()).unwrap().cast(DType::QI8).unwrap()
    }

    #[test]
    fn groups_of_an_unknown_batch_are_convolved() {
        let g = Graph::new();
        let x = g.input("x", DType::I32, shape!["n", 2, "w"]).unwrap();
        let y = call(&g, x.cast(DType::QI8).unwrap(), filter(&g, &[4, 1, 1]));
        let y = y.attr("batch_group_count", 2).attr("feature_group_count", 2).finish().unwrap();
        assert_eq!(y.shape().to_string(), "[floordiv(n, 2), 4, w]");
        let exe = g.compile(y.cast(DType::I32).unwrap()).unwrap();
        let x = Tensor::from([[[1], [2]], [[3], [4]]]);
        let [y] = exe.run(&[x.view()]).unwrap();
        assert_eq!(y.to_vec::<i32>().unwrap(), [1, 1, 4, 4]);
        assert!(exe.run::<1>(&[Tensor::from([[[1], [2]]]).view()]).is_err());
    }

    #[test]
    fn groups_of_channels_are_those_of_the_sizes() {
        let g = Graph::new();
        let one = UniformQuantization::of_tensor(&g, DType::QI8, 1.0, 0).unwrap();
        let x = g.constant([[[[1i32, 2], [3, 4]]]]).unwrap().cast(DType::QI8).unwrap();
        let filter = filter(&g, &[1, 2, 1, 2]);
        let y = |padding| x.uniform_quantized_conv_2d(filter, [1, 1], [1, 1], padding, [one; 3]).unwrap();
        let [valid, padded] = [Padding::Valid, Padding::Explicit([[0, 0], [1, 0]])].map(y);
        let integers = [valid, padded].map(|y| y.cast(DType::I32).unwrap());
        let [valid, padded] = g.compile(integers).unwrap().run(&[]).unwrap();
        assert_eq!(valid, Tensor::from([[[[4, 6]]]]));
        assert_eq!(padded, Tensor::from([[[[1, 2], [4, 6]]]]));
    }

    #[test]
    fn bad_convolutions_are_refused() {
        let g = Graph::new();
        let x = filter(&g, &[3, 2, 4]);
        let refused = |call: crate::OpBuilder<'_>, expected: &str| {
            let error = call.finish().unwrap_err();
            assert!(error.message().contains(expected), "{error}");
        };
        refused(call(&g, x, filter(&g, &[3, 3, 1])), "must agree, got [2] and [3]");
        refused(call(&g, x, filter(&g, &[3, 2])), "rhs must have rank 3, got rank 2");
        let good = || call(&g, x, filter(&g, &[3, 2, 1]));
        refused(good().attr("window_strides", [2, 2]), "window_strides must have 1 entry");
        refused(good().attr("rhs_dilation", [0]), "rhs_dilation must be at least 1, got 0");
        refused(good().attr("batch_group_count", 2), "multiple of batch_group_count, got 3 and 2");
        refused(
            good().attr("batch_group_count", 1i64 << 40),
            "batch_group_count must be from 1 to 2147483647",
        );
        let explicit = padded(&g, x, filter(&g, &[3, 2, 1]), "EXPLICIT");
        refused(explicit, "explicit_padding must have 2 entries, got 0");
        refused(
            good().attr("dimension_numbers", "\x10\x02"),
            "dimension_numbers must have every axis of the input once",
        );
        refused(good().attr("rhs_quantization_axis", 1), "rhs_quantization_axis must be -1 or the axis 0");
    }

    #[test]
    fn large_numbers_of_groups_are_refused() {
        let g = Graph::new();
        let x = g.input("x", DType::I32, shape!["n", "c", "w"]).unwrap().cast(DType::QI8).unwrap();
        let y = call(&g, x, filter(&g, &[4, 1, 1])).attr("batch_group_count", i64::from(i32::MAX));
        let error = y.attr("feature_group_count", 2).finish().unwrap_err();
        let expected =
            "the number of filters must be a multiple of batch_group_count and feature_group_count";
        assert!(error.message().contains(expected), "{error}");
        // With an unknown number of filters, the least common multiple counts.
        let filters = g.input("filters", DType::I32, shape!["m", 1, 1]).unwrap().cast(DType::QI8).unwrap();
        let y = call(&g, x, filters).attr("batch_group_count", i64::from(i32::MAX));
        let error = y.attr("feature_group_count", i64::from(i32::MAX) - 1).finish().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Memory, "{error}");
    }
}
