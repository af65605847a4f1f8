//! Products of matrices and vectors.
//!
//! ```
//! use shapeflow::{DType, Graph, shape};
//!
//! let g = Graph::new();
//! let x = g.input("x", DType::F32, shape!["b", "n", 4])?;
//! let w = g.input("w", DType::F32, [3, 4])?;
//! let y = x.matmul_transposed(w, false, true)?;
//! assert_eq!(y.shape().to_string(), "[b, n, 3]");
//! # Ok::<(), shapeflow::Error>(())
//! ```

pub(crate) mod cross;
pub(crate) mod einsum;
mod labelled;
pub(crate) mod matmul;
pub(crate) mod sum_of_products;

use crate::op::OpDef;

pub use einsum::einsum;

/// Every op of the family.
pub(crate) static ALL: &[&[&OpDef]] = &[&[&cross::DEF, &einsum::DEF, &matmul::DEF, &sum_of_products::DEF]];
