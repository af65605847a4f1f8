//! Quantization: floats as integers of few bits, and its simulation on floats.
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

pub(crate) mod dequantize;
pub(crate) mod fake_quant;
pub(crate) mod fake_quant_gradient;
pub(crate) mod options;
pub(crate) mod quantize_and_dequantize;
pub(crate) mod quantize_floats;
pub(crate) mod quantized_concat;
pub(crate) mod quantized_layers;
pub(crate) mod quantized_norm;
mod quantized_range;
pub(crate) mod quantized_sums;
pub(crate) mod requantize;
pub(crate) mod requantize_channels;
pub(crate) mod snap;
pub(crate) mod uniform;
pub(crate) mod uniform_add;
pub(crate) mod uniform_conv;
pub(crate) mod uniform_dot;
pub(crate) mod uniform_requantize;
pub(crate) mod uniform_rescale;

use crate::op::OpDef;

pub use fake_quant::Quantization;
pub use options::{QuantizeMode, QuantizeOptions};
pub use quantized_concat::quantized_concat;
pub use uniform::UniformQuantization;

/// Every op of the family.
pub(crate) static ALL: &[&[&OpDef]] = &[&[
    &dequantize::DEF,
    &fake_quant::ARGS,
    &fake_quant::VARS,
    &fake_quant::CHANNELS,
    &fake_quant_gradient::ARGS,
    &fake_quant_gradient::VARS,
    &fake_quant_gradient::CHANNELS,
    &quantize_floats::DEF,
    &quantize_floats::IN_RANGE,
    &quantize_and_dequantize::DEF,
    &quantize_and_dequantize::GRAD,
    &quantize_and_dequantize::V1,
    &quantize_and_dequantize::WITH_BITS,
    &quantized_concat::DEF,
    &quantized_concat::RESHAPE,
    &quantized_layers::AVG_POOL,
    &quantized_layers::CONV,
    &quantized_layers::MATMUL,
    &quantized_layers::MAX_POOL,
    &quantized_layers::MUL,
    &quantized_layers::ZERO,
    &quantized_norm::BATCH,
    &quantized_norm::BYTES,
    &quantized_norm::INSTANCE,
    &quantized_sums::ADD,
    &quantized_sums::BIAS_ADD,
    &quantized_sums::RELU,
    &quantized_sums::RELU6,
    &quantized_sums::SUM,
    &requantize::DEF,
    &requantize::DOWN,
    &requantize::INTO_RANGE,
    &requantize::RANGE,
    &requantize_channels::DEF,
    &requantize_channels::RANGE,
    &snap::DEF,
    &uniform::DEQUANTIZE,
    &uniform::NUMBERS,
    &uniform::QUANTIZE,
    &uniform_add::ADD,
    &uniform_add::SUM,
    &uniform_conv::CONV,
    &uniform_conv::CONV_HYBRID,
    &uniform_dot::DOT,
    &uniform_dot::DOT_HYBRID,
    &uniform_dot::SLICE,
    &uniform_requantize::CLIP,
    &uniform_requantize::DEF,
    &uniform_rescale::INTEGERS,
    &uniform_rescale::RATIO,
]];
