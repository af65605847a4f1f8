//! `pow`, `rsqrt`, `cbrt`.

use shapeflow_shape_fns::{DType, Dim};

use super::build::*;
use super::exp::exp2_of_sum;
use super::log::{Parts, take_apart};
use crate::expr::{EXPONENT, Expr, ExprKind, Scalar, UnaryOp};

/// Coefficients of `log2(1 + f) / s` in powers of `s²`, `s = f / (2 + f)`: relative error 2^-45.
const LOG2_FOR_SINGLE: [f64; 6] = [
    0.28289918630176464,
    0.31990576314907654,
    0.4122092508188682,
    0.5770779423795295,
    0.9617966941132958,
    2.88539008177785,
];

/// Coefficients of `2^r` for `|r| <= 1/2`: relative error 2^-34.5.
const EXP2_FOR_SINGLE: [f64; 8] = [
    1.5201936046380593e-05,
    0.00015469291679652488,
    0.0013333922506321963,
    0.00961802725138264,
    0.05550410353507221,
    0.24022651198186645,
    0.6931471807284331,
    0.9999999999616715,
];

/// Coefficients of `((atanh(s)/s - 1)/s² - 1/3) / s²` in powers of `s²`: relative error of the logarithm 2^-66.
const ATANH_DOUBLE: [f64; 8] = [
    0.059944188774823694,
    0.058374198725358595,
    0.06668158181645857,
    0.07692278449352086,
    0.09090909434952248,
    0.1111111110876992,
    0.14285714285722548,
    0.1999999999999999,
];

/// Computes `1 / √x`. Error: 1.5 ulp.
pub fn rsqrt(x: Expr) -> Expr {
    in_float(x, |x| x.like(1.0) / x.clone().sqrt())
}

/// Computes the cube root. Errors: f32 0.8 ulp, f64 0.8 ulp.
pub fn cbrt(x: Expr) -> Expr {
    in_float(x, |x| {
        let magnitude = abs(x);
        let Parts { fraction, exponent, .. } = take_apart(&magnitude, true);
        // An estimate with half of the digits, then one Newton step.
        let s = &fraction / plus(&fraction, 2.0);
        let z = &s * &s;
        let logarithm = exponent + s * horner(&z, &LOG2_FOR_SINGLE);
        let third = times(&logarithm, 1.0 / 3.0);
        let y = exp2_of_sum(&third, None);
        let step = (&y - &magnitude / (&y * &y)) * x.like(1.0 / 3.0);
        let root = with_sign(&(y - step), x);
        let ordinary = magnitude.clone().less(x.like(f64::INFINITY)) & magnitude.not_equal(x.like(0.0));
        ordinary.select(root, x.clone())
    })
}

/// Computes `x` to the power `y`, both of one dtype.
///
/// Floats follow C99's `pow` with all its special cases. Errors: f32 0.6 ulp; f64 1 ulp, and up to 2,000 ulp without a
/// fused multiply-add; 1.5 ulp for a constant exponent of -0.5. Integers wrap. A negative integer exponent fails the
/// run.
pub fn pow(x: Expr, y: Expr) -> Expr {
    if x.dtype() != y.dtype() {
        return x + y;
    }
    if x.dtype().is_integer() {
        return integer_pow(x, y);
    }
    if x.dtype().is_float()
        && let ExprKind::Const(exponent) = y.kind()
        && let Some(simple) = simple_pow(&x, exponent.to_f64())
    {
        return simple;
    }
    in_float2(x, y, float_pow)
}

/// Computes the power for constant exponents that need only one or two operations.
fn simple_pow(x: &Expr, exponent: f64) -> Option<Expr> {
    let one = || x.like(1.0);
    // C99: pow(-0.0, 0.5) is 0.0 and pow(-inf, 0.5) is inf.
    let root = |x: &Expr| {
        let negative_infinity = x.clone().equal(x.like(f64::NEG_INFINITY));
        negative_infinity.select(x.like(f64::INFINITY), plus(&x.clone().sqrt(), 0.0))
    };
    Some(match exponent {
        0.0 => one(),
        0.5 => in_float(x.clone(), root),
        -0.5 => in_float(x.clone(), |x| x.like(1.0) / root(x)),
        1.0 => x.clone(),
        2.0 => x * x,
        -1.0 => one() / x,
        _ => return None,
    })
}

fn float_pow(x: &Expr, y: &Expr) -> Expr {
    let format = FloatFormat::of(x);
    let power = if format.is_double() { positive_pow(&abs(x), y) } else { positive_pow_single(&abs(x), y) };
    let (zero, one) = (x.like(0.0), x.like(1.0));
    let truncated = y.clone().unary(UnaryOp::Trunc);
    let integral = truncated.equal(y.clone());
    let half = times(y, 0.5);
    let even = half.clone().unary(UnaryOp::Trunc).equal(half);
    let odd = !even & &integral;
    let no_sign = format.word(0);
    let signed = bits(&power) | odd.select(bits(x) & format.sign(), no_sign);
    let is_undefined = x.clone().less(zero.clone()) & x.like(f64::NEG_INFINITY).less(x.clone()) & !integral;
    let value = is_undefined.select(x.like(f64::NAN), from_bits(&signed));
    let is_one = y.clone().equal(zero) | x.clone().equal(one.clone());
    is_one.select(one, value)
}

/// Computes `x^y` for `x >= 0` in f64, from f32 arguments; 1 for `x = 1`, also for infinite `y`.
fn positive_pow_single(x: &Expr, y: &Expr) -> Expr {
    let (x, y) = (x.clone().cast(DType::F64), y.clone().cast(DType::F64));
    let Parts { fraction, exponent, .. } = take_apart(&x, false);
    let s = &fraction / plus(&fraction, 2.0);
    let z = &s * &s;
    let logarithm = at_ends(&x, fma(&s, &horner(&z, &LOG2_FOR_SINGLE), &exponent));
    let product = unless_one(&x, &y * logarithm);
    let product = at_most(&at_least(&product, -200.0), 200.0);
    let format = FloatFormat::of(&product);
    let magic = product.like(format.magic + format.bias as f64);
    let sum = &product + &magic;
    let p = horner(&(product - (&sum - &magic)), &EXP2_FOR_SINGLE);
    (p * from_bits(&format.to_exponent(&bits(&sum)))).cast(DType::F32)
}

/// Handles special arguments of a logarithm: `value` if `x` is positive and finite, -inf for 0, inf for inf.
fn at_ends(x: &Expr, value: Expr) -> Expr {
    let finite = x.clone().less(x.like(f64::INFINITY)).select(value, x.clone());
    x.clone().equal(x.like(0.0)).select(x.like(f64::NEG_INFINITY), finite)
}

/// Computes `if x == 1 { 0 } else { product }`, where `product = y · log2(x)`: 1 to any power is 1.
fn unless_one(x: &Expr, product: Expr) -> Expr {
    x.clone().equal(x.like(1.0)).select(x.like(0.0), product)
}

/// Computes `x^y` for `x >= 0` in f64, from a logarithm that is the sum of two parts.
fn positive_pow(x: &Expr, y: &Expr) -> Expr {
    let Parts { fraction: f, exponent, .. } = take_apart(x, true);
    // s = f / (2 + f), and s_low, the rounding error of the sum and the quotient.
    let d = plus(&f, 2.0);
    let d_low = &f - plus(&d, -2.0);
    let inverse = x.like(1.0) / &d;
    let s = &f * &inverse;
    let s_low = (fma(&-s.clone(), &d, &f) - &s * d_low) * inverse;
    let (z, z_error) = product(&s, &s);
    let z_low = z_error + times(&(&s * &s_low), 2.0);
    // u = 1/3 + z q, atanh(s) = s (1 + z u).
    let third = x.like(1.0 / 3.0);
    let q = horner(&z, &ATANH_DOUBLE);
    let u = fma(&z, &q, &third);
    let u_low = plus(&fma(&z, &q, &(third - &u)), 1.850_371_707_708_594e-17);
    let (w, w_error) = product(&z, &u);
    let w_low = w_error + (z_low * &u + &z * u_low);
    let v = plus(&w, 1.0);
    let v_low = ((x.like(1.0) - &v) + w) + w_low;
    let (a, a_error) = product(&s, &v);
    let a_low = a_error + (s * v_low + s_low * v);
    let to_base_2 = x.like(2.885_390_081_777_926_8);
    let (b, b_error) = product(&a, &to_base_2);
    let b_low = b_error + (times(&a, 4.071_054_748_186_206_6e-17) + a_low * to_base_2);
    let sum = &exponent + &b;
    let sum_low = ((exponent - &sum) + b) + b_low;
    let logarithm = at_ends(x, sum);
    let total = unless_one(x, y * &logarithm);
    let total_low = fma(y, &logarithm, &-total.clone()) + y * sum_low;
    // The low part may be NaN if the power overflows, vanishes, or is 1 because x = 1. Then the low part counts as 0.
    let bounded = abs(&total).less(x.like(1100.0));
    let total_low = bounded.select(total_low, x.like(0.0));
    let is_one = x.clone().equal(x.like(1.0));
    let total_low = is_one.select(x.like(0.0), total_low);
    exp2_of_sum(&at_most(&at_least(&total, -1080.0), 1025.0), Some(&total_low))
}

/// Returns `a · b` and its rounding error.
fn product(a: &Expr, b: &Expr) -> (Expr, Expr) {
    let high = a * b;
    let low = fma(a, b, &-high.clone());
    (high, low)
}

/// Computes an integer power by repeated squaring, one step for each bit of a non-negative exponent.
fn integer_pow(x: Expr, y: Expr) -> Expr {
    if let ExprKind::Const(exponent) = y.kind()
        && let Ok(exponent) = u64::try_from(exponent.to_i64())
        && y.dtype() != DType::U64
    {
        return constant_pow(&x, exponent);
    }
    let width = 8 * y.dtype().size_bytes().unwrap_or(8) as u32;
    let (y, steps) = if y.dtype().is_signed() { (not_negative(&y), width - 1) } else { (y, width) };
    let word = |bits: u64| Expr::constant(Scalar::from_bits(y.dtype(), bits).unwrap_or(Scalar::Bool(false)));
    let mut power = x.like(1.0);
    let mut square = x;
    for step in 0..steps {
        let set = (&y & word(1 << step)).not_equal(word(0));
        power = set.select(&power * &square, power);
        if step + 1 < steps {
            square = &square * &square;
        }
    }
    power
}

/// Returns `y`, and fails the run if `y` is negative.
fn not_negative(y: &Expr) -> Expr {
    let check = |value: Expr| {
        let kind = ExprKind::CheckIndex { value, limit: Dim::known(i64::MAX), axis: EXPONENT };
        Expr::new(DType::I64, kind)
    };
    if y.dtype() != DType::I64 {
        return check(y.clone().cast(DType::I32)).cast(y.dtype());
    }
    // The limit of the check is the greatest i64, which is an exponent too.
    check(y.clone().minimum(Expr::constant(i64::MAX - 1))) | y
}

fn constant_pow(x: &Expr, exponent: u64) -> Expr {
    let mut power: Option<Expr> = None;
    let mut square = x.clone();
    for bit in 0..u64::BITS - exponent.leading_zeros() {
        if bit > 0 {
            square = &square * &square;
        }
        if exponent >> bit & 1 == 1 {
            power = Some(match power {
                Some(power) => power * &square,
                None => square.clone(),
            });
        }
    }
    power.unwrap_or_else(|| x.like(1.0))
}
