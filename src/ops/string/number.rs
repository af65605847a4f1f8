//! Numbers as text, as C's `printf` writes them.

/// How `printf` writes a float.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FloatStyle {
    /// `%f`: digits, a point, and as many digits as the precision.
    Fixed,
    /// `%e`: one digit, a point, as many digits as the precision, and an exponent.
    Scientific,
    /// `%g`: the shorter of the two with as many significant digits as the precision, without trailing zeros.
    Shortest,
}

/// The flags, the width and the precision of a conversion of `printf`.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Spec {
    /// The flag: `-`, `+`, `0`, `#` or a blank.
    pub flag: Option<u8>,
    pub width: usize,
    pub precision: Option<usize>,
}

impl Spec {
    /// Writes a float.
    pub(super) fn float(&self, x: f64, style: FloatStyle) -> String {
        if !x.is_finite() {
            let name = if x.is_nan() { "nan" } else { "inf" };
            return self.padded(x.is_sign_negative(), true, name, false);
        }
        let (precision, keeps) = (self.precision.unwrap_or(6), self.flag == Some(b'#'));
        let digits = match style {
            FloatStyle::Fixed => fixed(x.abs(), precision, keeps),
            FloatStyle::Scientific => scientific(x.abs(), precision, keeps),
            FloatStyle::Shortest => shortest(x.abs(), precision, keeps),
        };
        self.padded(x.is_sign_negative(), true, &digits, true)
    }

    /// Writes an integer.
    pub(super) fn integer(&self, x: i128, is_signed: bool) -> String {
        self.padded(x < 0, is_signed, &x.unsigned_abs().to_string(), true)
    }

    /// Adds a sign, and blanks or zeros up to the width.
    fn padded(&self, is_negative: bool, is_signed: bool, digits: &str, takes_zeros: bool) -> String {
        let sign = match self.flag {
            _ if is_negative => "-",
            Some(b'+') if is_signed => "+",
            Some(b' ') if is_signed => " ",
            _ => "",
        };
        let missing = self.width.saturating_sub(sign.len() + digits.len());
        match self.flag {
            Some(b'-') => format!("{sign}{digits}{}", " ".repeat(missing)),
            Some(b'0') if takes_zeros => format!("{sign}{}{digits}", "0".repeat(missing)),
            _ => format!("{}{sign}{digits}", " ".repeat(missing)),
        }
    }
}

fn fixed(x: f64, precision: usize, keeps_point: bool) -> String {
    let point = if keeps_point && precision == 0 { "." } else { "" };
    format!("{x:.precision$}{point}")
}

/// Writes `1.5e+00`: Rust writes the same digits with the exponent `e0`.
fn scientific(x: f64, precision: usize, keeps_point: bool) -> String {
    let text = format!("{x:.precision$e}");
    let (digits, exponent) = text.split_once('e').expect("scientific notation has an exponent");
    let exponent: i32 = exponent.parse().expect("an exponent is an integer");
    let sign = if exponent < 0 { '-' } else { '+' };
    let point = if keeps_point && precision == 0 { "." } else { "" };
    format!("{digits}{point}e{sign}{:02}", exponent.abs())
}

fn shortest(x: f64, precision: usize, keeps_zeros: bool) -> String {
    let precision = precision.max(1);
    let rounded = format!("{x:.*e}", precision - 1);
    let (_, exponent) = rounded.split_once('e').expect("scientific notation has an exponent");
    let exponent: i64 = exponent.parse().expect("an exponent is an integer");
    if exponent < -4 || exponent >= precision as i64 {
        let text = scientific(x, precision - 1, keeps_zeros);
        let (digits, exponent) = text.split_once('e').expect("scientific notation has an exponent");
        return format!("{}e{exponent}", without_zeros(digits, keeps_zeros));
    }
    let text = fixed(x, (precision as i64 - 1 - exponent) as usize, keeps_zeros);
    without_zeros(&text, keeps_zeros).to_string()
}

/// Removes zeros after the point, and the point if nothing follows it.
fn without_zeros(digits: &str, keeps_zeros: bool) -> &str {
    match digits.contains('.') && !keeps_zeros {
        true => digits.trim_end_matches('0').trim_end_matches('.'),
        false => digits,
    }
}

/// Writes a float with six significant digits for f32 and 15 for f64. If these digits do not read back as the same
/// number, writes nine digits for f32 and 17 for f64.
pub(super) fn roundtrip(x: f64, is_f32: bool) -> String {
    let write =
        |precision| Spec { precision: Some(precision), ..Spec::default() }.float(x, FloatStyle::Shortest);
    let (few, many) = if is_f32 { (6, 9) } else { (15, 17) };
    let text = write(few);
    let reads_back = match is_f32 {
        true => text.parse() == Ok(x as f32),
        false => text.parse() == Ok(x),
    };
    if reads_back || !x.is_finite() { text } else { write(many) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_as_c_writes_them() {
        use FloatStyle::{Fixed, Scientific, Shortest};
        let write = |x, style, precision, flag, width| Spec { flag, width, precision }.float(x, style);
        assert_eq!(write(2.5, Fixed, Some(0), None, 0), "2");
        assert_eq!(write(1e22, Fixed, None, None, 0), "10000000000000000000000.000000");
        assert_eq!(write(-0.0, Scientific, Some(1), Some(b'0'), 10), "-000.0e+00");
        assert_eq!(write(123_456.0, Shortest, Some(3), Some(b'-'), 9), "1.23e+05 ");
        assert_eq!(write(0.0001, Shortest, None, Some(b'#'), 0), "0.000100000");
        assert_eq!(write(f64::NEG_INFINITY, Fixed, None, Some(b'0'), 6), "  -inf");
        assert_eq!(
            (roundtrip(f64::from(1f32 / 3.0), true).as_str(), roundtrip(0.1, false).as_str()),
            ("0.333333343", "0.1")
        );
        assert_eq!(Spec { flag: Some(b'+'), width: 4, precision: None }.integer(7, true), "  +7");
    }
}
