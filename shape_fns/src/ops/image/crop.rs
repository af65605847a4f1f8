//! `crop_and_resize(image, boxes, box_ind, crop_size)`: crops boxes from images and resizes all crops to the same
//! size.

use super::resize::height_and_width;
use crate::common::require_last_dim;
use crate::nn::shape_param;
use crate::{Dim, InferenceContext, Result, TensorShape};

/// Returns the number of boxes in `boxes[n, 4]` and `box_ind[n]`.
fn box_count(cx: &mut InferenceContext<'_>) -> Result<Dim> {
    let (boxes, box_indices) = match (cx.operand("boxes"), cx.operand("box_ind")) {
        (Some(boxes), Some(box_indices)) => (boxes, box_indices),
        _ => return Ok(cx.fresh()),
    };
    let [count, coordinates] = cx.axes::<2>(boxes)?;
    require_last_dim(cx, boxes, &coordinates, 4)?;
    let [indices] = cx.axes::<1>(box_indices)?;
    cx.agree("the number of boxes and the length of box_ind", &count, &indices)
}

/// `image[b, h, w, c], boxes[n, 4], box_ind[n], crop_size=[height, width] -> [n, height, width, c]`.
///
/// # Errors
/// An operand has the wrong rank, the boxes provably do not have 4 coordinates, the numbers of boxes provably differ,
/// or `crop_size` does not hold two sizes.
pub fn crop_and_resize(cx: &mut InferenceContext<'_>) -> Result<()> {
    let [_, _, _, channels] = cx.axes::<4>(0)?;
    let count = box_count(cx)?;
    let [height, width] = height_and_width(cx, "crop_size")?;
    cx.set_output(0, TensorShape::new([count, height, width, channels]));
    Ok(())
}

/// The gradient of the image: `grads[n, h, w, c], boxes[n, 4], box_ind[n], image_size=[b, h, w, c] -> [b, h, w, c]`.
///
/// # Errors
/// Same as [`crop_and_resize`], or `image_size` does not hold 4 sizes.
pub fn crop_and_resize_image(cx: &mut InferenceContext<'_>) -> Result<()> {
    let [crops, ..] = cx.axes::<4>(0)?;
    let count = box_count(cx)?;
    cx.agree("the numbers of crops and of boxes", &crops, &count)?;
    let shape = shape_param(cx, "image_size", 4)?;
    cx.set_output(0, shape);
    Ok(())
}

/// The gradient of the boxes: `grads[n, h, w, c], image[b, h, w, c], boxes[n, 4], box_ind[n] -> [n, 4]`.
///
/// # Errors
/// Same as [`crop_and_resize`].
pub fn crop_and_resize_boxes(cx: &mut InferenceContext<'_>) -> Result<()> {
    let [crops, ..] = cx.axes::<4>(0)?;
    cx.with_rank(1, 4)?;
    let count = box_count(cx)?;
    let count = cx.agree("the numbers of crops and of boxes", &crops, &count)?;
    cx.set_output(0, TensorShape::new([count, Dim::known(4)]));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{crop_and_resize, crop_and_resize_boxes, crop_and_resize_image};
    use crate::testing::shape_table;

    shape_table! { crops: crop_and_resize, ["image", "boxes", "box_ind", "crop_size"];
        {} "[b, 4, 4, c]; [n, 4]; [?]; [2] = [3, k]" => "[n, 3, k, c]";
        {} "?; ?; [?]; i32 [2]" => "[d2_0, ?, ?, ?]";
        {} "[b, 4, 4, c]; [2, 4]; [3]; i32 [2]" =>
            "error the number of boxes and the length of box_ind must agree, got 2 and 3";
        {} "[b, 4, 4, c]; [2, 3]; [2]; i32 [2]" => "error boxes must have size 4 at the last axis, got 3 in [2, 3]";
        {} "[b, 4, 4, c]; [2, 4]; [2]; i32 [4]" => "error crop_size must hold a height and a width, got 4 elements";
    }
    shape_table! { image_gradients: crop_and_resize_image, ["grads", "boxes", "box_ind", "image_size"];
        {} "[n, 2, 2, c]; [n, 4]; [n]; [4] = [b, 4, 4, ?]" => "[b, 4, 4, v3_3] if v3_3 >= 0";
        {} "?; ?; ?; i32 [3]" => "error image_size must have 4 entries, got 3";
    }
    shape_table! { box_gradients: crop_and_resize_boxes, ["grads", "image", "boxes", "box_ind"];
        {} "[n, 2, 2, c]; [b, 4, 4, c]; ?; [?]" => "[n, 4]";
        {} "[2, 2, 2, c]; [b, 4, 4, c]; ?; [3]" => "error the numbers of crops and of boxes must agree, got 2 and 3";
    }
}
