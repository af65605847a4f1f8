//! Errors in units in the last place.

/// Returns the unit in the last place of a float of this size, for a format with `digits` fraction bits and the minimum
/// exponent `least`.
pub(super) fn ulp(size: f64, digits: i32, least: i32) -> f64 {
    let exponent = if size == 0.0 { least } else { (size.abs().to_bits() >> 52) as i32 - 1023 };
    // Two factors, because the smallest f64 is below the range of `powi`'s intermediate results.
    2f64.powi(exponent.max(least)) * 2f64.powi(-digits)
}

/// Returns the error of `got` in ulp of an f32. The error is infinite if only one of `got` and `exact` is NaN or
/// infinite, or if the signs of zeros differ.
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
