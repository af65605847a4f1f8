//! Registry rows of the quantization ops, sorted by TensorFlow op type.

use super::*;
use crate::common;
use crate::infer::registered::{Registered, row};

#[rustfmt::skip]
pub(crate) static OPS: &[Registered] = &[
    row("Dequantize", &["input", "min_range", "max_range"], dequantize),
    row("FakeQuantWithMinMaxArgs", &["inputs"], common::unary),
    row("FakeQuantWithMinMaxArgsGradient", &["gradients", "inputs"], common::same_shape),
    row("FakeQuantWithMinMaxVars", &["inputs", "min", "max"], fake_quantize),
    row("FakeQuantWithMinMaxVarsGradient", &["gradients", "inputs", "min", "max"], fake_quantize_grad).outputs(Some(3)),
    row("FakeQuantWithMinMaxVarsPerChannel", &["inputs", "min", "max"], fake_quantize_channels),
    row("FakeQuantWithMinMaxVarsPerChannelGradient", &["gradients", "inputs", "min", "max"], fake_quantize_channels_grad).outputs(Some(3)),
    row("QuantizeAndDequantize", &["input"], common::unary),
    row("QuantizeAndDequantizeV2", &["input", "input_min", "input_max"], quantize_and_dequantize),
    row("QuantizeAndDequantizeV3", &["input", "input_min", "input_max", "num_bits"], quantize_and_dequantize),
    row("QuantizeAndDequantizeV4", &["input", "input_min", "input_max"], quantize_and_dequantize),
    row("QuantizeAndDequantizeV4Grad", &["gradients", "input", "input_min", "input_max"], quantize_and_dequantize_grad).outputs(Some(3)),
    row("QuantizeDownAndShrinkRange", &["input", "input_min", "input_max"], quantized_unary).outputs(Some(3)),
    row("QuantizeV2", &["input", "min_range", "max_range"], quantize).outputs(Some(3)),
    row("QuantizedAdd", &["x", "y", "min_x", "max_x", "min_y", "max_y"], quantized_binary).outputs(Some(3)),
    row("QuantizedAvgPool", &["input", "min_input", "max_input"], quantized_avg_pool).outputs(Some(3)),
    row("QuantizedBatchNormWithGlobalNormalization", &["t", "t_min", "t_max", "m", "m_min", "m_max", "v", "v_min", "v_max", "beta", "beta_min", "beta_max", "gamma", "gamma_min", "gamma_max"], crate::nn::quantized_batch_norm).outputs(Some(3)),
    row("QuantizedBiasAdd", &["input", "bias", "min_input", "max_input", "min_bias", "max_bias"], quantized_bias_add).outputs(Some(3)),
    row("QuantizedConcat", &["axis", "values..", "input_mins..", "input_maxes.."], quantized_concat).outputs(Some(3)),
    row("QuantizedConv2D", &["input", "filter", "min_input", "max_input", "min_filter", "max_filter"], quantized_conv_2d).outputs(Some(3)),
    row("QuantizedInstanceNorm", &["x", "x_min", "x_max"], quantized_norm).outputs(Some(3)),
    row("QuantizedMatMul", &["a", "b", "min_a", "max_a", "min_b", "max_b"], quantized_matmul).outputs(Some(3)),
    row("QuantizedMaxPool", &["input", "min_input", "max_input"], quantized_max_pool).outputs(Some(3)),
    row("QuantizedMul", &["x", "y", "min_x", "max_x", "min_y", "max_y"], quantized_binary).outputs(Some(3)),
    row("QuantizedRelu", &["features", "min_features", "max_features"], quantized_unary).outputs(Some(3)),
    row("QuantizedRelu6", &["features", "min_features", "max_features"], quantized_unary).outputs(Some(3)),
    row("QuantizedReluX", &["features", "max_value", "min_features", "max_features"], quantized_unary).outputs(Some(3)),
    row("QuantizedReshape", &["x", "shape", "input_min", "input_max"], quantized_reshape).outputs(Some(3)),
    row("QuantizedResizeBilinear", &["images", "size", "min", "max"], quantized_resize).outputs(Some(3)),
    row("RequantizationRange", &["input", "input_min", "input_max"], requantization_range).outputs(Some(2)),
    row("RequantizationRangePerChannel", &["input", "input_min", "input_max"], range_per_channel).outputs(Some(2)),
    row("Requantize", &["input", "input_min", "input_max", "requested_output_min", "requested_output_max"], requantize).outputs(Some(3)),
    row("RequantizePerChannel", &["input", "input_min", "input_max", "requested_output_min", "requested_output_max"], requantize_per_channel).outputs(Some(3)),
];
