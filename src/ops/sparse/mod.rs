//! Ops on sparse tensors, which are three tensors: the indices of elements, the elements, and the sizes of the dense
//! tensor.

mod groups;

pub(crate) mod set_operation;
pub(crate) mod set_size;
pub(crate) mod to_dense;

use crate::op::OpDef;

pub use set_operation::SetOperation;

/// Every op of the family.
pub(crate) static ALL: &[&[&OpDef]] = &[&[
    &set_operation::DENSE,
    &set_operation::DENSE_SPARSE,
    &set_operation::SPARSE,
    &set_size::DEF,
    &to_dense::DEF,
]];
