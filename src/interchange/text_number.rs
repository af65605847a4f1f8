//! Parses the numbers of protobuf text.

use std::ops::RangeInclusive;

/// Parses a floating-point number with an optional suffix `f`.
pub(super) fn float(word: &str) -> Option<f64> {
    let plain = match word.strip_suffix(['f', 'F']) {
        Some(number) if number.parse::<f64>().is_ok() && !word.ends_with("inf") => number,
        _ => word,
    };
    plain.parse().ok()
}

/// Parses a decimal, hexadecimal or octal integer with an optional minus. Returns a negative number in two's
/// complement; `None` for a number outside of `range`.
pub(super) fn integer(word: &str, range: RangeInclusive<i128>) -> Option<u64> {
    let (negative, digits) = match word.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, word),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let magnitude = if let Some(hex) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        u64::from_str_radix(hex, 16)
    } else if digits.len() > 1 && digits.starts_with('0') {
        u64::from_str_radix(digits, 8)
    } else {
        digits.parse()
    };
    let magnitude = i128::from(magnitude.ok()?);
    let value = if negative { -magnitude } else { magnitude };
    range.contains(&value).then_some(value as u64)
}
