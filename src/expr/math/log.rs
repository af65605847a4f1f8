//! `log`, `log2`, `log1p`.
//!
//! Integer operations split `x = 2^e · m` with `m` in `[√½, √2)`. A polynomial in `m - 1` (f32) or in
//! `(m - 1) / (m + 1)` (f64) gives `log m`.

use super::build::*;
use crate::expr::Expr;

/// ln 2 as the sum of two parts. The product of the first part and an exponent is exact.
const LN2: [(f64, f64); 2] =
    [(0.693359375, -2.121_944_400_546_905_8e-4), (6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10)];

/// log2 e as the sum of two parts.
const LOG2_E: [(f64, f64); 2] = [
    (1.442_695_021_629_333_5, 1.925_963_033_500_011e-8),
    (std::f64::consts::LOG2_E, 2.035_527_374_093_103_3e-17),
];

/// Coefficients of `(log(1 + f) - f) / f²`: relative error of the logarithm 2^-27.2.
const LOG_SINGLE: [f64; 9] = [
    -0.07634404301643372,
    0.12761524319648743,
    -0.13160192966461182,
    0.142017662525177,
    -0.16623356938362122,
    0.20001226663589478,
    -0.2500081956386566,
    0.3333333134651184,
    -0.5,
];

/// Coefficients of `(2·atanh(s)/s - 2) / s²` in powers of `s²`: relative error of the logarithm 2^-57.9.
const LOG_DOUBLE: [f64; 7] = [
    0.1479595678717579,
    0.15314049846157082,
    0.1818356435359888,
    0.22222198572657648,
    0.28571428742392785,
    0.39999999999414654,
    0.6666666666666734,
];

/// Computes the natural logarithm; -inf for zeros, NaN for negative numbers. Errors: f32 0.9 ulp, f64 0.8 ulp.
pub fn log(x: Expr) -> Expr {
    in_float(x, |x| {
        let format = FloatFormat::of(x);
        let Parts { fraction, exponent, .. } = take_apart(x, true);
        let (high, low) = format.by_width(LN2[0], LN2[1]);
        let rest = log_rest(&fraction, Some(&times(&exponent, low)));
        finish(x, fma_const(&exponent, high, &(fraction + rest)), 0.0)
    })
}

/// Computes the logarithm to base 2, exact for powers of two; -inf for zeros, NaN for negative numbers. Errors: f32 1
/// ulp, f64 0.8 ulp.
pub fn log2(x: Expr) -> Expr {
    in_float(x, |x| {
        let format = FloatFormat::of(x);
        let Parts { fraction, exponent, .. } = take_apart(x, true);
        let rest = log_rest(&fraction, None);
        // (sum + error) · (high + low): the natural logarithm and log2 e, each as the sum of two parts.
        let sum = &fraction + &rest;
        let error = (&fraction - &sum) + rest;
        let (high, low) = format.by_width(LOG2_E[0], LOG2_E[1]);
        let product = times(&sum, high);
        let product_error = fma_const(&sum, high, &-product.clone());
        let error = product_error + fma_const(&sum, low, &times(&error, high));
        let total = &exponent + &product;
        let total_error = (&exponent - &total) + product;
        finish(x, total + (total_error + error), 0.0)
    })
}

/// Computes `log(1 + x)`, precise near 0; -inf for -1, NaN below -1. Errors: f32 1.5 ulp, f64 0.8 ulp.
pub fn log1p(x: Expr) -> Expr {
    in_float(x, |x| {
        let format = FloatFormat::of(x);
        let one = x.like(1.0);
        let u = plus(x, 1.0);
        let u_minus_one = plus(&u, -1.0);
        // The rounding error of 1 + x.
        let error = (one - (&u - &u_minus_one)) + (x - u_minus_one);
        let Parts { fraction, exponent, field } = take_apart(&u, false);
        let inverse_power = from_bits(&(format.word((2 * format.bias) << format.fraction) - field));
        // For large x the rounding error does not matter, and `inverse_power` is not a valid power.
        let large = x.like(2f64.powi(format.by_width(60, 120)));
        let error = x.clone().less(large).select(error * inverse_power, x.like(0.0));
        let fraction = fraction + error;
        let (high, low) = format.by_width(LN2[0], LN2[1]);
        let rest = log_rest(&fraction, Some(&times(&exponent, low)));
        keep_zero(x, finish(x, fma_const(&exponent, high, &(fraction + rest)), -1.0))
    })
}

/// `x = 2^exponent · (1 + fraction)`.
pub(super) struct Parts {
    pub(super) fraction: Expr,
    pub(super) exponent: Expr,
    /// A word whose exponent field holds `exponent + bias`.
    field: Expr,
}

/// Splits a positive finite number into exponent and fraction. `subnormal` says whether the number may be subnormal.
pub(super) fn take_apart(x: &Expr, subnormal: bool) -> Parts {
    let format = FloatFormat::of(x);
    let shift = format.fraction + 1;
    // The integer exponent becomes a float without a conversion: the code puts the exponent into the low bits of the
    // float 2^k, where k is the number of fraction bits, and subtracts 2^k.
    let large = 2f64.powi(format.fraction as i32);
    let unbias = large + format.bias as f64;
    let (x, unbias) = if subnormal {
        let tiny = x.clone().less(x.like(format.by_width(f32::MIN_POSITIVE as f64, f64::MIN_POSITIVE)));
        let unbias = tiny.clone().select(x.like(unbias + shift as f64), x.like(unbias));
        (tiny.select(times(x, 2f64.powi(shift as i32)), x.clone()), unbias)
    } else {
        (x.clone(), x.like(unbias))
    };
    // The bits of √½.
    let root = format.by_width(0x3f35_04f3, 0x3fe6_a09e_667f_3bcd_u64);
    let one = format.bias << format.fraction;
    // The bits of a float ascend with its value, and the sum has the bits of 1.0 for x = √½. So the exponent field of
    // the sum holds `exponent + bias`, and its fraction field holds the distance of `m` from √½.
    let from_root = bits(&x) + format.word(one - root);
    let exponent_mask = !0 << format.fraction;
    let m = (&from_root & format.word(!exponent_mask)) + format.word(root);
    let integer = shift_right(format, &from_root, format.fraction);
    let large_bits = (format.bias + format.fraction as u64) << format.fraction;
    let exponent = from_bits(&(integer | format.word(large_bits))) - unbias;
    Parts { fraction: plus(&from_bits(&m), -1.0), exponent, field: from_root & format.word(exponent_mask) }
}

/// Computes `log(1 + f) - f`, plus `more`.
fn log_rest(f: &Expr, more: Option<&Expr>) -> Expr {
    if FloatFormat::of(f).is_double() {
        let s = f / plus(f, 2.0);
        let z = &s * &s;
        let half_square = times(f, 0.5) * f;
        let tail = &z * horner(&z, &LOG_DOUBLE) + &half_square;
        match more {
            Some(more) => fma(&s, &tail, more) - half_square,
            None => fma(&s, &tail, &-half_square),
        }
    } else {
        let square = f * f;
        let p = horner(f, &LOG_SINGLE);
        match more {
            Some(more) => fma(&square, &p, more),
            None => square * p,
        }
    }
}

/// Handles special arguments: `value` if `x` is above `pole` and finite, -inf at the pole, NaN below the pole, inf at
/// inf.
fn finish(x: &Expr, value: Expr, pole: f64) -> Expr {
    let at_pole = x.clone().equal(x.like(pole)).select(x.like(f64::NEG_INFINITY), x.like(f64::NAN));
    let above = x.clone().less(x.like(f64::INFINITY)).select(value, x.clone());
    x.like(pole).less(x.clone()).select(above, at_pole)
}
