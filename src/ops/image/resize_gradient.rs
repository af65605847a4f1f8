//! `resize_bilinear_grad`, `resize_bicubic_grad` and `resize_nearest_grad`: the gradients of resized images.

use shapeflow_shape_fns::{Attribute, Attrs, DType, InferenceContext, ShapeError};

use super::interpolation::{Cubic, Linear, ResampleRule, all_taps};
use super::sampling::{Sampling, require_images_with, require_pixels};
use crate::dtype;
use crate::error::{Error, Result};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::host_params::param_sizes;
use crate::ops::row_major::RowMajor;
use crate::ops::rows::{narrow, widened};
use crate::shape_fns;
use crate::tensor::{Element, Tensor, TensorView, TensorViewMut};

const ATTRIBUTES: &[Attribute] =
    &[Attribute::bool_or("align_corners", false), Attribute::bool_or("half_pixel_centers", false)];

/// An op for import only: the gradient of `resize_bilinear`, `grads f32[n, rh, rw, c], original_image [n, h, w, c] ->
/// [n, h, w, c]`. `original_image` is a float of any dtype, which the result has too. f16 and bf16 are added as f32 and
/// rounded once. As TensorFlow's `ResizeBilinearGrad`. Runs on the host.
pub(crate) static BILINEAR: OpDef =
    OpDef::host("resize_bilinear_grad", |cx| run(cx, Linear, |fraction| [1.0 - fraction, fraction]))
        .attrs(ATTRIBUTES)
        .operands(&[Operand::Data("grads"), Operand::Data("original_image")])
        .shape_fn(like_original)
        .dtype_rule(dtype_of_original)
        .tensorflow(&[TfOp::new("ResizeBilinearGrad")]);

/// As [`BILINEAR`], for `resize_bicubic`. As TensorFlow's `ResizeBicubicGrad`.
pub(crate) static BICUBIC: OpDef = OpDef::host("resize_bicubic_grad", |cx| {
    let is_keys_kernel = cx.attrs().bool("half_pixel_centers");
    run(cx, Cubic { is_keys_kernel }, |weights| weights)
})
.attrs(ATTRIBUTES)
.operands(&[Operand::Data("grads"), Operand::Data("original_image")])
.shape_fn(like_original)
.dtype_rule(dtype_of_original)
.tensorflow(&[TfOp::new("ResizeBicubicGrad")]);

/// An op for import only: the gradient of `resize_nearest`, `grads [n, rh, rw, c], size -> [n, size[0], size[1], c]`,
/// integers (which wrap) and floats. f16 and bf16 are added as f32 and rounded once. As TensorFlow's
/// `ResizeNearestNeighborGrad`. Runs on the host.
pub(crate) static NEAREST: OpDef = OpDef::host("resize_nearest_grad", run_nearest)
    .attrs(ATTRIBUTES)
    .operands(&[Operand::Data("grads"), Operand::Size("size")])
    .shape_fn(|cx| {
        check_attributes(cx)?;
        let [_, height, width, _] = cx.axes::<4>(0)?;
        require_images_with(cx, &[height, width], "pixels")?;
        shape_fns::image::resize(cx)?;
        require_pixels(cx, "size")
    })
    .dtype_rule(dtype::unary::number)
    .tensorflow(&[TfOp::new("ResizeNearestNeighborGrad")]);

fn check_attributes(cx: &InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    if cx.bool_or("half_pixel_centers", false)? && cx.bool_or("align_corners", false)? {
        return Err(ShapeError::new("align_corners must be false if half_pixel_centers is true"));
    }
    Ok(())
}

fn like_original(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    check_attributes(cx)?;
    let [batch, height, width, channels] = cx.axes::<4>(0)?;
    require_images_with(cx, &[height, width], "pixels")?;
    let [images, _, _, depth] = cx.axes::<4>(1)?;
    cx.agree("the batch sizes of grads and original_image", &batch, &images)?;
    cx.agree("the numbers of channels of grads and original_image", &channels, &depth)?;
    shape_fns::image::image_like_second(cx)?;
    require_pixels(cx, "original_image")
}

fn dtype_of_original(dtypes: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    if let Some(other) = dtypes.first().filter(|dtype| **dtype != DType::F32) {
        return dtype::refuse(format!("grads must be f32, got {other}"));
    }
    Ok(vec![dtype::common(dtypes, 1, 2, dtype::Class::Float)?])
}

/// For each pixel of the resized axis: the pixels of the original axis that it shows, with their weights.
type Taps<const TAPS: usize> = Vec<([usize; TAPS], [f32; TAPS])>;

fn run<const TAPS: usize, I: ResampleRule<TAPS>>(
    cx: &mut HostCx<'_>,
    rule: I,
    weights: fn(I::Weights) -> [f32; TAPS],
) -> Result<()> {
    let gradients = RowMajor::new(cx.input(0)?)?;
    let gradients = gradients.view();
    let sizes = cx.input(1)?.sizes().to_vec();
    let sampling = Sampling::of(cx.attrs());
    let [rows, columns] = [1, 2].map(|axis| -> Taps<TAPS> {
        let taps = all_taps(rule, sampling, [sizes[axis], gradients.sizes()[axis]], 1);
        taps.into_iter().map(|(pixels, given)| (pixels, weights(given))).collect()
    });
    let mut output = cx.output(0, &sizes)?;
    match output.dtype() {
        DType::F32 => add(&gradients, [&rows, &columns], &mut output, |sum: &mut f32, x: f32| *sum += x),
        DType::F64 => {
            add(&gradients, [&rows, &columns], &mut output, |sum: &mut f64, x: f32| *sum += f64::from(x))
        }
        _ => {
            let mut wide = Tensor::zeros(DType::F32, &sizes)?;
            let sums = &mut wide.view_mut()?;
            add(&gradients, [&rows, &columns], sums, |sum: &mut f32, x: f32| *sum += x)?;
            narrow(wide.view(), &mut output)
        }
    }
}

/// Adds each gradient, times its weights, to the original pixels that its pixel shows.
fn add<T: Element, const TAPS: usize>(
    gradients: &TensorView<'_>,
    [rows, columns]: [&Taps<TAPS>; 2],
    output: &mut TensorViewMut<'_>,
    plus: impl Fn(&mut T, f32),
) -> Result<()> {
    let (height, width, channels) = (output.sizes()[1], output.sizes()[2], output.sizes()[3]);
    let pixels = output.as_mut_slice::<T>()?;
    if pixels.is_empty() {
        return Ok(());
    }
    let image_len = height * width * channels;
    let places = rows.iter().flat_map(|row| columns.iter().map(move |column| (row, column)));
    let gradients = gradients.as_slice::<f32>()?.chunks_exact(rows.len() * columns.len() * channels);
    for (image, gradients) in pixels.chunks_exact_mut(image_len).zip(gradients) {
        for ((row, column), gradient) in places.clone().zip(gradients.chunks_exact(channels)) {
            for (y, down) in row.0.iter().zip(row.1) {
                for (x, across) in column.0.iter().zip(column.1) {
                    let pixel = &mut image[(y * width + x) * channels..][..channels];
                    pixel.iter_mut().zip(gradient).for_each(|(sum, x)| plus(sum, x * down * across));
                }
            }
        }
    }
    Ok(())
}

/// Returns, for each pixel of the resized axis, the pixel of the original axis that it shows. The original axis has
/// `size` pixels, the resized axis `resized`.
fn nearest(sampling: Sampling, size: usize, resized: usize) -> Vec<usize> {
    let scale = match sampling == Sampling::AlignCorners && resized > 1 {
        true => (size - 1) as f32 / (resized - 1) as f32,
        false => size as f32 / resized as f32,
    };
    let pixel = |pixel: usize| {
        let position = match sampling {
            Sampling::HalfPixel => ((pixel as f32 + 0.5) * scale).floor(),
            Sampling::AlignCorners => (pixel as f32 * scale).round(),
            Sampling::Legacy => (pixel as f32 * scale).floor(),
        };
        (position as usize).min(size - 1)
    };
    (0..resized).map(pixel).collect()
}

fn run_nearest(cx: &mut HostCx<'_>) -> Result<()> {
    let gradients = RowMajor::new(cx.input(0)?)?;
    let gradients = gradients.view();
    let (&[count, height, width, channels], &[rows, columns]) =
        (gradients.sizes(), &param_sizes(cx, "size", 1)?[..])
    else {
        return Err(Error::msg("gradients must have rank 4, and operand size must have two elements"));
    };
    let sampling = Sampling::of(cx.attrs());
    let places = [nearest(sampling, rows, height), nearest(sampling, columns, width)];
    let sizes = [count, rows, columns, channels];
    let mut output = cx.output(0, &sizes)?;
    macro_rules! of {
        ($($DType:ident $T:ident)*) => {
            match gradients.dtype() {
                $(DType::$DType => add_nearest(&gradients, &places, &mut output, $T::wrapping_add),)*
                DType::F32 => add_nearest(&gradients, &places, &mut output, |a: f32, b| a + b),
                DType::F64 => add_nearest(&gradients, &places, &mut output, |a: f64, b| a + b),
                _ => {
                    let mut wide = Tensor::zeros(DType::F32, &sizes)?;
                    let from = widened(&gradients)?;
                    add_nearest(&from.view(), &places, &mut wide.view_mut()?, |a: f32, b| a + b)?;
                    narrow(wide.view(), &mut output)
                }
            }
        };
    }
    of!(I8 i8 I16 i16 I32 i32 I64 i64 U8 u8 U16 u16 U32 u32 U64 u64)
}

fn add_nearest<T: Element>(
    gradients: &TensorView<'_>,
    [rows, columns]: &[Vec<usize>; 2],
    output: &mut TensorViewMut<'_>,
    plus: impl Fn(T, T) -> T,
) -> Result<()> {
    let (height, width, channels) = (output.sizes()[1], output.sizes()[2], output.sizes()[3]);
    let pixels = output.as_mut_slice::<T>()?;
    if pixels.is_empty() {
        return Ok(());
    }
    let places = rows.iter().flat_map(|row| columns.iter().map(move |column| row * width + column));
    let gradients = gradients.as_slice::<T>()?.chunks_exact(rows.len() * columns.len() * channels);
    for (image, gradients) in pixels.chunks_exact_mut(height * width * channels).zip(gradients) {
        for (place, gradient) in places.clone().zip(gradients.chunks_exact(channels)) {
            let pixel = &mut image[place * channels..][..channels];
            pixel.iter_mut().zip(gradient).for_each(|(sum, x)| *sum = plus(*sum, *x));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{BILINEAR, NEAREST};
    use crate::ops::testing::{run_one, shape_table, tensor};

    shape_table! { BILINEAR, {},
        "[n, 3, 3, c]; bf16[n, 4, w, c]" => "bf16[d1_0, 4, d1_2, d1_3]",
        "f64[n, 3, 3, c]; [n, 4, w, c]" => error "grads must be f32, got f64",
        "[2, 3, 3, c]; [3, 4, w, c]" => error "the batch sizes of grads and original_image must agree, got 2 and 3",
        "[n, 3, 0, c]; [n, 4, w, c]" => error "must have pixels",
    }
    shape_table! { nearest: NEAREST, {"size": [2, 3]},
        "u8[n, 4, w, c]" => "u8[d0_0, 2, 3, d0_3]",
        "bool[n, 4, w, c]" => error "must be an integer or a float, got bool",
    }
    shape_table! { both: NEAREST, {"size": [2, 3], "align_corners": true, "half_pixel_centers": true},
        "[n, 4, w, c]" => error "align_corners must be false if half_pixel_centers is true",
    }

    #[test]
    fn the_sum_of_the_gradients_stays() {
        let gradients = tensor(&[1, 3, 5, 1], &(0..15).map(|x| x as f32).collect::<Vec<_>>());
        let like = tensor(&[1, 2, 7, 1], &[0.0f32; 14]);
        let sums = run_one(&BILINEAR, &shapeflow_shape_fns::Attrs::new(), &[gradients, like]);
        let sum: f32 = sums.to_vec::<f32>().unwrap().iter().sum();
        assert!((sum - 105.0).abs() < 1e-3, "{sum}");
    }
}
