//! `string_lower`, `string_upper` and `string_strip`.

use shapeflow_shape_fns::{Attribute, InferenceContext, ShapeError};

use super::params::{map, string_to_string};
use crate::error::Result;
use crate::graph::Value;
use crate::op::{HostCx, OpDef, Operand, TfOp};

impl<'g> Value<'g> {
    /// Converts the ASCII letters of each string to lower case.
    ///
    /// `string[..] -> string[..]`. As TensorFlow's `StringLower`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant(["ABC"])?.string_lower()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from(["abc"]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are not strings.
    #[track_caller]
    pub fn string_lower(self) -> Result<Value<'g>> {
        self.graph().op(&LOWER).data(self).finish()
    }

    /// Converts the ASCII letters of each string to upper case.
    ///
    /// `string[..] -> string[..]`. As TensorFlow's `StringUpper`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant(["abc"])?.string_upper()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from(["ABC"]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are not strings.
    #[track_caller]
    pub fn string_upper(self) -> Result<Value<'g>> {
        self.graph().op(&UPPER).data(self).finish()
    }

    /// Converts each UTF-8 string to lower case by the rules of Unicode. Bytes that are not UTF-8 become U+FFFD, and
    /// a zero byte ends its string.
    ///
    /// `string[..] -> string[..]`. As TensorFlow's `StringLower` with encoding `utf-8`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant(["ÄB"])?.string_lower_utf8()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from(["äb"]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are not strings.
    #[track_caller]
    pub fn string_lower_utf8(self) -> Result<Value<'g>> {
        self.graph().op(&LOWER).data(self).attr("encoding", "utf-8").finish()
    }

    /// Converts each UTF-8 string to upper case by the rules of Unicode. Bytes that are not UTF-8 become U+FFFD, and
    /// a zero byte ends its string.
    ///
    /// `string[..] -> string[..]`. As TensorFlow's `StringUpper` with encoding `utf-8`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant(["äb"])?.string_upper_utf8()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from(["ÄB"]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are not strings.
    #[track_caller]
    pub fn string_upper_utf8(self) -> Result<Value<'g>> {
        self.graph().op(&UPPER).data(self).attr("encoding", "utf-8").finish()
    }

    /// Removes ASCII white space from both ends of each string.
    ///
    /// `string[..] -> string[..]`. As TensorFlow's `StringStrip`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant(["  a b\n"])?.string_strip()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from(["a b"]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are not strings.
    #[doc(alias = "trim")]
    #[track_caller]
    pub fn string_strip(self) -> Result<Value<'g>> {
        self.graph().op(&STRIP).data(self).finish()
    }
}

pub(crate) static LOWER: OpDef =
    OpDef::host("string_lower", |cx| convert(cx, <[u8]>::to_ascii_lowercase, str::to_lowercase))
        .attrs(&[Attribute::str_or("encoding", "")])
        .operands(&[Operand::Data("input")])
        .shape_fn(with_encoding)
        .dtype_rule(string_to_string)
        .tensorflow(&[TfOp::new("StringLower")]);

pub(crate) static UPPER: OpDef =
    OpDef::host("string_upper", |cx| convert(cx, <[u8]>::to_ascii_uppercase, str::to_uppercase))
        .attrs(&[Attribute::str_or("encoding", "")])
        .operands(&[Operand::Data("input")])
        .shape_fn(with_encoding)
        .dtype_rule(string_to_string)
        .tensorflow(&[TfOp::new("StringUpper")]);

pub(crate) static STRIP: OpDef =
    OpDef::host("string_strip", |cx| map(cx, |string, made| made.append(strip(string))))
        .operands(&[Operand::Data("input")])
        .shape_fn(shapeflow_shape_fns::common::unary)
        .dtype_rule(string_to_string)
        .tensorflow(&[TfOp::new("StringStrip")]);

/// Every op of the file.
pub(crate) static ALL: &[&OpDef] = &[&LOWER, &STRIP, &UPPER];

fn with_encoding(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    match cx.str_or("encoding", "")? {
        "" | "utf-8" => shapeflow_shape_fns::common::unary(cx),
        other => Err(ShapeError::new(format_args!("encoding must be \"\" or \"utf-8\", got {other:?}"))),
    }
}

fn convert(cx: &mut HostCx<'_>, ascii: fn(&[u8]) -> Vec<u8>, unicode: fn(&str) -> String) -> Result<()> {
    let is_unicode = !cx.attrs().str("encoding").is_empty();
    map(cx, |string, made| match is_unicode {
        // TensorFlow hands the strings to ICU as C strings, which end at a zero byte.
        true => {
            let text = string.split(|byte| *byte == 0).next().unwrap_or_default();
            made.append(unicode(&String::from_utf8_lossy(text)).as_bytes())
        }
        false => made.append(&ascii(string)),
    })
}

/// Returns whether a byte is white space in C: a blank, or one of tab, line feed, vertical tab, form feed and carriage
/// return.
pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// Removes white space from both ends.
pub(super) fn strip(string: &[u8]) -> &[u8] {
    let is_text = |byte: &u8| !is_space(*byte);
    match (string.iter().position(is_text), string.iter().rposition(is_text)) {
        (Some(first), Some(last)) => &string[first..=last],
        _ => &[],
    }
}
