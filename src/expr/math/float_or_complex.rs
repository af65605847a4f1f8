//! Functions of a float or a complex number. Each function passes its arguments to the function for the dtype of the
//! arguments.

use super::{complex, division, hyperbolic, inverse, inverse_hyperbolic, power, trig};
use crate::expr::Expr;

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident: $real:expr;)*) => {$(
        $(#[$doc])*
        pub fn $name(x: Expr) -> Expr {
            let real: fn(Expr) -> Expr = $real;
            if x.dtype().is_complex() { complex::$name(&x) } else { real(x) }
        }
    )*};
}
functions! {
    /// The square root, correctly rounded for floats. A complex root has a real part that is not negative.
    sqrt: Expr::sqrt;

    /// `1 / √x`. Error for floats: 1.5 ulp.
    rsqrt: power::rsqrt;

    /// `1 / x`.
    reciprocal: |x| x.like(1.0) / x;

    /// `e^x`. Errors for floats: f32 0.9 ulp, f64 0.9 ulp.
    exp: super::exp::exp;

    /// `e^x - 1`, precise near 0. Errors for floats: f32 1.6 ulp, f64 1.7 ulp.
    expm1: super::exp::expm1;

    /// Natural logarithm; -inf for zeros, NaN for negative floats. Errors for floats: f32 0.9 ulp, f64 0.8 ulp.
    log: super::log::log;

    /// `log(1 + x)`, precise near 0. Errors for floats: f32 1.5 ulp, f64 0.8 ulp.
    log1p: super::log::log1p;

    /// Sine. Errors for floats: f32 1.6 ulp, f64 1.3 ulp.
    sin: trig::sin;

    /// Cosine. Errors for floats: f32 1.6 ulp, f64 1.4 ulp.
    cos: trig::cos;

    /// Tangent. Errors for floats: f32 0.6 ulp, f64 2.2 ulp.
    tan: trig::tan;

    /// Hyperbolic sine. Errors for floats: f32 0.6 ulp, f64 2.2 ulp.
    sinh: hyperbolic::sinh;

    /// Hyperbolic cosine. Errors for floats: f32 0.6 ulp, f64 1.2 ulp.
    cosh: hyperbolic::cosh;

    /// Hyperbolic tangent. Errors for floats: f32 1.6 ulp, f64 1.5 ulp.
    tanh: hyperbolic::tanh;

    /// `1 / (1 + e^-x)`. Errors for floats: f32 2.5 ulp, f64 2.1 ulp.
    sigmoid: hyperbolic::sigmoid;

    /// Arc sine; NaN for floats outside `[-1, 1]`. Errors for floats: f32 1.2 ulp, f64 1.1 ulp.
    asin: inverse::asin;

    /// Arc cosine; NaN for floats outside `[-1, 1]`. Errors for floats: f32 1.2 ulp, f64 1.2 ulp.
    acos: inverse::acos;

    /// Arc tangent. Errors for floats: f32 1.4 ulp, f64 1.1 ulp.
    atan: inverse::atan;

    /// Inverse hyperbolic sine. Errors for floats: f32 0.6 ulp, f64 1.6 ulp.
    asinh: inverse_hyperbolic::asinh;

    /// Inverse hyperbolic cosine; NaN for floats below 1. Errors for floats: f32 0.6 ulp, f64 1.6 ulp.
    acosh: inverse_hyperbolic::acosh;

    /// Inverse hyperbolic tangent; floats are infinite at ±1, NaN beyond. Errors for floats: f32 0.6 ulp, f64 1.6 ulp.
    atanh: inverse_hyperbolic::atanh;

    /// -1, 0 or 1; 0.0 for -0.0, NaN for NaN. For a complex number, `x / |x|`, or 0 for 0.
    sign: division::sign;
}

/// `x` to the power `y`, both of one dtype.
///
/// Floats follow C99's `pow` with all its special cases. Errors: f32 0.6 ulp; f64 1 ulp, and up to 2,000 ulp without a
/// fused multiply-add; 1.5 ulp for a constant exponent of -0.5. Integers wrap. A negative integer exponent fails the
/// run with the error of an index out of range. Complex numbers give `exp(y · log(x))`.
pub fn pow(x: Expr, y: Expr) -> Expr {
    if x.dtype().is_complex() && x.dtype() == y.dtype() { complex::pow(&x, &y) } else { power::pow(x, y) }
}

/// `(x - y)²`, or `|x - y|²` for complex numbers; integers wrap.
pub fn squared_difference(x: Expr, y: Expr) -> Expr {
    if x.dtype().is_complex() && x.dtype() == y.dtype() {
        let difference = x - y;
        let (a, b) = (difference.real(), difference.imag());
        let zero = a.like(0.0);
        return Expr::complex(&a * &a + &b * &b, zero);
    }
    division::squared_difference(x, y)
}

/// `|x|` of a float or a complex number, which is a float.
pub fn magnitude(x: Expr) -> Expr {
    if x.dtype().is_complex() { complex::abs(&x) } else { x.abs() }
}

/// The angle of a float or a complex number in `[-π, π]`.
pub fn angle(x: Expr) -> Expr {
    if x.dtype().is_complex() {
        return complex::angle(&x);
    }
    let zero = x.like(0.0);
    x.clone().less(zero.clone()).select(x.like(std::f64::consts::PI), zero)
}
