//! Inverse hyperbolic functions of floats: `asinh`, `acosh`, `atanh`.

use super::build::*;
use super::log::log1p;
use crate::expr::Expr;

/// A bound above which `√(x² ± 1)` and `x ± 1` round to `x`, and below which squares do not overflow.
const HUGE: f64 = (1u128 << 100) as f64;

/// Computes the inverse hyperbolic sine. Errors: f32 0.6 ulp, f64 1.6 ulp.
pub fn asinh(x: Expr) -> Expr {
    in_double(x, |x| {
        let magnitude = abs(x);
        let huge = x.like(HUGE).less(magnitude.clone());
        let z = &magnitude * &magnitude;
        let root = plus(&z, 1.0).sqrt();
        let near = &magnitude + z / plus(&root, 1.0);
        // For huge |x|, asinh(|x|) is ln(2|x|) = ln |x| + ln 2.
        let ln_factor = huge.clone().select(x.like(std::f64::consts::LN_2), x.like(0.0));
        with_sign(&(log1p(huge.select(magnitude, near)) + ln_factor), x)
    })
}

/// Computes the inverse hyperbolic cosine; NaN below 1. Errors: f32 0.6 ulp, f64 1.6 ulp.
pub fn acosh(x: Expr) -> Expr {
    in_double(x, |x| {
        let huge = x.like(HUGE).less(x.clone());
        let t = plus(x, -1.0);
        let near = &t + (&t + &t + &t * &t).sqrt();
        // For x < 1 the result must be NaN, but the two terms above might cancel. The argument -2 makes log1p NaN.
        let near = t.less(x.like(0.0)).select(x.like(-2.0), near);
        // For huge x, acosh(x) is ln(2x) = ln x + ln 2.
        let ln_factor = huge.clone().select(x.like(std::f64::consts::LN_2), x.like(0.0));
        log1p(huge.select(x.clone(), near)) + ln_factor
    })
}

/// Computes the inverse hyperbolic tangent; infinite at ±1, NaN beyond. Errors: f32 0.6 ulp, f64 1.6 ulp.
pub fn atanh(x: Expr) -> Expr {
    in_double(x, |x| {
        let magnitude = abs(x);
        let twice = &magnitude + &magnitude;
        let distance = x.like(1.0) - &magnitude;
        // 2x / (1 - x) = 2x + 2x · x / (1 - x), whose first term is exact.
        let near = &twice + &twice * &magnitude / &distance;
        let far = twice / distance;
        let quotient = magnitude.less(x.like(0.5)).select(near, far);
        with_sign(&times(&log1p(quotient), 0.5), x)
    })
}
