//! Ops on files in strings: images as PNG, JPEG, GIF, BMP and WebP, sounds as WAV, and compressed bytes.
//!
//! The feature `media` has the kernels. Without it, graphs with these ops are built and imported, but not compiled.
//!
//! ```
//! use shapeflow::{DType, Graph, Sampling, shape};
//!
//! let g = Graph::new();
//! let file = g.input("image_bytes", DType::String, shape![])?;
//! let image = file.decode_jpeg_with(3, &Default::default())?.cast(DType::F32)? / 255.0;
//! let image = image.expand_dims(0)?.resize_bilinear([224, 224], Sampling::HalfPixel)?;
//! assert_eq!(image.shape().to_string(), "[1, 224, 224, 3]");
//! # Ok::<(), shapeflow::Error>(())
//! ```

mod attrs;
#[cfg(feature = "media")]
mod codecs;
#[cfg(not(feature = "media"))]
#[path = "without_codecs.rs"]
mod codecs;
pub(crate) mod compressed;
pub(crate) mod decode_image;
pub(crate) mod decode_jpeg;
mod dtypes;
pub(crate) mod encode_image;
#[cfg(feature = "media")]
mod format;
mod image_op;
pub(crate) mod sound;

use crate::op::{Feature, OpDef};

pub use decode_image::ImageDecoding;
pub use decode_jpeg::JpegDecoding;
pub use encode_image::JpegEncoding;

/// The feature that the ops need.
const FEATURE: Feature = Feature {
    name: "media",
    users: "image, sound and compressed files",
    is_present: cfg!(feature = "media"),
};

/// Every op of the family.
pub(crate) static ALL: &[&[&OpDef]] = &[&[
    &compressed::DEF,
    &decode_image::ANY,
    &decode_image::BMP,
    &decode_image::GIF,
    &decode_image::PNG,
    &decode_image::WEBP,
    &decode_jpeg::DEF,
    &decode_jpeg::CROP,
    &decode_jpeg::SHAPE,
    &encode_image::JPEG,
    &encode_image::JPEG_WITH_QUALITY,
    &encode_image::PNG,
    &sound::DECODE,
    &sound::ENCODE,
]];
