//! `resize_area`: images of another height and width. Each pixel is the mean of an area.

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use super::pixels::floats;
use super::sampling::resize_shape;
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoParam, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::host_params::param_sizes;
use crate::ops::row_major::RowMajor;

impl<'g> Value<'g> {
    /// Resizes images: every pixel is the mean of the pixels of the image that its area covers. A pixel that is covered
    /// in part has a weight below 1.
    ///
    /// `[n, h, w, c] -> f32[n, size[0], size[1], c]`, integers and floats. `size` holds the new height and width. As
    /// TensorFlow's `ResizeArea`; an imported graph may set `align_corners`. With aligned corners, an axis of one pixel
    /// repeats this pixel. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let image = g.constant([[[[1], [3]], [[5], [7]]]])?;
    /// let [y] = g.compile(image.resize_area([1, 1])?)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[[[4.0f32]]]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is neither an integer nor a float, the rank is not 4, `size` does not hold two sizes above 0,
    /// or the images have no pixels or no channels.
    #[doc(alias = "interpolate")]
    #[doc(alias = "adaptive_avg_pool2d")]
    #[track_caller]
    pub fn resize_area(self, size: impl IntoParam<'g>) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).size("size", size).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::host("resize_area", run)
    .attrs(&[Attribute::bool_or("align_corners", false)])
    .operands(&[Operand::Data("images"), Operand::Size("size")])
    .shape_fn(resize_shape)
    .dtype_rule(|dtypes: &[DType], attrs: &Attrs| {
        dtype::unary::number(dtypes, attrs)?;
        Ok(vec![DType::F32])
    })
    .tensorflow(&[TfOp::new("ResizeArea")]);

/// The pixels along one axis that the area of a pixel of the result covers.
struct Area {
    first: usize,
    /// For each pixel from `first` on: the share of the pixel that is covered.
    shares: Vec<f32>,
}

impl Area {
    /// Returns the areas of `resized` pixels in `size` pixels, each `scale` long.
    fn all(size: usize, resized: usize, scale: f32) -> Vec<Area> {
        let area = |pixel: usize| {
            let (begin, end) = (pixel as f32 * scale, (pixel + 1) as f32 * scale);
            let (first, past) = (begin.floor() as usize, end.ceil() as usize);
            let share = |at: usize| {
                let (at, next) = (at as f32, (at + 1) as f32);
                match (at < begin, next > end) {
                    (true, true) => scale,
                    (true, false) => next - begin,
                    (false, true) => end - at,
                    (false, false) => 1.0,
                }
            };
            Area { first, shares: (first..past.max(first + 1)).map(share).collect() }
        };
        debug_assert!(size > 0, "an axis without pixels has no areas");
        (0..resized).map(area).collect()
    }
}

/// Returns the number of pixels of an axis that a pixel of the result covers along this axis. Corners of
/// one pixel cannot be aligned.
fn scale(size: usize, resized: usize, aligned: bool) -> f32 {
    match aligned && size > 1 && resized > 1 {
        true => (size - 1) as f32 / (resized - 1) as f32,
        false => size as f32 / resized as f32,
    }
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let images = RowMajor::new(cx.input(0)?)?;
    let images = images.view();
    let (&[count, height, width, channels], &[new_height, new_width]) =
        (images.sizes(), &param_sizes(cx, "size", 1)?[..])
    else {
        return Err(Error::msg("images must have rank 4, and operand size must have two elements"));
    };
    let has_pixels = ![count, channels, new_height, new_width].contains(&0);
    if has_pixels && [height, width].contains(&0) {
        let message = format!("images must have pixels, got sizes {:?}", images.sizes());
        return Err(Error::new(ErrorKind::Shape, Phase::Run, message));
    }
    let aligned = cx.attrs().bool("align_corners");
    let mut output = cx.unfilled_output(0, &[count, new_height, new_width, channels])?;
    if !has_pixels {
        return Ok(());
    }
    let (down, right) = (scale(height, new_height, aligned), scale(width, new_width, aligned));
    let (rows, columns) = (Area::all(height, new_height, down), Area::all(width, new_width, right));
    let pixels = floats(&images)?;
    let factor = 1.0 / (down * right);
    let mut slots = output.as_mut_slice::<f32>()?.chunks_exact_mut(channels);
    let mut sums = vec![0.0f32; channels];
    for image in pixels.chunks_exact(height * width * channels) {
        for row in &rows {
            for column in &columns {
                let slot = slots.next().expect("the output has a slot for every pixel");
                slot.fill(0.0);
                for (y, share) in row.shares.iter().enumerate() {
                    let line = (row.first + y).min(height - 1) * width;
                    sums.fill(0.0);
                    for (x, share) in column.shares.iter().enumerate() {
                        let pixel = (line + (column.first + x).min(width - 1)) * channels;
                        for (sum, value) in sums.iter_mut().zip(&image[pixel..pixel + channels]) {
                            *sum += value * share;
                        }
                    }
                    slot.iter_mut().zip(&sums).for_each(|(slot, sum)| *slot += sum * share);
                }
                slot.iter_mut().for_each(|slot| *slot *= factor);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run, run_one, shape_table, tensor};

    shape_table! { DEF, {"size": [2, 3]},
        "u8[n, 4, w, c]" => "f32[n, 2, 3, d0_3]",
        "[n, 4, 4]" => error "images must have rank 4",
        "bool[1, 2, 3, 4]" => error "must be an integer or a float, got bool",
    }

    #[test]
    fn whole_areas_have_plain_means() {
        let x = tensor(&[1, 2, 6, 1], &[1u8, 3, 5, 7, 9, 11, 3, 5, 7, 9, 11, 13]);
        let y = run_one(&DEF, &Attrs::new().with("size", [1, 3]), std::slice::from_ref(&x));
        assert_eq!(y.to_vec::<f32>().unwrap(), [3.0, 7.0, 11.0]);
        let same = run_one(&DEF, &Attrs::new().with("size", [2, 6]), std::slice::from_ref(&x));
        assert_eq!(
            same.to_vec::<f32>().unwrap(),
            x.to_vec::<u8>().unwrap().iter().map(|x| f32::from(*x)).collect::<Vec<_>>()
        );
    }

    #[test]
    fn the_mean_of_an_image_stays() {
        let x = tensor(&[1, 5, 7, 1], &(0..35).map(|i| (i * i % 11) as f32).collect::<Vec<_>>());
        let mean = |x: &[f32]| x.iter().sum::<f32>() / x.len() as f32;
        for size in [[1, 1], [2, 3], [5, 4], [9, 8], [1, 20]] {
            let y = run_one(&DEF, &Attrs::new().with("size", size), std::slice::from_ref(&x));
            let (got, expected) = (mean(&y.to_vec().unwrap()), mean(&x.to_vec().unwrap()));
            assert!((got - expected).abs() < 1e-5, "{size:?}: {got} {expected}");
        }
    }

    #[test]
    fn an_axis_of_one_pixel_repeats_the_pixel() {
        let attrs = Attrs::new().with("size", [2, 2]).with("align_corners", true);
        let y = run_one(&DEF, &attrs, &[tensor(&[1, 2, 1, 1], &[1.0f32, 2.0])]);
        assert_eq!(y.to_vec::<f32>().unwrap(), [1.0, 1.0, 2.0, 2.0]);
        let y = run_one(&DEF, &attrs, &[tensor(&[1, 1, 1, 1], &[3.0f32])]);
        assert_eq!(y.to_vec::<f32>().unwrap(), [3.0; 4]);
    }

    #[test]
    fn images_without_pixels_have_no_means() {
        let attrs = Attrs::new().with("size", [2, 3]);
        let error = run(&DEF, &attrs, &[tensor::<f32>(&[1, 0, 3, 1], &[])]).unwrap_err();
        assert!(error.message().contains("images must have pixels"), "{error}");
        assert_eq!(run_one(&DEF, &attrs, &[tensor::<f32>(&[0, 2, 3, 1], &[])]).sizes(), [0, 2, 3, 1]);
    }
}
