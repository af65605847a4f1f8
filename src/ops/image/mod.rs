//! Ops on images: resizing, crops and colors.
//!
//! ```
//! use shapeflow::{DType, Graph, Sampling, shape};
//!
//! let g = Graph::new();
//! let x = g.input("x", DType::F32, shape!["n", "h", "w", 3])?;
//! let y = x.resize_bilinear([224, 224], Sampling::HalfPixel)?;
//! assert_eq!(y.shape().to_string(), "[n, 224, 224, 3]");
//! # Ok::<(), shapeflow::Error>(())
//! ```

pub(crate) mod adjust;
mod box_overlaps;
mod brightness;
mod chroma;
pub(crate) mod color;
pub(crate) mod combined_suppression;
pub(crate) mod crop_and_resize;
pub(crate) mod crop_gradient;
pub(crate) mod distorted_box;
pub(crate) mod draw_bounding_boxes;
pub(crate) mod glimpse;
mod grayscale;
mod interpolation;
pub(crate) mod non_max_suppression;
mod pixels;
pub(crate) mod projective_transform;
pub(crate) mod quantized_resize;
pub(crate) mod resize;
pub(crate) mod resize_area;
pub(crate) mod resize_gradient;
mod resize_method;
mod resize_rows;
mod sampling;
mod sampling_kernel;
pub(crate) mod scale_and_translate;
mod suppression;
mod suppression_kernel;

use crate::op::OpDef;

pub use combined_suppression::CombinedSuppression;
pub use distorted_box::DistortedBox;
pub use glimpse::{Glimpse, GlimpseNoise};
pub use projective_transform::{FillMode, Interpolation, ProjectiveTransform};
pub use resize_method::ResizeMethod;
pub use sampling::Sampling;
pub use sampling_kernel::SamplingKernel;

/// Every op of the family.
pub(crate) static ALL: &[&[&OpDef]] = &[&[
    &adjust::CONTRAST,
    &adjust::CONTRAST_V1,
    &adjust::HUE,
    &adjust::SATURATION,
    &color::TO_HSV,
    &color::TO_RGB,
    &combined_suppression::DEF,
    &crop_and_resize::DEF,
    &crop_gradient::BOXES,
    &crop_gradient::IMAGE,
    &distorted_box::DEF,
    &distorted_box::WITH_STATE,
    &draw_bounding_boxes::DEF,
    &draw_bounding_boxes::V1,
    &glimpse::DEF,
    &glimpse::V1,
    &non_max_suppression::DEF,
    &non_max_suppression::V1,
    &non_max_suppression::V2,
    &non_max_suppression::PADDED,
    &non_max_suppression::SOFT,
    &non_max_suppression::OVERLAPS,
    &projective_transform::DEF,
    &projective_transform::V2,
    &resize_area::DEF,
    &resize_gradient::BICUBIC,
    &resize_gradient::BILINEAR,
    &resize_gradient::NEAREST,
    &quantized_resize::DEF,
    &resize::BICUBIC,
    &resize::BILINEAR,
    &resize::NEAREST,
    &scale_and_translate::DEF,
    &scale_and_translate::GRADIENT,
    &scale_and_translate::RESIZE,
]];
