//! How ops that place elements by number or in blocks are put into a random graph.

use shapeflow::{Attr, DType, Dim};

use crate::graph_generator::{Grower, Id};
use crate::graph_recipe::{Content, Size};
use crate::op_call::Call;
use crate::ops::facts_of;
use crate::value_facts::{Class, Facts};

type Grown = Option<Id>;

/// Adds the op, if operands and parameters that suit it are found.
pub fn grow(g: &mut Grower<'_>, op: &'static str) -> Grown {
    match op {
        "gather_nd" => gather_nd(g),
        "scatter_nd" => scatter_nd(g),
        "dynamic_stitch" => dynamic_stitch(g),
        "dynamic_partition" => dynamic_partition(g),
        "space_to_depth" | "depth_to_space" => blocks(g, op),
        "space_to_batch_nd" | "batch_to_space_nd" => batches(g, op),
        "reverse_sequence" => reverse_sequence(g),
        "sequence_mask" => sequence_mask(g),
        "extract_image_patches" => patches(g),
        _ if op.starts_with("tensor_scatter_nd") => tensor_scatter(g, op),
        _ if op.starts_with("segment") => segment(g, op),
        _ if op.starts_with("unsorted_segment") => unsorted_segment(g, op),
        _ => panic!("nothing is known of {op}"),
    }
}

fn exact(facts: &Facts) -> bool {
    !facts.loose
}

fn like_all(g: &mut Grower<'_>, dims: &[Dim]) -> Option<Vec<Size>> {
    dims.iter().map(|dim| g.like(dim)).collect()
}

/// Positions along some axes, now and then one that is outside.
fn positions(g: &mut Grower<'_>, lead: Vec<Size>, dims: &[Dim]) -> Grown {
    let limit = dims.iter().map(|dim| g.least(dim)).min().unwrap_or(1);
    if limit < 1 && !lead.contains(&Size::Known(0)) {
        return None;
    }
    let dtype = Class::Index.draw(&mut g.draws);
    let past = i64::from(g.draws.chance(1, 25));
    let mut sizes = lead;
    sizes.push(Size::Known(dims.len() as i64));
    g.source(dtype, sizes, Content::Within(-past, limit - 1 + past), false)
}

fn gather_nd(g: &mut Grower<'_>) -> Grown {
    let x = g.pick(Class::Any, 1..=5, |_| true)?;
    let dims = g.dims(x);
    let batch = if g.draws.chance(1, 4) { g.draws.below(dims.len()) } else { 0 };
    let depth = g.draws.below(dims.len() - batch + 1);
    let mut lead = like_all(g, &dims[..batch])?;
    for _ in 0..g.draws.below(3) {
        let size = g.draw_size();
        lead.push(size);
    }
    let places = positions(g, lead, &dims[batch..batch + depth])?;
    let facts = Facts { whole: g.facts[x.0].whole, ..facts_of(g, &[x]) };
    g.add(Call::new("gather_nd").attr("batch_dims", batch as i64), &[x, places], &[], facts)
}

/// Positions in a tensor of these dimensions, and what goes there.
fn updates(g: &mut Grower<'_>, dims: &[Dim], dtype: DType) -> Option<[Id; 2]> {
    let depth = 1 + g.draws.below(dims.len());
    let lead = vec![g.draw_size()];
    let places = positions(g, lead.clone(), &dims[..depth])?;
    let mut sizes = lead;
    sizes.extend(like_all(g, &dims[depth..])?);
    let content = g.content();
    Some([places, g.source(dtype, sizes, content, false)?])
}

fn scatter_nd(g: &mut Grower<'_>) -> Grown {
    let x = g.pick(Class::Any, 1..=4, |_| true)?;
    let (dims, dtype) = (g.dims(x), g.dtype(x));
    let data = updates(g, &dims, dtype)?;
    let mut params = Vec::new();
    let call = g.dims_param(Call::new("scatter_nd"), &mut params, "shape", &dims)?;
    let facts = Facts { whole: false, ..facts_of(g, &data) };
    g.add(call, &data, &params, facts)
}

fn tensor_scatter(g: &mut Grower<'_>, op: &'static str) -> Grown {
    let class = if op.ends_with("update") { Class::Any } else { Class::Number };
    let x = g.pick(class, 1..=4, exact)?;
    let (dims, dtype) = (g.dims(x), g.dtype(x));
    let [places, updates] = updates(g, &dims, dtype)?;
    let facts = Facts { whole: false, ..facts_of(g, &[x, updates]) };
    g.add(Call::new(op), &[x, places, updates], &[], facts)
}

fn dynamic_stitch(g: &mut Grower<'_>) -> Grown {
    let x = g.pick(Class::Any, 1..=4, |_| true)?;
    let (dims, dtype) = (g.dims(x), g.dtype(x));
    let (mut places, mut data) = (Vec::new(), vec![x]);
    let first = g.like(&dims[0])?;
    places.push(g.source(DType::I32, vec![first], Content::Within(0, 9), false)?);
    for _ in 0..g.draws.below(3) {
        let rows = g.draw_size();
        places.push(g.source(DType::I32, vec![rows], Content::Within(0, 9), false)?);
        let mut sizes = vec![rows];
        sizes.extend(like_all(g, &dims[1..])?);
        let content = g.content();
        data.push(g.source(dtype, sizes, content, false)?);
    }
    let facts = Facts { whole: false, ..facts_of(g, &data) };
    places.append(&mut data);
    g.add(Call::new("dynamic_stitch"), &places, &[], facts)
}

fn dynamic_partition(g: &mut Grower<'_>) -> Grown {
    let x = g.pick(Class::Any, 1..=4, |_| true)?;
    let dims = g.dims(x);
    let shared = 1 + g.draws.below(dims.len());
    let sizes = like_all(g, &dims[..shared])?;
    let count = 1 + g.draws.below(4) as i64;
    let dtype = Class::Index.draw(&mut g.draws);
    let parts = g.source(dtype, sizes, Content::Within(0, count - 1), false)?;
    let facts = Facts { whole: false, ..facts_of(g, &[x]) };
    g.add(Call::new("dynamic_partition").attr("num_partitions", count), &[x, parts], &[], facts)
}

/// A multiple of a number, that may differ between runs.
fn multiple(g: &mut Grower<'_>, of: i64) -> Size {
    match g.draw_size() {
        Size::Named(at) | Size::Unnamed(at) | Size::Linear(_, at, _) => Size::Linear(of, at, 0),
        Size::Known(size) => Size::Known(size.min(6) * of),
    }
}

/// A value of these sizes, computed as often as fed.
fn made(g: &mut Grower<'_>, class: Class, sizes: Vec<Size>) -> Grown {
    let dtype = class.draw(&mut g.draws);
    let content = g.content();
    let x = g.source(dtype, sizes, content, false)?;
    if dtype == DType::Bool || g.draws.chance(1, 2) {
        return Some(x);
    }
    let facts = facts_of(g, &[x]);
    g.add(Call::new("square"), &[x], &[], Facts { whole: false, ..facts })
}

fn blocks(g: &mut Grower<'_>, op: &'static str) -> Grown {
    let block = g.draws.within(2, 3);
    let spatial = if op == "space_to_depth" { [block, block] } else { [1, 1] };
    let channels = if op == "space_to_depth" { 1 } else { block * block };
    let mut sizes = vec![g.draw_size()];
    for of in spatial.into_iter().chain([channels]) {
        let size = multiple(g, of);
        sizes.push(size);
    }
    let first = g.draws.chance(1, 3);
    if first {
        sizes[1..].rotate_right(1);
    }
    let x = made(g, Class::Any, sizes)?;
    let facts = facts_of(g, &[x]);
    let format = if first { "NCHW" } else { "NHWC" };
    g.add(Call::new(op).attr("block_size", block).attr("data_format", format), &[x], &[], facts)
}

fn batches(g: &mut Grower<'_>, op: &'static str) -> Grown {
    let forth = op == "space_to_batch_nd";
    let count = 1 + g.draws.below(2);
    let blocks: Vec<i64> = (0..count).map(|_| g.draws.within(1, 3)).collect();
    let all: i64 = blocks.iter().product();
    let mut sizes = vec![if forth { g.draw_size() } else { multiple(g, all) }];
    let mut pairs = Vec::new();
    for block in &blocks {
        let before = g.draws.within(0, 2);
        // Together a multiple of the block, as the size is.
        let after = if forth { (block - before % block) % block } else { g.draws.within(0, 1) };
        pairs.extend([before, after]);
        let size = if forth { multiple(g, *block) } else { g.draw_size() };
        sizes.push(size);
    }
    if g.draws.chance(1, 2) {
        let size = g.draw_size();
        sizes.push(size);
    }
    let x = made(g, Class::Any, sizes)?;
    let mut params = Vec::new();
    let facts = facts_of(g, &[x]);
    let call = g.param(Call::new(op), &mut params, "block_shape", &blocks, true)?;
    g.add(call.attr(if forth { "paddings" } else { "crops" }, pairs), &[x], &params, facts)
}

fn reverse_sequence(g: &mut Grower<'_>) -> Grown {
    let x = g.pick(Class::Any, 2..=5, |_| true)?;
    let dims = g.dims(x);
    let along = g.draws.below(dims.len());
    let batch = (along + 1 + g.draws.below(dims.len() - 1)) % dims.len();
    let past = i64::from(g.draws.chance(1, 25));
    let most = g.least(&dims[along]) + past;
    let rows = g.like(&dims[batch])?;
    let dtype = Class::Index.draw(&mut g.draws);
    let lengths = g.source(dtype, vec![rows], Content::Within(0, most), false)?;
    let call = Call::new("reverse_sequence").attr("seq_dim", along as i64).attr("batch_dim", batch as i64);
    let facts = Facts { whole: g.facts[x.0].whole, ..facts_of(g, &[x]) };
    g.add(call, &[x, lengths], &[], facts)
}

fn sequence_mask(g: &mut Grower<'_>) -> Grown {
    let x = g.pick(Class::Int, 0..=3, exact)?;
    let mut params = Vec::new();
    let most = g.draws.below(7) as i64;
    let call = g.param(Call::new("sequence_mask"), &mut params, "maxlen", &[most], false)?;
    let facts = Facts { whole: true, ..facts_of(g, &[x]) };
    g.add(call, &[x], &params, facts)
}

fn patches(g: &mut Grower<'_>) -> Grown {
    let x = match g.pick(Class::Any, 4..=4, |_| true) {
        Some(x) if g.draws.chance(1, 2) => x,
        _ => {
            let sizes = (0..4).map(|_| g.draw_size()).collect();
            made(g, Class::Any, sizes)?
        }
    };
    let mut pair = |most: i64| Attr::from(vec![1, g.draws.within(1, most), g.draws.within(1, most), 1]);
    let call = Call::new("extract_image_patches").attr("ksizes", pair(3)).attr("strides", pair(2));
    let call = call.attr("rates", pair(2));
    let padding = if g.draws.chance(1, 2) { "SAME" } else { "VALID" };
    let facts = facts_of(g, &[x]);
    g.add(call.attr("padding", padding), &[x], &[], facts)
}

fn segment(g: &mut Grower<'_>, op: &'static str) -> Grown {
    let x = g.pick(Class::Number, 1..=4, exact)?;
    let rows = g.dims(x)[0].as_known()?;
    let mut id = 0;
    let ids = (0..rows)
        .map(|_| {
            id += *g.draws.pick(&[0, 0, 0, 1, 1, 2]);
            id
        })
        .collect();
    let dtype = Class::Index.draw(&mut g.draws);
    let ids = g.source(dtype, vec![Size::Known(rows)], Content::Given(ids), false)?;
    let facts = Facts { whole: false, ..facts_of(g, &[x]) };
    g.add(Call::new(op), &[x, ids], &[], facts)
}

fn unsorted_segment(g: &mut Grower<'_>, op: &'static str) -> Grown {
    let x = g.pick(Class::Number, 1..=4, exact)?;
    let dims = g.dims(x);
    let shared = 1 + g.draws.below(dims.len());
    let sizes = like_all(g, &dims[..shared])?;
    let count = 1 + g.draws.below(5) as i64;
    let dtype = Class::Index.draw(&mut g.draws);
    let ids = g.source(dtype, sizes, Content::Within(-1, count - 1), false)?;
    let mut params = Vec::new();
    let call = g.param(Call::new(op), &mut params, "num_segments", &[count], false)?;
    let facts = Facts { whole: false, ..facts_of(g, &[x]) };
    g.add(call, &[x, ids], &params, facts)
}
