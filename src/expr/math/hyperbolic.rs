//! `tanh`, `sigmoid`, `sinh`, `cosh`.

use shapeflow_shape_fns::DType;

use super::build::*;
use super::exp::{exp_bounded, half_expm1};
use crate::expr::Expr;

/// `tanh(x) / x` as a quotient of polynomials in `x²` for `|x| <= 9.1`.
const TANH_SINGLE: ([f64; 5], [f64; 5]) = (
    [1.4840435547114339e-08, 2.163723729609046e-05, 0.0035566859878599644, 0.13432122766971588, 1.0],
    [8.370569730686839e-07, 0.0003386439348105341, 0.02610829845070839, 0.4676544964313507, 1.0],
);

/// Hyperbolic tangent. Errors: f32 2 ulp, f64 2 ulp.
pub fn tanh(x: Expr) -> Expr {
    in_float(x, |x| {
        if Format::of(x).is_double() {
            // tanh|x| = -t / (t + 2) with t = e^(-2|x|) - 1.
            let half = half_expm1(&times(&abs(x), -2.0));
            return with_sign(&(-half.clone() / plus(&half, 1.0)), x);
        }
        let x = at_most(&at_least(x, -9.1), 9.1);
        let z = &x * &x;
        horner(&z, &TANH_SINGLE.0) * x / horner(&z, &TANH_SINGLE.1)
    })
}

/// `1 / (1 + e^-x)`. Errors: f32 1.8 ulp, f64 1.8 ulp.
pub fn sigmoid(x: Expr) -> Expr {
    in_float(x, |x| {
        let format = Format::of(x);
        // The exponential of -|x| neither overflows nor loses small results.
        let e = exp_bounded(&at_least(&-abs(x), format.pick(-104.0, -746.0)), 0, None);
        let numerator = x.clone().less(x.like(0.0)).select(e.clone(), x.like(1.0));
        numerator / plus(&e, 1.0)
    })
}

/// Hyperbolic sine. Errors: f32 0.6 ulp, f64 2 ulp.
pub fn sinh(x: Expr) -> Expr {
    in_float(x, |x| {
        if Format::of(x).is_double() {
            let half = half_expm1(&abs(x));
            let sum = &half + &half / plus(&(&half + &half), 1.0);
            return with_sign(&sum, x);
        }
        let wide = x.clone().cast(DType::F64);
        let power = exp_bounded(&at_most(&at_least(&wide, -104.0), 104.0), -1, None);
        let difference = &power - wide.like(0.25) / &power;
        // Below, the difference of powers cancels, and x³/6 is less than an ulp of x.
        let small = abs(&wide).less(wide.like(1.0 / 4096.0));
        let cube = fma(&(&wide * times(&wide, 1.0 / 6.0)), &wide, &wide);
        keep_zero(x, small.select(cube, difference).cast(DType::F32))
    })
}

/// Hyperbolic cosine. Errors: f32 0.6 ulp, f64 2 ulp.
pub fn cosh(x: Expr) -> Expr {
    in_float(x, |x| {
        let wide = if Format::of(x).is_double() { abs(x) } else { abs(x).cast(DType::F64) };
        let half_power = exp_bounded(&at_most(&wide, 711.0), -1, None);
        (&half_power + wide.like(0.25) / &half_power).cast(x.dtype())
    })
}
