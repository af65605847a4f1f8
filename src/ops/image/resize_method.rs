//! `resize`: images of another height and width, by a chosen method.

use super::sampling::Sampling;
use super::sampling_kernel::SamplingKernel;
use super::scale_and_translate::RESIZE;
use crate::error::Result;
use crate::graph::{IntoParam, Value};

/// How [`Value::resize`] computes a pixel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ResizeMethod {
    /// A linear interpolation of four pixels.
    #[default]
    Bilinear,
    /// The nearest pixel.
    Nearest,
    /// A cubic interpolation of sixteen pixels.
    Bicubic,
    /// The mean of the pixels that the area of the pixel covers.
    Area,
    /// The kernel [`SamplingKernel::Lanczos3`].
    Lanczos3,
    /// The kernel [`SamplingKernel::Lanczos5`].
    Lanczos5,
    /// The kernel [`SamplingKernel::Gaussian`].
    Gaussian,
    /// The kernel [`SamplingKernel::MitchellCubic`].
    MitchellCubic,
}

impl<'g> Value<'g> {
    /// Resizes images by a method, with pixel centers at `i + 0.5`. If `antialias` is set, a smaller image is filtered,
    /// so that every pixel of the image counts; [`ResizeMethod::Nearest`] and [`ResizeMethod::Area`] ignore it.
    ///
    /// `[n, h, w, c] -> f32[n, size[0], size[1], c]`, integers and floats; [`ResizeMethod::Nearest`] keeps the dtype.
    /// `size` holds the new height and width. As TensorFlow's `tf.image.resize`. Bilinear and bicubic resizing without
    /// `antialias`, and nearest, fuse into kernels; the rest runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, ResizeMethod, Tensor};
    ///
    /// let g = Graph::new();
    /// let image = g.constant([[[[0.0f32]], [[4.0]], [[8.0]], [[8.0]]]])?;
    /// let y = image.resize([2, 1], ResizeMethod::Bilinear, true)?;
    /// let [y] = g.compile(y.reshape([2])?)?.run(&[])?;
    /// y.allclose(&Tensor::from([2.8571f32, 7.4286]), 1e-3, 0.0).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is neither an integer nor a float, the rank is not 4, `size` does not hold two sizes above 0,
    /// or the images have no pixels or no channels.
    #[doc(alias = "interpolate")]
    #[track_caller]
    pub fn resize(
        self,
        size: impl IntoParam<'g>,
        method: ResizeMethod,
        antialias: bool,
    ) -> Result<Value<'g>> {
        self.graph().in_call("resize", || {
            let kernel = match method {
                ResizeMethod::Nearest => return self.resize_nearest(size, Sampling::HalfPixel),
                ResizeMethod::Area => return self.resize_area(size),
                ResizeMethod::Bilinear if !antialias => {
                    return self.resize_bilinear(size, Sampling::HalfPixel);
                }
                ResizeMethod::Bicubic if !antialias => return self.resize_bicubic(size, Sampling::HalfPixel),
                ResizeMethod::Bilinear => SamplingKernel::Triangle,
                ResizeMethod::Bicubic => SamplingKernel::KeysCubic,
                ResizeMethod::Lanczos3 => SamplingKernel::Lanczos3,
                ResizeMethod::Lanczos5 => SamplingKernel::Lanczos5,
                ResizeMethod::Gaussian => SamplingKernel::Gaussian,
                ResizeMethod::MitchellCubic => SamplingKernel::MitchellCubic,
            };
            let call = self.graph().op(&RESIZE).data(self).size("size", size);
            call.attr("kernel_type", kernel.name()).attr("antialias", antialias).finish()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::ResizeMethod;
    use crate::graph::Graph;
    use crate::ops::testing::tensor;

    /// The results of `tf.image.resize` with and without `antialias`.
    #[test]
    fn images_are_resized_as_in_tensorflow() {
        use ResizeMethod::*;
        let rows = [
            (Bilinear, [3.7321434f32, 1.294643, 3.6428578, 5.267858], [3.75f32, 0.5625, 2.625, 6.375]),
            (
                Bicubic,
                [3.9940934, 0.88267577, 3.513514, 5.6499643],
                [3.8995278, 0.1165736, 2.186346, 7.0427227],
            ),
            (
                Lanczos3,
                [4.1776776, 0.63502514, 3.6077235, 5.704634],
                [4.2614837, 0.009557933, 2.1016748, 7.6808987],
            ),
            (
                Lanczos5,
                [4.2638297, 0.52163476, 3.6494026, 5.722333],
                [4.3633914, 0.0592257, 2.1707084, 8.088577],
            ),
            (
                Gaussian,
                [3.6480784, 1.6546719, 3.7192738, 4.965275],
                [3.8068242, 0.6619424, 2.710236, 6.3276463],
            ),
            (
                MitchellCubic,
                [3.8368797, 1.2727239, 3.6739545, 5.27567],
                [3.8942683, 0.41571128, 2.4781098, 6.704815],
            ),
            (Nearest, [1.0, 0.5, -1.0, 8.0], [1.0, 0.5, -1.0, 8.0]),
            (Area, [4.0, 1.0, 3.0, 6.166667], [4.0, 1.0, 3.0, 6.166667]),
        ];
        let pixels = [5.0f32, 1.0, -2.0, 0.5, 9.0, 3.0, 7.0, 2.0, 4.0, -1.0, 6.0, 8.0];
        let g = Graph::new();
        let x = g.constant(tensor(&[1, 3, 4, 1], &pixels)).unwrap();
        for (method, smooth, plain) in rows {
            for (antialias, expected) in [(true, smooth), (false, plain)] {
                let y = x.resize([2, 2], method, antialias).unwrap();
                let [y] = g.compile(y).unwrap().run(&[]).unwrap();
                let expected = tensor(&[1, 2, 2, 1], &expected);
                y.allclose(&expected, 1e-5, 1e-6)
                    .unwrap_or_else(|error| panic!("{method:?}, antialias {antialias}: {error}"));
            }
        }
    }
}
