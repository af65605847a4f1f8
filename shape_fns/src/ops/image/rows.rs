//! Registry rows of the image ops, sorted by TensorFlow op type.

use super::*;
use crate::infer::registered::{Registered, row};

#[rustfmt::skip]
pub(crate) static OPS: &[Registered] = &[
    row("AdjustContrast", &["images", "contrast_factor", "min_value", "max_value"], adjust),
    row("AdjustContrastv2", &["images", "contrast_factor"], adjust),
    row("AdjustHue", &["images", "delta"], adjust),
    row("AdjustSaturation", &["images", "scale"], adjust),
    row("CombinedNonMaxSuppression", &["boxes", "scores", "max_output_size_per_class", "max_total_size", "iou_threshold", "score_threshold"], combined_non_max_suppression).outputs(Some(4)),
    row("CropAndResize", &["image", "boxes", "box_ind", "crop_size"], crop_and_resize),
    row("CropAndResizeGradBoxes", &["grads", "image", "boxes", "box_ind"], crop_and_resize_boxes),
    row("CropAndResizeGradImage", &["grads", "boxes", "box_ind", "image_size"], crop_and_resize_image),
    row("DrawBoundingBoxes", &["images", "boxes"], draw_bounding_boxes),
    row("DrawBoundingBoxesV2", &["images", "boxes", "colors"], draw_bounding_boxes),
    row("ExtractGlimpse", &["input", "size", "offsets"], extract_glimpse),
    row("ExtractGlimpseV2", &["input", "size", "offsets"], extract_glimpse),
    row("ExtractImagePatches", &["images"], extract_image_patches),
    row("ExtractVolumePatches", &["input"], extract_volume_patches),
    row("HSVToRGB", &["images"], convert_color),
    row("ImageProjectiveTransformV2", &["images", "transforms", "output_shape"], transform),
    row("ImageProjectiveTransformV3", &["images", "transforms", "output_shape", "fill_value"], transform),
    row("NonMaxSuppression", &["boxes", "scores", "max_output_size"], non_max_suppression),
    row("NonMaxSuppressionV2", &["boxes", "scores", "max_output_size", "iou_threshold"], non_max_suppression),
    row("NonMaxSuppressionV3", &["boxes", "scores", "max_output_size", "iou_threshold", "score_threshold"], non_max_suppression),
    row("NonMaxSuppressionV4", &["boxes", "scores", "max_output_size", "iou_threshold", "score_threshold"], non_max_suppression).outputs(Some(2)),
    row("NonMaxSuppressionV5", &["boxes", "scores", "max_output_size", "iou_threshold", "score_threshold", "soft_nms_sigma"], non_max_suppression).outputs(Some(3)),
    row("NonMaxSuppressionWithOverlaps", &["overlaps", "scores", "max_output_size", "overlap_threshold", "score_threshold"], non_max_suppression),
    row("RGBToHSV", &["images"], convert_color),
    row("ResizeArea", &["images", "size"], resize),
    row("ResizeBicubic", &["images", "size"], resize),
    row("ResizeBicubicGrad", &["grads", "original_image"], image_like_second),
    row("ResizeBilinear", &["images", "size"], resize),
    row("ResizeBilinearGrad", &["grads", "original_image"], image_like_second),
    row("ResizeNearestNeighbor", &["images", "size"], resize),
    row("ResizeNearestNeighborGrad", &["grads", "size"], resize),
    row("SampleDistortedBoundingBox", &["image_size", "bounding_boxes"], sample_distorted_bounding_box).outputs(Some(3)),
    row("SampleDistortedBoundingBoxV2", &["image_size", "bounding_boxes", "min_object_covered"], sample_distorted_bounding_box).outputs(Some(3)),
    row("ScaleAndTranslate", &["images", "size", "scale", "translation"], resize),
    row("ScaleAndTranslateGrad", &["grads", "original_image", "scale", "translation"], image_like_second),
    row("StatelessSampleDistortedBoundingBox", &["image_size", "bounding_boxes", "min_object_covered", "seed"], sample_distorted_bounding_box).outputs(Some(3)),
];
