//! Ops that reduce axes: sums, means, extreme elements and their positions.
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

pub(crate) mod arg;
mod axes;
pub(crate) mod complex_prod;
pub(crate) mod euclidean_norm;
mod in_tensorflow;
pub(crate) mod reduce_logsumexp;
pub(crate) mod reduce_mean;
pub(crate) mod reduce_variance;
mod reduction;
pub(crate) mod reductions;

pub use axes::{Axes, IntoAxes};

use crate::op::OpDef;

/// Every op of the family, file by file.
pub(crate) static ALL: &[&[&OpDef]] = &[
    arg::ALL,
    reductions::ALL,
    &[
        &complex_prod::DEF,
        &euclidean_norm::DEF,
        &reduce_logsumexp::DEF,
        &reduce_mean::DEF,
        &reduce_variance::DEF,
        &reduce_variance::STD,
    ],
];
