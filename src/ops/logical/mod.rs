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

pub(crate) mod approximate_equal;
pub(crate) mod bits;
pub(crate) mod compare;
pub(crate) mod equality;
pub(crate) mod negation;
pub(crate) mod population_count;
pub(crate) mod select;
pub(crate) mod select_v1;
pub(crate) mod shift;

use crate::op::OpDef;

/// Every op of the family, file by file.
pub(crate) static ALL: &[&[&OpDef]] = &[
    bits::ALL,
    compare::ALL,
    equality::ALL,
    negation::ALL,
    shift::ALL,
    &[&approximate_equal::DEF, &population_count::DEF, &select::DEF, &select_v1::DEF],
];
