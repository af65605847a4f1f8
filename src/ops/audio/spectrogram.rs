//! `audio_spectrogram`: the strengths of the frequencies of a sound, frame by frame.

use std::f64::consts::PI;

use num_complex::Complex64;
use shapeflow_shape_fns::{Attribute, DType};

use super::power_of_two::Transform;
use crate::dtype;
use crate::error::Result;
use crate::graph::Value;
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::row_major::RowMajor;
use crate::shape_fns;
use crate::tensor::reserved_vec;

impl<'g> Value<'g> {
    /// Computes the magnitudes of the Fourier transform of each window of the samples, or the squares of the magnitudes
    /// with `magnitude_squared`. The windows have `window_size` samples and start `stride` samples apart. A window is
    /// multiplied by a periodic Hann window and followed by zeros up to `p`, the next power of two.
    ///
    /// `[samples, channels] -> [channels, frames, 1 + p / 2]`, f32, where `frames = max(0, 1 + (samples - window_size)
    /// / stride)`. As TensorFlow's `AudioSpectrogram`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let samples = g.constant([[1.0f32], [2.0], [3.0], [4.0], [5.0], [6.0]])?;
    /// let y = samples.audio_spectrogram(4, 2, true)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([[[36.0f32, 10.0, 0.0], [100.0, 26.0, 0.0]]]), 1e-5, 1e-5).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not f32, the rank is not 2, `window_size` is less than 2, or `stride` is less than 1.
    #[doc(alias = "stft")]
    #[track_caller]
    pub fn audio_spectrogram(
        self,
        window_size: i64,
        stride: i64,
        magnitude_squared: bool,
    ) -> Result<Value<'g>> {
        let call = self.graph().op(&DEF).data(self).attr("window_size", window_size).attr("stride", stride);
        call.attr("magnitude_squared", magnitude_squared).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::host("audio_spectrogram", run)
    .attrs(&[
        Attribute::int("window_size"),
        Attribute::int("stride"),
        Attribute::bool_or("magnitude_squared", false),
    ])
    .operands(&[Operand::Data("input")])
    .shape_fn(shape_fns::audio::spectrogram)
    .dtype_rule(|dtypes, _| match dtypes.first() {
        None | Some(DType::F32) => Ok(vec![DType::F32]),
        Some(other) => dtype::refuse(format!("input must be f32, got {other}")),
    })
    .tensorflow(&[TfOp::new("AudioSpectrogram")]);

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let x = RowMajor::new(cx.input(0)?)?;
    let x = x.view();
    let (&[samples, channels], attrs) = (x.sizes(), cx.attrs()) else {
        unreachable!("the shape function checks the rank");
    };
    // The shape function checks the range of both numbers.
    let window = attrs.int("window_size").unsigned_abs() as usize;
    let stride = usize::try_from(attrs.int("stride")).unwrap_or(usize::MAX);
    let is_squared = attrs.bool("magnitude_squared");
    let length = window.next_power_of_two();
    let bins = 1 + length / 2;
    let frames = samples.checked_sub(window).map_or(0, |overhang| 1 + overhang / stride);
    let hann: Vec<f64> = (0..if frames > 0 { window } else { 0 })
        .map(|i| 0.5 - 0.5 * (2.0 * PI * i as f64 / window as f64).cos())
        .collect();
    let x = x.as_slice::<f32>()?;
    let mut frequencies = reserved_vec(if frames > 0 { length } else { 0 })?;
    let transform = Transform::new(if frames > 0 { length } else { 1 })?;
    let mut output = cx.unfilled_output(0, &[channels, frames, bins])?;
    for (number, row) in output.as_mut_slice::<f32>()?.chunks_exact_mut(bins).enumerate() {
        let (channel, frame) = (number / frames, number % frames);
        let samples = x[frame * stride * channels..].iter().skip(channel).step_by(channels);
        frequencies.clear();
        frequencies
            .extend(samples.zip(&hann).map(|(sample, hann)| Complex64::from(f64::from(*sample) * hann)));
        frequencies.resize(length, Complex64::ZERO);
        transform.apply(&mut frequencies);
        for (strength, frequency) in row.iter_mut().zip(&frequencies) {
            let squared = frequency.norm_sqr() as f32;
            *strength = if is_squared { squared } else { squared.sqrt() };
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::*;
    use crate::ops::testing::{run_one, shape_table, tensor};

    shape_table! { DEF, {"window_size": 5, "stride": 3},
        "[20, c]" => "[c, 6, 5]",
        "[4, c]" => "[c, 0, 5]",
        "f64[20, c]" => error "input must be f32, got f64",
    }
    shape_table! { stride: DEF, {"window_size": 5, "stride": 0},
        "[20, c]" => error "stride must be at least 1, got 0",
    }

    /// One element, by a sum over the samples of its window.
    fn magnitude(x: &[f32], channels: usize, channel: usize, start: usize, window: usize, bin: usize) -> f32 {
        let length = window.next_power_of_two();
        let sum: Complex64 = (0..window)
            .map(|i| {
                let hann = (PI * i as f64 / window as f64).sin().powi(2);
                let turn = Complex64::cis(-2.0 * PI * (i * bin % length) as f64 / length as f64);
                turn * hann * f64::from(x[(start + i) * channels + channel])
            })
            .sum();
        sum.norm() as f32
    }

    #[test]
    fn elements_are_sums_over_a_window() {
        for (samples, channels, window, stride) in
            [(20, 1, 5, 3), (33, 2, 8, 8), (16, 3, 16, 1), (9, 2, 2, 4)]
        {
            let x: Vec<f32> = (0..samples * channels).map(|i| (i * i % 23) as f32 - 11.0).collect();
            let attrs = Attrs::new().with("window_size", window as i64).with("stride", stride as i64);
            let got = run_one(&DEF, &attrs, &[tensor(&[samples, channels], &x)]);
            let (frames, bins) = (1 + (samples - window) / stride, 1 + window.next_power_of_two() / 2);
            assert_eq!(got.sizes(), [channels, frames, bins]);
            for (position, got) in got.to_vec::<f32>().unwrap().into_iter().enumerate() {
                let (bin, row) = (position % bins, position / bins);
                let expected = magnitude(&x, channels, row / frames, row % frames * stride, window, bin);
                assert!((got - expected).abs() < 1e-4, "{position}: {got} and {expected}");
            }
        }
    }
}
