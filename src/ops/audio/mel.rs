//! `MelBands`: sums the frequencies of a spectrum over overlapping triangles on the mel scale.

use crate::error::{Error, ErrorKind, Phase, Result};

/// The mel scale: equal steps are heard as equal steps of pitch.
fn mel(hertz: f64) -> f64 {
    1127.0 * (hertz / 700.0).ln_1p()
}

/// The bands of a spectrum. A bin between the centers of two bands is divided between them.
pub(super) struct MelBands {
    /// The first bin of the bands.
    first: usize,
    /// For each bin from the first one: the band above it, and the part of the bin that is in the band below.
    bins: Vec<(usize, f64)>,
    count: usize,
    /// Whether a band ends above the last bin of the spectrum.
    is_beyond: bool,
}

impl MelBands {
    /// Makes `count` bands between two frequencies for spectra of `bins` bins. The last bin is half of `sample_rate`.
    ///
    /// # Errors
    /// A number is out of range.
    pub(super) fn new(bins: usize, sample_rate: i32, count: i64, limits: [f64; 2]) -> Result<MelBands> {
        let [lowest, highest] = limits;
        let Some(count) = usize::try_from(count).ok().filter(|count| (1..=1 << 24).contains(count)) else {
            return refuse(format!("filterbank_channel_count must be from 1 to {}, got {count}", 1 << 24));
        };
        if sample_rate <= 0 {
            return refuse(format!("sample_rate must be greater than 0, got {sample_rate}"));
        }
        if bins < 2 {
            return refuse(format!("spectrogram must have at least 2 bins, got {bins}"));
        }
        if !(lowest >= 0.0 && lowest < highest && highest.is_finite()) {
            return refuse(format!(
                "lower_frequency_limit must be from 0 to less than upper_frequency_limit, got {lowest} and {highest}"
            ));
        }
        let (low, step) = (mel(lowest), (mel(highest) - mel(lowest)) / (count + 1) as f64);
        // The center of band `i - 1`; the center of "band -1" is the lower limit.
        let center = |i: usize| low + step * i as f64;
        let width = 0.5 * f64::from(sample_rate) / (bins - 1) as f64;
        let first = (1.5 + lowest / width) as usize;
        let last = (highest / width) as usize;
        let (mut above, mut entries) = (0, Vec::new());
        for bin in first..bins.min(last.saturating_add(1)) {
            let pitch = mel(bin as f64 * width);
            while above < count && center(above + 1) < pitch {
                above += 1;
            }
            entries.push((above, (center(above + 1) - pitch) / (center(above + 1) - center(above))));
        }
        Ok(MelBands { first, bins: entries, count, is_beyond: last >= bins })
    }

    /// Sums the square roots of a spectrum over each band. Returns no sums if a band ends above the last bin of the
    /// spectrum.
    pub(super) fn sums<'s>(&self, spectrum: &[f32], sums: &'s mut Vec<f64>) -> &'s mut [f64] {
        sums.clear();
        if self.is_beyond {
            return sums;
        }
        sums.resize(self.count, 0.0);
        for (strength, (above, below)) in spectrum.iter().skip(self.first).zip(&self.bins) {
            let magnitude = f64::from(*strength).sqrt();
            let lower = magnitude * below;
            if let Some(band) = above.checked_sub(1) {
                sums[band] += lower;
            }
            if let Some(sum) = sums.get_mut(*above) {
                *sum += magnitude - lower;
            }
        }
        sums
    }
}

pub(super) fn refuse<T>(message: String) -> Result<T> {
    Err(Error::new(ErrorKind::Data, Phase::Run, message))
}
