//! `extract_glimpse`: a window of each image.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoOperand, IntoParam, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::host_params::param_sizes;
use crate::ops::random::philox::Philox;
use crate::ops::random::samples::{normal_four, unit_f32};
use crate::ops::row_major::RowMajor;
use crate::shape_fns;

/// What fills the pixels of a glimpse that lie outside the image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GlimpseNoise {
    /// Zeros.
    Zero,
    /// Uniform numbers between the smallest and the largest element of the image.
    Uniform,
    /// Normal numbers with the mean and the standard deviation of the image's channel, clamped to the range of the
    /// channel.
    Gaussian,
}

impl GlimpseNoise {
    fn name(self) -> &'static str {
        match self {
            GlimpseNoise::Zero => "zero",
            GlimpseNoise::Uniform => "uniform",
            GlimpseNoise::Gaussian => "gaussian",
        }
    }
}

/// How [`Value::extract_glimpse`] reads offsets, and what lies outside an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Glimpse {
    /// Offsets count from the center of the image.
    pub centered: bool,
    /// Offsets are fractions of the image, not pixels.
    pub normalized: bool,
    /// What fills the pixels outside the image.
    pub noise: GlimpseNoise,
}

impl Default for Glimpse {
    /// Centered and normalized offsets, and zeros outside the image.
    fn default() -> Glimpse {
        Glimpse { centered: true, normalized: true, noise: GlimpseNoise::Zero }
    }
}

impl<'g> Value<'g> {
    /// Copies a window of `size` pixels from each image. `offsets[i]` has the row and the column of the window in image
    /// `i`:
    ///
    /// | [`Glimpse::centered`] | [`Glimpse::normalized`] | first row of the window, for an image of `h` rows |
    /// |---|---|---|
    /// | no | no | `offset` |
    /// | no | yes | `offset * h` |
    /// | yes | no | `offset + h / 2` |
    /// | yes | yes | `(offset + 1) * h / 2 - size[0] / 2` |
    ///
    /// A fraction is dropped. The first column is computed in the same way. With the last form, the offset 0 is the
    /// middle of the image, and -1 and 1 are its edges.
    ///
    /// `[n, h, w, c], offsets f32[n, 2] -> [n, size[0], size[1], c]`, f32. As TensorFlow's `ExtractGlimpseV2`, but
    /// TensorFlow draws new noise in every run, and this op the same noise in each run. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Glimpse, Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let image = g.constant([[[[1.0f32], [2.0], [3.0]], [[4.0], [5.0], [6.0]]]])?;
    /// let offsets = g.constant([[1.0f32, 1.0]])?;
    /// let glimpse = Glimpse { centered: false, normalized: false, ..Glimpse::default() };
    /// let y = image.extract_glimpse([2, 2], offsets, glimpse)?.reshape([2, 2])?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[5.0f32, 6.0], [0.0, 0.0]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype is not f32, a rank is wrong, the batch sizes differ, `offsets` does not have 2 columns, or `size` does
    /// not hold two sizes.
    #[doc(alias = "crop")]
    #[track_caller]
    pub fn extract_glimpse(
        self,
        size: impl IntoParam<'g>,
        offsets: impl IntoOperand<'g>,
        glimpse: Glimpse,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        let offsets = offsets.into_operand(self, location);
        let call = self.graph().op(&DEF).data(self).size("size", size).data(offsets);
        let call = call.attr("centered", glimpse.centered).attr("normalized", glimpse.normalized);
        let call = call.attr("uniform_noise", glimpse.noise == GlimpseNoise::Uniform);
        call.attr("noise", glimpse.noise.name()).finish_at(location)
    }
}

const ATTRIBUTES: &[Attribute] = &[
    Attribute::bool_or("centered", true),
    Attribute::bool_or("normalized", true),
    Attribute::bool_or("uniform_noise", true),
    Attribute::str_or("noise", "uniform"),
];
const OPERANDS: &[Operand] = &[Operand::Data("input"), Operand::Size("size"), Operand::Data("offsets")];

pub(crate) static DEF: OpDef = OpDef::host("extract_glimpse", |cx| {
    let (is_centered, is_normalized) = (cx.attrs().bool("centered"), cx.attrs().bool("normalized"));
    run(cx, |offset, size, window| {
        let scaled = if is_normalized { offset * size } else { offset };
        match (is_centered, is_normalized) {
            (false, _) => scaled,
            (true, false) => scaled + size / 2.0,
            (true, true) => scaled / 2.0 + size / 2.0 - window / 2.0,
        }
    })
})
.attrs(ATTRIBUTES)
.operands(OPERANDS)
.shape_fn(shape_fns::image::extract_glimpse)
.dtype_rule(dtypes)
.tensorflow(&[TfOp::new("ExtractGlimpseV2")]);

/// An op for import only: `extract_glimpse` whose offsets always name the middle of the window, and whose centered
/// offsets are always halves of pixels or of images. As TensorFlow's `ExtractGlimpse`.
pub(crate) static V1: OpDef = OpDef::host("extract_glimpse_v1", |cx| {
    let (is_centered, is_normalized) = (cx.attrs().bool("centered"), cx.attrs().bool("normalized"));
    run(cx, |offset, size, window| {
        let scaled = if is_normalized { offset * size } else { offset };
        let middle = if is_centered { scaled / 2.0 + size / 2.0 } else { scaled };
        middle - window / 2.0
    })
})
.attrs(ATTRIBUTES)
.operands(OPERANDS)
.shape_fn(shape_fns::image::extract_glimpse)
.dtype_rule(dtypes)
.tensorflow(&[TfOp::new("ExtractGlimpse")]);

fn dtypes(dtypes: &[DType], attrs: &Attrs) -> Result<Vec<DType>> {
    if let Err(message) = noise_of(attrs) {
        return Err(Error::new(ErrorKind::Attribute, Phase::Build, message));
    }
    let last = dtypes.len().saturating_sub(1).max(1);
    dtype::check_indices(dtypes.get(..last).unwrap_or_default(), 1)?;
    for (name, position) in [("input", 0), ("offsets", last)] {
        if let Some(other) = dtypes.get(position).filter(|dtype| **dtype != DType::F32) {
            return dtype::refuse(format!("{name} must be f32, got {other}"));
        }
    }
    Ok(vec![DType::F32])
}

/// Returns what fills the pixels outside the image.
///
/// # Errors
/// The attributes name no noise, or two kinds of noise.
fn noise_of(attrs: &Attrs) -> std::result::Result<GlimpseNoise, String> {
    let (name, is_uniform) = (attrs.str("noise"), attrs.bool("uniform_noise"));
    let kinds = [GlimpseNoise::Zero, GlimpseNoise::Uniform, GlimpseNoise::Gaussian];
    match kinds.into_iter().find(|noise| noise.name() == name) {
        _ if name.is_empty() => Ok(if is_uniform { GlimpseNoise::Uniform } else { GlimpseNoise::Gaussian }),
        Some(noise) if is_uniform && noise != GlimpseNoise::Uniform => {
            Err(format!("noise must be uniform if uniform_noise is true, got {name:?}"))
        }
        Some(noise) => Ok(noise),
        None => Err(format!("noise must be uniform, gaussian or zero, got {name:?}")),
    }
}

/// Copies the windows. `first` gives the first pixel of a window along an axis, with its fraction, for the offset, the
/// size of the image and the size of the window.
fn run(cx: &mut HostCx<'_>, first: impl Fn(f32, f32, f32) -> f32) -> Result<()> {
    let images = RowMajor::new(cx.input(0)?)?;
    let images = images.view();
    let offsets = cx.input(cx.inputs() - 1)?;
    let (&[count, height, width, channels], &[rows, columns]) =
        (images.sizes(), &param_sizes(cx, "size", 1)?[..])
    else {
        return Err(Error::msg("images must have rank 4, and operand size must have two elements"));
    };
    if count > 0 && offsets.sizes()[1] != 2 {
        let message = format!("offsets must have 2 columns, got sizes {:?}", offsets.sizes());
        return Err(Error::new(ErrorKind::Shape, Phase::Run, message));
    }
    let offsets = offsets.to_vec::<f32>()?;
    let noise = noise_of(cx.attrs()).expect("the dtype rule has checked the noise");
    let mut output = cx.unfilled_output(0, &[count, rows, columns, channels])?;
    let slots = output.as_mut_slice::<f32>()?;
    if slots.is_empty() {
        return Ok(());
    }
    let pixels = images.as_slice::<f32>()?;
    let (len, glimpse_len) = (height * width * channels, rows * columns * channels);
    let glimpses = slots.chunks_exact_mut(glimpse_len).zip(offsets.as_chunks::<2>().0);
    for (number, (glimpse, &[down, across])) in glimpses.enumerate() {
        let image = &pixels[number * len..(number + 1) * len];
        let top = pixel(first(down, height as f32, rows as f32));
        let left = pixel(first(across, width as f32, columns as f32));
        let (rows_inside, columns_inside) = (inside(top, rows, height), inside(left, columns, width));
        if rows_inside.len() < rows || columns_inside.len() < columns {
            fill(glimpse, image, channels, noise, number);
        }
        for row in rows_inside {
            let source = image_pixel(top, row) * width;
            let target = row * columns;
            let run = columns_inside.len() * channels;
            if run > 0 {
                let source = (source + image_pixel(left, columns_inside.start)) * channels;
                let target = (target + columns_inside.start) * channels;
                glimpse[target..target + run].copy_from_slice(&image[source..source + run]);
            }
        }
    }
    Ok(())
}

/// Drops the fraction of a pixel's number. A number of 1e9 or more, or NaN, gives a pixel far outside the image.
fn pixel(number: f32) -> i64 {
    if number.abs() < 1e9 { number as i64 } else { -i64::from(u32::MAX) }
}

/// Returns the pixels of a window of `window` pixels from pixel `first` on that are in an image of `size` pixels.
fn inside(first: i64, window: usize, size: usize) -> std::ops::Range<usize> {
    let at = |pixel: i64| usize::try_from(pixel).unwrap_or(0).min(window);
    let (size, window) = (i64::try_from(size), i64::try_from(window));
    let (size, window) = (size.unwrap_or(i64::MAX), window.unwrap_or(i64::MAX));
    let start = at(-first);
    let end = at(size.saturating_sub(first).min(window));
    start..end.max(start)
}

/// Returns the pixel of the image that pixel `number` of a window from `first` on shows.
fn image_pixel(first: i64, number: usize) -> usize {
    usize::try_from(first + number as i64).expect("the pixel is inside the image")
}

/// Fills a glimpse with noise. Image `number` has a stream of its own.
fn fill(glimpse: &mut [f32], image: &[f32], channels: usize, noise: GlimpseNoise, number: usize) {
    let noise = if image.is_empty() { GlimpseNoise::Zero } else { noise };
    let stream = Philox::new(number as u64, [0, 0]);
    let range = |channel: usize, step: usize| {
        let elements = || image.iter().skip(channel).step_by(step).copied();
        (elements().fold(f32::INFINITY, f32::min), elements().fold(f32::NEG_INFINITY, f32::max))
    };
    match noise {
        GlimpseNoise::Zero => glimpse.fill(0.0),
        GlimpseNoise::Uniform => {
            let (low, high) = range(0, 1);
            for (place, slot) in glimpse.iter_mut().enumerate() {
                let bits = stream.block(place as u64 / 4)[place % 4];
                *slot = low + unit_f32(bits) * (high - low);
            }
        }
        GlimpseNoise::Gaussian => {
            for channel in 0..channels {
                let elements = || image.iter().skip(channel).step_by(channels).map(|x| f64::from(*x));
                let count = (image.len() / channels) as f64;
                let mean = elements().sum::<f64>() / count;
                let deviation = (elements().map(|x| (x - mean).powi(2)).sum::<f64>() / count).sqrt();
                let (low, high) = range(channel, channels);
                for (place, slot) in glimpse.iter_mut().enumerate().skip(channel).step_by(channels) {
                    let normal = normal_four(stream.block(place as u64 / 4))[place % 4];
                    *slot = ((mean + f64::from(normal) * deviation) as f32).min(high).max(low);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run_one, shape_table, tensor};

    shape_table! { DEF, {"size": [2, 3]},
        "[n, h, w, c]; [n, 2]" => "[n, 2, 3, c]",
        "[2, h, w, c]; [3, 2]" => error "the batch sizes of input and offsets must agree, got 2 and 3",
        "f64[n, h, w, c]; [n, 2]" => error "input must be f32, got f64",
        "[n, h, w, c]; f64[n, 2]" => error "offsets must be f32, got f64",
    }
    shape_table! { fed: V1, {"noise": "zero", "uniform_noise": false},
        "[n, h, w, c]; size=i32[2]; [n, 2]" => "[n, ?, ?, c]",
    }
    shape_table! { two_kinds: DEF, {"size": [2, 3], "noise": "zero"},
        "[n, h, w, c]; [n, 2]" => error "noise must be uniform if uniform_noise is true, got \"zero\"",
    }
    shape_table! { unknown: DEF, {"size": [2, 3], "noise": "pink"},
        "[n, h, w, c]; [n, 2]" => error "noise must be uniform, gaussian or zero, got \"pink\"",
    }

    #[test]
    fn windows_are_copied_pixel_by_pixel() {
        let (height, width, channels) = (4usize, 5usize, 2usize);
        let len = height * width * channels;
        let x: Vec<f32> = (1..=2 * len as i32).map(|x| x as f32).collect();
        let images = tensor(&[2, height, width, channels], &x);
        for [rows, columns] in [[2usize, 3usize], [6, 7], [1, 1], [4, 5]] {
            for (top, left) in [(0i64, 0i64), (-1, 2), (3, -2), (-7, 0), (9, 1), (1, 1)] {
                let attrs = Attrs::new().with("size", [rows as i64, columns as i64]);
                let attrs = attrs.with("centered", false).with("normalized", false);
                let attrs = attrs.with("noise", "zero").with("uniform_noise", false);
                let offsets = tensor(&[2, 2], &[top as f32, left as f32, 0.0, 0.0]);
                let y = run_one(&DEF, &attrs, &[images.clone(), offsets]).to_vec::<f32>().unwrap();
                let mut expected = Vec::new();
                for (image, top, left) in [(0, top, left), (1, 0, 0)] {
                    for (row, column) in
                        (0..rows as i64).flat_map(|row| (0..columns as i64).map(move |c| (row, c)))
                    {
                        for channel in 0..channels {
                            let (row, column) = (row + top, column + left);
                            let is_inside =
                                (0..height as i64).contains(&row) && (0..width as i64).contains(&column);
                            let source = (row * width as i64 + column) * channels as i64 + channel as i64;
                            expected.push(if is_inside { x[image * len + source as usize] } else { 0.0 });
                        }
                    }
                }
                assert_eq!(y, expected, "{rows} {columns} {top} {left}");
            }
        }
    }

    #[test]
    fn noise_is_in_the_range_of_the_image() {
        let x = tensor(&[1, 2, 2, 2], &[1.0f32, 10.0, 2.0, 20.0, 3.0, 30.0, 4.0, 40.0]);
        let outside = tensor(&[1, 2], &[9.0f32, 9.0]);
        let noise = |name: &str| {
            let attrs = Attrs::new().with("size", [20, 20]).with("noise", name);
            let attrs = attrs.with("uniform_noise", name == "uniform");
            run_one(&DEF, &attrs, &[x.clone(), outside.clone()]).to_vec::<f32>().unwrap()
        };
        let uniform = noise("uniform");
        assert!(uniform.iter().all(|x| (1.0..=40.0).contains(x)));
        let mean = uniform.iter().sum::<f32>() / uniform.len() as f32;
        assert!((mean - 20.5).abs() < 2.0, "{mean}");
        for (channel, scale) in [(0, 1.0f32), (1, 10.0)] {
            let of_channel: Vec<f32> =
                noise("gaussian").iter().skip(channel).step_by(2).map(|x| x / scale).collect();
            assert!(of_channel.iter().all(|x| (1.0..=4.0).contains(x)));
            let mean = of_channel.iter().sum::<f32>() / of_channel.len() as f32;
            assert!((mean - 2.5).abs() < 0.2, "{mean}");
        }
    }

    #[test]
    fn a_window_at_no_number_is_outside() {
        let x = tensor(&[2, 1, 1, 1], &[1.0f32, 2.0]);
        let offsets = tensor(&[2, 2], &[f32::NAN, 0.0, f32::INFINITY, -1e30]);
        let attrs = Attrs::new().with("size", [1, 1]).with("noise", "zero").with("uniform_noise", false);
        assert_eq!(run_one(&DEF, &attrs, &[x, offsets]).to_vec::<f32>().unwrap(), [0.0, 0.0]);
    }
}
