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
pub(crate) mod acos;
pub(crate) mod acosh;
pub(crate) mod add;
pub(crate) mod asin;
pub(crate) mod asinh;
pub(crate) mod atan;
pub(crate) mod atan2;
pub(crate) mod atanh;
pub(crate) mod cast;
pub(crate) mod cbrt;
pub(crate) mod ceil;
pub(crate) mod clip_by_value;
pub(crate) mod cos;
pub(crate) mod cosh;
pub(crate) mod div;
pub(crate) mod erf;
pub(crate) mod erfc;
pub(crate) mod exp;
pub(crate) mod exp2;
pub(crate) mod expm1;
pub(crate) mod floor;
pub(crate) mod floordiv;
pub(crate) mod floormod;
pub(crate) mod legacy_div;
pub(crate) mod log;
pub(crate) mod log1p;
pub(crate) mod log2;
pub(crate) mod maximum;
pub(crate) mod minimum;
pub(crate) mod mul;
pub(crate) mod neg;
pub(crate) mod pow;
pub(crate) mod reciprocal;
pub(crate) mod round;
pub(crate) mod rsqrt;
pub(crate) mod sigmoid;
pub(crate) mod sign;
pub(crate) mod sin;
pub(crate) mod sinh;
pub(crate) mod sqrt;
pub(crate) mod square;
pub(crate) mod squared_difference;
pub(crate) mod sub;
pub(crate) mod tan;
pub(crate) mod tanh;
pub(crate) mod truncatediv;
pub(crate) mod truncatemod;

use crate::op::OpDef;

/// Every op of the family.
pub(crate) static ALL: &[&OpDef] = &[
    &abs::DEF,
    &acos::DEF,
    &acosh::DEF,
    &add::DEF,
    &asin::DEF,
    &asinh::DEF,
    &atan::DEF,
    &atan2::DEF,
    &atanh::DEF,
    &cast::DEF,
    &cbrt::DEF,
    &ceil::DEF,
    &clip_by_value::DEF,
    &cos::DEF,
    &cosh::DEF,
    &div::DEF,
    &erf::DEF,
    &erfc::DEF,
    &exp::DEF,
    &exp2::DEF,
    &expm1::DEF,
    &floor::DEF,
    &floordiv::DEF,
    &floormod::DEF,
    &legacy_div::DEF,
    &log::DEF,
    &log1p::DEF,
    &log2::DEF,
    &maximum::DEF,
    &minimum::DEF,
    &mul::DEF,
    &neg::DEF,
    &pow::DEF,
    &reciprocal::DEF,
    &round::DEF,
    &rsqrt::DEF,
    &sigmoid::DEF,
    &sign::DEF,
    &sin::DEF,
    &sinh::DEF,
    &sqrt::DEF,
    &square::DEF,
    &squared_difference::DEF,
    &sub::DEF,
    &tan::DEF,
    &tanh::DEF,
    &truncatediv::DEF,
    &truncatemod::DEF,
];
