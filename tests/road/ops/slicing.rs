//! Adds ops that select elements of their operands to random graphs.

use shapeflow::DType;

use super::{props_of, random_axis};
use crate::element_props::{DTypeClass, ElementProps};
use crate::graph_generator::{GraphGenerator, ValueIndex};
use crate::graph_recipe::{Content, Size};
use crate::op_call::Call;

pub fn gather(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Any, 1..=6, |_| true)?;
    let dims = g.dims(x);
    let (axis, given) = random_axis(g, dims.len());
    // Sometimes the axis differs between runs. Then indices fit every axis.
    let is_any_axis = g.rng.chance(1, 3);
    let least = dims.iter().map(|dim| g.min_size(dim)).min().unwrap_or(0);
    let limit = if is_any_axis { least } else { g.min_size(&dims[axis]) };
    let batch = if g.rng.chance(1, 4) { g.rng.below(axis + 1) } else { 0 };
    let rank = g.rng.below(3) + batch;
    let mut sizes = Vec::new();
    for (k, dim) in dims.iter().take(rank).enumerate() {
        let size = if k < batch { g.size_like(dim)? } else { g.random_size() };
        sizes.push(size);
    }
    while sizes.len() < rank {
        let size = g.random_size();
        sizes.push(size);
    }
    if limit < 1 && !sizes.contains(&Size::Known(0)) {
        return None;
    }
    let dtype = DTypeClass::Index.sample(&mut g.rng);
    // Sometimes an index is out of range.
    let past = i64::from(g.rng.chance(1, 25));
    let indices = match g.rng.chance(1, 6) {
        true if batch == 0 => g.pick(DTypeClass::Index, 0..=2, |props| !props.rounding_varies)?,
        _ => g.source(dtype, sizes, Content::Range(-past, limit - 1 + past), false)?,
    };
    let mut params = Vec::new();
    let call = Call::new("gather").attr("batch_dims", batch as i64);
    let call = g.structure_param(call, &mut params, "axis", false, |g| match is_any_axis {
        true => vec![(batch + g.rng.below(dims.len() - batch)) as i64],
        false => vec![given],
    })?;
    let mut props = props_of(g, &[x, indices]);
    props.small_integers = g.props[x.0].small_integers;
    g.add_step(call, &[x, indices], &params, props)
}

pub fn one_hot(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Int, 0..=4, |props| !props.rounding_varies)?;
    let rank = g.rank(x) as i64;
    let dtype = DTypeClass::Any.sample(&mut g.rng);
    let (on, off) = (g.scalar(dtype, Content::SmallIntegers)?, g.scalar(dtype, Content::SmallIntegers)?);
    let axis = g.rng.range_inclusive(-1, rank);
    let depth = g.rng.below(6) as i64;
    let mut params = Vec::new();
    let call = g.param(Call::new("one_hot").attr("axis", axis), &mut params, "depth", &[depth], false)?;
    let props = ElementProps { small_integers: true, ..props_of(g, &[x, on, off]) };
    g.add_step(call, &[x, on, off], &params, props)
}

pub fn split(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Any, 1..=6, |_| true)?;
    let dims = g.dims(x);
    let (axis, given) = random_axis(g, dims.len());
    let sizes = g.sizes_of(&dims[axis])?;
    let props = props_of(g, &[x]);
    let mut params = Vec::new();
    match op {
        "split" => {
            let fits: Vec<i64> = (1..=4).filter(|num| sizes.iter().all(|size| size % num == 0)).collect();
            let num = *g.rng.choose(&fits);
            let splits = |dim| g.sizes_of(dim).is_some_and(|sizes| sizes.iter().all(|size| size % num == 0));
            let axes: Vec<i64> =
                (0..dims.len()).filter(|axis| splits(&dims[*axis])).map(|axis| axis as i64).collect();
            let call = Call::new(op).attr("num", num);
            let call = g.structure_param(call, &mut params, "axis", false, |g| match g.rng.chance(1, 2) {
                true => vec![*g.rng.choose(&axes)],
                false => vec![given],
            })?;
            g.add_step(call, &[x], &params, props)
        }
        "unstack" => {
            let num = sizes[0];
            if num == 0 || num > 4 || sizes.iter().any(|size| *size != num) {
                return None;
            }
            g.add_step(Call::new(op).attr("axis", given).attr("num", num), &[x], &[], props)
        }
        _ => {
            let least = *sizes.iter().min()?;
            let mut list = Vec::new();
            let mut rest = least;
            for _ in 0..g.rng.below(3) {
                let part = g.rng.below(rest as usize + 1) as i64;
                list.push(part);
                rest -= part;
            }
            let infer_rest = sizes.iter().any(|size| *size != least) || g.rng.chance(1, 2);
            let position = g.rng.below(list.len() + 1);
            list.insert(position, if infer_rest { -1 } else { rest });
            let call = Call::new(op).attr("num", list.len() as i64);
            let call = g.param(call, &mut params, "size_splits", &list, true)?;
            let call = g.param(call, &mut params, "axis", &[given], false)?;
            g.add_step(call, &[x], &params, props)
        }
    }
}

pub fn slice(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Any, 0..=6, |_| true)?;
    let (mut begin, mut size) = (Vec::new(), Vec::new());
    for dim in g.dims(x) {
        let least = g.min_size(&dim);
        let from = g.rng.below(least as usize + 1) as i64;
        begin.push(from);
        size.push(if g.rng.chance(1, 2) { -1 } else { g.rng.below((least - from) as usize + 1) as i64 });
    }
    let mut params = Vec::new();
    let call = g.param(Call::new("slice"), &mut params, "begin", &begin, true)?;
    let call = g.param(call, &mut params, "size", &size, true)?;
    let props = props_of(g, &[x]);
    g.add_step(call, &[x], &params, props)
}

pub fn strided_slice(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Any, 0..=6, |_| true)?;
    let dims = g.dims(x);
    let (mut begin, mut end, mut strides) = (Vec::new(), Vec::new(), Vec::new());
    // The masks in this order: begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask.
    let mut masks = [0i64; 5];
    let mut axis = 0;
    let mut ellipsis = false;
    while begin.len() < 8 && (axis < dims.len() || g.rng.chance(1, 8)) {
        let bit = 1i64 << begin.len();
        let near = g.rng.range_inclusive(-6, 6);
        let far = g.rng.range_inclusive(-20, 20);
        match g.rng.below(12) {
            0 => {
                masks[3] |= bit;
                begin.push(near);
                end.push(far);
                strides.push(1);
                continue;
            }
            1 if !ellipsis => {
                ellipsis = true;
                masks[2] |= bit;
                let skipped = (dims.len() + 1).saturating_sub(axis);
                axis += g.rng.below(skipped);
                // The ellipsis skips axes. The entries after the ellipsis index the last axes.
                begin.push(0);
                end.push(0);
                strides.push(1);
                continue;
            }
            2 if axis < dims.len() && g.min_size(&dims[axis]) > 0 && !ellipsis => {
                let least = g.min_size(&dims[axis]);
                let index = g.rng.range_inclusive(-least, least - 1);
                masks[4] |= bit;
                begin.push(index);
                end.push(index + 1);
                strides.push(1);
            }
            _ => {
                if g.rng.chance(1, 3) {
                    masks[0] |= bit;
                }
                if g.rng.chance(1, 3) {
                    masks[1] |= bit;
                }
                begin.push(near);
                end.push(far);
                strides.push(*g.rng.choose(&[1, 1, 1, 2, 3, -1, -1, -2]));
            }
        }
        axis += 1;
        if g.rng.chance(1, 4) {
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
    let props = props_of(g, &[x]);
    g.add_step(call, &[x], &params, props)
}

pub fn boolean_mask(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Any, 1..=5, |_| true)?;
    let dims = g.dims(x);
    let axis = g.rng.below(dims.len());
    let count = 1 + g.rng.below(dims.len() - axis);
    let mut sizes = Vec::new();
    for dim in &dims[axis..axis + count] {
        let size = g.size_like(dim)?;
        sizes.push(size);
    }
    let mask = g.source(DType::Bool, sizes, Content::SmallIntegers, false)?;
    let props = props_of(g, &[x]);
    g.add_step(Call::new("boolean_mask").attr("axis", axis as i64), &[x, mask], &[], props)
}

pub fn unique(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Any, 1..=1, |props| !props.rounding_varies)?;
    let dtype = *g.rng.choose(&[DType::I32, DType::I64]);
    let props = props_of(g, &[x]);
    g.add_step(Call::new(op).attr("out_idx", dtype), &[x], &[], props)
}
