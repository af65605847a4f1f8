//! Shape functions of TensorFlow ops: one folder or file per family. Each family lists its op types in its own rows.
//!
//! A [`ShapeFn`](crate::ShapeFn) reads the operands and attributes of one op from an
//! [`InferenceContext`](crate::InferenceContext). The function sets the shapes and the known elements of the outputs,
//! but no dtypes. [`lookup`] finds the shape function of an op type.
//!
//! The docs of the functions use these terms:
//! - *Unified* dimensions are recorded as equal. Dimensions that are provably different are an error.
//! - A *derived parameter*, such as `axis`, is the normalized form of a parameter. The body of the op reads the derived
//!   parameter ([`set_derived`](crate::InferenceContext::set_derived)).
//! - *Tracked* elements are the known or symbolic elements ([`PartialElements`](crate::PartialElements)) of an integer
//!   or bool tensor of at most [`MAX`](crate::PartialElements::MAX) elements.
//! - A dimension that *depends on the data* is a fresh symbol whose value only a run of the op determines.

pub mod array;
pub mod audio;
pub mod common;
pub mod control;
pub mod ctc;
pub mod image;
pub mod linalg;
pub mod math;
pub mod media;
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
