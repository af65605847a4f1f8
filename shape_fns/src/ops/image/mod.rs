//! Shape functions of ops on batches of images.

mod boxes;
mod color;
mod crop;
mod glimpse;
mod patches;
mod resize;
mod rows;
mod suppression;

pub use boxes::{draw_bounding_boxes, sample_distorted_bounding_box};
pub use color::{adjust, convert_color};
pub use crop::{crop_and_resize, crop_and_resize_boxes, crop_and_resize_image};
pub use glimpse::extract_glimpse;
pub use patches::{extract_image_patches, extract_volume_patches};
pub use resize::{image_like_second, resize, transform};
pub(crate) use rows::OPS;
pub use suppression::{combined_non_max_suppression, non_max_suppression};
