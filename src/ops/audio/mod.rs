//! Ops on sound: spectrograms and mel-frequency cepstral coefficients.
//!
//! ```
//! use shapeflow::{DType, Graph, shape};
//!
//! let g = Graph::new();
//! let samples = g.input("samples", DType::F32, shape![16000, 1])?;
//! let features = samples.audio_spectrogram(640, 320, true)?.mfcc(g.constant(16000)?)?;
//! assert_eq!(features.shape().to_string(), "[1, 49, 13]");
//! # Ok::<(), shapeflow::Error>(())
//! ```

pub(crate) mod mel;
pub(crate) mod mfcc;
mod power_of_two;
pub(crate) mod spectrogram;

use crate::op::OpDef;

pub use mfcc::MfccOptions;

/// Every op of the family.
pub(crate) static ALL: &[&[&OpDef]] = &[&[&mfcc::DEF, &spectrogram::DEF]];
