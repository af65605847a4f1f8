//! Adds elementwise ops to random graphs.

use shapeflow::DType;

use super::{accepts_props, computed_props, props_of};
use crate::element_props::{DTypeClass, ElementProps, has_fractions};
use crate::graph_generator::{GraphGenerator, ValueIndex};
use crate::graph_recipe::Content;
use crate::op_call::Call;

pub fn unary(g: &mut GraphGenerator<'_>, op: &'static str, class: DTypeClass) -> Option<ValueIndex> {
    unary_with(g, Call::new(op), class)
}

/// Adds a function of a float or a complex number.
pub fn unary_inexact(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    if g.rng.chance(1, 3) { unary_complex(g, op) } else { unary(g, op, DTypeClass::Float) }
}

/// Adds a function of a complex number, which may have poles and branch cuts.
pub fn unary_complex(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Complex, 0..=8, |props| !props.rounding_varies && accepts_props(op)(props))?;
    let props = ElementProps { small_integers: false, ..computed_props(g, op, &[x]) };
    g.add_step(Call::new(op), &[x], &[], props)
}

pub fn unary_with(g: &mut GraphGenerator<'_>, call: Call, class: DTypeClass) -> Option<ValueIndex> {
    let min_rank = if call.op == "where_indices" { 1 } else { 0 };
    let x = g.pick(class, min_rank..=8, accepts_props(call.op))?;
    let props = computed_props(g, call.op, &[x]);
    g.add_step(call, &[x], &[], props)
}

pub fn binary(g: &mut GraphGenerator<'_>, op: &'static str, class: DTypeClass) -> Option<ValueIndex> {
    let x = g.pick(class, 0..=8, accepts_props(op))?;
    let dtype = g.dtype(x);
    let is_division = matches!(op, "floordiv" | "floormod" | "truncatediv" | "truncatemod" | "legacy_div");
    let y = if is_division && dtype.is_integer() && g.rng.chance(19, 20) {
        g.new_broadcast_source(x, dtype, Content::Range(1, 9))?
    } else if op == "pow" && dtype.is_integer() {
        g.new_broadcast_source(x, dtype, Content::Range(0, 4))?
    } else {
        let content = g.random_content();
        g.broadcast_operand(x, accepts_props(op), content)?
    };
    // A small change of an operand of these ops may change the result by much.
    if dtype.is_complex() && matches!(op, "div" | "legacy_div" | "pow") && has_varying_rounding(g, &[x, y]) {
        return None;
    }
    let (x, y) = if !is_division && op != "pow" && g.rng.chance(1, 2) { (y, x) } else { (x, y) };
    let props = computed_props(g, op, &[x, y]);
    g.add_step(Call::new(op), &[x, y], &[], props)
}

fn has_varying_rounding(g: &GraphGenerator<'_>, ids: &[ValueIndex]) -> bool {
    ids.iter().any(|id| g.props[id.0].rounding_varies)
}

pub fn select(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let condition = g.pick(DTypeClass::Bool, 0..=8, |props| !props.rounding_varies)?;
    let content = g.random_content();
    let dtype = DTypeClass::Any.sample(&mut g.rng);
    let x = match g.rng.chance(1, 2) {
        true => g.new_broadcast_source(condition, dtype, content)?,
        false => g.pick(DTypeClass::Any, 0..=8, accepts_props("select"))?,
    };
    let content = g.random_content();
    let y = g.broadcast_operand(x, accepts_props("select"), content)?;
    let props = computed_props(g, "select", &[condition, x, y]);
    g.add_step(Call::new("select"), &[condition, x, y], &[], props)
}

pub fn select_v1(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Any, 0..=8, accepts_props("select"))?;
    let condition = match g.rng.chance(1, 2) {
        true => g.source_like(x, DType::Bool, Content::SmallIntegers)?,
        false => g.scalar(DType::Bool, Content::SmallIntegers)?,
    };
    let (dtype, content) = (g.dtype(x), g.random_content());
    let y = g.source_like(x, dtype, content)?;
    let props = computed_props(g, "select_v1", &[condition, x, y]);
    g.add_step(Call::new("select_v1"), &[condition, x, y], &[], props)
}

pub fn clip(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Number, 0..=8, |_| true)?;
    let dtype = g.dtype(x);
    let low = g.scalar(dtype, Content::Range(0, 1))?;
    let high = g.scalar(dtype, Content::Range(1, 3))?;
    let props = computed_props(g, "clip_by_value", &[x, low, high]);
    g.add_step(Call::new("clip_by_value"), &[x, low, high], &[], props)
}

pub fn cast(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Any, 0..=8, |_| true)?;
    let from = g.dtype(x);
    let mut to = DTypeClass::Any.sample(&mut g.rng);
    if g.props[x.0].rounding_varies {
        to = *g.rng.choose(&[DType::F32, DType::F64, DType::C64, DType::C128]);
    }
    if to == from {
        return None;
    }
    let mut props = props_of(g, &[x]);
    // An integer of more than 8 bits may be large. As a float, the integer is rounded, and its sums are not exact.
    props.small_integers &= has_fractions(from) || !has_fractions(to) || from.size_bytes() <= Some(1);
    g.add_step(Call::new("cast").attr("dtype", to), &[x], &[], props)
}
