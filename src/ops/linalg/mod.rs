//! Matrix products.

pub(crate) mod matmul;

use crate::op::OpDef;

/// Every op of the family.
pub(crate) static ALL: &[&OpDef] = &[
    &matmul::DEF,
];
