//! Ops on signals, as `tf.signal` has them: windows, frames, short-time Fourier transforms, cosine transforms and the
//! mel scale.
//!
//! All are composites of ordinary ops. The transforms, with the feature `fft`, and the Bessel function of the Kaiser
//! windows run on the host; everything else fuses into kernels. A signal has its samples on the last axis.
//!
//! ```
//! use shapeflow::{DType, Graph, MelScale, StftOptions, shape};
//!
//! let g = Graph::new();
//! let sound = g.input("sound", DType::F32, shape!["clips", 16000])?;
//! let spectrum = sound.stft(400, 160, StftOptions::default())?.abs()?;
//! let scale = MelScale { spectrogram_bins: 257, sample_rate: 16000.0, ..MelScale::default() };
//! let mel = spectrum.matmul(g.linear_to_mel_weight_matrix(scale, DType::F32)?)?;
//! let coefficients = (mel + 1e-6).log()?.mfccs_from_log_mel_spectrograms()?;
//! assert_eq!(coefficients.shape().to_string(), "[clips, 98, 20]");
//! # Ok::<(), shapeflow::Error>(())
//! ```

mod cosine;
mod frames;
mod mel_scale;
mod stft;
mod windows;

use shapeflow_shape_fns::{DType, Dim};

use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{Graph, Value};
use crate::ops::array::range::dim_value;

pub use mel_scale::MelScale;
pub use stft::{StftOptions, StftWindow};

/// Makes the error about an argument of a method. The caller adds the location.
fn refuse<T>(kind: ErrorKind, message: String) -> Result<T> {
    Err(Error::new(kind, Phase::Build, message))
}

/// Checks that a dtype is a float.
fn check_float(dtype: DType) -> Result<()> {
    match dtype.is_float() {
        true => Ok(()),
        false => refuse(ErrorKind::DType, format!("the element type must be a float, got {dtype}")),
    }
}

/// Checks that argument `name` is at least 1.
fn at_least_1(name: &str, number: i64) -> Result<()> {
    match number {
        1.. => Ok(()),
        _ => refuse(ErrorKind::Attribute, format!("{name} must be at least 1, got {number}")),
    }
}

/// Returns the number of samples of a signal.
///
/// # Errors
/// The rank is unknown or 0.
fn samples_of(x: Value<'_>) -> Result<Dim> {
    match x.shape().dims() {
        Some([.., samples]) => Ok(samples.clone()),
        _ => {
            let message = format!("a signal must have a known rank of at least 1, got shape {}", x.shape());
            refuse(ErrorKind::Shape, message)
        }
    }
}

/// Returns a dimension as a scalar.
fn number<'g>(graph: &'g Graph, dim: &Dim, dtype: DType) -> Result<Value<'g>> {
    let number = match dim.as_known() {
        Some(known) => graph.constant(known as f64)?,
        None => dim_value(graph, dim.clone())?,
    };
    number.cast(dtype)
}

/// Returns the numbers 0, 1, … of an axis of size `count`, in f64.
fn positions<'g>(graph: &'g Graph, count: &Dim) -> Result<Value<'g>> {
    graph.range(0i64, count, 1i64)?.cast(DType::F64)
}
