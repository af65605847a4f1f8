//! `decode_compressed`: strings that zlib or gzip compressed.

use shapeflow_shape_fns::{Attribute, DType};

use super::attrs;
use super::codecs;
use super::dtypes::check;
use crate::error::Result;
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};
use crate::shape_fns;

impl<'g> Value<'g> {
    /// Decompresses each string. `compression_type` is `"ZLIB"`, `"GZIP"`, or empty for strings as they are.
    ///
    /// `string[..] -> string[..]`. A truncated string gives the bytes that it has. As TensorFlow's `DecodeCompressed`
    /// (`tf.io.decode_compressed`). Runs on the host, with the feature `media`.
    ///
    /// ```
    /// # #[cfg(feature = "media")] {
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let file = b"\x78\x9c\xcb\xc8\x04\0\x01\x3b\0\xd2";
    /// let g = Graph::new();
    /// let text = g.constant(Tensor::from_strings(&[1], &[file])?)?.decode_compressed("ZLIB")?;
    /// let [text] = g.compile(text)?.run(&[])?;
    /// assert_eq!(text, Tensor::from(["hi"]));
    /// # }
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are not strings, or `compression_type` is not supported (TensorFlow also has `"ZSTD"`). The run
    /// fails if a string is damaged or becomes more than 2³⁰ bytes.
    #[doc(alias = "decompress")]
    #[track_caller]
    pub fn decode_compressed(self, compression_type: &str) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).attr("compression_type", compression_type).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::host("decode_compressed", codecs::decode_compressed)
    .feature(super::FEATURE)
    .attrs(&[Attribute::str_or("compression_type", "")])
    .operands(&[Operand::Data("bytes")])
    .shape_fn(shape_fns::common::unary)
    .dtype_rule(|operands, attrs| {
        attrs::compression_type(attrs)?;
        check(operands, &[("bytes", DType::String)])?;
        Ok(vec![DType::String])
    })
    .tensorflow(&[TfOp::new("DecodeCompressed")]);
