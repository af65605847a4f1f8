//! Shape functions of audio ops: spectrograms and cepstral coefficients.

use crate::error::bail;
use crate::infer::registered::{Registered, row};
use crate::{Dim, InferenceContext, Result, TensorShape};

#[rustfmt::skip]
pub(crate) static OPS: &[Registered] = &[
    row("AudioSpectrogram", &["input"], spectrogram),
    row("Mfcc", &["spectrogram", "sample_rate"], mfcc),
];

/// The greatest size of a window. The Fourier transform of a window has the next power of two as its length.
const MAX_WINDOW: i64 = 1 << 30;

/// `input[samples, channels] -> [channels, frames, bins]`, where `frames = max(0, 1 + (samples - window_size) /
/// stride)` and `bins = 1 + p / 2`. `p` is the least power of two that is at least `window_size`.
///
/// # Errors
/// The rank is not 2, `window_size` is not from 2 to 2³⁰, or `stride` is less than 1.
pub fn spectrogram(cx: &mut InferenceContext<'_>) -> Result<()> {
    let [samples, channels] = cx.axes::<2>(0)?;
    let (window, stride) = (cx.int("window_size")?, cx.int("stride")?);
    if !(2..=MAX_WINDOW).contains(&window) {
        bail!("window_size must be from 2 to {MAX_WINDOW}, got {window}");
    }
    if stride < 1 {
        bail!("stride must be at least 1, got {stride}");
    }
    let (stride, zero) = (Dim::known(stride), Dim::known(0));
    let overhang = cx.sub(&samples, &Dim::known(window))?;
    let starts = cx.add(&overhang, &stride)?;
    let frames = cx.floordiv(&starts, &stride)?;
    let frames = cx.max(&frames, &zero)?;
    let bins = 1 + window.unsigned_abs().next_power_of_two().cast_signed() / 2;
    cx.set_output(0, TensorShape::new([channels, frames, Dim::known(bins)]));
    Ok(())
}

/// `spectrogram[channels, frames, bins], sample_rate[] -> [channels, frames, dct_coefficient_count]`.
///
/// # Errors
/// An operand has the wrong rank, or `dct_coefficient_count` is negative.
pub fn mfcc(cx: &mut InferenceContext<'_>) -> Result<()> {
    let [channels, frames, _] = cx.axes::<3>(0)?;
    cx.scalar(1)?;
    let count = cx.int_or("dct_coefficient_count", 13)?;
    if count < 0 {
        bail!("dct_coefficient_count must not be negative, got {count}");
    }
    cx.set_output(0, TensorShape::new([channels, frames, Dim::known(count)]));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{mfcc, spectrogram};
    use crate::testing::shape_table;

    shape_table! { spectrograms: spectrogram, ["input"];
        {window_size: 400, stride: 160} "[16000, c]" => "[c, 98, 257]";
        {window_size: 4, stride: 3} "[4, 1]" => "[1, 1, 3]";
        {window_size: 4, stride: 3} "[3, 1]" => "[1, 0, 3]";
        {window_size: 4, stride: 300} "[3, 1]" => "[1, 0, 3]";
        {window_size: 4, stride: 2} "[n, 1]" => "[1, max(0, floordiv(n, 2)-1), 3]";
        {window_size: 4, stride: 2} "?" => "[?, max(0, floordiv(?, 2)-1), 3]";
        {window_size: 1, stride: 2} "[n, 1]" => "error window_size must be from 2 to 1073741824, got 1";
        {window_size: 4, stride: 0} "[n, 1]" => "error stride must be at least 1, got 0";
        {window_size: 4, stride: 2} "[n]" => "error input must have rank 2";
    }
    shape_table! { coefficients: mfcc, ["spectrogram", "sample_rate"];
        {} "[c, t, 257]; i32 []" => "[c, t, 13]";
        {dct_coefficient_count: 20} "?; ?" => "[?, ?, 20]";
        {} "[c, t, 257]; i32 [1]" => "error sample_rate must have rank 0";
        {} "[t, 257]; i32 []" => "error spectrogram must have rank 3";
        {dct_coefficient_count: -1} "?; ?" => "error dct_coefficient_count must not be negative, got -1";
    }
}
