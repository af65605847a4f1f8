//! `decode_image` and its kin: the pixels of image files.

use shapeflow_shape_fns::{Attribute, DType};

use super::attrs;
use super::codecs;
use super::dtypes::{decodes_to, decodes_to_u8};
use super::image_op::ImageOp;
use crate::error::Result;
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};
use crate::shape_fns;

/// How [`Value::decode_image`] decodes a file.
///
/// ```
/// use shapeflow::{DType, ImageDecoding};
///
/// let options = ImageDecoding { channels: 3, dtype: DType::F32, ..ImageDecoding::default() };
/// assert!(options.expand_animations);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ImageDecoding {
    /// The number of channels: 1 for gray, 3 for color, 4 for color and alpha, or 0 for the channels of the file.
    pub channels: i64,
    /// `u8`, `u16`, or `f32` with elements from 0 to 1.
    pub dtype: DType,
    /// Whether files with frames give an axis of frames. Otherwise they give their first frame.
    pub expand_animations: bool,
}

impl Default for ImageDecoding {
    /// The channels of the file as `u8`, with an axis of frames.
    fn default() -> ImageDecoding {
        ImageDecoding { channels: 0, dtype: DType::U8, expand_animations: true }
    }
}

impl<'g> Value<'g> {
    /// Decodes an image file: JPEG, PNG, GIF, BMP or WebP.
    ///
    /// `string[] -> [height, width, channels]`, or `[frames, height, width, channels]` for GIF and WebP files if
    /// `expand_animations` is set. A sample of 8 bits is multiplied by 256 for u16, and divided by 255 for f32. A PNG
    /// file is decoded as by [`Value::decode_png`] to u16, and divided by 65535 for f32. GIF files have 3 channels, BMP
    /// files 1, 3 or 4, JPEG files 1 or 3. As TensorFlow's `DecodeImage` (`tf.io.decode_image`), which also reads JPEG
    /// XL; this library does not. Runs on the host, with the feature `media`.
    ///
    /// ```
    /// # #[cfg(feature = "media")] {
    /// use shapeflow::{Graph, ImageDecoding, Tensor};
    ///
    /// let g = Graph::new();
    /// let file = g.constant([[[1u8, 2, 3], [4, 5, 6]]])?.encode_png()?;
    /// let image = file.decode_image(&ImageDecoding { channels: 4, ..ImageDecoding::default() })?;
    /// let [image] = g.compile(image)?.run(&[])?;
    /// assert_eq!(image, Tensor::from([[[1u8, 2, 3, 255], [4, 5, 6, 255]]]));
    /// # }
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `self` is not a scalar string, no image has this number of channels, or the dtype is not supported. The run
    /// fails if the bytes are damaged or of another format, the format has no images with this number of channels, or
    /// the image has 2²⁹ elements or more.
    #[doc(alias = "imread")]
    #[track_caller]
    pub fn decode_image(self, options: &ImageDecoding) -> Result<Value<'g>> {
        let call = self.graph().op(&ANY).data(self).attr("channels", options.channels);
        call.attr("dtype", options.dtype).attr("expand_animations", options.expand_animations).finish()
    }

    /// Decodes a PNG file, whose bit depth may be from 1 to 16, with or without a palette, alpha and interlacing.
    ///
    /// `string[] -> dtype[height, width, channels]`, u8 or u16. `channels` is 1, 3, 4, or 0 for the 1 to 4 channels of
    /// the file. A sample of 16 bits becomes u8 by its upper bits; a sample of 8 bits is multiplied by 257 for u16.
    /// Color becomes gray by `0.299 r + 0.587 g + 0.114 b`; if the file has a chunk gAMA or sRGB, the sum is computed
    /// on linear light, not on the stored samples. As TensorFlow's `DecodePng` (`tf.io.decode_png`), bit for bit; as
    /// there, the op also reads JPEG files and GIF files of one frame. Runs on the host, with the feature `media`.
    ///
    /// ```
    /// # #[cfg(feature = "media")] {
    /// use shapeflow::{DType, Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let file = g.constant([[[1u16], [513]]])?.encode_png()?;
    /// let image = file.decode_png(0, DType::U16)?;
    /// let [image] = g.compile(image)?.run(&[])?;
    /// assert_eq!(image, Tensor::from([[[1u16], [513]]]));
    /// # }
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::decode_image`].
    #[track_caller]
    pub fn decode_png(self, channels: i64, dtype: DType) -> Result<Value<'g>> {
        self.graph().op(&PNG).data(self).attr("channels", channels).attr("dtype", dtype).finish()
    }

    /// Decodes a BMP file of 8, 24 or 32 bits without compression. Files of 8 bits are gray.
    ///
    /// `string[] -> u8[height, width, channels]`. `channels` is 3, 4, or 0 for the channels of the file. As
    /// TensorFlow's `DecodeBmp` (`tf.io.decode_bmp`). Runs on the host, with the feature `media`.
    ///
    /// ```
    /// # #[cfg(feature = "media")] {
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let mut file = b"BM\x3a\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\x18\0".to_vec();
    /// file.resize(54, 0);
    /// file.extend([30, 20, 10, 0]);
    /// let g = Graph::new();
    /// let image = g.constant(Tensor::from_strings(&[], &[file])?)?.decode_bmp(0)?;
    /// let [image] = g.compile(image)?.run(&[])?;
    /// assert_eq!(image, Tensor::from([[[10u8, 20, 30]]]));
    /// # }
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::decode_image`].
    #[track_caller]
    pub fn decode_bmp(self, channels: i64) -> Result<Value<'g>> {
        self.graph().op(&BMP).data(self).attr("channels", channels).finish()
    }

    /// Decodes a GIF file to one picture for each frame.
    ///
    /// `string[] -> u8[frames, height, width, 3]`, as large as the greatest frame. Where a frame does not cover the
    /// picture, the picture keeps the pixels of the previous one (black for the first), whatever the frame's disposal.
    /// A truncated file gives its complete frames. As TensorFlow's `DecodeGif` (`tf.io.decode_gif`); as there, the op
    /// also reads PNG and JPEG files as one frame. Runs on the host, with the feature `media`.
    ///
    /// ```
    /// # #[cfg(feature = "media")] {
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let file = b"GIF89a\x01\0\x01\0\x80\0\0\x0a\x14\x1e\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";
    /// let g = Graph::new();
    /// let frames = g.constant(Tensor::from_strings(&[], &[file])?)?.decode_gif()?;
    /// let [frames] = g.compile(frames)?.run(&[])?;
    /// assert_eq!(frames, Tensor::from([[[[10u8, 20, 30]]]]));
    /// # }
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `self` is not a scalar string. The run fails for the reasons of [`Value::decode_image`].
    #[track_caller]
    pub fn decode_gif(self) -> Result<Value<'g>> {
        self.graph().op(&GIF).data(self).finish()
    }

    /// Decodes a WebP file with or without loss.
    ///
    /// `string[] -> u8[frames, height, width, channels]`. `channels` is 3, 4, or 0 for the channels of the file. The op
    /// also reads PNG and JPEG files, which give `[height, width, channels]` and may have 1 channel. As TensorFlow's
    /// `DecodeWebP`. The pixels are equal, but pixels of blended frames may differ by 1 level. Runs on the host, with
    /// the feature `media`.
    ///
    /// ```
    /// # #[cfg(feature = "media")] {
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let file = b"RIFF\x1c\0\0\0WEBPVP8L\x10\0\0\0/\0\0\0\0\xcdU\x20\x22\x02\xa5\xa8}\x15\x22\x01";
    /// let g = Graph::new();
    /// let frames = g.constant(Tensor::from_strings(&[], &[file])?)?.decode_webp(0)?;
    /// let [frames] = g.compile(frames)?.run(&[])?;
    /// assert_eq!(frames, Tensor::from([[[[10u8, 20, 30]]]]));
    /// # }
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::decode_image`].
    #[track_caller]
    pub fn decode_webp(self, channels: i64) -> Result<Value<'g>> {
        self.graph().op(&WEBP).data(self).attr("channels", channels).finish()
    }
}

/// The numbers of channels of ops that read PNG files.
const CHANNELS: &[usize] = &[0, 1, 3, 4];

pub(crate) static ANY: OpDef = OpDef::host("decode_image", |cx| codecs::decode_image(cx, ImageOp::Any))
    .feature(super::FEATURE)
    .attrs(&[
        Attribute::int_or("channels", 0),
        Attribute::dtype_or("dtype", DType::U8),
        Attribute::bool_or("expand_animations", true),
    ])
    .operands(&[Operand::Data("contents")])
    .shape_fn(shape_fns::media::decode_image)
    .dtype_rule(|operands, attrs| {
        attrs::channels(attrs, CHANNELS)?;
        decodes_to(operands, attrs, "dtype", &[DType::U8, DType::U16, DType::F32])
    })
    .tensorflow(&[TfOp::new("DecodeImage")]);

pub(crate) static PNG: OpDef = OpDef::host("decode_png", |cx| codecs::decode_image(cx, ImageOp::Png))
    .feature(super::FEATURE)
    .attrs(&[Attribute::int_or("channels", 0), Attribute::dtype_or("dtype", DType::U8)])
    .operands(&[Operand::Data("contents")])
    .shape_fn(shape_fns::media::decode_picture)
    .dtype_rule(|operands, attrs| {
        attrs::channels(attrs, CHANNELS)?;
        decodes_to(operands, attrs, "dtype", &[DType::U8, DType::U16])
    })
    .tensorflow(&[TfOp::new("DecodePng")]);

pub(crate) static BMP: OpDef = OpDef::host("decode_bmp", |cx| codecs::decode_image(cx, ImageOp::Bmp))
    .feature(super::FEATURE)
    .attrs(&[Attribute::int_or("channels", 0)])
    .operands(&[Operand::Data("contents")])
    .shape_fn(shape_fns::media::decode_picture)
    .dtype_rule(|operands, attrs| {
        attrs::channels(attrs, &[0, 3, 4])?;
        decodes_to_u8(operands, attrs)
    })
    .tensorflow(&[TfOp::new("DecodeBmp")]);

pub(crate) static GIF: OpDef = OpDef::host("decode_gif", |cx| codecs::decode_image(cx, ImageOp::Gif))
    .feature(super::FEATURE)
    .operands(&[Operand::Data("contents")])
    .shape_fn(shape_fns::media::decode_gif)
    .dtype_rule(decodes_to_u8)
    .tensorflow(&[TfOp::new("DecodeGif")]);

pub(crate) static WEBP: OpDef = OpDef::host("decode_webp", |cx| codecs::decode_image(cx, ImageOp::WebP))
    .feature(super::FEATURE)
    .attrs(&[Attribute::int_or("channels", 0), Attribute::dtype_or("dtype", DType::U8)])
    .operands(&[Operand::Data("contents")])
    .shape_fn(shape_fns::media::decode_frames)
    .dtype_rule(|operands, attrs| {
        attrs::channels(attrs, CHANNELS)?;
        decodes_to(operands, attrs, "dtype", &[DType::U8])
    })
    .tensorflow(&[TfOp::new("DecodeWebP")]);
