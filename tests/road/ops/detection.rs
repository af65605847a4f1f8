//! Adds suppressions of boxes, projective transforms of images, and decoders of sequences to random graphs.

use shapeflow::DType;

use super::props_of;
use crate::element_props::ElementProps;
use crate::graph_generator::{GraphGenerator, ValueIndex};
use crate::graph_recipe::{Content, Size};
use crate::op_call::Call;

/// Adds an op with suitable operands and parameters. Returns the first output of the op, or `None` if there are no
/// suitable operands or parameters.
pub fn add_op(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    match op {
        "combined_non_max_suppression" => combined(g),
        "projective_transform" | "projective_transform_v2" => project(g, op),
        "ctc_beam_search_decoder" | "ctc_greedy_decoder" => decode(g, op),
        _ => suppress(g, op),
    }
}

fn suppress(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let is_f32 = matches!(op, "non_max_suppression_overlaps" | "non_max_suppression_v1");
    let dtype = if is_f32 { DType::F32 } else { *g.rng.choose(&[DType::F16, DType::F32]) };
    let count = g.random_size();
    let columns = if op == "non_max_suppression_overlaps" { count } else { Size::Known(4) };
    let similar = g.source(dtype, vec![count, columns], Content::SmallIntegers, false)?;
    let scores = g.source(dtype, vec![count], Content::Range(-2, 6), false)?;
    let mut data = vec![similar, scores];
    let thresholds = match op {
        "non_max_suppression_v1" => 0,
        "non_max_suppression_v2" => 1,
        "soft_non_max_suppression" => 3,
        _ => 2,
    };
    for _ in 0..thresholds {
        data.push(g.scalar(dtype, Content::Range(0, 1))?);
    }
    let mut call = Call::new(op);
    if matches!(op, "non_max_suppression_padded" | "soft_non_max_suppression") {
        call = call.attr("pad_to_max_output_size", g.rng.chance(1, 2));
    }
    let most = g.rng.below(7) as i64;
    let mut params = Vec::new();
    let call = g.param(call, &mut params, "max_output_size", &[most], false)?;
    g.add_step(call, &data, &params, ElementProps::INTEGERS)
}

fn combined(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let (batch, count) = (g.random_size(), g.random_size());
    let classes = 1 + g.rng.below(3) as i64;
    let kinds = if g.rng.chance(1, 2) { 1 } else { classes };
    let sizes = vec![batch, count, Size::Known(kinds), Size::Known(4)];
    let boxes = g.source(DType::F32, sizes, Content::Range(-1, 4), false)?;
    let sizes = vec![batch, count, Size::Known(classes)];
    let scores = g.source(DType::F32, sizes, Content::Range(-2, 6), false)?;
    let mut data = vec![boxes, scores];
    for _ in 0..2 {
        data.push(g.scalar(DType::F32, Content::Range(0, 1))?);
    }
    let call = Call::new("combined_non_max_suppression");
    let call = call.attr("pad_per_class", g.rng.chance(1, 2)).attr("clip_boxes", g.rng.chance(1, 2));
    let (per_class, total) = (1 + g.rng.below(4) as i64, 1 + g.rng.below(6) as i64);
    let mut params = Vec::new();
    let call = g.param(call, &mut params, "max_output_size_per_class", &[per_class], false)?;
    let call = g.param(call, &mut params, "max_total_size", &[total], false)?;
    g.add_step(call, &data, &params, ElementProps::INTEGERS)
}

fn project(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let dtypes = [DType::U8, DType::I32, DType::I64, DType::F16, DType::BF16, DType::F32, DType::F64];
    let dtype = *g.rng.choose(&dtypes);
    let batch = g.random_size();
    let (height, width) = (1 + g.rng.below(4) as i64, 1 + g.rng.below(4) as i64);
    let sizes = vec![batch, Size::Known(height), Size::Known(width), Size::Known(2)];
    let x = g.source(dtype, sizes, Content::SmallIntegers, false)?;
    let count = if g.rng.chance(1, 2) { Size::Known(1) } else { batch };
    let transforms = g.source(DType::F32, vec![count, Size::Known(8)], Content::Range(-2, 2), false)?;
    let mut data = vec![x, transforms];
    if op == "projective_transform" {
        data.push(g.scalar(DType::F32, Content::Range(0, 5))?);
    }
    let call = Call::new(op);
    let call = call.attr("interpolation", *g.rng.choose(&["NEAREST", "BILINEAR"]));
    let call = call.attr("fill_mode", *g.rng.choose(&["CONSTANT", "REFLECT", "WRAP", "NEAREST"]));
    let size = [1 + g.rng.below(4) as i64, 1 + g.rng.below(4) as i64];
    let mut params = Vec::new();
    let call = g.param(call, &mut params, "output_shape", &size, true)?;
    let props = ElementProps { small_integers: false, ..props_of(g, &[x]) };
    g.add_step(call, &data, &params, props)
}

fn decode(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let dtype = *g.rng.choose(&[DType::F32, DType::F64]);
    let (times, batch) = (1 + g.rng.below(4) as i64, 1 + g.rng.below(3) as i64);
    let classes = 2 + g.rng.below(3) as i64;
    let sizes = [times, batch, classes].map(Size::Known).to_vec();
    let x = g.source(dtype, sizes, Content::SmallIntegers, false)?;
    let lengths = g.source(DType::I32, vec![Size::Known(batch)], Content::Range(-1, times), false)?;
    let call = Call::new(op).attr("merge_repeated", g.rng.chance(1, 2));
    let call = match op {
        "ctc_greedy_decoder" => call.attr("blank_index", g.rng.range_inclusive(-classes, classes - 1)),
        _ => call.attr("beam_width", 1 + g.rng.below(5) as i64).attr("top_paths", 1),
    };
    // The logarithms of the probabilities of beams are no integers.
    let props = ElementProps { small_integers: op == "ctc_greedy_decoder", ..ElementProps::INTEGERS };
    g.add_step(call, &[x, lengths], &[], props)
}
