//! `combined_non_max_suppression`: the best boxes of every class, for a batch of images.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, DType, counted};

use super::box_overlaps::intersection_over_union;
use super::pixels::floats;
use super::suppression::{check_iou_threshold, refuse};
use super::suppression_kernel::scalar;
use crate::dtype;
use crate::error::Result;
use crate::graph::{IntoOperand, IntoParam, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::array::unstack::exactly;
use crate::ops::host_params::param_sizes;
use crate::ops::row_major::RowMajor;
use crate::ops::unstable_order::{ScoreHeap, sort};
use crate::shape_fns;
use crate::tensor::{filled_vec, reserved_vec};

/// How many boxes [`Value::combined_non_max_suppression`] returns, and in which form.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CombinedSuppression {
    /// Two boxes of a class overlap if their intersection over union is greater than this.
    pub iou_threshold: f64,
    /// A box counts for a class if its score is greater than this.
    pub score_threshold: f64,
    /// Gives the outputs room for the lesser of `max_total_size` and `max_output_size_per_class * classes` boxes of an
    /// image. If this is `false`, the outputs have room for `max_total_size` boxes. Entries without a box are zeros.
    pub pad_per_class: bool,
    /// Clamps the corners of the returned boxes to the range from 0 to 1.
    pub clip_boxes: bool,
}

impl Default for CombinedSuppression {
    /// Overlaps greater than 0.5, every finite score, room for `max_total_size` boxes, clamped corners.
    fn default() -> CombinedSuppression {
        CombinedSuppression {
            iou_threshold: 0.5,
            score_threshold: f64::NEG_INFINITY,
            pad_per_class: false,
            clip_boxes: true,
        }
    }
}

impl<'g> Value<'g> {
    /// Selects the boxes of every class of every image as [`Value::non_max_suppression`] does, and returns the boxes of
    /// an image with the highest scores, in the order of their scores: the boxes, their scores and classes, and the
    /// number of boxes of each image. Zeros fill up the outputs.
    ///
    /// `boxes [b, n, q, 4], scores [b, n, c] -> [b, m, 4], [b, m], [b, m], i32[b]`, all f32 but the last. The classes
    /// share the boxes if `q` is 1; otherwise `q` is `c`, and each class has boxes of its own. `m` is `max_total_size`;
    /// with [`CombinedSuppression::pad_per_class`] it is the lesser of `max_total_size` and
    /// `max_output_size_per_class * c`.
    ///
    /// Boxes with equal scores are in the order in which TensorFlow's heap and sort visit them. Each class has
    /// `max_output_size_per_class` entries. As in TensorFlow's kernel, an unused entry counts as a box of class -1 with
    /// zeros for corners and the score -1, and comes before boxes whose score is less than -1. As TensorFlow's
    /// `CombinedNonMaxSuppression`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{CombinedSuppression, Graph};
    ///
    /// let g = Graph::new();
    /// let boxes = g.constant([[[[0.0f32, 0.0, 1.0, 1.0]], [[0.0, 0.1, 1.0, 1.1]], [[0.0, 0.5, 1.0, 1.5]]]])?;
    /// let scores = g.constant([[[0.6f32, 0.1], [0.9, 0.2], [0.3, 0.8]]])?;
    /// let options = CombinedSuppression { score_threshold: 0.25, ..CombinedSuppression::default() };
    /// let outputs = boxes.combined_non_max_suppression(scores, 2, 4, options)?;
    /// let [_, scores, classes, counts] = g.compile(outputs)?.run(&[])?;
    /// assert_eq!(scores.to_vec::<f32>()?, [0.9, 0.8, 0.3, 0.0]);
    /// assert_eq!(classes.to_vec::<f32>()?, [0.0, 1.0, 0.0, 0.0]);
    /// assert_eq!(counts.to_vec::<i32>()?, [3]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// A rank is wrong, sizes differ, a dtype is not f32, `max_total_size` is less than 1, or `q` is neither 1 nor the
    /// number of classes. The run fails if `max_output_size_per_class` is less than 1 or
    /// [`CombinedSuppression::iou_threshold`] is not from 0 to 1.
    #[doc(alias = "batched_nms")]
    #[track_caller]
    pub fn combined_non_max_suppression(
        self,
        scores: impl IntoOperand<'g>,
        max_output_size_per_class: impl IntoParam<'g>,
        max_total_size: impl IntoParam<'g>,
        options: CombinedSuppression,
    ) -> Result<[Value<'g>; 4]> {
        let location = Location::caller();
        let scores = scores.into_operand(self, location);
        let threshold = |threshold: f64| self.graph().constant(threshold as f32);
        let call = self.graph().op(&DEF).data(self).data(scores);
        let call = call.size("max_output_size_per_class", max_output_size_per_class);
        let call = call.size("max_total_size", max_total_size);
        let call = call.data(threshold(options.iou_threshold)?).data(threshold(options.score_threshold)?);
        let call = call.attr("pad_per_class", options.pad_per_class).attr("clip_boxes", options.clip_boxes);
        exactly(call.finish_all_at(location)?.into_vec())
    }
}

pub(crate) static DEF: OpDef = OpDef::host("combined_non_max_suppression", run)
    .attrs(&[Attribute::bool_or("pad_per_class", false), Attribute::bool_or("clip_boxes", true)])
    .operands(&[
        Operand::Data("boxes"),
        Operand::Data("scores"),
        Operand::Size("max_output_size_per_class"),
        Operand::Size("max_total_size"),
        Operand::Data("iou_threshold"),
        Operand::Data("score_threshold"),
    ])
    .outputs(|_, _| 4)
    .shape_fn(shape_fns::image::combined_non_max_suppression)
    .dtype_rule(|dtypes, _| {
        let is_param = |operand: usize| operand >= 2 && operand + 2 < dtypes.len();
        for (operand, dtype) in dtypes.iter().enumerate().filter(|(operand, _)| !is_param(*operand)) {
            if *dtype != DType::F32 {
                return dtype::refuse(format!(
                    "boxes, scores and thresholds must be f32, got {dtype} in operand {operand}"
                ));
            }
        }
        dtype::check_indices(&dtypes[..dtypes.len().saturating_sub(2).max(2).min(dtypes.len())], 2)?;
        Ok(vec![DType::F32, DType::F32, DType::F32, DType::I32])
    })
    .tensorflow(&[TfOp::new("CombinedNonMaxSuppression")]);

/// A box that a class may add to the result.
#[derive(Clone, Copy)]
struct Found {
    score: f32,
    class: f32,
    corners: [f32; 4],
}

/// An entry without a box.
const NOTHING: Found = Found { score: -1.0, class: -1.0, corners: [0.0; 4] };

/// The boxes and scores of a batch, and how many of them to select.
struct SuppressionBatch<'a> {
    boxes: &'a [[f32; 4]],
    scores: &'a [f32],
    /// The number of positions, of boxes at each position (1 or the number of classes), and of classes.
    sizes: [usize; 3],
    most: usize,
    iou_threshold: f32,
    score_threshold: f32,
}

impl SuppressionBatch<'_> {
    /// Selects boxes of a class of an image. Adds them to `found`, and returns how many there are.
    fn select(&self, image: usize, class: usize, found: &mut [Found]) -> Result<usize> {
        let [count, boxes_per_position, classes] = self.sizes;
        let of_class = |position: usize| {
            let number = if boxes_per_position > 1 { class } else { 0 };
            self.boxes[(image * count + position) * boxes_per_position + number]
        };
        let mut heap = ScoreHeap::new(reserved_vec(count)?);
        for position in 0..count {
            let score = self.scores[(image * count + position) * classes + class];
            if score > self.score_threshold {
                heap.push(score, position);
            }
        }
        let mut selected = 0;
        while selected < self.most
            && let Some((score, position)) = heap.pop()
        {
            let corners = of_class(position);
            let overlaps =
                |other: &Found| intersection_over_union(corners, other.corners) > self.iou_threshold;
            if !found[..selected].iter().rev().any(overlaps) {
                found[selected] = Found { score, class: class as f32, corners };
                selected += 1;
            }
        }
        Ok(selected)
    }
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let (boxes, scores) = (RowMajor::new(cx.input(0)?)?, RowMajor::new(cx.input(1)?)?);
    let (boxes, scores) = (boxes.view(), scores.view());
    let (&[images, count, boxes_per_position, _], &[_, _, classes]) = (boxes.sizes(), scores.sizes()) else {
        unreachable!("the shape function checks the ranks");
    };
    if boxes_per_position != 1 && boxes_per_position != classes {
        return refuse(format!(
            "boxes must have size 1 or the number of classes at axis 2, \
             got {boxes_per_position} and {}",
            counted(classes, "class")
        ));
    }
    let per_class = size(cx, "max_output_size_per_class", 2)?;
    let is_attr = cx.attrs().get("max_output_size_per_class").is_some();
    let total = size(cx, "max_total_size", if is_attr { 2 } else { 3 })?;
    let thresholds = cx.inputs() - 2;
    let (boxes, scores) = (floats(&boxes)?, floats(&scores)?);
    let batch = SuppressionBatch {
        boxes: boxes.as_chunks().0,
        scores: &scores,
        sizes: [count, boxes_per_position, classes],
        most: per_class.min(count),
        iou_threshold: scalar(cx, thresholds, DType::F32)?,
        score_threshold: scalar(cx, thresholds + 1, DType::F32)?,
    };
    check_iou_threshold(batch.iou_threshold)?;
    let is_per_class = cx.attrs().bool("pad_per_class");
    let limit = if is_per_class { total.min(per_class.saturating_mul(classes)) } else { total };
    let places = batch.most.saturating_mul(classes);
    let mut results = reserved_vec(images)?;
    for image in 0..images {
        let mut found = filled_vec(places, NOTHING)?;
        let mut selected = 0;
        if batch.most > 0 {
            for (class, found) in found.chunks_exact_mut(batch.most).enumerate() {
                selected += batch.select(image, class, found)?;
            }
        }
        sort(&mut found, |a, b| a.score > b.score);
        found.truncate(selected.min(limit));
        results.push(found);
    }
    let clip = cx.attrs().bool("clip_boxes");
    let corner = |x: f32| if clip { x.clamp(0.0, 1.0) } else { x };
    set_floats(cx, 0, &[images, limit, 4], &results, |found| found.corners.map(corner))?;
    set_floats(cx, 1, &[images, limit], &results, |found| [found.score])?;
    set_floats(cx, 2, &[images, limit], &results, |found| [found.class])?;
    let mut counts = cx.unfilled_output(3, &[images])?;
    for (slot, found) in counts.as_mut_slice::<i32>()?.iter_mut().zip(&results) {
        *slot = found.len() as i32;
    }
    Ok(())
}

/// Returns a size that must be at least 1.
fn size(cx: &HostCx<'_>, name: &str, operand: usize) -> Result<usize> {
    match param_sizes(cx, name, operand)?.first().copied().unwrap_or(0) {
        0 => refuse(format!("{name} must be at least 1, got 0")),
        size => Ok(size),
    }
}

/// Writes `values(found)` of each box of each image to an output. The rest of the output is zero.
fn set_floats<const N: usize>(
    cx: &mut HostCx<'_>,
    output: usize,
    sizes: &[usize],
    results: &[Vec<Found>],
    values: impl Fn(&Found) -> [f32; N],
) -> Result<()> {
    let width = sizes[1] * N;
    let mut output = cx.output(output, sizes)?;
    if width > 0 {
        for (row, found) in output.as_mut_slice::<f32>()?.chunks_exact_mut(width).zip(results) {
            for (slots, found) in row.chunks_exact_mut(N).zip(found) {
                slots.copy_from_slice(&values(found));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::*;
    use crate::ops::testing::{run, shape_table, tensor};

    shape_table! { DEF, {"max_output_size_per_class": 2, "max_total_size": 5},
        "[b, n, 1, 4]; [b, n, c]; []; []" => "[b, 5, 4]; [b, 5]; [b, 5]; i32[b]",
        "[b, n, 3, 4]; [b, n, 2]; []; []" => error "size 1 or the number of classes",
        "f16[b, n, 1, 4]; [b, n, c]; []; []" => error "must be f32, got f16 in operand 0",
    }
    shape_table! { per_class: DEF, {"max_output_size_per_class": 2, "max_total_size": 5, "pad_per_class": true},
        "[b, n, 1, 4]; [b, n, 2]; []; []" => "[b, 4, 4]; [b, 4]; [b, 4]; i32[b]",
    }

    #[test]
    fn classes_have_boxes_of_their_own_and_corners_are_clamped() {
        let boxes = [[[0.0f32, 0.0, 1.0, 2.0], [-1.0, 0.0, 0.0, 1.0]]];
        let operands = [
            tensor(&[1, 1, 2, 4], boxes.as_flattened().as_flattened()),
            tensor(&[1, 1, 2], &[0.25f32, 0.5]),
            tensor(&[], &[0.5f32]),
            tensor(&[], &[0.0f32]),
        ];
        let attrs = Attrs::new().with("max_output_size_per_class", 1).with("max_total_size", 3);
        for (clip, ends) in [(true, [0.0f32, 1.0]), (false, [-1.0, 2.0])] {
            let outputs = run(&DEF, &attrs.clone().with("clip_boxes", clip), &operands).unwrap();
            let expected = [ends[0], 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, ends[1], 0.0, 0.0, 0.0, 0.0];
            assert_eq!(outputs[0].to_vec::<f32>().unwrap(), expected);
            assert_eq!(outputs[1].to_vec::<f32>().unwrap(), [0.5, 0.25, 0.0]);
            assert_eq!(outputs[2].to_vec::<f32>().unwrap(), [1.0, 0.0, 0.0]);
            assert_eq!(outputs[3].to_vec::<i32>().unwrap(), [2]);
        }
    }

    #[test]
    fn unusable_sizes_are_errors() {
        let operands = [
            tensor(&[1, 1, 1, 4], &[0.0f32; 4]),
            tensor(&[1, 1, 1], &[0.5f32]),
            tensor(&[], &[0.5f32]),
            tensor(&[], &[0.0f32]),
        ];
        for (per_class, total) in [(0, 1), (1, i64::MAX / 2)] {
            let attrs =
                Attrs::new().with("max_output_size_per_class", per_class).with("max_total_size", total);
            assert!(run(&DEF, &attrs, &operands).is_err());
        }
    }
}
