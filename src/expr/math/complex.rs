//! Elementary functions of complex numbers, built from real functions of their parts.
//!
//! Moduli and logarithms of numbers with f32 parts are computed in f64, where neither squares overflow nor differences
//! cancel. The inverse functions follow W. Kahan, "Branch Cuts for Complex Elementary Functions" (1987).

use std::f64::consts::FRAC_PI_2;

use shapeflow_shape_fns::DType;

use super::build::*;
use super::exp::{exp as exp_real, expm1 as expm1_real};
use super::hyperbolic::{cosh as cosh_real, sinh as sinh_real};
use super::inverse::atan2;
use super::inverse_hyperbolic::asinh as asinh_real;
use super::log::{log as log_real, log1p as log1p_real};
use super::trig::{cos as cos_real, sin as sin_real, tan as tan_real};
use crate::expr::Expr;

/// The parts of `z`.
fn parts(z: &Expr) -> (Expr, Expr) {
    (z.real(), z.imag())
}

/// The parts of `z` in f64.
fn wide_parts(z: &Expr) -> (Expr, Expr) {
    (z.real().cast(DType::F64), z.imag().cast(DType::F64))
}

/// `i · z`.
fn times_i(z: &Expr) -> Expr {
    Expr::complex(-z.imag(), z.real())
}

/// `-i · z`.
fn over_i(z: &Expr) -> Expr {
    Expr::complex(z.imag(), -z.real())
}

/// Returns whether one of two numbers is infinite. A complex number with an infinite part is infinite, whatever its
/// other part is.
fn is_infinite(a: &Expr, b: &Expr) -> Expr {
    let infinite = |x: &Expr| x.clone().abs().equal(x.like(f64::INFINITY));
    infinite(a) | infinite(b)
}

/// `a² + b²`; infinite if one of the numbers is infinite and the other one is NaN.
fn sum_of_squares(a: &Expr, b: &Expr) -> Expr {
    is_infinite(a, b).select(a.like(f64::INFINITY), a * a + b * b)
}

/// `|z|`, without overflow.
pub(super) fn abs(z: &Expr) -> Expr {
    let (a, b) = wide_parts(z);
    if z.dtype() == DType::C64 {
        return sum_of_squares(&a, &b).sqrt().cast(DType::F32);
    }
    let Scaled { large, ratio } = scaled(&a, &b);
    large * plus(&(&ratio * &ratio), 1.0).sqrt()
}

/// The larger of two magnitudes, and the quotient of the smaller and the larger magnitude. The quotient is 0 if the
/// larger magnitude is 0 or infinite.
struct Scaled {
    large: Expr,
    ratio: Expr,
}

fn scaled(a: &Expr, b: &Expr) -> Scaled {
    let (a, b) = (a.clone().abs(), b.clone().abs());
    let large = is_infinite(&a, &b).select(a.like(f64::INFINITY), a.clone().maximum(b.clone()));
    // The quotients 0 / 0 and ∞ / ∞ would be NaN.
    let may_be_nan = large.clone().equal(large.like(0.0)) | large.clone().equal(large.like(f64::INFINITY));
    let ratio = may_be_nan.select(large.like(0.0), a.minimum(b) / large.clone());
    Scaled { large, ratio }
}

/// `log |z|`.
fn log_abs(z: &Expr) -> Expr {
    let (a, b) = wide_parts(z);
    if z.dtype() == DType::C64 {
        return times(&log_real(sum_of_squares(&a, &b)), 0.5).cast(DType::F32);
    }
    let Scaled { large, ratio } = scaled(&a, &b);
    // Near 1 the logarithm of the larger part and the other term would cancel.
    let small = a.abs().minimum(b.abs());
    let near = large.like(0.5).less(large.clone()) & large.clone().less(large.like(2.0));
    let excess = plus(&large, -1.0) * plus(&large, 1.0) + &small * &small;
    let square = near.clone().select(excess, &ratio * &ratio);
    let base = near.select(large.like(0.0), log_real(large));
    base + times(&log1p_real(square), 0.5)
}

/// The angle of `z` in `[-π, π]`.
pub(super) fn angle(z: &Expr) -> Expr {
    atan2(z.imag(), z.real())
}

/// `z / |z|`; 0 for 0.
pub(super) fn sign(z: &Expr) -> Expr {
    let modulus = abs(z);
    let is_zero = modulus.clone().equal(modulus.like(0.0));
    let part = |x: Expr| is_zero.clone().select(x.clone(), x / modulus.clone());
    Expr::complex(part(z.real()), part(z.imag()))
}

/// `1 / z`.
pub(super) fn reciprocal(z: &Expr) -> Expr {
    z.like(1.0) / z.clone()
}

/// The square root with a real part that is not negative. If the imaginary part of `z` is infinite, the result has this
/// imaginary part, and its real part is infinity.
pub(super) fn sqrt(z: &Expr) -> Expr {
    let (a, b) = parts(z);
    let b_is_infinite = b.clone().abs().equal(b.like(f64::INFINITY));
    let half = times(&abs(z), 0.5) + times(&a.clone().abs(), 0.5);
    let large = half.sqrt();
    let is_zero = large.clone().equal(large.like(0.0));
    let small = is_zero.select(b.clone(), times(&b, 0.5) / large.clone());
    let is_negative = a.clone().less(a.like(0.0));
    let real = is_negative.clone().select(small.clone().abs(), large.clone());
    let imaginary = is_negative.select(with_sign(&large, &b), small);
    let real = b_is_infinite.clone().select(b.like(f64::INFINITY), real);
    Expr::complex(real, b_is_infinite.select(b, imaginary))
}

/// `1 / √z`; 0 for infinity.
pub(super) fn rsqrt(z: &Expr) -> Expr {
    let (root, modulus) = (sqrt(z), abs(z));
    let z_is_infinite = modulus.clone().equal(modulus.like(f64::INFINITY));
    let part = |x: Expr| z_is_infinite.clone().select(x.like(0.0), x / modulus.clone());
    Expr::complex(part(root.real()), part(-root.imag()))
}

/// Returns whether `a` is infinite and `b` is infinite or NaN. A power of e with the exponent `a + bi` has a known
/// magnitude then, but no angle.
fn has_no_angle(a: &Expr, b: &Expr) -> Expr {
    let is_infinite = |x: &Expr| x.clone().abs().equal(x.like(f64::INFINITY));
    is_infinite(a) & (is_infinite(b) | b.clone().not_equal(b.clone()))
}

/// A zero with the sign of `x`; 0 for NaN.
fn zero_like(x: &Expr) -> Expr {
    let zero = x.like(0.0);
    x.clone().equal(x.clone()).select(with_sign(&zero, x), zero)
}

/// `e^z`.
pub(super) fn exp(z: &Expr) -> Expr {
    let (a, b) = parts(z);
    let has_no_angle = has_no_angle(&a, &b);
    let vanishes = has_no_angle.clone() & a.clone().less(a.like(0.0));
    let power = exp_real(a);
    let imaginary = keep_zero(&b, &power * &sin_real(b.clone()));
    let real = has_no_angle.select(power.clone(), power * cos_real(b.clone()));
    Expr::complex(real, vanishes.select(zero_like(&b), imaginary))
}

/// `e^z - 1`, precise near 0.
pub(super) fn expm1(z: &Expr) -> Expr {
    let (a, b) = parts(z);
    let half = sin_real(times(&b, 0.5));
    let imaginary = keep_zero(&b, exp_real(a.clone()) * sin_real(b.clone()));
    Expr::complex(expm1_real(a) * cos_real(b) - times(&(&half * &half), 2.0), imaginary)
}

/// The natural logarithm, whose imaginary part is in `[-π, π]`.
pub(super) fn log(z: &Expr) -> Expr {
    Expr::complex(log_abs(z), angle(z))
}

/// `log(1 + z)`, precise near 0.
pub(super) fn log1p(z: &Expr) -> Expr {
    let (a, b) = wide_parts(z);
    let sum = Expr::complex(plus(&z.real(), 1.0), z.imag());
    let near = times(&log1p_real(times(&a, 2.0) + (&a * &a + &b * &b)), 0.5);
    let is_small = a.clone().abs().maximum(b.abs()).less(a.like(0.5));
    Expr::complex(is_small.select(near.cast(sum.real().dtype()), log_abs(&sum)), angle(&sum))
}

/// `x^y`. A zero has the power 0 if the real part of `y` is positive, else NaN, as in TensorFlow.
pub(super) fn pow(x: &Expr, y: &Expr) -> Expr {
    let power = exp(&(log(x) * y.clone()));
    let is_zero = x.clone().equal(x.like(0.0));
    let is_not_positive = y.real().less_equal(y.real().like(0.0));
    let of_zero = is_not_positive.select(power.real().like(f64::NAN), power.real().like(0.0));
    let part = |x: Expr| is_zero.clone().select(of_zero.clone(), x);
    Expr::complex(part(power.real()), part(power.imag()))
}

pub(super) fn sin(z: &Expr) -> Expr {
    over_i(&sinh(&times_i(z)))
}

pub(super) fn cos(z: &Expr) -> Expr {
    cosh(&times_i(z))
}

pub(super) fn tan(z: &Expr) -> Expr {
    over_i(&tanh(&times_i(z)))
}

/// `factor * sine`, but a zero `sine` gives a zero even if `factor` is infinite. `sine` may be a hyperbolic sine.
fn with_sine(factor: Expr, sine: Expr) -> Expr {
    let signed = &sine * with_sign(&factor.like(1.0), &factor);
    keep_zero(&signed, factor * sine)
}

pub(super) fn sinh(z: &Expr) -> Expr {
    let (a, b) = parts(z);
    let sine = sinh_real(a.clone());
    let real = has_no_angle(&a, &b).select(sine.clone(), with_sine(cos_real(b.clone()), sine));
    Expr::complex(real, with_sine(cosh_real(a), sin_real(b)))
}

pub(super) fn cosh(z: &Expr) -> Expr {
    let (a, b) = parts(z);
    let (sine, cosine) = (sinh_real(a.clone()), cosh_real(a.clone()));
    let (across, has_no_angle) = (sin_real(b.clone()), has_no_angle(&a, &b));
    let is_lost_zero = a.clone().equal(a.like(0.0)) & across.clone().not_equal(across.clone());
    let imaginary = is_lost_zero.select(a, with_sine(sine, across));
    Expr::complex(has_no_angle.select(cosine.clone(), cosine * cos_real(b)), imaginary)
}

pub(super) fn tanh(z: &Expr) -> Expr {
    let (a, b) = parts(z);
    // Above the limit the real part rounds to ±1.
    let limit = FloatFormat::of(&a).by_width(10.0, 20.0);
    let is_large = a.like(limit).less(a.clone().abs());
    let tangent = tan_real(b.clone());
    let square = plus(&(&tangent * &tangent), 1.0);
    let sine = sinh_real(at_least(&at_most(&a, limit), -limit));
    let cosine = plus(&(&sine * &sine), 1.0).sqrt();
    let divisor = plus(&(&square * &(&sine * &sine)), 1.0);
    let far = times(&(&tangent / &square), 4.0) * exp_real(times(&a.clone().abs(), -2.0));
    let real =
        is_large.clone().select(with_sign(&a.like(1.0), &a), &square * &(cosine * sine) / divisor.clone());
    let imaginary = keep_zero(&b, is_large.select(far, tangent / divisor));
    Expr::complex(keep_zero(&a, real), has_no_angle(&a, &b).select(zero_like(&b), imaginary))
}

/// `1 / (1 + e^-z)`.
pub(super) fn sigmoid(z: &Expr) -> Expr {
    let is_negative = z.real().less(z.real().like(0.0));
    // The real part of the exponent is not positive, so the power does not overflow.
    let power = exp(&is_negative.clone().select(z.clone(), -z.clone()));
    let numerator = is_negative.select(power.clone(), z.like(1.0));
    numerator / (power + z.like(1.0))
}

/// `√(1 - z)` and `√(1 + z)`. The sums are made of parts, because the sign of a zero imaginary part chooses the side of
/// a branch cut.
fn roots(z: &Expr) -> (Expr, Expr) {
    let (a, b) = parts(z);
    let minus = Expr::complex(a.like(1.0) - a.clone(), -b.clone());
    (sqrt(&minus), sqrt(&Expr::complex(plus(&a, 1.0), b)))
}

/// The imaginary part of `conj(a) · b`.
fn cross(a: &Expr, b: &Expr) -> Expr {
    a.real() * b.imag() - a.imag() * b.real()
}

/// Arc sine. The result of an infinite number has an infinite imaginary part; the result of an imaginary number is
/// imaginary.
pub(super) fn asin(z: &Expr) -> Expr {
    let (a, b) = parts(z);
    let (minus, plus) = roots(z);
    let cosine = minus.real() * plus.real() - minus.imag() * plus.imag();
    let z_is_infinite = is_infinite(&a, &b);
    let cosine = z_is_infinite.clone().select(b.clone().abs(), cosine);
    let infinity = with_sign(&b.like(f64::INFINITY), &b);
    let imaginary = z_is_infinite.select(infinity, asinh_real(cross(&minus, &plus)));
    Expr::complex(keep_zero(&a, atan2(a.clone(), cosine)), imaginary)
}

/// Arc cosine. The result of an infinite number has an infinite imaginary part; the result of an imaginary number has
/// the real part π/2.
pub(super) fn acos(z: &Expr) -> Expr {
    let (a, b) = parts(z);
    let (minus, plus) = roots(z);
    let z_is_infinite = is_infinite(&a, &b);
    let half = atan2(minus.real(), plus.real());
    let real = z_is_infinite.clone().select(atan2(b.clone().abs(), a.clone()), times(&half, 2.0));
    let real = a.clone().equal(a.like(0.0)).select(a.like(FRAC_PI_2), real);
    let infinity = with_sign(&b.like(f64::INFINITY), &-b.clone());
    Expr::complex(real, z_is_infinite.select(infinity, asinh_real(cross(&plus, &minus))))
}

pub(super) fn atan(z: &Expr) -> Expr {
    over_i(&atanh(&times_i(z)))
}

pub(super) fn asinh(z: &Expr) -> Expr {
    over_i(&asin(&times_i(z)))
}

/// `acosh(z)` is `±i · acos(z)`, with the sign that makes the real part positive.
pub(super) fn acosh(z: &Expr) -> Expr {
    let angle = acos(z);
    Expr::complex(angle.imag().abs(), with_sign(&angle.real(), &z.imag()))
}

/// Inverse hyperbolic tangent. If `|z|` exceeds 2^500, the result has the real part 0 in place of a real part below
/// 2^-500.
pub(super) fn atanh(z: &Expr) -> Expr {
    let ((a, b), dtype) = (wide_parts(z), z.real().dtype());
    let magnitude = a.clone().abs();
    let rest = a.like(1.0) - magnitude.clone();
    let square = &b * &b;
    let is_far = b.like(2f64.powi(500)).less(magnitude.clone() + b.clone().abs());
    let counts_as_infinite = is_infinite(&a, &b) | is_far;
    let quotient = times(&magnitude, 4.0) / (&rest * &rest + square.clone());
    let quotient = counts_as_infinite.clone().select(a.like(0.0), quotient);
    let real = keep_zero(&a, with_sign(&times(&log1p_real(quotient), 0.25), &a));
    // The angle of `1 - |z|² + 2bi`. For a large `z` it is ±π: the number counts as -1 ± 0i.
    let double_b =
        counts_as_infinite.clone().select(times(&at_least(&at_most(&b, 1.0), -1.0), 0.0), times(&b, 2.0));
    let one_minus_square = counts_as_infinite.select(a.like(-1.0), rest * plus(&magnitude, 1.0) - square);
    let angle = atan2(double_b, one_minus_square);
    Expr::complex(real.cast(dtype), times(&angle, 0.5).cast(dtype))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::interpret::evaluate_constant;
    use num_complex::Complex64;

    fn value(z: &Expr) -> Complex64 {
        let part = |part: Expr| evaluate_constant(&part).unwrap().to_f64();
        Complex64::new(part(z.real()), part(z.imag()))
    }

    type Function = (&'static str, fn(&Expr) -> Expr, fn(Complex64) -> Complex64);

    #[test]
    fn functions_agree_with_formulas_in_f64() {
        let one = Complex64::new(1.0, 0.0);
        let functions: &[Function] = &[
            ("sqrt", sqrt, |z| z.sqrt()),
            ("rsqrt", rsqrt, |z| 1.0 / z.sqrt()),
            ("exp", exp, |z| z.exp()),
            ("expm1", expm1, |z| z.exp() - 1.0),
            ("log", log, |z| z.ln()),
            ("log1p", log1p, |z| (z + 1.0).ln()),
            ("sin", sin, |z| z.sin()),
            ("cos", cos, |z| z.cos()),
            ("tan", tan, |z| z.tan()),
            ("sinh", sinh, |z| z.sinh()),
            ("cosh", cosh, |z| z.cosh()),
            ("tanh", tanh, |z| z.tanh()),
            ("asin", asin, |z| z.asin()),
            ("acos", acos, |z| z.acos()),
            ("atan", atan, |z| z.atan()),
            ("asinh", asinh, |z| z.asinh()),
            ("acosh", acosh, |z| z.acosh()),
            ("atanh", atanh, |z| z.atanh()),
            ("sigmoid", sigmoid, |z| 1.0 / (1.0 + (-z).exp())),
            ("sign", sign, |z| z / z.norm()),
            ("reciprocal", reciprocal, |z| 1.0 / z),
        ];
        let parts = [-2.5, -0.75, 0.25, 1.5];
        for (name, ours, expected) in functions {
            for z in parts.iter().flat_map(|re| parts.iter().map(|im| Complex64::new(*re, *im))) {
                let expected = expected(z);
                let wide = Expr::complex(Expr::constant(z.re), Expr::constant(z.im));
                let error = (value(&ours(&wide)) - expected).norm() / (expected.norm() + one.norm());
                assert!(error < 1e-14, "{name} {z}: {} {expected}", value(&ours(&wide)));
                let single = Expr::complex(Expr::constant(z.re as f32), Expr::constant(z.im as f32));
                let error = (value(&ours(&single)) - expected).norm() / (expected.norm() + one.norm());
                assert!(error < 1e-6, "{name} {z}: {} {expected}", value(&ours(&single)));
            }
        }
    }

    #[test]
    fn large_and_small_numbers_neither_overflow_nor_vanish() {
        let z = |re: f64, im: f64| Expr::complex(Expr::constant(re), Expr::constant(im));
        assert_eq!(evaluate_constant(&abs(&z(3e300, 4e300))).unwrap().to_f64(), 5e300);
        assert_eq!(value(&sqrt(&z(0.0, 0.0))), Complex64::new(0.0, 0.0));
        assert_eq!(value(&sqrt(&z(-4.0, 0.0))), Complex64::new(0.0, 2.0));
        assert_eq!(value(&sqrt(&z(-4.0, -0.0))), Complex64::new(0.0, -2.0));
        assert_eq!(value(&sign(&z(0.0, 0.0))), Complex64::new(0.0, 0.0));
        assert_eq!(value(&sigmoid(&z(-1000.0, 1.0))), Complex64::new(0.0, 0.0));
        assert_eq!(value(&tanh(&z(1000.0, 1.0))), Complex64::new(1.0, 0.0));
        assert_eq!(value(&log(&z(1e300, 0.0))).re, 1e300f64.ln());
        assert_eq!(value(&atanh(&z(3.0, -f64::MAX))), Complex64::new(0.0, -FRAC_PI_2));
        assert_eq!(value(&atanh(&z(-f64::MAX, 2.5))), Complex64::new(0.0, FRAC_PI_2));
        assert_eq!(value(&atan(&z(-f64::MAX, f64::MAX))), Complex64::new(-FRAC_PI_2, 0.0));
        // |z| - 1 is 5e-17, which the square of the modulus in f64 does not hold.
        assert!((value(&log(&z(1.0, 1e-8))).re - 5e-17).abs() < 1e-24);
    }
}
