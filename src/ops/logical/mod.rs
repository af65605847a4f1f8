//! Comparisons, logic, bits and selection, element by element.

pub(crate) mod bitwise_and;
pub(crate) mod bitwise_not;
pub(crate) mod bitwise_or;
pub(crate) mod bitwise_xor;
pub(crate) mod equal;
pub(crate) mod greater;
pub(crate) mod greater_equal;
pub(crate) mod less;
pub(crate) mod less_equal;
pub(crate) mod logical_and;
pub(crate) mod logical_not;
pub(crate) mod logical_or;
pub(crate) mod logical_xor;
pub(crate) mod not_equal;
pub(crate) mod select;

use crate::op::OpDef;

/// Every op of the family.
pub(crate) static ALL: &[&OpDef] = &[
    &bitwise_and::DEF,
    &bitwise_not::DEF,
    &bitwise_or::DEF,
    &bitwise_xor::DEF,
    &equal::DEF,
    &greater::DEF,
    &greater_equal::DEF,
    &less::DEF,
    &less_equal::DEF,
    &logical_and::DEF,
    &logical_not::DEF,
    &logical_or::DEF,
    &logical_xor::DEF,
    &not_equal::DEF,
    &select::DEF,
];
