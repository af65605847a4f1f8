//! `linear_to_mel_weight_matrix`: the weights of the bins of a spectrogram in bands on the mel scale.

use shapeflow_shape_fns::DType;

use super::{check_float, refuse};
use crate::error::{ErrorKind, Result};
use crate::graph::{Graph, Value};
use crate::tensor::{Tensor, reserved_vec};

/// The bands of [`Graph::linear_to_mel_weight_matrix`]. The default is TensorFlow's.
///
/// ```
/// let scale = shapeflow::MelScale { mel_bins: 40, ..shapeflow::MelScale::default() };
/// assert_eq!((scale.spectrogram_bins, scale.sample_rate), (129, 8000.0));
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MelScale {
    /// The number of bands.
    pub mel_bins: usize,
    /// The number of bins of the spectrogram, `fft_length / 2 + 1`. The last bin is half of the sample rate.
    pub spectrogram_bins: usize,
    /// The number of samples in a second.
    pub sample_rate: f64,
    /// The lowest frequency of the bands, in hertz.
    pub lowest: f64,
    /// The highest frequency of the bands, in hertz.
    pub highest: f64,
}

impl Default for MelScale {
    /// 20 bands from 125 to 3800 hertz, of 129 bins at 8000 samples in a second.
    fn default() -> MelScale {
        MelScale { mel_bins: 20, spectrogram_bins: 129, sample_rate: 8000.0, lowest: 125.0, highest: 3800.0 }
    }
}

impl Graph {
    /// Makes the matrix whose product with a spectrogram has bands on the mel scale: a frequency `f` in hertz is
    /// `1127 ln(1 + f / 700)` mel. The bands are triangles of equal width in mel, which overlap by half.
    ///
    /// `-> [spectrogram_bins, mel_bins]`, a float, computed in f64 when the graph is built and rounded once. The row of
    /// frequency 0 is 0. As TensorFlow's `tf.signal.linear_to_mel_weight_matrix`. A constant, which fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, MelScale, shape};
    ///
    /// let g = Graph::new();
    /// let spectrogram = g.input("spectrogram", DType::F32, shape!["frames", 129])?;
    /// let mel = spectrogram.matmul(g.linear_to_mel_weight_matrix(MelScale::default(), DType::F32)?)?;
    /// assert_eq!(mel.shape().to_string(), "[frames, 20]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `dtype` is not a float, a number of bins is 0, the sample rate is not positive, or the frequencies do not ascend
    /// from at least 0 to at most half of the sample rate.
    #[doc(alias = "mel_filterbank")]
    #[track_caller]
    pub fn linear_to_mel_weight_matrix(&self, scale: MelScale, dtype: DType) -> Result<Value<'_>> {
        self.in_call("linear_to_mel_weight_matrix", || {
            check_float(dtype)?;
            let weights = scale.weights()?;
            self.constant(Tensor::from_vec(&[scale.spectrogram_bins, scale.mel_bins], weights)?)?.cast(dtype)
        })
    }
}

impl MelScale {
    /// Returns the weights, row by row.
    fn weights(&self) -> Result<Vec<f64>> {
        let MelScale { mel_bins, spectrogram_bins, sample_rate, lowest, highest } = *self;
        for (name, bins) in [("mel_bins", mel_bins), ("spectrogram_bins", spectrogram_bins)] {
            if bins == 0 {
                return refuse(ErrorKind::Attribute, format!("{name} must be at least 1, got 0"));
            }
        }
        let ascends = 0.0 <= lowest && lowest < highest && highest <= sample_rate / 2.0;
        if !(ascends && sample_rate.is_finite()) {
            let message = format!(
                "the frequencies must ascend from at least 0 to at most half of the sample rate, got {lowest} to \
                 {highest} at a rate of {sample_rate}"
            );
            return refuse(ErrorKind::Attribute, message);
        }
        let mel = |hertz: f64| 1127.0 * (hertz / 700.0).ln_1p();
        let width = (mel(highest) - mel(lowest)) / (mel_bins as f64 + 1.0);
        let count = spectrogram_bins.saturating_mul(mel_bins);
        let mut weights = reserved_vec::<f64>(count)?;
        weights.resize(mel_bins, 0.0);
        for bin in 1..spectrogram_bins {
            let frequency = mel(sample_rate / 2.0 * bin as f64 / (spectrogram_bins - 1) as f64);
            weights.extend((0..mel_bins).map(|band| {
                let rise = (frequency - mel(lowest)) / width - band as f64;
                rise.min(2.0 - rise).max(0.0)
            }));
        }
        Ok(weights)
    }
}
