//! Ops that keep their operands whole, side by side or in another shape, in random graphs.

use shapeflow::Dim;

use super::{Grown, axes, facts_of, one_axis};
use crate::graph_generator::{Grower, Id, attribute};
use crate::graph_recipe::Content;
use crate::op_call::Call;
use crate::value_facts::Class;

pub fn concat(g: &mut Grower<'_>) -> Grown {
    let x = g.pick(Class::Any, 1..=6, |_| true)?;
    let (dims, dtype) = (g.dims(x), g.dtype(x));
    let (axis, given) = one_axis(g, dims.len());
    let mut parts = vec![x];
    for _ in 0..g.draws.below(4) {
        let fits: Vec<usize> = (0..g.values.len())
            .filter(|&at| {
                let other = g.dims(Id(at));
                g.dtype(Id(at)) == dtype
                    && other.len() == dims.len()
                    && (0..dims.len()).all(|k| k == axis || other[k] == dims[k])
            })
            .collect();
        if g.draws.chance(2, 3) && !fits.is_empty() {
            let at = *g.draws.pick(&fits);
            parts.push(Id(at));
            continue;
        }
        let mut sizes = Vec::new();
        for (at, dim) in dims.iter().enumerate() {
            let size = if at == axis { g.draw_size() } else { g.like(dim)? };
            sizes.push(size);
        }
        let content = g.content();
        parts.push(g.source(dtype, sizes, content, false)?);
    }
    let order = g.draws.shuffled(parts.len());
    let parts: Vec<Id> = order.into_iter().map(|at| parts[at]).collect();
    let mut params = Vec::new();
    let call = g.param(Call::new("concat"), &mut params, "axis", &[given], false)?;
    let facts = facts_of(g, &parts);
    g.add(call, &parts, &params, facts)
}

pub fn stack(g: &mut Grower<'_>) -> Grown {
    let x = g.pick(Class::Any, 0..=5, |_| true)?;
    let (dims, dtype) = (g.dims(x), g.dtype(x));
    let fits: Vec<usize> = (0..g.values.len())
        .filter(|&at| {
            g.dtype(Id(at)) == dtype && g.values[at].shape().rank().is_some() && g.dims(Id(at)) == dims
        })
        .collect();
    let mut parts = vec![x];
    for _ in 0..g.draws.below(4) {
        let content = g.content();
        let part = if g.draws.chance(2, 3) { Id(*g.draws.pick(&fits)) } else { g.twin(x, dtype, content)? };
        parts.push(part);
    }
    let rank = dims.len() as i64;
    let axis = g.draws.within(-rank - 1, rank);
    let facts = facts_of(g, &parts);
    g.add(Call::new("stack").attr("axis", axis), &parts, &[], facts)
}

pub fn pad(g: &mut Grower<'_>, op: &'static str) -> Grown {
    let x = g.pick(Class::Any, 1..=5, |_| true)?;
    let mut list = Vec::new();
    let symmetric = g.draws.chance(1, 2);
    for dim in g.dims(x) {
        let most = match op {
            "mirror_pad" => (g.least(&dim) - i64::from(!symmetric)).clamp(0, 3),
            _ => 3,
        };
        for _ in 0..2 {
            list.push(if g.draws.chance(1, 2) { 0 } else { g.draws.below(most as usize + 1) as i64 });
        }
    }
    let mut call = Call::new(op);
    let mut data = vec![x];
    if op == "mirror_pad" {
        call = call.attr("mode", if symmetric { "SYMMETRIC" } else { "REFLECT" });
    }
    if op == "pad_with" {
        let dtype = g.dtype(x);
        data.push(g.scalar(dtype, Content::Whole)?);
    }
    let mut params = Vec::new();
    let call = g.param(call, &mut params, "paddings", &list, true)?;
    let facts = facts_of(g, &data);
    g.add(call, &data, &params, facts)
}

pub fn reshape(g: &mut Grower<'_>) -> Grown {
    let x = g.pick(Class::Any, 0..=6, |_| true)?;
    let mut dims = g.dims(x);
    for _ in 0..1 + g.draws.below(3) {
        match g.draws.below(4) {
            // Two neighbours as one axis.
            0 | 1 if dims.len() > 1 => {
                let at = g.draws.below(dims.len() - 1);
                let joined = dims[at].checked_mul(&dims[at + 1]).ok()?;
                dims.splice(at..at + 2, [joined]);
            }
            2 if !dims.is_empty() => {
                let at = g.draws.below(dims.len());
                let sizes = g.sizes_of(&dims[at])?;
                let fits: Vec<i64> =
                    (2..=6).filter(|part| sizes.iter().all(|size| size % part == 0)).collect();
                if let (Some(known), false) = (dims[at].as_known(), fits.is_empty()) {
                    let part = *g.draws.pick(&fits);
                    dims.splice(at..at + 1, [Dim::known(known / part), Dim::known(part)]);
                } else if !fits.is_empty() {
                    // The rest is inferred.
                    let part = *g.draws.pick(&fits);
                    dims.splice(at..at + 1, [Dim::known(-1), Dim::known(part)]);
                    break;
                }
            }
            _ => {
                let at = g.draws.below(dims.len() + 1);
                dims.insert(at, Dim::known(1));
            }
        }
    }
    let inferred = dims.iter().any(|dim| *dim == -1);
    if !inferred && !dims.is_empty() && g.draws.chance(1, 3) {
        let at = g.draws.below(dims.len());
        dims[at] = Dim::known(-1);
    }
    let facts = facts_of(g, &[x]);
    if !dims.iter().any(|dim| *dim == -1) || dims.iter().all(Dim::is_known) {
        let mut params = Vec::new();
        let call = g.dims_param(Call::new("reshape"), &mut params, "shape", &dims)?;
        return g.add(call, &[x], &params, facts);
    }
    let elements = attribute(&dims)?;
    g.add(Call::new("reshape").attr("shape", elements), &[x], &[], facts)
}

pub fn axes_of_one(g: &mut Grower<'_>, op: &'static str) -> Grown {
    let x = g.pick(Class::Any, 0..=6, |_| true)?;
    let dims = g.dims(x);
    let facts = facts_of(g, &[x]);
    if op == "expand_dims" {
        let rank = dims.len() as i64;
        let axis = g.draws.within(-rank - 1, rank);
        let mut params = Vec::new();
        let call = g.param(Call::new(op), &mut params, "axis", &[axis], false)?;
        return g.add(call, &[x], &params, facts);
    }
    let ones: Vec<usize> = (0..dims.len()).filter(|axis| dims[*axis] == 1).collect();
    if ones.is_empty() {
        return None;
    }
    if g.draws.chance(1, 4) && dims.iter().all(Dim::is_known) {
        return g.add(Call::new(op), &[x], &[], facts);
    }
    let some: Vec<i64> = ones.into_iter().filter(|_| g.draws.chance(2, 3)).map(|axis| axis as i64).collect();
    if some.is_empty() {
        return None;
    }
    g.add(Call::new(op).attr("axis", some), &[x], &[], facts)
}

pub fn transpose(g: &mut Grower<'_>) -> Grown {
    let x = g.pick(Class::Any, 0..=6, |_| true)?;
    let rank = g.rank(x);
    let perm = axes(g, rank, rank);
    let mut params = Vec::new();
    let call = if g.draws.chance(1, 6) {
        Call::new("transpose")
    } else {
        g.param(Call::new("transpose"), &mut params, "perm", &perm, true)?
    };
    let facts = facts_of(g, &[x]);
    g.add(call, &[x], &params, facts)
}

pub fn reverse(g: &mut Grower<'_>) -> Grown {
    let x = g.pick(Class::Any, 1..=6, |_| true)?;
    let rank = g.rank(x);
    let count = 1 + g.draws.below(rank);
    let list = axes(g, rank, count);
    let mut params = Vec::new();
    let call = g.param(Call::new("reverse"), &mut params, "axis", &list, true)?;
    let facts = facts_of(g, &[x]);
    g.add(call, &[x], &params, facts)
}

pub fn tile(g: &mut Grower<'_>) -> Grown {
    let x = g.pick(Class::Any, 0..=5, |_| true)?;
    let list: Vec<i64> = (0..g.rank(x)).map(|_| *g.draws.pick(&[1, 1, 2, 3, 0])).collect();
    let mut params = Vec::new();
    let call = g.param(Call::new("tile"), &mut params, "multiples", &list, true)?;
    let facts = facts_of(g, &[x]);
    g.add(call, &[x], &params, facts)
}

pub fn broadcast_to(g: &mut Grower<'_>) -> Grown {
    let x = g.pick(Class::Any, 0..=5, |_| true)?;
    let mut dims = g.dims(x);
    for dim in &mut dims {
        if *dim == 1 && g.draws.chance(2, 3) {
            *dim = Dim::known(g.draws.below(5) as i64);
        }
    }
    for _ in 0..g.draws.below(3) {
        dims.insert(0, Dim::known(g.draws.below(4) as i64));
    }
    let mut params = Vec::new();
    let call = g.dims_param(Call::new("broadcast_to"), &mut params, "shape", &dims)?;
    let facts = facts_of(g, &[x]);
    g.add(call, &[x], &params, facts)
}
