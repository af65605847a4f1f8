//! Ops that take parts of their operands in random graphs.

use shapeflow::DType;

use super::{Grown, facts_of, one_axis};
use crate::graph_generator::Grower;
use crate::graph_recipe::{Content, Size};
use crate::op_call::Call;
use crate::value_facts::{Class, Facts};

pub fn gather(g: &mut Grower<'_>) -> Grown {
    let x = g.pick(Class::Any, 1..=6, |_| true)?;
    let dims = g.dims(x);
    let (axis, given) = one_axis(g, dims.len());
    let limit = g.least(&dims[axis]);
    let batch = if g.draws.chance(1, 4) { g.draws.below(axis + 1) } else { 0 };
    let rank = g.draws.below(3) + batch;
    let mut sizes = Vec::new();
    for (at, dim) in dims.iter().take(rank).enumerate() {
        let size = if at < batch { g.like(dim)? } else { g.draw_size() };
        sizes.push(size);
    }
    while sizes.len() < rank {
        let size = g.draw_size();
        sizes.push(size);
    }
    if limit < 1 && !sizes.contains(&Size::Known(0)) {
        return None;
    }
    let dtype = Class::Index.draw(&mut g.draws);
    // Now and then an index is out of range in one of the runs.
    let past = i64::from(g.draws.chance(1, 25));
    let i = match g.draws.chance(1, 6) {
        true if batch == 0 => g.pick(Class::Index, 0..=2, |facts| !facts.loose)?,
        _ => g.source(dtype, sizes, Content::Within(-past, limit - 1 + past), false)?,
    };
    let mut params = Vec::new();
    let call = Call::new("gather").attr("batch_dims", batch as i64);
    let call = g.param(call, &mut params, "axis", &[given], false)?;
    let mut facts = facts_of(g, &[x, i]);
    facts.whole = g.facts[x.0].whole;
    g.add(call, &[x, i], &params, facts)
}

pub fn one_hot(g: &mut Grower<'_>) -> Grown {
    let x = g.pick(Class::Int, 0..=4, |facts| !facts.loose)?;
    let rank = g.rank(x) as i64;
    let dtype = Class::Any.draw(&mut g.draws);
    let (on, off) = (g.scalar(dtype, Content::Whole)?, g.scalar(dtype, Content::Whole)?);
    let axis = g.draws.within(-1, rank);
    let depth = g.draws.below(6) as i64;
    let mut params = Vec::new();
    let call = g.param(Call::new("one_hot").attr("axis", axis), &mut params, "depth", &[depth], false)?;
    let facts = Facts { whole: true, ..facts_of(g, &[x, on, off]) };
    g.add(call, &[x, on, off], &params, facts)
}

pub fn split(g: &mut Grower<'_>, op: &'static str) -> Grown {
    let x = g.pick(Class::Any, 1..=6, |_| true)?;
    let dims = g.dims(x);
    let (axis, given) = one_axis(g, dims.len());
    let sizes = g.sizes_of(&dims[axis])?;
    let facts = facts_of(g, &[x]);
    let mut params = Vec::new();
    match op {
        "split" => {
            let fits: Vec<i64> = (1..=4).filter(|num| sizes.iter().all(|size| size % num == 0)).collect();
            let num = *g.draws.pick(&fits);
            let call = g.param(Call::new(op).attr("num", num), &mut params, "axis", &[given], false)?;
            g.add(call, &[x], &params, facts)
        }
        "unstack" => {
            let num = sizes[0];
            if num == 0 || num > 4 || sizes.iter().any(|size| *size != num) {
                return None;
            }
            g.add(Call::new(op).attr("axis", given).attr("num", num), &[x], &[], facts)
        }
        _ => {
            let least = *sizes.iter().min()?;
            let mut list = Vec::new();
            let mut rest = least;
            for _ in 0..g.draws.below(3) {
                let part = g.draws.below(rest as usize + 1) as i64;
                list.push(part);
                rest -= part;
            }
            let open = sizes.iter().any(|size| *size != least) || g.draws.chance(1, 2);
            let at = g.draws.below(list.len() + 1);
            list.insert(at, if open { -1 } else { rest });
            let call = Call::new(op).attr("num", list.len() as i64);
            let call = g.param(call, &mut params, "size_splits", &list, true)?;
            let call = g.param(call, &mut params, "axis", &[given], false)?;
            g.add(call, &[x], &params, facts)
        }
    }
}

pub fn slice(g: &mut Grower<'_>) -> Grown {
    let x = g.pick(Class::Any, 0..=6, |_| true)?;
    let (mut begin, mut size) = (Vec::new(), Vec::new());
    for dim in g.dims(x) {
        let least = g.least(&dim);
        let from = g.draws.below(least as usize + 1) as i64;
        begin.push(from);
        size.push(if g.draws.chance(1, 2) { -1 } else { g.draws.below((least - from) as usize + 1) as i64 });
    }
    let mut params = Vec::new();
    let call = g.param(Call::new("slice"), &mut params, "begin", &begin, true)?;
    let call = g.param(call, &mut params, "size", &size, true)?;
    let facts = facts_of(g, &[x]);
    g.add(call, &[x], &params, facts)
}

pub fn strided_slice(g: &mut Grower<'_>) -> Grown {
    let x = g.pick(Class::Any, 0..=6, |_| true)?;
    let dims = g.dims(x);
    let (mut begin, mut end, mut strides) = (Vec::new(), Vec::new(), Vec::new());
    let mut masks = [0i64; 5];
    let mut axis = 0;
    let mut ellipsis = false;
    while begin.len() < 8 && (axis < dims.len() || g.draws.chance(1, 8)) {
        let bit = 1i64 << begin.len();
        let wide = g.draws.within(-6, 6);
        let far = g.draws.within(-20, 20);
        match g.draws.below(12) {
            0 => {
                masks[3] |= bit;
                begin.push(wide);
                end.push(far);
                strides.push(1);
                continue;
            }
            1 if !ellipsis => {
                ellipsis = true;
                masks[2] |= bit;
                let most = (dims.len() + 1).saturating_sub(axis);
                axis += g.draws.below(most);
                // What follows names the last axes.
                begin.push(0);
                end.push(0);
                strides.push(1);
                continue;
            }
            2 if axis < dims.len() && g.least(&dims[axis]) > 0 && !ellipsis => {
                let least = g.least(&dims[axis]);
                let at = g.draws.within(-least, least - 1);
                masks[4] |= bit;
                begin.push(at);
                end.push(at + 1);
                strides.push(1);
            }
            _ => {
                if g.draws.chance(1, 3) {
                    masks[0] |= bit;
                }
                if g.draws.chance(1, 3) {
                    masks[1] |= bit;
                }
                begin.push(wide);
                end.push(far);
                strides.push(*g.draws.pick(&[1, 1, 1, 2, 3, -1, -1, -2]));
            }
        }
        axis += 1;
        if g.draws.chance(1, 4) {
            break;
        }
    }
    let mut call = Call::new("strided_slice");
    for (name, mask) in ["begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"]
        .into_iter()
        .zip(masks)
    {
        if mask != 0 {
            call = call.attr(name, mask);
        }
    }
    let mut params = Vec::new();
    for (name, list) in [("begin", &begin), ("end", &end), ("strides", &strides)] {
        call = g.param(call, &mut params, name, list, true)?;
    }
    let facts = facts_of(g, &[x]);
    g.add(call, &[x], &params, facts)
}

pub fn boolean_mask(g: &mut Grower<'_>) -> Grown {
    let x = g.pick(Class::Any, 1..=5, |_| true)?;
    let dims = g.dims(x);
    let axis = g.draws.below(dims.len());
    let count = 1 + g.draws.below(dims.len() - axis);
    let mut sizes = Vec::new();
    for dim in &dims[axis..axis + count] {
        let size = g.like(dim)?;
        sizes.push(size);
    }
    let mask = g.source(DType::Bool, sizes, Content::Whole, false)?;
    let facts = facts_of(g, &[x]);
    g.add(Call::new("boolean_mask").attr("axis", axis as i64), &[x, mask], &[], facts)
}

pub fn unique(g: &mut Grower<'_>, op: &'static str) -> Grown {
    let x = g.pick(Class::Any, 1..=1, |facts| !facts.loose)?;
    let dtype = *g.draws.pick(&[DType::I32, DType::I64]);
    let facts = facts_of(g, &[x]);
    g.add(Call::new(op).attr("out_idx", dtype), &[x], &[], facts)
}
