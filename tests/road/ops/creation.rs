//! Adds ops that create values from sizes and bounds, or that return sizes, to random graphs.

use shapeflow::{DType, Dim};

use super::props_of;
use crate::element_props::{DTypeClass, ElementProps};
use crate::graph_generator::{GraphGenerator, ValueIndex};
use crate::graph_recipe::Content;
use crate::op_call::Call;

pub fn fill(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let dims = match g.pick(DTypeClass::Any, 0..=4, |_| true) {
        Some(like) if g.rng.chance(1, 2) => g.dims(like),
        _ => (0..g.rng.below(4)).map(|_| Dim::known(g.rng.below(6) as i64)).collect(),
    };
    let dtype = DTypeClass::Any.sample(&mut g.rng);
    let content = g.random_content();
    let value = g.scalar(dtype, content)?;
    let mut params = Vec::new();
    let call = g.dims_param(Call::new("fill"), &mut params, "dims", &dims)?;
    let props = props_of(g, &[value]);
    g.add_step(call, &[value], &params, props)
}

pub fn range(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let delta: i64 = *g.rng.choose(&[1, 1, 2, 3, -1, -2]);
    let start = g.rng.range_inclusive(-9, 9);
    let limit = start + delta.signum() * g.rng.below(20) as i64;
    let props = ElementProps { small_integers: true, ..ElementProps::default() };
    let mut call = Call::new("range").attr("dtype", *g.rng.choose(&[DType::I32, DType::I64]));
    let mut params = Vec::new();
    if g.rng.chance(g.fed_per_mille, 1000) {
        // Bounds that are values must have the same dtype.
        let dtype = *g.rng.choose(&[DType::I32, DType::I64]);
        call = Call::new("range");
        for (name, bound) in [("start", start), ("limit", limit), ("delta", delta)] {
            params.push(g.source(dtype, Vec::new(), Content::Fixed(vec![bound]), false)?);
            call.params.push(name);
        }
    } else {
        for (name, bound) in [("start", start), ("limit", limit), ("delta", delta)] {
            call = call.attr(name, bound);
        }
    }
    g.add_step(call, &[], &params, props)
}

pub fn float_range(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let dtype = *g.rng.choose(&[DType::F32, DType::F64]);
    let start = g.rng.range_inclusive(-9, 9);
    let limit = start + g.rng.below(20) as i64;
    let delta = g.rng.range_inclusive(1, 4);
    let mut data = Vec::new();
    for bound in [start, limit, delta] {
        let constant = g.rng.chance(1, 2);
        data.push(g.source(dtype, Vec::new(), Content::Fixed(vec![bound]), constant)?);
    }
    g.add_step(
        Call::new("float_range"),
        &data,
        &[],
        ElementProps { small_integers: true, ..ElementProps::default() },
    )
}

/// Adds `shape`, `size` or `rank`.
pub fn shape_query(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Any, 0..=6, |_| true)?;
    let dtype = *g.rng.choose(&[DType::I32, DType::I64]);
    g.add_step(
        Call::new(op).attr("out_type", dtype),
        &[x],
        &[],
        ElementProps { small_integers: true, ..ElementProps::default() },
    )
}
