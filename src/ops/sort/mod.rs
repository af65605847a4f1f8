//! Ops that compare elements by size: sorts, selections and searches in sorted rows.
//!
//! NaN counts as larger than every number, and `-0.0` equals `0.0`.

mod columns;
pub(in crate::ops) mod in_tensorflow;
mod numbers;
pub(crate) mod order;
mod quantile;
mod radix;

pub(crate) mod approx_top_k;
pub(crate) mod bucketize;
pub(crate) mod in_top_k;
pub(crate) mod nth_element;
pub(crate) mod searchsorted;
pub(crate) mod sorted;
pub(crate) mod top_k;

use crate::op::OpDef;

/// Every op of the family.
pub(crate) static ALL: &[&[&OpDef]] = &[&[
    &approx_top_k::DEF,
    &bucketize::DEF,
    &bucketize::BY_HOST,
    &bucketize::BY_KERNEL,
    &in_top_k::DEF,
    &nth_element::DEF,
    &searchsorted::DEF,
    &sorted::SORT,
    &sorted::ARGSORT,
    &top_k::DEF,
]];
