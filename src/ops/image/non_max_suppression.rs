//! `non_max_suppression`: the boxes with the highest scores that do not overlap.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, DType};

use super::suppression_kernel::{padded_size, select, set_count, set_positions, set_scores};
use crate::dtype;
use crate::error::Result;
use crate::graph::{IntoOperand, IntoParam, OpBuilder, Value};
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::array::unstack::exactly;
use crate::shape_fns;

impl<'g> Value<'g> {
    /// Selects boxes in the order of their scores, and drops a box that overlaps a selected box. Returns the positions
    /// of the selected boxes. The overlap of two boxes is the area of their intersection, divided by the area of their
    /// union.
    ///
    /// `boxes [n, 4], scores [n], max_output_size -> i32[?]`, f16 or f32. A box is `[y1, x1, y2, x2]`, two opposite
    /// corners in any order. Of equal scores, the box at the lower position comes first. A box is never selected if its
    /// score is NaN or not greater than `score_threshold`. A box without area overlaps no box. Boxes of f16 have
    /// overlaps that are computed in f32 and rounded to f16. As TensorFlow's `NonMaxSuppressionV3`. Runs on the host.
    ///
    /// ```
    /// let g = shapeflow::Graph::new();
    /// let boxes = g.constant([[0.0f32, 0.0, 1.0, 1.0], [0.0, 0.1, 1.0, 1.1], [0.0, 2.0, 1.0, 3.0]])?;
    /// let selected = boxes.non_max_suppression(g.constant([0.6f32, 0.9, 0.7])?, 10, 0.5, 0.0)?;
    /// let [selected] = g.compile(selected)?.run(&[])?;
    /// assert_eq!(selected.to_vec::<i32>()?, [1, 2]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// A rank is wrong, the numbers of boxes and scores differ, `max_output_size` is negative, or a dtype is not
    /// supported. The run fails if `iou_threshold` is not from 0 to 1.
    #[doc(alias = "nms")]
    #[track_caller]
    pub fn non_max_suppression(
        self,
        scores: impl IntoOperand<'g>,
        max_output_size: impl IntoParam<'g>,
        iou_threshold: impl IntoOperand<'g>,
        score_threshold: impl IntoOperand<'g>,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        let call = self.suppression(&DEF, scores, max_output_size, location);
        let call = call.data(iou_threshold.into_operand(self, location));
        call.data(score_threshold.into_operand(self, location)).finish_at(location)
    }

    /// Does the same as [`Value::non_max_suppression`], and fills the positions up with zeros. Returns the positions
    /// and the number of selected boxes.
    ///
    /// `boxes [n, 4], scores [n], max_output_size -> i32[max_output_size], i32[]`, f16 or f32. As TensorFlow's
    /// `NonMaxSuppressionV4` with `pad_to_max_output_size`. Runs on the host.
    ///
    /// ```
    /// let g = shapeflow::Graph::new();
    /// let boxes = g.constant([[0.0f32, 0.0, 1.0, 1.0], [0.0, 0.1, 1.0, 1.1], [0.0, 2.0, 1.0, 3.0]])?;
    /// let outputs = boxes.non_max_suppression_padded(g.constant([0.6f32, 0.9, 0.7])?, 4, 0.5, 0.0)?;
    /// let [selected, count] = g.compile(outputs)?.run(&[])?;
    /// assert_eq!((selected.to_vec::<i32>()?, count.item::<i32>()?), (vec![1, 2, 0, 0], 2));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::non_max_suppression`].
    #[track_caller]
    pub fn non_max_suppression_padded(
        self,
        scores: impl IntoOperand<'g>,
        max_output_size: impl IntoParam<'g>,
        iou_threshold: impl IntoOperand<'g>,
        score_threshold: impl IntoOperand<'g>,
    ) -> Result<[Value<'g>; 2]> {
        let location = Location::caller();
        let call = self.suppression(&PADDED, scores, max_output_size, location);
        let call = call.data(iou_threshold.into_operand(self, location));
        let call = call.data(score_threshold.into_operand(self, location));
        exactly(call.attr("pad_to_max_output_size", true).finish_all_at(location)?.into_vec())
    }

    /// Does the same as [`Value::non_max_suppression`], but lowers the scores of boxes that overlap a selected box, and
    /// drops no box for an overlap. Returns the positions and the scores of the selected boxes, and their number.
    ///
    /// A selected box with overlap `o` multiplies a score by `exp(-o² / (2 sigma))`. With a `sigma` of 0, overlaps
    /// greater than `iou_threshold` drop boxes.
    ///
    /// `boxes [n, 4], scores [n], max_output_size -> i32[?], [?], i32[]`, f16 or f32. As TensorFlow's
    /// `NonMaxSuppressionV5`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let boxes = g.constant([[0.0f32, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0], [0.0, 2.0, 1.0, 3.0]])?;
    /// let outputs = boxes.soft_non_max_suppression(g.constant([0.8f32, 0.9, 0.7])?, 10, 0.5, 0.0, 0.5)?;
    /// let [selected, scores, count] = g.compile(outputs)?.run(&[])?;
    /// assert_eq!((selected.to_vec::<i32>()?, count.item::<i32>()?), (vec![1, 2, 0], 3));
    /// scores.allclose(&Tensor::from([0.9f32, 0.7, 0.2943]), 1e-3, 0.0).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::non_max_suppression`]. The run also fails if `sigma` is negative or NaN.
    #[doc(alias = "soft_nms")]
    #[track_caller]
    pub fn soft_non_max_suppression(
        self,
        scores: impl IntoOperand<'g>,
        max_output_size: impl IntoParam<'g>,
        iou_threshold: impl IntoOperand<'g>,
        score_threshold: impl IntoOperand<'g>,
        sigma: impl IntoOperand<'g>,
    ) -> Result<[Value<'g>; 3]> {
        let location = Location::caller();
        let call = self.suppression(&SOFT, scores, max_output_size, location);
        let call = call.data(iou_threshold.into_operand(self, location));
        let call = call.data(score_threshold.into_operand(self, location));
        exactly(call.data(sigma.into_operand(self, location)).finish_all_at(location)?.into_vec())
    }

    /// Does the same as [`Value::non_max_suppression`] for given overlaps: `self[i, j]` is the overlap of the boxes `i`
    /// and `j`.
    ///
    /// `overlaps [n, n], scores [n], max_output_size -> i32[?]`, f32. An overlap may be any number. A box is dropped if
    /// its overlap with a selected box is greater than `overlap_threshold`. An overlap of NaN makes a score 0. As
    /// TensorFlow's `NonMaxSuppressionWithOverlaps`. Runs on the host.
    ///
    /// ```
    /// let g = shapeflow::Graph::new();
    /// let overlaps = g.constant([[1.0f32, 0.8, 0.1], [0.8, 1.0, 0.3], [0.1, 0.3, 1.0]])?;
    /// let selected = overlaps.non_max_suppression_overlaps(g.constant([0.6f32, 0.9, 0.7])?, 10, 0.5, 0.0)?;
    /// let [selected] = g.compile(selected)?.run(&[])?;
    /// assert_eq!(selected.to_vec::<i32>()?, [1, 2]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// A rank is wrong, `overlaps` is not square, the numbers of boxes and scores differ, `max_output_size` is
    /// negative, or a dtype is not f32.
    #[track_caller]
    pub fn non_max_suppression_overlaps(
        self,
        scores: impl IntoOperand<'g>,
        max_output_size: impl IntoParam<'g>,
        overlap_threshold: impl IntoOperand<'g>,
        score_threshold: impl IntoOperand<'g>,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        let call = self.suppression(&OVERLAPS, scores, max_output_size, location);
        let call = call.data(overlap_threshold.into_operand(self, location));
        call.data(score_threshold.into_operand(self, location)).finish_at(location)
    }

    /// Starts a call with the operands that all suppressions have.
    fn suppression(
        self,
        def: &'static OpDef,
        scores: impl IntoOperand<'g>,
        max_output_size: impl IntoParam<'g>,
        location: &'static Location<'static>,
    ) -> OpBuilder<'g> {
        let scores = scores.into_operand(self, location);
        self.graph().op(def).data(self).data(scores).size("max_output_size", max_output_size)
    }
}

pub(crate) static DEF: OpDef = OpDef::host("non_max_suppression", |cx| {
    let selected = select(cx, 2, false)?;
    set_positions(cx, &selected, None)
})
.operands(&[
    Operand::Data("boxes"),
    Operand::Data("scores"),
    Operand::Size("max_output_size"),
    Operand::Data("iou_threshold"),
    Operand::Data("score_threshold"),
])
.shape_fn(shape_fns::image::non_max_suppression)
.dtype_rule(|dtypes, _| check_dtypes(dtypes, 2, false).map(|_| vec![DType::I32]))
.tensorflow(&[TfOp::new("NonMaxSuppressionV3")]);

/// An op for import only: every finite score but the lowest one is high enough.
pub(crate) static V2: OpDef = OpDef::host("non_max_suppression_v2", |cx| {
    let selected = select(cx, 1, false)?;
    set_positions(cx, &selected, None)
})
.operands(&[
    Operand::Data("boxes"),
    Operand::Data("scores"),
    Operand::Size("max_output_size"),
    Operand::Data("iou_threshold"),
])
.shape_fn(shape_fns::image::non_max_suppression)
.dtype_rule(|dtypes, _| check_dtypes(dtypes, 1, false).map(|_| vec![DType::I32]))
.tensorflow(&[TfOp::new("NonMaxSuppressionV2")]);

/// An op for import only: the threshold of overlaps is an attribute.
pub(crate) static V1: OpDef = OpDef::host("non_max_suppression_v1", |cx| {
    let selected = select(cx, 0, false)?;
    set_positions(cx, &selected, None)
})
.attrs(&[Attribute::float_or("iou_threshold", 0.5)])
.operands(&[Operand::Data("boxes"), Operand::Data("scores"), Operand::Size("max_output_size")])
.shape_fn(shape_fns::image::non_max_suppression)
.dtype_rule(|dtypes, _| only_f32(check_dtypes(dtypes, 0, false)?).map(|_| vec![DType::I32]))
.tensorflow(&[TfOp::new("NonMaxSuppression")]);

pub(crate) static PADDED: OpDef = OpDef::host("non_max_suppression_padded", |cx| {
    let (selected, padded) = (select(cx, 2, false)?, padded_size(cx)?);
    set_positions(cx, &selected, padded)?;
    set_count(cx, 1, selected.len())
})
.attrs(&[Attribute::bool_or("pad_to_max_output_size", false)])
.operands(&[
    Operand::Data("boxes"),
    Operand::Data("scores"),
    Operand::Size("max_output_size"),
    Operand::Data("iou_threshold"),
    Operand::Data("score_threshold"),
])
.outputs(|_, _| 2)
.shape_fn(shape_fns::image::non_max_suppression)
.dtype_rule(|dtypes, _| check_dtypes(dtypes, 2, false).map(|_| vec![DType::I32; 2]))
.tensorflow(&[TfOp::new("NonMaxSuppressionV4")]);

pub(crate) static SOFT: OpDef = OpDef::host("soft_non_max_suppression", |cx| {
    let (selected, padded) = (select(cx, 3, false)?, padded_size(cx)?);
    set_positions(cx, &selected, padded)?;
    set_scores(cx, &selected, padded)?;
    set_count(cx, 2, selected.len())
})
.attrs(&[Attribute::bool_or("pad_to_max_output_size", false)])
.operands(&[
    Operand::Data("boxes"),
    Operand::Data("scores"),
    Operand::Size("max_output_size"),
    Operand::Data("iou_threshold"),
    Operand::Data("score_threshold"),
    Operand::Data("soft_nms_sigma"),
])
.outputs(|_, _| 3)
.shape_fn(shape_fns::image::non_max_suppression)
.dtype_rule(|dtypes, _| Ok(vec![DType::I32, check_dtypes(dtypes, 3, true)?, DType::I32]))
.tensorflow(&[TfOp::new("NonMaxSuppressionV5")]);

pub(crate) static OVERLAPS: OpDef = OpDef::host("non_max_suppression_overlaps", |cx| {
    let selected = select(cx, 2, true)?;
    set_positions(cx, &selected, None)
})
.operands(&[
    Operand::Data("overlaps"),
    Operand::Data("scores"),
    Operand::Size("max_output_size"),
    Operand::Data("overlap_threshold"),
    Operand::Data("score_threshold"),
])
.shape_fn(shape_fns::image::non_max_suppression)
.dtype_rule(|dtypes, _| only_f32(check_dtypes(dtypes, 2, true)?).map(|_| vec![DType::I32]))
.tensorflow(&[TfOp::new("NonMaxSuppressionWithOverlaps")]);

/// Checks the dtypes of a call, whose last `thresholds` operands are thresholds. Returns the dtype of boxes and scores:
/// f16 or f32. The thresholds have this dtype too if `is_common`; otherwise each may have one of both.
fn check_dtypes(dtypes: &[DType], thresholds: usize, is_common: bool) -> Result<DType> {
    let dtype = dtype::common(dtypes, 0, 2, dtype::Class::Float)?;
    let is_supported = |dtype: DType| matches!(dtype, DType::F16 | DType::F32);
    if !is_supported(dtype) {
        return dtype::refuse(format!("boxes and scores must be f16 or f32, got {dtype}"));
    }
    let first = dtypes.len().saturating_sub(thresholds).max(2).min(dtypes.len());
    dtype::check_indices(&dtypes[..first], 2)?;
    for threshold in &dtypes[first..] {
        if is_common && *threshold != dtype {
            return dtype::refuse(format!("thresholds must be {dtype} as the scores, got {threshold}"));
        }
        if !is_supported(*threshold) {
            return dtype::refuse(format!("thresholds must be f16 or f32, got {threshold}"));
        }
    }
    Ok(dtype)
}

/// Refuses a dtype of boxes or overlaps other than f32.
fn only_f32(dtype: DType) -> Result<()> {
    match dtype {
        DType::F32 => Ok(()),
        other => dtype::refuse(format!("the element type must be f32, got {other}")),
    }
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::*;
    use crate::ops::testing::{run, shape_table, tensor};

    shape_table! { DEF, {"max_output_size": 3},
        "[n, 4]; [n]; []; []" => "i32[?]",
        "f16[n, 4]; f16[n]; f32[]; f16[]" => "i32[?]",
        "[n, 4]; [n]; [1]; []" => error "iou_threshold must have rank 0",
        "f64[n, 4]; f64[n]; []; []" => error "boxes and scores must be f16 or f32, got f64",
        "[n, 4]; [n]; f64[]; []" => error "thresholds must be f16 or f32, got f64",
    }
    shape_table! { padded: PADDED, {"max_output_size": 3, "pad_to_max_output_size": true},
        "[n, 4]; [n]; []; []" => "i32[3]; i32[]",
    }
    shape_table! { soft: SOFT, {"max_output_size": 3},
        "f16[n, 4]; f16[n]; f16[]; f16[]; f16[]" => "i32[?]; f16[?]; i32[]",
        "[n, 4]; [n]; []; []; f16[]" => error "thresholds must be f32 as the scores, got f16",
    }
    shape_table! { overlaps: OVERLAPS, {"max_output_size": 3},
        "[n, n]; [n]; []; []" => "i32[?]",
        "f16[n, n]; f16[n]; f16[]; f16[]" => error "the element type must be f32, got f16",
    }

    /// Selects boxes by loops over all pairs: repeatedly takes the box with the highest score, and drops all boxes that
    /// overlap it.
    fn naive(boxes: &[[f32; 4]], scores: &[f32], most: usize, iou: f32, least: f32) -> Vec<i32> {
        let mut left: Vec<usize> = (0..boxes.len()).filter(|i| scores[*i] > least).collect();
        let mut selected = Vec::new();
        while selected.len() < most && !left.is_empty() {
            let best = left.iter().copied().reduce(|a, b| if scores[b] > scores[a] { b } else { a }).unwrap();
            selected.push(best as i32);
            let corners = |i: usize, axis: usize| {
                let (a, b) = (boxes[i][axis], boxes[i][axis + 2]);
                (a.min(b), a.max(b))
            };
            let length = |i: usize, j: usize, axis: usize| {
                let ((low, high), (from, to)) = (corners(i, axis), corners(j, axis));
                (high.min(to) - low.max(from)).max(0.0)
            };
            let common = |i: usize, j: usize| length(i, j, 0) * length(i, j, 1);
            left.retain(|i| {
                let (a, b, both) = (common(*i, *i), common(best, best), common(*i, best));
                *i != best && !(a > 0.0 && b > 0.0 && both / (a + b - both) > iou)
            });
        }
        selected
    }

    #[test]
    fn boxes_are_selected_as_by_loops() {
        let mut state = 7u32;
        let mut draw = |limit: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % limit
        };
        for case in 0..200 {
            let count = (case % 23) as usize;
            let boxes: Vec<[f32; 4]> = (0..count).map(|_| [0; 4].map(|_| draw(9) as f32)).collect();
            let scores: Vec<f32> = (0..count).map(|_| draw(11) as f32 - 2.0).collect();
            let (most, iou, least) = (draw(12) as usize, draw(5) as f32 / 4.0, draw(3) as f32 - 1.0);
            let operands = [
                tensor(&[count, 4], boxes.as_flattened()),
                tensor(&[count], &scores),
                tensor(&[], &[iou]),
                tensor(&[], &[least]),
            ];
            let attrs = Attrs::new().with("max_output_size", most as i64);
            let got = run(&DEF, &attrs, &operands).unwrap().swap_remove(0).to_vec::<i32>().unwrap();
            assert_eq!(
                got,
                naive(&boxes, &scores, most, iou, least),
                "{boxes:?} {scores:?} {most} {iou} {least}"
            );
        }
    }

    #[test]
    fn sizes_that_do_not_fit_memory_are_errors() {
        let attrs = Attrs::new().with("max_output_size", i64::MAX / 2).with("pad_to_max_output_size", true);
        let half = tensor(&[], &[0.5f32]);
        let operands = [tensor::<f32>(&[0, 4], &[]), tensor::<f32>(&[0], &[]), half.clone(), half];
        assert!(run(&PADDED, &attrs, &operands).is_err());
    }
}
