//! Comparisons, logic, bits and selection, element by element.
//!
//! ```
//! use shapeflow::{DType, Graph, shape};
//!
//! let g = Graph::new();
//! let x = g.input("x", DType::F32, shape!["n", 3])?;
//! let positive = x.greater(0.0)?;
//! assert_eq!((!positive | x.less(1.0)?).dtype(), DType::Bool);
//! assert_eq!(positive.select(x, 0.0)?.shape().to_string(), "[n, 3]");
//! # Ok::<(), shapeflow::Error>(())
//! ```

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
pub(crate) mod select_v1;

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
    &select_v1::DEF,
];
