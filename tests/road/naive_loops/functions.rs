//! Special functions from their definitions: series, integrals and bisection.

use std::f64::consts::PI;

/// The error function, `2/√π e^(-x²) Σ 2ⁿ x^(2n+1) / (2n+1)!!`.
pub fn erf(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for n in 1..120 {
        term *= 2.0 * x * x / (2.0 * f64::from(n) + 1.0);
        sum += term;
    }
    2.0 / PI.sqrt() * (-x * x).exp() * sum
}

/// `1 - erf(x)`, for large `x` by a continued fraction.
pub fn erfc(x: f64) -> f64 {
    if x < 2.0 {
        return 1.0 - erf(x);
    }
    let fraction = (1..200).rev().fold(x, |fraction, n| x + f64::from(n) / 2.0 / fraction);
    (-x * x).exp() / (PI.sqrt() * fraction)
}

/// The inverse of the error function, by bisection.
pub fn erfinv(y: f64) -> f64 {
    if y.abs() >= 1.0 {
        return if y.abs() == 1.0 { y * f64::INFINITY } else { f64::NAN };
    }
    let (mut low, mut high) = (0.0, 6.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if erf(middle) < y.abs() { low = middle } else { high = middle }
    }
    low.copysign(y)
}

/// The logarithm of `|Γ(x)|`: Stirling's series after the recurrence `Γ(x) = Γ(x + 1) / x`.
pub fn lgamma(x: f64) -> f64 {
    if x <= 0.0 {
        return if x == x.floor() {
            f64::INFINITY
        } else {
            (PI / (PI * x).sin()).abs().ln() - lgamma(1.0 - x)
        };
    }
    let (mut shifted, mut product) = (x, 1.0);
    while shifted < 20.0 {
        product *= shifted;
        shifted += 1.0;
    }
    let inverse = 1.0 / (shifted * shifted);
    let series =
        (1.0 / 12.0 - inverse * (1.0 / 360.0 - inverse * (1.0 / 1260.0 - inverse / 1680.0))) / shifted;
    (shifted - 0.5) * shifted.ln() - shifted + (2.0 * PI).ln() / 2.0 + series - product.ln()
}

/// The derivative of `ln Γ` for positive numbers.
pub fn digamma(x: f64) -> f64 {
    let (mut shifted, mut sum) = (x, 0.0);
    while shifted < 20.0 {
        sum -= 1.0 / shifted;
        shifted += 1.0;
    }
    let inverse = 1.0 / (shifted * shifted);
    let series = inverse * (1.0 / 12.0 - inverse * (1.0 / 120.0 - inverse * (1.0 / 252.0 - inverse / 240.0)));
    sum + shifted.ln() - 0.5 / shifted - series
}

/// `exp(-|x|) I_order(x)` for order 0 or 1, the integral `1/π ∫ exp(|x| (cos t - 1)) cos(order t) dt` from 0 to π.
pub fn bessel_ie(order: f64, x: f64) -> f64 {
    let steps = 400;
    let value = |t: f64| (x.abs() * (t.cos() - 1.0)).exp() * (order * t).cos();
    let inner: f64 = (1..steps).map(|step| value(PI * f64::from(step) / f64::from(steps))).sum();
    let integral = (inner + (value(0.0) + value(PI)) / 2.0) / f64::from(steps);
    if order == 1.0 { integral.copysign(x) } else { integral }
}
