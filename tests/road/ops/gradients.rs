//! Adds gradients of convolutions, pools and normalizations to random graphs, and ops that only have their gradients
//! beside them.

use shapeflow::{Attr, DType};

use super::props_of;
use super::window::summed;
use crate::element_props::{DTypeClass, ElementProps};
use crate::graph_generator::{GraphGenerator, ValueIndex};
use crate::graph_recipe::{Content, Size};
use crate::op_call::Call;

const SMALL: Content = Content::Range(-3, 3);

/// Adds an op with suitable operands and parameters. Returns the first output of the op, or `None` if there are no
/// suitable operands or parameters.
pub fn add_op(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    match op {
        _ if op.starts_with("batch_norm_global") => norm(g, op),
        _ if op.starts_with("batch_norm") => moments(g, op),
        _ if op.starts_with("dilation_2d") => dilation(g, op),
        _ if op.starts_with("depthwise_conv_2d") => depthwise(g, op),
        "lrn_grad" => lrn(g),
        "resize_bicubic_grad" | "resize_bilinear_grad" | "resize_nearest_grad" => resize(g, op),
        "crop_and_resize_boxes_grad" | "crop_and_resize_image_grad" => crop(g, op),
        "scale_and_translate_grad" => scale_and_translate(g),
        _ if op.starts_with("fractional_") => fractional(g, op),
        "sum_at_equals" | "positions_of_equals" => equals(g, op),
        _ => pool(g, op),
    }
}

/// Returns the properties of a result that depends on sums of floats.
fn computed(g: &GraphGenerator<'_>, operands: &[ValueIndex]) -> ElementProps {
    let float = g.dtype(operands[0]).is_float();
    let props = props_of(g, operands);
    ElementProps {
        reduced: true,
        zero_sign_unknown: true,
        rounding_varies: props.rounding_varies || float,
        small_integers: false,
        ..props
    }
}

fn norm(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let dtype = *g.rng.choose(&[DType::F32, DType::F64]);
    let sizes: Vec<Size> = (0..4).map(|_| g.random_size()).collect();
    let mut source = |sizes: Vec<Size>, content| g.source(dtype, sizes, content, false);
    let mut operands = vec![source(sizes.clone(), SMALL)?, source(vec![sizes[3]], SMALL)?];
    operands.push(source(vec![sizes[3]], Content::Range(1, 9))?);
    operands.push(source(vec![sizes[3]], SMALL)?);
    operands.push(source(if op == "batch_norm_global" { vec![sizes[3]] } else { sizes.clone() }, SMALL)?);
    let call = Call::new(op).attr("variance_epsilon", 0.25);
    let call = call.attr("scale_after_normalization", g.rng.chance(1, 2));
    let props = computed(g, &operands);
    g.add_step(call, &operands, &[], props)
}

fn moments(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let dtype = *g.rng.choose(&[DType::F32, DType::F64]);
    let (is_gradient, has_reserve) = (op.contains("_grad"), op.ends_with("_with_reserve"));
    let channels_first = g.rng.chance(1, 3);
    let rank = if g.rng.chance(1, 4) { 5 } else { 4 };
    let sizes: Vec<Size> = (0..rank).map(|_| g.random_size()).collect();
    let channels = sizes[if channels_first { 1 } else { rank - 1 }];
    let mut source = |sizes: Vec<Size>, content| g.source(dtype, sizes, content, false);
    let mut operands = vec![source(sizes.clone(), SMALL)?];
    if is_gradient {
        operands.push(source(sizes, SMALL)?);
    }
    for _ in 0..if is_gradient { 2 } else { 3 } {
        operands.push(source(vec![channels], SMALL)?);
    }
    operands.push(source(vec![channels], Content::Range(1, 9))?);
    if is_gradient && has_reserve {
        operands.push(source(vec![channels], SMALL)?);
    }
    let format = match (rank, channels_first) {
        (4, false) => "NHWC",
        (4, true) => "NCHW",
        (_, false) => "NDHWC",
        (_, true) => "NCDHW",
    };
    let call = Call::new(op).attr("epsilon", 0.5).attr("data_format", format);
    let call = match is_gradient {
        true => call.attr("is_training", g.rng.chance(1, 2)),
        false => call.attr("exponential_avg_factor", *g.rng.choose(&[1.0, 0.25])),
    };
    let props = computed(g, &operands);
    g.add_step(call, &operands, &[], props)
}

/// Adds a dilation of images of 5 rows and 4 columns, or its gradient, with windows at every position.
fn dilation(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let dtype = DTypeClass::Number.sample(&mut g.rng);
    let (batch, channels) = (g.random_size(), Size::Known(1 + g.rng.below(3) as i64));
    let window = [1 + g.rng.below(3) as i64, 1 + g.rng.below(3) as i64];
    let is_same = g.rng.chance(1, 2);
    let lost = |size: i64| if is_same { 0 } else { size - 1 };
    let image = vec![batch, Size::Known(5), Size::Known(4), channels];
    let pooled = [5 - lost(window[0]), 4 - lost(window[1])].map(Size::Known);
    let mut source = |sizes: Vec<Size>| g.source(dtype, sizes, Content::Range(-2, 2), false);
    let filter = [window[0], window[1]].map(Size::Known).into_iter().chain([channels]).collect();
    let mut operands = vec![source(image)?, source(filter)?];
    if op.ends_with("_grad") {
        operands.push(source(vec![batch, pooled[0], pooled[1], channels])?);
    }
    let ones = Attr::Ints([1, 1, 1, 1].into());
    let call = Call::new(op).attr("strides", ones.clone()).attr("rates", ones);
    let call = call.attr("padding", if is_same { "SAME" } else { "VALID" });
    let props = if op.ends_with("_grad") { summed(g, &operands)? } else { props_of(g, &operands) };
    g.add_step(call, &operands, &[], ElementProps { small_integers: false, ..props })
}

/// Adds a gradient of a depthwise convolution of images of 5 rows and 4 columns, with a window at every position.
fn depthwise(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let dtype = DTypeClass::Number.sample(&mut g.rng);
    let (channels, filters) = (1 + g.rng.below(3) as i64, 1 + g.rng.below(3) as i64);
    let window = [1 + g.rng.below(3) as i64, 1 + g.rng.below(3) as i64];
    let is_same = g.rng.chance(1, 2);
    let lost = |size: i64| if is_same { 0 } else { size - 1 };
    let batch = g.random_size();
    let pooled = [5 - lost(window[0]), 4 - lost(window[1]), channels * filters].map(Size::Known);
    let mut source = |sizes: Vec<Size>| g.source(dtype, sizes, Content::Range(-2, 2), false);
    let gradient = source([batch].into_iter().chain(pooled).collect())?;
    let weights = [window[0], window[1], channels, filters];
    let is_of_filter = op == "depthwise_conv_2d_filter_grad";
    let other = match is_of_filter {
        true => source([batch].into_iter().chain([5, 4, channels].map(Size::Known)).collect())?,
        false => source(weights.map(Size::Known).to_vec())?,
    };
    let call = Call::new(op).attr("strides", [1, 1, 1, 1]);
    let call = call.attr("padding", if is_same { "SAME" } else { "VALID" });
    let call = match is_of_filter {
        true => call.attr("filter_sizes", weights),
        false => call.attr("input_sizes", [5, 4]),
    };
    let props = summed(g, &[other, gradient])?;
    g.add_step(call, &[other, gradient], &[], props)
}

fn lrn(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let dtype = *g.rng.choose(&[DType::F32, DType::F64]);
    let sizes: Vec<Size> = (0..4).map(|_| g.random_size()).collect();
    let mut source = || g.source(dtype, sizes.clone(), Content::Range(-3, 3), false);
    let operands = [source()?, source()?, source()?];
    let radius = g.rng.below(3) as i64;
    let props = computed(g, &operands);
    g.add_step(Call::new("lrn_grad").attr("depth_radius", radius), &operands, &[], props)
}

/// Adds a part of a gradient of a pool, over images of 5 rows and 4 columns.
fn equals(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let dtype = DTypeClass::Number.sample(&mut g.rng);
    let (batch, channels) = (g.random_size(), g.random_size());
    let window = [1 + g.rng.below(3) as i64, 1 + g.rng.below(3) as i64];
    let mut source = |rows: i64, columns: i64| {
        let sizes = vec![batch, Size::Known(rows), Size::Known(columns), channels];
        g.source(dtype, sizes, Content::Range(-1, 1), false)
    };
    let call = Call::new(op).attr("sizes", [1, window[0], window[1], 1]);
    let x = source(5, 4)?;
    if op == "positions_of_equals" {
        let maxima = source(6 - window[0], 5 - window[1])?;
        let call = call.attr("strides", [1, 1, 1, 1]);
        return g.add_step(call, &[x, maxima], &[], ElementProps::INTEGERS);
    }
    let (rows, columns) = (4 + window[0], 3 + window[1]);
    let operands = [x, source(rows, columns)?, source(rows, columns)?];
    let props = summed(g, &operands)?;
    g.add_step(call, &operands, &[], props)
}

/// Adds a gradient of a pool of volumes of a depth of 3, 5 rows and 4 columns, or the gradient of a gradient of a pool,
/// with windows at every position.
fn pool(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let class = if op == "avg_pool_3d_grad" { DTypeClass::Float } else { DTypeClass::Number };
    let dtype = class.sample(&mut g.rng);
    let extents = if op.contains("_3d") { &[3, 5, 4][..] } else { &[5, 4] };
    let window: Vec<i64> = extents.iter().map(|_| 1 + g.rng.below(3) as i64).collect();
    let is_same = g.rng.chance(1, 2);
    let channels = 1 + g.rng.below(3) as i64;
    let is_mean = op == "avg_pool_3d_grad";
    let batch = if is_mean { Size::Known(2) } else { g.random_size() };
    let sized = |spatial: Vec<i64>| -> Vec<Size> {
        let spatial = spatial.into_iter().chain([channels]).map(Size::Known);
        [batch].into_iter().chain(spatial).collect()
    };
    let lost = |size: i64| if is_same { 0 } else { size - 1 };
    let pooled = sized(extents.iter().zip(&window).map(|(extent, size)| extent - lost(*size)).collect());
    let image = sized(extents.to_vec());
    let list = |spatial: &[i64]| Attr::Ints([&[1], spatial, &[1]].concat().into());
    let call = Call::new(op).attr("ksize", list(&window)).attr("strides", list(&vec![1; extents.len()]));
    let call = call.attr("padding", if is_same { "SAME" } else { "VALID" });
    let mut source = |sizes: &[Size]| g.source(dtype, sizes.to_vec(), Content::Range(-2, 2), false);
    if is_mean {
        let gradient = source(&pooled)?;
        let props = summed(g, &[gradient])?;
        let shape = Attr::Ints([&[2], extents, &[channels]].concat().into());
        return g.add_step(call.attr("orig_input_shape", shape), &[gradient], &[], props);
    }
    let is_twice = op.ends_with("_grad_grad");
    let operands = [source(&image)?, source(&pooled)?, source(if is_twice { &image } else { &pooled })?];
    let props = if is_twice { props_of(g, &operands) } else { summed(g, &operands)? };
    g.add_step(call, &operands, &[], props)
}

fn resize(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let (batch, channels) = (g.random_size(), Size::Known(1 + g.rng.below(2) as i64));
    let mut size = || 1 + g.rng.below(4) as i64;
    let (resized, original) = ([size(), size()], [size(), size()]);
    let images = |[rows, columns]: [i64; 2]| vec![batch, Size::Known(rows), Size::Known(columns), channels];
    let is_nearest = op == "resize_nearest_grad";
    let class = if is_nearest { DTypeClass::Number } else { DTypeClass::Float };
    let dtype = class.sample(&mut g.rng);
    let of_gradients = if is_nearest { dtype } else { DType::F32 };
    let mut operands = vec![g.source(of_gradients, images(resized), SMALL, false)?];
    let call = Call::new(op).attr("half_pixel_centers", g.rng.chance(1, 2));
    let mut params = Vec::new();
    let call = match is_nearest {
        true => g.param(call, &mut params, "size", &original, true)?,
        false => {
            operands.push(g.source(dtype, images(original), SMALL, false)?);
            call
        }
    };
    let props = computed(g, &operands);
    g.add_step(call, &operands, &params, ElementProps { rounding_varies: false, ..props })
}

fn crop(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let (count, channels) = (g.random_size(), 1 + g.rng.below(2) as i64);
    let mut size = || 1 + g.rng.below(4) as i64;
    let (crop, image) = ([size(), size()], [size(), size(), size()]);
    let crops = vec![count, Size::Known(crop[0]), Size::Known(crop[1]), Size::Known(channels)];
    let mut operands = vec![g.source(DType::F32, crops, SMALL, false)?];
    if op == "crop_and_resize_boxes_grad" {
        let dtype = DTypeClass::Number.sample(&mut g.rng);
        let sizes = image.into_iter().chain([channels]).map(Size::Known).collect();
        operands.push(g.source(dtype, sizes, SMALL, false)?);
    }
    operands.push(g.source(DType::F32, vec![count, Size::Known(4)], Content::Range(-1, 2), false)?);
    operands.push(g.source(DType::I32, vec![count], Content::Range(0, image[0] - 1), false)?);
    let call = Call::new(op);
    let call = match op {
        "crop_and_resize_image_grad" => {
            let dtype = DTypeClass::Float.sample(&mut g.rng);
            call.attr("T", dtype).attr("image_size", [image[0], image[1], image[2], channels])
        }
        _ => call,
    };
    let props = computed(g, &operands);
    g.add_step(call, &operands, &[], ElementProps { rounding_varies: false, ..props })
}

fn scale_and_translate(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let (count, channels) = (g.random_size(), Size::Known(1 + g.rng.below(3) as i64));
    let mut images = || {
        let mut size = || Size::Known(1 + g.rng.below(4) as i64);
        let sizes = vec![count, size(), size(), channels];
        g.source(DType::F32, sizes, SMALL, false)
    };
    let mut operands = vec![images()?, images()?];
    for range in [Content::Range(1, 3), Content::Range(-2, 2)] {
        operands.push(g.source(DType::F32, vec![Size::Known(2)], range, false)?);
    }
    let kernel = *g.rng.choose(&["lanczos3", "gaussian", "box", "triangle", "keyscubic"]);
    let call = Call::new("scale_and_translate_grad").attr("kernel_type", kernel);
    let call = call.attr("antialias", g.rng.chance(1, 2));
    let props = computed(g, &operands);
    g.add_step(call, &operands, &[], props)
}

fn fractional(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let dtype = *g.rng.choose(&[DType::I32, DType::I64, DType::F32, DType::F64]);
    let is_overlapping = g.rng.chance(1, 2);
    let call = Call::new(op).attr("overlapping", is_overlapping);
    // The starts of 2 windows along 5 rows, and of 3 windows along 4 columns.
    let sizes = [2, 5, 4, 2];
    let image = sizes.map(Size::Known).to_vec();
    if !op.ends_with("_grad") {
        let x = g.source(dtype, image, Content::SmallIntegers, false)?;
        let call = call.attr("pooling_ratio", Attr::from(&[1.0, 1.75, 1.25, 1.0][..]));
        let call = call.attr("pseudo_random", g.rng.chance(1, 2)).attr("deterministic", true);
        let call = call.attr("seed", 1 + g.rng.below(99) as i64).attr("seed2", g.rng.below(9) as i64);
        let props = computed(g, &[x]);
        return g.add_step(call, &[x], &[], props);
    }
    let is_max = op == "fractional_max_pool_grad";
    let pooled = [2, 2, 3, 2].map(Size::Known).to_vec();
    let mut operands = Vec::new();
    if is_max {
        operands.push(g.source(dtype, image, Content::SmallIntegers, false)?);
        operands.push(g.source(dtype, pooled.clone(), SMALL, false)?);
    }
    operands.push(g.source(dtype, pooled, SMALL, false)?);
    for starts in [vec![0, 2, 5], vec![0, 1, 3, 4]] {
        let size = vec![Size::Known(starts.len() as i64)];
        operands.push(g.source(DType::I64, size, Content::Fixed(starts), false)?);
    }
    let props = computed(g, &operands[..1]);
    let mut params = Vec::new();
    let call = match is_max {
        true => call,
        false => g.param(call, &mut params, "orig_input_shape", &sizes, true)?,
    };
    g.add_step(call, &operands, &params, props)
}
