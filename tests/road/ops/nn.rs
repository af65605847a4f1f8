//! Adds ops of neural networks to random graphs.

use shapeflow::DType;

use super::{accepts_props, computed_props, props_of};
use crate::element_props::{DTypeClass, ElementProps};
use crate::graph_generator::{GraphGenerator, ValueIndex};
use crate::graph_recipe::{Content, Size};
use crate::op_call::Call;

/// Adds an elementwise op of two operands of one shape.
pub fn same_shape(g: &mut GraphGenerator<'_>, call: Call, class: DTypeClass) -> Option<ValueIndex> {
    let x = g.pick(class, 0..=8, accepts_props(call.op))?;
    let (dtype, content) = (g.dtype(x), g.random_content());
    let y = g.source_like(x, dtype, content)?;
    let props = computed_props(g, call.op, &[x, y]);
    let operands = if g.rng.chance(1, 2) { [x, y] } else { [y, x] };
    g.add_step(call, &operands, &[], props)
}

/// Adds `betainc` of three operands of one shape.
pub fn betainc(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Float, 0..=5, |props| !props.rounding_varies)?;
    let mut operands = Vec::new();
    for _ in 0..2 {
        let (dtype, content) = (g.dtype(x), g.random_content());
        operands.push(g.source_like(x, dtype, content)?);
    }
    operands.push(x);
    let props = computed_props(g, "betainc", &operands);
    g.add_step(Call::new("betainc"), &operands, &[], props)
}

/// Adds `next_after`, which takes f32 and f64 only.
pub fn next_after(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Float, 0..=8, accepts_props("next_after"))?;
    if matches!(g.dtype(x), DType::F16 | DType::BF16) {
        return None;
    }
    let content = g.random_content();
    let y = g.broadcast_operand(x, accepts_props("next_after"), content)?;
    let props = computed_props(g, "next_after", &[x, y]);
    g.add_step(Call::new("next_after"), &[x, y], &[], props)
}

/// Adds a sum of one to four tensors of one shape.
pub fn add_n(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Number, 0..=8, |props| !props.rounding_varies)?;
    let mut operands = vec![x];
    for _ in 0..g.rng.below(4) {
        let (dtype, content) = (g.dtype(x), g.random_content());
        operands.push(g.source_like(x, dtype, content)?);
    }
    let props = computed_props(g, "add_n", &operands);
    g.add_step(Call::new("add_n"), &operands, &[], props)
}

/// Adds a cross product of vectors of 3 elements.
pub fn cross(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let dtype = DTypeClass::Number.sample(&mut g.rng);
    let mut sizes: Vec<Size> = (0..g.rng.below(3)).map(|_| g.random_size()).collect();
    sizes.push(Size::Known(3));
    let content = g.random_content();
    let x = g.source(dtype, sizes.clone(), content, false)?;
    let content = g.random_content();
    let y = g.source(dtype, sizes, content, false)?;
    let props = computed_props(g, "cross", &[x, y]);
    g.add_step(Call::new("cross"), &[x, y], &[], props)
}

/// Returns the properties of sums over `x`. Returns `None` if `x` is f16 or bf16 and the rounding of the sums varies
/// with the order of the additions.
fn summed_props(g: &GraphGenerator<'_>, x: ValueIndex) -> Option<ElementProps> {
    let mut props = props_of(g, &[x]);
    if !g.dtype(x).is_float() {
        return Some(props);
    }
    props.reduced = true;
    props.rounding_varies |= !props.small_integers;
    let half = matches!(g.dtype(x), DType::F16 | DType::BF16);
    props.small_integers = false;
    if half && props.rounding_varies { None } else { Some(props) }
}

pub fn l2_loss(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Float, 0..=8, |props| !props.extreme)?;
    let props = summed_props(g, x)?;
    g.add_step(Call::new("l2_loss"), &[x], &[], props)
}

/// Adds `bias_add` or `bias_add_grad`.
pub fn bias(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let is_gradient = op == "bias_add_grad";
    let x =
        g.pick(
            DTypeClass::Number,
            2..=5,
            |props| {
                if is_gradient { !props.extreme } else { !props.rounding_varies }
            },
        )?;
    let dims = g.dims(x);
    let channels_first = dims.len() > 2 && g.rng.chance(1, 2);
    let call = Call::new(op).attr("data_format", if channels_first { "NCHW" } else { "NHWC" });
    if is_gradient {
        let props = summed_props(g, x)?;
        return g.add_step(call, &[x], &[], props);
    }
    let channels = g.size_like(&dims[if channels_first { 1 } else { dims.len() - 1 }])?;
    let (dtype, content) = (g.dtype(x), Content::SmallIntegers);
    let bias = g.source(dtype, vec![channels], content, false)?;
    let props = computed_props(g, op, &[x, bias]);
    g.add_step(call, &[x, bias], &[], props)
}

/// Equations of `einsum`. Each axis has one character.
const EQUATIONS: &[&str] = &[
    "ij,jk->ik",
    "bij,bkj->bik",
    "bhi,ihk->bhk",
    "i,j->ij",
    "ij,j->i",
    "bi,bi->b",
    "ij,ij->ji",
    "ab,bc,cd->ad",
    "ii->i",
    "ij->j",
    "ij->iji",
    "abc->cab",
];

/// Adds `einsum` or `sum_of_products`, of new sources.
pub fn einsum(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let equation = *g.rng.choose(EQUATIONS);
    let (inputs, _) = equation.split_once("->").expect("an equation has an output");
    let dtype = DTypeClass::Number.sample(&mut g.rng);
    let mut sizes: Vec<(char, Size)> = Vec::new();
    let mut operands = Vec::new();
    for term in inputs.split(',') {
        let mut dims = Vec::new();
        for label in term.chars() {
            if !sizes.iter().any(|(other, _)| *other == label) {
                let size = g.random_size();
                sizes.push((label, size));
            }
            dims.extend(sizes.iter().filter(|(other, _)| *other == label).map(|(_, size)| *size));
        }
        operands.push(g.source(dtype, dims, Content::Range(0, 2), false)?);
    }
    let mut props = props_of(g, &operands);
    props.reduced |= dtype.is_float();
    props.zero_sign_unknown |= dtype.is_float();
    props.rounding_varies |= dtype.is_float();
    props.small_integers &= !dtype.is_float();
    if matches!(dtype, DType::F16 | DType::BF16) {
        return None;
    }
    g.add_step(Call::new(op).attr("equation", equation), &operands, &[], props)
}

/// Adds `softmax_cross_entropy` or `sparse_softmax_cross_entropy`.
pub fn cross_entropy(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Float, 2..=2, |props| !props.extreme)?;
    let dtype = g.dtype(x);
    if matches!(dtype, DType::F16 | DType::BF16) {
        return None;
    }
    let dims = g.dims(x);
    let labels = if op == "softmax_cross_entropy" {
        g.source_like(x, dtype, Content::Range(0, 1))?
    } else {
        let classes = g.min_size(&dims[1]);
        if classes < 1 {
            return None;
        }
        let (batch, dtype) = (g.size_like(&dims[0])?, DTypeClass::Index.sample(&mut g.rng));
        g.source(dtype, vec![batch], Content::Range(0, classes - 1), false)?
    };
    let props =
        ElementProps { reduced: true, rounding_varies: true, small_integers: false, ..props_of(g, &[x]) };
    g.add_step(Call::new(op), &[x, labels], &[], props)
}
