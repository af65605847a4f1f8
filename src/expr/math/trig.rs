//! `sin`, `cos`, `tan`.
//!
//! An `f32` is multiplied in `f64` arithmetic by 1/(2π), given as 200 bits in several parts. Each product is a number
//! of turns (a turn is 2π), and its whole turns are dropped. This reduction is exact for every argument. An `f64` is
//! reduced by multiples of π/2, given in four parts, if its magnitude is below 2^20. `large_angle` computes the
//! functions of larger numbers.

use std::f64::consts::{FRAC_2_PI, PI};

use shapeflow_shape_fns::DType;

use super::build::*;
use crate::expr::{AngleFunction, BinaryOp, Expr, UnaryOp};

/// 1/(2π) as the sum of parts of 29 bits and a tail. The product of a part and an f32 is exact in f64.
const TURNS: [f64; 6] = [
    0.15915494272485375,
    3.6704158115630214e-10,
    5.690025167992954e-19,
    1.4703036846932608e-27,
    2.5867171752090537e-36,
    9.458140970740169e-46,
];

/// π/2 as the sum of two parts of 33 bits and two parts of 53 bits.
const HALF_PI: [f64; 4] = [
    1.570_796_326_734_125_6,
    6.077_100_506_303_966e-11,
    2.022_266_248_795_950_6e-21,
    1.008_585_403_587_248_3e-37,
];

/// Coefficients of `(sin(r)/r - 1) / r²` in powers of `r²`: relative error of the sine 2^-27.9.
const SIN_SINGLE: [f64; 3] = [-0.00019518275803420693, 0.008332189172506332, -0.16666655242443085];
/// Coefficients of `cos(r)` in powers of `r²`: relative error 2^-33.
const COS_SINGLE: [f64; 5] = [2.4432327336398885e-05, -0.0013887309469282627, 0.04166664555668831, -0.5, 1.0];
/// Coefficients of `(sin(r)/r - 1) / r²` in powers of `r²`: relative error of the sine 2^-56.5.
pub(super) const SIN_DOUBLE: [f64; 6] = [
    1.589614947025003e-10,
    -2.5050746413083703e-08,
    2.7557313613050105e-06,
    -0.00019841269829566386,
    0.00833333333332209,
    -0.1666666666666663,
];
/// Coefficients of `(cos(r) - 1 + r²/2) / r⁴` in powers of `r²`: relative error of the cosine 2^-59.6.
pub(super) const COS_DOUBLE: [f64; 6] = [
    -1.1358479905925148e-11,
    2.0875699773313586e-09,
    -2.7557314171624157e-07,
    2.480158728882583e-05,
    -0.0013888888888873017,
    0.041666666666666595,
];
/// Coefficients of `(tan(r)/r - 1) / r²` in powers of `r²`: relative error of the tangent 2^-29.6.
const TAN_SINGLE: [f64; 7] = [
    0.004379000791676843,
    8.414491046461707e-05,
    0.010839956732652069,
    0.02128063201253961,
    0.05406020907467333,
    0.1333266083478074,
    0.33333349825076225,
];
/// Coefficients of `(tan(r)/r - 1) / r²` as a quotient of polynomials in `r²` (Cephes).
pub(super) const TAN_DOUBLE: ([f64; 3], [f64; 5]) = (
    [-1.309_369_391_813_837_9e4, 1.153_516_648_385_874_2e6, -1.795_652_519_764_848_8e7],
    [
        1.0,
        1.368_129_634_706_929_5e4,
        -1.320_892_344_402_109_7e6,
        2.500_838_018_233_579e7,
        -5.386_957_559_294_546e7,
    ],
);

/// Computes the sine. Errors: f32 1.6 ulp, f64 1.3 ulp.
pub fn sin(x: Expr) -> Expr {
    in_float(x, |x| for_large(AngleFunction::Sin, x, keep_zero(x, sine(x, 0))))
}

/// Computes the cosine. Errors: f32 1.6 ulp, f64 1.4 ulp.
pub fn cos(x: Expr) -> Expr {
    in_float(x, |x| for_large(AngleFunction::Cos, x, sine(x, 1)))
}

/// Computes the tangent. Errors: f32 0.6 ulp, f64 2.2 ulp.
pub fn tan(x: Expr) -> Expr {
    in_float(x, |x| {
        let Reduced { quadrant, r, low } =
            if x.dtype() == DType::F64 { reduce_double(x) } else { reduce_single(x) };
        let z = &r * &r;
        let (tangent, rounding_error) = match low {
            None => (fma(&(&r * &z), &horner(&z, &TAN_SINGLE), &r), None),
            Some(low) => {
                let p = horner(&z, &TAN_DOUBLE.0) / horner(&z, &TAN_DOUBLE.1);
                let rest = fma(&(&r * &z), &p, &low);
                let sum = &r + &rest;
                let rounding_error = (r - &sum) + rest;
                (sum, Some(rounding_error))
            }
        };
        // tan(r + π/2) = -1/tan(r): one quotient serves even and odd quadrants.
        let half = times(&quadrant, 0.5);
        let even = half.clone().unary(UnaryOp::Floor).equal(half);
        let (zero, one) = (tangent.like(0.0), tangent.like(1.0));
        let numerator = even.clone().select(tangent.clone(), -one.clone());
        let quotient = numerator / even.clone().select(one, tangent);
        let quotient = match rounding_error {
            None => quotient,
            Some(error) => fma(&(&quotient * &quotient), &even.select(zero, error), &quotient),
        };
        for_large(AngleFunction::Tan, x, keep_zero(x, quotient.cast(x.dtype())))
    })
}

/// Replaces `value`, a function of `x` that is precise unless `x` is a large f64.
fn for_large(function: AngleFunction, x: &Expr, value: Expr) -> Expr {
    match x.dtype() {
        DType::F64 => value.binary(BinaryOp::LargeAngle(function), x.clone()),
        _ => value,
    }
}

/// `x = quadrant · π/2 + r + low`.
struct Reduced {
    /// An integer.
    quadrant: Expr,
    r: Expr,
    low: Option<Expr>,
}

/// Reduces an `f32`; `quadrant` and `r` are `f64`. The quadrant, as a number of turns, is subtracted from the first
/// fraction before the other fractions are added. This subtraction is exact, so the error stays small relative to `r`
/// near every multiple of π/2.
fn reduce_single(x: &Expr) -> Reduced {
    let x = x.clone().cast(DType::F64);
    let (tail, parts) = (TURNS[5], &TURNS[..5]);
    let fractions = parts.iter().map(|part| {
        let turns = times(&x, *part);
        let whole = round(&turns);
        turns - whole
    });
    let fractions: Vec<Expr> = fractions.collect();
    let sum = |first: Expr| fractions[1..].iter().fold(first, |sum, fraction| sum + fraction);
    let quadrant = round(&times(&sum(fractions[0].clone()), 4.0));
    let fraction = fma_const(&x, tail, &sum(fma_const(&quadrant, -0.25, &fractions[0])));
    Reduced { r: times(&fraction, 2.0 * PI), quadrant, low: None }
}

/// Reduces an `f64`. The result is meaningless for a large number.
fn reduce_double(x: &Expr) -> Reduced {
    let quadrant = round(&times(x, FRAC_2_PI));
    let [first, second, third, tail] = HALF_PI;
    let near = fma_const(&quadrant, -second, &fma_const(&quadrant, -first, x));
    let rest = times(&quadrant, third);
    let r = &near - &rest;
    let rest_low = fma_const(&quadrant, tail, &fma_const(&quadrant, third, &-rest.clone()));
    let low = ((near - &r) - rest) - rest_low;
    Reduced { quadrant, r, low: Some(low) }
}

/// Computes the sine of `x + quarter_turns · π/2`; 0.0 for -0.0.
fn sine(x: &Expr, quarter_turns: u64) -> Expr {
    let format = FloatFormat::of(x);
    let (quadrant, sine, cosine) = if format.is_double() {
        let Reduced { quadrant, r, low } = reduce_double(x);
        let low = low.unwrap_or_else(|| x.like(0.0));
        let z = &r * &r;
        let sine = fma(&(&r * &z), &horner(&z, &SIN_DOUBLE), &low) + &r;
        let half = times(&z, 0.5);
        let near = x.like(1.0) - &half;
        let rounding_error = (x.like(1.0) - &near) - half;
        let p = fma(&(&z * &z), &horner(&z, &COS_DOUBLE), &(rounding_error - r * low));
        (quadrant, sine, near + p)
    } else {
        let Reduced { quadrant, r, .. } = reduce_single(x);
        let r = r.cast(DType::F32);
        let z = &r * &r;
        let sine = fma(&(&r * &z), &horner(&z, &SIN_SINGLE), &r);
        let cosine = horner(&z, &COS_SINGLE);
        (quadrant.cast(DType::F32), sine, cosine)
    };
    // The sum of the quadrant and the magic number has the quadrant in its low bits.
    let word = bits(&plus(&quadrant, format.magic + quarter_turns as f64));
    let even = (&word & format.word(1)).equal(format.word(0));
    let value = even.select(sine, cosine);
    // Bit 1 of the quadrant becomes the sign bit.
    let sign = shift_left(format, &(word & format.word(2)), format.by_width(30, 62));
    from_bits(&(bits(&value) ^ sign))
}
