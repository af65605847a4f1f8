//! Adds resizes and normalizations of quantized images, and integers with a range for each channel, to random graphs.

use shapeflow::DType;

use super::props_of;
use crate::element_props::ElementProps;
use crate::graph_generator::{GraphGenerator, ValueIndex};
use crate::graph_recipe::{Content, Size};
use crate::op_call::Call;

/// Adds an op with suitable operands and parameters. Returns its first output, or `None` if there are no suitable
/// operands or parameters.
pub fn add_op(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let channels = vec![Size::Known(1 + g.rng.below(3) as i64)];
    let batch = g.random_size();
    let images = [vec![batch, Size::Known(3), Size::Known(2)], channels.clone()].concat();
    let dtype = match op {
        "quantized_resize_bilinear" => *g.rng.choose(&[DType::QU8, DType::QI32]),
        "quantized_bytes" => DType::F32,
        "quantized_instance_norm" | "quantized_batch_norm_global" => DType::QU8,
        _ => DType::QI32,
    };
    let content = if dtype == DType::F32 { Content::Ordinary } else { Content::Range(0, 200) };
    let x = g.source(dtype, images, content, false)?;
    let mut params = Vec::new();
    let mut operands = vec![x];
    let (mut call, mut ranges) = (Call::new(op), Vec::new());
    match op {
        "quantized_resize_bilinear" => {
            let flag = *g.rng.choose(&["align_corners", "half_pixel_centers"]);
            call = call.attr(flag, g.rng.chance(1, 2));
            call = g.param(call, &mut params, "size", &[4, 5], true)?;
        }
        "quantized_instance_norm" => {
            // The integers depend on the order of sums, unless the range is much wider than their errors.
            call = call.attr("output_range_given", true).attr("given_y_min", -1e30).attr("given_y_max", 1e30);
        }
        "requantize_channels" => {
            call = call.attr("dtype", *g.rng.choose(&[DType::QI8, DType::QU8]));
            ranges = channels.clone();
        }
        "requantization_range_of_channels" => {
            call = call.attr("clip_value_max", 2.0);
            ranges = channels.clone();
        }
        "quantized_batch_norm_global" => {
            call = call.attr("variance_epsilon", 0.5).attr("scale_after_normalization", g.rng.chance(1, 2));
        }
        _ => {}
    }
    operands.extend(range(g, &ranges)?);
    if op == "requantize_channels" {
        operands.extend(range(g, &[])?);
    }
    if op == "quantized_batch_norm_global" {
        for _ in 0..4 {
            operands.push(g.source(DType::QU8, channels.clone(), Content::Range(100, 200), false)?);
            operands.extend(range(g, &[])?);
        }
    }
    let props = ElementProps { small_integers: false, ..props_of(g, &[x]) };
    g.add_step(call, &operands, &params, props)
}

/// Adds two sources of these sizes: the minimum and the maximum of a range.
fn range(g: &mut GraphGenerator<'_>, sizes: &[Size]) -> Option<[ValueIndex; 2]> {
    let min = g.source(DType::F32, sizes.to_vec(), Content::Range(-3, 0), false)?;
    let max = g.source(DType::F32, sizes.to_vec(), Content::Range(1, 3), false)?;
    Some([min, max])
}
