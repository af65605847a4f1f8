//! Functions of the gamma and zeta family on `f64`.

use std::f64::consts::PI;
use std::ops::{Add, Div, Mul, Sub};

/// The number of terms after which a series or a continued fraction ends, converged or not. This number is enough for
/// parameters up to 1e8.
const MOST_TERMS: usize = 200_000;

/// The least relative change that a further term of a series must make.
const SMALLEST_CHANGE: f64 = f64::EPSILON / 4.0;

/// Returns `log Γ(x) - ((x - 1/2) log x - x + log(2π)/2)` for `x` at least 10.
fn stirling_rest(x: f64) -> f64 {
    let square = 1.0 / (x * x);
    let series = [1.0 / 1188.0, -1.0 / 1680.0, 1.0 / 1260.0, -1.0 / 360.0, 1.0 / 12.0];
    series.into_iter().fold(-691.0 / 360_360.0, |sum, term| sum * square + term) / x
}

/// Returns `log Γ(x)` for a positive `x`, with an error that is small compared with the larger of the result and 1.
pub(crate) fn lgamma(mut x: f64) -> f64 {
    let mut product = 1.0;
    while x < 10.0 {
        product *= x;
        x += 1.0;
    }
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * PI).ln() + stirling_rest(x) - f64::ln(product)
}

/// Returns the derivative of `log Γ`; NaN at 0 and at negative integers.
pub(super) fn digamma(mut x: f64) -> f64 {
    if x <= 0.0 {
        // The distance to the nearest integer has all digits, also near 0.
        let tangent = (PI * (x - x.round())).tan();
        return if x == x.floor() { f64::NAN } else { digamma(1.0 - x) - PI / tangent };
    }
    let mut sum = 0.0;
    while x < 12.0 {
        sum -= 1.0 / x;
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let terms = [-691.0 / 32_760.0, 1.0 / 132.0, -1.0 / 240.0, 1.0 / 252.0, -1.0 / 120.0, 1.0 / 12.0];
    let rest = terms.into_iter().fold(1.0 / 12.0, |sum, term| sum * square + term) * square;
    sum + x.ln() - 0.5 / x - rest
}

/// Returns `y - log(1 + y)`. `ratio` is `1 + y`: near -1, `y` has too few digits for the logarithm.
fn log1p_rest(y: f64, ratio: f64) -> f64 {
    if y < -0.75 {
        return y - ratio.ln();
    }
    if !(-0.3..=0.4).contains(&y) {
        return y - y.ln_1p();
    }
    // log(1 + y) = 2 atanh(s), and y - 2s = ys.
    let s = y / (2.0 + y);
    let square = s * s;
    let series = (1..=16).rev().fold(0.0, |sum, k| sum * square + 1.0 / f64::from(2 * k + 1));
    y * s - 2.0 * s * square * series
}

/// Returns `x^a e^-x / Γ(a + 1)`.
fn gamma_power(a: f64, x: f64) -> f64 {
    if a < 10.0 {
        return (a * x.ln() - x - lgamma(a + 1.0)).exp();
    }
    let deviation = log1p_rest((x - a) / a, x / a);
    (-a * deviation - stirling_rest(a)).exp() / (2.0 * PI * a).sqrt()
}

/// A number and its derivative with respect to `a`.
#[derive(Clone, Copy)]
struct Dual {
    value: f64,
    slope: f64,
}

impl Dual {
    fn constant(value: f64) -> Dual {
        Dual { value, slope: 0.0 }
    }
}

impl Add for Dual {
    type Output = Dual;
    fn add(self, other: Dual) -> Dual {
        Dual { value: self.value + other.value, slope: self.slope + other.slope }
    }
}

impl Sub for Dual {
    type Output = Dual;
    fn sub(self, other: Dual) -> Dual {
        Dual { value: self.value - other.value, slope: self.slope - other.slope }
    }
}

impl Mul for Dual {
    type Output = Dual;
    fn mul(self, other: Dual) -> Dual {
        let slope = self.slope * other.value + self.value * other.slope;
        Dual { value: self.value * other.value, slope }
    }
}

impl Div for Dual {
    type Output = Dual;
    fn div(self, other: Dual) -> Dual {
        let value = self.value / other.value;
        Dual { value, slope: (self.slope - value * other.slope) / other.value }
    }
}

fn has_converged(sum: Dual, term: Dual) -> bool {
    let is_small = |sum: f64, term: f64| term.abs() <= SMALLEST_CHANGE * sum.abs();
    is_small(sum.value, term.value) && (is_small(sum.slope, term.slope) || sum.slope == 0.0)
}

/// Returns `P(a, x) Γ(a + 1) / (x^a e^-x)`, where `P` is the lower incomplete gamma function.
fn lower_series(a: f64, x: f64) -> Dual {
    let (mut term, mut sum) = (Dual::constant(1.0), Dual::constant(1.0));
    for n in 1..MOST_TERMS {
        term = term * Dual::constant(x) / Dual { value: a + n as f64, slope: 1.0 };
        sum = sum + term;
        if has_converged(sum, term) {
            break;
        }
    }
    sum
}

/// Returns `Q(a, x) Γ(a) / (x^a e^-x)`, where `Q` is the upper incomplete gamma function: a continued fraction,
/// evaluated with Lentz's method.
fn upper_fraction(a: f64, x: f64) -> Dual {
    let parameter = Dual { value: a, slope: 1.0 };
    let one = Dual::constant(1.0);
    let mut b = Dual::constant(x + 1.0) - parameter;
    let mut c = Dual::constant(1e300);
    let mut d = one / b;
    let mut fraction = d;
    for n in 1..MOST_TERMS {
        let n = Dual::constant(n as f64);
        let numerator = n * (parameter - n);
        b = b + Dual::constant(2.0);
        d = one / (numerator * d + b);
        c = b + numerator / c;
        let factor = c * d;
        let before = fraction;
        fraction = fraction * factor;
        if has_converged(fraction, fraction - before) {
            break;
        }
    }
    fraction
}

/// Tells by which expansion an incomplete gamma function is computed.
fn is_upper(a: f64, x: f64) -> bool {
    x > 1.0 && x > a
}

/// Returns the lower regularized incomplete gamma function.
pub(super) fn igamma(a: f64, x: f64) -> f64 {
    match gamma_limit(a, x) {
        Some(limit) => limit,
        None if is_upper(a, x) => 1.0 - gamma_power(a, x) * a * upper_fraction(a, x).value,
        None => gamma_power(a, x) * lower_series(a, x).value,
    }
}

/// Returns the upper regularized incomplete gamma function.
pub(super) fn igammac(a: f64, x: f64) -> f64 {
    match gamma_limit(a, x) {
        // At 0 the lower function is 0 for every `a`, as in TensorFlow, but the upper function needs a positive `a`.
        Some(limit) => {
            if a > 0.0 {
                1.0 - limit
            } else {
                f64::NAN
            }
        }
        None if is_upper(a, x) => gamma_power(a, x) * a * upper_fraction(a, x).value,
        None => 1.0 - gamma_power(a, x) * lower_series(a, x).value,
    }
}

/// Returns `igamma` where no expansion is needed.
fn gamma_limit(a: f64, x: f64) -> Option<f64> {
    if x == 0.0 {
        return Some(0.0);
    }
    if !(a > 0.0 && x >= 0.0) || a.is_infinite() && x.is_infinite() {
        return Some(f64::NAN);
    }
    if a.is_infinite() {
        return Some(0.0);
    }
    x.is_infinite().then_some(1.0)
}

/// Returns the derivative of `igamma` with respect to `a`.
pub(super) fn igamma_grad_a(a: f64, x: f64) -> f64 {
    match gamma_limit(a, x) {
        Some(limit) if limit.is_nan() => limit,
        Some(_) => 0.0,
        // The derivative of the quantile, times the density, with the opposite sign.
        None => -random_gamma_grad(a, x) * gamma_power(a, x) * a / x,
    }
}

/// Returns `dx/da`, where `x` is the quantile of a fixed probability of the gamma distribution with shape `a`.
pub(super) fn random_gamma_grad(a: f64, x: f64) -> f64 {
    match gamma_limit(a, x) {
        Some(limit) if limit.is_nan() => limit,
        Some(_) => 0.0,
        None if is_upper(a, x) => {
            let Dual { value, slope } = upper_fraction(a, x);
            x * ((x.ln() - digamma(a)) * value + slope)
        }
        None => {
            let Dual { value, slope } = lower_series(a, x);
            -x / a * ((x.ln() - digamma(a + 1.0)) * value + slope)
        }
    }
}

/// Returns the regularized incomplete beta function.
pub(super) fn betainc(a: f64, b: f64, x: f64) -> f64 {
    if !(a > 0.0 && b > 0.0 && (0.0..=1.0).contains(&x)) || a.is_infinite() || b.is_infinite() {
        return f64::NAN;
    }
    if x == 0.0 || x == 1.0 {
        return x;
    }
    let power = beta_power(a, b, x);
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - power * beta_fraction(b, a, 1.0 - x) / b;
    }
    power * beta_fraction(a, b, x) / a
}

/// Returns `x^a (1 - x)^b / B(a, b)`.
fn beta_power(a: f64, b: f64, x: f64) -> f64 {
    let powers = a * x.ln() + b * (-x).ln_1p();
    if a < 10.0 && b < 10.0 {
        return (powers + lgamma(a + b) - lgamma(a) - lgamma(b)).exp();
    }
    if a < 10.0 || b < 10.0 {
        // The difference of two logarithms of large factorials, without their cancellation.
        let (large, small) = if a < b { (b, a) } else { (a, b) };
        let rest = stirling_rest(large + small) - stirling_rest(large);
        let growth = (large - 0.5) * (small / large).ln_1p() + small * ((large + small).ln() - 1.0);
        return (powers + growth + rest - lgamma(small)).exp();
    }
    let offset = x * b - (1.0 - x) * a;
    let ratios = [x * ((a + b) / a), (1.0 - x) * ((a + b) / b)];
    let deviation = a * log1p_rest(offset / a, ratios[0]) + b * log1p_rest(-offset / b, ratios[1]);
    let rest = stirling_rest(a + b) - stirling_rest(a) - stirling_rest(b);
    (rest - deviation).exp() * (a * b / (2.0 * PI * (a + b))).sqrt()
}

/// Returns the continued fraction of `betainc`, evaluated with Lentz's method.
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    let tiny = 1e-300;
    let away = |number: f64| if number.abs() < tiny { tiny } else { number };
    let mut c = 1.0;
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for m in 1..MOST_TERMS {
        let m = m as f64;
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = fraction;
        for numerator in [even, odd] {
            d = 1.0 / away(1.0 + numerator * d);
            c = away(1.0 + numerator / c);
            fraction *= c * d;
        }
        if (fraction - before).abs() <= SMALLEST_CHANGE * fraction.abs() {
            break;
        }
    }
    fraction
}

/// `B(2j) / (2j)!` for `j` from 1, where `B` are the Bernoulli numbers.
const EULER_MACLAURIN: [f64; 12] = [
    1.0 / 12.0,
    -1.0 / 720.0,
    1.0 / 30_240.0,
    -1.0 / 1_209_600.0,
    1.0 / 47_900_160.0,
    -691.0 / 1_307_674_368_000.0,
    1.0 / 74_724_249_600.0,
    -3617.0 / 10_670_622_842_880_000.0,
    43_867.0 / 5_109_094_217_170_944_000.0,
    -174_611.0 / 802_857_662_698_291_200_000.0,
    77_683.0 / 14_101_100_039_391_805_440_000.0,
    -236_364_091.0 / 1_693_824_136_731_743_669_452_800_000.0,
];

/// Below this argument the terms below zero are too many to be added one by one.
const MANY_NEGATIVE_TERMS: f64 = -64.0;

/// Returns the Hurwitz zeta function `Σ (q + k)^-x`.
pub(super) fn zeta(x: f64, q: f64) -> f64 {
    if x == 1.0 {
        return f64::INFINITY;
    }
    if x < 1.0 || x.is_nan() || q.is_nan() {
        return f64::NAN;
    }
    if q == f64::INFINITY {
        return 0.0;
    }
    if q <= 0.0 {
        // TensorFlow takes an infinite exponent for an even one.
        let is_even = x == f64::INFINITY || x % 2.0 == 0.0;
        if q == q.floor() {
            return if is_even { f64::INFINITY } else { f64::NAN };
        }
        if x != x.floor() {
            return f64::NAN;
        }
        if q < MANY_NEGATIVE_TERMS {
            // Apart from their signs, the terms with a negative `q + k` are the terms of `below, below + 1, …, -q`.
            let below = q.ceil() - q;
            let negative = zeta(x, below) - zeta(x, 1.0 - q);
            return if is_even { negative } else { -negative } + zeta(x, 1.0 - below);
        }
    }
    let mut sum = 0.0;
    let mut base = q;
    // The terms before the remainder, which the Euler-Maclaurin formula gives.
    while base < 10.0 + x / 2.0 {
        let term = base.powf(-x);
        sum += term;
        base += 1.0;
        // Infinite terms of opposite signs, one on each side of zero, give NaN.
        if base > 1.0 && (f64::is_nan(sum) || term.abs() <= SMALLEST_CHANGE * f64::abs(sum)) {
            return sum;
        }
    }
    let power = base.powf(-x);
    sum += power * (base / (x - 1.0) + 0.5);
    let mut rising = x * power / base;
    for (j, factor) in EULER_MACLAURIN.iter().enumerate() {
        let term = factor * rising;
        sum += term;
        if term.abs() <= SMALLEST_CHANGE * sum.abs() {
            break;
        }
        let next = x + 2.0 * j as f64 + 1.0;
        rising *= next * (next + 1.0) / (base * base);
    }
    sum
}

/// Returns derivative number `n` of `digamma`.
pub(super) fn polygamma(n: f64, x: f64) -> f64 {
    if n == 0.0 {
        return digamma(x);
    }
    if n < 0.0 || n != n.floor() {
        return f64::NAN;
    }
    let factorial = match n {
        f64::INFINITY => n,
        _ if n <= 170.0 => (1..=n as u32).map(f64::from).product(),
        _ => lgamma(n + 1.0).exp(),
    };
    let sign = if n % 2.0 == 0.0 { -1.0 } else { 1.0 };
    sign * factorial * zeta(n + 1.0, x)
}

#[cfg(test)]
mod tests {
    use super::{digamma, polygamma, zeta};

    #[test]
    fn many_terms_below_zero_are_not_added_one_by_one() {
        for x in [2.0, 3.0, 7.0] {
            // The last argument whose terms are added one by one, with the terms that come before them.
            let nearest = zeta(x, -63.75);
            let before = (0..1000).map(|k| f64::powf(-1063.75 + f64::from(k), -x)).sum::<f64>();
            let far = zeta(x, -1063.75);
            assert!((far - nearest - before).abs() <= 1e-13 * nearest.abs(), "{x}: {far} {nearest} {before}");
        }
        assert!(zeta(3.0, -4e15 + 0.5).is_finite());
        assert!(zeta(2.0, -1e300).is_infinite());
        assert!(zeta(1e10 + 1.0, -0.5).is_nan());
    }

    #[test]
    fn digamma_has_a_pole_at_zero() {
        for x in [-1e-40, -1e-17, -1e-9] {
            assert!((digamma(x) * x + 1.0).abs() < 1e-8, "{x}: {}", digamma(x));
        }
    }

    #[test]
    fn terms_of_infinite_arguments_vanish() {
        assert_eq!((zeta(2.5, f64::INFINITY), zeta(f64::INFINITY, 2.0)), (0.0, 0.0));
        assert_eq!((zeta(f64::INFINITY, 1.0), zeta(1.0, f64::INFINITY)), (1.0, f64::INFINITY));
    }

    #[test]
    fn infinite_exponents_have_the_limits_that_tensorflow_gives() {
        let infinite = f64::INFINITY;
        for q in [0.0, -0.0, -1.0, -1.5, -2.0, -100.5, 0.5, -infinite] {
            assert_eq!((zeta(infinite, q), polygamma(infinite, q)), (infinite, infinite), "{q}");
        }
        assert_eq!(polygamma(infinite, 1.0), infinite);
        assert!(polygamma(infinite, infinite).is_nan() && zeta(infinite, f64::NAN).is_nan());
    }
}
