//! `unicode_encode`: encodes code points as strings. `unicode_transcode`: converts strings between encodings.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType, InferenceContext};

use super::encoding::{CharEncoding, OnError};
use super::ngrams::check_splits;
use super::params::{in_shape_fn, ints, map, string_to_string};
use crate::dtype;
use crate::error::Result;
use crate::graph::{IntoOperand, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::tensor::StringsBuilder;

impl<'g> Value<'g> {
    /// Encodes code points: string `i` of the result has the characters `self[splits[i]..splits[i + 1]]`. An integer
    /// that is not a character gives U+FFFD.
    ///
    /// `i32[u], splits [n + 1] -> string[n]`; `splits` is i32 or i64. `encoding` is `UTF-8`, `UTF-16-BE` or
    /// `UTF-32-BE`. As TensorFlow's `UnicodeEncode`; imported graphs may treat errors otherwise. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([97, 233, 98])?.unicode_encode(g.constant([0, 2, 3])?, "UTF-8")?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from(["aé", "b"]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype or the encoding is not supported, or an operand is not a vector. Splits that do not ascend from 0 to the
    /// number of code points fail the run.
    #[track_caller]
    pub fn unicode_encode(self, splits: impl IntoOperand<'g>, encoding: &str) -> Result<Value<'g>> {
        let splits = splits.into_own_operand(self.graph(), Location::caller());
        self.graph().op(&ENCODE).data(self).data(splits).attr("output_encoding", encoding).finish()
    }

    /// Converts each string from encoding `from` to encoding `to`. Bytes that are not a character give U+FFFD.
    ///
    /// `string[..] -> string[..]`. `from` is as for [`Value::unicode_decode`], `to` as for [`Value::unicode_encode`].
    /// As TensorFlow's `UnicodeTranscode`; imported graphs may treat errors otherwise. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let bytes = g.constant(["é"])?.unicode_transcode("UTF-8", "UTF-16-BE")?;
    /// let y = bytes.unicode_transcode("UTF-16-BE", "UTF-8")?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from(["é"]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are not strings, or an encoding is not supported.
    #[track_caller]
    pub fn unicode_transcode(self, from: &str, to: &str) -> Result<Value<'g>> {
        let call = self.graph().op(&TRANSCODE).data(self);
        call.attr("input_encoding", from).attr("output_encoding", to).finish()
    }
}

pub(crate) static ENCODE: OpDef = OpDef::host("unicode_encode", run_encode)
    .attrs(&[
        Attribute::str_or("output_encoding", "UTF-8"),
        Attribute::str_or("errors", "replace"),
        Attribute::int_or("replacement_char", 0xfffd),
    ])
    .operands(&[Operand::Data("input_values"), Operand::Data("input_splits")])
    .shape_fn(|cx| {
        check(cx)?;
        shapeflow_shape_fns::string::unicode_encode(cx)
    })
    .dtype_rule(encode_dtypes)
    .tensorflow(&[TfOp::new("UnicodeEncode")]);

pub(crate) static TRANSCODE: OpDef = OpDef::host("unicode_transcode", run_transcode)
    .attrs(&[
        Attribute::str_or("input_encoding", "UTF-8"),
        Attribute::str_or("output_encoding", "UTF-8"),
        Attribute::str_or("errors", "replace"),
        Attribute::int_or("replacement_char", 0xfffd),
        Attribute::bool_or("replace_control_characters", false),
    ])
    .operands(&[Operand::Data("input")])
    .shape_fn(|cx| {
        in_shape_fn(CharEncoding::input(cx.attrs()))?;
        check(cx)?;
        shapeflow_shape_fns::common::unary(cx)
    })
    .dtype_rule(string_to_string)
    .tensorflow(&[TfOp::new("UnicodeTranscode")]);

/// Every op of the file.
pub(crate) static ALL: &[&OpDef] = &[&ENCODE, &TRANSCODE];

fn encode_dtypes(operands: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    if let Some(other) = operands.first().filter(|dtype| **dtype != DType::I32) {
        return dtype::refuse(format!("code points must be i32, got {other}"));
    }
    dtype::check_indices(operands, 1)?;
    Ok(vec![DType::String])
}

fn check(cx: &InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    in_shape_fn(CharEncoding::output(cx.attrs()))?;
    in_shape_fn(OnError::new(cx.attrs())).map(|_| ())
}

fn run_encode(cx: &mut HostCx<'_>) -> Result<()> {
    let (codes, splits) = (cx.input(0)?.to_vec::<i32>()?, ints(cx, 1)?);
    check_splits(&splits, codes.len())?;
    let (encoding, on_error) = (CharEncoding::output(cx.attrs())?, OnError::new(cx.attrs())?);
    let mut made = StringsBuilder::with_capacity(splits.len(), codes.len())?;
    let mut bytes = Vec::new();
    for bounds in splits.windows(2) {
        bytes.clear();
        for code in &codes[bounds[0] as usize..bounds[1] as usize] {
            let character = u32::try_from(*code).ok().and_then(char::from_u32);
            if let Some(character) = on_error.apply(character)? {
                encoding.encode(character, &mut bytes);
            }
        }
        made.push(&bytes)?;
    }
    let count = made.len();
    cx.set_output(0, made.finish(&[count])?)
}

fn run_transcode(cx: &mut HostCx<'_>) -> Result<()> {
    let from = CharEncoding::input(cx.attrs())?;
    let (to, on_error) = (CharEncoding::output(cx.attrs())?, OnError::of_transcoder(cx.attrs())?);
    let (mut decoded, mut bytes) = (Vec::new(), Vec::new());
    map(cx, |string, made| {
        decoded.clear();
        bytes.clear();
        from.decode(string, &mut decoded);
        for (_, character) in &decoded {
            if let Some(character) = on_error.apply(*character)? {
                to.encode(character, &mut bytes);
            }
        }
        made.append(&bytes)
    })
}
