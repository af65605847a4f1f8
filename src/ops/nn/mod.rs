//! Activations and softmax.
//!
//! ```
//! use shapeflow::{DType, Graph, shape};
//!
//! let g = Graph::new();
//! let x = g.input("x", DType::F32, shape!["n", 3])?;
//! let y = x.relu()?.softmax(-1)?;
//! assert_eq!(y.shape().to_string(), "[n, 3]");
//! # Ok::<(), shapeflow::Error>(())
//! ```

pub(crate) mod activation;
pub(crate) mod batch_norm;
pub(crate) mod gelu;
pub(crate) mod leaky_relu;
pub(crate) mod log_softmax;
mod row;
pub(crate) mod softmax;

use crate::op::OpDef;

/// Every op of the family, file by file.
pub(crate) static ALL: &[&[&OpDef]] = &[
    activation::ALL,
    &[
        &batch_norm::DEF,
        &batch_norm::WITH_RESERVE,
        &gelu::DEF,
        &leaky_relu::DEF,
        &log_softmax::DEF,
        &softmax::DEF,
    ],
];
