//! `lgamma`, `digamma`.
//!
//! Both functions are computed in f64. `lgamma` has different formulas below 1.5, from 1.5 to 3, and above 3, and
//! `digamma` below 1, from 1 to 2, and above 2; a reflection maps negative arguments to positive arguments. `lgamma` of
//! narrower floats has formulas of its own, because fewer terms suffice.

use std::f64::consts::{LN_2, PI};

use shapeflow_shape_fns::DType;

use super::build::*;
use super::log::{Parts, log, take_apart};
use super::trig::{cos, sin};
use crate::expr::Expr;

/// `lgamma(1 + y) / y` in powers of `2y` for `|y| <= 0.5`: error 2^-58.6.
const NEAR_1: [f64; 29] = [
    -8.990809043424478e-10,
    1.7378792315914402e-09,
    2.930006921758862e-09,
    -5.211705188297646e-09,
    -1.0457694646983121e-08,
    1.9048640112066067e-08,
    1.3416285834333462e-09,
    2.2503569604917574e-09,
    -5.690774547052658e-08,
    1.1339892029827825e-07,
    -1.9284675279470471e-07,
    4.121921067571674e-07,
    -9.014793572649296e-07,
    1.9127014915305183e-06,
    -4.067770293473459e-06,
    8.718134345421905e-06,
    -1.8782688400384684e-05,
    4.070049540330045e-05,
    -8.882222595652844e-05,
    0.00019550669728001717,
    -0.00043489948221950563,
    0.0009805442982990572,
    -0.002250779636608288,
    0.005298661780901225,
    -0.012961596939306022,
    0.033822601053479576,
    -0.10017140859663266,
    0.41123351671205655,
    -0.5772156649015329,
];
/// `lgamma(2 + y) / y` in powers of `(y - 0.25) / 0.75` for `y` in `[-0.5, 1]`: error 2^-57.6.
const NEAR_2: [f64; 21] = [
    -1.2167808436878796e-11,
    3.723275905904005e-11,
    -5.338270195284156e-11,
    1.7455414063111673e-10,
    -6.999053676537071e-10,
    2.220169573207016e-09,
    -6.9256028777360776e-09,
    2.2303207019118656e-08,
    -7.234609675864082e-08,
    2.35853136357995e-07,
    -7.755339781986986e-07,
    2.578114900942453e-06,
    -8.690385595859135e-06,
    2.9836330919063002e-05,
    -0.0001050368106106043,
    0.00038321987991314535,
    -0.001475284220194118,
    0.006196636568249861,
    -0.030541164666834205,
    0.21917882116244455,
    0.4994868595695864,
];
/// `x · (lgamma(x) - ((x - 1/2) log x - x + log(2π)/2))` in powers of `18 / x² - 1` for `x >= 3`: error 2^-60.6.
const LGAMMA_REST: [f64; 13] = [
    5.914454212337795e-15,
    -2.0065803050502085e-14,
    5.706137662769582e-14,
    -2.5570739261974114e-13,
    1.2999788456491088e-12,
    -7.40482447077874e-12,
    5.021941531585619e-11,
    -4.238808311013143e-10,
    4.741691532553935e-09,
    -7.748924291960268e-08,
    2.183424338298921e-06,
    -0.0001497002183648091,
    0.08318136697655197,
];
/// `lgamma(2 + y) / y` in powers of `y` for `|y| <= 0.5`: error 2^-34.9.
const NEAR_2_SINGLE: [f64; 11] = [
    -5.621952512246054e-05,
    0.00011489003972649285,
    -0.00021872443006078993,
    0.0005057212858828659,
    -0.0011935240658213825,
    0.0028909442140712532,
    -0.007385491348101771,
    0.02058078916362426,
    -0.06735230274538932,
    0.3224670336613398,
    0.4227843351063451,
];
/// `x · (lgamma(x) - ((x - 1/2) log x - x + log(2π)/2))` in powers of `1 / x²` for `x >= 2.5`: error 2^-36.5.
const LGAMMA_REST_SINGLE: [f64; 6] = [
    -0.0006331482788565963,
    0.000677729462046968,
    -0.0005837974127605645,
    0.0007932655782255844,
    -0.0027777729028987774,
    0.08333333332326015,
];
/// `(log(1 + f) - f) / f²` in powers of `f` for `1 + f` in `[√½, √2]`: relative error of the logarithm 2^-34.3.
const LOG_REST_SINGLE: [f64; 12] = [
    0.029678874442776174,
    -0.0823051353788906,
    0.10396076905712691,
    -0.10338383411801445,
    0.11000815512250914,
    -0.12459110915256628,
    0.1428947470788038,
    -0.1666853423788356,
    0.19999952815464772,
    -0.24999966370671922,
    0.3333333346733141,
    -0.5000000016835039,
];
/// `sin(πr) / r` in powers of `r²` for `|r| <= 0.5`: error 2^-35.5.
const SIN_HALF_TURN_SINGLE: [f64; 6] = [
    -0.007022165303087011,
    0.08204648006691634,
    -0.5992513304117155,
    2.5501632403509498,
    -5.167712762117461,
    3.14159265352337,
];
/// `digamma(x) / (x - root)` in powers of `2x - 3` for `x` in `[1, 2]`: error 2^-58.3.
const DIGAMMA_ROOT: [f64; 23] = [
    2.918622732168261e-11,
    -8.50550766013261e-11,
    8.734528429142953e-11,
    -2.7580994814377e-10,
    1.2469984616707403e-09,
    -3.7083753242807277e-09,
    1.0527692435026686e-08,
    -3.162911147408454e-08,
    9.543298288278275e-08,
    -2.863161166883193e-07,
    8.589060721930695e-07,
    -2.578093954045772e-06,
    7.741234508636364e-06,
    -2.3258242519113285e-05,
    6.995018825112794e-05,
    -0.00021074841138175561,
    0.0006368880303865817,
    -0.0019350666648613071,
    0.005936795278301761,
    -0.018550615381735008,
    0.06013562106019684,
    -0.2118137106407303,
    0.9510558760318328,
];
/// `x² · (digamma(x) - log x + 1 / 2x)` in powers of `8 / x² - 1` for `x >= 2`: error 2^-59.2.
const DIGAMMA_REST: [f64; 20] = [
    8.281579434836405e-13,
    -1.3411529456932854e-12,
    -1.6874802515289506e-12,
    2.1323483844660883e-12,
    5.380103973673871e-12,
    -9.051352559384013e-12,
    8.13436963462868e-12,
    -2.2818766811402514e-11,
    6.774531562006211e-11,
    -1.7983563454712985e-10,
    5.135656974418449e-10,
    -1.610105037594257e-09,
    5.576417229767218e-09,
    -2.1829715387968955e-08,
    9.975970505089964e-08,
    -5.576415297349434e-07,
    4.099379365601582e-06,
    -4.483905295295205e-05,
    0.0009367704342562797,
    -0.08234693724440534,
];

/// The positive root of `digamma`, as the sum of two parts.
const ROOT: (f64, f64) = (1.4616321449683622, 9.549995429965697e-17);

/// `log(2π) / 2`.
const HALF_LOG_TURN: f64 = 0.918_938_533_204_672_8;

/// The logarithm of the absolute value of the gamma function; inf at 0 and at negative integers. Errors: f32 0.6 ulp,
/// f64 4 ulp; for negative arguments, where the function has other zeros than 1 and 2, these are absolute errors, in
/// ulp of 1.
pub fn lgamma(x: Expr) -> Expr {
    in_float(x, |x| {
        if FloatFormat::of(x).is_double() {
            return lgamma_double(x);
        }
        lgamma_single(&x.clone().cast(DType::F64)).cast(x.dtype())
    })
}

/// `lgamma` of an f64.
fn lgamma_double(x: &Expr) -> Expr {
    let magnitude = abs(x);
    let positive = lgamma_positive(&magnitude);
    // log|Γ(-a)| = log(π / (a |sin πa|)) - log Γ(a).
    let (sine, _) = half_turns(&magnitude);
    let reflected = log(x.like(PI) / (&magnitude * abs(&sine))) - &positive;
    let infinite = magnitude.equal(x.like(f64::INFINITY));
    let value = x.clone().less(x.like(0.0)).select(reflected, positive);
    infinite.select(x.like(f64::INFINITY), value)
}

/// `lgamma` of an f64 that an f32 can hold, precise enough for a result in f32. It has one formula below 2.5 and
/// another one above, and both need the logarithm of the same number.
fn lgamma_single(x: &Expr) -> Expr {
    let a = abs(x);
    let is_far = x.like(2.5).less_equal(a.clone());
    let (below_half, below_one_and_half) = (a.clone().less(x.like(0.5)), a.clone().less(x.like(1.5)));
    // Γ(a) = Γ(2 + y) / divisor, for y in [-0.5, 0.5].
    let shift =
        below_half.clone().select(x.like(0.0), below_one_and_half.clone().select(x.like(-1.0), x.like(-2.0)));
    let y = &a + shift;
    let divisor = below_half.select(&a * plus(&a, 1.0), a.clone());
    let needs_logarithm = below_one_and_half | is_far.clone();
    let logarithm = log_single(&needs_logarithm.select(divisor, x.like(1.0)));
    let near = fma(&y, &horner(&y, &NEAR_2_SINGLE), &-logarithm.clone());
    let inverse = x.like(1.0) / &a;
    let rest = horner(&(&inverse * &inverse), &LGAMMA_REST_SINGLE) * inverse;
    let far = fma(&plus(&a, -0.5), &plus(&logarithm, -1.0), &plus(&rest, HALF_LOG_TURN - 0.5));
    let positive = is_far.select(far, near);
    // log|Γ(-a)| = log π - log(a |sin πa|) - log Γ(a).
    let distance = &a - round(&a);
    let sine = abs(&distance) * horner(&(&distance * &distance), &SIN_HALF_TURN_SINGLE);
    let product = &a * sine;
    let reflected = (x.like(PI.ln()) - log_single(&product)) - &positive;
    let zero = x.like(0.0);
    let value = x.clone().less(zero.clone()).select(reflected, positive);
    let is_pole = x.clone().less_equal(zero.clone()) & product.equal(zero);
    let infinity = x.like(f64::INFINITY);
    (is_pole | a.equal(infinity.clone())).select(infinity, value)
}

/// The logarithm of a positive normal f64, with an error of about 2^-34 of the result.
fn log_single(x: &Expr) -> Expr {
    let Parts { fraction, exponent, .. } = take_apart(x, false);
    let square = &fraction * &fraction;
    fma_const(&exponent, LN_2, &fma(&square, &horner(&fraction, &LOG_REST_SINGLE), &fraction))
}

/// `lgamma` of a non-negative f64.
fn lgamma_positive(x: &Expr) -> Expr {
    // Γ(x) = Γ(1 + x) / x.
    let small = x.clone().less(x.like(0.5));
    let y = small.clone().select(x.clone(), plus(x, -1.0));
    let near_1 = &y * horner(&(&y + &y), &NEAR_1);
    // Only arguments below 0.5 and above 3 need the logarithm. Other arguments
    // subtract -0.0, which changes only a `near_1` of -0.0, at 1, to 0.0.
    let logarithm = log(x.clone());
    let near_1 = near_1 - small.select(logarithm.clone(), x.like(-0.0));
    let y = plus(x, -2.0);
    let near_2 = &y * horner(&times(&plus(&y, -0.25), 4.0 / 3.0), &NEAR_2);
    let t = at_least(x, 3.0);
    let inverse = t.like(1.0) / &t;
    let rest = horner(&plus(&times(&(&inverse * &inverse), 18.0), -1.0), &LGAMMA_REST) * inverse;
    let far = fma(&plus(&t, -0.5), &plus(&logarithm, -1.0), &plus(&rest, HALF_LOG_TURN - 0.5));
    let below_3 = x.clone().less(x.like(1.5)).select(near_1, near_2);
    x.clone().less(x.like(3.0)).select(below_3, far)
}

/// The derivative of `lgamma`; NaN at 0 and at negative integers. Errors: f32 0.6 ulp, f64 3 ulp; for negative
/// arguments, these are absolute errors, in ulp of the larger of `π / tan(πx)` and `digamma(1 - x)`.
pub fn digamma(x: Expr) -> Expr {
    in_double(x, |x| {
        let negative = x.clone().less(x.like(0.0));
        // ψ(x) = ψ(1 - x) - π / tan(πx).
        let argument = negative.clone().select(x.like(1.0) - x, x.clone());
        let positive = digamma_positive(&argument);
        let (sine, cosine) = half_turns(x);
        let reflected = &positive - times(&(cosine / &sine), PI);
        let value = negative.select(reflected, positive);
        let pole = x.clone().less_equal(x.like(0.0)) & sine.equal(x.like(0.0));
        pole.select(x.like(f64::NAN), value)
    })
}

/// `digamma` of a positive f64.
fn digamma_positive(x: &Expr) -> Expr {
    // ψ(x) = ψ(1 + x) - 1 / x.
    let small = x.clone().less(x.like(1.0));
    let y = small.clone().select(plus(x, 1.0), x.clone());
    let from_root = plus(&plus(&y, -ROOT.0), -ROOT.1);
    // For a small x, the rounding of 1 + x does not matter compared with 1 / x.
    let near = from_root * horner(&plus(&(&y + &y), -3.0), &DIGAMMA_ROOT);
    let inverse = x.like(1.0) / x;
    let near = small.select(&near - &inverse, near);
    let t = at_least(x, 2.0);
    let inverse = t.like(1.0) / &t;
    let square = &inverse * &inverse;
    let rest = horner(&plus(&times(&square, 8.0), -1.0), &DIGAMMA_REST) * &square;
    let far = log(t) + (rest - times(&inverse, 0.5));
    x.clone().less(x.like(2.0)).select(near, far)
}

/// Returns `sin(πx)` and `cos(πx)`; the sine of an integer is 0.
fn half_turns(x: &Expr) -> (Expr, Expr) {
    let nearest = round(x);
    let angle = times(&(x - &nearest), PI);
    // The cosine of the nearest integer is 1 or -1.
    let half = times(&nearest, 0.5);
    let is_even = round(&half).equal(half);
    let sign = is_even.select(x.like(1.0), x.like(-1.0));
    (&sign * sin(angle.clone()), sign * cos(angle))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::interpret::evaluate_constant;

    fn value(f: fn(Expr) -> Expr, x: f64) -> f64 {
        evaluate_constant(&f(Expr::constant(x))).unwrap().to_f64()
    }

    #[test]
    fn poles_and_infinities_have_their_values() {
        let infinity = f64::INFINITY;
        for x in [0.0, -0.0, -1.0, -2.0, -1e15, infinity, -infinity] {
            assert_eq!(value(lgamma, x), infinity, "{x}");
        }
        assert_eq!([1.0, 2.0].map(|x| value(lgamma, x).to_bits()), [0, 0]);
        assert_eq!(value(digamma, infinity), infinity);
        for x in [0.0, -0.0, -1.0, -7.0, -infinity, f64::NAN] {
            assert!(value(digamma, x).is_nan(), "{x}");
        }
        assert!(value(lgamma, f64::NAN).is_nan());
        let (largest, huge) = (value(lgamma, 1e305), value(lgamma, f64::MAX));
        assert!((largest / (1e305 * (1e305f64.ln() - 1.0)) - 1.0).abs() < 1e-15 && huge == infinity);
    }

    /// Exact values by mpmath.
    #[test]
    fn negative_arguments_are_reflected() {
        let rows = [
            (-0.5, 1.265_512_123_484_645_4, 0.036_489_973_978_576_52),
            (-3.5, -1.309_006_684_993_042, 1.388_870_926_359_529),
            (-20.25, -41.600_961_915_340_53, 6.174_235_633_614_484),
        ];
        for (x, logarithm, derivative) in rows {
            assert!((value(lgamma, x) - logarithm).abs() <= 4e-15 * logarithm.abs(), "{x}");
            assert!((value(digamma, x) - derivative).abs() <= 4e-15 * derivative.abs().max(1.0), "{x}");
        }
    }
}
