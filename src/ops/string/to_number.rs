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
    /// `string[..] -> dtype[..]`; `dtype` is f32, f64, i32, i64, u32 or u64. Floats may have an exponent, be `inf` or
    /// `nan` in any case, or be hexadecimal integers such as `0x1F`. As TensorFlow's `StringToNumber`. Runs on the
    /// host.
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
    /// The elements are not strings, or `dtype` is not supported. `Parse`: a string that is not such a number fails the
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
            Error::new(ErrorKind::Parse, Phase::Run, message).blame_element(0)
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

/// A float type, with its value for a hexadecimal integer.
pub(super) trait Float: std::str::FromStr + std::ops::Neg<Output = Self> {
    fn from_hex(digits: &str) -> Option<Self>;
}

impl Float for f32 {
    fn from_hex(digits: &str) -> Option<f32> {
        u64::from_str_radix(digits, 16).ok().map(|value| value as f32)
    }
}

impl Float for f64 {
    fn from_hex(digits: &str) -> Option<f64> {
        u64::from_str_radix(digits, 16).ok().map(|value| value as f64)
    }
}

/// Reads a float. Rust also reads `infinity`, which TensorFlow refuses.
pub(super) fn float<T: Float>(text: &str) -> Option<T> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned.starts_with(['+', '-']) || unsigned.eq_ignore_ascii_case("infinity") {
        return None;
    }
    match unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X")) {
        Some(digits) if digits.starts_with('+') => None,
        Some(digits) => T::from_hex(digits).map(|value| if text.starts_with('-') { -value } else { value }),
        None => text.parse().ok(),
    }
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
        assert_eq!((error.kind(), error.phase()), (ErrorKind::Parse, Phase::Run));
        assert!(error.message().ends_with("got \"two\" at [1, 1]"), "{error}");
        assert!(error.to_string().contains("operand 0 comes from x at "), "{error}");
        Ok(())
    }
}
