//! `string_to_number`: text as numbers.

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use super::case::strip;
use super::params::{check_strings, quoted, strings};
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::Value;
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::tensor::{Element, place_text};

impl<'g> Value<'g> {
    /// Reads each string as a number of `dtype`, with white space around it.
    ///
    /// `string[..] -> dtype[..]`; `dtype` is f32, f64, i32, i64, u32 or u64. Floats may have an exponent, be `inf`,
    /// `infinity` or `nan` in any case, or be hexadecimal such as `0x1F` or `0x1.8p-3`. As TensorFlow's
    /// `StringToNumber`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant(["1.5", " -2e3 "])?.string_to_number(DType::F32)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([1.5f32, -2000.0]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are not strings, or `dtype` is not supported. `Data`: a string that is not such a number fails the
    /// run.
    #[doc(alias = "parse")]
    #[track_caller]
    pub fn string_to_number(self, dtype: DType) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).attr("out_type", dtype).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::host("string_to_number", run)
    .attrs(&[Attribute::dtype_or("out_type", DType::F32)])
    .operands(&[Operand::Data("string_tensor")])
    .shape_fn(shapeflow_shape_fns::common::unary)
    .dtype_rule(|operands, attrs| {
        check_strings(operands, 1)?;
        out_type(attrs).map(|dtype| vec![dtype])
    })
    .tensorflow(&[TfOp::new("StringToNumber")]);

fn out_type(attrs: &Attrs) -> Result<DType> {
    match attrs.dtype("out_type") {
        dtype @ (DType::F32 | DType::F64 | DType::I32 | DType::I64 | DType::U32 | DType::U64) => Ok(dtype),
        other => dtype::refuse(format!("out_type must be f32, f64, i32, i64, u32 or u64, got {other}")),
    }
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    match out_type(cx.attrs())? {
        DType::F32 => read::<f32>(cx, float),
        DType::F64 => read::<f64>(cx, float),
        DType::I32 => read::<i32>(cx, integer),
        DType::I64 => read::<i64>(cx, integer),
        DType::U32 => read::<u32>(cx, integer),
        _ => read::<u64>(cx, integer),
    }
}

fn read<T: Element>(cx: &mut HostCx<'_>, parse: fn(&str) -> Option<T>) -> Result<()> {
    let (x, view) = (strings(cx, 0)?, cx.input(0)?);
    let mut numbers = cx.unfilled_output(0, view.sizes())?;
    for (position, (number, string)) in numbers.as_mut_slice::<T>()?.iter_mut().zip(x.iter()).enumerate() {
        *number = parsed(string, parse).ok_or_else(|| {
            let place = place_text(position, view.sizes());
            let message = format!("a string must be a number of {}, got {}{place}", T::DTYPE, quoted(string));
            Error::new(ErrorKind::Data, Phase::Run, message).blame_element(0)
        })?;
    }
    Ok(())
}

/// Reads a number with white space around it.
pub(super) fn parsed<T>(string: &[u8], parse: fn(&str) -> Option<T>) -> Option<T> {
    std::str::from_utf8(strip(string)).ok().and_then(parse)
}

/// Reads an integer with an optional sign.
pub(super) fn integer<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

/// A float type that can be read from text, also from hexadecimal digits.
pub(super) trait ParseFloat: std::str::FromStr + std::ops::Neg<Output = Self> {
    const NAN: Self;

    /// Returns the number that is nearest to a hexadecimal number.
    fn from_hex(number: &HexNumber) -> Self;
}

impl ParseFloat for f32 {
    const NAN: f32 = f32::NAN;

    fn from_hex(number: &HexNumber) -> f32 {
        // The value has at most 24 bits, so that only an overflow changes it here.
        number.rounded(24, -149) as f32
    }
}

impl ParseFloat for f64 {
    const NAN: f64 = f64::NAN;

    fn from_hex(number: &HexNumber) -> f64 {
        number.rounded(53, -1074)
    }
}

/// The number `mantissa * 2^exponent`.
pub(super) struct HexNumber {
    /// The leading bits of the number. The last of them is also set if a bit that was cut off is set.
    mantissa: u64,
    exponent: i64,
}

impl HexNumber {
    /// Reads hexadecimal digits, an optional point among them, and an optional binary exponent such as `p-3`.
    fn read(text: &str) -> Option<HexNumber> {
        let (digits, exponent) = match text.split_once(['p', 'P']) {
            Some((digits, exponent)) => (digits, exponent_of(exponent)?),
            None => (text, 0),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if whole.len() + fraction.len() == 0 {
            return None;
        }
        let mut number = HexNumber { mantissa: 0, exponent };
        for (place, digit) in whole.chars().chain(fraction.chars()).enumerate() {
            let digit = u64::from(digit.to_digit(16)?);
            // A float has fewer bits than the mantissa. Of all further digits it matters only whether they are 0.
            let is_kept = number.mantissa >> 60 == 0;
            if is_kept {
                number.mantissa = number.mantissa << 4 | digit;
            } else {
                number.mantissa |= u64::from(digit != 0);
            }
            let change = i64::from(!is_kept) - i64::from(place >= whole.len());
            number.exponent = number.exponent.saturating_add(4 * change);
        }
        Some(number)
    }

    /// Returns the nearest number of at most `precision` bits whose lowest bit is at least `2^lowest`. Of two nearest
    /// numbers, the result is the even one.
    fn rounded(&self, precision: i64, lowest: i64) -> f64 {
        let bits = i64::from(u64::BITS - self.mantissa.leading_zeros());
        let unit = self.exponent.saturating_add(bits - precision).max(lowest);
        if bits == 0 || unit > 1023 {
            return if bits == 0 { 0.0 } else { f64::INFINITY };
        }
        // `self.exponent` may have been saturated, so the difference may be large.
        let dropped = unit.saturating_sub(self.exponent);
        let kept = match dropped {
            ..=0 => self.mantissa << -dropped,
            1..=63 => {
                let (kept, rest) = (self.mantissa >> dropped, self.mantissa & ((1 << dropped) - 1));
                let half = 1 << (dropped - 1);
                kept + u64::from(rest > half || rest == half && kept & 1 == 1)
            }
            // The mantissa has at most 64 bits. It rounds up if it exceeds half a unit.
            64 => u64::from(self.mantissa > 1 << 63),
            _ => 0,
        };
        kept as f64 * power_of_two(unit)
    }
}

/// Returns `2^exponent`, for exponents from -1074 to 1023.
fn power_of_two(exponent: i64) -> f64 {
    let bits = match exponent {
        ..-1022 => 1 << (exponent + 1074),
        _ => (exponent + 1023) << 52,
    };
    f64::from_bits(bits.cast_unsigned())
}

/// Reads a decimal exponent with an optional sign. An exponent beyond `i64::MAX / 2` in absolute value becomes that
/// limit.
fn exponent_of(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let limit = i64::MAX / 2;
    let size = digits.parse::<i64>().unwrap_or(limit).min(limit);
    Some(if text.starts_with('-') { -size } else { size })
}

/// Reads a float.
pub(super) fn float<T: ParseFloat>(text: &str) -> Option<T> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned.starts_with(['+', '-']) {
        return None;
    }
    if is_nan_with_payload(unsigned) {
        return Some(T::NAN);
    }
    match unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X")) {
        Some(digits) => {
            let value = T::from_hex(&HexNumber::read(digits)?);
            Some(if text.starts_with('-') { -value } else { value })
        }
        None => text.parse().ok(),
    }
}

/// Returns whether a text is `nan(...)` with letters, digits and underscores inside the parentheses.
fn is_nan_with_payload(text: &str) -> bool {
    let Some((name, payload)) = text.split_once('(') else { return false };
    let is_word = |payload: &str| payload.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    name.eq_ignore_ascii_case("nan") && payload.strip_suffix(')').is_some_and(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Graph, Tensor, shape};

    #[test]
    fn an_error_names_the_place_of_the_string() -> Result<()> {
        let g = Graph::new();
        let x = g.input("x", DType::String, shape![?, ?])?;
        let exe = g.compile(x.string_to_number(DType::F64)?)?;
        let words = Tensor::from([["1.5", "2"], ["3", "two"]].as_flattened());
        let words = Tensor::from_strings(&[2, 2], &words.as_strings()?.iter().collect::<Vec<_>>())?;
        let error = exe.run_all(&[words.view()]).unwrap_err();
        assert_eq!((error.kind(), error.phase()), (ErrorKind::Data, Phase::Run));
        assert!(error.message().ends_with("got \"two\" at [1, 1]"), "{error}");
        assert!(error.to_string().contains("operand 0 comes from x at "), "{error}");
        Ok(())
    }
}
