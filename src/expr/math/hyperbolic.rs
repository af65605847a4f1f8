//! `tanh`, `sigmoid`, `sinh`, `cosh`.

use shapeflow_shape_fns::DType;

use super::build::*;
use super::exp::{exp_twice_plus_1, exp_without_subnormals, quarter_expm1, scaled_exp};
use crate::expr::Expr;

/// Coefficients of `(tanh(x)/x - 1) / x²` in powers of `x²` for `|x| < 0.55`: relative error of tanh 2^-29.7.
const TANH_SINGLE: [f64; 5] = [
    -0.00624284939840436,
    0.02105071395635605,
    -0.0538475476205349,
    0.13332544267177582,
    -0.33333316445350647,
];

/// As [`TANH_SINGLE`]: relative error 2^-59.
const TANH_DOUBLE: [f64; 11] = [
    -1.9494772051696835e-05,
    8.331658789969612e-05,
    -0.00023338166630539983,
    0.000588444527389764,
    -0.001455542856224901,
    0.003592092032157931,
    -0.008863232601624584,
    0.02186948838586811,
    -0.05396825396376109,
    0.13333333333326622,
    -0.333333333333333,
];

/// Computes the hyperbolic tangent, never above 1. Errors: f32 1.6 ulp, f64 1.5 ulp.
pub fn tanh(x: Expr) -> Expr {
    in_float(x, |x| {
        let format = FloatFormat::of(x);
        let magnitude = at_most(&abs(x), format.by_width(10.0, 20.0));
        let z = &magnitude * &magnitude;
        let p = format.by_width(horner(&z, &TANH_SINGLE), horner(&z, &TANH_DOUBLE));
        let small = fma(&(&magnitude * z), &p, &magnitude);
        let power = match format.is_double() {
            true => plus(&exp_without_subnormals(&(&magnitude + &magnitude)), 1.0),
            false => exp_twice_plus_1(&magnitude),
        };
        let large = x.like(1.0) - x.like(2.0) / power;
        with_sign(&magnitude.less(x.like(0.55)).select(small, large), x)
    })
}

/// Computes `1 / (1 + e^-x)`. Errors: f32 2.5 ulp, f64 2.1 ulp.
pub fn sigmoid(x: Expr) -> Expr {
    in_float(x, |x| {
        let format = FloatFormat::of(x);
        // e^-|x| neither overflows nor makes small results lose precision.
        let e = scaled_exp(&at_least(&-abs(x), format.by_width(-104.0, -746.0)), 0, None);
        let numerator = x.clone().less(x.like(0.0)).select(e.clone(), x.like(1.0));
        numerator / plus(&e, 1.0)
    })
}

/// Computes the hyperbolic sine. Errors: f32 0.6 ulp, f64 2.2 ulp.
pub fn sinh(x: Expr) -> Expr {
    in_float(x, |x| {
        if FloatFormat::of(x).is_double() {
            // sinh |x| = (t + t / (t + 1)) / 2 with t = e^|x| - 1. The code computes with t / 4, because t may overflow
            // although the result is finite.
            let quarter = quarter_expm1(&abs(x));
            let quotient = &quarter / fma_const(&quarter, 4.0, &x.like(1.0));
            let sum = times(&quarter, 2.0) + times(&quotient, 2.0);
            let small = abs(x).less(x.like(1e-9));
            let sum = small.select(abs(x), sum);
            return with_sign(&sum, x);
        }
        let wide = x.clone().cast(DType::F64);
        // e^x / 2; the difference below is then e^x / 2 - e^-x / 2.
        let power = scaled_exp(&at_most(&at_least(&wide, -104.0), 104.0), -1, None);
        let difference = &power - wide.like(0.25) / &power;
        // For small x the difference of powers would cancel. x + x³/6 is precise there.
        let small = abs(&wide).less(wide.like(1.0 / 4096.0));
        let cube = fma(&(&wide * times(&wide, 1.0 / 6.0)), &wide, &wide);
        keep_zero(x, small.select(cube, difference).cast(DType::F32))
    })
}

/// Computes the hyperbolic cosine. Errors: f32 0.6 ulp, f64 1.2 ulp.
pub fn cosh(x: Expr) -> Expr {
    in_float(x, |x| {
        let wide = if FloatFormat::of(x).is_double() { abs(x) } else { abs(x).cast(DType::F64) };
        let half_power = scaled_exp(&at_most(&wide, 711.0), -1, None);
        (&half_power + wide.like(0.25) / &half_power).cast(x.dtype())
    })
}
