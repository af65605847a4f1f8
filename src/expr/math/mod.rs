//! Math functions, expanded into primitive operations without branches.
//!
//! `f32` and `f64` are computed in their own precision; `f16` and `bf16` are computed in `f32` and rounded once at the
//! end. NaN, infinities, subnormals and signed zeros follow C99 unless a function says otherwise.
//!
//! The stated errors are in units in the last place (ulp) of the exact result. The stated errors are the largest errors
//! over samples of every exponent, with a fused multiply-add. Without a fused multiply-add, the errors grow by up to 1
//! ulp, unless a function says otherwise. A constant with the coefficients of a polynomial lists the highest power
//! first; the relative error in its documentation is the maximum error of the polynomial alone.
//!
//! Complex numbers are computed from real functions of their parts; no bound on their errors is stated.
//!
//! An argument of an unsupported dtype gives an ill-typed expression, which is refused when the op is added to a graph.

mod bessel;
mod build;
mod complex;
mod division;
mod erf;
mod exp;
mod float_or_complex;
mod gamma;
mod gelu;
mod hyperbolic;
mod inverse;
mod inverse_hyperbolic;
mod large_angle;
mod log;
mod neighbor;
mod normal;
mod power;
mod trig;
#[cfg(test)]
mod ulp;

pub use bessel::{bessel_i0e, bessel_i1e};
pub use division::{floordiv, floormod, relu, round_half_even};
pub use erf::{erf, erfc};
pub(crate) use exp::exp_nonpositive;
pub use exp::exp2;
pub use float_or_complex::{
    acos, acosh, angle, asin, asinh, atan, atanh, cos, cosh, exp, expm1, log, log1p, magnitude, pow,
    reciprocal, rsqrt, sigmoid, sign, sin, sinh, sqrt, squared_difference, tan, tanh,
};
pub use gamma::{digamma, lgamma};
pub(crate) use gelu::gelu_tanh;
pub use inverse::atan2;
pub(crate) use large_angle::LARGE_ANGLE;
pub use log::log2;
pub use neighbor::next_after;
pub use normal::{erfinv, ndtri};
pub use power::cbrt;

#[cfg(test)]
mod accuracy;
