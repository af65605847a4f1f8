//! How each op is put into a random graph: operands that suit it, and parameters that it accepts.

mod creation;
mod elementwise;
mod list;
mod movement;
mod reduction;
mod slicing;

use shapeflow::DType;

use crate::graph_generator::{Grower, Id};
use crate::graph_recipe::Content;
use crate::op_call::Call;
use crate::placement_ops;
use crate::value_facts::{Class, Facts};
use creation::{about, fill, float_range, range};
use elementwise::{binary, cast, clip, select, select_v1, unary, unary_with};
pub use list::OPS;
use movement::{axes_of_one, broadcast_to, concat, pad, reshape, reverse, stack, tile, transpose};
use reduction::{arg, cumsum, matmul, reduce, softmax};
use slicing::{boolean_mask, gather, one_hot, slice, split, strided_slice, unique};

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

pub type Grown = Option<Id>;

pub fn tame(op: &str) -> impl Fn(&Facts) -> bool + use<> {
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

pub fn computed(g: &Grower<'_>, op: &str, ids: &[Id]) -> Facts {
    let mut facts = facts_of(g, ids);
    facts.whole &= WHOLE.contains(&op);
    facts
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

/// A list of different axes, some counted from the end.
pub fn axes(g: &mut Grower<'_>, rank: usize, count: usize) -> Vec<i64> {
    let mut axes: Vec<i64> = g.draws.shuffled(rank).into_iter().take(count).map(|axis| axis as i64).collect();
    for axis in &mut axes {
        if g.draws.chance(1, 3) {
            *axis -= rank as i64;
        }
    }
    axes
}

pub fn one_axis(g: &mut Grower<'_>, rank: usize) -> (usize, i64) {
    let axis = g.draws.below(rank);
    (axis, if g.draws.chance(1, 3) { axis as i64 - rank as i64 } else { axis as i64 })
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
        _ => placement_ops::grow(g, op),
    }
}
