//! Math functions as straight lines of primitive operations, without branches.
//!
//! `f32` and `f64` are expanded as they are, `f16` and `bf16` in `f32` and rounded once at the end. NaN,
//! infinities, subnormals and signed zeros follow C99 unless a function says otherwise. The stated
//! errors are the largest seen over samples of every exponent where `MulAdd` rounds once, in units in
//! the last place (ulp) of the exact result; without a fused multiply-add they grow by up to 1 ulp
//! unless stated. An argument of a dtype that a function is not for gives an expression that is
//! refused when the op is added to a graph.

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
