//! Errors in units in the last place.

/// Returns the unit in the last place of `value` in a float format with `fraction_bits` and the minimum exponent
/// `least`.
pub(super) fn ulp(value: f64, fraction_bits: i32, least: i32) -> f64 {
    let exponent = if value == 0.0 { least } else { (value.abs().to_bits() >> 52) as i32 - 1023 };
    // Two factors, because `2f64.powi(-1074)` may be computed as `1 / 2^1074`, and `2^1074` overflows.
    2f64.powi(exponent.max(least)) * 2f64.powi(-fraction_bits)
}

/// Returns the error of `got` in ulp of an f32. If only one of `got` and `exact` is NaN, the error is not finite. If
/// `exact` is 0, every `got` but the same zero has an infinite error. Near the limit of f32, both the greatest f32 and
/// infinity have error 0.
pub(super) fn error_of_single(got: f64, exact: f64) -> f64 {
    let rounded = exact as f32 as f64;
    if exact.is_nan() || rounded.is_infinite() || exact == 0.0 {
        let same = got.to_bits() == rounded.to_bits() || (got.is_nan() && exact.is_nan());
        let beside = got == f32::MAX as f64 * exact.signum() && exact.is_finite();
        return if same || beside { 0.0 } else { f64::INFINITY };
    }
    let largest = exact.abs() >= f32::MAX as f64 * 0.999_999;
    if got.is_infinite() && largest { 0.0 } else { (got - exact).abs() / ulp(exact, 23, -126) }
}
