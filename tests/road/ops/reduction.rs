//! Adds reductions, `argmax`, `softmax` and `matmul` to random graphs.

use shapeflow::DType;

use super::{props_of, random_axes, random_axis};
use crate::element_props::{DTypeClass, ElementProps, has_fractions};
use crate::graph_generator::{GraphGenerator, ValueIndex};
use crate::graph_recipe::{Content, Size};
use crate::op_call::Call;

pub fn reduce(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let class = match op {
        "reduce_any" | "reduce_all" => DTypeClass::Bool,
        "reduce_logsumexp" | "reduce_variance" | "reduce_std" => DTypeClass::Float,
        "complex_prod" => DTypeClass::Complex,
        "reduce_sum" | "reduce_mean" | "reduce_prod" => DTypeClass::Numeric,
        _ => DTypeClass::Number,
    };
    let exact = matches!(op, "reduce_max" | "reduce_min" | "reduce_any" | "reduce_all");
    let x = g.pick(class, 0..=8, |props| exact || !props.extreme)?;
    let float = has_fractions(g.dtype(x));
    let half = matches!(g.dtype(x), DType::F16 | DType::BF16);
    let mut props = props_of(g, &[x]);
    // The largest or smallest element may be a zero of either sign.
    props.zero_sign_unknown |= float && exact;
    if float && !exact {
        // A product of small integers soon exceeds the precision of a float, so its rounding varies with the order of
        // the factors.
        let rounding_varies = !props.small_integers
            || matches!(
                op,
                "reduce_logsumexp"
                    | "reduce_mean"
                    | "reduce_prod"
                    | "complex_prod"
                    | "reduce_variance"
                    | "reduce_std"
            );
        if rounding_varies && half {
            return None;
        }
        props.reduced = true;
        props.rounding_varies |= rounding_varies;
        props.small_integers &= !rounding_varies && op == "reduce_sum";
    }
    let rank = g.rank(x);
    let keeps = g.rng.chance(1, 3);
    let mut call = Call::new(op).attr("keep_dims", keeps);
    let mut params = Vec::new();
    if g.rng.chance(5, 6) {
        let count = if g.rng.chance(1, 12) { 0 } else { 1 + g.rng.below(rank.max(1)) };
        let is_vector = rank == 0 || count != 1 || g.rng.chance(1, 2);
        call = g.structure_param(call, &mut params, "axis", is_vector, |g| {
            // The number of axes determines the rank of a result that does not keep them.
            let count = if keeps && is_vector { g.rng.below(rank + 1) } else { count };
            random_axes(g, rank, count)
        })?;
    }
    g.add_step(call, &[x], &params, props)
}

/// Adds `argmax` or `argmin`.
pub fn argmax_or_argmin(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Number, 1..=8, |props| !props.rounding_varies)?;
    let dims = g.dims(x);
    let fits: Vec<i64> =
        (0..dims.len()).filter(|axis| g.min_size(&dims[*axis]) >= 1).map(|axis| axis as i64).collect();
    if fits.is_empty() {
        return None;
    }
    let mut params = Vec::new();
    let mut call = Call::new(op);
    if g.rng.chance(1, 3) {
        call = call.attr("output_type", DType::I32);
    }
    let call = g.structure_param(call, &mut params, "axis", false, |g| {
        let axis = *g.rng.choose(&fits);
        vec![if g.rng.chance(1, 3) { axis - dims.len() as i64 } else { axis }]
    })?;
    let props = ElementProps { small_integers: true, ..props_of(g, &[x]) };
    g.add_step(call, &[x], &params, props)
}

pub fn softmax(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Float, 1..=8, |props| !props.extreme)?;
    if matches!(g.dtype(x), DType::F16 | DType::BF16) {
        return None;
    }
    let rank = g.rank(x);
    let mut params = Vec::new();
    let call = g.structure_param(Call::new(op), &mut params, "axis", false, |g| {
        let (_, axis) = random_axis(g, rank);
        vec![if g.rng.chance(1, 2) { -1 } else { axis }]
    })?;
    let props =
        ElementProps { reduced: true, rounding_varies: true, small_integers: false, ..props_of(g, &[x]) };
    g.add_step(call, &[x], &params, props)
}

pub fn matmul_to(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let [rows, inner, columns] = [(); 3].map(|()| g.random_size());
    let [left, right] = [(); 2].map(|()| *g.rng.choose(&[DType::I8, DType::U8]));
    let x = g.source(left, vec![rows, inner], Content::SmallIntegers, false)?;
    let y = g.source(right, vec![inner, columns], Content::SmallIntegers, false)?;
    let props = props_of(g, &[x, y]);
    g.add_step(Call::new("matmul_to").attr("dtype", DType::I32), &[x, y], &[], props)
}

pub fn matmul(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Numeric, 2..=5, |props| !props.extreme)?;
    let dtype = g.dtype(x);
    let mut props = props_of(g, &[x]);
    let float = has_fractions(dtype);
    if matches!(dtype, DType::F16 | DType::BF16) && !props.small_integers {
        return None;
    }
    let dims = g.dims(x);
    let (ta, tb) = (g.rng.chance(1, 3), g.rng.chance(1, 3));
    let inner = g.size_like(&dims[dims.len() - if ta { 2 } else { 1 }])?;
    let outer = g.random_size();
    let mut sizes = Vec::new();
    for dim in &dims[..dims.len() - 2] {
        match g.rng.below(4) {
            0 => sizes.push(Size::Known(1)),
            1 if sizes.is_empty() => {}
            _ => sizes.push(g.size_like(dim)?),
        }
    }
    sizes.extend(if tb { [outer, inner] } else { [inner, outer] });
    let content = if g.rng.chance(1, 3) { Content::Ordinary } else { Content::SmallIntegers };
    let y = g.source(dtype, sizes, content, false)?;
    let both = props_of(g, &[x, y]);
    props.small_integers = both.small_integers;
    if float {
        props.reduced = true;
        props.zero_sign_unknown = true;
        props.rounding_varies |= !both.small_integers;
        if matches!(dtype, DType::F16 | DType::BF16) && props.rounding_varies {
            return None;
        }
    }
    g.add_step(Call::new("matmul").attr("transpose_a", ta).attr("transpose_b", tb), &[x, y], &[], props)
}
