//! [`CharEncoding`]: characters as bytes. [`OnError`]: the treatment of bytes that are not a character.

use shapeflow_shape_fns::Attrs;

use super::params::{attribute_error, value_error};
use crate::error::Result;

/// An encoding of characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CharEncoding {
    Utf8,
    Utf16(ByteOrder),
    Utf32(ByteOrder),
    Latin1,
    Ascii,
}

/// The order of the bytes of a unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ByteOrder {
    Big,
    Little,
    /// A byte order mark at the start of a string gives the order. Without a mark, the order is big-endian.
    Marked,
}

/// The position where a character starts, and the character; `None` for bytes that are not a character.
pub(super) type Decoded = (usize, Option<char>);

impl CharEncoding {
    /// Reads a name as ICU does, which ignores case, hyphens, underscores and blanks.
    ///
    /// # Errors
    /// The encoding is not supported.
    fn named(name: &str) -> Result<CharEncoding> {
        let plain: String = name.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).collect();
        Ok(match plain.to_ascii_uppercase().as_str() {
            "UTF8" => CharEncoding::Utf8,
            "UTF16" => CharEncoding::Utf16(ByteOrder::Marked),
            "UTF16BE" => CharEncoding::Utf16(ByteOrder::Big),
            "UTF16LE" => CharEncoding::Utf16(ByteOrder::Little),
            "UTF32" => CharEncoding::Utf32(ByteOrder::Marked),
            "UTF32BE" => CharEncoding::Utf32(ByteOrder::Big),
            "UTF32LE" => CharEncoding::Utf32(ByteOrder::Little),
            "ISO88591" | "LATIN1" => CharEncoding::Latin1,
            "USASCII" | "ASCII" => CharEncoding::Ascii,
            _ => {
                return Err(attribute_error(format!(
                    "an encoding must be UTF-8, UTF-16 or UTF-32 (perhaps with -BE or -LE), ISO-8859-1 or US-ASCII, \
                     got {name:?}"
                )));
            }
        })
    }

    /// Reads attribute `input_encoding`.
    ///
    /// # Errors
    /// As [`CharEncoding::named`].
    pub(super) fn input(attrs: &Attrs) -> Result<CharEncoding> {
        CharEncoding::named(attrs.str("input_encoding"))
    }

    /// Reads attribute `output_encoding`, an encoding that TensorFlow writes.
    ///
    /// # Errors
    /// The attribute is none of UTF-8, UTF-16-BE and UTF-32-BE.
    pub(super) fn output(attrs: &Attrs) -> Result<CharEncoding> {
        match attrs.str("output_encoding") {
            "UTF-8" => Ok(CharEncoding::Utf8),
            "UTF-16-BE" => Ok(CharEncoding::Utf16(ByteOrder::Big)),
            "UTF-32-BE" => Ok(CharEncoding::Utf32(ByteOrder::Big)),
            other => Err(attribute_error(format!(
                "output_encoding must be \"UTF-8\", \"UTF-16-BE\" or \"UTF-32-BE\", got {other:?}"
            ))),
        }
    }

    /// Appends the characters of a string.
    pub(super) fn decode(self, bytes: &[u8], out: &mut Vec<Decoded>) {
        match self {
            CharEncoding::Utf8 => decode_utf8(bytes, out),
            CharEncoding::Utf16(order) => decode_utf16(bytes, order, out),
            CharEncoding::Utf32(order) => decode_utf32(bytes, order, out),
            CharEncoding::Latin1 => {
                out.extend(bytes.iter().enumerate().map(|(start, byte)| (start, Some(char::from(*byte)))));
            }
            CharEncoding::Ascii => {
                let read = |byte: &u8| byte.is_ascii().then(|| char::from(*byte));
                out.extend(bytes.iter().enumerate().map(|(start, byte)| (start, read(byte))));
            }
        }
    }

    /// Appends the bytes of a character. The encoding is one of [`CharEncoding::output`].
    pub(super) fn encode(self, character: char, out: &mut Vec<u8>) {
        match self {
            CharEncoding::Utf16(_) => {
                let mut units = [0; 2];
                out.extend(character.encode_utf16(&mut units).iter().flat_map(|unit| unit.to_be_bytes()));
            }
            CharEncoding::Utf32(_) => out.extend(u32::from(character).to_be_bytes()),
            _ => out.extend(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

fn decode_utf8(bytes: &[u8], out: &mut Vec<Decoded>) {
    let mut start = 0;
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid();
        out.extend(valid.char_indices().map(|(offset, character)| (start + offset, Some(character))));
        start += valid.len();
        if !chunk.invalid().is_empty() {
            out.push((start, None));
            start += chunk.invalid().len();
        }
    }
}

/// Returns whether the units are little-endian, and the number of bytes of the byte order mark at the start. `mark` is
/// the big-endian mark.
fn little_endian_and_mark(bytes: &[u8], order: ByteOrder, mark: &[u8]) -> (bool, usize) {
    let reversed: Vec<u8> = mark.iter().rev().copied().collect();
    match order {
        ByteOrder::Big => (false, 0),
        ByteOrder::Little => (true, 0),
        ByteOrder::Marked if bytes.starts_with(mark) => (false, mark.len()),
        ByteOrder::Marked if bytes.starts_with(&reversed) => (true, mark.len()),
        ByteOrder::Marked => (false, 0),
    }
}

fn decode_utf16(bytes: &[u8], order: ByteOrder, out: &mut Vec<Decoded>) {
    let (is_little, mark) = little_endian_and_mark(bytes, order, &[0xfe, 0xff]);
    let (pairs, rest) = bytes[mark..].as_chunks::<2>();
    let unit = |pair: &[u8; 2]| if is_little { u16::from_le_bytes(*pair) } else { u16::from_be_bytes(*pair) };
    let (mut start, first) = (mark, out.len());
    for character in char::decode_utf16(pairs.iter().map(unit)) {
        let length = character.as_ref().map_or(2, |character| 2 * character.len_utf16());
        out.push((start, character.ok()));
        start += length;
    }
    if !rest.is_empty() {
        out.push((start, None));
    }
    include_mark(&mut out[first..]);
}

fn decode_utf32(bytes: &[u8], order: ByteOrder, out: &mut Vec<Decoded>) {
    let (is_little, mark) = little_endian_and_mark(bytes, order, &[0, 0, 0xfe, 0xff]);
    let (units, rest) = bytes[mark..].as_chunks::<4>();
    let first = out.len();
    for (number, unit) in units.iter().enumerate() {
        let value = if is_little { u32::from_le_bytes(*unit) } else { u32::from_be_bytes(*unit) };
        out.push((mark + 4 * number, char::from_u32(value)));
    }
    if !rest.is_empty() {
        out.push((mark + 4 * units.len(), None));
    }
    include_mark(&mut out[first..]);
}

/// Makes the first character of a string start at 0, so that it includes the byte order mark, as in TensorFlow.
fn include_mark(string: &mut [Decoded]) {
    if let Some((start, _)) = string.first_mut() {
        *start = 0;
    }
}

/// The treatment of bytes that are not a character and, optionally, of control characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct OnError {
    /// The character that replaces such bytes and control characters; `None` to leave them out.
    replacement: Option<char>,
    /// Whether such bytes are an error.
    is_strict: bool,
    /// Whether control characters are replaced or left out.
    replaces_controls: bool,
    /// Whether control characters are an error if they would be replaced and errors are strict.
    refuses_controls: bool,
}

impl OnError {
    /// Reads attributes `errors` and `replacement_char`.
    ///
    /// # Errors
    /// An attribute has a value that TensorFlow refuses.
    pub(super) fn new(attrs: &Attrs) -> Result<OnError> {
        let code = attrs.int("replacement_char");
        let replacement_char = u32::try_from(code).ok().and_then(char::from_u32);
        let replacement_char = replacement_char.ok_or_else(|| {
            attribute_error(format!("replacement_char must be a Unicode character, got {code}"))
        })?;
        let (replacement, is_strict) = match attrs.str("errors") {
            "replace" => (Some(replacement_char), false),
            "ignore" => (None, false),
            "strict" => (Some(replacement_char), true),
            other => {
                return Err(attribute_error(format!(
                    "errors must be \"replace\", \"ignore\" or \"strict\", got {other:?}"
                )));
            }
        };
        Ok(OnError { replacement, is_strict, replaces_controls: false, refuses_controls: false })
    }

    /// Reads the attributes of an op that decodes: also `replace_control_characters`.
    ///
    /// # Errors
    /// As [`OnError::new`].
    pub(super) fn of_decoder(attrs: &Attrs) -> Result<OnError> {
        let replaces_controls = attrs.bool("replace_control_characters");
        Ok(OnError { replaces_controls, ..OnError::new(attrs)? })
    }

    /// Does the same as [`OnError::of_decoder`] for an op that converts strings. As in TensorFlow, only this op refuses
    /// control characters if errors are strict.
    ///
    /// # Errors
    /// As [`OnError::new`].
    pub(super) fn of_transcoder(attrs: &Attrs) -> Result<OnError> {
        Ok(OnError { refuses_controls: true, ..OnError::of_decoder(attrs)? })
    }

    /// Returns the character to keep in the place of a decoded character; `None` to leave it out.
    ///
    /// # Errors
    /// Errors are strict, and `decoded` is not a character or a control character that is refused.
    pub(super) fn apply(self, decoded: Option<char>) -> Result<Option<char>> {
        match decoded {
            Some(character) if !(self.replaces_controls && character < ' ') => Ok(Some(character)),
            None if self.is_strict => Err(value_error("a string must be valid in its encoding".to_string())),
            Some(_) if self.is_strict && self.refuses_controls => {
                Err(value_error("a string must have no control characters".to_string()))
            }
            _ => Ok(self.replacement),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strict_errors_replace_control_characters() {
        let of = |errors: &str, decoded: Option<char>| {
            let attrs = Attrs::new().with("errors", errors).with("replacement_char", 65533);
            OnError::of_decoder(&attrs.with("replace_control_characters", true)).unwrap().apply(decoded)
        };
        assert_eq!(of("strict", Some('\t')).unwrap(), Some('\u{fffd}'));
        assert_eq!(of("replace", Some('\t')).unwrap(), Some('\u{fffd}'));
        assert_eq!(of("ignore", Some('\t')).unwrap(), None);
        assert_eq!(of("strict", Some('7')).unwrap(), Some('7'));
        assert!(of("strict", None).unwrap_err().message().contains("valid in its encoding"));
        let attrs = Attrs::new().with("errors", "strict").with("replacement_char", 65533);
        let transcoder = OnError::of_transcoder(&attrs.with("replace_control_characters", true)).unwrap();
        assert!(transcoder.apply(Some('\t')).unwrap_err().message().contains("no control characters"));
    }
}
