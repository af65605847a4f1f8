//! Random numbers that depend only on a seed: uniform, normal, truncated normal, and integers.
//!
//! ```
//! use shapeflow::{DType, Graph};
//!
//! let g = Graph::new();
//! let noise = g.constant([1i64, 2])?.random_normal([2, 3], DType::F32)?;
//! let [first, second] = g.compile(&[noise, noise * 1.0])?.run(&[])?;
//! assert_eq!(first, second);
//! # Ok::<(), shapeflow::Error>(())
//! ```

mod philox;
mod samples;
pub(crate) mod state;
pub(crate) mod stateless;

use crate::op::OpDef;

/// Every op of the family.
pub(crate) static ALL: &[&[&OpDef]] = &[stateless::ALL, state::ALL];
