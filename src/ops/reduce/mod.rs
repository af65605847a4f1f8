//! Ops that fold axes: sums, means, extremes and where they stand.
//!
//! ```
//! use shapeflow::{Axes, DType, Graph, shape};
//!
//! let g = Graph::new();
//! let x = g.input("x", DType::F32, shape!["n", 3])?;
//! assert_eq!(x.reduce_sum(-1)?.shape().to_string(), "[n]");
//! assert_eq!(x.reduce_mean([0, 1])?.shape().to_string(), "[]");
//! assert_eq!(x.reduce_max(..)?.shape().to_string(), "[]");
//! let shares = x / x.reduce_sum(Axes::of(1).keep_dims())?;
//! assert_eq!(shares.shape().to_string(), "[n, 3]");
//! assert_eq!(x.argmax(1)?.dtype(), DType::I64);
//! # Ok::<(), shapeflow::Error>(())
//! ```

mod arg;
pub(crate) mod argmax;
pub(crate) mod argmin;
mod axes;
pub(crate) mod reduce_all;
pub(crate) mod reduce_any;
pub(crate) mod reduce_logsumexp;
pub(crate) mod reduce_max;
pub(crate) mod reduce_mean;
pub(crate) mod reduce_min;
pub(crate) mod reduce_prod;
pub(crate) mod reduce_sum;
mod reduction;

pub use axes::{Axes, IntoAxes};

use crate::op::OpDef;

/// Every op of the family.
pub(crate) static ALL: &[&OpDef] = &[
    &argmax::DEF,
    &argmin::DEF,
    &reduce_all::DEF,
    &reduce_any::DEF,
    &reduce_logsumexp::DEF,
    &reduce_max::DEF,
    &reduce_mean::DEF,
    &reduce_min::DEF,
    &reduce_prod::DEF,
    &reduce_sum::DEF,
];
