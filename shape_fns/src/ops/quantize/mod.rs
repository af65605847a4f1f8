//! Shape functions of quantization and of ops on quantized tensors.

mod convert;
mod fake;
mod ranged;
mod requantize;
mod rows;
mod uniform;
mod uniform_convolution;

pub use convert::{dequantize, quantize, quantize_and_dequantize, quantize_and_dequantize_grad};
pub use fake::{fake_quantize, fake_quantize_channels, fake_quantize_channels_grad, fake_quantize_grad};
pub use ranged::{
    quantized_avg_pool, quantized_bias_add, quantized_binary, quantized_concat, quantized_conv_2d,
    quantized_matmul, quantized_max_pool, quantized_norm, quantized_reshape, quantized_resize,
    quantized_unary,
};
pub use requantize::{range_per_channel, requantization_range, requantize, requantize_per_channel};
pub(crate) use rows::OPS;
pub use uniform::{
    uniform_quantize, uniform_quantized_add, uniform_quantized_clip, uniform_quantized_dot,
    uniform_quantized_dot_hybrid, uniform_requantize,
};
pub use uniform_convolution::{
    ConvolutionAxes, ConvolutionWindows, convolution_rank, uniform_quantized_convolution,
    uniform_quantized_convolution_hybrid,
};
