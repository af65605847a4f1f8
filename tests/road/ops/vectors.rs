//! Adds ops on vectors and on shapes, and ops that reinterpret or join operands, to random graphs.

use shapeflow::{Attr, DType, Dim, IntoDim, TensorShape};

use super::{props_of, random_axes, random_axis};
use crate::element_props::{DTypeClass, ElementProps};
use crate::graph_generator::{GraphGenerator, ValueIndex};
use crate::graph_recipe::{Content, Size};
use crate::op_call::Call;

/// Adds an op with suitable operands and parameters. Returns the first output of the op, or `None` if there are no
/// suitable operands or parameters.
pub fn add_op(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    match op {
        "list_diff" => list_diff(g),
        "invert_permutation" => invert_permutation(g),
        "broadcast_args" | "broadcast_gradient_args" => broadcast_shapes(g, op),
        "concat_offset" => concat_offset(g),
        "shape_n" => shape_n(g),
        "bitcast" => bitcast(g, op, DTypeClass::Number),
        "bitcast_complex" => bitcast(g, op, DTypeClass::Complex),
        "linspace" => linspace(g),
        "ensure_shape" => ensure_shape(g),
        "parallel_concat" => parallel_concat(g),
        "conjugate_transpose" => conjugate_transpose(g),
        _ => scan(g, op),
    }
}

fn list_diff(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Any, 1..=1, |props| !props.rounding_varies)?;
    let dtype = g.dtype(x);
    let (sizes, content) = (vec![g.random_size()], g.random_content());
    let y = g.source(dtype, sizes, content, false)?;
    let indices = DTypeClass::Index.sample(&mut g.rng);
    let props = ElementProps { small_integers: false, ..props_of(g, &[x]) };
    g.add_step(Call::new("list_diff").attr("out_idx", indices), &[x, y], &[], props)
}

fn invert_permutation(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let count = g.rng.below(9);
    let mut order: Vec<i64> = g.rng.permutation(count).into_iter().map(|index| index as i64).collect();
    if count > 1 && g.rng.chance(1, 20) {
        order[0] = order[1];
    }
    let dtype = DTypeClass::Index.sample(&mut g.rng);
    let x = g.source(dtype, vec![Size::Known(count as i64)], Content::Fixed(order), false)?;
    g.add_step(Call::new("invert_permutation"), &[x], &[], ElementProps::INTEGERS)
}

/// Adds a vector of sizes.
fn sizes_source(g: &mut GraphGenerator<'_>, dtype: DType, sizes: Vec<i64>) -> Option<ValueIndex> {
    let (count, constant) = (sizes.len() as i64, g.rng.chance(1, 3));
    g.source(dtype, vec![Size::Known(count)], Content::Fixed(sizes), constant)
}

fn broadcast_shapes(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let dtype = DTypeClass::Index.sample(&mut g.rng);
    let both: Vec<i64> = (0..g.rng.below(5)).map(|_| g.rng.range_inclusive(0, 4)).collect();
    let mut shapes = Vec::new();
    for _ in 0..2 {
        let start = g.rng.below(both.len() + 1);
        let start = if g.rng.chance(1, 2) { 0 } else { start };
        let sizes = both[start..].iter().map(|size| if g.rng.chance(1, 3) { 1 } else { *size }).collect();
        shapes.push(sizes_source(g, dtype, sizes)?);
    }
    g.add_step(Call::new(op), &shapes, &[], ElementProps::INTEGERS)
}

fn concat_offset(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let dtype = DTypeClass::Index.sample(&mut g.rng);
    let common: Vec<i64> = (0..1 + g.rng.below(3)).map(|_| g.rng.range_inclusive(0, 6)).collect();
    let (axis, given) = random_axis(g, common.len());
    let is_any_axis = g.rng.chance(1, 3);
    let mut shapes = Vec::new();
    for _ in 0..1 + g.rng.below(4) {
        let mut sizes = common.clone();
        sizes[axis] = if is_any_axis { sizes[axis] } else { g.rng.range_inclusive(0, 6) };
        shapes.push(sizes_source(g, dtype, sizes)?);
    }
    let mut params = Vec::new();
    let call = Call::new("concat_offset");
    let call = g.structure_param(call, &mut params, "concat_dim", false, |g| match is_any_axis {
        true => vec![random_axis(g, common.len()).1],
        false => vec![given],
    })?;
    g.add_step(call, &shapes, &params, ElementProps::INTEGERS)
}

fn shape_n(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let mut operands = Vec::new();
    for _ in 0..1 + g.rng.below(3) {
        operands.push(g.pick(DTypeClass::Any, 0..=5, |_| true)?);
    }
    let dtype = DTypeClass::Index.sample(&mut g.rng);
    g.add_step(Call::new("shape_n").attr("out_type", dtype), &operands, &[], ElementProps::INTEGERS)
}

fn bitcast(g: &mut GraphGenerator<'_>, op: &'static str, class: DTypeClass) -> Option<ValueIndex> {
    let (from, to) = (DTypeClass::Int.sample(&mut g.rng), class.sample(&mut g.rng));
    let bytes = |dtype: DType| dtype.size_bytes().unwrap_or(1) as i64;
    let mut sizes: Vec<Size> = (0..g.rng.below(3)).map(|_| g.random_size()).collect();
    if bytes(to) > bytes(from) {
        sizes.push(Size::Known(bytes(to) / bytes(from)));
    }
    let content = g.random_content();
    let x = g.source(from, sizes, content, false)?;
    let props = ElementProps { extreme: true, zero_sign_unknown: false, ..ElementProps::default() };
    g.add_step(Call::new(op).attr("dtype", to), &[x], &[], props)
}

fn linspace(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let dtype = *g.rng.choose(&[DType::F32, DType::F64]);
    let mut ends = Vec::new();
    for _ in 0..2 {
        ends.push(g.scalar(dtype, Content::Ordinary)?);
    }
    let mut params = Vec::new();
    let num = g.rng.range_inclusive(1, 40);
    let call = g.param(Call::new("linspace"), &mut params, "num", &[num], false)?;
    let props = ElementProps { small_integers: false, ..props_of(g, &ends) };
    g.add_step(call, &ends, &params, props)
}

fn ensure_shape(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Any, 0..=5, |_| true)?;
    let known = g.dims(x).into_iter().map(|dim| if dim.is_known() { dim } else { Dim::UNKNOWN.into_dim() });
    let shape = if g.rng.chance(1, 4) { TensorShape::unranked() } else { TensorShape::new(known) };
    let props = props_of(g, &[x]);
    g.add_step(Call::new("ensure_shape").attr("shape", Attr::Shape(shape)), &[x], &[], props)
}

fn parallel_concat(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let dtype = DTypeClass::Any.sample(&mut g.rng);
    let mut sizes = vec![Size::Known(1)];
    for _ in 0..g.rng.below(3) {
        sizes.push(Size::Known(g.rng.range_inclusive(0, 5)));
    }
    let mut rows = Vec::new();
    for _ in 0..1 + g.rng.below(4) {
        let content = g.random_content();
        rows.push(g.source(dtype, sizes.clone(), content, false)?);
    }
    let shape = TensorShape::unranked();
    let props = props_of(g, &rows);
    g.add_step(Call::new("parallel_concat").attr("shape", Attr::Shape(shape)), &rows, &[], props)
}

fn conjugate_transpose(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Any, 0..=5, |_| true)?;
    let rank = g.rank(x);
    let mut params = Vec::new();
    let call = Call::new("conjugate_transpose");
    let call = g.structure_param(call, &mut params, "perm", true, |g| random_axes(g, rank, rank))?;
    let props = props_of(g, &[x]);
    g.add_step(call, &[x], &params, props)
}

/// Adds a running sum, a running product, or the logarithm of a running sum of exponentials.
fn scan(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let class = if op == "cumulative_logsumexp" { DTypeClass::Float } else { DTypeClass::Number };
    let x = g.pick(class, 1..=8, |props| !props.rounding_varies)?;
    let rank = g.rank(x);
    let call = Call::new(op).attr("exclusive", g.rng.chance(1, 3)).attr("reverse", g.rng.chance(1, 3));
    let mut params = Vec::new();
    let call = g.structure_param(call, &mut params, "axis", false, |g| vec![random_axis(g, rank).1])?;
    let props = ElementProps { small_integers: false, ..props_of(g, &[x]) };
    g.add_step(call, &[x], &params, props)
}
