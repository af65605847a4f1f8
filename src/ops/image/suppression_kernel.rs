//! The kernels of the suppressions of one set of boxes: they read the operands, select, and make the outputs.

use half::f16;
use shapeflow_shape_fns::DType;

use super::box_overlaps::BoxOverlaps;
use super::pixels::floats;
use super::suppression::{Suppression, check_iou_threshold, refuse};
use crate::error::{Error, Result};
use crate::expr::{Scalar, eval_cast};
use crate::op::HostCx;
use crate::ops::host_params::param_sizes;
use crate::ops::integers::int_tensor;
use crate::ops::row_major::RowMajor;

/// Returns the positions and the scores of the boxes that a call selects. The last `thresholds` operands are
/// thresholds: of similarities, of scores, and the width of the Gaussian. `has_overlaps` tells that operand 0 holds the
/// overlaps of boxes.
pub(super) fn select(cx: &HostCx<'_>, thresholds: usize, has_overlaps: bool) -> Result<Vec<(usize, f32)>> {
    let (similar, scores) = (RowMajor::new(cx.input(0)?)?, RowMajor::new(cx.input(1)?)?);
    let (similar, scores) = (similar.view(), scores.view());
    let (dtype, first) = (scores.dtype(), cx.inputs() - thresholds);
    let threshold = |number: usize, default: f32| match cx.inputs() > first + number {
        true => scalar(cx, first + number, dtype),
        false => Ok(default),
    };
    let lowest = if dtype == DType::F16 { f16::MIN.to_f32() } else { f32::MIN };
    let similarity_threshold = match cx.attrs().get("iou_threshold") {
        Some(_) => cx.attrs().float("iou_threshold") as f32,
        None => threshold(0, 0.5)?,
    };
    let suppression = Suppression {
        dtype,
        max_count: max_output_size(cx)?,
        similarity_threshold,
        score_threshold: threshold(1, lowest)?,
        sigma: threshold(2, 0.0)?,
    };
    if !has_overlaps {
        check_iou_threshold(similarity_threshold)?;
    }
    if suppression.sigma.is_nan() || suppression.sigma < 0.0 {
        return refuse(format!("soft_nms_sigma must not be negative, got {}", suppression.sigma));
    }
    let (similar, scores) = (floats(&similar)?, floats(&scores)?);
    let count = scores.len();
    if has_overlaps {
        return suppression.select(&scores, |a: usize, b: usize| similar[a * count + b]);
    }
    suppression.select(&scores, BoxOverlaps::new(similar.as_chunks().0)?)
}

/// Returns a scalar operand, rounded to `dtype`.
pub(super) fn scalar(cx: &HostCx<'_>, operand: usize, dtype: DType) -> Result<f32> {
    let x = cx.input(operand)?;
    let number = x.element(0).and_then(|bytes| Scalar::from_bytes(x.dtype(), bytes));
    let number = number.expect("the shape function accepts scalars, and the dtype rule floats");
    Ok(eval_cast(number, dtype).to_f64() as f32)
}

fn max_output_size(cx: &HostCx<'_>) -> Result<usize> {
    Ok(param_sizes(cx, "max_output_size", 2)?.first().copied().unwrap_or(0))
}

/// Returns the number of positions of a call that fills the positions up; `None` for another call.
pub(super) fn padded_size(cx: &HostCx<'_>) -> Result<Option<usize>> {
    cx.attrs().bool("pad_to_max_output_size").then(|| max_output_size(cx)).transpose()
}

/// Makes output 0: the positions of the selected boxes, filled up with zeros.
pub(super) fn set_positions(
    cx: &mut HostCx<'_>,
    selected: &[(usize, f32)],
    padded: Option<usize>,
) -> Result<()> {
    let mut positions = cx.output(0, &[padded.unwrap_or(selected.len())])?;
    for (slot, (position, _)) in positions.as_mut_slice::<i32>()?.iter_mut().zip(selected) {
        *slot = i32::try_from(*position).map_err(|_| Error::msg("a position exceeds i32"))?;
    }
    Ok(())
}

/// Makes output 1: the scores of the selected boxes, filled up with zeros.
pub(super) fn set_scores(
    cx: &mut HostCx<'_>,
    selected: &[(usize, f32)],
    padded: Option<usize>,
) -> Result<()> {
    let mut scores = cx.output(1, &[padded.unwrap_or(selected.len())])?;
    let dtype = scores.dtype();
    let bytes = dtype.size_bytes().expect("the dtype rule accepts floats only");
    for (slot, (_, score)) in scores.bytes_mut().chunks_exact_mut(bytes).zip(selected) {
        eval_cast(Scalar::F32(*score), dtype).write_bytes(slot).expect("a slot holds one score");
    }
    Ok(())
}

/// Makes an output that holds the number of selected boxes.
pub(super) fn set_count(cx: &mut HostCx<'_>, output: usize, count: usize) -> Result<()> {
    cx.set_output(output, int_tensor(DType::I32, &[], std::iter::once(count))?)
}
