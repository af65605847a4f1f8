//! Ops of neural networks: activations, softmax, convolutions, pools, normalizations, losses, and their gradients.
//!
//! `conv_2d` and `conv_3d` pad their operand and expand to `convolve_windows` and `convolve_volume_windows`. A pool
//! pads its operand and expands to `reduce_window`. The gradient of an activation is a function of its operand
//! (`gradient_from_operand`) or of its result (`gradient_from_result`).
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
mod attention;
pub(crate) mod batch_norm;
pub(crate) mod batch_norm_global;
pub(crate) mod batch_norm_gradient;
pub(crate) mod batch_norm_training;
pub(crate) mod bias_add;
pub(crate) mod block_lstm;
pub(crate) mod conv;
mod conv_by_residues;
pub(crate) mod conv_filter_gradient;
pub(crate) mod conv_general;
pub(crate) mod conv_gradient;
pub(crate) mod convolve_windows;
mod ctc_beam;
pub(crate) mod ctc_decode;
pub(crate) mod ctc_loss;
mod data_format;
pub(crate) mod dilation;
mod dilation_positions;
pub(crate) mod fractional_pool;
pub(crate) mod fractional_pool_gradient;
mod fractional_windows;
pub(crate) mod fused;
pub(crate) mod gelu;
pub(crate) mod gradient_from_operand;
pub(crate) mod gradient_from_result;
mod in_tensorflow;
pub(crate) mod isotonic_regression;
pub(crate) mod l2_loss;
pub(crate) mod leaky_relu;
pub(crate) mod leaky_relu_grad;
mod list_as_shape;
pub(crate) mod log_softmax;
pub(crate) mod lrn;
pub(crate) mod nearest_neighbors;
mod normalize;
pub(crate) mod pool;
pub(crate) mod pool_argmax;
pub(crate) mod pool_gradient;
pub(crate) mod pool_gradient_of_equals;
pub(crate) mod recurrent;
mod reduce_elements;
pub(crate) mod reduce_window;
mod row;
pub(crate) mod softmax;
pub(crate) mod softmax_cross_entropy;
pub(crate) mod window;

use crate::op::OpDef;

pub use ctc_loss::CtcLossOptions;
pub use data_format::DataFormat;
pub use fractional_pool::FractionalPool;
pub use normalize::clip_by_global_norm;
pub use recurrent::LstmWeights;
pub use window::Padding;

/// Every op of the family, file by file.
pub(crate) static ALL: &[&[&OpDef]] = &[
    activation::ALL,
    gradient_from_operand::ALL,
    gradient_from_result::ALL,
    &[
        &batch_norm::DEF,
        &batch_norm::WITH_RESERVE,
        &batch_norm_global::DEF,
        &batch_norm_global::GRADIENT,
        &batch_norm_gradient::DEF,
        &batch_norm_gradient::WITH_RESERVE,
        &batch_norm_training::DEF,
        &batch_norm_training::WITH_RESERVE,
        &bias_add::DEF,
        &bias_add::GRADIENT,
        &block_lstm::DEF,
        &block_lstm::WITH_FORGET_BIAS,
        &conv::DEF,
        &conv::DEPTHWISE,
        &conv::VOLUMES,
        &conv_filter_gradient::DEPTHWISE,
        &conv_filter_gradient::IMAGES,
        &conv_filter_gradient::VOLUMES,
        &conv_filter_gradient::VOLUMES_LIKE,
        &conv_general::DEF,
        &conv_gradient::DEPTHWISE_INPUT,
        &conv_gradient::INPUT,
        &conv_gradient::VOLUMES_INPUT,
        &conv_gradient::VOLUMES_INPUT_LIKE,
        &convolve_windows::GROUPED,
        &convolve_windows::GROUPS,
        &convolve_windows::IMAGES,
        &convolve_windows::VOLUMES,
        &ctc_decode::BEAM,
        &ctc_decode::GREEDY,
        &ctc_loss::DEF,
        &dilation::DEF,
        &dilation::FILTER,
        &dilation::INPUT,
        &dilation::WINDOWS,
        &dilation_positions::OF_FILTER,
        &dilation_positions::OF_INPUT,
        &fractional_pool::AVG,
        &fractional_pool::MAX,
        &fractional_pool_gradient::AVG,
        &fractional_pool_gradient::MAX,
        &fused::CONV,
        &fused::MATMUL,
        &fused::PAD_CONV,
        &fused::RESIZE_PAD_CONV,
        &gelu::DEF,
        &isotonic_regression::DEF,
        &l2_loss::DEF,
        &leaky_relu::DEF,
        &leaky_relu_grad::DEF,
        &list_as_shape::DEF,
        &log_softmax::DEF,
        &lrn::DEF,
        &lrn::GRADIENT,
        &nearest_neighbors::DEF,
        &pool::AVG,
        &pool::AVG_OF_VOLUMES,
        &pool::MAX,
        &pool::MAX_OF_VOLUMES,
        &pool_argmax::DEF,
        &pool_argmax::POSITIONS,
        &pool_gradient::AVG,
        &pool_gradient::AVG_OF_VOLUMES,
        &pool_gradient::MAX,
        &pool_gradient::MAX_WITH_ARGMAX,
        &pool_gradient_of_equals::IMAGES_TWICE,
        &pool_gradient_of_equals::POSITIONS,
        &pool_gradient_of_equals::SUMS,
        &pool_gradient_of_equals::VOLUMES,
        &pool_gradient_of_equals::VOLUMES_TWICE,
        &recurrent::GRU,
        &recurrent::LSTM,
        &reduce_window::DEF,
        &softmax::DEF,
        &softmax_cross_entropy::DEF,
        &softmax_cross_entropy::SPARSE,
    ],
];
