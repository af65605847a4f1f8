//! Ops on ragged values, and the host kernels that read row partitions.
//!
//! An op on a [`RaggedValue`](crate::RaggedValue) is a composite of ordinary ops on its flat values and row partitions.

mod along;
mod arrange;
mod bounding;
mod broadcast;
mod broadcast_to;
mod checks;
mod convert;
mod counts;
mod cross_rows;
mod cumsum;
mod elementwise;
mod encodings;
mod errors;
pub(crate) mod fill_empty_rows;
mod flat_functions;
mod from_tensor;
pub(crate) mod gather;
mod gather_along;
mod in_tensorflow;
mod index;
mod input;
mod mask;
mod matmul;
mod members;
mod moments;
mod numbers;
mod one_hot;
mod partition;
mod parts;
pub(crate) mod range;
mod reduce;
mod reduce_axes;
mod reduce_in_tensorflow;
mod reduce_rows;
mod refused;
mod reshape;
mod row;
mod row_functions;
mod row_matmul;
mod segment;
mod select;
mod slice_tensor;
mod slice_value;
mod sort;
mod splits;
mod stack_padded;
mod stack_partitions;
mod stretch;
#[cfg(feature = "strings")]
mod string_functions;
#[cfg(feature = "strings")]
mod texts;
pub(crate) mod to_sparse;
pub(crate) mod to_tensor;
mod transpose;

pub use elementwise::IntoRaggedOperand;
pub use input::IntoRows;
pub use reduce_axes::IntoRaggedAxes;

use crate::op::OpDef;

/// The ops of the family that TensorFlow has too.
pub(crate) static ALL: &[&[&OpDef]] =
    &[&[&fill_empty_rows::DEF, &gather::DEF, &range::DEF, &to_sparse::DEF, &to_tensor::DEF]];

/// The ops that are parts of composites only.
pub(crate) static PARTS: &[&OpDef] = &[
    &checks::DENSE_FITS,
    &checks::EQUAL_COUNTS,
    &cumsum::DEF,
    &reduce_rows::DEF,
    &row_matmul::DEF,
    &sort::ARGSORT,
    &sort::SORT,
    &splits::CHECKED,
    &splits::FROM_ROWIDS,
    &splits::KEPT,
    &splits::POSITION,
    &splits::ROWIDS,
    &splits::SAME,
];
