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

pub(crate) mod elu;
pub(crate) mod gelu;
pub(crate) mod leaky_relu;
pub(crate) mod log_softmax;
pub(crate) mod relu;
pub(crate) mod relu6;
mod row;
pub(crate) mod selu;
pub(crate) mod silu;
pub(crate) mod softmax;
pub(crate) mod softplus;
pub(crate) mod softsign;

use crate::op::OpDef;

/// Every op of the family.
pub(crate) static ALL: &[&OpDef] = &[
    &elu::DEF,
    &gelu::DEF,
    &leaky_relu::DEF,
    &log_softmax::DEF,
    &relu::DEF,
    &relu6::DEF,
    &selu::DEF,
    &silu::DEF,
    &softmax::DEF,
    &softplus::DEF,
    &softsign::DEF,
];
