//! `string_format`: tensors in a text.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, DType};

use super::number::roundtrip;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::Value;
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::tensor::{Datum, StringsBuilder, TensorView};

/// Writes `template` with each `{}` replaced by the elements of a value. Long axes show their first and last three
/// elements. An empty tensor of bools shows as an empty text.
///
/// `[..]… -> string[]`, every dtype; the first elements of complex numbers and qi32 show as `?`. As TensorFlow's
/// `StringFormat`; imported graphs may use another placeholder. Runs on the host.
///
/// ```
/// use shapeflow::{Graph, string_format};
///
/// let g = Graph::new();
/// let text = string_format("x = {}", &[g.constant([[1, 2], [3, 4]])?])?;
/// let [text] = g.compile(text)?.run(&[])?;
/// assert_eq!(text.as_strings()?.at(0), b"x = [[1 2]\n [3 4]]");
/// # Ok::<(), shapeflow::Error>(())
/// ```
///
/// # Errors
/// There are no values, or their number is not the number of placeholders.
#[track_caller]
pub fn string_format<'g>(template: &str, values: &[Value<'g>]) -> Result<Value<'g>> {
    let location = Location::caller();
    let first = values.first().ok_or_else(|| {
        let error =
            Error::new(ErrorKind::Attribute, Phase::Build, "there must be at least one value, got none");
        error.with_op("string_format", "string_format").at(location)
    })?;
    let call = first.graph().op(&DEF).data_all(values);
    call.attr("template", template).attr("placeholder", "{}").finish_at(location)
}

pub(crate) static DEF: OpDef = OpDef::host("string_format", run)
    .attrs(&[
        Attribute::bytes_or("template", "%s"),
        Attribute::bytes_or("placeholder", "%s"),
        Attribute::int_or("summarize", 3),
    ])
    .operands(&[Operand::Variadic("inputs..")])
    .shape_fn(shapeflow_shape_fns::string::string_format)
    .dtype_rule(|_, _| Ok(vec![DType::String]))
    .tensorflow(&[TfOp::new("StringFormat")]);

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let template = cx.attrs().bytes("template");
    let placeholder = cx.attrs().bytes("placeholder");
    let summarize = cx.attrs().int("summarize");
    let pieces = split_at(template, placeholder);
    let mut text = StringsBuilder::new();
    for (number, piece) in pieces.iter().enumerate() {
        if number > 0 {
            let view = cx.input(number - 1)?;
            let ends = usize::try_from(summarize).unwrap_or(usize::MAX).min(view.len());
            let mut index = vec![0; view.sizes().len()];
            let mut shown = Vec::new();
            // If no element is shown, TensorFlow writes nothing for bools, and only `...` for other scalars.
            match (marks_of(&view, ends), ends > 0, view.sizes().is_empty()) {
                (Some(marks), _, true) => shown.extend(marks.as_bytes()),
                (Some(marks), _, false) => shown.extend(format!("[{marks}]").as_bytes()),
                (None, false, _) if view.dtype() == DType::Bool => {}
                (None, false, true) => shown.extend(b"..."),
                _ => Elements { view, ends }.write(0, &mut index, &mut shown),
            }
            text.append(&shown)?;
        }
        text.append(piece)?;
    }
    text.end()?;
    cx.set_output(0, text.finish(&[])?)
}

/// Splits bytes at every occurrence of `separator`, from the left. An empty separator splits nothing.
fn split_at<'a>(mut bytes: &'a [u8], separator: &[u8]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    while !separator.is_empty()
        && let Some(start) = bytes.windows(separator.len()).position(|window| window == separator)
    {
        pieces.push(&bytes[..start]);
        bytes = &bytes[start + separator.len()..];
    }
    pieces.push(bytes);
    pieces
}

/// The elements of a tensor. A long axis shows `ends` elements at each end.
struct Elements<'a> {
    view: TensorView<'a>,
    ends: usize,
}

impl Elements<'_> {
    /// Writes the elements whose first `axis` indices equal `index`.
    fn write(&self, axis: usize, index: &mut Vec<i64>, out: &mut Vec<u8>) {
        let Some(&count) = self.view.sizes().get(axis) else {
            let bytes = self.view.element_at(index).expect("the index lies in the sizes");
            return element(self.view.dtype(), bytes, out);
        };
        let end = self.ends.max(count.saturating_sub(self.ends));
        out.push(b'[');
        for i in (0..count.min(self.ends)).chain([usize::MAX]).chain(end..count) {
            if i == usize::MAX {
                if count > self.ends.saturating_mul(2) {
                    self.space(axis, out);
                    out.extend(b"...");
                }
                continue;
            }
            if i > 0 {
                self.space(axis, out);
            }
            index[axis] = i as i64;
            self.write(axis + 1, index, out);
        }
        out.push(b']');
    }

    /// Writes what separates two elements of an axis.
    fn space(&self, axis: usize, out: &mut Vec<u8>) {
        let inner = self.view.sizes().len() - axis - 1;
        out.extend(std::iter::repeat_n(b'\n', inner));
        out.extend(std::iter::repeat_n(b' ', if inner == 0 { 1 } else { axis + 1 }));
    }
}

/// Writes one element.
fn element(dtype: DType, bytes: &[u8], out: &mut Vec<u8>) {
    match number_text(dtype, bytes) {
        Some(text) => out.extend(text.as_bytes()),
        None => {
            out.push(b'"');
            out.extend(escaped(bytes));
            out.push(b'"');
        }
    }
}

/// Returns the text of a tensor whose elements have no text in TensorFlow: a mark for each of the first `limit`
/// elements, whatever the axes. Returns `None` for a tensor of another dtype.
pub(super) fn marks_of(view: &TensorView<'_>, limit: usize) -> Option<String> {
    let dtype = view.dtype();
    if !dtype.is_complex() && !matches!(dtype, DType::QI32 | DType::Variant) {
        return None;
    }
    let shown = view.len().min(limit);
    Some(vec!["?"; shown].join(" ") + if shown < view.len() { "..." } else { "" })
}

/// Returns the text of a number or a bool; `None` for an element of another dtype.
pub(super) fn number_text(dtype: DType, bytes: &[u8]) -> Option<String> {
    match Datum::read(dtype, bytes) {
        Datum::Bool(value) => Some(u8::from(value).to_string()),
        Datum::Int(value) => Some(value.to_string()),
        Datum::F32(value) => Some(roundtrip(value.into(), true)),
        Datum::F64(value) => Some(roundtrip(value, false)),
        Datum::Complex(..) | Datum::Bytes(_) => None,
    }
}

/// Returns the bytes of a string with C's escapes for quotes, backslashes and control characters. Bytes from 0x80 on
/// stay.
pub(super) fn escaped(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for &byte in bytes {
        match byte {
            b'\n' => out.extend(b"\\n"),
            b'\r' => out.extend(b"\\r"),
            b'\t' => out.extend(b"\\t"),
            b'"' | b'\'' | b'\\' => out.extend([b'\\', byte]),
            0..0x20 | 0x7f => out.extend(format!("\\{byte:03o}").as_bytes()),
            _ => out.push(byte),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::*;
    use crate::ops::testing::run_one;
    use crate::tensor::Tensor;

    #[test]
    fn no_bools_are_shown_as_nothing() {
        let attrs = Attrs::new().with("template", "<%s>").with("placeholder", "%s");
        let text = |tensor: Tensor| run_one(&DEF, &attrs, &[tensor]).as_strings().unwrap().at(0).to_vec();
        assert_eq!(text(Tensor::zeros(DType::Bool, &[0]).unwrap()), b"<>");
        assert_eq!(text(Tensor::zeros(DType::Bool, &[2, 0]).unwrap()), b"<>");
        assert_eq!(text(Tensor::zeros(DType::F32, &[0]).unwrap()), b"<[]>");
        assert_eq!(text(Tensor::zeros(DType::I32, &[2, 0]).unwrap()), b"<[\n ...]>");
        let attrs = attrs.clone().with("summarize", 0);
        let text = |tensor: Tensor| run_one(&DEF, &attrs, &[tensor]).as_strings().unwrap().at(0).to_vec();
        assert_eq!(text(Tensor::scalar(1.5f32)), b"<...>");
        assert_eq!(text(Tensor::scalar(true)), b"<>");
        assert_eq!(text(Tensor::from([1, 2])), b"<[ ...]>");
    }

    #[test]
    fn numbers_of_4_and_8_bits_are_shown() {
        let attrs = Attrs::new().with("template", "%s").with("placeholder", "%s").with("summarize", 9);
        let shown = |tensor: Tensor| run_one(&DEF, &attrs, &[tensor]).as_strings().unwrap().at(0).to_vec();
        let text = |dtype: DType, bytes: &[u8]| {
            shown(TensorView::from_bytes(dtype, &[bytes.len()], bytes).unwrap().to_tensor().unwrap())
        };
        let floats = [0x00, 0x01, 0x3c, 0x7b, 0x7c, 0x7e, 0xc0, 0xfc, 0xfe];
        assert_eq!(text(DType::F8E5M2, &floats), b"[0 1.52587891e-05 1 57344 inf nan -2 -inf -nan]");
        assert_eq!(text(DType::F8E4M3FN, &[0x01, 0x7e, 0x7f, 0x80]), b"[0.001953125 448 nan -0]");
        assert_eq!(text(DType::I4, &[0xf8, 0xff, 0x07]), b"[-8 -1 7]");
        assert_eq!(text(DType::U4, &[0x0f]), b"[15]");
        assert_eq!(shown(Tensor::zeros(DType::QI32, &[3]).unwrap()), b"[? ? ?]");
        assert_eq!(shown(Tensor::zeros(DType::C64, &[2, 5]).unwrap()), b"[? ? ? ? ? ? ? ? ?...]");
        assert_eq!(text(DType::QU8, &[0xff]), b"[255]");
    }
}
