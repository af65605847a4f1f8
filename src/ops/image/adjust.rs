//! `adjust_contrast`, `adjust_hue`, `adjust_saturation`: colors of images.

use shapeflow_shape_fns::{DType, TensorShape};

use super::chroma::Chroma;
use super::color::{convert, hsv_of, rgb_of};
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::{IntoOperand, Value};
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::reduce::Axes;
use crate::ops::widen::widen;
use crate::shape_fns;

impl<'g> Value<'g> {
    /// Scales the distance of every element from the mean of its channel: `(x - mean) * factor + mean`. The mean is
    /// over the rows and columns of an image.
    ///
    /// `[.., h, w, c] -> [.., h, w, c]`, floats; `factor` is an f32 scalar. f16 and bf16 are computed as f32. As
    /// TensorFlow's `AdjustContrastv2`. The op is composed of other ops, which fuse into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let image = g.constant([[[1.0f32], [3.0]]])?;
    /// let y = image.adjust_contrast(g.constant(2.0f32)?)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[[0.0f32], [4.0]]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not a float, the rank is below 3, or `factor` is not an f32 scalar.
    #[track_caller]
    pub fn adjust_contrast(self, factor: impl IntoOperand<'g>) -> Result<Value<'g>> {
        self.binary(&CONTRAST, factor, std::panic::Location::caller())
    }

    /// Turns the hue of every pixel by `delta`, where 1 is a full turn. The smallest and the largest value among a
    /// pixel's components stay the same, even if they are negative.
    ///
    /// `[.., 3] -> [.., 3]`, floats; `delta` is an f32 scalar. f16 and bf16 are computed as f32 and rounded once. As
    /// TensorFlow's `AdjustHue`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let red = g.constant([[[1.0f32, 0.0, 0.0]]])?;
    /// let y = red.adjust_hue(g.constant(0.5f32)?)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([[[0.0f32, 1.0, 1.0]]]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not a float, the last axis does not have size 3, or `delta` is not an f32 scalar.
    #[track_caller]
    pub fn adjust_hue(self, delta: impl IntoOperand<'g>) -> Result<Value<'g>> {
        self.binary(&HUE, delta, std::panic::Location::caller())
    }

    /// Multiplies the saturation of every pixel by `scale` and clamps it to `[0, 1]`.
    ///
    /// `[.., 3] -> [.., 3]`, floats; `scale` is an f32 scalar. f16 and bf16 are computed as f32 and rounded once. As
    /// TensorFlow's `AdjustSaturation`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let pixel = g.constant([[[1.0f32, 0.5, 0.5]]])?;
    /// let y = pixel.adjust_saturation(g.constant(2.0f32)?)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([[[1.0f32, 0.0, 0.0]]]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not a float, the last axis does not have size 3, or `scale` is not an f32 scalar.
    #[track_caller]
    pub fn adjust_saturation(self, scale: impl IntoOperand<'g>) -> Result<Value<'g>> {
        self.binary(&SATURATION, scale, std::panic::Location::caller())
    }
}

pub(crate) static CONTRAST: OpDef = OpDef::composite("adjust_contrast", |_, values| {
    let [images, factor] = values else {
        return Err(Error::msg("adjust_contrast needs images and a factor"));
    };
    dtypes(&[images.dtype(), factor.dtype()], "contrast_factor")?;
    let wide = if images.dtype() == DType::F64 { DType::F64 } else { DType::F32 };
    Ok(vec![stretched(*images, *factor, wide)?.cast(images.dtype())?])
})
.operands(&[Operand::Data("images"), Operand::Data("contrast_factor")])
.tensorflow(&[TfOp::new("AdjustContrastv2")]);

/// An op for import only: `images, factor f32[], min f32[], max f32[] -> f32`. Computes `adjust_contrast` in f32, and
/// clamps the results to the range from `min` to `max`. `images` are u8, i8, i16, i32, f32 or f64. As TensorFlow's
/// `AdjustContrast`. The op is composed of other ops, which fuse into kernels.
pub(crate) static CONTRAST_V1: OpDef = OpDef::composite("adjust_contrast_v1", |_, values| {
    let [images, factor, min, max] = values else {
        return Err(Error::msg("adjust_contrast_v1 needs images, a factor and two limits"));
    };
    let accepted = [DType::U8, DType::I8, DType::I16, DType::I32, DType::F32, DType::F64];
    if !accepted.contains(&images.dtype()) {
        let got = images.dtype();
        return dtype::refuse(format!("images must be u8, i8, i16, i32, f32 or f64, got {got}"));
    }
    for (name, value) in [("contrast_factor", factor), ("min_value", min), ("max_value", max)] {
        if value.dtype() != DType::F32 {
            return dtype::refuse(format!("{name} must be f32, got {}", value.dtype()));
        }
    }
    let (min, max) = (scalar(*min, "min_value")?, scalar(*max, "max_value")?);
    Ok(vec![stretched(*images, *factor, DType::F32)?.minimum(max)?.maximum(min)?])
})
.operands(&[
    Operand::Data("images"),
    Operand::Data("contrast_factor"),
    Operand::Data("min_value"),
    Operand::Data("max_value"),
])
.dtype_rule(|_, _| Ok(vec![DType::F32]))
.tensorflow(&[TfOp::new("AdjustContrast")]);

/// Returns images with another contrast, in the dtype `wide`.
///
/// # Errors
/// The rank of the images is below 3, or the factor is not a scalar.
fn stretched<'g>(images: Value<'g>, factor: Value<'g>, wide: DType) -> Result<Value<'g>> {
    if let Some(rank) = images.shape().rank().filter(|rank| *rank < 3) {
        let message = format!("images must have rank at least 3, got rank {rank}");
        return Err(Error::new(ErrorKind::Shape, Phase::Build, message));
    }
    let factor = scalar(factor, "contrast_factor")?;
    let x = images.cast(wide)?;
    let mean = x.reduce_mean(Axes::of([-3, -2]).keep_dims())?;
    x.sub(mean)?.mul(factor.cast(wide)?)?.add(mean)
}

/// Returns a value of rank 0.
///
/// # Errors
/// The rank is not 0. If the rank is unknown, the run checks it.
fn scalar<'g>(value: Value<'g>, name: &str) -> Result<Value<'g>> {
    match value.shape().rank() {
        Some(0) => Ok(value),
        Some(rank) => {
            let message = format!("{name} must have rank 0, got rank {rank}");
            Err(Error::new(ErrorKind::Shape, Phase::Build, message))
        }
        None => value.ensure_shape(TensorShape::scalar()),
    }
}

pub(crate) static HUE: OpDef = OpDef::compute("adjust_hue", |cx, _, index| {
    let delta = scalar_operand(cx);
    convert(cx, index, |color| Chroma::of(color).turned(delta).rgb())
})
.operands(&[Operand::Data("images"), Operand::Data("delta")])
.shape_fn(shape)
.dtype_rule(|operands, _| dtypes(operands, "delta"))
.tensorflow(&[TfOp::new("AdjustHue").own_shape_fn()]);

pub(crate) static SATURATION: OpDef = OpDef::compute("adjust_saturation", |cx, _, index| {
    let scale = scalar_operand(cx);
    convert(cx, index, |color| {
        let [hue, saturation, value] = hsv_of(color);
        let (zero, one) = (hue.like(0.0), hue.like(1.0));
        rgb_of([hue, (saturation * scale).maximum(zero).minimum(one), value])
    })
})
.operands(&[Operand::Data("images"), Operand::Data("scale")])
.shape_fn(shape)
.dtype_rule(|operands, _| dtypes(operands, "scale"))
.tensorflow(&[TfOp::new("AdjustSaturation").own_shape_fn()]);

/// The dtype rule of images and an f32 scalar, the operand `name`.
fn dtypes(dtypes: &[DType], name: &str) -> Result<Vec<DType>> {
    let dtype = dtype::common(dtypes, 0, 1, dtype::Class::Float)?;
    match dtypes.get(1) {
        None | Some(DType::F32) => Ok(vec![dtype]),
        Some(other) => dtype::refuse(format!("{name} must be f32, got {other}")),
    }
}

/// The shape function of the color ops: the images have 3 channels, and operand 1 is a scalar.
fn shape(cx: &mut shapeflow_shape_fns::InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    cx.scalar(1)?;
    shape_fns::image::convert_color(cx)
}

/// Returns operand 1, a scalar, in the dtype of the computation.
fn scalar_operand(cx: &mut dyn LowerCx) -> Expr {
    let zeros = vec![Index::from(0); cx.dims(0).len()];
    let dtype = widen(cx.operand(0, &zeros)).dtype();
    cx.operand(1, &[]).cast(dtype)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::DType;

    use crate::Tensor;
    use crate::graph::Graph;
    use crate::shape;

    #[test]
    fn the_contrast_factor_is_a_scalar() {
        let g = Graph::new();
        let image = g.input("image", DType::F32, shape![1, 1, 3]).unwrap();
        let error = image.adjust_contrast(g.constant([1.0f32, 2.0]).unwrap()).unwrap_err();
        assert!(error.message().contains("contrast_factor must have rank 0, got rank 1"), "{error}");
        let factor = g.input("factor", DType::F32, "?".parse::<crate::TensorShape>().unwrap()).unwrap();
        let exe = g.compile(image.adjust_contrast(factor).unwrap()).unwrap();
        let run = |sizes: &[usize]| {
            let [image, factor] = [&[1, 1, 3], sizes].map(|sizes| Tensor::full(sizes, 1.0f32).unwrap());
            exe.run::<1>(&[image.view(), factor.view()])
        };
        assert_eq!(run(&[]).unwrap()[0].sizes(), [1, 1, 3]);
        assert!(run(&[2, 1, 1, 1]).is_err());
    }
}
