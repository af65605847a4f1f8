//! Adds ops that move elements by index (`gather_nd`, scatters, segments) or in blocks (`space_to_depth`) to random
//! graphs.

use shapeflow::{Attr, DType, Dim};

use crate::element_props::{DTypeClass, ElementProps};
use crate::graph_generator::{GraphGenerator, ValueIndex};
use crate::graph_recipe::{Content, Size};
use crate::op_call::Call;
use crate::ops::props_of;

/// Adds an op with suitable operands and parameters. Returns the first output of the op, or `None` if there are no
/// suitable operands or parameters.
pub fn add_op(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    match op {
        "gather_nd" => gather_nd(g),
        "scatter_nd" => scatter_nd(g),
        "dynamic_stitch" => dynamic_stitch(g),
        "dynamic_partition" => dynamic_partition(g),
        "space_to_depth" | "depth_to_space" => depth_blocks(g, op),
        "space_to_batch_nd" | "batch_to_space_nd" => batch_blocks(g, op),
        "reverse_sequence" => reverse_sequence(g),
        "sequence_mask" => sequence_mask(g),
        "extract_image_patches" => extract_image_patches(g),
        _ if op.starts_with("tensor_scatter_nd") => tensor_scatter(g, op),
        _ if op.starts_with("segment") => segment(g, op),
        _ if op.starts_with("unsorted_segment") => unsorted_segment(g, op),
        _ => panic!("`add_op` in tests/road/ops/mod.rs has no case for {op}"),
    }
}

/// Returns whether both backends agree on a value to the bit.
fn is_exact(props: &ElementProps) -> bool {
    !props.rounding_varies
}

/// Returns dimensions for a source with the same sizes as `dims` in every run.
fn sizes_like(g: &mut GraphGenerator<'_>, dims: &[Dim]) -> Option<Vec<Size>> {
    dims.iter().map(|dim| g.size_like(dim)).collect()
}

/// Adds an index tensor `[lead…, dims.len()]` into axes of the dimensions `dims`. Sometimes an index is out of range.
fn index_source(g: &mut GraphGenerator<'_>, lead: Vec<Size>, dims: &[Dim]) -> Option<ValueIndex> {
    let limit = dims.iter().map(|dim| g.min_size(dim)).min().unwrap_or(1);
    if limit < 1 && !lead.contains(&Size::Known(0)) {
        return None;
    }
    let dtype = DTypeClass::Index.sample(&mut g.rng);
    let past = i64::from(g.rng.chance(1, 25));
    let mut sizes = lead;
    sizes.push(Size::Known(dims.len() as i64));
    g.source(dtype, sizes, Content::Range(-past, limit - 1 + past), false)
}

fn gather_nd(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Any, 1..=5, |_| true)?;
    let dims = g.dims(x);
    let batch = if g.rng.chance(1, 4) { g.rng.below(dims.len()) } else { 0 };
    let depth = g.rng.below(dims.len() - batch + 1);
    let mut lead = sizes_like(g, &dims[..batch])?;
    for _ in 0..g.rng.below(3) {
        let size = g.random_size();
        lead.push(size);
    }
    let indices = index_source(g, lead, &dims[batch..batch + depth])?;
    let props = ElementProps { small_integers: g.props[x.0].small_integers, ..props_of(g, &[x]) };
    g.add_step(Call::new("gather_nd").attr("batch_dims", batch as i64), &[x, indices], &[], props)
}

/// Adds the indices and updates of a scatter into a tensor of these dimensions.
fn scatter_operands(g: &mut GraphGenerator<'_>, dims: &[Dim], dtype: DType) -> Option<[ValueIndex; 2]> {
    let depth = 1 + g.rng.below(dims.len());
    let lead = vec![g.random_size()];
    let indices = index_source(g, lead.clone(), &dims[..depth])?;
    let mut sizes = lead;
    sizes.extend(sizes_like(g, &dims[depth..])?);
    let content = g.random_content();
    Some([indices, g.source(dtype, sizes, content, false)?])
}

fn scatter_nd(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Any, 1..=4, |_| true)?;
    let (dims, dtype) = (g.dims(x), g.dtype(x));
    let data = scatter_operands(g, &dims, dtype)?;
    let mut params = Vec::new();
    let call = g.dims_param(Call::new("scatter_nd"), &mut params, "shape", &dims)?;
    let props = ElementProps { small_integers: false, ..props_of(g, &data) };
    g.add_step(call, &data, &params, props)
}

fn tensor_scatter(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let class = if op.ends_with("update") { DTypeClass::Any } else { DTypeClass::Number };
    let x = g.pick(class, 1..=4, is_exact)?;
    let (dims, dtype) = (g.dims(x), g.dtype(x));
    let [indices, updates] = scatter_operands(g, &dims, dtype)?;
    let props = ElementProps { small_integers: false, ..props_of(g, &[x, updates]) };
    g.add_step(Call::new(op), &[x, indices, updates], &[], props)
}

fn dynamic_stitch(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Any, 1..=4, |_| true)?;
    let (dims, dtype) = (g.dims(x), g.dtype(x));
    let (mut indices, mut data) = (Vec::new(), vec![x]);
    let first = g.size_like(&dims[0])?;
    indices.push(g.source(DType::I32, vec![first], Content::Range(0, 9), false)?);
    for _ in 0..g.rng.below(3) {
        let rows = g.random_size();
        indices.push(g.source(DType::I32, vec![rows], Content::Range(0, 9), false)?);
        let mut sizes = vec![rows];
        sizes.extend(sizes_like(g, &dims[1..])?);
        let content = g.random_content();
        data.push(g.source(dtype, sizes, content, false)?);
    }
    let props = ElementProps { small_integers: false, ..props_of(g, &data) };
    indices.append(&mut data);
    g.add_step(Call::new("dynamic_stitch"), &indices, &[], props)
}

fn dynamic_partition(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Any, 1..=4, |_| true)?;
    let dims = g.dims(x);
    let shared = 1 + g.rng.below(dims.len());
    let sizes = sizes_like(g, &dims[..shared])?;
    let count = 1 + g.rng.below(4) as i64;
    let dtype = DTypeClass::Index.sample(&mut g.rng);
    let parts = g.source(dtype, sizes, Content::Range(0, count - 1), false)?;
    let props = ElementProps { small_integers: false, ..props_of(g, &[x]) };
    g.add_step(Call::new("dynamic_partition").attr("num_partitions", count), &[x, parts], &[], props)
}

/// Draws a dimension that is a multiple of `factor` in every run.
fn random_multiple(g: &mut GraphGenerator<'_>, factor: i64) -> Size {
    match g.random_size() {
        Size::Named(variable) | Size::Unnamed(variable) | Size::Linear(_, variable, _) => {
            Size::Linear(factor, variable, 0)
        }
        Size::Known(size) => Size::Known(size.min(6) * factor),
    }
}

/// Adds a source of these sizes, and half the time its square, so that ops also read computed values.
fn source_or_square(g: &mut GraphGenerator<'_>, class: DTypeClass, sizes: Vec<Size>) -> Option<ValueIndex> {
    let dtype = class.sample(&mut g.rng);
    let content = g.random_content();
    let x = g.source(dtype, sizes, content, false)?;
    if dtype == DType::Bool || g.rng.chance(1, 2) {
        return Some(x);
    }
    let props = props_of(g, &[x]);
    g.add_step(Call::new("square"), &[x], &[], ElementProps { small_integers: false, ..props })
}

fn depth_blocks(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let block = g.rng.range_inclusive(2, 3);
    let spatial = if op == "space_to_depth" { [block, block] } else { [1, 1] };
    let channels = if op == "space_to_depth" { 1 } else { block * block };
    let mut sizes = vec![g.random_size()];
    for factor in spatial.into_iter().chain([channels]) {
        let size = random_multiple(g, factor);
        sizes.push(size);
    }
    let channels_first = g.rng.chance(1, 3);
    if channels_first {
        sizes[1..].rotate_right(1);
    }
    let x = source_or_square(g, DTypeClass::Any, sizes)?;
    let props = props_of(g, &[x]);
    let format = if channels_first { "NCHW" } else { "NHWC" };
    g.add_step(Call::new(op).attr("block_size", block).attr("data_format", format), &[x], &[], props)
}

fn batch_blocks(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let to_batch = op == "space_to_batch_nd";
    let count = 1 + g.rng.below(2);
    let blocks: Vec<i64> = (0..count).map(|_| g.rng.range_inclusive(1, 3)).collect();
    let all: i64 = blocks.iter().product();
    let mut sizes = vec![if to_batch { g.random_size() } else { random_multiple(g, all) }];
    let mut pairs = Vec::new();
    for block in &blocks {
        let before = g.rng.range_inclusive(0, 2);
        // The size and the paddings must add up to a multiple of the block. The size is such a multiple, so the sum of
        // the paddings must be one too.
        let after = if to_batch { (block - before % block) % block } else { g.rng.range_inclusive(0, 1) };
        pairs.extend([before, after]);
        let size = if to_batch { random_multiple(g, *block) } else { g.random_size() };
        sizes.push(size);
    }
    if g.rng.chance(1, 2) {
        let size = g.random_size();
        sizes.push(size);
    }
    let x = source_or_square(g, DTypeClass::Any, sizes)?;
    let mut params = Vec::new();
    let props = props_of(g, &[x]);
    let call = g.param(Call::new(op), &mut params, "block_shape", &blocks, true)?;
    g.add_step(call.attr(if to_batch { "paddings" } else { "crops" }, pairs), &[x], &params, props)
}

fn reverse_sequence(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Any, 2..=5, |_| true)?;
    let dims = g.dims(x);
    let along = g.rng.below(dims.len());
    let batch = (along + 1 + g.rng.below(dims.len() - 1)) % dims.len();
    let past = i64::from(g.rng.chance(1, 25));
    let max_length = g.min_size(&dims[along]) + past;
    let rows = g.size_like(&dims[batch])?;
    let dtype = DTypeClass::Index.sample(&mut g.rng);
    let lengths = g.source(dtype, vec![rows], Content::Range(0, max_length), false)?;
    let call = Call::new("reverse_sequence").attr("seq_dim", along as i64).attr("batch_dim", batch as i64);
    let props = ElementProps { small_integers: g.props[x.0].small_integers, ..props_of(g, &[x]) };
    g.add_step(call, &[x, lengths], &[], props)
}

fn sequence_mask(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Int, 0..=3, is_exact)?;
    let mut params = Vec::new();
    let max_length = g.rng.below(7) as i64;
    let call = g.param(Call::new("sequence_mask"), &mut params, "maxlen", &[max_length], false)?;
    let props = ElementProps { small_integers: true, ..props_of(g, &[x]) };
    g.add_step(call, &[x], &params, props)
}

fn extract_image_patches(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let x = match g.pick(DTypeClass::Any, 4..=4, |_| true) {
        Some(x) if g.rng.chance(1, 2) => x,
        _ => {
            let sizes = (0..4).map(|_| g.random_size()).collect();
            source_or_square(g, DTypeClass::Any, sizes)?
        }
    };
    let mut pair =
        |max: i64| Attr::from(vec![1, g.rng.range_inclusive(1, max), g.rng.range_inclusive(1, max), 1]);
    let call = Call::new("extract_image_patches").attr("ksizes", pair(3)).attr("strides", pair(2));
    let call = call.attr("rates", pair(2));
    let padding = if g.rng.chance(1, 2) { "SAME" } else { "VALID" };
    let props = props_of(g, &[x]);
    g.add_step(call.attr("padding", padding), &[x], &[], props)
}

fn segment(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Number, 1..=4, is_exact)?;
    let rows = g.dims(x)[0].as_known()?;
    let mut id = 0;
    let ids = (0..rows)
        .map(|_| {
            id += *g.rng.choose(&[0, 0, 0, 1, 1, 2]);
            id
        })
        .collect();
    let dtype = DTypeClass::Index.sample(&mut g.rng);
    let ids = g.source(dtype, vec![Size::Known(rows)], Content::Fixed(ids), false)?;
    let props = ElementProps { small_integers: false, ..props_of(g, &[x]) };
    g.add_step(Call::new(op), &[x, ids], &[], props)
}

fn unsorted_segment(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Number, 1..=4, is_exact)?;
    let dims = g.dims(x);
    let shared = 1 + g.rng.below(dims.len());
    let sizes = sizes_like(g, &dims[..shared])?;
    let count = 1 + g.rng.below(5) as i64;
    let dtype = DTypeClass::Index.sample(&mut g.rng);
    let ids = g.source(dtype, sizes, Content::Range(-1, count - 1), false)?;
    let mut params = Vec::new();
    let call = g.param(Call::new(op), &mut params, "num_segments", &[count], false)?;
    let props = ElementProps { small_integers: false, ..props_of(g, &[x]) };
    g.add_step(call, &[x, ids], &params, props)
}
