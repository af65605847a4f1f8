//! `max_pool_grad` and `avg_pool_grad`: the gradients of pools.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType, Dim, counted};

use super::conv_gradient::{result_dims, spread_over};
use super::pool::{IMAGE_ATTRS, VOLUME_ATTRS, require_ones};
use super::pool_argmax::positions;
use super::reduce_window;
use super::window::{
    Padding, Windows, agree, bounded_sizes, data_format, dims_of, of_rank, operand_values, refuse,
    window_dims, with_pool_windows, with_shape,
};
use crate::dtype;
use crate::error::Result;
use crate::expr::Scalar;
use crate::graph::{IntoOperand, IntoParam, IntoShapeArg, Value};
use crate::op::{CompositeCx, OpDef, Operand, TfOp};
use crate::ops::nn::DataFormat;
use crate::ops::reduce::Axes;

impl<'g> Value<'g> {
    /// The gradient of [`Value::max_pool`]. `self` is the gradient of the loss with respect to the result, and `input`
    /// is the operand of `max_pool`. Each maximum gets the sum of the gradients of its windows; other elements get 0.
    ///
    /// `[n, oh, ow, c], input [n, h, w, c] -> [n, h, w, c]`, or with the channels first; integers (which wrap) and
    /// floats of one dtype. Of equal elements of a window, the first one in row-major order is the maximum; NaN counts
    /// as the largest. f16 and bf16 are added as f32 and rounded once. As TensorFlow's `MaxPoolGrad`, which may ignore
    /// a NaN. The op is composed of an op that finds the maxima and a sum, which run on the host.
    ///
    /// ```
    /// use shapeflow::{DataFormat, Graph, Padding, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([[[[1.0], [5.0]], [[5.0], [2.0]]]])?;
    /// let gradient = g.constant([[[[3.0]]]])?;
    /// let y = gradient.max_pool_grad(x, [2, 2], [2, 2], Padding::Valid, DataFormat::ChannelsLast)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[[[0.0], [3.0]], [[0.0], [0.0]]]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::max_pool`] of `input`; also if the dtypes differ, or if `self` does not have the shape of the pool's
    /// result.
    #[track_caller]
    pub fn max_pool_grad(
        self,
        input: impl IntoOperand<'g>,
        sizes: impl IntoParam<'g>,
        strides: impl IntoParam<'g>,
        padding: Padding,
        format: DataFormat,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        self.graph().in_call_at("max_pool_grad", location, || {
            let params = [sizes.into_param(), strides.into_param()];
            let input = input.into_operand(self, location);
            let call = with_pool_windows(
                self.graph().op(&super::pool::MAX).data(input),
                params.clone(),
                2,
                &padding,
                format,
            );
            let pooled = call.finish_at(location)?;
            let call = self.graph().op(&MAX).data(input).data(pooled).data(self);
            with_pool_windows(call, params, 2, &padding, format).finish_at(location)
        })
    }

    /// The gradient of [`Value::avg_pool`]. `self` is the gradient of the loss with respect to the result, and
    /// `input_sizes` is the shape of the operand of `avg_pool`. Each element of a window gets an equal share of the
    /// window's gradient.
    ///
    /// `[n, oh, ow, c] -> input_sizes`, or with the channels first; floats. f16 and bf16 are added as f32 and rounded
    /// once. As TensorFlow's `AvgPoolGrad`. The op is composed of paddings and reductions, which fuse into kernels.
    ///
    /// ```
    /// use shapeflow::{DataFormat, Graph, Padding, Tensor};
    ///
    /// let g = Graph::new();
    /// let gradient = g.constant([[[[8.0]]]])?;
    /// let y = gradient.avg_pool_grad([1, 2, 2, 1], [2, 2], [2, 2], Padding::Valid, DataFormat::ChannelsLast)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[[[2.0], [2.0]], [[2.0], [2.0]]]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::avg_pool`] of a tensor of shape `input_sizes`; also if `self` does not have the shape of the pool's
    /// result.
    #[track_caller]
    pub fn avg_pool_grad(
        self,
        input_sizes: impl IntoShapeArg<'g>,
        sizes: impl IntoParam<'g>,
        strides: impl IntoParam<'g>,
        padding: Padding,
        format: DataFormat,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        self.graph().in_call_at("avg_pool_grad", location, || {
            let params = [sizes.into_param(), strides.into_param()];
            let call =
                self.graph().op(&AVG).size("orig_input_shape", input_sizes.into_shape_arg()).data(self);
            with_pool_windows(call, params, 2, &padding, format).finish_at(location)
        })
    }
}

pub(crate) static MAX: OpDef = OpDef::composite("max_pool_grad", build_max)
    .attrs(IMAGE_ATTRS)
    .operands(&[
        Operand::Data("orig_input"),
        Operand::Data("orig_output"),
        Operand::Data("grad"),
        Operand::Size("ksize"),
        Operand::Size("strides"),
    ])
    .tensorflow(&[TfOp::new("MaxPoolGrad"), TfOp::new("MaxPoolGradV2")]);

/// An op for import only: the gradient of `max_pool_with_argmax`, `input, grad, argmax -> [shape of input]`.
pub(crate) static MAX_WITH_ARGMAX: OpDef =
    OpDef::composite("max_pool_with_argmax_grad", build_max_with_argmax)
        .attrs(&[
            Attribute::ints("ksize"),
            Attribute::ints("strides"),
            Attribute::bool_or("include_batch_in_index", false),
            Attribute::str("padding"),
        ])
        .operands(&[Operand::Data("input"), Operand::Data("grad"), Operand::Data("argmax")])
        .tensorflow(&[TfOp::new("MaxPoolGradWithArgmax")]);

pub(crate) static AVG: OpDef = OpDef::composite("avg_pool_grad", |cx, values| build_avg(cx, values, 2))
    .attrs(IMAGE_ATTRS)
    .operands(AVG_OPERANDS)
    .dtype_rule(gradient_float)
    .tensorflow(&[TfOp::new("AvgPoolGrad")]);

/// As [`AVG`] for volumes: `orig_input_shape, grad [n, od, oh, ow, c] -> orig_input_shape`.
pub(crate) static AVG_OF_VOLUMES: OpDef =
    OpDef::composite("avg_pool_3d_grad", |cx, values| build_avg(cx, values, 3))
        .attrs(VOLUME_ATTRS)
        .operands(AVG_OPERANDS)
        .dtype_rule(gradient_float)
        .tensorflow(&[TfOp::new("AvgPool3DGrad")]);

const AVG_OPERANDS: &[Operand] = &[
    Operand::Size("orig_input_shape"),
    Operand::Data("grad"),
    Operand::Size("ksize"),
    Operand::Size("strides"),
];

/// The dtype of the gradient, which is the operand after `orig_input_shape`. A single operand is the gradient.
fn gradient_float(dtypes: &[DType], attrs: &Attrs) -> Result<Vec<DType>> {
    let place = usize::from(attrs.get("orig_input_shape").is_none() && dtypes.len() > 1);
    Ok(vec![dtype::common(dtypes, place, place + 1, dtype::Class::Float)?])
}

fn build_max<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let names = ["orig_input", "orig_output", "grad", "ksize", "strides"];
    let [Some(x), Some(pooled), Some(gradient), params @ ..] = operand_values(cx, names, values) else {
        return refuse("max_pool_grad needs an input, an output and a gradient".to_string());
    };
    dtype::common(&[x.dtype(), pooled.dtype(), gradient.dtype()], 0, 3, dtype::Class::Number)?;
    let x = of_rank(x, 4, "the input of a pool")?;
    let positions = positions(x, cx.attrs(), params, true)?;
    for (value, what) in [(pooled, "the output of a pool"), (gradient, "the gradient of a pool")] {
        let value = of_rank(value, 4, what)?;
        agree(&format!("{what} and its windows"), &dims_of(value), &dims_of(positions))?;
    }
    Ok(vec![scattered(x, positions, gradient)?])
}

/// Returns a tensor of the shape of `x` that has the sums of the gradients for each position, and zeros elsewhere.
pub(super) fn scattered<'g>(x: Value<'g>, positions: Value<'g>, gradient: Value<'g>) -> Result<Value<'g>> {
    let count = x.size_tensor_as(DType::I64)?;
    gradient.unsorted_segment_sum(positions, count)?.reshape(&dims_of(x)[..])
}

fn build_max_with_argmax<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let [x, gradient, positions] = values else {
        return refuse("max_pool_with_argmax_grad needs an input, a gradient and positions".to_string());
    };
    dtype::common(&[x.dtype(), gradient.dtype()], 0, 2, dtype::Class::Number)?;
    let (x, gradient) =
        (of_rank(*x, 4, "the input of a pool")?, of_rank(*gradient, 4, "the gradient of a pool")?);
    let mut positions = of_rank(*positions, 4, "the positions of a pool")?.cast(DType::I64)?;
    if !cx.attrs().bool("include_batch_in_index") {
        let image = x.shape_tensor_as(DType::I64)?.slice([1], [-1])?.reduce_prod(Axes::all())?;
        let numbers = x.graph().range(0i64, &dims_of(x)[0], 1i64)?.cast(DType::I64)?;
        positions = positions.add(numbers.mul(image)?.reshape([-1, 1, 1, 1])?)?;
    }
    Ok(vec![scattered(x, positions, gradient)?])
}

/// Divides the gradient of each window of the pool by the number of elements in the window. Each element of an image
/// gets the sum of the quotients of the windows that contain it: the quotients are spread by the strides, and windows
/// of stride 1 add them.
fn build_avg<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>], spatial: usize) -> Result<Vec<Value<'g>>> {
    let dtypes: Vec<DType> = values.iter().map(|value| value.dtype()).collect();
    let dtype = gradient_float(&dtypes, cx.attrs())?[0];
    let names = ["orig_input_shape", "grad", "ksize", "strides"];
    let [shape_value, Some(gradient), sizes, strides] = operand_values(cx, names, values) else {
        return refuse("the gradient of a pool needs a gradient".to_string());
    };
    let rank = spatial + 2;
    let format = data_format(cx.attrs(), spatial)?;
    let gradient = of_rank(gradient, rank, "the gradient of a pool")?;
    let extents = result_dims(cx, "orig_input_shape", shape_value, rank, None)?;
    if extents.len() != rank {
        return refuse(format!(
            "orig_input_shape must have {rank}, got {}",
            extents.len(),
            rank = counted(rank, "entry")
        ));
    }
    let unpooled_axes = [0, format.channel_axis(rank)];
    let lengths = window_dims(cx.attrs(), "ksize", sizes, rank, &unpooled_axes)?;
    let strides = window_dims(cx.attrs(), "strides", strides, rank, &unpooled_axes)?;
    require_ones(&unpooled_axes, &lengths, &strides)?;
    let lengths = bounded_sizes(cx.attrs(), lengths, &extents)?;
    let is_one = |dim: &Dim| dim.as_known() == Some(1);
    let pooled_axes: Vec<usize> =
        (0..rank).filter(|axis| !is_one(&lengths[*axis]) || !is_one(&strides[*axis])).collect();
    let wide = if matches!(dtype, DType::F16 | DType::BF16) { DType::F32 } else { dtype };
    let windows = Windows::new(cx.attrs(), format, &extents, lengths.clone(), strides, vec![1; rank])?;
    let expected = windows.all_counts(&extents)?;
    let gradient = with_shape("the windows and the gradient of a pool", gradient, &expected)?.cast(wide)?;
    let counts = counts(&windows, gradient, &extents, &lengths, &pooled_axes)?;
    let shares = gradient.div(counts)?;
    let shares = spread_over(shares, &windows, &extents, pooled_axes)?;
    Ok(vec![window_sums(shares, &lengths, &vec![Dim::known(1); rank], &extents)?.cast(dtype)?])
}

/// Adds the elements of each window. `positions` are the numbers of windows along the axes.
fn window_sums<'g>(x: Value<'g>, sizes: &[Dim], strides: &[Dim], positions: &[Dim]) -> Result<Value<'g>> {
    let call = x.graph().op(&reduce_window::DEF).data(x).attr("op", "sum");
    let call = call.size("sizes", sizes).size("strides", strides);
    call.size("positions", positions).finish()
}

/// Returns the numbers of elements in the windows along the pooled axes; the other axes have size 1.
fn counts<'g>(
    windows: &Windows,
    gradient: Value<'g>,
    extents: &[Dim],
    lengths: &[Dim],
    pooled_axes: &[usize],
) -> Result<Value<'g>> {
    let mut image = vec![Dim::known(1); extents.len()];
    pooled_axes.iter().for_each(|axis| image[*axis] = extents[*axis].clone());
    let zero = Scalar::zero(gradient.dtype());
    let graph = gradient.graph();
    let one = graph.constant(1.0f32)?.cast(gradient.dtype())?;
    let ones = windows.pad(graph.fill(&image[..], one)?, zero)?;
    window_sums(ones, lengths, &windows.strides, &windows.positions())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;
    use crate::shape;
    use crate::tensor::Tensor;

    #[test]
    fn shapes_of_gradients_follow_the_inputs() {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["n", "h", 6, 3]).unwrap();
        let gradient = g.input("gradient", DType::F32, shape!["n", ?, 3, 3]).unwrap();
        let last = DataFormat::ChannelsLast;
        let y = gradient.max_pool_grad(x, [2, 2], [2, 2], Padding::Same, last).unwrap();
        assert_eq!(y.shape().to_string(), "[n, h, 6, 3]");
        let y = gradient.avg_pool_grad(x.shape(), [2, 2], [2, 2], Padding::Same, last).unwrap();
        assert_eq!(y.shape().to_string(), "[n, h, 6, 3]");
        let error = gradient.max_pool_grad(x, [1, 1], [1, 1], Padding::Same, last).unwrap_err();
        assert!(error.message().contains("the gradient of a pool and its windows must agree"), "{error}");
        let error = gradient.avg_pool_grad([1, 4, 9, 3], [2, 2], [2, 2], Padding::Same, last).unwrap_err();
        assert!(error.message().contains("must agree"), "{error}");
    }

    #[test]
    fn the_gradient_of_an_empty_image_is_empty() {
        for sizes in [shape![1, 0, 4, 3], shape![?, ?, ?, 3]] {
            let g = Graph::new();
            let gradient = g.input("gradient", DType::F32, sizes).unwrap();
            let last = DataFormat::ChannelsLast;
            let y = gradient.avg_pool_grad([1, 0, 8, 3], [2, 2], [2, 2], Padding::Same, last).unwrap();
            let [y] =
                g.compile(y).unwrap().run(&[Tensor::full(&[1, 0, 4, 3], 1.0f32).unwrap().view()]).unwrap();
            assert_eq!(y.sizes(), [1, 0, 8, 3]);
        }
    }

    #[test]
    fn a_refused_gradient_leaves_no_symbols_in_the_list_of_sizes() {
        let g = Graph::new();
        let sizes = g.input("sizes", DType::I32, [4]).unwrap();
        let gradient = g.input("gradient", DType::F32, shape![1, 2, 2, 1]).unwrap();
        let last = DataFormat::ChannelsLast;
        assert!(gradient.avg_pool_grad(sizes, [0, 1], [1, 1], Padding::Valid, last).is_err());
        let x = g.input("x", DType::F32, shape![?, ?, ?, ?]).unwrap();
        let exe = g.compile([g.fill(sizes, 1.0f32).unwrap(), x.neg().unwrap()]).unwrap();
        let (sizes, x) = (Tensor::from([1, 2, 3, 4]), Tensor::full(&[4, 3, 2, 1], 1.0f32).unwrap());
        let feeds: Vec<_> =
            exe.inputs().iter().map(|port| if port.name == "x" { x.view() } else { sizes.view() }).collect();
        let [filled, negated] = exe.run(&feeds).unwrap();
        assert_eq!((filled.sizes(), negated.sizes()), (&[1, 2, 3, 4][..], &[4, 3, 2, 1][..]));
    }

    #[test]
    fn a_run_refuses_a_gradient_of_other_sizes() {
        let g = Graph::new();
        let gradient = g.input("gradient", DType::F32, shape![?, ?, ?, 1]).unwrap();
        let last = DataFormat::ChannelsLast;
        let y = gradient.avg_pool_grad([1, 4, 4, 1], [2, 2], [2, 2], Padding::Valid, last).unwrap();
        let exe = g.compile(y).unwrap();
        let run = |sizes: &[usize]| exe.run::<1>(&[Tensor::full(sizes, 1.0f32).unwrap().view()]);
        assert_eq!(run(&[1, 2, 2, 1]).unwrap()[0].to_vec::<f32>().unwrap(), [0.25; 16]);
        for sizes in [[1, 1, 2, 1], [1, 2, 1, 1], [2, 2, 2, 1]] {
            assert!(run(&sizes).is_err(), "{sizes:?}");
        }
    }
}
