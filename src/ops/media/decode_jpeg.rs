//! `decode_jpeg`, `decode_and_crop_jpeg` and `extract_jpeg_shape`: JPEG files.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use super::attrs;
use super::codecs;
use super::dtypes::{check, decodes_to, decodes_to_u8};
use super::image_op::ImageOp;
use crate::error::Result;
use crate::graph::{IntoOperand, OpBuilder, Value};
use crate::op::{OpDef, Operand, TfOp};
use crate::shape_fns;

/// How [`Value::decode_jpeg_with`] decodes a file.
///
/// ```
/// let options = shapeflow::JpegDecoding { ratio: 2, ..shapeflow::JpegDecoding::default() };
/// assert!(options.fancy_upscaling && !options.accurate_dct);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JpegDecoding {
    /// The image gets smaller by this factor: 1, 2, 4 or 8.
    pub ratio: i64,
    /// Whether small chroma planes are interpolated. Otherwise their samples are repeated.
    pub fancy_upscaling: bool,
    /// Whether a file may be truncated. Blocks that it lacks are gray.
    pub try_recover_truncated: bool,
    /// Whether the inverse cosine transform multiplies with 13 bits, instead of 8.
    pub accurate_dct: bool,
}

impl Default for JpegDecoding {
    /// TensorFlow's defaults: all pixels, interpolated chroma, whole files, the fast transform.
    fn default() -> JpegDecoding {
        JpegDecoding { ratio: 1, fancy_upscaling: true, try_recover_truncated: false, accurate_dct: false }
    }
}

/// Adds the options to a call.
fn with_options<'g>(call: OpBuilder<'g>, channels: i64, options: &JpegDecoding) -> OpBuilder<'g> {
    let method = if options.accurate_dct { "INTEGER_ACCURATE" } else { "" };
    let call = call.attr("channels", channels).attr("ratio", options.ratio).attr("dct_method", method);
    let call = call.attr("fancy_upscaling", options.fancy_upscaling);
    call.attr("try_recover_truncated", options.try_recover_truncated)
}

impl<'g> Value<'g> {
    /// Decodes a JPEG file with [`JpegDecoding::default`], see [`Value::decode_jpeg_with`].
    ///
    /// `string[] -> u8[height, width, channels]`. As TensorFlow's `DecodeJpeg`. Runs on the host, with the feature
    /// `media`.
    ///
    /// ```
    /// # #[cfg(feature = "media")] {
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let file = g.constant([[[128u8], [128]]])?.encode_jpeg(&Default::default())?;
    /// let [image] = g.compile(file.decode_jpeg(0)?)?.run(&[])?;
    /// assert_eq!(image, Tensor::from([[[128u8], [128]]]));
    /// # }
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::decode_jpeg_with`].
    #[track_caller]
    pub fn decode_jpeg(self, channels: i64) -> Result<Value<'g>> {
        self.decode_jpeg_with(channels, &JpegDecoding::default())
    }

    /// Decodes a JPEG file: baseline or progressive, gray, RGB, YCbCr or CMYK.
    ///
    /// `string[] -> u8[height, width, channels]`. `channels` is 1 for the luma, 3, or 0 for the channels of the file.
    /// As TensorFlow's `DecodeJpeg` (`tf.io.decode_jpeg`), bit for bit: the transforms, the interpolation and the
    /// colors are those of libjpeg-turbo. After the last whole block of a truncated file, the pixels may differ.
    /// `acceptable_fraction` changes nothing, because every row is filled. As in TensorFlow, the op also reads PNG
    /// files and GIF files of one frame; unlike TensorFlow, it refuses WebP files. Files with arithmetic codes or with
    /// 12 bits are refused too. Runs on the host, with the feature `media`.
    ///
    /// ```
    /// # #[cfg(feature = "media")] {
    /// use shapeflow::{Graph, JpegDecoding};
    ///
    /// let g = Graph::new();
    /// let file = g.fill([64, 48, 3], g.constant(200u8)?)?.encode_jpeg(&Default::default())?;
    /// let small = file.decode_jpeg_with(3, &JpegDecoding { ratio: 8, ..JpegDecoding::default() })?;
    /// let [small] = g.compile(small)?.run(&[])?;
    /// assert_eq!(small.sizes(), [8, 6, 3]);
    /// # }
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `self` is not a scalar string, `channels` is not 0, 1, 3 or 4, or `ratio` is not 1, 2, 4 or 8. The run fails if
    /// the bytes are damaged or of another format, `channels` is 4 for a JPEG file, the file is truncated and
    /// `try_recover_truncated` is not set, the image has 2²⁹ elements or more, or a progressive one has more than 2³⁰
    /// coefficients.
    #[track_caller]
    pub fn decode_jpeg_with(self, channels: i64, options: &JpegDecoding) -> Result<Value<'g>> {
        with_options(self.graph().op(&DEF).data(self), channels, options).finish()
    }

    /// Decodes a window of a JPEG file.
    ///
    /// `string[], crop_window i32[4] -> u8[height, width, channels]`. The window is `[y, x, height, width]` in the
    /// image that [`Value::decode_jpeg_with`] gives. Interpolation at the left and right edges of the window sees no
    /// pixels outside if the window starts or ends at a block. As TensorFlow's `DecodeAndCropJpeg`
    /// (`tf.io.decode_and_crop_jpeg`). Runs on the host, with the feature `media`.
    ///
    /// ```
    /// # #[cfg(feature = "media")] {
    /// use shapeflow::Graph;
    ///
    /// let g = Graph::new();
    /// let file = g.fill([64, 48, 3], g.constant(200u8)?)?.encode_jpeg(&Default::default())?;
    /// let part = file.decode_and_crop_jpeg(g.constant([1, 2, 30, 20])?, 0, &Default::default())?;
    /// assert_eq!(part.shape().to_string(), "[30, 20, ?]");
    /// let [part] = g.compile(part)?.run(&[])?;
    /// assert_eq!(part.sizes(), [30, 20, 3]);
    /// # }
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::decode_jpeg_with`]; also if `channels` is 4, or `crop_window` is not an i32 vector of 4 elements.
    /// The run fails if the window is empty or not inside the image, or the file is not a JPEG file.
    #[track_caller]
    pub fn decode_and_crop_jpeg(
        self,
        crop_window: impl IntoOperand<'g>,
        channels: i64,
        options: &JpegDecoding,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        let call = self.graph().op(&CROP).data(self).data(crop_window.into_operand(self, location));
        with_options(call, channels, options).finish_at(location)
    }

    /// Returns the height, the width and the number of channels of a JPEG file, without its pixels.
    ///
    /// `string[] -> dtype[3]`, i32 or i64. As TensorFlow's `ExtractJpegShape` (`tf.io.extract_jpeg_shape`). Runs on the
    /// host, with the feature `media`.
    ///
    /// ```
    /// # #[cfg(feature = "media")] {
    /// use shapeflow::{DType, Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let file = g.fill([5, 7, 3], g.constant(200u8)?)?.encode_jpeg(&Default::default())?;
    /// let [shape] = g.compile(file.extract_jpeg_shape(DType::I32)?)?.run(&[])?;
    /// assert_eq!(shape, Tensor::from([5, 7, 3]));
    /// # }
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `self` is not a scalar string, or `dtype` is neither i32 nor i64. The run fails if the bytes are not a JPEG
    /// file, or end before its pixels.
    #[track_caller]
    pub fn extract_jpeg_shape(self, dtype: DType) -> Result<Value<'g>> {
        self.graph().op(&SHAPE).data(self).attr("output_type", dtype).finish()
    }
}

/// Refuses attributes of a decoder, whose files have one of these numbers of channels.
fn check_attrs(attrs: &Attrs, channels: &[usize]) -> Result<()> {
    attrs::channels(attrs, channels)?;
    attrs::ratio(attrs)?;
    attrs::is_accurate(attrs)?;
    Ok(())
}

/// The attributes of both decoders.
const ATTRS: &[Attribute] = &[
    Attribute::int_or("channels", 0),
    Attribute::int_or("ratio", 1),
    Attribute::bool_or("fancy_upscaling", true),
    Attribute::bool_or("try_recover_truncated", false),
    Attribute::float_or("acceptable_fraction", 1.0),
    Attribute::str_or("dct_method", ""),
];

pub(crate) static DEF: OpDef = OpDef::host("decode_jpeg", |cx| codecs::decode_image(cx, ImageOp::Jpeg))
    .feature(super::FEATURE)
    .attrs(ATTRS)
    .operands(&[Operand::Data("contents")])
    .shape_fn(shape_fns::media::decode_picture)
    .dtype_rule(|operands, attrs| {
        // The op also reads PNG files, which have 4 channels.
        check_attrs(attrs, &[0, 1, 3, 4])?;
        decodes_to_u8(operands, attrs)
    })
    .tensorflow(&[TfOp::new("DecodeJpeg")]);

pub(crate) static CROP: OpDef = OpDef::host("decode_and_crop_jpeg", codecs::decode_and_crop_jpeg)
    .feature(super::FEATURE)
    .attrs(ATTRS)
    .operands(&[Operand::Data("contents"), Operand::Data("crop_window")])
    .shape_fn(shape_fns::media::decode_and_crop)
    .dtype_rule(|operands, attrs| {
        check_attrs(attrs, &[0, 1, 3])?;
        check(operands, &[("contents", DType::String), ("crop_window", DType::I32)])?;
        Ok(vec![DType::U8])
    })
    .tensorflow(&[TfOp::new("DecodeAndCropJpeg")]);

pub(crate) static SHAPE: OpDef = OpDef::host("extract_jpeg_shape", codecs::jpeg_shape)
    .feature(super::FEATURE)
    .attrs(&[Attribute::dtype_or("output_type", DType::I32)])
    .operands(&[Operand::Data("contents")])
    .shape_fn(shape_fns::media::extract_shape)
    .dtype_rule(|operands, attrs| decodes_to(operands, attrs, "output_type", &[DType::I32, DType::I64]))
    .tensorflow(&[TfOp::new("ExtractJpegShape")]);
