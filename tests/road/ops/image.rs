//! Adds simulated quantization and ops on images to random graphs.

use shapeflow::{Attr, DType};

use super::{computed_props, props_of};
use crate::element_props::{DTypeClass, ElementProps};
use crate::graph_generator::{GraphGenerator, ValueIndex};
use crate::graph_recipe::{Content, Size};
use crate::op_call::Call;

/// Draws f32 or f64.
fn float(g: &mut GraphGenerator<'_>) -> DType {
    *g.rng.choose(&[DType::F32, DType::F64])
}

/// Adds an op that rounds floats to a range.
pub fn quantize(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let dtype = float(g);
    let rank = 1 + g.rng.below(3);
    let mut sizes: Vec<Size> = (0..rank).map(|_| g.random_size()).collect();
    let channels = 1 + g.rng.below(5) as i64;
    sizes[rank - 1] = Size::Known(channels);
    let x = g.source(dtype, sizes, Content::Ordinary, false)?;
    let call =
        Call::new(op).attr("num_bits", 3 + g.rng.below(5) as i64).attr("narrow_range", g.rng.chance(1, 3));
    if op == "fake_quant" {
        let props = computed_props(g, op, &[x]);
        return g.add_step(call.attr("min", -1.5).attr("max", 2.0), &[x], &[], props);
    }
    if op == "quantize_and_dequantize_v1" {
        let call = Call::new(op).attr("num_bits", 3 + g.rng.below(5) as i64);
        let call = call.attr("range_given", g.rng.chance(1, 2));
        let props = computed_props(g, op, &[x]);
        return g.add_step(call.attr("input_min", -1.5).attr("input_max", 2.0), &[x], &[], props);
    }
    let ends = if op == "fake_quant_channels" { vec![Size::Known(channels)] } else { Vec::new() };
    let min = g.source(dtype, ends.clone(), Content::Range(-3, -1), false)?;
    let max = g.source(dtype, ends, Content::Range(1, 3), false)?;
    let props = computed_props(g, op, &[x, min, max]);
    if matches!(op, "quantize_and_dequantize_bits" | "snap_to_quantized") {
        let bits = g.scalar(DType::I32, Content::Range(3, 8))?;
        return g.add_step(Call::new(op), &[x, min, max, bits], &[], props);
    }
    let is_given = g.rng.chance(1, 2);
    let call = if op.starts_with("fake") { call } else { call.attr("range_given", is_given) };
    g.add_step(call, &[x, min, max], &[], props)
}

/// Adds the gradients of a simulated quantization.
pub fn quantize_gradient(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let dtype = *g.rng.choose(&[DType::F32, DType::F64]);
    let (rows, channels) = (g.random_size(), 1 + g.rng.below(5) as i64);
    let sizes = vec![rows, Size::Known(channels)];
    let gradient = g.source(dtype, sizes.clone(), Content::Range(-3, 3), false)?;
    let x = g.source(dtype, sizes, Content::Ordinary, false)?;
    let call = Call::new(op).attr("num_bits", 3 + g.rng.below(5) as i64);
    if op == "fake_quant_grad" {
        let props = computed_props(g, op, &[gradient, x]);
        return g.add_step(call.attr("min", -1.5).attr("max", 2.0), &[gradient, x], &[], props);
    }
    let ends = if op == "fake_quant_channels_grad" { vec![Size::Known(channels)] } else { Vec::new() };
    let min = g.source(dtype, ends.clone(), Content::Range(-3, -1), false)?;
    let max = g.source(dtype, ends, Content::Range(1, 3), false)?;
    let props = computed_props(g, op, &[gradient, x, min, max]);
    g.add_step(call, &[gradient, x, min, max], &[], props)
}

/// Adds a source of images with `channels` channels.
fn images(g: &mut GraphGenerator<'_>, dtype: DType, channels: i64) -> Option<ValueIndex> {
    let mut sizes = vec![g.random_size()];
    for _ in 0..2 {
        let size = Size::Known(1 + g.rng.below(5) as i64);
        sizes.push(size);
    }
    sizes.push(Size::Known(channels));
    g.source(dtype, sizes, Content::SmallIntegers, false)
}

/// Adds an op that resizes images.
pub fn resize(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let dtype = DTypeClass::Number.sample(&mut g.rng);
    let channels = 1 + g.rng.below(4) as i64;
    let x = images(g, dtype, channels)?;
    let sampling = g.rng.below(3);
    let call = Call::new(op).attr("align_corners", sampling == 1);
    // `resize_area` has no `half_pixel_centers`.
    let call = if op == "resize_area" { call } else { call.attr("half_pixel_centers", sampling == 2) };
    let size = [1 + g.rng.below(6) as i64, 1 + g.rng.below(6) as i64];
    let mut params = Vec::new();
    let call = g.param(call, &mut params, "size", &size, true)?;
    let props = ElementProps { small_integers: false, ..props_of(g, &[x]) };
    g.add_step(call, &[x], &params, props)
}

/// Adds an op that resizes images with a sampling kernel.
pub fn sample(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let dtype = DTypeClass::Number.sample(&mut g.rng);
    let channels = 1 + g.rng.below(4) as i64;
    let x = images(g, dtype, channels)?;
    let kernels = ["lanczos1", "lanczos3", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic"];
    let kernel = *g.rng.choose(&kernels);
    let call = Call::new(op).attr("kernel_type", kernel).attr("antialias", g.rng.chance(1, 2));
    let size = [1 + g.rng.below(6) as i64, 1 + g.rng.below(6) as i64];
    let mut params = Vec::new();
    let call = g.param(call, &mut params, "size", &size, true)?;
    let mut operands = vec![x];
    if op == "scale_and_translate" {
        operands.push(g.source(DType::F32, vec![Size::Known(2)], Content::Range(1, 3), false)?);
        operands.push(g.source(DType::F32, vec![Size::Known(2)], Content::Range(-2, 2), false)?);
    }
    let props = ElementProps { small_integers: false, ..props_of(g, &[x]) };
    g.add_step(call, &operands, &params, props)
}

pub fn crop_and_resize(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let dtype = DTypeClass::Number.sample(&mut g.rng);
    let x = g.source(dtype, [2, 3, 4, 2].map(Size::Known).to_vec(), Content::SmallIntegers, false)?;
    let count = g.random_size();
    let boxes = g.source(DType::F32, vec![count, Size::Known(4)], Content::Ordinary, false)?;
    let last = if g.rng.chance(1, 20) { 2 } else { 1 };
    let numbers = g.source(DType::I32, vec![count], Content::Range(0, last), false)?;
    let size = Attr::from([1 + g.rng.below(4) as i64, 1 + g.rng.below(4) as i64]);
    let props = ElementProps { small_integers: false, ..props_of(g, &[x]) };
    g.add_step(Call::new("crop_and_resize").attr("crop_size", size), &[x, boxes, numbers], &[], props)
}

/// Adds an op that takes a window of each image.
pub fn glimpse(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let channels = 1 + g.rng.below(3) as i64;
    let count = g.random_size();
    let (height, width) = (1 + g.rng.below(5) as i64, 1 + g.rng.below(5) as i64);
    let sizes = vec![count, Size::Known(height), Size::Known(width), Size::Known(channels)];
    let x = g.source(DType::F32, sizes, Content::SmallIntegers, false)?;
    let offsets = g.source(DType::F32, vec![count, Size::Known(2)], Content::Range(-3, 3), false)?;
    let noise = *g.rng.choose(&["zero", "uniform", "gaussian"]);
    let call = Call::new(op).attr("centered", g.rng.chance(1, 2)).attr("normalized", g.rng.chance(1, 2));
    let call = call.attr("uniform_noise", noise == "uniform").attr("noise", noise);
    let size = [1 + g.rng.below(6) as i64, 1 + g.rng.below(6) as i64];
    let mut params = Vec::new();
    let call = g.param(call, &mut params, "size", &size, true)?;
    let props = ElementProps { small_integers: false, ..props_of(g, &[x]) };
    g.add_step(call, &[x, offsets], &params, props)
}

/// Adds an op that draws boxes into images.
pub fn draw(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let dtype = *g.rng.choose(&[DType::F16, DType::F32]);
    let channels = *g.rng.choose(&[1, 3, 4]);
    let count = g.random_size();
    let sizes = vec![count, Size::Known(3), Size::Known(4), Size::Known(channels)];
    let x = g.source(dtype, sizes, Content::SmallIntegers, false)?;
    let boxes = vec![count, g.random_size(), Size::Known(4)];
    let mut operands = vec![x, g.source(DType::F32, boxes, Content::Range(-1, 2), false)?];
    if op == "draw_bounding_boxes" {
        let colors = vec![g.random_size(), Size::Known(4)];
        operands.push(g.source(DType::F32, colors, Content::SmallIntegers, false)?);
    }
    let props = props_of(g, &operands);
    g.add_step(Call::new(op), &operands, &[], props)
}

/// Adds a conversion or an adjustment of colors.
pub fn color(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let is_first = op == "adjust_contrast_v1";
    let dtype = match is_first {
        true => *g.rng.choose(&[DType::U8, DType::I8, DType::I16, DType::I32, DType::F32, DType::F64]),
        false => float(g),
    };
    let x = images(g, dtype, 3)?;
    let mut operands = vec![x];
    let scalars = if is_first { 3 } else { usize::from(op.starts_with("adjust")) };
    for _ in 0..scalars {
        operands.push(g.scalar(DType::F32, Content::Ordinary)?);
    }
    let summed = op.starts_with("adjust_contrast");
    let props = computed_props(g, op, &operands);
    let props = ElementProps {
        reduced: props.reduced || summed,
        rounding_varies: props.rounding_varies || summed,
        ..props
    };
    g.add_step(Call::new(op), &operands, &[], props)
}
