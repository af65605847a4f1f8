//! `mfcc`: mel-frequency cepstral coefficients, which describe the timbre of a sound.

use std::f64::consts::PI;

use shapeflow_shape_fns::{Attribute, DType};

use super::mel::{MelBands, refuse};
use crate::dtype;
use crate::error::Result;
use crate::graph::{IntoOperand, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::row_major::RowMajor;
use crate::shape_fns;
use crate::tensor::reserved_vec;

/// The least sum of a band: quieter bands count as this loud.
const FLOOR: f64 = 1e-12;

/// How [`Value::mfcc_with`] computes coefficients.
///
/// ```
/// let options = shapeflow::MfccOptions { coefficients: 20, ..shapeflow::MfccOptions::default() };
/// assert_eq!((options.bands, options.lowest, options.highest), (40, 20.0, 4000.0));
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MfccOptions {
    /// The lowest frequency of the bands, in hertz.
    pub lowest: f64,
    /// The highest frequency of the bands, in hertz.
    pub highest: f64,
    /// The number of bands.
    pub bands: i64,
    /// The number of coefficients, at most the number of bands.
    pub coefficients: i64,
}

impl Default for MfccOptions {
    /// TensorFlow's defaults: 13 coefficients of 40 bands from 20 to 4000 hertz.
    fn default() -> MfccOptions {
        MfccOptions { lowest: 20.0, highest: 4000.0, bands: 40, coefficients: 13 }
    }
}

impl<'g> Value<'g> {
    /// Computes mel-frequency cepstral coefficients with [`MfccOptions::default`], see [`Value::mfcc_with`].
    ///
    /// `[channels, frames, bins], sample_rate i32[] -> [channels, frames, 13]`, f32. As TensorFlow's `Mfcc`. Runs on
    /// the host.
    ///
    /// ```
    /// let g = shapeflow::Graph::new();
    /// let spectrogram = g.constant([[[1.0f32; 65]]])?;
    /// let y = spectrogram.mfcc(g.constant(16000)?)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y.sizes(), [1, 1, 13]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::mfcc_with`].
    #[track_caller]
    pub fn mfcc(self, sample_rate: impl IntoOperand<'g>) -> Result<Value<'g>> {
        self.mfcc_with(sample_rate, MfccOptions::default())
    }

    /// Computes mel-frequency cepstral coefficients of a spectrogram of squared magnitudes: sums the magnitudes over
    /// triangular bands on the mel scale, and returns the first numbers of the cosine transform of the logarithms of
    /// these sums. The last bin of the spectrogram is half of `sample_rate`; bins
    /// count from half a bin above the lowest frequency on.
    ///
    /// `[channels, frames, bins], sample_rate i32[] -> [channels, frames, coefficients]`, f32. A sum below 1e-12 counts
    /// as 1e-12. All coefficients are 0 if the highest frequency exceeds the last bin. As TensorFlow's `Mfcc`. Runs on
    /// the host.
    ///
    /// ```
    /// use shapeflow::{Graph, MfccOptions, Tensor};
    ///
    /// let g = Graph::new();
    /// let spectrogram = g.constant([[[1.0f32, 4.0, 9.0, 16.0, 25.0]]])?;
    /// let options = MfccOptions { lowest: 0.0, bands: 1, coefficients: 1, ..MfccOptions::default() };
    /// let y = spectrogram.mfcc_with(g.constant(8000)?, options)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([[[2.163f32]]]), 1e-3, 0.0).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype or a rank is wrong, or the number of coefficients is negative. The run fails if the sample rate, the
    /// number of bands or the number of coefficients is less than 1, there are fewer than 2 bins, there are more
    /// coefficients than bands, or the frequencies are negative or not ascending.
    #[track_caller]
    pub fn mfcc_with(self, sample_rate: impl IntoOperand<'g>, options: MfccOptions) -> Result<Value<'g>> {
        let location = std::panic::Location::caller();
        let call = self.graph().op(&DEF).data(self).data(sample_rate.into_operand(self, location));
        let call = call.attr("upper_frequency_limit", options.highest);
        let call = call.attr("lower_frequency_limit", options.lowest);
        let call = call.attr("filterbank_channel_count", options.bands);
        call.attr("dct_coefficient_count", options.coefficients).finish_at(location)
    }
}

pub(crate) static DEF: OpDef = OpDef::host("mfcc", run)
    .attrs(&[
        Attribute::float_or("upper_frequency_limit", 4000.0),
        Attribute::float_or("lower_frequency_limit", 20.0),
        Attribute::int_or("filterbank_channel_count", 40),
        Attribute::int_or("dct_coefficient_count", 13),
    ])
    .operands(&[Operand::Data("spectrogram"), Operand::Data("sample_rate")])
    .shape_fn(shape_fns::audio::mfcc)
    .dtype_rule(|dtypes, _| {
        for ((name, expected), got) in
            [("spectrogram", DType::F32), ("sample_rate", DType::I32)].into_iter().zip(dtypes)
        {
            if *got != expected {
                return dtype::refuse(format!("{name} must be {expected}, got {got}"));
            }
        }
        Ok(vec![DType::F32])
    })
    .tensorflow(&[TfOp::new("Mfcc")]);

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let x = RowMajor::new(cx.input(0)?)?;
    let (x, attrs) = (x.view(), cx.attrs());
    let rates = cx.input(1)?.to_vec::<i32>()?;
    let (&[channels, frames, bins], &[sample_rate]) = (x.sizes(), &rates[..]) else {
        unreachable!("the shape function checks the ranks");
    };
    let count = attrs.int("filterbank_channel_count");
    let limits = ["lower_frequency_limit", "upper_frequency_limit"].map(|name| attrs.float(name));
    let bands = MelBands::new(bins, sample_rate, count, limits)?;
    let (wanted, count) = (attrs.int("dct_coefficient_count"), count.unsigned_abs() as usize);
    let Some(coefficients) = usize::try_from(wanted).ok().filter(|wanted| (1..=count).contains(wanted))
    else {
        return refuse(format!(
            "dct_coefficient_count must be from 1 to {count}, the number of bands, got {wanted}"
        ));
    };
    let cosines = cosines(coefficients, count)?;
    let mut sums = reserved_vec(count)?;
    let mut output = cx.unfilled_output(0, &[channels, frames, coefficients])?;
    let rows = output.as_mut_slice::<f32>()?.chunks_exact_mut(coefficients);
    for (row, spectrum) in rows.zip(x.as_slice::<f32>()?.chunks_exact(bins)) {
        let loudness = bands.sums(spectrum, &mut sums);
        for sum in &mut *loudness {
            // A sum of NaN stays NaN.
            *sum = if *sum < FLOOR { FLOOR.ln() } else { sum.ln() };
        }
        for (coefficient, cosines) in row.iter_mut().zip(cosines.chunks_exact(count)) {
            *coefficient = loudness.iter().zip(cosines).map(|(x, cosine)| x * cosine).sum::<f64>() as f32;
        }
    }
    Ok(())
}

/// Returns the rows of the cosine transform of `count` numbers, which gives `coefficients` numbers.
fn cosines(coefficients: usize, count: usize) -> Result<Vec<f64>> {
    let (scale, turn) = ((2.0 / count as f64).sqrt(), PI / count as f64);
    let mut all = reserved_vec(coefficients.saturating_mul(count))?;
    for i in 0..coefficients {
        all.extend((0..count).map(|j| scale * (i as f64 * turn * (j as f64 + 0.5)).cos()));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::*;
    use crate::ops::testing::{run, run_one, shape_table, tensor};
    use crate::tensor::Tensor;

    shape_table! { DEF, {},
        "[c, t, 257]; i32[]" => "[c, t, 13]",
        "[c, t, 257]; i64[]" => error "sample_rate must be i32, got i64",
        "f64[c, t, 257]; i32[]" => error "spectrogram must be f32, got f64",
        "[c, t, 257]; i32[1]" => error "sample_rate must have rank 0",
    }

    fn mel(hertz: f64) -> f64 {
        1127.0 * (1.0 + hertz / 700.0).ln()
    }

    /// The coefficients, by a loop over all pairs of a band and a bin.
    fn naive(spectrum: &[f32], rate: f64, low: f64, high: f64, bands: usize, wanted: usize) -> Vec<f32> {
        let width = rate / 2.0 / (spectrum.len() - 1) as f64;
        let center = |i: f64| mel(low) + (mel(high) - mel(low)) * i / (bands + 1) as f64;
        let loudness: Vec<f64> = (0..bands)
            .map(|band| {
                let [left, middle, right] = [0.0, 1.0, 2.0].map(|i| center(band as f64 + i));
                let of_bin = |bin: usize| {
                    let hertz = bin as f64 * width;
                    let pitch = mel(hertz);
                    let rising = (pitch - left) / (middle - left);
                    let falling = (right - pitch) / (right - middle);
                    let is_inside = hertz > low + width / 2.0 && hertz <= high;
                    let part = if is_inside { rising.min(falling).max(0.0) } else { 0.0 };
                    part * f64::from(spectrum[bin]).sqrt()
                };
                (0..spectrum.len()).map(of_bin).sum::<f64>().max(FLOOR).ln()
            })
            .collect();
        let coefficient = |i: usize| {
            let terms = loudness.iter().enumerate();
            let sum: f64 =
                terms.map(|(j, x)| x * (PI * i as f64 * (j as f64 + 0.5) / bands as f64).cos()).sum();
            (sum * (2.0 / bands as f64).sqrt()) as f32
        };
        (0..wanted).map(coefficient).collect()
    }

    #[test]
    fn coefficients_are_sums_over_bands_and_bins() {
        let x: Vec<f32> = (0..2 * 129).map(|i| (i * i % 31) as f32 + 0.5).collect();
        for (rate, low, high, bands, wanted) in
            [(16000, 20.0, 4000.0, 20, 13), (8000, 0.0, 4000.0, 7, 7), (11025, 300.0, 3000.0, 10, 1)]
        {
            let attrs = Attrs::new()
                .with("lower_frequency_limit", low)
                .with("upper_frequency_limit", high)
                .with("filterbank_channel_count", bands as i64)
                .with("dct_coefficient_count", wanted as i64);
            let got = run_one(&DEF, &attrs, &[tensor(&[2, 1, 129], &x), Tensor::from(rate)]);
            let expected: Vec<f32> =
                x.chunks(129).flat_map(|row| naive(row, f64::from(rate), low, high, bands, wanted)).collect();
            let expected = tensor(&[2, 1, wanted], &expected);
            got.allclose(&expected, 1e-4, 1e-4).unwrap();
        }
    }

    #[test]
    fn numbers_out_of_range_fail_the_run() {
        let spectrum = tensor(&[1, 1, 9], &[1.0f32; 9]);
        for (name, value, message) in [
            ("filterbank_channel_count", 0.0, "filterbank_channel_count must be from 1"),
            ("dct_coefficient_count", 41.0, "dct_coefficient_count must be from 1 to 40"),
            ("dct_coefficient_count", 0.0, "dct_coefficient_count must be from 1 to 40"),
            ("lower_frequency_limit", -1.0, "lower_frequency_limit must be from 0"),
            ("upper_frequency_limit", 20.0, "lower_frequency_limit must be from 0"),
        ] {
            let attrs = match name.ends_with("count") {
                true => Attrs::new().with(name, value as i64),
                false => Attrs::new().with(name, value),
            };
            let error = run(&DEF, &attrs, &[spectrum.clone(), Tensor::from(8000)]).unwrap_err();
            assert!(error.message().contains(message), "{error}");
        }
        for (bins, rate) in [(1, 8000), (9, 0)] {
            let spectrum = tensor(&[1, 1, bins], &vec![1.0f32; bins]);
            assert!(run(&DEF, &Attrs::new(), &[spectrum, Tensor::from(rate)]).is_err());
        }
    }
}
