//! Adds each op to a random graph, with operands and parameters that it accepts.

mod creation;
mod detection;
mod diagonals;
mod elementwise;
mod fused;
mod gradients;
mod image;
mod layouts;
mod linalg;
mod list;
mod movement;
mod nn;
mod quantized;
mod quantized_images;
mod ragged;
mod random;
mod reduction;
pub mod scatter_and_blocks;
mod selection;
mod sequences;
mod sets;
mod slicing;
mod sparse;
mod string_ops;
mod uniform;
mod vectors;
mod window;

use shapeflow::DType;

use crate::element_props::{DTypeClass, ElementProps, has_fractions};
use crate::graph_generator::{GraphGenerator, ValueIndex};
use crate::graph_recipe::Content;
use crate::op_call::Call;
use creation::{fill, float_range, range, shape_query};
use elementwise::{binary, cast, clip, select, select_v1, unary, unary_complex, unary_inexact, unary_with};
pub use list::OPS;
use movement::{broadcast_to, concat, expand_dims_or_squeeze, pad, reshape, reverse, stack, tile, transpose};
use reduction::{argmax_or_argmin, matmul, matmul_to, reduce, softmax};
use slicing::{boolean_mask, gather, one_hot, slice, split, strided_slice, unique};
pub use string_ops::STRING_OPS;

/// Continuous ops. A small change of an operand changes the result of such an op by a similar amount, so its operands
/// may differ between backends by rounding.
const CONTINUOUS: &[&str] = &[
    "neg",
    "abs",
    "relu",
    "relu6",
    "identity",
    "conj",
    "real",
    "imag",
    "complex",
    "complex_abs",
    "tanh",
    "sigmoid",
    "sin",
    "cos",
    "softsign",
    "leaky_relu",
    "elu",
    "silu",
    "gelu",
    "softplus",
    "square",
    "erf",
    "add",
    "sub",
    "mul",
    "maximum",
    "minimum",
    "squared_difference",
    "clip_by_value",
    "select",
    "select_v1",
];

/// Elementwise ops whose results are small integers if their operands are.
const KEEP_SMALL_INTEGERS: &[&str] = &[
    "neg",
    "abs",
    "relu",
    "relu6",
    "identity",
    "conj",
    "real",
    "imag",
    "complex",
    "square",
    "sign",
    "floor",
    "ceil",
    "round",
    "add",
    "sub",
    "mul",
    "maximum",
    "minimum",
    "squared_difference",
    "clip_by_value",
    "select",
    "select_v1",
    "floormod",
    "floordiv",
    "zeros_like",
    "ones_like",
];

/// Returns a predicate that tells from the properties of a value whether the value may be an operand of an op. Only a
/// continuous op takes values whose rounding varies. An op whose result depends on the sign of zero takes no zeros of
/// unknown sign.
pub fn accepts_props(op: &str) -> impl Fn(&ElementProps) -> bool + use<> {
    let continuous = CONTINUOUS.contains(&op);
    let depends_on_zero_sign = matches!(
        op,
        "div"
            | "legacy_div"
            | "floordiv"
            | "floormod"
            | "truncatediv"
            | "reciprocal"
            | "rsqrt"
            | "pow"
            | "xdivy"
            | "sqrt_grad"
            | "atan2"
            | "angle"
    );
    move |props| (continuous || !props.rounding_varies) && !(depends_on_zero_sign && props.zero_sign_unknown)
}

/// Joins the properties of values: returns the properties of a result whose elements are elements of these values.
pub fn props_of(g: &GraphGenerator<'_>, ids: &[ValueIndex]) -> ElementProps {
    let mut all = ElementProps { small_integers: true, ..ElementProps::default() };
    for id in ids {
        let props = g.props[id.0];
        all.small_integers &= props.small_integers || !has_fractions(g.dtype(*id));
        all.reduced |= props.reduced;
        all.rounding_varies |= props.rounding_varies;
        all.extreme |= props.extreme;
        all.zero_sign_unknown |= props.zero_sign_unknown;
    }
    all
}

/// Returns the properties of an elementwise op's result: the joined properties of the operands, without
/// `small_integers` if the op does not keep small integers.
pub fn computed_props(g: &GraphGenerator<'_>, op: &str, ids: &[ValueIndex]) -> ElementProps {
    let mut props = props_of(g, ids);
    props.small_integers &= KEEP_SMALL_INTEGERS.contains(&op);
    props
}

/// Returns whether an op's results are small integers if its operands are small integers.
pub fn keeps_small_integers(op: &str) -> bool {
    KEEP_SMALL_INTEGERS.contains(&op)
        || !CONTINUOUS.contains(&op)
            && matches!(
                op,
                "reduce_sum"
                    | "reduce_max"
                    | "reduce_min"
                    | "matmul"
                    | "reshape"
                    | "transpose"
                    | "concat"
                    | "stack"
                    | "split"
                    | "split_sizes"
                    | "unstack"
                    | "slice"
                    | "strided_slice"
                    | "pad"
                    | "pad_with"
                    | "mirror_pad"
                    | "expand_dims"
                    | "squeeze"
                    | "reverse"
                    | "tile"
                    | "broadcast_to"
                    | "gather"
                    | "one_hot"
                    | "fill"
            )
}

/// Draws distinct axes; some count from the end.
pub fn random_axes(g: &mut GraphGenerator<'_>, rank: usize, count: usize) -> Vec<i64> {
    let mut axes: Vec<i64> =
        g.rng.permutation(rank).into_iter().take(count).map(|axis| axis as i64).collect();
    for axis in &mut axes {
        if g.rng.chance(1, 3) {
            *axis -= rank as i64;
        }
    }
    axes
}

/// Draws an axis. Returns the axis counted from the start, and the value of the parameter, which may count from the
/// end.
pub fn random_axis(g: &mut GraphGenerator<'_>, rank: usize) -> (usize, i64) {
    let axis = g.rng.below(rank);
    (axis, if g.rng.chance(1, 3) { axis as i64 - rank as i64 } else { axis as i64 })
}

/// Adds an op with suitable operands and parameters. Returns the first output of the op, or `None` if there are no
/// suitable operands or parameters.
pub fn add_op(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    match op {
        "neg" if g.rng.chance(1, 3) => unary(g, op, DTypeClass::Complex),
        "sign" if g.rng.chance(1, 3) => unary_complex(g, op),
        "abs" | "neg" | "sign" => unary(g, op, DTypeClass::Signed),
        "square" => unary(g, op, DTypeClass::Numeric),
        "relu" | "relu6" | "round" => unary(g, op, DTypeClass::Number),
        "conj" | "real" | "imag" | "complex_abs" => unary(g, op, DTypeClass::Complex),
        "angle" => unary_inexact(g, op),
        "complex" => binary(g, op, DTypeClass::Float),
        "complex_prod" => reduce(g, op),
        "conjugate_transpose" => transpose(g, op),
        "identity" | "zeros_like" | "ones_like" => unary(g, op, DTypeClass::Any),
        "logical_not" => unary(g, op, DTypeClass::Bool),
        "bitwise_not" => unary(g, op, DTypeClass::Bits),
        "acos" | "acosh" | "asin" | "asinh" | "atan" | "atanh" | "cosh" | "sinh" | "cos" | "exp"
        | "expm1" | "log" | "log1p" | "reciprocal" | "rsqrt" | "sigmoid" | "sin" | "sqrt" | "tan"
        | "tanh" => unary_inexact(g, op),
        "cbrt" | "erfc" | "erfinv" | "exp2" | "log2" | "ceil" | "elu" | "erf" | "floor" | "selu" | "silu"
        | "softplus" | "softsign" => unary(g, op, DTypeClass::Float),
        "is_nan" | "is_inf" | "is_finite" => unary(g, op, DTypeClass::Float),
        "population_count" => unary(g, op, DTypeClass::Int),
        "left_shift" | "right_shift" => binary(g, op, DTypeClass::Int),
        "igamma" | "igammac" | "igamma_grad_a" | "random_gamma_grad" | "zeta" | "polygamma" => {
            binary(g, op, DTypeClass::Float)
        }
        "betainc" => nn::betainc(g),
        "div_no_nan" | "mul_no_nan" | "xlogy" | "xlog1py" | "xdivy" => binary(g, op, DTypeClass::Float),
        "next_after" => nn::next_after(g),
        "tanh_grad" | "sigmoid_grad" | "sqrt_grad" | "rsqrt_grad" | "reciprocal_grad" | "softplus_grad"
        | "softsign_grad" | "elu_grad" | "selu_grad" => nn::same_shape(g, Call::new(op), DTypeClass::Float),
        "relu_grad" | "relu6_grad" => nn::same_shape(g, Call::new(op), DTypeClass::Number),
        "leaky_relu_grad" => nn::same_shape(g, Call::new(op).attr("alpha", 0.25), DTypeClass::Float),
        "approximate_equal" => nn::same_shape(g, Call::new(op).attr("tolerance", 0.5), DTypeClass::Float),
        "lgamma" | "digamma" | "bessel_i0e" | "bessel_i1e" | "hard_sigmoid" | "hard_swish" | "mish"
        | "log_sigmoid" | "ndtri" | "dawsn" | "expint" | "fresnel_cos" | "fresnel_sin" | "spence" => {
            unary(g, op, DTypeClass::Float)
        }
        _ if op.starts_with("bessel_") => unary(g, op, DTypeClass::Float),
        "einsum" | "sum_of_products" => nn::einsum(g, op),
        "softmax_cross_entropy" | "sparse_softmax_cross_entropy" => nn::cross_entropy(g, op),
        "max_pool"
        | "max_pool_3d"
        | "avg_pool"
        | "avg_pool_3d"
        | "max_pool_positions"
        | "max_pool_with_argmax" => window::pool(g, op),
        "max_pool_grad" | "max_pool_with_argmax_grad" | "avg_pool_grad" => window::pool_gradient(g, op),
        "list_as_shape" => window::list_as_shape(g),
        "reduce_window" => window::reduce_window(g),
        "conv" => window::conv_of_batches(g),
        "conv_2d"
        | "conv_3d"
        | "depthwise_conv_2d"
        | "convolve_windows"
        | "convolve_volume_windows"
        | "convolve_grouped_windows"
        | "convolve_groups" => window::conv(g, op),
        "conv_2d_input_grad"
        | "conv_2d_filter_grad"
        | "conv_3d_filter_grad"
        | "conv_3d_filter_grad_like"
        | "conv_3d_input_grad"
        | "conv_3d_input_grad_like" => window::conv_gradient(g, op),
        "avg_pool_3d_grad"
        | "crop_and_resize_boxes_grad"
        | "crop_and_resize_image_grad"
        | "fractional_avg_pool"
        | "fractional_avg_pool_grad"
        | "fractional_max_pool"
        | "fractional_max_pool_grad"
        | "lrn_grad"
        | "max_pool_3d_grad"
        | "max_pool_3d_grad_grad"
        | "max_pool_grad_grad"
        | "positions_of_equals"
        | "resize_bicubic_grad"
        | "resize_bilinear_grad"
        | "resize_nearest_grad"
        | "scale_and_translate_grad"
        | "sum_at_equals" => gradients::add_op(g, op),
        _ if op.starts_with("batch_norm_") && op != "batch_norm_with_reserve"
            || op.starts_with("dilation_2d")
            || op.starts_with("depthwise_conv_2d_") =>
        {
            gradients::add_op(g, op)
        }
        "fused_conv_2d" | "fused_matmul" | "pad_conv_2d" | "resize_pad_conv_2d" => fused::add_op(g, op),
        "lrn" => window::lrn(g),
        "extract_volume_patches" => window::volume_patches(g),
        "fake_quant_grad" | "fake_quant_vars_grad" | "fake_quant_channels_grad" => {
            image::quantize_gradient(g, op)
        }
        "fake_quant"
        | "fake_quant_vars"
        | "fake_quant_channels"
        | "snap_to_quantized"
        | "quantize_and_dequantize"
        | "quantize_and_dequantize_bits"
        | "quantize_and_dequantize_v1" => image::quantize(g, op),
        "dequantize"
        | "quantize"
        | "quantize_and_dequantize_grad"
        | "quantize_down"
        | "quantize_in_range"
        | "quantized_add"
        | "quantized_avg_pool"
        | "quantized_bias_add"
        | "quantized_concat"
        | "quantized_conv_2d"
        | "quantized_matmul"
        | "quantized_max_pool"
        | "quantized_mul"
        | "quantized_relu"
        | "quantized_relu6"
        | "quantized_reshape"
        | "quantized_sum"
        | "quantized_zero"
        | "requantization_range"
        | "requantize"
        | "requantize_into_range" => quantized::add_op(g, op),
        "quantized_batch_norm_global"
        | "quantized_bytes"
        | "quantized_instance_norm"
        | "quantized_resize_bilinear"
        | "requantization_range_of_channels"
        | "requantize_channels" => quantized_images::add_op(g, op),
        "uniform_dequantize"
        | "uniform_integers"
        | "uniform_numbers"
        | "uniform_quantize"
        | "uniform_quantized_add"
        | "uniform_quantized_clip"
        | "uniform_quantized_conv"
        | "uniform_quantized_conv_hybrid"
        | "uniform_quantized_dot"
        | "uniform_quantized_dot_hybrid"
        | "uniform_ratio"
        | "uniform_requantize"
        | "uniform_slice"
        | "uniform_sum" => uniform::add_op(g, op),
        "resize_area" | "resize_nearest" | "resize_bilinear" | "resize_bicubic" => image::resize(g, op),
        "resize_with_kernel" | "scale_and_translate" => image::sample(g, op),
        "crop_and_resize" => image::crop_and_resize(g),
        "draw_bounding_boxes" | "draw_bounding_boxes_v1" => image::draw(g, op),
        "combined_non_max_suppression"
        | "ctc_beam_search_decoder"
        | "ctc_greedy_decoder"
        | "non_max_suppression"
        | "non_max_suppression_overlaps"
        | "non_max_suppression_padded"
        | "non_max_suppression_v1"
        | "non_max_suppression_v2"
        | "projective_transform"
        | "projective_transform_v2"
        | "soft_non_max_suppression" => detection::add_op(g, op),
        "audio_spectrogram"
        | "block_lstm"
        | "block_lstm_with_forget_bias"
        | "ctc_loss"
        | "gru_block_cell"
        | "lstm_block_cell"
        | "mfcc" => sequences::add_op(g, op),
        "rgb_to_hsv" | "hsv_to_rgb" | "adjust_hue" | "adjust_saturation" | "adjust_contrast"
        | "adjust_contrast_v1" => image::color(g, op),
        "extract_glimpse" | "extract_glimpse_v1" => image::glimpse(g, op),
        "banded_triangular_solve"
        | "cholesky"
        | "cholesky_grad"
        | "eig"
        | "log_matrix_determinant"
        | "lu"
        | "matrix_determinant"
        | "matrix_exponential"
        | "matrix_inverse"
        | "matrix_logarithm"
        | "matrix_solve"
        | "matrix_solve_ls"
        | "matrix_square_root"
        | "matrix_triangular_solve"
        | "qr"
        | "self_adjoint_eig"
        | "self_adjoint_eig_packed"
        | "sparse_matmul"
        | "svd"
        | "tridiagonal_matmul"
        | "tridiagonal_solve" => linalg::add_op(g, op),
        _ if op.contains("fft") => linalg::add_op(g, op),
        "add_n" => nn::add_n(g),
        "cross" => nn::cross(g),
        "l2_loss" => nn::l2_loss(g),
        "bias_add" | "bias_add_grad" => nn::bias(g, op),
        "leaky_relu" => unary_with(g, Call::new(op).attr("alpha", 0.25), DTypeClass::Float),
        "gelu" => {
            let approximate = g.rng.chance(1, 2);
            unary_with(g, Call::new(op).attr("approximate", approximate), DTypeClass::Float)
        }
        "check_numerics" => {
            let x = g.pick(DTypeClass::Float, 0..=8, |props| !props.rounding_varies)?;
            let props = props_of(g, &[x]);
            g.add_step(Call::new(op).attr("message", "finite"), &[x], &[], props)
        }
        "checked" => {
            let x = g.pick(DTypeClass::Any, 0..=8, |_| true)?;
            let condition = g.scalar(DType::Bool, Content::SmallIntegers)?;
            let props = props_of(g, &[x]);
            g.add_step(Call::new(op).attr("message", "it must"), &[x, condition], &[], props)
        }
        "add" | "sub" | "mul" | "squared_difference" | "legacy_div" => binary(g, op, DTypeClass::Numeric),
        "maximum" | "minimum" => binary(g, op, DTypeClass::Number),
        "floordiv" | "floormod" => binary(g, op, DTypeClass::Number),
        "div" if g.rng.chance(1, 3) => binary(g, op, DTypeClass::Complex),
        "div" | "atan2" => binary(g, op, DTypeClass::Float),
        "truncatediv" => binary(g, op, DTypeClass::Number),
        "truncatemod" => binary(g, op, DTypeClass::Int),
        "pow" => binary(g, op, DTypeClass::Numeric),
        "equal" | "not_equal" => binary(g, op, DTypeClass::Equatable),
        "less" | "less_equal" | "greater" | "greater_equal" => binary(g, op, DTypeClass::Number),
        "logical_and" | "logical_or" | "logical_xor" => binary(g, op, DTypeClass::Bool),
        "bitwise_and" | "bitwise_or" | "bitwise_xor" => binary(g, op, DTypeClass::Bits),
        "select" => select(g),
        "select_v1" => select_v1(g),
        "clip_by_value" => clip(g),
        "cast" => cast(g),
        "argmax" | "argmin" => argmax_or_argmin(g, op),
        "softmax" | "log_softmax" => softmax(g, op),
        "broadcast_args"
        | "broadcast_gradient_args"
        | "bitcast"
        | "bitcast_complex"
        | "concat_offset"
        | "cumprod"
        | "cumsum"
        | "cumulative_logsumexp"
        | "ensure_shape"
        | "invert_permutation"
        | "linspace"
        | "list_diff"
        | "parallel_concat"
        | "shape_n" => vectors::add_op(g, op),
        "argsort"
        | "bincount"
        | "bucketize"
        | "bucketize_few"
        | "bucketize_many"
        | "dense_bincount"
        | "dense_count_sparse_output"
        | "histogram_fixed_width"
        | "in_top_k"
        | "isotonic_regression"
        | "nearest_neighbors"
        | "nth_element"
        | "ragged_bincount"
        | "ragged_count_sparse_output"
        | "searchsorted"
        | "sort"
        | "sparse_bincount"
        | "sparse_count_sparse_output"
        | "approx_top_k"
        | "top_k" => selection::add_op(g, op),
        "dense_to_sparse_set_operation"
        | "set_operation"
        | "set_size"
        | "sparse_to_dense"
        | "sparse_to_sparse_set_operation"
        | "unique_slices"
        | "unique_slices_with_counts" => sets::add_op(g, op),
        _ if op.starts_with("sparse_segment") => selection::add_op(g, op),
        "diag"
        | "diag_part"
        | "matrix_band_part"
        | "matrix_diag"
        | "matrix_diag_part"
        | "matrix_diag_part_with"
        | "matrix_diag_with"
        | "matrix_set_diag"
        | "mirror_pad_grad"
        | "roll"
        | "strided_slice_grad"
        | "strided_slice_update"
        | "tril"
        | "triu" => diagonals::add_op(g, op),
        "data_format_dim_map" | "data_format_vec_permute" | "empty" | "unravel_index" => {
            layouts::add_op(g, op)
        }
        "sobol" => random::sobol(g),
        _ if op.starts_with("inplace_") => layouts::add_op(g, op),
        "matmul" => matmul(g),
        "matmul_to" => matmul_to(g),
        "gather" => gather(g),
        "one_hot" => one_hot(g),
        "concat" => concat(g),
        "stack" => stack(g),
        "split" | "split_sizes" | "unstack" => split(g, op),
        "slice" => slice(g),
        "strided_slice" => strided_slice(g),
        "pad" | "pad_with" | "mirror_pad" => pad(g, op),
        "reshape" => reshape(g),
        "expand_dims" | "squeeze" => expand_dims_or_squeeze(g, op),
        "transpose" => transpose(g, op),
        "reverse" => reverse(g),
        "flags_of_axes" | "reverse_by_flags" => movement::reverse_by_flags(g, op),
        "tile" => tile(g),
        "broadcast_to" => broadcast_to(g),
        "fill" => fill(g),
        "range" => range(g),
        "float_range" => float_range(g),
        "shape" | "size" | "rank" => shape_query(g, op),
        "unique" | "unique_with_counts" => unique(g, op),
        "boolean_mask" => boolean_mask(g),
        "batch_norm" | "batch_norm_with_reserve" => sparse::batch_norm(g, op),
        "fill_empty_rows_grad" | "edit_distance" => sparse::add_op(g, op),
        _ if op.starts_with("sparse_") => sparse::add_op(g, op),
        "where_indices" => unary(g, op, DTypeClass::Equatable),
        "euclidean_norm" => reduce(g, op),
        "accidental_hits"
        | "sample_candidates_with_state"
        | "sample_distorted_bounding_box"
        | "sample_distorted_bounding_box_with_state" => random::add_op(g, op),
        _ if op.starts_with("random_") => random::add_op(g, op),
        _ if op.starts_with("ragged_") => ragged::add_op(g, op),
        _ if op.starts_with("reduce_") => reduce(g, op),
        _ => scatter_and_blocks::add_op(g, op),
    }
}
