//! Ops that fold an axis in random graphs.

use shapeflow::DType;

use super::{Grown, axes, facts_of, one_axis};
use crate::graph_generator::Grower;
use crate::graph_recipe::{Content, Size};
use crate::op_call::Call;
use crate::value_facts::{Class, Facts};

pub fn reduce(g: &mut Grower<'_>, op: &'static str) -> Grown {
    let class = match op {
        "reduce_any" | "reduce_all" => Class::Bool,
        "reduce_logsumexp" => Class::Float,
        _ => Class::Number,
    };
    let exact = matches!(op, "reduce_max" | "reduce_min" | "reduce_any" | "reduce_all");
    let x = g.pick(class, 0..=8, |facts| exact || !facts.wild)?;
    let float = g.dtype(x).is_float();
    let half = matches!(g.dtype(x), DType::F16 | DType::BF16);
    let mut facts = facts_of(g, &[x]);
    if float && !exact {
        // A product of whole numbers soon has more digits than a float.
        let order_shows = !facts.whole || matches!(op, "reduce_logsumexp" | "reduce_mean" | "reduce_prod");
        if order_shows && half {
            return None;
        }
        facts.folded = true;
        facts.loose |= order_shows;
        facts.whole &= !order_shows && op == "reduce_sum";
    }
    let rank = g.rank(x);
    let mut call = Call::new(op).attr("keep_dims", g.draws.chance(1, 3));
    let mut params = Vec::new();
    if g.draws.chance(5, 6) {
        let count = if g.draws.chance(1, 12) { 0 } else { 1 + g.draws.below(rank.max(1)) };
        let list = axes(g, rank, count);
        call = if list.len() == 1 && g.draws.chance(1, 2) {
            g.param(call, &mut params, "axis", &list, false)?
        } else {
            g.param(call, &mut params, "axis", &list, true)?
        };
    }
    g.add(call, &[x], &params, facts)
}

pub fn arg(g: &mut Grower<'_>, op: &'static str) -> Grown {
    let x = g.pick(Class::Number, 1..=8, |facts| !facts.loose)?;
    let dims = g.dims(x);
    let (axis, given) = one_axis(g, dims.len());
    if g.least(&dims[axis]) < 1 {
        return None;
    }
    let mut params = Vec::new();
    let mut call = Call::new(op);
    if g.draws.chance(1, 3) {
        call = call.attr("output_type", DType::I32);
    }
    let call = g.param(call, &mut params, "axis", &[given], false)?;
    let facts = Facts { whole: true, ..facts_of(g, &[x]) };
    g.add(call, &[x], &params, facts)
}

pub fn softmax(g: &mut Grower<'_>, op: &'static str) -> Grown {
    let x = g.pick(Class::Float, 1..=8, |facts| !facts.wild)?;
    if matches!(g.dtype(x), DType::F16 | DType::BF16) {
        return None;
    }
    let rank = g.rank(x);
    let (_, axis) = one_axis(g, rank);
    let axis = if g.draws.chance(1, 2) { -1 } else { axis };
    let mut params = Vec::new();
    let call = g.param(Call::new(op), &mut params, "axis", &[axis], false)?;
    let facts = Facts { folded: true, loose: true, whole: false, ..facts_of(g, &[x]) };
    g.add(call, &[x], &params, facts)
}

pub fn cumsum(g: &mut Grower<'_>) -> Grown {
    let x = g.pick(Class::Number, 1..=8, |facts| !facts.loose)?;
    let rank = g.rank(x);
    let (_, axis) = one_axis(g, rank);
    let call =
        Call::new("cumsum").attr("exclusive", g.draws.chance(1, 3)).attr("reverse", g.draws.chance(1, 3));
    let mut params = Vec::new();
    let call = g.param(call, &mut params, "axis", &[axis], false)?;
    let facts = Facts { whole: false, ..facts_of(g, &[x]) };
    g.add(call, &[x], &params, facts)
}

pub fn matmul(g: &mut Grower<'_>) -> Grown {
    let x = g.pick(Class::Number, 2..=5, |facts| !facts.wild)?;
    let dtype = g.dtype(x);
    let mut facts = facts_of(g, &[x]);
    let float = dtype.is_float();
    if matches!(dtype, DType::F16 | DType::BF16) && !facts.whole {
        return None;
    }
    let dims = g.dims(x);
    let (ta, tb) = (g.draws.chance(1, 3), g.draws.chance(1, 3));
    let inner = g.like(&dims[dims.len() - if ta { 2 } else { 1 }])?;
    let outer = g.draw_size();
    let mut sizes = Vec::new();
    for dim in &dims[..dims.len() - 2] {
        match g.draws.below(4) {
            0 => sizes.push(Size::Known(1)),
            1 if sizes.is_empty() => {}
            _ => sizes.push(g.like(dim)?),
        }
    }
    sizes.extend(if tb { [outer, inner] } else { [inner, outer] });
    let content = if g.draws.chance(1, 3) { Content::Ordinary } else { Content::Whole };
    let y = g.source(dtype, sizes, content, false)?;
    let both = facts_of(g, &[x, y]);
    facts.whole = both.whole;
    if float {
        facts.folded = true;
        facts.unsigned_zero = true;
        facts.loose |= !both.whole;
        if matches!(dtype, DType::F16 | DType::BF16) && facts.loose {
            return None;
        }
    }
    g.add(Call::new("matmul").attr("transpose_a", ta).attr("transpose_b", tb), &[x, y], &[], facts)
}
