//! Adds each op to a random graph, with operands and parameters that it accepts.

mod creation;
mod elementwise;
mod list;
mod movement;
mod ragged;
mod reduction;
pub mod scatter_and_blocks;
mod slicing;

use shapeflow::DType;

use crate::element_props::{DTypeClass, ElementProps};
use crate::graph_generator::{GraphGenerator, ValueIndex};
use crate::graph_recipe::Content;
use crate::op_call::Call;
use creation::{fill, float_range, range, shape_query};
use elementwise::{binary, cast, clip, select, select_v1, unary, unary_with};
pub use list::OPS;
use movement::{broadcast_to, concat, expand_dims_or_squeeze, pad, reshape, reverse, stack, tile, transpose};
use reduction::{argmax_or_argmin, cumsum, matmul, reduce, softmax};
use slicing::{boolean_mask, gather, one_hot, slice, split, strided_slice, unique};

/// Continuous ops. A small change of an operand changes the result of such an op by a similar amount, so its operands
/// may differ between backends by rounding.
const CONTINUOUS: &[&str] = &[
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

/// Elementwise ops whose results are small integers if their operands are.
const INTEGRAL: &[&str] = &[
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

/// Returns whether a value with some properties may be an operand of an op, as a predicate on the properties: only a
/// continuous op takes order-dependent values, and no op whose result depends on the sign of zero takes a zero of
/// unknown sign.
pub fn accepts_props(op: &str) -> impl Fn(&ElementProps) -> bool + use<> {
    let continuous = CONTINUOUS.contains(&op);
    let depends_on_zero_sign =
        matches!(op, "div" | "legacy_div" | "floordiv" | "floormod" | "reciprocal" | "rsqrt" | "pow");
    move |props| (continuous || !props.order_dependent) && !(depends_on_zero_sign && props.zero_sign_unknown)
}

/// Returns the properties of a result whose elements are elements of these values.
pub fn props_of(g: &GraphGenerator<'_>, ids: &[ValueIndex]) -> ElementProps {
    let mut all = ElementProps { integral: true, ..ElementProps::default() };
    for id in ids {
        let props = g.props[id.0];
        all.integral &= props.integral || !g.dtype(*id).is_float();
        all.reduced |= props.reduced;
        all.order_dependent |= props.order_dependent;
        all.extreme |= props.extreme;
        all.zero_sign_unknown |= props.zero_sign_unknown;
    }
    all
}

/// Returns the properties of an elementwise op's result.
pub fn computed_props(g: &GraphGenerator<'_>, op: &str, ids: &[ValueIndex]) -> ElementProps {
    let mut props = props_of(g, ids);
    props.integral &= INTEGRAL.contains(&op);
    props
}

/// Returns whether an op's results are small integers if its operands are small integers.
pub fn keeps_integral(op: &str) -> bool {
    INTEGRAL.contains(&op)
        || !CONTINUOUS.contains(&op)
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

/// Draws distinct axes; some count from the end.
pub fn random_axes(g: &mut GraphGenerator<'_>, rank: usize, count: usize) -> Vec<i64> {
    let mut axes: Vec<i64> =
        g.rng.permutation(rank).into_iter().take(count).map(|axis| axis as i64).collect();
    for axis in &mut axes {
        if g.rng.chance(1, 3) {
            *axis -= rank as i64;
        }
    }
    axes
}

/// Draws an axis. Returns the axis counted from the start, and the value of the parameter, which may count from the
/// end.
pub fn random_axis(g: &mut GraphGenerator<'_>, rank: usize) -> (usize, i64) {
    let axis = g.rng.below(rank);
    (axis, if g.rng.chance(1, 3) { axis as i64 - rank as i64 } else { axis as i64 })
}

/// Adds an op with suitable operands and parameters. Returns its first output, or `None` if no suitable ones are found.
pub fn add_op(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    match op {
        "abs" | "neg" | "sign" => unary(g, op, DTypeClass::Signed),
        "square" | "relu" | "relu6" | "round" => unary(g, op, DTypeClass::Number),
        "identity" | "zeros_like" | "ones_like" => unary(g, op, DTypeClass::Any),
        "logical_not" => unary(g, op, DTypeClass::Bool),
        "bitwise_not" => unary(g, op, DTypeClass::Bits),
        "acos" | "acosh" | "asin" | "asinh" | "atan" | "atanh" | "cbrt" | "cosh" | "erfc" | "exp2"
        | "log2" | "sinh" | "ceil" | "cos" | "elu" | "erf" | "exp" | "expm1" | "floor" | "log" | "log1p"
        | "reciprocal" | "rsqrt" | "selu" | "sigmoid" | "silu" | "sin" | "softplus" | "softsign" | "sqrt"
        | "tan" | "tanh" => unary(g, op, DTypeClass::Float),
        "leaky_relu" => unary_with(g, Call::new(op).attr("alpha", 0.25), DTypeClass::Float),
        "gelu" => {
            let approximate = g.rng.chance(1, 2);
            unary_with(g, Call::new(op).attr("approximate", approximate), DTypeClass::Float)
        }
        "check_numerics" => {
            let x = g.pick(DTypeClass::Float, 0..=8, |props| !props.order_dependent)?;
            let props = props_of(g, &[x]);
            g.add_step(Call::new(op).attr("message", "finite"), &[x], &[], props)
        }
        "checked" => {
            let x = g.pick(DTypeClass::Any, 0..=8, |_| true)?;
            let condition = g.scalar(DType::Bool, Content::SmallIntegers)?;
            let props = props_of(g, &[x]);
            g.add_step(Call::new(op).attr("message", "it must"), &[x, condition], &[], props)
        }
        "add" | "sub" | "mul" | "maximum" | "minimum" | "squared_difference" | "legacy_div" => {
            binary(g, op, DTypeClass::Number)
        }
        "floordiv" | "floormod" => binary(g, op, DTypeClass::Number),
        "div" | "atan2" => binary(g, op, DTypeClass::Float),
        "truncatediv" | "truncatemod" => binary(g, op, DTypeClass::Int),
        "pow" => binary(g, op, DTypeClass::Number),
        "equal" | "not_equal" => binary(g, op, DTypeClass::Any),
        "less" | "less_equal" | "greater" | "greater_equal" => binary(g, op, DTypeClass::Number),
        "logical_and" | "logical_or" | "logical_xor" => binary(g, op, DTypeClass::Bool),
        "bitwise_and" | "bitwise_or" | "bitwise_xor" => binary(g, op, DTypeClass::Bits),
        "select" => select(g),
        "select_v1" => select_v1(g),
        "clip_by_value" => clip(g),
        "cast" => cast(g),
        "argmax" | "argmin" => argmax_or_argmin(g, op),
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
        "expand_dims" | "squeeze" => expand_dims_or_squeeze(g, op),
        "transpose" => transpose(g),
        "reverse" => reverse(g),
        "tile" => tile(g),
        "broadcast_to" => broadcast_to(g),
        "fill" => fill(g),
        "range" => range(g),
        "float_range" => float_range(g),
        "shape" | "size" | "rank" => shape_query(g, op),
        "unique" | "unique_with_counts" => unique(g, op),
        "boolean_mask" => boolean_mask(g),
        "where_indices" => unary(g, op, DTypeClass::Any),
        _ if op.starts_with("ragged_") => ragged::add_op(g, op),
        _ if op.starts_with("reduce_") => reduce(g, op),
        _ => scatter_and_blocks::add_op(g, op),
    }
}
