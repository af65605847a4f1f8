//! Shape functions of neural-network ops.

mod bias_add;
mod conv;
mod conv_gradient;
mod dilation;
mod fractional_pool;
mod isotonic;
mod layout;
mod loss;
mod lrn;
mod nearest_neighbors;
mod normalization;
mod pool;
mod recurrent;
mod rows;
mod softmax;
mod top_k;
pub(crate) mod window;

pub use bias_add::{bias_add, bias_add_grad};
pub use conv::{conv, conv_2d, conv_3d, depthwise_conv_2d, padded_conv_2d, resized_conv_2d};
pub(crate) use conv_gradient::shape_param;
pub use conv_gradient::{
    depthwise_input_2d, filter_2d, filter_3d, input_2d, input_3d, sized_filter_3d, sized_input_3d,
};
pub use dilation::{dilation_2d, dilation_2d_filter, dilation_2d_input};
pub use fractional_pool::fractional_pool;
pub use isotonic::isotonic_regression;
pub use loss::{in_top_k, l2_loss, softmax_cross_entropy, sparse_softmax_cross_entropy};
pub use lrn::{lrn, lrn_grad};
pub use nearest_neighbors::nearest_neighbors;
pub use normalization::{
    batch_norm, batch_norm_grad, fused_batch_norm, fused_batch_norm_ex, fused_batch_norm_grad,
    quantized_batch_norm,
};
pub use pool::{
    avg_pool, avg_pool_3d, max_pool, max_pool_3d, max_pool_3d_grad_grad, max_pool_argmax_grad_grad,
    max_pool_grad_grad, pool_grad, pool_grad_3d, sized_pool_grad, sized_pool_grad_3d,
};
pub use recurrent::{block_lstm, gru_block_cell, lstm_block_cell};
pub(crate) use rows::OPS;
pub use softmax::softmax;
pub use top_k::{approx_top_k, nth_element, top_k};
