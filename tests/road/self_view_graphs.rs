//! Random graphs in which a value meets other views of itself: transposed, reversed, rotated, shifted, gathered,
//! reduced or repeated. Their ops are those that share kernels.

use shapeflow::{DType, Dim};

use crate::element_props::{DTypeClass, ElementProps, has_fractions};
use crate::graph_generator::{GraphGenerator, ValueIndex, dims_attr};
use crate::graph_recipe::{Content, Size};
use crate::op_call::Call;
use crate::ops::{accepts_props, add_op, computed_props, props_of, random_axis};

/// The ops of the steps that do not call [`combine_views`], each with its relative frequency.
const WEIGHTS: &[(&str, usize)] = &[
    ("add", 4),
    ("argmax", 1),
    ("broadcast_to", 1),
    ("cast", 3),
    ("concat", 3),
    ("cumsum", 2),
    ("exp", 1),
    ("expand_dims", 3),
    ("gather", 2),
    ("greater", 1),
    ("matmul", 1),
    ("maximum", 3),
    ("mul", 3),
    ("neg", 2),
    ("pad", 2),
    ("reduce_max", 3),
    ("reduce_mean", 1),
    ("reduce_min", 1),
    ("reduce_sum", 5),
    ("reshape", 4),
    ("reverse", 2),
    ("select", 2),
    ("slice", 2),
    ("softmax", 2),
    ("split", 1),
    ("square", 2),
    ("squeeze", 1),
    ("stack", 2),
    ("strided_slice", 3),
    ("tile", 1),
    ("transpose", 3),
];

/// The elementwise ops that combine two views, each with its relative frequency.
const BINARY: &[(&str, usize)] =
    &[("add", 4), ("maximum", 2), ("minimum", 1), ("mul", 3), ("squared_difference", 1), ("sub", 3)];

/// Adds one or two sources whose axes often have one size.
pub fn add_sources(g: &mut GraphGenerator<'_>) {
    let sizes = [g.random_size(), g.random_size()];
    for _ in 0..1 + g.rng.below(2) {
        let rank = 1 + g.rng.below(g.max_rank.min(4));
        let sizes: Vec<Size> = (0..rank).map(|_| sizes[usize::from(g.rng.chance(1, 4))]).collect();
        let dtype = match g.rng.chance(2, 3) {
            true => *g.rng.choose(&[DType::F32, DType::F64, DType::I32, DType::I64]),
            false => DTypeClass::Number.sample(&mut g.rng),
        };
        let content = if g.rng.chance(1, 6) { Content::Ordinary } else { Content::SmallIntegers };
        g.source(dtype, sizes, content, false);
    }
}

/// Adds a random op. Returns its first output, or `None` if no suitable operands and parameters are found.
pub fn add_random_op(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    if g.rng.chance(1, 2) {
        return combine_views(g);
    }
    let op = g.rng.choose_weighted(WEIGHTS);
    add_op(g, op)
}

/// Adds an op on two or three views of one value.
fn combine_views(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Number, 1..=5, |props| !props.extreme)?;
    let a = if g.rng.chance(1, 2) { x } else { views_of(g, x)? };
    let b = views_of(g, x)?;
    match g.rng.below(12) {
        0 if g.props[a.0].small_integers && g.props[b.0].small_integers => {
            let op = *g.rng.choose(&["less", "greater_equal", "equal"]);
            if ![a, b].iter().all(|id| accepts_props(op)(&g.props[id.0])) {
                return None;
            }
            let condition = g.add_step(Call::new(op), &[a, b], &[], ElementProps::INTEGERS)?;
            let c = views_of(g, x)?;
            let props = computed_props(g, "select", &[condition, a, c]);
            g.add_step(Call::new("select"), &[condition, a, c], &[], props)
        }
        1 => {
            let (axis, given) = random_axis(g, g.rank(a));
            if g.rank(b) != g.rank(a) || (0..g.rank(a)).any(|k| k != axis && g.dims(a)[k] != g.dims(b)[k]) {
                return None;
            }
            let props = props_of(g, &[a, b]);
            g.add_step(Call::new("concat").attr("axis", given), &[a, b], &[], props)
        }
        2 => product(g, a, b),
        _ => {
            let op = g.rng.choose_weighted(BINARY);
            let props = computed_props(g, op, &[a, b]);
            g.add_step(Call::new(op), &[a, b], &[], props)
        }
    }
}

/// Adds a matrix product of two views, transposed so that their sizes fit.
fn product(g: &mut GraphGenerator<'_>, a: ValueIndex, b: ValueIndex) -> Option<ValueIndex> {
    let props = props_of(g, &[a, b]);
    if g.rank(a) < 2 || g.rank(b) < 2 || !props.small_integers {
        return None;
    }
    let inner = |dims: &[Dim], last: bool| dims[dims.len() - if last { 1 } else { 2 }].clone();
    let (left, right) = (g.dims(a), g.dims(b));
    let fits: Vec<(bool, bool)> = [(false, false), (false, true), (true, false), (true, true)]
        .into_iter()
        .filter(|(ta, tb)| inner(&left, !ta) == inner(&right, *tb))
        .collect();
    if fits.is_empty() {
        return None;
    }
    let (ta, tb) = *g.rng.choose(&fits);
    let float = has_fractions(g.dtype(a));
    let props = ElementProps {
        reduced: props.reduced || float,
        zero_sign_unknown: props.zero_sign_unknown || float,
        ..props
    };
    g.add_step(Call::new("matmul").attr("transpose_a", ta).attr("transpose_b", tb), &[a, b], &[], props)
}

/// Adds a chain of one to three views of a value, and returns the last view.
fn views_of(g: &mut GraphGenerator<'_>, x: ValueIndex) -> Option<ValueIndex> {
    let mut view = x;
    for _ in 0..1 + g.rng.below(3) {
        if let Some(next) = view_of(g, view) {
            view = next;
        }
    }
    (view.0 != x.0).then_some(view)
}

/// Adds a view of a value. The sizes of the view broadcast with the sizes of the value.
fn view_of(g: &mut GraphGenerator<'_>, x: ValueIndex) -> Option<ValueIndex> {
    let dims = g.dims(x);
    let rank = dims.len();
    if rank == 0 {
        return None;
    }
    let props = props_of(g, &[x]);
    let (axis, given) = random_axis(g, rank);
    let smallest = g.min_size(&dims[axis]);
    let along = |chosen: i64, others: i64| -> Vec<i64> {
        (0..rank).map(|k| if k == axis { chosen } else { others }).collect()
    };
    match g.rng.below(12) {
        0..=2 => g.turned(x),
        3 => g.add_step(Call::new("reverse").attr("axis", vec![given]), &[x], &[], props),
        4 => {
            let shift = g.rng.range_inclusive(-3, 3);
            g.add_step(Call::new("roll").attr("shift", shift).attr("axis", given), &[x], &[], props)
        }
        // A reduction over one axis.
        5 | 6 => {
            let op = *g.rng.choose(&["reduce_sum", "reduce_sum", "reduce_max", "reduce_min"]);
            let float = has_fractions(g.dtype(x));
            let sums = op == "reduce_sum" && float;
            if sums && !props.small_integers && matches!(g.dtype(x), DType::F16 | DType::BF16) {
                return None;
            }
            let props = ElementProps {
                reduced: props.reduced || sums,
                rounding_varies: props.rounding_varies || sums && !props.small_integers,
                zero_sign_unknown: props.zero_sign_unknown || float,
                ..props
            };
            let call = Call::new(op).attr("axis", vec![given]).attr("keep_dims", true);
            g.add_step(call, &[x], &[], props)
        }
        // The elements move by one: the first place gets a zero.
        7 if smallest >= 1 => {
            let mut paddings = vec![0i64; 2 * rank];
            paddings[2 * axis] = 1;
            let padded = g.add_step(Call::new("pad").attr("paddings", paddings), &[x], &[], props)?;
            let call = Call::new("strided_slice")
                .attr("begin", along(0, 0))
                .attr("end", along(-1, 0))
                .attr("strides", along(1, 1))
                .attr("begin_mask", (1i64 << rank) - 1)
                .attr("end_mask", ((1i64 << rank) - 1) & !(1 << axis));
            g.add_step(call, &[padded], &[], props)
        }
        // The first elements move to the end.
        8 if smallest >= 1 => {
            let all = (1i64 << rank) - 1;
            let part = |begin: i64, end: i64, open_begin: i64, open_end: i64| {
                Call::new("strided_slice")
                    .attr("begin", along(begin, 0))
                    .attr("end", along(end, 0))
                    .attr("strides", along(1, 1))
                    .attr("begin_mask", open_begin)
                    .attr("end_mask", open_end)
            };
            let count = g.rng.range_inclusive(1, smallest.min(3));
            let rest = g.add_step(part(count, 0, all & !(1 << axis), all), &[x], &[], props)?;
            let first = g.add_step(part(0, count, all, all & !(1 << axis)), &[x], &[], props)?;
            g.add_step(Call::new("concat").attr("axis", given), &[rest, first], &[], props)
        }
        // The slices along an axis, in the order of the largest elements of each row of another axis.
        9 if props.small_integers && accepts_props("argsort")(&props) => {
            let axes: Vec<i64> = (0..rank).filter(|k| *k != axis).map(|k| k as i64).collect();
            let keys = Call::new("reduce_max").attr("axis", axes).attr("keep_dims", false);
            let key_props = ElementProps { zero_sign_unknown: true, ..props };
            let keys = g.add_step(keys, &[x], &[], key_props)?;
            let order =
                g.add_step(Call::new("argsort").attr("axis", -1), &[keys], &[], ElementProps::INTEGERS)?;
            g.add_step(Call::new("gather").attr("axis", given).attr("batch_dims", 0), &[x, order], &[], props)
        }
        // All elements as one row, reversed, and back.
        10 => {
            let flat = g.add_step(Call::new("reshape").attr("shape", vec![-1i64]), &[x], &[], props)?;
            let flat = match g.rng.chance(1, 2) {
                true => g.add_step(Call::new("reverse").attr("axis", vec![0i64]), &[flat], &[], props)?,
                false => flat,
            };
            let shape = dims_attr(&dims)?;
            g.add_step(Call::new("reshape").attr("shape", shape), &[flat], &[], props)
        }
        _ => g.add_step(
            Call::new("cumsum").attr("axis", given),
            &[x],
            &[],
            ElementProps {
                reduced: props.reduced || has_fractions(g.dtype(x)),
                rounding_varies: props.rounding_varies || has_fractions(g.dtype(x)) && !props.small_integers,
                ..props
            },
        ),
    }
}
