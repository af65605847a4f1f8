//! `exp`, `exp2`, `expm1`.
//!
//! `e^x = 2^n · e^r` with `|r| <= ln 2 / 2`. Adding a magic number rounds `n` and puts it into the low bits of the sum
//! as an integer, so no conversion is needed.

use super::build::*;
use crate::expr::Expr;

const LOG2_E: f64 = std::f64::consts::LOG2_E;

/// `ln 2 = high + low`, as `(high, low)` for f32 and for f64. The product of `high` and an exponent is exact.
const LN2: [(f64, f64); 2] =
    [(0.693359375, -2.121_944_400_546_905_8e-4), (6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10)];

/// Coefficients of `e^r`: relative error 2^-28.2.
const EXP_SINGLE: [f64; 7] = [
    0.0013838965678587556,
    0.008369194343686104,
    0.04166810214519501,
    0.16666516661643982,
    0.4999999403953552,
    1.0,
    1.0,
];

/// Coefficients of `e^r` for [`exp_nonpositive`] in f32, one fewer than [`EXP_SINGLE`]: relative error 2^-23.3.
const EXP_SHORT: [f64; 6] = [
    0.008290297351777554,
    0.04189802333712578,
    0.1666763722896576,
    0.4999914765357971,
    0.9999997019767761,
    1.0,
];

/// Coefficients of `e^r`: relative error 2^-56.3.
const EXP_DOUBLE: [f64; 12] = [
    2.500012954112394e-08,
    2.763023579515705e-07,
    2.7557586064499358e-06,
    2.480149313084555e-05,
    0.0001984126950703695,
    0.0013888888943602866,
    0.008333333333494196,
    0.041666666666530246,
    0.16666666666666413,
    0.5000000000000011,
    1.0,
    1.0,
];

/// Coefficients of `2^r`: relative error 2^-26.3.
const EXP2_SINGLE: [f64; 7] = [
    0.00013332924572750926,
    0.0013387929648160934,
    0.009625444188714027,
    0.055503662675619125,
    0.24022594094276428,
    0.6931471824645996,
    1.0,
];

/// Coefficients of `2^r`: relative error 2^-23.4.
const EXP2_SHORT: [f64; 6] = [
    0.0013269521296024323,
    0.009671291336417198,
    0.0555071085691452,
    0.24022246897220612,
    0.6931470036506653,
    1.0,
];

/// Coefficients of `(1 - 2^-r)/r - 1` for `|r| <= 0.5`: relative error of `1 - 2^-r` 2^-26.5.
const ONE_MINUS_EXP2_NEG_SINGLE: [f64; 6] = [
    -0.00015403516590595245,
    0.00133907375857234,
    -0.009618237614631653,
    0.05550357326865196,
    -0.24022649228572845,
    -0.3068528175354004,
];

/// Coefficients of `2^r`: relative error 2^-55.6.
const EXP2_DOUBLE: [f64; 13] = [
    2.5625406413906917e-11,
    4.456570563482693e-10,
    7.0549744910575525e-09,
    1.0178051941602672e-07,
    1.3215486594867839e-06,
    1.5252733854319205e-05,
    0.00015403530393640795,
    0.001333355814639269,
    0.00961812910762833,
    0.05550410866482169,
    0.24022650695910072,
    std::f64::consts::LN_2,
    1.0,
];

/// Coefficients of `(e^r - 1 - r) / r²`: relative error of `e^r - 1` 2^-26.1.
const EXPM1_SINGLE: [f64; 5] = [
    0.0013835611753165722,
    0.008367124944925308,
    0.04166775569319725,
    0.16666539013385773,
    0.4999999701976776,
];

/// Coefficients of `(e^r - 1 - r) / r²`: relative error of `e^r - 1` 2^-59.9.
const EXPM1_DOUBLE: [f64; 11] = [
    2.0875329656882713e-09,
    2.5108967152008615e-08,
    2.755740261845621e-07,
    2.755724440554888e-06,
    2.4801587172598848e-05,
    0.00019841269885937204,
    0.001388888888896232,
    0.008333333333321702,
    0.04166666666666651,
    0.16666666666666677,
    0.5,
];

/// Computes `e^x`. Errors: f32 0.9 ulp, f64 0.9 ulp.
pub fn exp(x: Expr) -> Expr {
    in_float(x, |x| {
        let format = FloatFormat::of(x);
        scaled_exp(
            &at_most(&at_least(x, format.by_width(-104.0, -746.0)), format.by_width(89.0, 710.0)),
            0,
            None,
        )
    })
}

/// Computes `e^x` for a difference `x <= 0`; 0 if the result is below the normal numbers. Errors: f32 `1.8 - 0.06 · x`
/// ulp, which is small compared with the effect of rounding the difference; f64 as [`exp`].
pub(crate) fn exp_nonpositive(x: Expr) -> Expr {
    in_float(x, |x| {
        let format = FloatFormat::of(x);
        // At this bound the exponent field reaches 0.
        let x = at_least(x, format.by_width(-88.0, -709.0));
        if format.is_double() {
            return exp_without_subnormals(&x);
        }
        let magic = x.like(format.magic + format.bias as f64);
        let sum = fma_const(&x, LOG2_E, &magic);
        let r = fma_const(&(&sum - &magic), -std::f64::consts::LN_2, &x);
        horner(&r, &EXP_SHORT) * from_bits(&format.to_exponent(&bits(&sum)))
    })
}

/// Computes `2^x`, exact for integers. Errors: f32 1 ulp, f64 0.9 ulp.
pub fn exp2(x: Expr) -> Expr {
    in_float(x, |x| {
        let format = FloatFormat::of(x);
        exp2_of_sum(
            &at_most(&at_least(x, format.by_width(-151.0, -1076.0)), format.by_width(128.0, 1024.0)),
            None,
        )
    })
}

/// Computes `e^x - 1`, precise near 0. Errors: f32 1.6 ulp, f64 1.7 ulp.
pub fn expm1(x: Expr) -> Expr {
    in_float(x, |x| {
        // For small x, e^x - 1 rounds to x. A quarter of x could lose bits, and the quarter for -0.0 is 0.0.
        let small = abs(x).less(x.like(FloatFormat::of(x).by_width(1e-9, 1e-18)));
        small.select(x.clone(), times(&quarter_expm1(x), 4.0))
    })
}

/// Splits `x` into `n · ln 2 + r`. Returns `r` and the bits of the sum that hold `n + offset` at their low end.
fn reduce(x: &Expr, offset: f64) -> (Expr, Expr) {
    let format = FloatFormat::of(x);
    let magic = x.like(format.magic + offset);
    let sum = fma_const(x, LOG2_E, &magic);
    let n = &sum - &magic;
    let (high, low) = format.by_width(LN2[0], LN2[1]);
    let r = fma_const(&n, -low, &fma_const(&n, -high, x));
    (r, bits(&sum))
}

/// Makes `p · 2^n`, where the low bits of `sum` hold `n + 2 · bias`. The power is applied as two factors, so that
/// overflow and subnormal results are rounded once.
fn scale(p: Expr, sum: &Expr) -> Expr {
    let format = FloatFormat::of(&p);
    let first = format.to_exponent(&shift_right(format, sum, 1));
    let second = format.to_exponent(sum) - &first;
    p * from_bits(&first) * from_bits(&second)
}

/// Makes `e^(x + low) · 2^shift` for `x` in `[-104, 104]` or `[-746, 711]`.
pub(super) fn scaled_exp(x: &Expr, shift: i32, low: Option<&Expr>) -> Expr {
    let format = FloatFormat::of(x);
    let (mut r, sum) = reduce(x, (2 * format.bias) as f64 + shift as f64);
    if let Some(low) = low {
        r = r + low;
    }
    scale(horner(&r, format.by_width(&EXP_SINGLE, &EXP_DOUBLE)), &sum)
}

/// Makes `e^x` for results between the smallest normal number and the largest power of two. A result just below the
/// smallest normal number is 0.
pub(super) fn exp_without_subnormals(x: &Expr) -> Expr {
    let format = FloatFormat::of(x);
    let (r, sum) = reduce(x, format.bias as f64);
    horner(&r, format.by_width(&EXP_SINGLE, &EXP_DOUBLE)) * from_bits(&format.to_exponent(&sum))
}

/// Computes `e^2x + 1` in f32 for `x` in `[0, 40]`; the relative error of the power grows with `x`, from 2^-24.
pub(super) fn exp_twice_plus_1(x: &Expr) -> Expr {
    let format = FloatFormat::of(x);
    let magic = x.like(format.magic + format.bias as f64);
    let sum = fma_const(x, 2.0 * LOG2_E, &magic);
    let r = fma_const(&(&sum - &magic), -0.5 * std::f64::consts::LN_2, x);
    let mut scale = 0.5 * 2f64.powi(EXP_SINGLE.len() as i32);
    // `e^2x = 2^n * e^2r`. Coefficient `k` of `e^2r` is `2^k` times coefficient `k` of `e^r`.
    let of_twice_r = EXP_SINGLE.map(|coefficient| {
        let scaled = coefficient * scale;
        scale *= 0.5;
        scaled
    });
    fma(&horner(&r, &of_twice_r), &from_bits(&format.to_exponent(&bits(&sum))), &x.like(1.0))
}

/// Computes `1 + 2^x`, infinite if `2^x` is at least 2^128 (f32) or 2^1024 (f64). Errors: f32 1.3 ulp, f64 1.2 ulp.
pub(super) fn one_plus_exp2(x: &Expr) -> Expr {
    let format = FloatFormat::of(x);
    let (least, most) = format.by_width((-126.0, 128.0), (-1022.0, 1024.0));
    let x = at_most(&at_least(x, least), most);
    let magic = x.like(format.magic + format.bias as f64);
    let sum = &x + &magic;
    let r = &x - (&sum - &magic);
    let p = format.by_width(horner(&r, &EXP2_SHORT), horner(&r, &EXP2_DOUBLE));
    fma(&p, &from_bits(&format.to_exponent(&bits(&sum))), &x.like(1.0))
}

/// Computes `1 - 2^-x` in f32 for `x` in `[0, 126]`: error 1 ulp, also of results near 0.
pub(super) fn one_minus_exp2_neg(x: &Expr) -> Expr {
    let format = FloatFormat::of(x);
    let magic = x.like(format.magic + format.bias as f64);
    let sum = &magic - x;
    // x = n + r, and 1 - 2^-x = (1 - 2^-n) + 2^-n · (1 - 2^-r).
    let r = (&sum - &magic) + x;
    let power = from_bits(&format.to_exponent(&bits(&sum)));
    let q = fma(&horner(&r, &ONE_MINUS_EXP2_NEG_SINGLE), &r, &r);
    fma(&power, &q, &(x.like(1.0) - &power))
}

/// Computes `2^(x + low)` for `x` in `[-151, 128]` or `[-1080, 1025]`.
pub(super) fn exp2_of_sum(x: &Expr, low: Option<&Expr>) -> Expr {
    let format = FloatFormat::of(x);
    let magic = x.like(format.magic + (2 * format.bias) as f64);
    let sum = x + &magic;
    let mut r = x - (&sum - &magic);
    if let Some(low) = low {
        r = r + low;
    }
    scale(horner(&r, format.by_width(&EXP2_SINGLE, &EXP2_DOUBLE)), &bits(&sum))
}

/// Computes `(e^x - 1) / 4`; 0.0 for -0.0. Twice the result is finite for every `x` whose hyperbolic sine is finite.
pub(super) fn quarter_expm1(x: &Expr) -> Expr {
    let format = FloatFormat::of(x);
    let x = at_most(&at_least(x, format.by_width(-18.0, -38.0)), format.by_width(89.0, 710.5));
    let (r, sum) = reduce(&x, format.bias as f64 - 2.0);
    let q = fma(&(&r * &r), &horner(&r, format.by_width(&EXPM1_SINGLE, &EXPM1_DOUBLE)), &r);
    // Neither the power 2^(n-2) nor its product with q overflows.
    let power = from_bits(&format.to_exponent(&sum));
    fma(&power, &q, &plus(&power, -0.25))
}
