//! Adds random-number ops to random graphs.

use shapeflow::DType;

use super::props_of;
use crate::element_props::{DTypeClass, ElementProps};
use crate::graph_generator::{GraphGenerator, ValueIndex};
use crate::graph_recipe::{Content, Size};
use crate::op_call::Call;

/// Adds an op with suitable operands. Returns the first output of the op, or `None` if there are no suitable operands.
pub fn add_op(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let props = ElementProps { extreme: true, ..ElementProps::default() };
    if op == "random_algorithm" {
        return g.add_step(Call::new(op), &[], &[], props);
    }
    if op == "random_index_shuffle" {
        let dtypes = [DType::I32, DType::I64, DType::U32, DType::U64];
        let (dtype, of_seed) = (*g.rng.choose(&dtypes), *g.rng.choose(&dtypes));
        let count = g.random_size();
        let index = g.source(dtype, vec![count], Content::Range(0, 9), false)?;
        let seed = g.source(of_seed, vec![Size::Known(3)], Content::Range(0, 99), false)?;
        let limit = g.scalar(dtype, Content::Range(9, 40))?;
        return g.add_step(Call::new(op), &[index, seed, limit], &[], ElementProps::INTEGERS);
    }
    if op == "random_crop_with_state" {
        let dtype = DTypeClass::Number.sample(&mut g.rng);
        let (height, width) = (1 + g.rng.below(4) as i64, 1 + g.rng.below(4) as i64);
        let sizes = vec![Size::Known(height), Size::Known(width), Size::Known(2)];
        let x = g.source(dtype, sizes, Content::SmallIntegers, false)?;
        let size = [g.rng.range_inclusive(0, height), g.rng.range_inclusive(0, width)];
        let (state, mut params) = (state(g)?, Vec::new());
        let call = g.param(Call::new(op), &mut params, "size", &size, true)?;
        let props = props_of(g, &[x]);
        return g.add_step(call, &[&[x][..], &state].concat(), &params, props);
    }
    if op.starts_with("sample_distorted_bounding_box") {
        let dtype = *g.rng.choose(&[DType::U8, DType::I8, DType::I16, DType::I32, DType::I64]);
        let sizes = g.source(dtype, vec![Size::Known(3)], Content::Fixed(vec![20, 30, 3]), false)?;
        let boxes = vec![Size::Known(1), g.random_size(), Size::Known(4)];
        let boxes = g.source(DType::F32, boxes, Content::Range(0, 1), false)?;
        let mut operands = vec![sizes, boxes, g.scalar(DType::F32, Content::Range(0, 1))?];
        match op.ends_with("_with_state") {
            true => operands.extend(state(g)?),
            false => {
                operands.push(g.source(DType::I64, vec![Size::Known(2)], Content::Range(-9, 9), false)?)
            }
        }
        let call = Call::new(op).attr("use_image_if_no_bounding_boxes", true);
        return g.add_step(call, &operands, &[], props);
    }
    if op == "sample_candidates_with_state" || op == "accidental_hits" {
        let rows = g.random_size();
        let truth = g.source(DType::I64, vec![rows, Size::Known(2)], Content::Range(0, 4), false)?;
        let call = Call::new(op).attr("num_true", 2);
        if op == "accidental_hits" {
            let count = g.random_size();
            let samples = g.source(DType::I64, vec![count], Content::Range(0, 9), false)?;
            return g.add_step(call, &[truth, samples], &[], props);
        }
        let name = *g.rng.choose(&["uniform", "log_uniform", "learned", "all", "fixed"]);
        let call = call.attr("distribution", name).attr("num_sampled", 5).attr("range_max", 8);
        let call = call.attr("unique", g.rng.chance(1, 2));
        let call = call.attr("unigrams", &[1.0, 2.0, 0.5, 3.0, 1.0, 4.0, 1.0, 2.0][..]);
        let state = state(g)?;
        return g.add_step(call, &[&[truth][..], &state].concat(), &[], props);
    }
    if op == "random_shuffle_with_state" {
        let x = g.pick(DTypeClass::Any, 0..=3, |_| true)?;
        let (state, props) = (state(g)?, props_of(g, &[x]));
        return g.add_step(Call::new(op), &[&[x][..], &state].concat(), &[], props);
    }
    let mut data = Vec::new();
    if op.ends_with("_with_state") {
        data.extend(state(g)?);
    } else {
        let dtype = *g.rng.choose(&[DType::I32, DType::I64]);
        data.push(g.source(dtype, vec![Size::Known(2)], Content::Range(-9, 9), false)?);
    }
    if op.starts_with("random_state") {
        return g.add_step(Call::new(op), &data, &[], props);
    }
    if op.starts_with("random_categorical") {
        let dtype = DTypeClass::Float.sample(&mut g.rng);
        let (rows, classes) = (g.random_size(), Size::Known(g.rng.range_inclusive(1, 4)));
        data.insert(0, g.source(dtype, vec![rows, classes], Content::SmallIntegers, false)?);
        let count = g.rng.range_inclusive(0, 3);
        let mut params = Vec::new();
        let call = g.param(Call::new(op), &mut params, "num_samples", &[count], false)?;
        return g.add_step(call, &data, &params, props);
    }
    if op.starts_with("random_gamma") || op.starts_with("random_poisson") || op == "random_binomial" {
        return distribution(g, op, data);
    }
    if op.starts_with("random_parameterized_truncated_normal") {
        return truncated(g, op, data);
    }
    let integers = [DType::I32, DType::I64, DType::U32, DType::U64];
    let floats = [DType::F16, DType::BF16, DType::F32, DType::F64];
    let mut call = Call::new(op);
    if op.starts_with("random_int") {
        let dtype = *g.rng.choose(&integers);
        for bound in [Content::Range(0, 4), Content::Range(5, 9)] {
            data.push(g.scalar(dtype, bound)?);
        }
    } else {
        let dtypes = if op.starts_with("random_bits") { &integers } else { &floats };
        call = call.attr("dtype", *g.rng.choose(dtypes));
    }
    let sizes: Vec<i64> = (0..g.rng.below(3)).map(|_| g.rng.range_inclusive(0, 5)).collect();
    let mut params = Vec::new();
    let call = g.param(call, &mut params, "shape", &sizes, true)?;
    g.add_step(call, &data, &params, props)
}

/// Adds a key, a counter and the number of the algorithm.
fn state(g: &mut GraphGenerator<'_>) -> Option<Vec<ValueIndex>> {
    let key = g.source(DType::U64, vec![Size::Known(1)], Content::Range(0, 99), false)?;
    let counter = g.source(DType::U64, vec![Size::Known(2)], Content::Range(0, 99), false)?;
    Some(vec![key, counter, g.scalar(DType::I32, Content::Range(1, 1))?])
}

/// Adds points of a Sobol sequence.
pub(super) fn sobol(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let dtype = *g.rng.choose(&[DType::F32, DType::F64]);
    let mut params = Vec::new();
    let mut call = Call::new("sobol").attr("dtype", dtype);
    for (name, greatest) in [("dim", 5), ("num_results", 6), ("skip", 40)] {
        let value = g.rng.range_inclusive(0, greatest);
        call = g.param(call, &mut params, name, &[value], false)?;
    }
    g.add_step(call, &[], &params, ElementProps::default())
}

/// Adds samples of a distribution with parameters. `data` has the seed or the state.
fn distribution(
    g: &mut GraphGenerator<'_>,
    op: &'static str,
    mut data: Vec<ValueIndex>,
) -> Option<ValueIndex> {
    let size = g.rng.range_inclusive(0, 3);
    let floats: &[DType] = match op {
        "random_binomial" | "random_poisson" | "random_poisson_with_state" => {
            &[DType::F16, DType::F32, DType::F64]
        }
        _ => &[DType::F16, DType::BF16, DType::F32, DType::F64],
    };
    let dtype = *g.rng.choose(floats);
    data.push(g.source(dtype, vec![Size::Known(size)], Content::Range(0, 20), false)?);
    let mut call = Call::new(op);
    if op == "random_binomial" {
        data.push(g.source(dtype, vec![Size::Known(size)], Content::Range(0, 1), false)?);
    }
    if !op.starts_with("random_gamma") {
        let counts = [DType::F16, DType::F32, DType::F64, DType::I32, DType::I64];
        call = call.attr("dtype", *g.rng.choose(&counts));
    }
    let rows = g.rng.range_inclusive(0, 4);
    let mut params = Vec::new();
    let call = g.param(call, &mut params, "shape", &[rows, size], true)?;
    g.add_step(call, &data, &params, ElementProps { extreme: true, ..ElementProps::default() })
}

/// Adds normal numbers between bounds. `data` has the seed or the state.
fn truncated(g: &mut GraphGenerator<'_>, op: &'static str, mut data: Vec<ValueIndex>) -> Option<ValueIndex> {
    let dtype = *g.rng.choose(&[DType::F16, DType::F32, DType::F64]);
    let size = g.rng.range_inclusive(0, 3);
    data.push(g.source(dtype, vec![Size::Known(size)], Content::Range(-9, 9), false)?);
    for content in [Content::Range(1, 4), Content::Range(-9, 0), Content::Range(1, 9)] {
        data.push(g.scalar(dtype, content)?);
    }
    let rows = g.rng.range_inclusive(0, 4);
    let sizes = if op.ends_with("_with_state") { [size, rows] } else { [rows, size] };
    let mut params = Vec::new();
    let call = g.param(Call::new(op), &mut params, "shape", &sizes, true)?;
    g.add_step(call, &data, &params, ElementProps { extreme: true, ..ElementProps::default() })
}
