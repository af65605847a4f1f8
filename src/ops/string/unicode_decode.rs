//! `unicode_decode` and `unicode_decode_with_offsets`: strings as code points.

use shapeflow_shape_fns::{Attribute, Attrs, DType, InferenceContext};

use super::encoding::{CharEncoding, OnError};
use super::params::{check_strings, in_shape_fn, int_tensor, strings};
use crate::dtype;
use crate::error::Result;
use crate::graph::Value;
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::array::unstack::exactly;
use crate::tensor::Tensor;

impl<'g> Value<'g> {
    /// Decodes each string to the code points of its characters. Bytes that are not a character give U+FFFD.
    ///
    /// `string[..] -> splits i64[n + 1], code points i32[u]` for `n` strings: string `i` has the code points
    /// `splits[i]..splits[i + 1]`. `encoding` is UTF-8, UTF-16 or UTF-32 (the last two also with `-BE` or `-LE`),
    /// ISO-8859-1 or US-ASCII. As TensorFlow's `UnicodeDecode`; imported graphs may treat errors otherwise. Runs on the
    /// host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let [_, points] = g.constant(["aé"])?.unicode_decode("UTF-8")?;
    /// let [points] = g.compile(points)?.run(&[])?;
    /// assert_eq!(points, Tensor::from([97, 233]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are not strings, or the encoding is not supported.
    #[track_caller]
    pub fn unicode_decode(self, encoding: &str) -> Result<[Value<'g>; 2]> {
        exactly(self.graph().op(&DEF).data(self).attr("input_encoding", encoding).finish_all()?)
    }

    /// Decodes as [`Value::unicode_decode`] does, and gives the byte at which each character starts in its string.
    ///
    /// `string[..] -> splits i64[n + 1], code points i32[u], starts i64[u]`. As TensorFlow's
    /// `UnicodeDecodeWithOffsets`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let [_, _, starts] = g.constant(["éa"])?.unicode_decode_with_offsets("UTF-8")?;
    /// let [starts] = g.compile(starts)?.run(&[])?;
    /// assert_eq!(starts, Tensor::from([0i64, 2]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::unicode_decode`].
    #[track_caller]
    pub fn unicode_decode_with_offsets(self, encoding: &str) -> Result<[Value<'g>; 3]> {
        exactly(self.graph().op(&WITH_OFFSETS).data(self).attr("input_encoding", encoding).finish_all()?)
    }
}

pub(crate) static DEF: OpDef = OpDef::host("unicode_decode", run)
    .attrs(&[
        Attribute::dtype_or("Tsplits", DType::I64),
        Attribute::str_or("input_encoding", "UTF-8"),
        Attribute::str_or("errors", "replace"),
        Attribute::int_or("replacement_char", 0xfffd),
        Attribute::bool_or("replace_control_characters", false),
    ])
    .operands(&[Operand::Data("input")])
    .outputs(|_, _| 2)
    .shape_fn(shape)
    .dtype_rule(|operands, attrs| Ok(dtypes(operands, attrs)?[..2].to_vec()))
    .tensorflow(&[TfOp::new("UnicodeDecode")]);

pub(crate) static WITH_OFFSETS: OpDef = OpDef::host("unicode_decode_with_offsets", run)
    .attrs(&[
        Attribute::dtype_or("Tsplits", DType::I64),
        Attribute::str_or("input_encoding", "UTF-8"),
        Attribute::str_or("errors", "replace"),
        Attribute::int_or("replacement_char", 0xfffd),
        Attribute::bool_or("replace_control_characters", false),
    ])
    .operands(&[Operand::Data("input")])
    .outputs(|_, _| 3)
    .shape_fn(shape)
    .dtype_rule(|operands, attrs| Ok(dtypes(operands, attrs)?.to_vec()))
    .tensorflow(&[TfOp::new("UnicodeDecodeWithOffsets")]);

/// Every op of the file.
pub(crate) static ALL: &[&OpDef] = &[&DEF, &WITH_OFFSETS];

fn dtypes(operands: &[DType], attrs: &Attrs) -> Result<[DType; 3]> {
    check_strings(operands, 1)?;
    Ok([splits_dtype(attrs)?, DType::I32, DType::I64])
}

fn shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    in_shape_fn(CharEncoding::input(cx.attrs()))?;
    in_shape_fn(OnError::of_decoder(cx.attrs()))?;
    shapeflow_shape_fns::string::unicode_decode(cx)
}

/// Returns attribute `Tsplits`, the dtype of splits.
fn splits_dtype(attrs: &Attrs) -> Result<DType> {
    match attrs.dtype("Tsplits") {
        dtype @ (DType::I32 | DType::I64) => Ok(dtype),
        other => dtype::refuse(format!("Tsplits must be i32 or i64, got {other}")),
    }
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let (x, on_error) = (strings(cx, 0)?, OnError::of_decoder(cx.attrs())?);
    let encoding = CharEncoding::input(cx.attrs())?;
    let (mut splits, mut codes, mut starts) = (vec![0], Vec::new(), Vec::new());
    let mut decoded = Vec::new();
    for string in x.iter() {
        decoded.clear();
        encoding.decode(string, &mut decoded);
        for (start, character) in &decoded {
            if let Some(character) = on_error.apply(*character)? {
                codes.push(u32::from(character).cast_signed());
                starts.push(*start as i64);
            }
        }
        splits.push(codes.len() as i64);
    }
    cx.set_output(0, int_tensor(splits_dtype(cx.attrs())?, &[splits.len()], &splits)?)?;
    cx.set_output(1, Tensor::from_slice(&[codes.len()], &codes)?)?;
    if cx.outputs() == 3 {
        cx.set_output(2, Tensor::from_slice(&[starts.len()], &starts)?)?;
    }
    Ok(())
}
