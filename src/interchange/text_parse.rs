//! Translates protobuf text to protobuf bytes, by the tables of `fields`.

use prost::encoding::encode_varint;

use super::fields::{ATTR_ENTRY, FieldKind, GRAPH, Message, NODE};
use super::text_number::{float, integer};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::nearest::nearest;
use crate::op::dtype_number::number_of_text;

/// Maximum nesting depth of messages.
const DEPTH: usize = 96;

/// The wire type of a field with a length: a message or bytes.
const LENGTH: u64 = 2;

/// Returns the bytes of the message that the text describes. Fields that the table of the message lacks are omitted.
///
/// # Errors
/// The text is invalid; the message has line and column.
pub(super) fn parse(text: &str, message: &'static Message) -> Result<Vec<u8>> {
    let mut parser = Parser { text, offset: 0 };
    let mut out = Vec::new();
    parser.message(Some(message), None, DEPTH, &mut out)?;
    Ok(out)
}

/// Returns the name of the first field of the text; `None` if the text does not start with a name.
pub(super) fn first_field(text: &str) -> Option<&str> {
    Parser { text, offset: 0 }.word().ok()
}

struct Parser<'a> {
    text: &'a str,
    /// The position of the next byte.
    offset: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.offset..).unwrap_or_default()
    }

    /// Refuses the text at the current position.
    fn refuse<T>(&self, message: impl std::fmt::Display) -> Result<T> {
        let before = self.text.get(..self.offset).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let message = format!("line {line}, column {column}: {message}");
        Err(Error::new(ErrorKind::Parse, Phase::Build, message))
    }

    fn skip_space(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.offset += rest.len() - trimmed.len();
            if !trimmed.starts_with('#') {
                return;
            }
            self.offset += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    fn peek(&mut self) -> Option<char> {
        self.skip_space();
        self.rest().chars().next()
    }

    /// Skips `wanted` if it is the next character. Returns whether it was.
    fn accept(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.offset += wanted.len_utf8();
        }
        found
    }

    /// Reads a word of letters, digits and the characters of numbers.
    fn word(&mut self) -> Result<&'a str> {
        self.skip_space();
        let rest = self.rest();
        let end = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '+')))
            .unwrap_or(rest.len());
        match rest.get(..end) {
            Some(word) if end > 0 => {
                self.offset += end;
                Ok(word)
            }
            _ => match rest.chars().next() {
                Some(found) => self.refuse(format_args!("a name or a value is expected, got {found:?}")),
                None => self.refuse("a name or a value is expected, got the end"),
            },
        }
    }

    /// Reads fields up to `close`, or to the end of the text, and appends their bytes to `out`. Without a message type,
    /// it skips the fields.
    fn message(
        &mut self,
        message: Option<&'static Message>,
        close: Option<char>,
        depth: usize,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        if depth == 0 {
            return self.refuse(format_args!("messages may nest at most {DEPTH} levels"));
        }
        loop {
            match (self.peek(), close) {
                (None, None) => return Ok(()),
                (None, Some(close)) => {
                    return self.refuse(format_args!("{close:?} is expected, got the end"));
                }
                (Some(found), Some(close)) if found == close => {
                    self.offset += close.len_utf8();
                    return Ok(());
                }
                _ => self.field(message, depth, out)?,
            }
        }
    }

    /// Reads one field: its name, and its value or list of values.
    fn field(&mut self, message: Option<&'static Message>, depth: usize, out: &mut Vec<u8>) -> Result<()> {
        self.skip_space();
        let start = self.offset;
        let name = if self.accept('[') {
            // The name of an extension, or the type of an `Any`. The table has neither.
            let rest = self.rest();
            let Some(end) = rest.find(']') else { return self.refuse("']' is expected, got the end") };
            self.offset += end + 1;
            ""
        } else {
            self.word()?
        };
        let field = message.and_then(|message| message.by_name(name));
        if let (Some(message), None) = (message, field)
            && name.len() > 2
            && [&GRAPH, &NODE, &ATTR_ENTRY].iter().any(|written| std::ptr::eq(*written, message))
            && let Some(near) = nearest(name, message.fields.iter().map(|field| field.name))
        {
            // People write these messages by hand, and a misspelled field would mean another graph.
            self.offset = start;
            return self.refuse(format_args!("there is no field {name}; is it {near}?"));
        }
        let colon = self.accept(':');
        let is_list = colon && self.accept('[');
        if !(is_list && self.accept(']')) {
            loop {
                self.value(field.map(|field| (field.number, field.kind)), colon, depth, out)?;
                if !is_list || !self.accept(',') {
                    break;
                }
            }
            if is_list && !self.accept(']') {
                return self.refuse("',' or ']' is expected");
            }
        }
        let _ = self.accept(',') || self.accept(';');
        Ok(())
    }

    /// Reads one value of a field. Without a field, it skips the value. `colon` says whether a colon stands before the
    /// value, which only a message may lack.
    fn value(
        &mut self,
        field: Option<(u32, FieldKind)>,
        colon: bool,
        depth: usize,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        if let Some(open @ ('{' | '<')) = self.peek() {
            self.offset += 1;
            let close = if open == '{' { '}' } else { '>' };
            let mut inner = Vec::new();
            return match field {
                None => self.message(None, Some(close), depth - 1, &mut inner),
                Some((number, FieldKind::Message(message))) => {
                    self.message(Some(message), Some(close), depth - 1, &mut inner)?;
                    put_bytes(out, number, &inner);
                    Ok(())
                }
                Some(_) => self.refuse("a value is expected, got a message"),
            };
        }
        if !colon {
            return self.refuse("':' or '{' is expected");
        }
        let is_text = matches!(self.peek(), Some('"' | '\''));
        let Some((number, kind)) = field else {
            return if is_text { self.string().map(drop) } else { self.word().map(drop) };
        };
        match kind {
            FieldKind::Str | FieldKind::Bytes if is_text => {
                let bytes = self.string()?;
                if matches!(kind, FieldKind::Str) && std::str::from_utf8(&bytes).is_err() {
                    return self.refuse("a text must be UTF-8");
                }
                put_bytes(out, number, &bytes);
                return Ok(());
            }
            FieldKind::Str | FieldKind::Bytes => return self.refuse("a text in quotes is expected"),
            FieldKind::Message(_) => return self.refuse("a message in braces is expected"),
            _ => {}
        }
        let start = self.offset;
        let word = self.word()?;
        let tag = u64::from(number) << 3;
        let wrong = |this: &mut Parser<'a>, what: &str| {
            this.offset = start;
            this.refuse(format_args!("{what} is expected, got {word:?}"))
        };
        match kind {
            FieldKind::Float => match float(word) {
                Some(value) => {
                    encode_varint(tag | 5, out);
                    out.extend_from_slice(&(value as f32).to_le_bytes());
                }
                None => return wrong(self, "a number"),
            },
            FieldKind::Double => match float(word) {
                Some(value) => {
                    encode_varint(tag | 1, out);
                    out.extend_from_slice(&value.to_le_bytes());
                }
                None => return wrong(self, "a number"),
            },
            _ => {
                let value = match kind {
                    FieldKind::Bool => match word {
                        "true" | "True" | "t" | "1" => Some(1),
                        "false" | "False" | "f" | "0" => Some(0),
                        _ => None,
                    },
                    FieldKind::DataType => match number_of_text(word) {
                        Some(number) => Some(number as u64),
                        None => integer(word, i32::MIN.into()..=i32::MAX.into()),
                    },
                    FieldKind::Int32 => integer(word, i32::MIN.into()..=i32::MAX.into()),
                    FieldKind::UInt => integer(word, 0..=u64::MAX.into()),
                    FieldKind::UInt32 => integer(word, 0..=u32::MAX.into()),
                    _ => integer(word, i64::MIN.into()..=i64::MAX.into()),
                };
                let Some(value) = value else {
                    let what = match kind {
                        FieldKind::Bool => "true or false",
                        FieldKind::DataType => "a dtype",
                        FieldKind::Int32 => "an integer of 32 bits",
                        FieldKind::UInt => "an unsigned integer of 64 bits",
                        FieldKind::UInt32 => "an unsigned integer of 32 bits",
                        _ => "an integer of 64 bits",
                    };
                    return wrong(self, what);
                };
                encode_varint(tag, out);
                encode_varint(value, out);
            }
        }
        Ok(())
    }

    /// Reads adjacent quoted texts as a single text.
    fn string(&mut self) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        while let Some(quote @ ('"' | '\'')) = self.peek() {
            self.offset += 1;
            self.quoted(quote as u8, &mut out)?;
        }
        Ok(out)
    }

    /// Reads a quoted text after its opening quote.
    fn quoted(&mut self, quote: u8, out: &mut Vec<u8>) -> Result<()> {
        let bytes = self.text.as_bytes();
        loop {
            let Some(&byte) = bytes.get(self.offset) else {
                return self.refuse("a closing quote is expected, got the end");
            };
            self.offset += 1;
            if byte == quote {
                return Ok(());
            }
            if byte != b'\\' {
                out.push(byte);
                continue;
            }
            let Some(&escaped) = bytes.get(self.offset) else {
                return self.refuse("a closing quote is expected, got the end");
            };
            if escaped.is_ascii() {
                self.offset += 1;
            }
            match escaped {
                b'n' => out.push(b'\n'),
                b't' => out.push(b'\t'),
                b'r' => out.push(b'\r'),
                b'a' => out.push(7),
                b'b' => out.push(8),
                b'f' => out.push(12),
                b'v' => out.push(11),
                b'0'..=b'7' => {
                    let value = self.digits(8, 2, u32::from(escaped - b'0'));
                    out.push(value as u8);
                }
                b'x' | b'X' => {
                    let value = self.digits(16, 2, 0);
                    out.push(value as u8);
                }
                b'u' | b'U' => {
                    let value = self.digits(16, if escaped == b'u' { 4 } else { 8 }, 0);
                    let Some(c) = char::from_u32(value) else {
                        return self.refuse("a Unicode code point is expected");
                    };
                    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
                b'\\' | b'\'' | b'"' | b'?' => out.push(escaped),
                _ => return self.refuse("a known escape is expected"),
            }
        }
    }

    /// Reads at most `max_digits` digits and appends them to the number `value`.
    fn digits(&mut self, base: u32, max_digits: usize, mut value: u32) -> u32 {
        for _ in 0..max_digits {
            let digit =
                self.text.as_bytes().get(self.offset).and_then(|byte| char::from(*byte).to_digit(base));
            let Some(digit) = digit else { break };
            value = value.wrapping_mul(base).wrapping_add(digit);
            self.offset += 1;
        }
        value
    }
}

fn put_bytes(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    encode_varint(u64::from(number) << 3 | LENGTH, out);
    encode_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::super::proto::{AttrKind, GraphDef};
    use super::*;

    fn read(text: &str) -> Result<GraphDef> {
        Ok(GraphDef::decode(&parse(text, &GRAPH)?[..]).unwrap())
    }

    #[test]
    fn values_of_every_kind_are_read() {
        let graph = read(
            r#"# a comment
            node { name: "x" 'y' op: "Const", input: ["a", "^b"];
              attr { key: "value" value { tensor { dtype: DT_FLOAT float_val: 1.5f float_val: -inf
                float_val: nan tensor_content: "\000\x7f\n\"" unknown_field: { a: 1 } } } }
              attr < key: "i" value < i: -0x10 > >
              attr { key: "t" value { type: DT_INT32_REF } }
              attr { key: "l" value { list { b: true b: false i: 017 i: -9223372036854775808 } } } }
            versions { producer: 7 } other: "skipped" [ext.name]: 3"#,
        )
        .unwrap();
        let node = &graph.node[0];
        assert_eq!((node.name.as_str(), &node.input[..]), ("xy", &["a".to_string(), "^b".to_string()][..]));
        assert_eq!(node.attr["i"].value, Some(AttrKind::I(-16)));
        assert_eq!(node.attr["t"].value, Some(AttrKind::Type(103)));
        let Some(AttrKind::List(list)) = &node.attr["l"].value else { panic!() };
        assert_eq!((&list.b[..], &list.i[..]), (&[true, false][..], &[15, i64::MIN][..]));
        let Some(AttrKind::Tensor(tensor)) = &node.attr["value"].value else { panic!() };
        assert_eq!(tensor.float_val[..2], [1.5, f32::NEG_INFINITY]);
        assert!(tensor.float_val[2].is_nan());
        assert_eq!(&tensor.tensor_content[..], b"\0\x7f\n\"");
        assert_eq!(graph.versions.unwrap().producer, 7);
    }

    #[test]
    fn errors_have_line_and_column() {
        for (text, message) in [
            ("node {", "line 1, column 7: '}' is expected, got the end"),
            ("node {\n  name: x }", "line 2, column 9: a text in quotes is expected"),
            (
                "node { attr { value { i: z } } }",
                "line 1, column 26: an integer of 64 bits is expected, got \"z\"",
            ),
            ("node {\n  atrr { }", "line 2, column 3: there is no field atrr; is it attr?"),
            ("version: 2147483648", "line 1, column 10: an integer of 32 bits is expected"),
            (
                "node { attr { value { i: 9223372036854775808 } } }",
                "an integer of 64 bits is expected, got \"9223372036854775808\"",
            ),
            (
                "node { attr { value { tensor { uint64_val: -1 } } } }",
                "an unsigned integer of 64 bits is expected, got \"-1\"",
            ),
            ("node: 3", "a message in braces is expected"),
            ("node", "':' or '{' is expected"),
            ("\"", "a name or a value is expected, got '\"'"),
            ("node { name: \"a\\", "got the end"),
        ] {
            let error = parse(text, &GRAPH).unwrap_err();
            assert!(error.message().contains(message), "{text}: {}", error.message());
        }
        let deep = "x {".repeat(100_000);
        assert!(parse(&deep, &GRAPH).unwrap_err().message().contains("may nest at most 96 levels"));
    }
}
