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
        let kernel = match method {
            ResizeMethod::Nearest => return self.resize_nearest(size, Sampling::HalfPixel),
            ResizeMethod::Area => return self.resize_area(size),
            ResizeMethod::Bilinear if !antialias => return self.resize_bilinear(size, Sampling::HalfPixel),
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
    }
}
