//! `regex_replace` and `regex_full_match`, with the pattern as an operand or as an attribute.

use std::panic::Location;

use ::regex::bytes::{Captures, Regex};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Hir, Look};
use shapeflow_shape_fns::{Attribute, Attrs, DType, InferenceContext};

use super::params::{attribute_error, check_strings, in_shape_fn, map, quoted, scalar, strings, value_error};
use super::re2::translate;
use super::wide_classes::with_wide_classes;
use crate::error::{Error, Result};
use crate::graph::Value;
use crate::op::{HostCx, OpDef, Operand, TfOp};

impl<'g> Value<'g> {
    /// Replaces every match of a regular expression. In `rewrite`, `\0` stands for the match, `\1` to `\9` for its
    /// groups, and `\\` for a backslash.
    ///
    /// `string[..] -> string[..]`. The syntax is the syntax of RE2: `\d`, `\w`, `\s` and `\b` are ASCII, and `.` is a
    /// UTF-8 character. As TensorFlow's `StaticRegexReplace`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::Graph;
    ///
    /// let g = Graph::new();
    /// let x = g.constant(["2024-05", "1999-12"])?;
    /// let [y] = g.compile(x.regex_replace(r"(\d+)-(\d+)", r"\2/\1")?)?.run(&[])?;
    /// assert_eq!(y.to_string(), "string[2] [\"05/2024\", \"12/1999\"]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are not strings, or the pattern or the rewrite is invalid.
    #[track_caller]
    pub fn regex_replace(self, pattern: &str, rewrite: &str) -> Result<Value<'g>> {
        let location = Location::caller();
        let regex = checked("regex_replace", pattern, location)?;
        pieces(rewrite.as_bytes())
            .and_then(|pieces| require_groups(&pieces, rewrite.as_bytes(), &regex))
            .map_err(|error| attribute_error(error.message().to_string()))
            .map_err(|error| error.with_op("regex_replace", "regex_replace").at(location))?;
        let call = self.graph().op(&STATIC_REPLACE).data(self).attr("pattern", pattern);
        call.attr("rewrite", rewrite).finish_at(location)
    }

    /// Returns for each string whether a regular expression matches the whole string.
    ///
    /// `string[..] -> bool[..]`. The syntax is as for [`Value::regex_replace`]. As TensorFlow's `StaticRegexFullMatch`.
    /// Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant(["2024", "20x"])?.regex_full_match(r"\d+")?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([true, false]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are not strings, or the pattern is invalid.
    #[doc(alias = "fullmatch")]
    #[track_caller]
    pub fn regex_full_match(self, pattern: &str) -> Result<Value<'g>> {
        let location = Location::caller();
        checked("regex_full_match", pattern, location)?;
        self.graph().op(&STATIC_MATCH).data(self).attr("pattern", pattern).finish_at(location)
    }

    /// Replaces matches as [`Value::regex_replace`] does, with a pattern and a rewrite that the graph computes. A
    /// rewrite that names a group which the pattern lacks replaces nothing.
    ///
    /// `string[..], pattern string[], rewrite string[] -> string[..]`. As TensorFlow's `RegexReplace`. Runs on the
    /// host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let (pattern, rewrite) = (g.constant(r"\d+")?, g.constant("#")?);
    /// let y = g.constant(["a12", "b7"])?.regex_replace_with(pattern, rewrite)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from(["a#", "b#"]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// An operand is not of strings. An invalid pattern fails the run.
    #[track_caller]
    pub fn regex_replace_with(self, pattern: Value<'g>, rewrite: Value<'g>) -> Result<Value<'g>> {
        self.graph().op(&REPLACE).data(self).data(pattern).data(rewrite).finish()
    }

    /// Matches as [`Value::regex_full_match`] does, with a pattern that the graph computes.
    ///
    /// `string[..], pattern string[] -> bool[..]`. As TensorFlow's `RegexFullMatch`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant(["2024", "20x"])?.regex_full_match_with(g.constant(r"\d+")?)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([true, false]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// An operand is not of strings. An invalid pattern fails the run.
    #[track_caller]
    pub fn regex_full_match_with(self, pattern: Value<'g>) -> Result<Value<'g>> {
        self.graph().op(&MATCH).data(self).data(pattern).finish()
    }
}

pub(crate) static REPLACE: OpDef = OpDef::host("regex_replace", |cx| {
    let regex =
        cx.prepared(&[1], |cx| compile(scalar(cx, 1)?, false).map_err(|error| error.blame_element(1)))?;
    let rewrite = scalar(cx, 2)?;
    replace(cx, &regex, rewrite)
})
.attrs(&[Attribute::bool_or("replace_global", true)])
.operands(&[Operand::Data("input"), Operand::Data("pattern"), Operand::Data("rewrite")])
.shape_fn(shapeflow_shape_fns::string::string_unchanged)
.dtype_rule(|operands, _| check_strings(operands, 3).map(|()| vec![DType::String]))
.tensorflow(&[TfOp::new("RegexReplace")]);

pub(crate) static MATCH: OpDef = OpDef::host("regex_full_match", |cx| {
    let regex =
        cx.prepared(&[1], |cx| compile(scalar(cx, 1)?, true).map_err(|error| error.blame_element(1)))?;
    full_match(cx, &regex)
})
.operands(&[Operand::Data("input"), Operand::Data("pattern")])
.shape_fn(shapeflow_shape_fns::string::string_unchanged)
.dtype_rule(|operands, _| check_strings(operands, 2).map(|()| vec![DType::Bool]))
.tensorflow(&[TfOp::new("RegexFullMatch")]);

pub(crate) static STATIC_REPLACE: OpDef = OpDef::host("static_regex_replace", |cx| {
    let regex = cx.prepared(&[], |cx| attribute(cx.attrs(), false))?;
    let rewrite = cx.attrs().bytes("rewrite");
    replace(cx, &regex, rewrite)
})
.attrs(&[Attribute::str("pattern"), Attribute::bytes("rewrite"), Attribute::bool_or("replace_global", true)])
.operands(&[Operand::Data("input")])
.shape_fn(shape)
.dtype_rule(|operands, _| check_strings(operands, 1).map(|()| vec![DType::String]))
.tensorflow(&[TfOp::new("StaticRegexReplace")]);

pub(crate) static STATIC_MATCH: OpDef = OpDef::host("static_regex_full_match", |cx| {
    let regex = cx.prepared(&[], |cx| attribute(cx.attrs(), true))?;
    full_match(cx, &regex)
})
.attrs(&[Attribute::str("pattern")])
.operands(&[Operand::Data("input")])
.shape_fn(shape)
.dtype_rule(|operands, _| check_strings(operands, 1).map(|()| vec![DType::Bool]))
.tensorflow(&[TfOp::new("StaticRegexFullMatch")]);

/// Every op of the file.
pub(crate) static ALL: &[&OpDef] = &[&MATCH, &REPLACE, &STATIC_MATCH, &STATIC_REPLACE];

/// Checks the syntax of attribute `pattern`. The run compiles it.
fn shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    let pattern = cx.str_or("pattern", "")?;
    in_shape_fn(translated(pattern.as_bytes()))?;
    shapeflow_shape_fns::common::unary(cx)
}

/// Compiles the pattern of a builder call.
fn checked(op: &str, pattern: &str, location: &'static Location<'static>) -> Result<Regex> {
    compile(pattern.as_bytes(), false)
        .map_err(|error| attribute_error(error.message().to_string()).with_op(op, op).at(location))
}

/// Compiles attribute `pattern`.
fn attribute(attrs: &Attrs, is_whole: bool) -> Result<Regex> {
    let pattern = attrs.str("pattern");
    compile(pattern.as_bytes(), is_whole).map_err(|error| attribute_error(error.message().to_string()))
}

/// Compiles a pattern, which must match whole strings if `is_whole`.
///
/// # Errors
/// The pattern is invalid, or takes too much memory.
fn compile(pattern: &[u8], is_whole: bool) -> Result<Regex> {
    let why = |text: String| {
        refused(pattern, text.lines().last().unwrap_or_default().trim_start_matches("error: "))
    };
    let parsed = ParserBuilder::new().utf8(false).build().parse(&translated(pattern)?);
    let mut regex = with_wide_classes(parsed.map_err(|error| why(error.to_string()))?);
    if is_whole {
        regex = Hir::concat(vec![Hir::look(Look::Start), regex, Hir::look(Look::End)]);
    }
    Regex::new(&regex.to_string()).map_err(|error| why(error.to_string()))
}

/// Translates a pattern of RE2 for the `regex` crate.
fn translated(pattern: &[u8]) -> Result<String> {
    let text = std::str::from_utf8(pattern).map_err(|_| refused(pattern, "it is not UTF-8"))?;
    translate(text).map_err(|why| refused(pattern, &why))
}

fn refused(pattern: &[u8], why: &str) -> Error {
    value_error(format!("a pattern must be a regular expression of RE2, got {}: {why}", quoted(pattern)))
}

fn full_match(cx: &mut HostCx<'_>, regex: &Regex) -> Result<()> {
    let (x, view) = (strings(cx, 0)?, cx.input(0)?);
    let mut matches = cx.unfilled_output(0, view.sizes())?;
    for (is_match, string) in matches.as_mut_slice::<bool>()?.iter_mut().zip(x.iter()) {
        *is_match = regex.is_match(string);
    }
    Ok(())
}

fn replace(cx: &mut HostCx<'_>, regex: &Regex, rewrite: &[u8]) -> Result<()> {
    let pieces = pieces(rewrite)?;
    // As in TensorFlow, a rewrite that names a group which the pattern lacks replaces nothing.
    let replaces = !lacks_group(&pieces, regex);
    let is_global = cx.attrs().bool("replace_global");
    let mut out = Vec::new();
    map(cx, |string, made| {
        if !replaces {
            return made.append(string);
        }
        out.clear();
        replace_one(string, regex, &pieces, is_global, &mut out);
        made.append(&out)
    })
}

/// A part of a rewrite.
enum RewritePart {
    Byte(u8),
    Group(usize),
}

/// Reads a rewrite.
///
/// # Errors
/// A backslash is followed by neither a digit nor a backslash.
fn pieces(rewrite: &[u8]) -> Result<Vec<RewritePart>> {
    let mut pieces = Vec::with_capacity(rewrite.len());
    let mut bytes = rewrite.iter();
    while let Some(&byte) = bytes.next() {
        pieces.push(match byte {
            b'\\' => match bytes.next() {
                Some(digit @ b'0'..=b'9') => RewritePart::Group(usize::from(digit - b'0')),
                Some(b'\\') => RewritePart::Byte(b'\\'),
                _ => {
                    return Err(value_error(format!(
                        "a backslash in a rewrite must precede a digit or a backslash, got {}",
                        quoted(rewrite)
                    )));
                }
            },
            byte => RewritePart::Byte(byte),
        });
    }
    Ok(pieces)
}

/// Returns whether a rewrite names a group that the pattern lacks.
fn lacks_group(pieces: &[RewritePart], regex: &Regex) -> bool {
    pieces.iter().any(|piece| matches!(piece, RewritePart::Group(number) if *number >= regex.captures_len()))
}

/// Refuses a rewrite that names a group which the pattern lacks.
fn require_groups(pieces: &[RewritePart], rewrite: &[u8], regex: &Regex) -> Result<()> {
    if !lacks_group(pieces, regex) {
        return Ok(());
    }
    Err(value_error(format!(
        "a rewrite must name groups of its pattern, \\0 to \\{}, got {}",
        regex.captures_len() - 1,
        quoted(rewrite)
    )))
}

/// Replaces the first match or every match. As in RE2, an empty match right after a match is skipped.
fn replace_one(string: &[u8], regex: &Regex, pieces: &[RewritePart], is_global: bool, out: &mut Vec<u8>) {
    let (mut at, mut last_end) = (0, None);
    while at <= string.len() {
        let Some(captures) = regex.captures_at(string, at) else { break };
        let found = captures.get(0).expect("a match has a group 0").range();
        out.extend(&string[at..found.start]);
        if found.is_empty() && last_end == Some(found.start) {
            let step = character_len(&string[found.start..]);
            out.extend(&string[found.start..(found.start + step).min(string.len())]);
            at = found.start + step;
            continue;
        }
        rewrite(&captures, pieces, out);
        (at, last_end) = (found.end, Some(found.end));
        if !is_global {
            break;
        }
    }
    out.extend(string.get(at..).unwrap_or_default());
}

fn rewrite(captures: &Captures<'_>, pieces: &[RewritePart], out: &mut Vec<u8>) {
    for piece in pieces {
        match piece {
            RewritePart::Byte(byte) => out.push(*byte),
            RewritePart::Group(number) => {
                out.extend(captures.get(*number).map_or(&[][..], |group| group.as_bytes()))
            }
        }
    }
}

/// Returns the length of the UTF-8 character at the start, 1 if there is none. As in RE2, an encoded surrogate is a
/// character.
fn character_len(bytes: &[u8]) -> usize {
    if let [0xed, 0xa0..=0xbf, 0x80..=0xbf, ..] = bytes {
        return 3;
    }
    let first = bytes.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
    first.map_or(1, char::len_utf8)
}
