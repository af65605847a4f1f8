//! `string_split` and `string_split_chars`: the parts of strings as ragged rows, or as a sparse matrix.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use super::case::is_space;
use super::params::{check_strings, scalar, strings};
use crate::dtype::type_text;
use crate::error::Result;
use crate::graph::{RaggedValue, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::SliceItem;
use crate::ops::array::own_size::own_dim;
use crate::ops::array::unstack::exactly;
use crate::ragged::Unchecked;
use crate::tensor::{StringsBuilder, Tensor};

impl<'g> Value<'g> {
    /// Splits each string at every `separator`, or at white space if `separator` is empty. A string is
    /// split `max_splits` times at most, or without a limit if `max_splits` is negative.
    ///
    /// `string[n] -> string[n, (parts)]`: row `i` has the parts of string `i`. As TensorFlow's `tf.strings.split`. Runs
    /// on the host.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, Tensor, shape};
    ///
    /// let g = Graph::new();
    /// let texts = g.input("texts", DType::String, shape!["n"])?;
    /// let parts = texts.string_split(",", -1)?;
    /// assert_eq!(parts.shape_text(), "[n, (r0)]");
    /// let texts = Tensor::from(["a,b", "", "c"]);
    /// let parts = g.compile(parts)?.feed("texts", &texts).run()?.ragged_at(0)?;
    /// assert_eq!(parts.to_string(), "[[\"a\", \"b\"], [\"\"], [\"c\"]]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `self` is not a vector of strings.
    #[track_caller]
    pub fn string_split(self, separator: &str, max_splits: i64) -> Result<RaggedValue<'g>> {
        let arguments = format!("{separator:?}, {max_splits}");
        rows_of_parts(self, "string_split", &arguments, Location::caller(), || {
            self.string_split_sparse(separator, max_splits)
        })
    }

    /// Splits strings as [`Value::string_split`] does, into a sparse matrix with one row of parts for each string.
    ///
    /// `string[n] -> indices i64[u, 2], parts string[u], shape i64[2]`. As TensorFlow's `StringSplitV2`. Runs on the
    /// host.
    ///
    /// ```
    /// use shapeflow::Graph;
    ///
    /// let g = Graph::new();
    /// let [indices, parts, shape] = g.constant(["a,b", "", "c"])?.string_split_sparse(",", -1)?;
    /// let [indices, parts, shape] = g.compile(&[indices, parts, shape][..])?.run(&[])?;
    /// assert_eq!(indices.to_vec::<i64>()?, [0, 0, 0, 1, 1, 0, 2, 0]);
    /// assert_eq!(parts.to_string(), "string[4] [\"a\", \"b\", \"\", \"c\"]");
    /// assert_eq!(shape.to_vec::<i64>()?, [3, 2]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `self` is not a vector of strings.
    #[track_caller]
    pub fn string_split_sparse(self, separator: &str, max_splits: i64) -> Result<[Value<'g>; 3]> {
        let separator = self.graph().constant(separator)?;
        let call = self.graph().op(&DEF).data(self).data(separator);
        exactly(call.attr("maxsplit", max_splits).finish_all()?)
    }

    /// Splits each string at every byte of `delimiters`, or into bytes if there are none. An empty string has
    /// no parts. With `skip_empty`, other empty parts are left out too.
    ///
    /// `string[n] -> string[n, (parts)]`: row `i` has the parts of string `i`. As TensorFlow's `tf.strings.bytes_split`
    /// if `delimiters` is empty, else as `tf.compat.v1.string_split` with a ragged result. Runs on the host.
    ///
    /// ```
    /// use shapeflow::Graph;
    ///
    /// let g = Graph::new();
    /// let parts = g.constant(["a,b;c", "", ";d"])?.string_split_chars(",;", true)?;
    /// let parts = g.compile(parts)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(parts.to_string(), "[[\"a\", \"b\", \"c\"], [], [\"d\"]]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `self` is not a vector of strings.
    #[doc(alias = "bytes_split")]
    #[track_caller]
    pub fn string_split_chars(self, delimiters: &str, skip_empty: bool) -> Result<RaggedValue<'g>> {
        let arguments = format!("{delimiters:?}, {skip_empty}");
        rows_of_parts(self, "string_split_chars", &arguments, Location::caller(), || {
            self.string_split_chars_sparse(delimiters, skip_empty)
        })
    }

    /// Splits strings as [`Value::string_split_chars`] does, into a sparse matrix with one row of parts for each
    /// string.
    ///
    /// `string[n] -> indices i64[u, 2], parts string[u], shape i64[2]`. As TensorFlow's `StringSplit`. Runs on the
    /// host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let [_, parts, _] = g.constant(["a,b;c"])?.string_split_chars_sparse(",;", true)?;
    /// let [parts] = g.compile(parts)?.run(&[])?;
    /// assert_eq!(parts, Tensor::from(["a", "b", "c"]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `self` is not a vector of strings.
    #[track_caller]
    pub fn string_split_chars_sparse(self, delimiters: &str, skip_empty: bool) -> Result<[Value<'g>; 3]> {
        let delimiters = self.graph().constant(delimiters)?;
        let call = self.graph().op(&CHARS).data(self).data(delimiters);
        exactly(call.attr("skip_empty", skip_empty).finish_all()?)
    }
}

/// Returns the parts that `split` makes of `strings` as ragged rows. `method` and `arguments` are the call that errors
/// show. The op gives the indices in row-major order, so that the run need not check them.
fn rows_of_parts<'g>(
    strings: Value<'g>,
    method: &'static str,
    arguments: &str,
    location: &'static Location<'static>,
    split: impl FnOnce() -> Result<[Value<'g>; 3]>,
) -> Result<RaggedValue<'g>> {
    let text = format!("{method}({}, {arguments})", type_text(strings.dtype(), &strings.shape()));
    strings.graph().open_written_call(method, text, location).attempt(|| {
        let [indices, parts, _] = split()?;
        let rowids = indices.slice_with(&[SliceItem::All, SliceItem::at(0)])?;
        RaggedValue::from_value_rowids(parts, Unchecked(rowids), own_dim(strings, 0)?)
    })
}

pub(crate) static DEF: OpDef = OpDef::host("string_split_sparse", |cx| {
    let (separator, limit) = (scalar(cx, 1)?, cx.attrs().int("maxsplit"));
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    run(cx, |string, parts| match separator {
        _ if limit == 0 => parts.push(string),
        [] => at_spaces(string, limit, parts),
        _ => at_separators(string, separator, limit, parts),
    })
})
.attrs(&[Attribute::int_or("maxsplit", -1)])
.operands(&[Operand::Data("input"), Operand::Data("sep")])
.outputs(|_, _| 3)
.shape_fn(shapeflow_shape_fns::string::string_split)
.dtype_rule(dtypes)
.tensorflow(&[TfOp::new("StringSplitV2")]);

pub(crate) static CHARS: OpDef = OpDef::host("string_split_chars_sparse", |cx| {
    let (delimiters, skips) = (scalar(cx, 1)?, cx.attrs().bool("skip_empty"));
    run(cx, |string, parts| match delimiters {
        [] => parts.extend(string.chunks(1)),
        _ if string.is_empty() => {}
        _ => {
            let all = string.split(|byte| delimiters.contains(byte));
            parts.extend(all.filter(|part| !skips || !part.is_empty()));
        }
    })
})
.attrs(&[Attribute::bool_or("skip_empty", true)])
.operands(&[Operand::Data("input"), Operand::Data("delimiter")])
.outputs(|_, _| 3)
.shape_fn(shapeflow_shape_fns::string::string_split)
.dtype_rule(dtypes)
.tensorflow(&[TfOp::new("StringSplit")]);

/// Every op of the file.
pub(crate) static ALL: &[&OpDef] = &[&DEF, &CHARS];

fn dtypes(operands: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    check_strings(operands, 2)?;
    Ok(vec![DType::I64, DType::String, DType::I64])
}

/// Sets the outputs to the parts that `split` finds in each string.
fn run<'a>(cx: &mut HostCx<'a>, split: impl Fn(&'a [u8], &mut Vec<&'a [u8]>)) -> Result<()> {
    let x = strings(cx, 0)?;
    let mut made = StringsBuilder::with_capacity(x.len(), x.byte_len())?;
    let (mut indices, mut parts, mut columns) = (Vec::new(), Vec::new(), 0);
    for (row, string) in x.iter().enumerate() {
        parts.clear();
        split(string, &mut parts);
        columns = columns.max(parts.len());
        for (column, part) in parts.iter().enumerate() {
            indices.extend([row as i64, column as i64]);
            made.push(part)?;
        }
    }
    let count = made.len();
    cx.set_output(0, Tensor::from_slice(&[count, 2], &indices)?)?;
    cx.set_output(1, made.finish(&[count])?)?;
    cx.set_output(2, Tensor::from_slice(&[2], &[x.len() as i64, columns as i64])?)
}

/// Splits at runs of white space, at most `limit` times. The rest after the last split keeps its white space.
fn at_spaces<'a>(string: &'a [u8], limit: usize, parts: &mut Vec<&'a [u8]>) {
    let mut rest = trim_start(string);
    let mut splits = 0;
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| is_space(*byte)).unwrap_or(rest.len());
        parts.push(&rest[..end]);
        rest = trim_start(&rest[end..]);
        splits += 1;
        if splits == limit {
            parts.push(rest);
            return;
        }
    }
}

fn trim_start(string: &[u8]) -> &[u8] {
    let start = string.iter().position(|byte| !is_space(*byte)).unwrap_or(string.len());
    &string[start..]
}

/// Splits at every `separator`, which is not empty, at most `limit` times.
fn at_separators<'a>(string: &'a [u8], separator: &[u8], limit: usize, parts: &mut Vec<&'a [u8]>) {
    let (mut start, mut at, mut splits) = (0, 0, 0);
    while splits < limit && at + separator.len() <= string.len() {
        if string[at..].starts_with(separator) {
            parts.push(&string[start..at]);
            at += separator.len();
            start = at;
            splits += 1;
        } else {
            at += 1;
        }
    }
    parts.push(&string[start..]);
}
