//! Quantization that is simulated on floats.
//!
//! ```
//! use shapeflow::{DType, Graph, Quantization, shape};
//!
//! let g = Graph::new();
//! let x = g.input("x", DType::F32, shape!["n", 3])?;
//! let y = x.fake_quant(-1.0, 1.0, Quantization::default())?;
//! assert_eq!(y.shape().to_string(), "[n, 3]");
//! # Ok::<(), shapeflow::Error>(())
//! ```

pub(crate) mod fake_quant;
pub(crate) mod quantize_and_dequantize;
pub(crate) mod snap;

use crate::op::OpDef;

pub use fake_quant::Quantization;

/// Every op of the family.
pub(crate) static ALL: &[&[&OpDef]] = &[&[
    &fake_quant::ARGS,
    &fake_quant::VARS,
    &fake_quant::CHANNELS,
    &quantize_and_dequantize::DEF,
    &quantize_and_dequantize::WITH_BITS,
    &snap::DEF,
]];
