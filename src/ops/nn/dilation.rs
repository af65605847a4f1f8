//! `dilation_2d` and `erosion_2d`: the extrema of windows of images to which a filter is added.

use std::panic::Location;

use half::{bf16, f16};
use shapeflow_shape_fns::{Attr, DType, Dim};

use super::conv::Geometry;
use super::dilation_positions::{self, ATTRIBUTES, shape};
use super::pool_gradient::scattered;
use super::reduce_elements::reduce_elements;
use super::window::{dims_of, of_rank, refuse, with_shape};
use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, InRange, Index, LowerCx, ReduceOp, Scalar};
use crate::graph::{IntoOperand, IntoParam, OpBuilder, Value};
use crate::op::{CompositeCx, OpDef, Operand, TfOp};
use crate::ops::array::extract_image_patches::WindowPadding;
use crate::ops::widen::widen;
use crate::ops::window_sizes::window;

impl<'g> Value<'g> {
    /// Returns the grayscale dilation of images: the maximum of `window + filter` for every window. Windows start
    /// `strides` apart, and the elements of a window are `rates` apart.
    ///
    /// `[n, h, w, c], filter [kh, kw, c] -> [n, oh, ow, c]`, integers (which wrap) and floats of one dtype. With
    /// [`WindowPadding::Same`], `oh` is `ceil(h/strides[0])`, and padding is never the maximum. NaN is never the
    /// maximum; the maximum of no numbers, or of only `-inf`, is the lowest finite number. f16 and bf16 are computed as
    /// f32 and rounded once. As TensorFlow's `Dilation2D` (`tf.nn.dilation2d`). Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor, WindowPadding};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([[[[1], [5], [2], [0]]]])?;
    /// let y = x.dilation_2d(g.constant([[[0], [3]]])?, [1, 1], [1, 1], WindowPadding::Valid)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[[[8], [5], [3]]]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is neither an integer nor a float, the dtypes or the numbers of channels differ, a rank is
    /// wrong, a stride or a rate is less than 1, or a window exceeds the images by two strides or more.
    #[doc(alias = "morphology")]
    #[track_caller]
    pub fn dilation_2d(
        self,
        filter: impl IntoOperand<'g>,
        strides: impl IntoParam<'g>,
        rates: impl IntoParam<'g>,
        padding: WindowPadding,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        let call = self.graph().op(&DEF).data(self).data(filter.into_operand(self, location));
        windowed(call, strides, rates, padding).finish_at(location)
    }

    /// Returns the grayscale erosion of images: the minimum of `window - filter` for every window. Takes the parameters
    /// of [`Value::dilation_2d`].
    ///
    /// `[n, h, w, c], filter [kh, kw, c] -> [n, oh, ow, c]`, signed integers (which wrap) and floats of one dtype. As
    /// TensorFlow's `tf.nn.erosion2d`: the dilation of `-self` by the reversed filter, negated. With
    /// [`WindowPadding::Same`] and an odd number of elements of padding, the larger part is after the image. Fuses
    /// into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor, WindowPadding};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([[[[1], [5], [2], [0]]]])?;
    /// let y = x.erosion_2d(g.constant([[[0], [3]]])?, [1, 1], [1, 1], WindowPadding::Valid)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[[[-2], [2], [-1]]]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is neither a signed integer nor a float; else as [`Value::dilation_2d`].
    #[track_caller]
    pub fn erosion_2d(
        self,
        filter: impl IntoOperand<'g>,
        strides: impl IntoParam<'g>,
        rates: impl IntoParam<'g>,
        padding: WindowPadding,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        self.graph().in_call("erosion_2d", || {
            let filter = filter.into_operand(self, location).reverse([0, 1])?;
            self.neg()?.dilation_2d(filter, strides, rates, padding)?.neg()
        })
    }

    /// The gradient of [`Value::dilation_2d`] with respect to the images. `self` is the gradient of the loss with
    /// respect to the result; `input` and `filter` are the operands of `dilation_2d`. The element of a window that
    /// gives the maximum gets the gradient of the window.
    ///
    /// `[n, oh, ow, c], input [n, h, w, c], filter [kh, kw, c] -> [n, h, w, c]`, integers (which wrap) and floats of
    /// one dtype. Of equal sums, the first one in row-major order is the maximum. In a window of NaN, the first element
    /// inside the image gets the gradient. f16 and bf16 are added as f32 and rounded once. As TensorFlow's
    /// `Dilation2DBackpropInput`. The op is composed of ops that run on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor, WindowPadding};
    ///
    /// let g = Graph::new();
    /// let (x, filter) = (g.constant([[[[1], [5], [2], [0]]]])?, g.constant([[[0], [3]]])?);
    /// let gradient = g.constant([[[[10], [20], [30]]]])?;
    /// let y = gradient.dilation_2d_input_grad(x, filter, [1, 1], [1, 1], WindowPadding::Valid)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[[[0], [30], [0], [30]]]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::dilation_2d`] of `input`; also if `self` does not have the shape of its result.
    #[track_caller]
    pub fn dilation_2d_input_grad(
        self,
        input: impl IntoOperand<'g>,
        filter: impl IntoOperand<'g>,
        strides: impl IntoParam<'g>,
        rates: impl IntoParam<'g>,
        padding: WindowPadding,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        let (input, filter) = (input.into_operand(self, location), filter.into_operand(self, location));
        let call = self.graph().op(&INPUT).data(input).data(filter).data(self);
        windowed(call, strides, rates, padding).finish_at(location)
    }

    /// The gradient of [`Value::dilation_2d`] with respect to the filter. The element of the filter that gives the
    /// maximum of a window gets the gradient of the window.
    ///
    /// `[n, oh, ow, c], input [n, h, w, c], filter [kh, kw, c] -> [kh, kw, c]`, integers (which wrap) and floats of one
    /// dtype. As TensorFlow's `Dilation2DBackpropFilter`; else as [`Value::dilation_2d_input_grad`].
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor, WindowPadding};
    ///
    /// let g = Graph::new();
    /// let (x, filter) = (g.constant([[[[1], [5], [2], [0]]]])?, g.constant([[[0], [3]]])?);
    /// let gradient = g.constant([[[[10], [20], [30]]]])?;
    /// let y = gradient.dilation_2d_filter_grad(x, filter, [1, 1], [1, 1], WindowPadding::Valid)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[[20], [40]]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::dilation_2d_input_grad`].
    #[track_caller]
    pub fn dilation_2d_filter_grad(
        self,
        input: impl IntoOperand<'g>,
        filter: impl IntoOperand<'g>,
        strides: impl IntoParam<'g>,
        rates: impl IntoParam<'g>,
        padding: WindowPadding,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        let (input, filter) = (input.into_operand(self, location), filter.into_operand(self, location));
        let call = self.graph().op(&FILTER).data(input).data(filter).data(self);
        windowed(call, strides, rates, padding).finish_at(location)
    }
}

/// Adds the attributes of the windows to a call.
fn windowed<'g>(
    call: OpBuilder<'g>,
    strides: impl IntoParam<'g>,
    rates: impl IntoParam<'g>,
    padding: WindowPadding,
) -> OpBuilder<'g> {
    let list = |[rows, columns]: [i64; 2]| Attr::Ints([1, rows, columns, 1].into());
    call.known_attr("strides", window(strides, "strides", list))
        .known_attr("rates", window(rates, "rates", list))
        .attr("padding", padding.name())
}

pub(crate) static DEF: OpDef = OpDef::composite("dilation_2d", build)
    .attrs(ATTRIBUTES)
    .operands(&[Operand::Data("input"), Operand::Data("filter")])
    .dtype_rule(dtype::binary::number)
    .tensorflow(&[TfOp::new("Dilation2D")]);

/// The op that [`DEF`] applies to padded images. It pads integers itself: no border of integers is less than every sum,
/// because sums wrap. An export writes `Dilation2D`, which an import reads as [`DEF`].
pub(crate) static WINDOWS: OpDef = OpDef::compute("dilation_2d_windows", lower)
    .internal()
    .attrs(ATTRIBUTES)
    .operands(&[Operand::Data("input"), Operand::Data("filter")])
    .shape_fn(shape)
    .dtype_rule(dtype::binary::number)
    .tensorflow(&[TfOp::new("Dilation2D")]);

pub(crate) static INPUT: OpDef =
    OpDef::composite("dilation_2d_input_grad", |cx, values| build_gradient(cx, values, 0))
        .attrs(ATTRIBUTES)
        .operands(&[Operand::Data("input"), Operand::Data("filter"), Operand::Data("out_backprop")])
        .dtype_rule(|dtypes, _| Ok(vec![dtype::common(dtypes, 0, 3, dtype::Class::Number)?]))
        .tensorflow(&[TfOp::new("Dilation2DBackpropInput")]);

pub(crate) static FILTER: OpDef =
    OpDef::composite("dilation_2d_filter_grad", |cx, values| build_gradient(cx, values, 1))
        .attrs(ATTRIBUTES)
        .operands(&[Operand::Data("input"), Operand::Data("filter"), Operand::Data("out_backprop")])
        .dtype_rule(|dtypes, _| Ok(vec![dtype::common(dtypes, 0, 3, dtype::Class::Number)?]))
        .tensorflow(&[TfOp::new("Dilation2DBackpropFilter")]);

/// Pads images of floats with `-inf`, which is never the maximum of a window. A kernel then reads whole windows.
fn build<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let [x, filter] = *values else { return refuse("a dilation needs an input and a filter".to_string()) };
    let (strides, rates) = (cx.attrs().ints("strides"), cx.attrs().ints("rates"));
    let call = |x: Value<'g>, padding: &str| {
        let call = x.graph().op(&WINDOWS).data(x).data(filter).attr("padding", padding);
        let [strides, rates] = [&strides, &rates].map(|list| Attr::Ints(list.as_ref().into()));
        call.attr("strides", strides).attr("rates", rates).finish()
    };
    let padding = cx.attrs().str("padding");
    let is_list = |list: &[i64]| matches!(list, [1, 1..=i64::MAX, 1..=i64::MAX, 1]);
    let has_infinity = matches!(x.dtype(), DType::F16 | DType::BF16 | DType::F32 | DType::F64);
    let is_padded = padding == "SAME" && has_infinity && is_list(strides) && is_list(rates);
    let (images, window) = (x.shape(), filter.shape());
    let (Some(image), Some(window)) = (images.dims(), window.dims()) else {
        return Ok(vec![call(x, padding)?]);
    };
    if !is_padded || image.len() != 4 || window.len() != 3 {
        return Ok(vec![call(x, padding)?]);
    }
    let list = |list: &[i64]| list[1..3].to_vec();
    let geometry = Geometry::channels_last_of(list(strides), list(rates), padding, None);
    let windows = geometry.windows(image, &window[..2])?;
    let padded = windows.pad(x, Scalar::lowest(x.dtype()))?;
    Ok(vec![windows.of_counts(call(padded, "VALID")?)?])
}

/// Returns the lowest finite number of a dtype, f32 for f16 and bf16.
fn lowest(dtype: DType) -> Expr {
    match dtype {
        DType::F16 => Expr::constant(f16::MIN.to_f32()),
        DType::BF16 => Expr::constant(bf16::MIN.to_f32()),
        DType::F32 => Expr::constant(f32::MIN),
        DType::F64 => Expr::constant(f64::MIN),
        _ => Expr::constant(Scalar::lowest(dtype)),
    }
}

fn lower(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let (strides, rates) = (cx.ints("strides"), cx.ints("rates"));
    let (image, filter, before) = (cx.dims(0), cx.dims(1), cx.derived("before"));
    let dtype = cx.output_dtype(output);
    let lowest = lowest(dtype);
    let is_same = cx.attrs().str("padding") == "SAME";
    let mut element = |cx: &mut dyn LowerCx, inner: &[Index]| {
        let (mut read, mut inside) = (index.to_vec(), Vec::new());
        for axis in [1, 2] {
            let start = index[axis].clone() * strides[axis] - Index::constant(before[axis - 1].clone());
            read[axis] = start + inner[axis - 1].clone() * rates[axis];
            if is_same {
                let (low, high) = (Dim::known(0), image[axis].clone());
                inside.push(InRange { index: read[axis].clone(), low, high });
            }
        }
        let weight = [inner[0].clone(), inner[1].clone(), index[3].clone()];
        let sum = widen(cx.operand(0, &read)) + widen(cx.operand(1, &weight));
        let sum = match dtype.is_float() {
            true => sum.clone().equal(sum.clone()).select(sum, lowest.clone()),
            false => sum,
        };
        if inside.is_empty() { sum } else { Expr::case(vec![(inside, sum)], lowest.clone()) }
    };
    let largest = match is_same {
        true => cx.reduce(ReduceOp::Max, &filter[..2], &mut element),
        false => reduce_elements(cx, ReduceOp::Max, &filter[..2], &mut element),
    };
    largest.maximum(lowest).cast(dtype)
}

/// Adds the gradient of each window to the element of operand `operand` that gives the maximum of the window.
fn build_gradient<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>], operand: usize) -> Result<Vec<Value<'g>>> {
    let [x, filter, gradient] = *values else {
        return refuse("the gradient of a dilation needs an input, a filter and a gradient".to_string());
    };
    dtype::common(&[x.dtype(), filter.dtype(), gradient.dtype()], 0, 3, dtype::Class::Number)?;
    let x = of_rank(x, 4, "the input of a dilation")?;
    let filter = of_rank(filter, 3, "the filter of a dilation")?;
    let gradient = of_rank(gradient, 4, "the gradient of a dilation")?;
    let def = [&dilation_positions::OF_INPUT, &dilation_positions::OF_FILTER][operand];
    let positions = x.graph().op(def).data(x).data(filter).attrs(cx.attrs().clone()).finish()?;
    let what = "the gradient of a dilation and its windows";
    let gradient = with_shape(what, gradient, &dims_of(positions))?;
    Ok(vec![scattered([x, filter][operand], positions, gradient)?])
}

#[cfg(test)]
mod tests {
    use super::WINDOWS as DEF;
    use crate::ops::testing::shape_table;

    shape_table! { DEF, {"strides": [1, 2, 1, 1], "rates": [1, 1, 2, 1], "padding": "SAME"},
        "[n, 5, w, c]; [2, 3, c]" => "[d0_0, 3, d0_2, d0_3]",
        "bool[n, 5, 4, 1]; bool[2, 3, 1]" => error "must be an integer or a float, got bool",
        "[n, 5, 4, 1]; i32[2, 3, 1]" => error "operands must have one dtype, got f32 and i32",
    }
    shape_table! { channels: DEF, {"strides": [1, 1, 1, 2], "rates": [1, 1, 1, 1], "padding": "SAME"},
        "[n, 5, w, c]; [2, 3, c]" => error "strides must be 1 for the batch and the channels, got 1 and 2",
    }
}
