//! Sine, cosine and tangent of large doubles.
//!
//! The reduction is that of Payne and Hanek: the product of an angle and those bits of 2/π that decide the quadrant and
//! the distance from its middle, in integer arithmetic. Whole turns are never computed. The distance has an error of
//! less than 2^-60 of its magnitude, for every double.

use super::trig::{COS_DOUBLE, SIN_DOUBLE, TAN_DOUBLE};
use crate::expr::AngleFunction;

/// The least magnitude of a large angle: 2^20. The expressions in `trig` reduce smaller angles.
pub(crate) const LARGE_ANGLE: f64 = 1_048_576.0;

impl AngleFunction {
    /// Returns `usual` if `x` is not a large angle, else the function of `x`; NaN for infinity. Errors for large
    /// angles: sine and cosine 0.9 ulp, tangent 1.8 ulp.
    pub(crate) fn where_large(self, usual: f64, x: f64) -> f64 {
        if x.abs() >= LARGE_ANGLE { self.of_large(x) } else { usual }
    }

    fn of_large(self, x: f64) -> f64 {
        let Some(Reduced { quadrant, r, low }) = Reduced::new(x) else { return f64::NAN };
        let quarter_turns = match self {
            AngleFunction::Sin => quadrant,
            AngleFunction::Cos => quadrant.wrapping_add(1),
            AngleFunction::Tan => return tangent(quadrant, r, low),
        };
        let value = if quarter_turns & 1 == 0 { sine(r, low) } else { cosine(r, low) };
        if quarter_turns & 2 == 0 { value } else { -value }
    }
}

/// 64 zeros, then the first 1,216 bits of 2/π.
const TWO_OVER_PI: [u64; 20] = [
    0,
    0xa2f9_836e_4e44_1529,
    0xfc27_57d1_f534_ddc0,
    0xdb62_9599_3c43_9041,
    0xfe51_63ab_debb_c561,
    0xb724_6e3a_424d_d2e0,
    0x0649_2eea_09d1_921c,
    0xfe1d_eb1c_b129_a73e,
    0xe882_35f5_2ebb_4484,
    0xe99c_7026_b45f_7e41,
    0x3991_d639_8353_39f4,
    0x9c84_5f8b_bdf9_283b,
    0x1ff8_97ff_de05_980f,
    0xef2f_118b_5a0a_6d1f,
    0x6d36_7ecf_27cb_09b7,
    0x4f46_3f66_9e5f_ea2d,
    0x7527_bac7_ebe5_f17b,
    0x3d07_39f7_8a52_92ea,
    0x6bfb_5fb1_1f8d_5d08,
    0x5603_3046_fc7b_6bab,
];

/// π/2 in units of 2^-127.
const HALF_PI: u128 = 0xc90f_daa2_2168_c234_c4c6_628b_80dc_1cd1;

/// An angle of `quadrant · π/2 + r + low`, modulo whole turns. `|r|` is at most π/4.
struct Reduced {
    quadrant: u64,
    r: f64,
    low: f64,
}

impl Reduced {
    /// Reduces a large angle. Returns `None` for infinity.
    fn new(x: f64) -> Option<Reduced> {
        if !x.is_finite() {
            return None;
        }
        let bits = x.abs().to_bits();
        let exponent = (bits >> 52) as usize;
        let mantissa = bits & ((1 << 52) - 1) | 1 << 52;
        // `|x|` is `mantissa · 2^(exponent - 1075)`. Times the bits of 2/π before this one, it is a multiple of 4.
        let first = exponent - 1013;
        let word = |k: usize| {
            let index = first / 64 + k;
            let pair = u128::from(TWO_OVER_PI[index]) << 64 | u128::from(TWO_OVER_PI[index + 1]);
            (pair << (first % 64) >> 64) as u64
        };
        // The product with 192 bits of 2/π, modulo 2^192. It is `|x| · 2/π` modulo 4 in units of 2^-190.
        let times = |word: u64| u128::from(mantissa) * u128::from(word);
        let low = times(word(2));
        let middle = times(word(1)) + (low >> 64);
        let high = mantissa.wrapping_mul(word(0)).wrapping_add((middle >> 64) as u64);
        let (middle, low) = (middle as u64, low as u64);
        // The fraction in units of 2^-192, as a signed number, so that it is in [-1/2, 1/2).
        let fraction = [high << 2 | middle >> 62, middle << 2 | low >> 62, low << 2];
        let is_negative = fraction[0] >> 63 == 1;
        let quadrant = (high >> 62) + u64::from(is_negative);
        let (r, low) = quarter_turns_to_radians(if is_negative { negated(fraction) } else { fraction });
        let (r, low) = if is_negative != x.is_sign_negative() { (-r, -low) } else { (r, low) };
        let quadrant = if x.is_sign_negative() { quadrant.wrapping_neg() } else { quadrant };
        Some(Reduced { quadrant, r, low })
    }
}

/// Negates a two's complement number, given by its words with the highest first.
fn negated(words: [u64; 3]) -> [u64; 3] {
    let low = (u128::from(!words[1]) << 64 | u128::from(!words[2])).wrapping_add(1);
    let carry = u64::from(low == 0);
    [(!words[0]).wrapping_add(carry), (low >> 64) as u64, low as u64]
}

/// Multiplies a number in units of 2^-192 by π/2. Returns the nearest double and the rest.
fn quarter_turns_to_radians([high, middle, low]: [u64; 3]) -> (f64, f64) {
    let pair = |high: u64, low: u64| u128::from(high) << 64 | u128::from(low);
    let (top, next, skipped) =
        if high == 0 { (pair(middle, low), 0, 64) } else { (pair(high, middle), low, 0) };
    let zeros = top.leading_zeros().min(127);
    // The first 128 bits from the highest one on.
    let bits = top << zeros | u128::from(next) << 64 >> (128 - zeros).min(127);
    let product = high_product(bits, HALF_PI);
    let r = product as f64;
    let rest = product.wrapping_sub(r as u128) as i128 as f64;
    let unit = f64::from_bits(u64::from(1023 - 127 - zeros - skipped) << 52);
    (r * unit, rest * unit)
}

/// Returns the high 128 bits of a product, up to an error of 2 units.
fn high_product(a: u128, b: u128) -> u128 {
    let (a_high, a_low, b_high, b_low) =
        (a >> 64, a & u128::from(u64::MAX), b >> 64, b & u128::from(u64::MAX));
    a_high * b_high + ((a_high * b_low) >> 64) + ((a_low * b_high) >> 64)
}

/// Evaluates the polynomial with these coefficients, the highest power first.
fn polynomial(x: f64, coefficients: &[f64]) -> f64 {
    coefficients.iter().fold(0.0, |sum, coefficient| sum * x + coefficient)
}

fn sine(r: f64, low: f64) -> f64 {
    let z = r * r;
    r + (r * z * polynomial(z, &SIN_DOUBLE) + low)
}

fn cosine(r: f64, low: f64) -> f64 {
    let z = r * r;
    let near = 1.0 - 0.5 * z;
    let rounding_error = (1.0 - near) - 0.5 * z;
    near + (z * z * polynomial(z, &COS_DOUBLE) + (rounding_error - r * low))
}

/// Computes the tangent of `quadrant · π/2 + r + low`.
fn tangent(quadrant: u64, r: f64, low: f64) -> f64 {
    let z = r * r;
    let p = polynomial(z, &TAN_DOUBLE.0) / polynomial(z, &TAN_DOUBLE.1);
    let rest = r * z * p + low;
    let tangent = r + rest;
    if quadrant & 1 == 0 {
        return tangent;
    }
    // tan(r + π/2) = -1/tan(r).
    let rounding_error = (r - tangent) + rest;
    let quotient = -1.0 / tangent;
    quotient + quotient * quotient * rounding_error
}
