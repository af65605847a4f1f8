//! `non_max_suppression(boxes, scores)`: selects the boxes with the highest scores that do not overlap.

use crate::common::require_last_dim;
use crate::error::bail;
use crate::{Dim, Guard, InferenceContext, Result, TensorShape, counted};

/// `boxes[n, 4], scores[n], max_output_size -> selected[m]`, where `m` depends on the data, or equals
/// `max_output_size` if attribute `pad_to_max_output_size` is set. `overlaps[n, n]` may replace `boxes`.
///
/// If there are several outputs, the last output is a scalar, and all other outputs have the shape of the first output.
///
/// # Errors
/// An operand has the wrong rank, sizes provably differ, or `max_output_size` is negative.
pub fn non_max_suppression(cx: &mut InferenceContext<'_>) -> Result<()> {
    let [rows, columns] = cx.axes::<2>(0)?;
    let [scores] = cx.axes::<1>(1)?;
    let count = cx.agree("the numbers of boxes and scores", &rows, &scores)?;
    if cx.operand("overlaps").is_some() {
        cx.agree("the numbers of rows and columns of overlaps", &count, &columns)?;
    } else {
        require_last_dim(cx, 0, &columns, 4)?;
    }
    let max_count = cx.make_dim_for_scalar_input("max_output_size")?;
    cx.scalars(&["iou_threshold", "overlap_threshold", "score_threshold", "soft_nms_sigma"])?;
    let selected = if cx.bool_or("pad_to_max_output_size", false)? { max_count } else { cx.fresh() };
    let outputs = cx.outputs();
    for index in 0..outputs {
        let scalar = index > 0 && index + 1 == outputs;
        cx.set_output(
            index,
            if scalar { TensorShape::scalar() } else { TensorShape::new([selected.clone()]) },
        );
    }
    Ok(())
}

/// `boxes[b, n, q, 4], scores[b, n, c] -> [b, m, 4], [b, m], [b, m], [b]`.
///
/// `q` is 1 or the number of classes `c`. `m` is `max_total_size`; with `pad_per_class` it is
/// `min(max_total_size, c * max_output_size_per_class)`.
///
/// # Errors
/// An operand has the wrong rank, sizes provably differ, or a size that determines `m` is less than 1.
pub fn combined_non_max_suppression(cx: &mut InferenceContext<'_>) -> Result<()> {
    let [batch, count, boxes, coordinates] = cx.axes::<4>(0)?;
    let [score_batch, scores, classes] = cx.axes::<3>(1)?;
    let batch = cx.agree("the batch sizes of boxes and scores", &batch, &score_batch)?;
    cx.agree("the numbers of boxes and scores", &count, &scores)?;
    require_last_dim(cx, 0, &coordinates, 4)?;
    if let (Some(boxes), Some(classes)) = (boxes.as_known(), classes.as_known())
        && boxes != 1
        && boxes != classes
    {
        bail!(
            "boxes must have size 1 or the number of classes at axis 2, got {boxes} and {classes}",
            classes = counted(classes, "class")
        );
    }
    let (per_class, total) = (
        cx.make_dim_for_scalar_input("max_output_size_per_class")?,
        cx.make_dim_for_scalar_input("max_total_size")?,
    );
    cx.scalars(&["iou_threshold", "score_threshold"])?;
    let padded = cx.bool_or("pad_per_class", false)?;
    for (name, size) in [("max_total_size", &total), ("max_output_size_per_class", &per_class)] {
        if padded || name == "max_total_size" {
            cx.require(Guard::Ge(size.clone(), Dim::known(1)))
                .map_err(|_| cx.blame_param(name, format_args!("must be at least 1, got {size}")))?;
        }
    }
    let box_count = if padded {
        let all = cx.mul(&per_class, &classes)?;
        cx.min(&total, &all)?
    } else {
        total
    };
    cx.set_output(0, TensorShape::new([batch.clone(), box_count.clone(), Dim::known(4)]));
    cx.set_output(1, TensorShape::new([batch.clone(), box_count.clone()]));
    cx.set_output(2, TensorShape::new([batch.clone(), box_count]));
    cx.set_output(3, TensorShape::new([batch]));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{combined_non_max_suppression, non_max_suppression};
    use crate::testing::shape_table;

    shape_table! { boxes: non_max_suppression, ["boxes", "scores", "max_output_size"];
        {} "[n, 4]; [n]; i32 []" => "[?]";
        {pad_to_max_output_size: true} "[n, 4]; [?]; [] = 7" => "[7]; []";
        {} "[n, 4]; [?]; [] = 7" => "[?]; [?]; []";
        {} "[2, 4]; [3]; i32 []" => "error the numbers of boxes and scores must agree, got 2 and 3";
        {} "[2, 3]; [2]; i32 []" => "error boxes must have size 4 at the last axis, got 3 in [2, 3]";
    }
    shape_table! { thresholds: non_max_suppression, ["boxes", "scores", "max_output_size", "iou_threshold"];
        {} "[n, 4]; [n]; [] = 7; [1]" => "error iou_threshold must have rank 0, got rank 1 in [1]";
    }
    shape_table! { overlaps: non_max_suppression, ["overlaps", "scores", "max_output_size"];
        {} "[2, 3]; [2]; i32 []" => "error the numbers of rows and columns of overlaps must agree, got 2 and 3";
    }
    shape_table! { combined: combined_non_max_suppression, ["boxes", "scores", "max_output_size_per_class", "max_total_size", "iou_threshold", "score_threshold"];
        {} "[b, n, 1, 4]; [?, ?, 3]; [] = 4; [] = 9; []; []" => "[b, 9, 4]; [b, 9]; [b, 9]; [b]";
        {} "[b, n, 1, 4]; [?, ?, 2]; [] = 4; [] = 0; []; []" => "error(4 outputs) max_total_size must be at least 1, got 0";
        {} "[b, n, 3, 4]; [?, ?, 2]; [] = 4; [] = 9; []; []" => "error(4 outputs) boxes must have size 1 or the number of classes at axis 2, got 3 and 2 classes";
        {pad_per_class: true} "[b, n, 1, 4]; [?, ?, 2]; [] = 4; [] = 9; []; []" => "[b, 8, 4]; [b, 8]; [b, 8]; [b]";
    }
}
