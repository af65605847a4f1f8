//! Functions that are integrals of elementary functions, on `f64`.

use std::f64::consts::{FRAC_PI_2, PI};

use num_complex::Complex64;

/// Euler's constant.
const EULER: f64 = 0.577_215_664_901_532_9;

/// Returns the principal value of `∫ eᵗ/t dt` from -∞ to `x`. NaN below 0 and at infinity.
pub(super) fn expint(x: f64) -> f64 {
    if x.is_nan() || x < 0.0 || x.is_infinite() {
        return f64::NAN;
    }
    if x == 0.0 {
        return f64::NEG_INFINITY;
    }
    let mut term = 1.0;
    if x < 40.0 {
        let sum: f64 = (1..150u32)
            .map(|k| {
                term *= x / f64::from(k);
                term / f64::from(k)
            })
            .sum();
        return EULER + x.ln() + sum;
    }
    let mut sum = 1.0;
    for k in 1..=40u32 {
        term *= f64::from(k) / x;
        sum += term;
    }
    let half = (x / 2.0).exp();
    half * (half / x * sum)
}

/// Returns `-∫ log(t)/(t - 1) dt` from 1 to `x`. NaN below 0 and at infinity.
pub(super) fn spence(x: f64) -> f64 {
    let limit = PI * PI / 6.0;
    match x {
        _ if x.is_nan() || x < 0.0 || x.is_infinite() => f64::NAN,
        0.0 => limit,
        _ if x < 0.5 => limit - x.ln() * (-x).ln_1p() - dilogarithm(x),
        _ if x <= 1.5 => dilogarithm(1.0 - x),
        _ => -0.5 * x.ln() * x.ln() - spence(1.0 / x),
    }
}

/// Returns `Σ xᵏ/k²` for `x` from -0.5 to 0.5.
fn dilogarithm(x: f64) -> f64 {
    x * (1..60u32).rev().fold(0.0, |sum, k| sum * x + 1.0 / f64::from(k * k))
}

/// Returns `e^(-x²) ∫ e^(t²) dt` from 0 to `x`.
pub(super) fn dawsn(x: f64) -> f64 {
    let size = x.abs();
    let square = 2.0 * x * x;
    if size < 1.0 {
        let sum = (1..40u32).rev().fold(1.0, |sum, k| 1.0 - square / f64::from(2 * k + 1) * sum);
        return x * sum;
    }
    if size >= 12.0 {
        let sum = (1..15u32).rev().fold(1.0, |sum, k| 1.0 + f64::from(2 * k - 1) / square * sum);
        return sum / (2.0 * x);
    }
    // Rybicki's sum of bells at odd multiples of the step around x.
    let step = 0.2;
    let nearest = 2.0 * (size / (2.0 * step)).round();
    let rest = size - nearest * step;
    let bell = |k: i32| {
        let odd = f64::from(2 * k + 1);
        let distance = rest - odd * step;
        (-distance * distance).exp() / (nearest + odd)
    };
    let sum: f64 = (-18..18).map(bell).sum();
    (sum / PI.sqrt()).copysign(x)
}

/// Returns `∫ cos(πt²/2) dt` from 0 to `x`.
pub(super) fn fresnel_cos(x: f64) -> f64 {
    fresnel(x).re
}

/// Returns `∫ sin(πt²/2) dt` from 0 to `x`.
pub(super) fn fresnel_sin(x: f64) -> f64 {
    fresnel(x).im
}

/// Returns the integral of `e^(iπt²/2)` from 0 to `x`.
fn fresnel(x: f64) -> Complex64 {
    let size = x.abs();
    let integral = if x.is_nan() {
        return Complex64::new(f64::NAN, f64::NAN);
    } else if size < 1.6 {
        // Term k of the integrated exponential series is (iπ/2)ᵏ x^(2k+1) / (k! (2k+1)).
        let (mut term, mut sum) = (Complex64::new(size, 0.0), Complex64::new(0.0, 0.0));
        for k in 0..40u32 {
            sum += term / f64::from(2 * k + 1);
            term *= Complex64::new(0.0, FRAC_PI_2 * x * x / f64::from(k + 1));
        }
        sum
    } else if size > 1e17 {
        Complex64::new(0.5, 0.5)
    } else {
        far_fresnel(size)
    };
    Complex64::new(integral.re.copysign(x), integral.im.copysign(x))
}

/// Returns the same integral for a large positive `x`: `(1 + i)/2` minus a continued fraction of the rest.
fn far_fresnel(x: f64) -> Complex64 {
    // erfc(z) √π e^(z²) = 1/(z + (1/2)/(z + 1/(z + (3/2)/(z + …)))) for z = x √π/2 (1 - i).
    let z = Complex64::new(1.0, -1.0) * (x * PI.sqrt() / 2.0);
    let fraction = (1..400u32).rev().fold(z, |rest, k| z + f64::from(k) / 2.0 / rest);
    // The product x² is exact as a sum of two numbers, and its remainder by 4 gives the angle.
    let product = x * x;
    let turns = product % 4.0 + x.mul_add(x, -product) % 4.0;
    let (sine, cosine) = (FRAC_PI_2 * turns).sin_cos();
    let complement = Complex64::new(cosine, sine) / (fraction * PI.sqrt());
    Complex64::new(0.5, 0.5) * (1.0 - complement)
}
