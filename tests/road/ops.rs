//! How each op is put into a random graph: operands that suit it, and parameters that it accepts.

use shapeflow::{DType, Dim};

use crate::call::Call;
use crate::grow::{Class, Facts, Grower, Id, attribute};
use crate::placed;
use crate::recipe::{Content, Size};

/// Every op, and how often it stands in a graph.
pub const OPS: &[(&str, usize)] = &[
    ("abs", 3),
    ("acos", 1),
    ("acosh", 1),
    ("add", 8),
    ("argmax", 2),
    ("argmin", 2),
    ("asin", 1),
    ("asinh", 1),
    ("atan", 1),
    ("atan2", 1),
    ("atanh", 1),
    ("batch_to_space_nd", 3),
    ("bitwise_and", 2),
    ("bitwise_not", 2),
    ("bitwise_or", 2),
    ("bitwise_xor", 2),
    ("boolean_mask", 1),
    ("broadcast_to", 3),
    ("cast", 6),
    ("cbrt", 1),
    ("ceil", 2),
    ("check_numerics", 1),
    ("checked", 1),
    ("clip_by_value", 2),
    ("concat", 6),
    ("cos", 2),
    ("cosh", 1),
    ("cumsum", 1),
    ("depth_to_space", 3),
    ("div", 4),
    ("dynamic_partition", 1),
    ("dynamic_stitch", 1),
    ("elu", 1),
    ("equal", 2),
    ("erf", 2),
    ("erfc", 1),
    ("exp", 3),
    ("exp2", 1),
    ("expand_dims", 4),
    ("expm1", 2),
    ("extract_image_patches", 3),
    ("fill", 1),
    ("float_range", 1),
    ("floor", 2),
    ("floordiv", 3),
    ("floormod", 3),
    ("gather", 5),
    ("gather_nd", 3),
    ("gelu", 1),
    ("greater", 2),
    ("greater_equal", 2),
    ("identity", 1),
    ("leaky_relu", 1),
    ("legacy_div", 1),
    ("less", 2),
    ("less_equal", 2),
    ("log", 2),
    ("log1p", 2),
    ("log2", 1),
    ("log_softmax", 2),
    ("logical_and", 2),
    ("logical_not", 2),
    ("logical_or", 2),
    ("logical_xor", 2),
    ("matmul", 4),
    ("maximum", 4),
    ("minimum", 4),
    ("mirror_pad", 3),
    ("mul", 8),
    ("neg", 3),
    ("not_equal", 2),
    ("one_hot", 3),
    ("ones_like", 1),
    ("pad", 4),
    ("pad_with", 4),
    ("pow", 3),
    ("range", 2),
    ("rank", 1),
    ("reciprocal", 1),
    ("reduce_all", 3),
    ("reduce_any", 3),
    ("reduce_logsumexp", 2),
    ("reduce_max", 5),
    ("reduce_mean", 4),
    ("reduce_min", 4),
    ("reduce_prod", 2),
    ("reduce_sum", 7),
    ("relu", 4),
    ("relu6", 1),
    ("reshape", 8),
    ("reverse", 4),
    ("reverse_sequence", 3),
    ("round", 2),
    ("rsqrt", 2),
    ("scatter_nd", 2),
    ("segment_max", 1),
    ("segment_mean", 1),
    ("segment_min", 1),
    ("segment_prod", 1),
    ("segment_sum", 1),
    ("select", 5),
    ("select_v1", 1),
    ("selu", 1),
    ("sequence_mask", 2),
    ("shape", 1),
    ("sigmoid", 2),
    ("sign", 2),
    ("silu", 1),
    ("sin", 2),
    ("sinh", 1),
    ("size", 1),
    ("slice", 5),
    ("softmax", 4),
    ("softplus", 1),
    ("softsign", 1),
    ("space_to_batch_nd", 3),
    ("space_to_depth", 3),
    ("split", 3),
    ("split_sizes", 3),
    ("sqrt", 2),
    ("square", 3),
    ("squared_difference", 3),
    ("squeeze", 3),
    ("stack", 4),
    ("strided_slice", 6),
    ("sub", 5),
    ("tan", 2),
    ("tanh", 3),
    ("tensor_scatter_nd_add", 1),
    ("tensor_scatter_nd_max", 1),
    ("tensor_scatter_nd_min", 1),
    ("tensor_scatter_nd_sub", 1),
    ("tensor_scatter_nd_update", 1),
    ("tile", 4),
    ("transpose", 8),
    ("truncatediv", 2),
    ("truncatemod", 2),
    ("unique", 1),
    ("unique_with_counts", 1),
    ("unsorted_segment_max", 1),
    ("unsorted_segment_min", 1),
    ("unsorted_segment_prod", 1),
    ("unsorted_segment_sum", 1),
    ("unstack", 2),
    ("where_indices", 1),
    ("zeros_like", 1),
];

/// Ops of one operand whose results follow small changes of it evenly.
const TAME: &[&str] = &[
    "neg",
    "abs",
    "relu",
    "relu6",
    "identity",
    "tanh",
    "sigmoid",
    "sin",
    "cos",
    "softsign",
    "leaky_relu",
    "elu",
    "silu",
    "gelu",
    "softplus",
    "square",
    "erf",
    "add",
    "sub",
    "mul",
    "maximum",
    "minimum",
    "squared_difference",
    "clip_by_value",
    "select",
    "select_v1",
];

/// Ops that give whole numbers for whole numbers.
const WHOLE: &[&str] = &[
    "neg",
    "abs",
    "relu",
    "relu6",
    "identity",
    "square",
    "sign",
    "floor",
    "ceil",
    "round",
    "add",
    "sub",
    "mul",
    "maximum",
    "minimum",
    "squared_difference",
    "clip_by_value",
    "select",
    "select_v1",
    "floormod",
    "floordiv",
    "zeros_like",
    "ones_like",
];

type Grown = Option<Id>;

fn tame(op: &str) -> impl Fn(&Facts) -> bool + use<> {
    let tame = TAME.contains(&op);
    let divides =
        matches!(op, "div" | "legacy_div" | "floordiv" | "floormod" | "reciprocal" | "rsqrt" | "pow");
    move |facts| (tame || !facts.loose) && !(divides && facts.unsigned_zero)
}

/// What may be said of an op that moves these values.
pub fn facts_of(g: &Grower<'_>, ids: &[Id]) -> Facts {
    let mut all = Facts { whole: true, ..Facts::default() };
    for id in ids {
        let facts = g.facts[id.0];
        all.whole &= facts.whole || !g.dtype(*id).is_float();
        all.folded |= facts.folded;
        all.loose |= facts.loose;
        all.wild |= facts.wild;
        all.unsigned_zero |= facts.unsigned_zero;
    }
    all
}

fn computed(g: &Grower<'_>, op: &str, ids: &[Id]) -> Facts {
    let mut facts = facts_of(g, ids);
    facts.whole &= WHOLE.contains(&op);
    facts
}

/// Adds the op with operands and parameters that suit it, if such are found.
pub fn grow(g: &mut Grower<'_>, op: &'static str) -> Grown {
    match op {
        "abs" | "neg" | "sign" => unary(g, op, Class::Signed),
        "square" | "relu" | "relu6" | "round" => unary(g, op, Class::Number),
        "identity" | "zeros_like" | "ones_like" => unary(g, op, Class::Any),
        "logical_not" => unary(g, op, Class::Bool),
        "bitwise_not" => unary(g, op, Class::Bits),
        "acos" | "acosh" | "asin" | "asinh" | "atan" | "atanh" | "cbrt" | "cosh" | "erfc" | "exp2"
        | "log2" | "sinh" | "ceil" | "cos" | "elu" | "erf" | "exp" | "expm1" | "floor" | "log" | "log1p"
        | "reciprocal" | "rsqrt" | "selu" | "sigmoid" | "silu" | "sin" | "softplus" | "softsign" | "sqrt"
        | "tan" | "tanh" => unary(g, op, Class::Float),
        "leaky_relu" => unary_with(g, Call::new(op).attr("alpha", 0.25), Class::Float),
        "gelu" => {
            let approximate = g.draws.chance(1, 2);
            unary_with(g, Call::new(op).attr("approximate", approximate), Class::Float)
        }
        "check_numerics" => {
            let x = g.pick(Class::Float, 0..=8, |facts| !facts.loose)?;
            let facts = facts_of(g, &[x]);
            g.add(Call::new(op).attr("message", "finite"), &[x], &[], facts)
        }
        "checked" => {
            let x = g.pick(Class::Any, 0..=8, |_| true)?;
            let condition = g.scalar(DType::Bool, Content::Whole)?;
            let facts = facts_of(g, &[x]);
            g.add(Call::new(op).attr("message", "it must"), &[x, condition], &[], facts)
        }
        "add" | "sub" | "mul" | "maximum" | "minimum" | "squared_difference" | "legacy_div" => {
            binary(g, op, Class::Number)
        }
        "floordiv" | "floormod" => binary(g, op, Class::Number),
        "div" | "atan2" => binary(g, op, Class::Float),
        "truncatediv" | "truncatemod" => binary(g, op, Class::Int),
        "pow" => binary(g, op, Class::Number),
        "equal" | "not_equal" => binary(g, op, Class::Any),
        "less" | "less_equal" | "greater" | "greater_equal" => binary(g, op, Class::Number),
        "logical_and" | "logical_or" | "logical_xor" => binary(g, op, Class::Bool),
        "bitwise_and" | "bitwise_or" | "bitwise_xor" => binary(g, op, Class::Bits),
        "select" => select(g),
        "select_v1" => select_v1(g),
        "clip_by_value" => clip(g),
        "cast" => cast(g),
        "argmax" | "argmin" => arg(g, op),
        "softmax" | "log_softmax" => softmax(g, op),
        "cumsum" => cumsum(g),
        "matmul" => matmul(g),
        "gather" => gather(g),
        "one_hot" => one_hot(g),
        "concat" => concat(g),
        "stack" => stack(g),
        "split" | "split_sizes" | "unstack" => split(g, op),
        "slice" => slice(g),
        "strided_slice" => strided_slice(g),
        "pad" | "pad_with" | "mirror_pad" => pad(g, op),
        "reshape" => reshape(g),
        "expand_dims" | "squeeze" => axes_of_one(g, op),
        "transpose" => transpose(g),
        "reverse" => reverse(g),
        "tile" => tile(g),
        "broadcast_to" => broadcast_to(g),
        "fill" => fill(g),
        "range" => range(g),
        "float_range" => float_range(g),
        "shape" | "size" | "rank" => about(g, op),
        "unique" | "unique_with_counts" => unique(g, op),
        "boolean_mask" => boolean_mask(g),
        "where_indices" => unary(g, op, Class::Any),
        _ if op.starts_with("reduce_") => reduce(g, op),
        _ => placed::grow(g, op),
    }
}

fn unary(g: &mut Grower<'_>, op: &'static str, class: Class) -> Grown {
    unary_with(g, Call::new(op), class)
}

fn unary_with(g: &mut Grower<'_>, call: Call, class: Class) -> Grown {
    let low = if call.op == "where_indices" { 1 } else { 0 };
    let x = g.pick(class, low..=8, tame(call.op))?;
    let facts = computed(g, call.op, &[x]);
    g.add(call, &[x], &[], facts)
}

fn binary(g: &mut Grower<'_>, op: &'static str, class: Class) -> Grown {
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

fn select(g: &mut Grower<'_>) -> Grown {
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

fn select_v1(g: &mut Grower<'_>) -> Grown {
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

fn clip(g: &mut Grower<'_>) -> Grown {
    let x = g.pick(Class::Number, 0..=8, |_| true)?;
    let dtype = g.dtype(x);
    let low = g.scalar(dtype, Content::Within(0, 1))?;
    let high = g.scalar(dtype, Content::Within(1, 3))?;
    let facts = computed(g, "clip_by_value", &[x, low, high]);
    g.add(Call::new("clip_by_value"), &[x, low, high], &[], facts)
}

fn cast(g: &mut Grower<'_>) -> Grown {
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

/// A list of different axes, some counted from the end.
fn axes(g: &mut Grower<'_>, rank: usize, count: usize) -> Vec<i64> {
    let mut axes: Vec<i64> = g.draws.shuffled(rank).into_iter().take(count).map(|axis| axis as i64).collect();
    for axis in &mut axes {
        if g.draws.chance(1, 3) {
            *axis -= rank as i64;
        }
    }
    axes
}

fn one_axis(g: &mut Grower<'_>, rank: usize) -> (usize, i64) {
    let axis = g.draws.below(rank);
    (axis, if g.draws.chance(1, 3) { axis as i64 - rank as i64 } else { axis as i64 })
}

fn reduce(g: &mut Grower<'_>, op: &'static str) -> Grown {
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

fn arg(g: &mut Grower<'_>, op: &'static str) -> Grown {
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

fn softmax(g: &mut Grower<'_>, op: &'static str) -> Grown {
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

fn cumsum(g: &mut Grower<'_>) -> Grown {
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

fn matmul(g: &mut Grower<'_>) -> Grown {
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

fn gather(g: &mut Grower<'_>) -> Grown {
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

fn one_hot(g: &mut Grower<'_>) -> Grown {
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

fn concat(g: &mut Grower<'_>) -> Grown {
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

fn stack(g: &mut Grower<'_>) -> Grown {
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

fn split(g: &mut Grower<'_>, op: &'static str) -> Grown {
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

fn slice(g: &mut Grower<'_>) -> Grown {
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

fn strided_slice(g: &mut Grower<'_>) -> Grown {
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
                let left = dims.len() - axis;
                axis += g.draws.below(left + 1);
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

fn pad(g: &mut Grower<'_>, op: &'static str) -> Grown {
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

fn reshape(g: &mut Grower<'_>) -> Grown {
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

fn axes_of_one(g: &mut Grower<'_>, op: &'static str) -> Grown {
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

fn transpose(g: &mut Grower<'_>) -> Grown {
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

fn reverse(g: &mut Grower<'_>) -> Grown {
    let x = g.pick(Class::Any, 1..=6, |_| true)?;
    let rank = g.rank(x);
    let count = 1 + g.draws.below(rank);
    let list = axes(g, rank, count);
    let mut params = Vec::new();
    let call = g.param(Call::new("reverse"), &mut params, "axis", &list, true)?;
    let facts = facts_of(g, &[x]);
    g.add(call, &[x], &params, facts)
}

fn tile(g: &mut Grower<'_>) -> Grown {
    let x = g.pick(Class::Any, 0..=5, |_| true)?;
    let list: Vec<i64> = (0..g.rank(x)).map(|_| *g.draws.pick(&[1, 1, 2, 3, 0])).collect();
    let mut params = Vec::new();
    let call = g.param(Call::new("tile"), &mut params, "multiples", &list, true)?;
    let facts = facts_of(g, &[x]);
    g.add(call, &[x], &params, facts)
}

fn broadcast_to(g: &mut Grower<'_>) -> Grown {
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

fn fill(g: &mut Grower<'_>) -> Grown {
    let dims = match g.pick(Class::Any, 0..=4, |_| true) {
        Some(like) if g.draws.chance(1, 2) => g.dims(like),
        _ => (0..g.draws.below(4)).map(|_| Dim::known(g.draws.below(6) as i64)).collect(),
    };
    let dtype = Class::Any.draw(&mut g.draws);
    let content = g.content();
    let value = g.scalar(dtype, content)?;
    let mut params = Vec::new();
    let call = g.dims_param(Call::new("fill"), &mut params, "dims", &dims)?;
    let facts = facts_of(g, &[value]);
    g.add(call, &[value], &params, facts)
}

fn range(g: &mut Grower<'_>) -> Grown {
    let delta: i64 = *g.draws.pick(&[1, 1, 2, 3, -1, -2]);
    let start = g.draws.within(-9, 9);
    let limit = start + delta.signum() * g.draws.below(20) as i64;
    let facts = Facts { whole: true, ..Facts::default() };
    let mut call = Call::new("range").attr("dtype", *g.draws.pick(&[DType::I32, DType::I64]));
    let mut params = Vec::new();
    if g.draws.chance(g.fed, 1000) {
        // Fed bounds have one dtype.
        let dtype = *g.draws.pick(&[DType::I32, DType::I64]);
        call = Call::new("range");
        for (name, bound) in [("start", start), ("limit", limit), ("delta", delta)] {
            params.push(g.source(dtype, Vec::new(), Content::Given(vec![bound]), false)?);
            call.params.push(name);
        }
    } else {
        for (name, bound) in [("start", start), ("limit", limit), ("delta", delta)] {
            call = call.attr(name, bound);
        }
    }
    g.add(call, &[], &params, facts)
}

fn float_range(g: &mut Grower<'_>) -> Grown {
    let dtype = *g.draws.pick(&[DType::F32, DType::F64]);
    let start = g.draws.within(-9, 9);
    let limit = start + g.draws.below(20) as i64;
    let delta = g.draws.within(1, 4);
    let mut data = Vec::new();
    for bound in [start, limit, delta] {
        let constant = g.draws.chance(1, 2);
        data.push(g.source(dtype, Vec::new(), Content::Given(vec![bound]), constant)?);
    }
    g.add(Call::new("float_range"), &data, &[], Facts { whole: true, ..Facts::default() })
}

fn about(g: &mut Grower<'_>, op: &'static str) -> Grown {
    let x = g.pick(Class::Any, 0..=6, |_| true)?;
    let dtype = *g.draws.pick(&[DType::I32, DType::I64]);
    g.add(Call::new(op).attr("out_type", dtype), &[x], &[], Facts { whole: true, ..Facts::default() })
}

fn unique(g: &mut Grower<'_>, op: &'static str) -> Grown {
    let x = g.pick(Class::Any, 1..=1, |facts| !facts.loose)?;
    let dtype = *g.draws.pick(&[DType::I32, DType::I64]);
    let facts = facts_of(g, &[x]);
    g.add(Call::new(op).attr("out_idx", dtype), &[x], &[], facts)
}

fn boolean_mask(g: &mut Grower<'_>) -> Grown {
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

/// Whether an op gives whole numbers for whole numbers, so that sums of them are exact.
pub fn keeps_whole(op: &str) -> bool {
    WHOLE.contains(&op)
        || !TAME.contains(&op)
            && matches!(
                op,
                "reduce_sum"
                    | "reduce_max"
                    | "reduce_min"
                    | "matmul"
                    | "reshape"
                    | "transpose"
                    | "concat"
                    | "stack"
                    | "split"
                    | "split_sizes"
                    | "unstack"
                    | "slice"
                    | "strided_slice"
                    | "pad"
                    | "pad_with"
                    | "mirror_pad"
                    | "expand_dims"
                    | "squeeze"
                    | "reverse"
                    | "tile"
                    | "broadcast_to"
                    | "gather"
                    | "one_hot"
                    | "fill"
            )
}
