//! Shape functions of TensorFlow ops: one folder or file per family. Each family lists its op types in its own rows.

pub mod array;
pub mod common;
pub mod control;
pub mod ctc;
pub mod image;
pub mod linalg;
pub mod math;
pub mod nn;
pub mod quantize;
pub mod ragged;
pub mod random;
pub mod reduce;
mod registry;
pub mod segment;
pub mod sparse;
pub mod string;

pub use registry::{lookup, registered};
