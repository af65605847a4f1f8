//! Elementwise ops in random graphs.

use shapeflow::DType;

use super::{Grown, computed, facts_of, tame};
use crate::graph_generator::Grower;
use crate::graph_recipe::Content;
use crate::op_call::Call;
use crate::value_facts::Class;

pub fn unary(g: &mut Grower<'_>, op: &'static str, class: Class) -> Grown {
    unary_with(g, Call::new(op), class)
}

pub fn unary_with(g: &mut Grower<'_>, call: Call, class: Class) -> Grown {
    let low = if call.op == "where_indices" { 1 } else { 0 };
    let x = g.pick(class, low..=8, tame(call.op))?;
    let facts = computed(g, call.op, &[x]);
    g.add(call, &[x], &[], facts)
}

pub fn binary(g: &mut Grower<'_>, op: &'static str, class: Class) -> Grown {
    let x = g.pick(class, 0..=8, tame(op))?;
    let dtype = g.dtype(x);
    let divides = matches!(op, "floordiv" | "floormod" | "truncatediv" | "truncatemod" | "legacy_div");
    let y = if divides && dtype.is_integer() && g.draws.chance(19, 20) {
        g.companion(x, dtype, Content::Within(1, 9))?
    } else if op == "pow" && dtype.is_integer() {
        g.companion(x, dtype, Content::Within(0, 4))?
    } else {
        let content = g.content();
        g.partner(x, tame(op), content)?
    };
    let (x, y) = if !divides && op != "pow" && g.draws.chance(1, 2) { (y, x) } else { (x, y) };
    let facts = computed(g, op, &[x, y]);
    g.add(Call::new(op), &[x, y], &[], facts)
}

pub fn select(g: &mut Grower<'_>) -> Grown {
    let c = g.pick(Class::Bool, 0..=8, |facts| !facts.loose)?;
    let content = g.content();
    let dtype = Class::Any.draw(&mut g.draws);
    let x = match g.draws.chance(1, 2) {
        true => g.companion(c, dtype, content)?,
        false => g.pick(Class::Any, 0..=8, tame("select"))?,
    };
    let content = g.content();
    let y = g.partner(x, tame("select"), content)?;
    let facts = computed(g, "select", &[c, x, y]);
    g.add(Call::new("select"), &[c, x, y], &[], facts)
}

pub fn select_v1(g: &mut Grower<'_>) -> Grown {
    let x = g.pick(Class::Any, 0..=8, tame("select"))?;
    let c = match g.draws.chance(1, 2) {
        true => g.twin(x, DType::Bool, Content::Whole)?,
        false => g.scalar(DType::Bool, Content::Whole)?,
    };
    let (dtype, content) = (g.dtype(x), g.content());
    let y = g.twin(x, dtype, content)?;
    let facts = computed(g, "select_v1", &[c, x, y]);
    g.add(Call::new("select_v1"), &[c, x, y], &[], facts)
}

pub fn clip(g: &mut Grower<'_>) -> Grown {
    let x = g.pick(Class::Number, 0..=8, |_| true)?;
    let dtype = g.dtype(x);
    let low = g.scalar(dtype, Content::Within(0, 1))?;
    let high = g.scalar(dtype, Content::Within(1, 3))?;
    let facts = computed(g, "clip_by_value", &[x, low, high]);
    g.add(Call::new("clip_by_value"), &[x, low, high], &[], facts)
}

pub fn cast(g: &mut Grower<'_>) -> Grown {
    let x = g.pick(Class::Any, 0..=8, |_| true)?;
    let from = g.dtype(x);
    let mut to = Class::Any.draw(&mut g.draws);
    if g.facts[x.0].loose {
        to = *g.draws.pick(&[DType::F32, DType::F64]);
    }
    if to == from {
        return None;
    }
    let mut facts = facts_of(g, &[x]);
    // A small float of few digits is whole only if it was.
    facts.whole &= from.is_float() || !to.is_float() || from.size_bytes() <= Some(1);
    g.add(Call::new("cast").attr("dtype", to), &[x], &[], facts)
}
