//! Math functions, expanded into primitive operations without branches.
//!
//! `f32` and `f64` are computed in their own precision; `f16` and `bf16` are computed in `f32` and rounded once at the
//! end. NaN, infinities, subnormals and signed zeros follow C99 unless a function says otherwise.
//!
//! The stated errors are in units in the last place (ulp) of the exact result. They are the largest errors over samples
//! of every exponent, with a fused multiply-add. Without a fused multiply-add, the errors grow by up to 1 ulp, unless a
//! function says otherwise. A constant with the coefficients of a polynomial lists the highest power first; the
//! relative error in its documentation is the maximum error of the polynomial alone.
//!
//! An argument of an unsupported dtype gives an ill-typed expression, which is refused when the op is added to a graph.

mod area;
mod build;
mod division;
mod erf;
mod exp;
mod gelu;
mod hyperbolic;
mod inverse;
mod log;
mod power;
mod trig;
#[cfg(test)]
mod ulp;

pub use area::{acosh, asinh, atanh};
pub use division::{floordiv, floormod, relu, round_half_even, sign, squared_difference};
pub use erf::{erf, erfc};
pub(crate) use exp::exp_nonpositive;
pub use exp::{exp, exp2, expm1};
pub(crate) use gelu::gelu_tanh;
pub use hyperbolic::{cosh, sigmoid, sinh, tanh};
pub use inverse::{acos, asin, atan, atan2};
pub use log::{log, log1p, log2};
pub use power::{cbrt, pow, rsqrt};
pub use trig::{cos, sin, tan};

#[cfg(test)]
mod accuracy;
