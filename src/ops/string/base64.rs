//! `encode_base64` and `decode_base64`: bytes as text in the alphabet that is safe in URLs.

use shapeflow_shape_fns::Attribute;

use ::base64::alphabet::URL_SAFE;
use ::base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use ::base64::engine::{DecodePaddingMode, Engine};

use super::params::{map, quoted, string_to_string, value_error};
use crate::error::Result;
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};

impl<'g> Value<'g> {
    /// Encodes the bytes of each string as base64 with `-` and `_`, and with `=` up to a multiple of four characters if
    /// `pad` is set.
    ///
    /// `string[..] -> string[..]`. As TensorFlow's `EncodeBase64`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant(["hi?"])?.encode_base64(true)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from(["aGk_"]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are not strings.
    #[track_caller]
    pub fn encode_base64(self, pad: bool) -> Result<Value<'g>> {
        self.graph().op(&ENCODE).data(self).attr("pad", pad).finish()
    }

    /// Decodes each string from base64 with `-` and `_`, with or without padding.
    ///
    /// `string[..] -> string[..]`. As TensorFlow's `DecodeBase64`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant(["aGk_"])?.decode_base64()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from(["hi?"]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are not strings. A string that is not base64 fails the run.
    #[track_caller]
    pub fn decode_base64(self) -> Result<Value<'g>> {
        self.graph().op(&DECODE).data(self).finish()
    }
}

pub(crate) static ENCODE: OpDef = OpDef::host("encode_base64", |cx| {
    let pads = cx.attrs().bool("pad");
    let engine = engine(pads);
    map(cx, |string, made| made.append(engine.encode(string).as_bytes()))
})
.attrs(&[Attribute::bool_or("pad", false)])
.operands(&[Operand::Data("input")])
.shape_fn(shapeflow_shape_fns::common::unary)
.dtype_rule(string_to_string)
.tensorflow(&[TfOp::new("EncodeBase64")]);

pub(crate) static DECODE: OpDef = OpDef::host("decode_base64", |cx| {
    let (padded, plain) = (engine(true), engine(false));
    map(cx, |string, made| {
        let engine = if string.ends_with(b"=") { &padded } else { &plain };
        let bytes = engine.decode(string);
        made.append(&bytes.map_err(|error| {
            let why = error.to_string();
            value_error(format!(
                "a string must be base64, got {}: {}",
                quoted(string),
                why.trim_end_matches('.')
            ))
        })?)
    })
})
.operands(&[Operand::Data("input")])
.shape_fn(shapeflow_shape_fns::common::unary)
.dtype_rule(string_to_string)
.tensorflow(&[TfOp::new("DecodeBase64")]);

/// Every op of the file.
pub(crate) static ALL: &[&OpDef] = &[&DECODE, &ENCODE];

/// Returns an engine that writes and requires padding, or refuses it. Bits after the last byte are ignored.
fn engine(pads: bool) -> GeneralPurpose {
    let mode = if pads { DecodePaddingMode::RequireCanonical } else { DecodePaddingMode::RequireNone };
    let config = GeneralPurposeConfig::new().with_encode_padding(pads).with_decode_padding_mode(mode);
    GeneralPurpose::new(&URL_SAFE, config.with_decode_allow_trailing_bits(true))
}
