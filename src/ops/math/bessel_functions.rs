//! Bessel functions of the orders 0 and 1 on `f64`.

use std::f64::consts::{FRAC_1_SQRT_2, LN_2, PI};

/// Euler's constant.
const EULER: f64 = 0.577_215_664_901_532_9;

/// The number of terms of a power series for arguments up to 30.
const TERMS: u32 = 90;

/// A term below `NEGLIGIBLE` times the sum so far does not change the sum of a power series: its weight is below 2⁴.
/// Later terms are smaller: terms grow only while they are at least 1, and every sum is below 2⁶⁰.
const NEGLIGIBLE: f64 = 1.0 / (1u64 << 60) as f64;

/// Returns the sum of `weight(k) * s^k / (k! (k + order)!)` over `k`, where `s` is `sign * (x/2)²` and `weight(k)` is
/// below 16.
fn series(order: u32, x: f64, sign: f64, weight: impl Fn(u32) -> f64) -> f64 {
    let square = sign * x * x / 4.0;
    let (mut term, mut sum) = (1.0f64, 0.0f64);
    for k in 0..TERMS {
        if term.abs() < sum.abs() * NEGLIGIBLE {
            break;
        }
        sum += term * weight(k);
        term *= square / (f64::from(k + 1) * f64::from(k + 1 + order));
    }
    if order == 0 { sum } else { sum * x / 2.0 }
}

/// Returns `1 + 1/2 + … + 1/k`.
fn harmonic(k: u32) -> f64 {
    (1..=k).rev().map(|i| 1.0 / f64::from(i)).sum()
}

/// Returns the sums of the even and of the odd terms of the expansion `1 + t₁ + t₂ + …` for a large argument. `sign` is
/// -1 for J and Y, whose terms change their signs in pairs, and 1 for I and K. A term is used while it is less than the
/// term before.
fn expansion(order: u32, x: f64, sign: f64) -> [f64; 2] {
    let square = f64::from(4 * order * order);
    let (mut term, mut sums) = (1.0f64, [1.0, 0.0]);
    for k in 1..60 {
        let odd = f64::from(2 * k - 1);
        let next = term * (square - odd * odd) / (f64::from(8 * k) * x);
        if next.abs() >= term.abs() || next == 0.0 {
            break;
        }
        term = next;
        let turn = if k / 2 % 2 == 1 { sign } else { 1.0 };
        sums[k as usize % 2] += term * turn;
    }
    sums
}

/// Returns the factors of the oscillating functions for a large argument: `J = a P - b Q` and `Y = b P + a Q`.
fn phases(order: u32, x: f64) -> [f64; 2] {
    let (sine, cosine) = x.sin_cos();
    let scale = (2.0 / (PI * x)).sqrt() * FRAC_1_SQRT_2;
    match order {
        0 => [scale * (cosine + sine), scale * (sine - cosine)],
        _ => [scale * (sine - cosine), -scale * (sine + cosine)],
    }
}

/// Arguments from which the expansions for large arguments are used.
const LARGE: f64 = 25.0;

/// Arguments up to which the power series of the oscillating functions are used.
const SMALL: f64 = 4.0;

/// Returns the functions `J` of the orders from 0, by the recurrence from high orders down, where the functions vanish.
fn descending(x: f64) -> Vec<f64> {
    let most = 2 * ((x as usize + 50) / 2);
    let mut values = vec![0.0; most + 2];
    values[most] = 1e-200;
    for order in (1..=most).rev() {
        values[order - 1] = 2.0 * order as f64 / x * values[order] - values[order + 1];
    }
    let sum = values[0] + 2.0 * values[2..].iter().step_by(2).sum::<f64>();
    values.iter_mut().for_each(|value| *value /= sum);
    values
}

fn bessel_j(order: u32, x: f64) -> f64 {
    if x.is_infinite() {
        return f64::NAN;
    }
    let size = x.abs();
    let value = if size < SMALL {
        series(order, size, -1.0, |_| 1.0)
    } else if size < LARGE {
        descending(size)[order as usize]
    } else {
        let ([a, b], [p, q]) = (phases(order, size), expansion(order, size, -1.0));
        a * p - b * q
    };
    if order == 1 { value * x.signum() } else { value }
}

fn bessel_y(order: u32, x: f64) -> f64 {
    if x <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if x.is_infinite() || x.is_nan() {
        return f64::NAN;
    }
    let log = x.ln() - LN_2 + EULER;
    let sum = |term: &dyn Fn(f64, usize) -> f64| {
        (1..).take(60).map(|k| term(f64::from(k), k as usize)).sum::<f64>()
    };
    let sign = |k: usize| if k.is_multiple_of(2) { 1.0 } else { -1.0 };
    let value = match (order, x < SMALL, x < LARGE) {
        (0, true, _) => log * series(0, x, -1.0, |_| 1.0) - series(0, x, -1.0, harmonic),
        (_, true, _) => {
            let rest = series(1, x, -1.0, |k| (harmonic(k) + harmonic(k + 1)) / 2.0);
            log * series(1, x, -1.0, |_| 1.0) - rest - 1.0 / x
        }
        (0, false, true) => {
            let j = descending(x);
            let at = |n: usize| j.get(n).copied().unwrap_or(0.0);
            log * j[0] - 2.0 * sum(&|k, n| sign(n) * at(2 * n) / k)
        }
        (_, false, true) => {
            let j = descending(x);
            let at = |n: usize| j.get(n).copied().unwrap_or(0.0);
            // The derivative of the series for the order 0, negated.
            log * j[1] - j[0] / x + sum(&|k, n| sign(n) * (at(2 * n - 1) - at(2 * n + 1)) / k)
        }
        _ => {
            let ([a, b], [p, q]) = (phases(order, x), expansion(order, x, -1.0));
            return b * p + a * q;
        }
    };
    value * 2.0 / PI
}

/// Returns `e^x K(x)`.
fn scaled_k(order: u32, x: f64) -> f64 {
    if x <= 0.0 {
        return f64::INFINITY;
    }
    if x < 1.0 {
        let log = x.ln() - LN_2 + EULER;
        let value = match order {
            0 => series(0, x, 1.0, harmonic) - log * series(0, x, 1.0, |_| 1.0),
            _ => {
                let rest = series(1, x, 1.0, |k| (harmonic(k) + harmonic(k + 1)) / 2.0);
                log * series(1, x, 1.0, |_| 1.0) - rest + 1.0 / x
            }
        };
        return value * x.exp();
    }
    if x >= 50.0 {
        return (PI / (2.0 * x)).sqrt() * expansion(order, x, 1.0).iter().sum::<f64>();
    }
    // The trapezoidal rule for the integral of exp(-x (cosh t - 1)) cosh(order t), which vanishes fast at both ends.
    let step = PI * PI / (x + 45.0);
    let value = |k: u32| {
        let t = f64::from(k) * step;
        let sine = (t / 2.0).sinh();
        (-2.0 * x * sine * sine).exp() * if order == 0 { 1.0 } else { t.cosh() }
    };
    step * ((1..60).rev().map(value).sum::<f64>() + 0.5)
}

/// Returns `I(x)`. An argument of at least 30 has an expansion whose terms change sign.
fn bessel_i(order: u32, x: f64) -> f64 {
    if x.is_infinite() {
        return f64::NAN;
    }
    let size = x.abs();
    let value = if size < 30.0 {
        series(order, size, 1.0, |_| 1.0)
    } else {
        let [even, odd] = expansion(order, size, 1.0);
        let half = (size / 2.0).exp();
        half * ((even - odd) / (2.0 * PI * size).sqrt()) * half
    };
    if order == 1 && x < 0.0 { -value } else { value }
}

macro_rules! functions {
    ($($name:ident = $function:expr;)*) => {
        $(pub(super) fn $name(x: f64) -> f64 {
            let function: fn(f64) -> f64 = $function;
            if x.is_nan() { x } else { function(x) }
        })*
    };
}
functions! {
    bessel_i0 = |x| bessel_i(0, x);
    bessel_i1 = |x| bessel_i(1, x);
    bessel_j0 = |x| bessel_j(0, x);
    bessel_j1 = |x| bessel_j(1, x);
    bessel_y0 = |x| bessel_y(0, x);
    bessel_y1 = |x| bessel_y(1, x);
    bessel_k0 = |x| if x == f64::INFINITY { 0.0 } else { scaled_k(0, x) * (-x).exp() };
    bessel_k1 = |x| if x == f64::INFINITY { 0.0 } else { scaled_k(1, x) * (-x).exp() };
    bessel_k0e = |x| if x == f64::INFINITY { 0.0 } else { scaled_k(0, x) };
    bessel_k1e = |x| if x == f64::INFINITY { 0.0 } else { scaled_k(1, x) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_series_has_the_sum_of_all_its_terms() {
        let weights: [fn(u32) -> f64; 2] = [|_| 1.0, harmonic];
        for step in 0..300 {
            let x = f64::from(step) / 10.0;
            for (number, weight) in weights.iter().cycle().take(8).enumerate() {
                let (order, sign) = (number as u32 / 2 % 2, if number < 4 { 1.0 } else { -1.0 });
                let (mut term, mut sum) = (1.0, 0.0);
                for k in 0..TERMS {
                    sum += term * weight(k);
                    term *= sign * x * x / 4.0 / (f64::from(k + 1) * f64::from(k + 1 + order));
                }
                let expected = if order == 0 { sum } else { sum * x / 2.0 };
                assert_eq!(
                    series(order, x, sign, weight).to_bits(),
                    expected.to_bits(),
                    "{order} {sign} {x}"
                );
            }
        }
    }
}
