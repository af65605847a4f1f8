//! `scale_and_translate`: images that are scaled and moved, sampled by a kernel.

use std::borrow::Cow;
use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType, InferenceContext, counted};

use super::pixels::floats;
use super::sampling::resize_shape;
use super::sampling_kernel::SamplingKernel;
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoOperand, IntoParam, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::host_params::param_sizes;
use crate::ops::row_major::RowMajor;
use crate::shape_fns;
use crate::tensor::{filled_vec, reserved_vec};

impl<'g> Value<'g> {
    /// Scales and moves images, and samples them by a kernel. Pixel `i` of the result shows the point
    /// `(i + 0.5 - translation) / scale` of an axis. Pixel `j` of the image covers the points from `j` to `j + 1`. The
    /// weights of the pixels around a point are scaled to the sum 1. A point outside the image has the value 0.
    ///
    /// `[n, h, w, c], scale f32[2], translation f32[2] -> f32[n, size[0], size[1], c]`, integers and floats. `size`,
    /// `scale` and `translation` hold a number for the rows and one for the columns. If `antialias` is set, a scale
    /// below 1 stretches the kernel, so that every pixel of the image counts. As TensorFlow's `ScaleAndTranslate`. Runs
    /// on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, SamplingKernel, Tensor};
    ///
    /// let g = Graph::new();
    /// let image = g.constant([[[[1.0f32]], [[2.0]], [[3.0]]]])?;
    /// let (scale, translation) = (g.constant([1.0f32, 1.0])?, g.constant([1.0f32, 0.0])?);
    /// let y = image.scale_and_translate([3, 1], scale, translation, SamplingKernel::Triangle, true)?;
    /// let [y] = g.compile(y.reshape([3])?)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([0.0f32, 1.0, 2.0]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is neither an integer nor a float, a rank is wrong, `size` does not hold two sizes above 0, or
    /// `scale` or `translation` does not hold two numbers. The run fails if the images have no pixels or channels, a
    /// scale is not above 0, or a translation is NaN.
    #[doc(alias = "affine")]
    #[track_caller]
    pub fn scale_and_translate(
        self,
        size: impl IntoParam<'g>,
        scale: impl IntoOperand<'g>,
        translation: impl IntoOperand<'g>,
        kernel: SamplingKernel,
        antialias: bool,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        // Rust scalars and dimensions take the dtype of this value.
        let f32_peer = self.graph().constant(0.0f32)?;
        let scale = scale.into_operand(f32_peer, location);
        let translation = translation.into_operand(f32_peer, location);
        let call = self.graph().op(&DEF).data(self).size("size", size).data(scale).data(translation);
        call.attr("kernel_type", kernel.name()).attr("antialias", antialias).finish_at(location)
    }
}

pub(crate) static DEF: OpDef = OpDef::host("scale_and_translate", |cx| {
    let (scale, translation) = mapping_of(cx)?;
    sample(cx, |_, _| (scale, translation))
})
.attrs(ATTRIBUTES)
.operands(&[
    Operand::Data("images"),
    Operand::Size("size"),
    Operand::Data("scale"),
    Operand::Data("translation"),
])
.shape_fn(|cx| {
    for name in ["scale", "translation"] {
        if let Some(operand) = cx.operand(name) {
            let [count] = cx.axes::<1>(operand)?;
            cx.with_value(&count, 2)?;
        }
    }
    shape(cx)
})
.dtype_rule(|dtypes, attrs| {
    let first = dtypes.len().saturating_sub(2).max(1);
    dtype::check_indices(dtypes.get(..first).unwrap_or_default(), 1)?;
    match dtypes.iter().skip(first).find(|dtype| **dtype != DType::F32) {
        Some(other) => dtype::refuse(format!("scale and translation must be f32, got {other}")),
        None => f32_result(dtypes, attrs),
    }
})
.tensorflow(&[TfOp::new("ScaleAndTranslate")]);

/// An op for import only: the gradient of `scale_and_translate`, `grads f32[n, rh, rw, c], original_image f32[n, h, w,
/// c], scale f32[2], translation f32[2] -> f32[n, h, w, c]`. As TensorFlow's `ScaleAndTranslateGrad`. Runs on the host.
pub(crate) static GRADIENT: OpDef = OpDef::host("scale_and_translate_grad", run_gradient)
    .attrs(ATTRIBUTES)
    .operands(&[
        Operand::Data("grads"),
        Operand::Data("original_image"),
        Operand::Data("scale"),
        Operand::Data("translation"),
    ])
    .shape_fn(shape_fns::image::image_like_second)
    .dtype_rule(|dtypes, attrs| {
        if let Some(other) = dtypes.iter().find(|dtype| **dtype != DType::F32) {
            return dtype::refuse(format!("all operands must be f32, got {other}"));
        }
        match SamplingKernel::of(attrs.str("kernel_type")) {
            Some(_) => Ok(vec![DType::F32]),
            None => {
                let name = attrs.str("kernel_type");
                let message = format!("kernel_type must name a sampling kernel, got {name:?}");
                Err(Error::new(ErrorKind::Attribute, Phase::Build, message))
            }
        }
    })
    .tensorflow(&[TfOp::new("ScaleAndTranslateGrad")]);

/// Resizes images by a kernel: `scale_and_translate` whose scale follows from the sizes, without a translation.
pub(crate) static RESIZE: OpDef = OpDef::host("resize_with_kernel", |cx| {
    sample(cx, |size, resized| ([0, 1].map(|axis| resized[axis] as f32 / size[axis] as f32), [0.0; 2]))
})
.attrs(ATTRIBUTES)
.operands(&[Operand::Data("images"), Operand::Size("size")])
.shape_fn(shape)
.dtype_rule(|dtypes, attrs| {
    dtype::check_indices(dtypes, 1)?;
    f32_result(dtypes, attrs)
});

const ATTRIBUTES: &[Attribute] =
    &[Attribute::str_or("kernel_type", "lanczos3"), Attribute::bool_or("antialias", true)];

fn f32_result(dtypes: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    dtype::common(dtypes, 0, 1, dtype::Class::Number)?;
    Ok(vec![DType::F32])
}

fn shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    let name = cx.attrs().str("kernel_type").to_string();
    if SamplingKernel::of(&name).is_none() {
        let message = format_args!("kernel_type must name a sampling kernel, got {name:?}");
        return Err(shapeflow_shape_fns::ShapeError::new(message));
    }
    resize_shape(cx)
}

/// For each pixel of the result along one axis: the image pixels that it shows, and their weights.
struct Spans {
    /// For each pixel of the result: the first image pixel that it shows, and the end of its weights in `weights`.
    spans: Vec<(usize, usize)>,
    weights: Vec<f32>,
}

impl Spans {
    /// Computes the weights for an axis that has `size` pixels in the image and `resized` pixels in the result.
    ///
    /// # Errors
    /// `Memory`: the allocation fails.
    fn new(
        kernel: SamplingKernel,
        [size, resized]: [usize; 2],
        [scale, translation]: [f32; 2],
        antialias: bool,
    ) -> Result<Spans> {
        let inverse = 1.0 / scale;
        let shift = -inverse * translation;
        let stretch = if antialias { inverse.max(1.0) } else { 1.0 };
        let reach = kernel.radius() * stretch;
        let narrowing = 1.0 / stretch;
        let mut all = Spans { spans: reserved_vec(resized)?, weights: Vec::new() };
        for pixel in 0..resized {
            let point = (pixel as f32 + 0.5) * inverse + shift;
            if !(0.0..=size as f32).contains(&point) {
                all.spans.push((0, all.weights.len()));
                continue;
            }
            let last = size - 1;
            let first = ((point - reach - 0.5).ceil().max(0.0) as usize).min(last);
            let past = ((point + reach - 0.5).floor().max(0.0) as usize).min(last) + 1;
            let weight = |source: usize| kernel.weight(((source as f32 + 0.5 - point) * narrowing).abs());
            let sum: f32 = (first..past).map(weight).fold(0.0, |sum, weight| sum + weight);
            if sum.abs() >= 1000.0 * f32::MIN_POSITIVE {
                let factor = 1.0 / sum;
                let count = past.saturating_sub(first);
                all.weights.try_reserve(count).map_err(|_| too_many(resized, count))?;
                all.weights.extend((first..past).map(|source| weight(source) * factor));
            }
            all.spans.push((first, all.weights.len()));
        }
        Ok(all)
    }

    /// Returns the first pixel and the weights of each pixel of the result.
    fn iter(&self) -> impl Iterator<Item = (usize, &[f32])> {
        let begins = std::iter::once(0).chain(self.spans.iter().map(|(_, end)| *end));
        let spans = self.spans.iter().zip(begins);
        spans.map(|((first, end), begin)| (*first, &self.weights[begin..*end]))
    }
}

fn too_many(pixels: usize, weights: usize) -> Error {
    let message = format!(
        "the weights of {pixels} must fit in memory, got {weights} for one pixel",
        pixels = counted(pixels, "pixel")
    );
    Error::new(ErrorKind::Memory, Phase::Run, message)
}

/// Samples the images. `mapping` gives the scale and the translation of rows and columns, for the height and the width
/// of the images and of the result.
fn sample(
    cx: &mut HostCx<'_>,
    mapping: impl FnOnce([usize; 2], [usize; 2]) -> ([f32; 2], [f32; 2]),
) -> Result<()> {
    let kernel = SamplingKernel::of(cx.attrs().str("kernel_type"));
    let kernel = kernel.expect("the shape function has checked the name");
    let antialias = cx.attrs().bool("antialias");
    let images = RowMajor::new(cx.input(0)?)?;
    let images = images.view();
    let (&[count, height, width, channels], &[new_height, new_width]) =
        (images.sizes(), &param_sizes(cx, "size", 1)?[..])
    else {
        return Err(Error::msg("images must have rank 4, and size must have two elements"));
    };
    if [height, width, channels].contains(&0) {
        let message = format!("images must have pixels and channels, got sizes {:?}", images.sizes());
        return Err(Error::new(ErrorKind::Shape, Phase::Run, message));
    }
    let (scale, translation) = mapping([height, width], [new_height, new_width]);
    let mut output = cx.unfilled_output(0, &[count, new_height, new_width, channels])?;
    if count * new_height * new_width == 0 {
        return Ok(());
    }
    let rows = Spans::new(kernel, [height, new_height], [scale[0], translation[0]], antialias)?;
    let columns = Spans::new(kernel, [width, new_width], [scale[1], translation[1]], antialias)?;
    let pixels: Cow<'_, [f32]> = floats(&images)?;
    let (row_len, new_row_len) = (width * channels, new_width * channels);
    let mut line = reserved_vec(row_len)?;
    line.resize(row_len, 0.0f32);
    let lines = output.as_mut_slice::<f32>()?.chunks_exact_mut(new_row_len);
    let places =
        pixels.chunks_exact(height * row_len).flat_map(|image| rows.iter().map(move |row| (image, row)));
    for (slots, (image, (first, weights))) in lines.zip(places) {
        line.fill(0.0);
        for (source, weight) in image[first * row_len..].chunks_exact(row_len).zip(weights) {
            add_scaled(&mut line, source, *weight);
        }
        for (slot, (first, weights)) in slots.chunks_exact_mut(channels).zip(columns.iter()) {
            slot.fill(0.0);
            for (pixel, weight) in line[first * channels..].chunks_exact(channels).zip(weights) {
                add_scaled(slot, pixel, *weight);
            }
        }
    }
    Ok(())
}

/// Returns the scale and the translation of rows and columns: the last two operands.
///
/// # Errors
/// An operand does not have two numbers, a scale is not above 0, or a translation is NaN.
fn mapping_of(cx: &HostCx<'_>) -> Result<([f32; 2], [f32; 2])> {
    let first = cx.inputs() - 2;
    let pair = |operand: usize, name: &str| -> Result<[f32; 2]> {
        let numbers = cx.input(operand)?.to_vec::<f32>()?;
        <[f32; 2]>::try_from(numbers).map_err(|numbers| {
            let message = format!("{name} must have 2 numbers, got {}", numbers.len());
            Error::new(ErrorKind::Shape, Phase::Run, message)
        })
    };
    let (scale, translation) = (pair(first, "scale")?, pair(first + 1, "translation")?);
    if !scale.iter().all(|scale| *scale > 0.0) || translation.iter().any(|shift| shift.is_nan()) {
        let message = format!(
            "scale must be above 0 and translation must not be NaN, got {scale:?} and {translation:?}"
        );
        return Err(Error::new(ErrorKind::Attribute, Phase::Run, message));
    }
    Ok((scale, translation))
}

/// Adds each gradient, times its weights, to the pixels that it comes from.
fn run_gradient(cx: &mut HostCx<'_>) -> Result<()> {
    let kernel = SamplingKernel::of(cx.attrs().str("kernel_type"));
    let kernel = kernel.expect("the dtype rule has checked the name");
    let antialias = cx.attrs().bool("antialias");
    let (scale, translation) = mapping_of(cx)?;
    let gradients = RowMajor::new(cx.input(0)?)?;
    let gradients = gradients.view();
    let sizes = cx.input(1)?.sizes().to_vec();
    let (&[count, height, width, channels], &[images, new_height, new_width, depth]) =
        (&sizes[..], gradients.sizes())
    else {
        return Err(Error::msg("gradients and images must have rank 4"));
    };
    if (count, channels) != (images, depth) || [height, width, channels].contains(&0) {
        let message = format!(
            "grads and original_image must have equal numbers of images and of channels, and original_image must not \
             be empty, got sizes {:?} and {sizes:?}",
            gradients.sizes()
        );
        return Err(Error::new(ErrorKind::Shape, Phase::Run, message));
    }
    let mut output = cx.output(0, &sizes)?;
    if gradients.is_empty() {
        return Ok(());
    }
    let rows = Spans::new(kernel, [height, new_height], [scale[0], translation[0]], antialias)?;
    let columns = Spans::new(kernel, [width, new_width], [scale[1], translation[1]], antialias)?;
    let row_len = width * channels;
    let mut line = filled_vec(row_len, 0.0f32)?;
    let images = output.as_mut_slice::<f32>()?.chunks_exact_mut(height * row_len);
    let gradients = gradients.as_slice::<f32>()?.chunks_exact(new_height * new_width * channels);
    for (image, gradients) in images.zip(gradients) {
        for ((first, weights), gradients) in rows.iter().zip(gradients.chunks_exact(new_width * channels)) {
            line.fill(0.0);
            for ((first, weights), gradient) in columns.iter().zip(gradients.chunks_exact(channels)) {
                for (pixel, weight) in line[first * channels..].chunks_exact_mut(channels).zip(weights) {
                    add_scaled(pixel, gradient, *weight);
                }
            }
            for (row, weight) in image[first * row_len..].chunks_exact_mut(row_len).zip(weights) {
                add_scaled(row, &line, *weight);
            }
        }
    }
    Ok(())
}

/// `sums += weight * x`.
fn add_scaled(sums: &mut [f32], x: &[f32], weight: f32) {
    sums.iter_mut().zip(x).for_each(|(sum, x)| *sum += weight * x);
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::{DEF, GRADIENT, RESIZE};
    use crate::ops::testing::{check_tensor, run, run_one, shape_table, tensor};

    shape_table! { DEF, {"size": [2, 3]},
        "u8[n, 4, w, c]; [2]; [2]" => "f32[d0_0, 2, 3, d0_3]",
        "[n, 4, w, c]; [3]; [2]" => error "2",
        "[n, 4, w, c]; [2]; f64[2]" => error "scale and translation must be f32, got f64",
        "bool[n, 4, w, c]; [2]; [2]" => error "must be an integer or a float, got bool",
    }
    shape_table! { gradient: GRADIENT, {},
        "[n, p, q, c]; [n, h, w, c]; [2]; [2]" => "[d1_0, d1_1, d1_2, d1_3]",
        "[n, p, q, c]; u8[n, h, w, c]; [2]; [2]" => error "all operands must be f32, got u8",
    }
    shape_table! { other: RESIZE, {"size": [2, 3], "kernel_type": "cubic"},
        "[1, 2, 3, 4]" => error "kernel_type must name a sampling kernel, got \"cubic\"",
    }
    shape_table! { empty: RESIZE, {"size": [2, 0]},
        "[1, 2, 3, 4]" => error "size must be positive, got 0",
    }

    #[test]
    fn the_mean_of_an_image_stays_if_all_pixels_count() {
        let x = tensor(&[1, 8, 8, 1], &(0..64).map(|i| (i * i % 11) as f32).collect::<Vec<_>>());
        let attrs = Attrs::new().with("size", [1, 1]).with("kernel_type", "box");
        let mean = x.to_vec::<f32>().unwrap().iter().sum::<f32>() / 64.0;
        check_tensor(&run_one(&RESIZE, &attrs, &[x]), &tensor(&[1, 1, 1, 1], &[mean]), "box");
    }

    /// Runs the op on an image that is 1 at one element and 0 elsewhere. The gradient of this element is the sum of the
    /// results, each times its own gradient.
    #[test]
    fn gradients_are_those_of_the_op() {
        let pair = |a: f32, b: f32| tensor(&[2], &[a, b]);
        let gradient: Vec<f32> = (1..=2 * 3 * 2).map(|i| (i * i % 7) as f32 - 2.0).collect();
        for (kernel, antialias, scale) in
            [("triangle", true, 0.6), ("lanczos3", false, 0.6), ("box", true, 1.7)]
        {
            let attrs = Attrs::new().with("kernel_type", kernel).with("antialias", antialias);
            let mapping = [pair(scale, 0.8), pair(0.5, -0.25)];
            let operands = [tensor(&[1, 2, 3, 2], &gradient), tensor(&[1, 4, 5, 2], &[0.0f32; 40])];
            let got = run_one(&GRADIENT, &attrs, &[&operands[..], &mapping].concat());
            let attrs = attrs.with("size", [2, 3]);
            let expected: Vec<f32> = (0..40)
                .map(|place| {
                    let mut x = [0.0f32; 40];
                    x[place] = 1.0;
                    let image = [tensor(&[1, 4, 5, 2], &x)];
                    let y = run_one(&DEF, &attrs, &[&image[..], &mapping].concat()).to_vec::<f32>().unwrap();
                    y.iter().zip(&gradient).map(|(y, gradient)| y * gradient).sum()
                })
                .collect();
            got.allclose(&tensor(&[1, 4, 5, 2], &expected), 1e-5, 1e-6).unwrap();
        }
    }

    #[test]
    fn scales_and_images_are_checked() {
        let attrs = Attrs::new().with("size", [2, 3]);
        let x = tensor(&[1, 1, 1, 1], &[1.0f32]);
        let pair = |a: f32, b: f32| tensor(&[2], &[a, b]);
        let error = run(&DEF, &attrs, &[x.clone(), pair(0.0, 1.0), pair(0.0, 0.0)]).unwrap_err();
        assert!(error.message().starts_with("scale must be above 0"), "{error}");
        assert!(run(&DEF, &attrs, &[x, pair(1.0, 1.0), pair(f32::NAN, 0.0)]).is_err());
        let error = run(&RESIZE, &attrs, &[tensor::<f32>(&[1, 0, 3, 1], &[])]).unwrap_err();
        assert!(error.message().contains("images must have pixels and channels"), "{error}");
        assert_eq!(run_one(&RESIZE, &attrs, &[tensor::<f32>(&[0, 2, 3, 1], &[])]).sizes(), [0, 2, 3, 1]);
    }
}
