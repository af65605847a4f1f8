//! `encode_png` and `encode_jpeg`: images as files.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, DType};

use super::attrs;
use super::codecs;
use super::dtypes::check;
use crate::dtype;
use crate::error::Result;
use crate::graph::{IntoOperand, Value};
use crate::op::{OpDef, Operand, TfOp};
use crate::shape_fns;

/// How [`Value::encode_jpeg`] writes a file.
///
/// ```
/// let options = shapeflow::JpegEncoding { quality: 80, progressive: true, ..shapeflow::JpegEncoding::default() };
/// assert_eq!((options.chroma_downsampling, options.density), (true, [300, 300]));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JpegEncoding {
    /// From 0 to 100.
    pub quality: i64,
    /// Whether the file first has a rough image and then its details.
    pub progressive: bool,
    /// Whether the Huffman codes are made for the image, which makes the file smaller.
    pub optimize_size: bool,
    /// Whether chroma has half of the rows and columns.
    pub chroma_downsampling: bool,
    /// The pixels in an inch, across and down, from 0 to 65,535, which the file only mentions.
    pub density: [i64; 2],
    /// Whether `density` counts the pixels in a centimeter.
    pub density_in_cm: bool,
    /// A text in the format XMP that the file carries; empty for none.
    pub xmp_metadata: String,
}

impl Default for JpegEncoding {
    /// TensorFlow's defaults: quality 95, one pass, downsampled chroma, 300 pixels in an inch.
    fn default() -> JpegEncoding {
        JpegEncoding {
            quality: 95,
            progressive: false,
            optimize_size: false,
            chroma_downsampling: true,
            density: [300, 300],
            density_in_cm: false,
            xmp_metadata: String::new(),
        }
    }
}

impl<'g> Value<'g> {
    /// Encodes each image of a batch as a PNG file.
    ///
    /// `[batch.., height, width, channels] -> string[batch..]`, u8 and u16, with 1 to 4 channels: gray, gray and alpha,
    /// color, color and alpha. As TensorFlow's `EncodePng` (`tf.io.encode_png`); the bytes may differ, the image of
    /// the file does not. Imported graphs may choose the compression from 0 to 9; by default it is 6. Runs on the host,
    /// with the feature `media`.
    ///
    /// ```
    /// # #[cfg(feature = "media")] {
    /// use shapeflow::{DType, Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let image = g.constant([[[1u8, 2], [3, 4]]])?;
    /// let [again] = g.compile(image.encode_png()?.decode_png(0, DType::U8)?)?.run(&[])?;
    /// assert_eq!(again, Tensor::from([[[1u8, 2], [3, 4]]]));
    /// # }
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is neither u8 nor u16, or there are fewer than 3 axes. The run fails if an image is empty, or
    /// has more than 4 channels, or 2²⁹ elements or more.
    #[doc(alias = "imwrite")]
    #[track_caller]
    pub fn encode_png(self) -> Result<Value<'g>> {
        self.graph().op(&PNG).data(self).finish()
    }

    /// Encodes an image as a JPEG file.
    ///
    /// `u8[height, width, channels] -> string[]`; 1 channel is gray, 3 are color. As TensorFlow's `EncodeJpeg`
    /// (`tf.io.encode_jpeg`); the bytes may differ, because TensorFlow rounds with fewer bits. Quality 0 counts as 1.
    /// Runs on the host, with the feature `media`.
    ///
    /// ```
    /// # #[cfg(feature = "media")] {
    /// use shapeflow::{Graph, JpegEncoding};
    ///
    /// let g = Graph::new();
    /// let image = g.fill([16, 16, 3], g.constant(7u8)?)?;
    /// let file = image.encode_jpeg(&JpegEncoding { quality: 50, ..JpegEncoding::default() })?;
    /// let [file] = g.compile(file)?.run(&[])?;
    /// assert!(file.as_strings()?.at(0).starts_with(&[0xff, 0xd8]));
    /// # }
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not u8, there are not 3 axes, the quality is not from 0 to 100, or a density is not from 0
    /// to 65,535 (TensorFlow writes the lower 16 bits of any density). The run fails if the image is empty, has neither
    /// 1 nor 3 channels, has more than 65,535 rows or columns, or the metadata are too long.
    #[track_caller]
    pub fn encode_jpeg(self, options: &JpegEncoding) -> Result<Value<'g>> {
        let unit = if options.density_in_cm { "cm" } else { "in" };
        let call = self.graph().op(&JPEG).data(self).attr("quality", options.quality);
        let call = call.attr("progressive", options.progressive).attr("optimize_size", options.optimize_size);
        let call = call.attr("chroma_downsampling", options.chroma_downsampling).attr("density_unit", unit);
        let call = call.attr("x_density", options.density[0]).attr("y_density", options.density[1]);
        call.attr("xmp_metadata", options.xmp_metadata.as_str()).finish()
    }

    /// Encodes an image as a JPEG file, with a quality from the graph.
    ///
    /// `u8[height, width, channels], quality i32[] -> string[]`. As TensorFlow's `EncodeJpegVariableQuality`; else as
    /// [`Value::encode_jpeg`]. Runs on the host, with the feature `media`.
    ///
    /// ```
    /// # #[cfg(feature = "media")] {
    /// use shapeflow::Graph;
    ///
    /// let g = Graph::new();
    /// let image = g.fill([16, 16, 3], g.constant(7u8)?)?;
    /// let [file] = g.compile(image.encode_jpeg_variable_quality(50)?)?.run(&[])?;
    /// assert!(file.as_strings()?.at(0).starts_with(&[0xff, 0xd8]));
    /// # }
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::encode_jpeg`]; also if the quality is not an i32 scalar. The run fails if the quality is not from 0
    /// to 100.
    #[track_caller]
    pub fn encode_jpeg_variable_quality(self, quality: impl IntoOperand<'g>) -> Result<Value<'g>> {
        let location = Location::caller();
        let call = self.graph().op(&JPEG_WITH_QUALITY).data(self);
        call.data(quality.into_operand_of(self.graph(), DType::I32, location)).finish_at(location)
    }
}

pub(crate) static PNG: OpDef = OpDef::host("encode_png", codecs::encode_png)
    .feature(super::FEATURE)
    .attrs(&[Attribute::int_or("compression", -1)])
    .operands(&[Operand::Data("image")])
    .shape_fn(shape_fns::media::encode_pictures)
    .dtype_rule(|operands, attrs| {
        attrs::compression(attrs)?;
        match operands.first() {
            Some(DType::U8 | DType::U16) | None => Ok(vec![DType::String]),
            Some(other) => dtype::refuse(format!("image must be u8 or u16, got {other}")),
        }
    })
    .tensorflow(&[TfOp::new("EncodePng")]);

pub(crate) static JPEG: OpDef = OpDef::host("encode_jpeg", codecs::encode_jpeg)
    .feature(super::FEATURE)
    .attrs(&[
        Attribute::str_or("format", ""),
        Attribute::int_or("quality", 95),
        Attribute::bool_or("progressive", false),
        Attribute::bool_or("optimize_size", false),
        Attribute::bool_or("chroma_downsampling", true),
        Attribute::str_or("density_unit", "in"),
        Attribute::int_or("x_density", 300),
        Attribute::int_or("y_density", 300),
        Attribute::bytes_or("xmp_metadata", ""),
    ])
    .operands(&[Operand::Data("image")])
    .shape_fn(shape_fns::media::encode_picture)
    .dtype_rule(|operands, attrs| {
        attrs::quality(attrs)?;
        attrs::density(attrs)?;
        attrs::is_metric(attrs)?;
        attrs::format(attrs)?;
        check(operands, &[("image", DType::U8)])?;
        Ok(vec![DType::String])
    })
    .tensorflow(&[TfOp::new("EncodeJpeg")]);

pub(crate) static JPEG_WITH_QUALITY: OpDef =
    OpDef::host("encode_jpeg_variable_quality", codecs::encode_jpeg_variable_quality)
        .feature(super::FEATURE)
        .operands(&[Operand::Data("images"), Operand::Data("quality")])
        .shape_fn(shape_fns::media::encode_picture_with_quality)
        .dtype_rule(|operands, _| {
            check(operands, &[("images", DType::U8), ("quality", DType::I32)])?;
            Ok(vec![DType::String])
        })
        .tensorflow(&[TfOp::new("EncodeJpegVariableQuality")]);
