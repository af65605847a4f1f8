//! The fused ops without a naive loop, each with the reason.

const RECORDED: &str = "values recorded from TensorFlow test the op, over its attributes and dtypes";
const PART: &str = "the op is a part of another op, which values recorded from TensorFlow test";

const LOOP_OF_ITS_OWN: &str = "a test of its own compares the op with a loop";

/// An op, and what tests the op instead of a loop.
pub const WITHOUT_LOOP: &[(&str, &str)] = &[
    ("bitcast", "the result is bits; recorded values test each pair of dtypes"),
    ("convolve_grouped_windows", PART),
    ("convolve_groups", PART),
    ("flags_of_axes", PART),
    ("list_as_shape", PART),
    ("positions_of_equals", PART),
    ("quantize_in_range", PART),
    ("quantized_batch_norm_global", RECORDED),
    ("quantized_bias_add", RECORDED),
    ("quantized_bytes", PART),
    ("quantized_relu", RECORDED),
    ("quantized_relu6", RECORDED),
    ("quantized_resize_bilinear", RECORDED),
    ("quantized_sum", PART),
    ("quantized_zero", PART),
    ("reduce_window", PART),
    ("requantization_range", RECORDED),
    ("requantize_channels", RECORDED),
    ("requantize_into_range", PART),
    ("sum_at_equals", PART),
    ("uniform_integers", PART),
    ("uniform_numbers", PART),
    ("uniform_quantize", LOOP_OF_ITS_OWN),
    ("uniform_quantized_clip", RECORDED),
    ("uniform_ratio", PART),
    ("uniform_slice", PART),
    ("uniform_sum", PART),
];
