//! Adds pools and convolutions to random graphs.

use shapeflow::{Attr, DType};

use super::props_of;
use crate::element_props::{DTypeClass, ElementProps};
use crate::graph_generator::{GraphGenerator, ValueIndex};
use crate::graph_recipe::{Content, Size};
use crate::op_call::Call;

/// Returns the number of spatial axes of the images or volumes of an op.
fn spatial_axes(op: &str) -> usize {
    if op.contains("_3d") || op.contains("volume") { 3 } else { 2 }
}

/// Adds a source of images (2 spatial axes) or volumes (3) with `channels` channels in the last axis.
fn images(g: &mut GraphGenerator<'_>, dtype: DType, spatial: usize, channels: i64) -> Option<ValueIndex> {
    let sizes: Vec<Size> = [3, 6, 6, 4][..=spatial]
        .iter()
        .map(|limit| {
            let sizes: Vec<i64> = (0..g.recipe.runs.len()).map(|_| 1 + g.rng.below(*limit) as i64).collect();
            match g.rng.chance(1, 2) {
                true => Size::Known(sizes[0]),
                false => Size::Unnamed(g.new_variable(&sizes)),
            }
        })
        .chain([Size::Known(channels)])
        .collect();
    g.source(dtype, sizes, Content::Range(-3, 3), false)
}

/// Returns a list for the axes of images or volumes: 1 for the batch and the channels, and at most `limit` for the
/// spatial axes.
fn list(g: &mut GraphGenerator<'_>, spatial: usize, limit: usize) -> Vec<i64> {
    let inner = (0..spatial).map(|_| 1 + g.rng.below(limit) as i64);
    [1].into_iter().chain(inner).chain([1]).collect()
}

/// Returns the padding of a call.
fn padding(g: &mut GraphGenerator<'_>) -> &'static str {
    if g.rng.chance(2, 3) { "SAME" } else { "VALID" }
}

/// Returns the properties of sums of small integers; `None` for f16 and bf16.
pub fn summed(g: &GraphGenerator<'_>, operands: &[ValueIndex]) -> Option<ElementProps> {
    let dtype = g.dtype(operands[0]);
    let is_half = matches!(dtype, DType::F16 | DType::BF16);
    let props = props_of(g, operands);
    let float = dtype.is_float();
    let props = ElementProps {
        reduced: props.reduced || float,
        zero_sign_unknown: props.zero_sign_unknown || float,
        rounding_varies: props.rounding_varies || float,
        small_integers: props.small_integers && !float,
        ..props
    };
    (!is_half).then_some(props)
}

/// Adds a pool of images or volumes, or a maximum with its positions.
pub fn pool(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let is_mean = matches!(op, "avg_pool" | "avg_pool_3d");
    let class = if is_mean { DTypeClass::Float } else { DTypeClass::Number };
    let dtype = class.sample(&mut g.rng);
    let channels = 1 + g.rng.below(9) as i64;
    let spatial = spatial_axes(op);
    let x = images(g, dtype, spatial, channels)?;
    let (sizes, strides) = (list(g, spatial, 3), list(g, spatial, 2));
    let mut params = Vec::new();
    let call = g.param(Call::new(op), &mut params, "ksize", &sizes, true)?;
    let call = g.param(call, &mut params, "strides", &strides, true)?.attr("padding", padding(g));
    let props = if is_mean { summed(g, &[x])? } else { props_of(g, &[x]) };
    g.add_step(call, &[x], &params, props)
}

/// Adds the gradient of a pool of images of 5 rows and 4 columns, with windows at every position.
pub fn pool_gradient(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let class = if op == "avg_pool_grad" { DTypeClass::Float } else { DTypeClass::Number };
    let dtype = class.sample(&mut g.rng);
    let channels = 1 + g.rng.below(3) as i64;
    let sizes = [1, 1 + g.rng.below(3) as i64, 1 + g.rng.below(3) as i64, 1];
    let is_same = g.rng.chance(1, 2);
    let lost = |size: i64| if is_same { 0 } else { size - 1 };
    let batch = if op == "avg_pool_grad" { Size::Known(2) } else { g.random_size() };
    let pooled = [5 - lost(sizes[1]), 4 - lost(sizes[2]), channels].map(Size::Known);
    let pooled: Vec<Size> = [batch].into_iter().chain(pooled).collect();
    let gradient = g.source(dtype, pooled.clone(), Content::Range(-2, 2), false)?;
    let call = Call::new(op).attr("ksize", sizes).attr("strides", [1, 1, 1, 1]);
    let call = call.attr("padding", if is_same { "SAME" } else { "VALID" });
    let props = summed(g, &[gradient])?;
    if op == "avg_pool_grad" {
        return g.add_step(call.attr("orig_input_shape", [2, 5, 4, channels]), &[gradient], &[], props);
    }
    let image: Vec<Size> = [batch].into_iter().chain([5, 4, channels].map(Size::Known)).collect();
    let x = g.source(dtype, image, Content::Range(-2, 2), false)?;
    if op == "max_pool_with_argmax_grad" {
        let positions = g.source(DType::I64, pooled, Content::Range(0, 19), false)?;
        return g.add_step(call, &[x, gradient, positions], &[], props);
    }
    let output = g.source(dtype, pooled, Content::Range(-2, 2), false)?;
    g.add_step(call, &[x, output, gradient], &[], props)
}

/// Adds `reduce_window` over the last axes of a value.
pub fn reduce_window(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Number, 1..=4, |props| !props.extreme && !props.rounding_varies)?;
    let mut entries = |limit| -> Vec<i64> { (0..g.rank(x)).map(|_| 1 + g.rng.below(limit) as i64).collect() };
    let (sizes, strides) = (entries(2), entries(3));
    let is_max = g.rng.chance(1, 2);
    let mut props = if is_max { props_of(g, &[x]) } else { summed(g, &[x])? };
    // The largest element may be a zero of either sign.
    props.zero_sign_unknown |= g.dtype(x).is_float();
    let mut params = Vec::new();
    let call = g.param(Call::new("reduce_window"), &mut params, "sizes", &sizes, true)?;
    let call = g.param(call, &mut params, "strides", &strides, true)?;
    g.add_step(call.attr("op", if is_max { "max" } else { "sum" }), &[x], &params, props)
}

/// Adds a tensor whose sizes are the elements of a list.
pub fn list_as_shape(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let sizes: Vec<i64> = (0..g.rng.below(4)).map(|_| g.rng.below(5) as i64).collect();
    let mut params = Vec::new();
    let call = g.param(Call::new("list_as_shape"), &mut params, "list", &sizes, true)?;
    let call = call.attr("name", "sizes").attr("rank", sizes.len() as i64);
    g.add_step(call, &[], &params, ElementProps::INTEGERS)
}

/// Adds a convolution.
pub fn conv(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let dtype = DTypeClass::Number.sample(&mut g.rng);
    let (channels, filters) = (1 + g.rng.below(3) as i64, 1 + g.rng.below(9) as i64);
    let has_groups = matches!(op, "convolve_grouped_windows" | "convolve_groups");
    let may_have_groups = has_groups || matches!(op, "conv_2d" | "conv_3d");
    let groups = if may_have_groups && g.rng.chance(1, 4) { 2 } else { 1 };
    let spatial = if has_groups { 2 + g.rng.below(2) } else { spatial_axes(op) };
    let x = images(g, dtype, spatial, channels * groups)?;
    let mut sizes: Vec<i64> = (0..spatial).map(|_| 1 + g.rng.below(3) as i64).collect();
    sizes.extend([channels, filters * groups]);
    let sizes = sizes.into_iter().map(Size::Known).collect();
    let filter = g.source(dtype, sizes, Content::Range(-2, 2), false)?;
    let props = summed(g, &[x, filter])?;
    if op.starts_with("convolve_") {
        let [strides, dilations] = [(); 2].map(|()| Attr::Ints(list(g, spatial, 2).into()));
        let call = Call::new(op).attr("strides", strides).attr("dilations", dilations);
        return g.add_step(call, &[x, filter], &[], props);
    }
    let call = Call::new(op).attr("strides", Attr::Ints(list(g, spatial, 2).into()));
    let call = call.attr("padding", padding(g));
    g.add_step(call, &[x, filter], &[], props)
}

/// Adds a convolution of images with two batch axes.
pub fn conv_of_batches(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let dtype = DTypeClass::Number.sample(&mut g.rng);
    let (channels, groups) = (1 + g.rng.below(3) as i64, 1 + g.rng.below(2) as i64);
    let batch = [g.random_size(), g.random_size()];
    let image = [3, 4, channels * groups].map(Size::Known);
    let x = g.source(dtype, batch.into_iter().chain(image).collect(), Content::Range(-2, 2), false)?;
    let filter = [1 + g.rng.below(3) as i64, 1 + g.rng.below(3) as i64, channels, 2 * groups];
    let filter = g.source(dtype, filter.map(Size::Known).to_vec(), Content::Range(-2, 2), false)?;
    let props = summed(g, &[x, filter])?;
    let call = Call::new("conv").attr("batch_dims", 2).attr("groups", groups);
    let padding = *g.rng.choose(&["SAME", "VALID"]);
    let call = call.attr("strides", Attr::Ints([1, 1, 2, 1].into())).attr("padding", padding);
    g.add_step(call, &[x, filter], &[], props)
}

/// Adds a gradient of a convolution of images of 5 rows and 4 columns, or of volumes that also have a depth of 3. There
/// is a window at every position.
pub fn conv_gradient(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let dtype = DTypeClass::Number.sample(&mut g.rng);
    let (channels, filters) = (1 + g.rng.below(3) as i64, 1 + g.rng.below(5) as i64);
    let spatial = spatial_axes(op);
    let extents = &[5, 4, 3][..spatial];
    let window: Vec<i64> = (0..spatial).map(|_| 1 + g.rng.below(3) as i64).collect();
    let sizes = [&window[..], &[channels, filters]].concat();
    let batch = g.random_size();
    let same = g.rng.chance(1, 2);
    let lost = |size: i64| if same { 0 } else { size - 1 };
    let positions = extents.iter().zip(&window).map(|(extent, size)| extent - lost(*size));
    let output = positions.chain([filters]).map(Size::Known);
    let output = [batch].into_iter().chain(output).collect();
    let gradient = g.source(dtype, output, Content::Range(-2, 2), false)?;
    let ones = Attr::Ints(vec![1; spatial + 2].into());
    let call = Call::new(op).attr("strides", ones).attr("padding", if same { "SAME" } else { "VALID" });
    let image = extents.iter().copied().chain([channels]).map(Size::Known);
    let image: Vec<Size> = [batch].into_iter().chain(image).collect();
    let mut source = |sizes: Vec<Size>| g.source(dtype, sizes, Content::Range(-2, 2), false);
    if matches!(op, "conv_2d_filter_grad" | "conv_3d_filter_grad") {
        let operands = [source(image)?, gradient];
        let props = summed(g, &operands)?;
        return g.add_step(call.attr("filter_sizes", Attr::Ints(sizes.into())), &operands, &[], props);
    }
    let filter = source(sizes.into_iter().map(Size::Known).collect())?;
    let (call, operands) = match op {
        "conv_3d_input_grad_like" | "conv_3d_filter_grad_like" => {
            (call, vec![source(image)?, filter, gradient])
        }
        _ => (call.attr("input_sizes", Attr::Ints(extents.into())), vec![filter, gradient]),
    };
    let props = summed(g, &operands)?;
    g.add_step(call, &operands, &[], props)
}

pub fn lrn(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let dtype = *g.rng.choose(&[DType::F32, DType::F64]);
    let channels = 1 + g.rng.below(9) as i64;
    let x = images(g, dtype, 2, channels)?;
    let props = summed(g, &[x])?;
    let radius = g.rng.below(4) as i64;
    g.add_step(Call::new("lrn").attr("depth_radius", radius), &[x], &[], props)
}

/// Adds `extract_volume_patches`.
pub fn volume_patches(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let dtype = DTypeClass::Any.sample(&mut g.rng);
    let mut sizes: Vec<Size> = vec![g.random_size()];
    sizes.extend([4, 3, 5, 2].map(Size::Known));
    let content = g.random_content();
    let x = g.source(dtype, sizes, content, false)?;
    let mut entries = |limit| -> Vec<i64> {
        let inner = (0..3).map(|_| 1 + g.rng.below(limit) as i64);
        [1].into_iter().chain(inner).chain([1]).collect()
    };
    let (sizes, strides) = (entries(3), entries(2));
    let call = Call::new("extract_volume_patches").attr("ksizes", Attr::Ints(sizes.into()));
    let call = call.attr("strides", Attr::Ints(strides.into()));
    let call = call.attr("padding", if g.rng.chance(1, 2) { "SAME" } else { "VALID" });
    let props = props_of(g, &[x]);
    g.add_step(call, &[x], &[], props)
}
