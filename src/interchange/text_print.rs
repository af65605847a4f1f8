//! Translates protobuf bytes to protobuf text, by the tables of `fields`.

use std::fmt::Write;

use prost::encoding::decode_varint;

use super::fields::{FieldKind, Message};
use crate::op::dtype_number::text_of;

/// Maximum nesting depth of messages.
const DEPTH: usize = 96;

/// Returns the text of a message, without fields that the table of the message lacks, and without anything after
/// damaged bytes.
pub(super) fn print(bytes: &[u8], message: &'static Message) -> String {
    let mut out = String::new();
    // The export encodes the bytes, so they are never damaged.
    let _ = print_fields(bytes, message, 0, &mut out);
    out
}

/// Appends the text of the fields in `bytes` to `out`; `None` if the bytes are damaged.
fn print_fields(mut bytes: &[u8], message: &'static Message, depth: usize, out: &mut String) -> Option<()> {
    while !bytes.is_empty() {
        let tag = decode_varint(&mut bytes).ok()?;
        let field = message.by_number(u32::try_from(tag >> 3).ok()?);
        let mut put = |kind: FieldKind, bits: u64| {
            if let Some(field) = field {
                let text = scalar_text(kind, bits);
                // Writing to a string does not fail.
                let _ = writeln!(out, "{:indent$}{}: {text}", "", field.name, indent = 2 * depth);
            }
        };
        match tag & 7 {
            0 => {
                let value = decode_varint(&mut bytes).ok()?;
                if let Some(field) = field {
                    put(field.kind, value);
                }
            }
            1 => put(FieldKind::Double, u64::from_le_bytes(take(&mut bytes, 8)?.try_into().ok()?)),
            5 => put(FieldKind::Float, u32::from_le_bytes(take(&mut bytes, 4)?.try_into().ok()?).into()),
            2 => {
                let length = usize::try_from(decode_varint(&mut bytes).ok()?).ok()?;
                let mut value = take(&mut bytes, length)?;
                let Some(field) = field else { continue };
                match field.kind {
                    FieldKind::Message(inner) => {
                        let _ = writeln!(out, "{:indent$}{} {{", "", field.name, indent = 2 * depth);
                        if depth < DEPTH {
                            print_fields(value, inner, depth + 1, out)?;
                        }
                        let _ = writeln!(out, "{:indent$}}}", "", indent = 2 * depth);
                    }
                    FieldKind::Str | FieldKind::Bytes => {
                        let indent = 2 * depth;
                        let text = escaped(value, matches!(field.kind, FieldKind::Str));
                        let _ = writeln!(out, "{:indent$}{}: \"{text}\"", "", field.name);
                    }
                    // A packed list of numbers.
                    kind => {
                        while !value.is_empty() {
                            let bits = match kind {
                                FieldKind::Float => {
                                    u32::from_le_bytes(take(&mut value, 4)?.try_into().ok()?).into()
                                }
                                FieldKind::Double => {
                                    u64::from_le_bytes(take(&mut value, 8)?.try_into().ok()?)
                                }
                                _ => decode_varint(&mut value).ok()?,
                            };
                            put(kind, bits);
                        }
                    }
                }
            }
            _ => return None,
        }
    }
    Some(())
}

/// Splits `count` bytes off the front of `bytes`.
fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(taken)
}

fn scalar_text(kind: FieldKind, bits: u64) -> String {
    match kind {
        FieldKind::Bool => (bits != 0).to_string(),
        FieldKind::DataType => text_of(bits as i32),
        FieldKind::Float => float_text(f32::from_bits(bits as u32).into(), &f32::from_bits(bits as u32)),
        FieldKind::Double => float_text(f64::from_bits(bits), &f64::from_bits(bits)),
        FieldKind::UInt | FieldKind::UInt32 => bits.to_string(),
        _ => (bits as i64).to_string(),
    }
}

/// Returns `nan`, `inf` or `-inf` for such a `value`, and otherwise the text of `shown`: the same number in its own
/// type, whose `Debug` text is the shortest decimal that reads back as the same number.
fn float_text(value: f64, shown: &dyn std::fmt::Debug) -> String {
    if value.is_nan() {
        "nan".to_string()
    } else if value.is_infinite() {
        if value > 0.0 { "inf" } else { "-inf" }.to_string()
    } else {
        format!("{shown:?}")
    }
}

/// Returns the bytes with escapes, to stand between quotes. If `is_text`, characters beyond ASCII stay as they are.
fn escaped(bytes: &[u8], is_text: bool) -> String {
    let mut out = String::new();
    let byte_out = |byte: u8, out: &mut String| match byte {
        b'\n' => out.push_str("\\n"),
        b'\r' => out.push_str("\\r"),
        b'\t' => out.push_str("\\t"),
        b'"' => out.push_str("\\\""),
        b'\'' => out.push_str("\\'"),
        b'\\' => out.push_str("\\\\"),
        0x20..0x7f => out.push(char::from(byte)),
        _ => {
            let _ = write!(out, "\\{byte:03o}");
        }
    };
    match std::str::from_utf8(bytes) {
        Ok(text) if is_text => {
            for c in text.chars() {
                match u8::try_from(c) {
                    Ok(byte) if byte.is_ascii() => byte_out(byte, &mut out),
                    _ => out.push(c),
                }
            }
        }
        _ => bytes.iter().for_each(|byte| byte_out(*byte, &mut out)),
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::fields::GRAPH;
    use super::super::text_parse::parse;
    use super::*;

    #[test]
    fn printed_text_reads_back() {
        let text = "node {\n  name: \"x/é\"\n  op: \"Const\"\n  attr {\n    key: \"value\"\n    value {\n      \
                    tensor {\n        dtype: DT_FLOAT\n        tensor_shape {\n          dim {\n            \
                    size: -1\n          }\n        }\n        tensor_content: \"\\000\\n\\\"a\"\n        \
                    float_val: 1.5\n        float_val: -inf\n      }\n    }\n  }\n}\n";
        let bytes = parse(text, &GRAPH).unwrap();
        assert_eq!(print(&bytes, &GRAPH), text);
        // A packed list prints like an unpacked one.
        let packed = [0x0a, 6, 0x2a, 4, 0x12, 2, 0x18, 1];
        assert_eq!(print(&packed, &GRAPH), "node {\n  attr {\n    value {\n      i: 1\n    }\n  }\n}\n");
        assert_eq!(print(&[0x0a, 200], &GRAPH), "");
    }
}
