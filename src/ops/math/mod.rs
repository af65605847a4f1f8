//! Arithmetic and elementary functions, element by element.
//!
//! ```
//! use shapeflow::{DType, Graph, shape};
//!
//! let g = Graph::new();
//! let x = g.input("x", DType::F32, shape!["n", 3])?;
//! let y = (x * 2.0 + 1.0).exp()?.clip_by_value(0.0, 10.0)?;
//! assert_eq!(y.shape().to_string(), "[n, 3]");
//! assert!(x.floordiv(x.cast(DType::I32)?).is_err());
//! # Ok::<(), shapeflow::Error>(())
//! ```

pub(crate) mod abs;
pub(crate) mod add_n;
pub(crate) mod atan2;
mod bessel_functions;
pub(crate) mod binary;
pub(crate) mod cast;
pub(crate) mod clip_by_value;
pub(crate) mod complex;
pub(crate) mod div;
pub(crate) mod exponential;
pub(crate) mod gamma_functions;
pub(crate) mod gradient;
pub(crate) mod host_functions;
pub(crate) mod host_unary;
mod integral_functions;
pub(crate) mod legacy_div;
mod lerp;
mod nan_to_num;
pub(crate) mod next_after;
pub(crate) mod no_nan;
pub(crate) mod predicate;
pub(crate) mod special;
pub(crate) mod trigonometric;
pub(crate) mod unary;

use crate::op::OpDef;

pub use add_n::add_n;

/// Every op of the family, file by file.
pub(crate) static ALL: &[&[&OpDef]] = &[
    binary::ALL,
    exponential::ALL,
    gradient::ALL,
    host_functions::ALL,
    host_unary::ALL,
    no_nan::ALL,
    predicate::ALL,
    special::ALL,
    trigonometric::ALL,
    unary::ALL,
    complex::ALL,
    &[
        &abs::DEF,
        &abs::COMPLEX,
        &add_n::DEF,
        &atan2::DEF,
        &cast::DEF,
        &clip_by_value::DEF,
        &div::DEF,
        &legacy_div::DEF,
        &next_after::DEF,
    ],
];
