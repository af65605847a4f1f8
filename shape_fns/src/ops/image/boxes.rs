//! Ops that draw or sample bounding boxes.

use crate::common::require_last_dim;
use crate::{Dim, InferenceContext, Result, TensorShape};

/// `images[b, h, w, c], boxes[b, n, 4] -> [b, h, w, c]`, where `c` is 1, 3 or 4.
///
/// # Errors
/// An operand has the wrong rank, the number of channels is provably unsupported, or the boxes provably do not have 4
/// coordinates.
pub fn draw_bounding_boxes(cx: &mut InferenceContext<'_>) -> Result<()> {
    let images = cx.with_rank(0, 4)?;
    if let Some(channels) =
        images.dim(3).and_then(Dim::as_known).filter(|channels| ![1, 3, 4].contains(channels))
    {
        return Err(cx.blame(0, format_args!("must have 1, 3 or 4 channels, got {channels} in {images}")));
    }
    let [_, _, coordinates] = cx.axes::<3>(1)?;
    require_last_dim(cx, 1, &coordinates, 4)?;
    cx.set_output(0, images);
    Ok(())
}

/// `image_size[3], bounding_boxes[b, n, 4], min_object_covered[] -> begin[3], size[3], box[1, 1, 4]`. In the first
/// version of the op, `min_object_covered` is an attribute.
///
/// # Errors
/// An operand has the wrong rank, or provably the wrong size.
pub fn sample_distorted_bounding_box(cx: &mut InferenceContext<'_>) -> Result<()> {
    let [sizes] = cx.axes::<1>(0)?;
    require_last_dim(cx, 0, &sizes, 3)?;
    let [_, _, coordinates] = cx.axes::<3>(1)?;
    require_last_dim(cx, 1, &coordinates, 4)?;
    cx.scalars(&["min_object_covered"])?;
    cx.set_output(0, TensorShape::from([3]));
    cx.set_output(1, TensorShape::from([3]));
    cx.set_output(2, TensorShape::from([1, 1, 4]));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{draw_bounding_boxes, sample_distorted_bounding_box};
    use crate::testing::shape_table;

    shape_table! { drawn: draw_bounding_boxes, ["images", "boxes"];
        {} "[b, ?, ?, 3]; [b, n, 4]" => "[b, d0_1, d0_2, 3]";
        {} "[b, ?, ?, 5]; [b, n, 4]" => "error images must have 1, 3 or 4 channels, got 5";
        {} "[b, ?, ?, 3]; [b, n, 2]" => "error boxes must have size 4 at the last axis, got 2 in [b, n, 2]";
    }
    shape_table! { sampled: sample_distorted_bounding_box, ["image_size", "bounding_boxes", "min_object_covered"];
        {} "?; ?" => "[3]; [3]; [1, 1, 4]";
        {} "[2]; ?" => "error(3 outputs) image_size must have size 3 at the last axis, got 2 in [2]";
    }
}
