//! `erf`, `erfc`.

use shapeflow_shape_fns::DType;

use super::build::*;
use super::exp::{exp_without_subnormals, one_minus_exp2_neg, scaled_exp};
use crate::expr::Expr;

/// Coefficients of `erf(x)/x - 1` in powers of `x²` for `|x| < 1`: relative error 2^-56.
const SMALL_DOUBLE: [f64; 13] = [
    5.945269095310378e-11,
    -1.1365670480791634e-09,
    1.4657881067321374e-08,
    -1.635002541544327e-07,
    1.646097283654599e-06,
    -1.4925593508221744e-05,
    0.00012055331036961786,
    -0.0008548326978744178,
    0.005223977624780908,
    -0.0268661706450729,
    0.11283791670954857,
    -0.3761263890318375,
    0.1283791670955126,
];

/// Coefficients of `-log2(erfc(t))/t - 1` for `t` in `[0, 4]`: relative error of erf 2^-24.75.
const LOG_SINGLE: [f64; 8] = [
    5.8729188829488293e-05,
    -0.0005496682560445688,
    0.0018058902269990074,
    0.00029678319853721435,
    -0.02787534212559655,
    0.1483298397569544,
    0.9184434629149538,
    0.6279070862491003,
];

/// Coefficients of `erfc(x) · e^(x²) · (1 + 2x)` in powers of `(x - 2) / (x + 2)` for `x` in `[0, 10.3]`: relative
/// error 2^-30.
const TAIL_SINGLE: [f64; 12] = [
    7.953509548316123e-05,
    0.000169687133826919,
    -0.00040058626827018425,
    -0.001420988606767926,
    0.0012524905284971573,
    0.008709115567936025,
    -0.008030796720011921,
    -0.05421782167420817,
    0.1640510313008522,
    -0.1660305225065043,
    -0.0927638203792559,
    1.276978382691309,
];

/// Coefficients of `erfc(x) · e^(x²) · (1 + 2x)` in powers of `(x - 4) / (x + 4)` for `x` in `[0, 27.5]`: relative
/// error 2^-54.
const TAIL_DOUBLE: [f64; 23] = [
    -1.7756300590932474e-09,
    -1.3571329077881535e-08,
    -7.822360854027626e-09,
    1.1498279650158045e-07,
    6.273869877976385e-08,
    -8.346115618093123e-07,
    3.014764485106648e-07,
    5.717439551361971e-06,
    -1.1224958051513898e-05,
    -2.4402950687812783e-05,
    0.00015062234362469635,
    -0.0001992555740802484,
    -0.000757773374188567,
    0.005031969768544661,
    -0.01619773405287468,
    0.03716751556103567,
    -0.06633036581219262,
    0.09373283499688842,
    -0.101039066036317,
    0.06809705425473442,
    0.01537965210262003,
    -0.13962111684056286,
    1.2329951186255526,
];

/// Computes the error function. Errors: f32 2.6 ulp, f64 1 ulp.
pub fn erf(x: Expr) -> Expr {
    in_float(x, |x| {
        let magnitude = abs(x);
        if FloatFormat::of(x).is_double() {
            let small = fma(&horner(&(x * x), &SMALL_DOUBLE), &magnitude, &magnitude);
            let large = x.like(1.0) - tail(&at_most(&magnitude, 27.5));
            return with_sign(&magnitude.less(x.like(1.0)).select(small, large), x);
        }
        // For small `x`, the logarithm and its power keep their relative precision.
        let t = at_most(&magnitude, 4.0);
        let logarithm = fma(&horner(&t, &LOG_SINGLE), &t, &t);
        with_sign(&one_minus_exp2_neg(&logarithm), x)
    })
}

/// Computes the complementary error function, also precise for tiny results. Errors: f32 0.6 ulp, f64 3 ulp.
pub fn erfc(x: Expr) -> Expr {
    in_float(x, |x| {
        let double = FloatFormat::of(x).is_double();
        let wide = if double { x.clone() } else { x.clone().cast(DType::F64) };
        let magnitude = abs(&wide);
        let right = if double { tail(&at_most(&magnitude, 27.5)) } else { tail_for_single(&magnitude) };
        let left = wide.like(2.0) - &right;
        let value = wide.clone().less(wide.like(0.0)).select(left, right);
        if !double {
            return value.cast(x.dtype());
        }
        // Near 0, 1 - erf(x) is more precise than the quotient in `tail`.
        let near = wide.like(1.0) - fma(&horner(&(x * x), &SMALL_DOUBLE), x, x);
        magnitude.less(x.like(0.5)).select(near, value)
    })
}

/// Computes `erfc(a)` in f64 for `a` in `[0, 27.5]`.
fn tail(a: &Expr) -> Expr {
    let format = FloatFormat::of(a);
    // a² = high² + (a - high)(a + high), where high² is exact.
    let high = from_bits(&(bits(a) & format.word(!0 << 27)));
    let low = (&high - a) * (&high + a);
    let power = scaled_exp(&-(&high * &high), 0, Some(&low));
    // One Newton step corrects the rounding of `q = (a - 4) / (a + 4)`: the residual is `(a - 4) - q · (a + 4)`.
    let inverse = a.like(1.0) / plus(a, 4.0);
    let q = plus(a, -4.0) * &inverse;
    let residual = fma(&-a.clone(), &q, &fma_const(&plus(&q, 1.0), -4.0, a));
    let q = fma(&residual, &inverse, &q);
    power * (horner(&q, &TAIL_DOUBLE) / plus(&(a + a), 1.0))
}

/// Computes `erfc(a)` in f64 with the precision of an f32; 0 if the result is below the smallest f32.
fn tail_for_single(a: &Expr) -> Expr {
    let a = at_most(a, 10.3);
    let power = exp_without_subnormals(&-(&a * &a));
    let q = plus(&a, -2.0) / plus(&a, 2.0);
    power * (horner(&q, &TAIL_SINGLE) / plus(&(&a + &a), 1.0))
}
