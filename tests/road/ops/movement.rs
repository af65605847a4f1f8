//! Adds ops that join, pad, repeat, reorder or reshape whole operands to random graphs.

use shapeflow::{DType, Dim};

use super::{props_of, random_axes, random_axis};
use crate::element_props::DTypeClass;
use crate::graph_generator::{GraphGenerator, ValueIndex, dims_attr};
use crate::graph_recipe::{Content, Size};
use crate::op_call::Call;

pub fn concat(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Any, 1..=6, |_| true)?;
    let (dims, dtype) = (g.dims(x), g.dtype(x));
    let (axis, given) = random_axis(g, dims.len());
    let mut parts = vec![x];
    for _ in 0..g.rng.below(4) {
        let fits: Vec<usize> = (0..g.values.len())
            .filter(|&index| {
                let other = g.dims(ValueIndex(index));
                g.dtype(ValueIndex(index)) == dtype
                    && other.len() == dims.len()
                    && (0..dims.len()).all(|k| k == axis || other[k] == dims[k])
            })
            .collect();
        if g.rng.chance(2, 3) && !fits.is_empty() {
            let index = *g.rng.choose(&fits);
            parts.push(ValueIndex(index));
            continue;
        }
        let mut sizes = Vec::new();
        for (dim_axis, dim) in dims.iter().enumerate() {
            let size = if dim_axis == axis { g.random_size() } else { g.size_like(dim)? };
            sizes.push(size);
        }
        let content = g.random_content();
        parts.push(g.source(dtype, sizes, content, false)?);
    }
    let order = g.rng.permutation(parts.len());
    let parts: Vec<ValueIndex> = order.into_iter().map(|index| parts[index]).collect();
    let fits = concat_axes(g, &parts);
    let mut params = Vec::new();
    let call = g.structure_param(Call::new("concat"), &mut params, "axis", false, |g| {
        let axis = if fits.is_empty() { given } else { *g.rng.choose(&fits) };
        vec![if axis >= 0 && g.rng.chance(1, 3) { axis - dims.len() as i64 } else { axis }]
    })?;
    let props = props_of(g, &parts);
    g.add_step(call, &parts, &params, props)
}

/// Returns the axes along which values can be joined in every run.
fn concat_axes(g: &GraphGenerator<'_>, parts: &[ValueIndex]) -> Vec<i64> {
    let sizes: Vec<Vec<Option<Vec<i64>>>> =
        parts.iter().map(|part| g.dims(*part).iter().map(|dim| g.sizes_of(dim)).collect()).collect();
    let rank = sizes[0].len();
    let agree = |axis: usize| sizes[0][axis].is_some() && sizes.iter().all(|all| all[axis] == sizes[0][axis]);
    (0..rank).filter(|axis| (0..rank).all(|k| k == *axis || agree(k))).map(|axis| axis as i64).collect()
}

pub fn stack(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Any, 0..=5, |_| true)?;
    let (dims, dtype) = (g.dims(x), g.dtype(x));
    let fits: Vec<usize> = (0..g.values.len())
        .filter(|&index| {
            g.dtype(ValueIndex(index)) == dtype
                && g.values[index].shape().rank().is_some()
                && g.dims(ValueIndex(index)) == dims
        })
        .collect();
    let mut parts = vec![x];
    for _ in 0..g.rng.below(4) {
        let content = g.random_content();
        let part = if g.rng.chance(2, 3) {
            ValueIndex(*g.rng.choose(&fits))
        } else {
            g.source_like(x, dtype, content)?
        };
        parts.push(part);
    }
    let rank = dims.len() as i64;
    let axis = g.rng.range_inclusive(-rank - 1, rank);
    let props = props_of(g, &parts);
    g.add_step(Call::new("stack").attr("axis", axis), &parts, &[], props)
}

pub fn pad(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Any, 1..=5, |_| true)?;
    let mut list = Vec::new();
    let symmetric = g.rng.chance(1, 2);
    for dim in g.dims(x) {
        // No padding reflects an axis of size 0.
        if op == "mirror_pad" && !symmetric && g.min_size(&dim) < 1 {
            return None;
        }
        let max_padding = match op {
            "mirror_pad" => (g.min_size(&dim) - i64::from(!symmetric)).clamp(0, 3),
            _ => 3,
        };
        for _ in 0..2 {
            list.push(if g.rng.chance(1, 2) { 0 } else { g.rng.below(max_padding as usize + 1) as i64 });
        }
    }
    let mut call = Call::new(op);
    let mut data = vec![x];
    if op == "mirror_pad" {
        call = call.attr("mode", if symmetric { "SYMMETRIC" } else { "REFLECT" });
    }
    if op == "pad_with" {
        let dtype = g.dtype(x);
        data.push(g.scalar(dtype, Content::SmallIntegers)?);
    }
    let mut params = Vec::new();
    let call = g.param(call, &mut params, "paddings", &list, true)?;
    let props = props_of(g, &data);
    g.add_step(call, &data, &params, props)
}

pub fn reshape(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Any, 0..=6, |_| true)?;
    let mut dims = g.dims(x);
    for _ in 0..1 + g.rng.below(3) {
        match g.rng.below(4) {
            // The result has two adjacent axes merged.
            0 | 1 if dims.len() > 1 => {
                let axis = g.rng.below(dims.len() - 1);
                let joined = dims[axis].checked_mul(&dims[axis + 1]).ok()?;
                dims.splice(axis..axis + 2, [joined]);
            }
            2 if !dims.is_empty() => {
                let axis = g.rng.below(dims.len());
                let sizes = g.sizes_of(&dims[axis])?;
                let fits: Vec<i64> =
                    (2..=6).filter(|part| sizes.iter().all(|size| size % part == 0)).collect();
                if let (Some(known), false) = (dims[axis].as_known(), fits.is_empty()) {
                    let part = *g.rng.choose(&fits);
                    dims.splice(axis..axis + 1, [Dim::known(known / part), Dim::known(part)]);
                } else if !fits.is_empty() {
                    // -1 stands for the size of the axis divided by `part`.
                    let part = *g.rng.choose(&fits);
                    dims.splice(axis..axis + 1, [Dim::known(-1), Dim::known(part)]);
                    break;
                }
            }
            _ => {
                let axis = g.rng.below(dims.len() + 1);
                dims.insert(axis, Dim::known(1));
            }
        }
    }
    let inferred = dims.iter().any(|dim| *dim == -1);
    if !inferred && !dims.is_empty() && g.rng.chance(1, 3) {
        let axis = g.rng.below(dims.len());
        dims[axis] = Dim::known(-1);
    }
    let props = props_of(g, &[x]);
    if !dims.iter().any(|dim| *dim == -1) || dims.iter().all(Dim::is_known) {
        let mut params = Vec::new();
        let call = g.dims_param(Call::new("reshape"), &mut params, "shape", &dims)?;
        return g.add_step(call, &[x], &params, props);
    }
    let elements = dims_attr(&dims)?;
    g.add_step(Call::new("reshape").attr("shape", elements), &[x], &[], props)
}

pub fn expand_dims_or_squeeze(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Any, 0..=6, |_| true)?;
    let dims = g.dims(x);
    let props = props_of(g, &[x]);
    if op == "expand_dims" {
        let rank = dims.len() as i64;
        let mut params = Vec::new();
        let call = g.structure_param(Call::new(op), &mut params, "axis", false, |g| {
            vec![g.rng.range_inclusive(-rank - 1, rank)]
        })?;
        return g.add_step(call, &[x], &params, props);
    }
    let ones: Vec<usize> = (0..dims.len()).filter(|axis| dims[*axis] == 1).collect();
    if ones.is_empty() {
        return None;
    }
    if g.rng.chance(1, 4) && dims.iter().all(Dim::is_known) {
        return g.add_step(Call::new(op), &[x], &[], props);
    }
    let chosen: Vec<i64> = ones.into_iter().filter(|_| g.rng.chance(2, 3)).map(|axis| axis as i64).collect();
    if chosen.is_empty() {
        return None;
    }
    g.add_step(Call::new(op).attr("axis", chosen), &[x], &[], props)
}

/// Adds `transpose` or `conjugate_transpose`.
pub fn transpose(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Any, 0..=6, |_| true)?;
    let rank = g.rank(x);
    let mut params = Vec::new();
    let call = if g.rng.chance(1, 6) {
        Call::new(op)
    } else {
        g.structure_param(Call::new(op), &mut params, "perm", true, |g| random_axes(g, rank, rank))?
    };
    let props = props_of(g, &[x]);
    g.add_step(call, &[x], &params, props)
}

pub fn reverse(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Any, 1..=6, |_| true)?;
    let rank = g.rank(x);
    let mut params = Vec::new();
    let call = g.structure_param(Call::new("reverse"), &mut params, "axis", true, |g| {
        let count = 1 + g.rng.below(rank);
        random_axes(g, rank, count)
    })?;
    let props = props_of(g, &[x]);
    g.add_step(call, &[x], &params, props)
}

/// Adds `op`: `reverse_by_flags`, which reverses the axes whose flag is true, or `flags_of_axes`, an op into which
/// `reverse_by_flags` expands.
pub fn reverse_by_flags(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Any, 0..=6, |_| true)?;
    let (rank, is_constant) = (g.rank(x), g.rng.chance(1, 2));
    let flags = (0..rank).map(|_| i64::from(g.rng.chance(1, 2))).collect();
    let flags = g.source(DType::Bool, vec![Size::Known(rank as i64)], Content::Fixed(flags), is_constant)?;
    let props = props_of(g, &[x]);
    g.add_step(Call::new(op), &[x, flags], &[], props)
}

pub fn tile(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Any, 0..=5, |_| true)?;
    let list: Vec<i64> = (0..g.rank(x)).map(|_| *g.rng.choose(&[1, 1, 2, 3, 0])).collect();
    let mut params = Vec::new();
    let call = g.param(Call::new("tile"), &mut params, "multiples", &list, true)?;
    let props = props_of(g, &[x]);
    g.add_step(call, &[x], &params, props)
}

pub fn broadcast_to(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Any, 0..=5, |_| true)?;
    let mut dims = g.dims(x);
    for dim in &mut dims {
        if *dim == 1 && g.rng.chance(2, 3) {
            *dim = Dim::known(g.rng.below(5) as i64);
        }
    }
    for _ in 0..g.rng.below(3) {
        dims.insert(0, Dim::known(g.rng.below(4) as i64));
    }
    let mut params = Vec::new();
    let call = g.dims_param(Call::new("broadcast_to"), &mut params, "shape", &dims)?;
    let props = props_of(g, &[x]);
    g.add_step(call, &[x], &params, props)
}
