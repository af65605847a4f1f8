//! Adds sorts, searches, counts and reductions of selected rows to random graphs.

use shapeflow::DType;

use super::{props_of, random_axis};
use crate::element_props::{DTypeClass, ElementProps};
use crate::graph_generator::{GraphGenerator, ValueIndex};
use crate::graph_recipe::{Content, Size};
use crate::op_call::Call;

/// Adds an op with suitable operands and parameters. Returns the first output of the op, or `None` if there are no
/// suitable operands or parameters.
pub fn add_op(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    match op {
        "sort" | "argsort" => sort(g, op),
        "approx_top_k" => approx_top_k(g),
        "top_k" | "nth_element" => select(g, op),
        "searchsorted" => searchsorted(g),
        "in_top_k" => in_top_k(g),
        "isotonic_regression" => isotonic_regression(g),
        "nearest_neighbors" => nearest_neighbors(g),
        "bucketize" | "bucketize_few" | "bucketize_many" => bucketize(g, op),
        "histogram_fixed_width" => histogram(g),
        "dense_count_sparse_output" | "ragged_count_sparse_output" | "sparse_count_sparse_output" => {
            count_sparse(g, op)
        }
        "bincount" | "dense_bincount" | "ragged_bincount" | "sparse_bincount" => bincount(g, op),
        _ => sparse_segment(g, op),
    }
}

fn sort(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Any, 1..=5, |props| !props.rounding_varies)?;
    let rank = g.rank(x);
    let call = Call::new(op).attr("descending", g.rng.chance(1, 2));
    let mut params = Vec::new();
    let call = g.structure_param(call, &mut params, "axis", false, |g| vec![random_axis(g, rank).1])?;
    let props = ElementProps { small_integers: false, ..props_of(g, &[x]) };
    g.add_step(call, &[x], &params, props)
}

fn approx_top_k(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let narrow = |dtype: DType| matches!(dtype, DType::F16 | DType::BF16 | DType::F32);
    let x = g.pick(DTypeClass::Float, 1..=5, |props| !props.rounding_varies)?;
    if !narrow(g.dtype(x)) {
        return None;
    }
    let last = g.dims(x).pop()?;
    let least = g.min_size(&last);
    let k = g.rng.below(least as usize + 1) as i64;
    let props = ElementProps { small_integers: false, ..props_of(g, &[x]) };
    g.add_step(Call::new("approx_top_k").attr("k", k), &[x], &[], props)
}

fn select(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Number, 1..=5, |props| !props.rounding_varies)?;
    let last = g.dims(x).pop()?;
    let least = g.min_size(&last);
    let is_top = op == "top_k";
    if least < 1 && !is_top {
        return None;
    }
    let (name, number) = if is_top { ("k", least + 1) } else { ("n", least) };
    let number = g.rng.below(number as usize) as i64;
    let call = match is_top {
        true => Call::new(op).attr("index_type", *g.rng.choose(&[DType::I16, DType::I32, DType::I64])),
        false => Call::new(op).attr("reverse", g.rng.chance(1, 2)),
    };
    let mut params = Vec::new();
    let call = g.param(call, &mut params, name, &[number], false)?;
    let props = ElementProps { small_integers: false, ..props_of(g, &[x]) };
    g.add_step(call, &[x], &params, props)
}

fn isotonic_regression(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let (dtype, result) = *g.rng.choose(&[
        (DType::I8, DType::F32),
        (DType::I16, DType::F32),
        (DType::I32, DType::F64),
        (DType::I64, DType::F64),
        (DType::F16, DType::F16),
        (DType::BF16, DType::BF16),
        (DType::F32, DType::F32),
        (DType::F64, DType::F64),
    ]);
    let sizes = vec![g.random_size(), g.random_size()];
    let x = g.source(dtype, sizes, Content::SmallIntegers, false)?;
    let props = ElementProps { small_integers: false, ..props_of(g, &[x]) };
    g.add_step(Call::new("isotonic_regression").attr("output_dtype", result), &[x], &[], props)
}

fn nearest_neighbors(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let (points, centers) = (g.random_size(), g.random_size());
    let coordinates = Size::Known(1 + g.rng.below(3) as i64);
    // Products and sums of small integers are exact, so that all backends find the same neighbors.
    let x = g.source(DType::F32, vec![points, coordinates], Content::Range(-5, 5), false)?;
    let y = g.source(DType::F32, vec![centers, coordinates], Content::Range(-5, 5), false)?;
    let mut params = Vec::new();
    let k = g.rng.below(4) as i64;
    let call = g.param(Call::new("nearest_neighbors"), &mut params, "k", &[k], false)?;
    g.add_step(call, &[x, y], &params, ElementProps::INTEGERS)
}

fn searchsorted(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let dtype = DTypeClass::Number.sample(&mut g.rng);
    let (rows, count) = (g.rng.below(4) as i64, g.rng.below(9) as i64);
    let sorted: Vec<i64> = (0..rows).flat_map(|_| 0..count).map(|i| i * i / 3).collect();
    let sorted =
        g.source(dtype, vec![Size::Known(rows), Size::Known(count)], Content::Fixed(sorted), false)?;
    let columns = g.random_size();
    let values = g.source(dtype, vec![Size::Known(rows), columns], Content::Range(0, 20), false)?;
    let call = Call::new("searchsorted").attr("side", *g.rng.choose(&["left", "right"]));
    let index = DTypeClass::Index.sample(&mut g.rng);
    g.add_step(call.attr("out_type", index), &[sorted, values], &[], ElementProps::INTEGERS)
}

fn in_top_k(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let (rows, classes) = (g.random_size(), g.random_size());
    let content = g.random_content();
    let x = g.source(DType::F32, vec![rows, classes], content, false)?;
    let index = DTypeClass::Index.sample(&mut g.rng);
    let targets = g.source(index, vec![rows], Content::Range(-1, 5), false)?;
    let mut params = Vec::new();
    let k = g.rng.below(5) as i64;
    let call = g.param(Call::new("in_top_k"), &mut params, "k", &[k], false)?;
    g.add_step(call, &[x, targets], &params, ElementProps::INTEGERS)
}

/// Draws a dtype of counted or bucketed elements.
fn counted_dtype(g: &mut GraphGenerator<'_>) -> DType {
    *g.rng.choose(&[DType::I32, DType::I64, DType::F32, DType::F64])
}

fn bucketize(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let (dtype, content) = (counted_dtype(g), g.random_content());
    let sizes = (0..g.rng.below(4)).map(|_| g.random_size()).collect();
    let x = g.source(dtype, sizes, content, false)?;
    let count = if g.rng.chance(1, 8) { 40 } else { g.rng.below(6) };
    let boundaries: Vec<f64> = (0..count).map(|i| i as f64 * 1.5 - 3.0).collect();
    g.add_step(Call::new(op).attr("boundaries", &boundaries[..]), &[x], &[], ElementProps::INTEGERS)
}

fn histogram(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let dtype = counted_dtype(g);
    let sizes = (0..g.rng.below(3)).map(|_| g.random_size()).collect();
    let x = g.source(dtype, sizes, Content::SmallIntegers, false)?;
    let low = g.rng.range_inclusive(-3, 0);
    let range = g.source(dtype, vec![Size::Known(2)], Content::Fixed(vec![low, low + 5]), false)?;
    let mut params = Vec::new();
    let bins = g.rng.range_inclusive(1, 9);
    let call = g.param(Call::new("histogram_fixed_width"), &mut params, "nbins", &[bins], false)?;
    let index = DTypeClass::Index.sample(&mut g.rng);
    g.add_step(call.attr("dtype", index), &[x, range], &params, ElementProps::INTEGERS)
}

fn bincount(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let index = DTypeClass::Index.sample(&mut g.rng);
    let (rows, columns) = (g.rng.below(4) as i64, g.rng.below(6) as i64);
    let sizes = match op {
        "dense_bincount" if g.rng.chance(2, 3) => vec![Size::Known(rows), Size::Known(columns)],
        _ => vec![Size::Known(rows * columns)],
    };
    let low = -i64::from(g.rng.chance(1, 20));
    let x = g.source(index, sizes.clone(), Content::Range(low, 9), false)?;
    let weights_dtype = counted_dtype(g);
    let sizes = if g.rng.chance(1, 2) { sizes } else { vec![Size::Known(0)] };
    let weights = g.source(weights_dtype, sizes, Content::SmallIntegers, false)?;
    let (mut data, mut params) = (vec![x, weights], Vec::new());
    let mut call = Call::new(op);
    if op != "bincount" {
        call = call.attr("binary_output", g.rng.chance(1, 3));
    }
    if op == "ragged_bincount" {
        let splits: Vec<i64> = (0..=rows).map(|row| row * columns).collect();
        let count = Size::Known(rows + 1);
        data.insert(0, g.source(DType::I64, vec![count], Content::Fixed(splits), false)?);
    }
    if op == "sparse_bincount" {
        let indices = (0..rows * columns).flat_map(|i| [i / columns, i % columns]).collect();
        let sizes = vec![Size::Known(rows * columns), Size::Known(2)];
        data.insert(0, g.source(DType::I64, sizes, Content::Fixed(indices), false)?);
        call = g.param(call, &mut params, "dense_shape", &[rows, columns], true)?;
    }
    let size = g.rng.below(8) as i64;
    call = g.param(call, &mut params, "size", &[size], false)?;
    g.add_step(call, &data, &params, ElementProps::INTEGERS)
}

fn count_sparse(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let index = DTypeClass::Index.sample(&mut g.rng);
    let (rows, columns) = (g.rng.below(4) as i64, g.rng.below(4) as i64);
    let sizes = match op {
        "dense_count_sparse_output" => vec![Size::Known(rows), Size::Known(columns)],
        _ => vec![Size::Known(rows * columns)],
    };
    let x = g.source(index, sizes.clone(), Content::Range(-1, 9), false)?;
    let weights_dtype = counted_dtype(g);
    let sizes = if g.rng.chance(1, 2) { sizes } else { vec![Size::Known(0)] };
    let mut data = vec![x];
    if op == "ragged_count_sparse_output" {
        let splits: Vec<i64> = (0..=rows).map(|row| row * columns).collect();
        let count = Size::Known(rows + 1);
        data.insert(0, g.source(DType::I64, vec![count], Content::Fixed(splits), false)?);
    }
    if op == "sparse_count_sparse_output" {
        let indices = (0..rows * columns).flat_map(|i| [i / columns, i % columns]).collect();
        let sizes = vec![Size::Known(rows * columns), Size::Known(2)];
        data.insert(0, g.source(DType::I64, sizes, Content::Fixed(indices), false)?);
        let shape = Content::Fixed(vec![rows, columns]);
        data.push(g.source(DType::I64, vec![Size::Known(2)], shape, false)?);
    }
    data.push(g.source(weights_dtype, sizes, Content::SmallIntegers, false)?);
    let most = g.rng.range_inclusive(-1, 8);
    let call = Call::new(op).attr("binary_output", g.rng.chance(1, 3)).attr("maxlength", most);
    g.add_step(call, &data, &[], ElementProps::INTEGERS)
}

fn sparse_segment(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let is_gradient = op.contains("_grad");
    let x = g.pick(DTypeClass::Float, 1..=4, |props| !props.rounding_varies && !props.extreme)?;
    let rows = g.min_size(&g.dims(x)[0]);
    if rows < 1 {
        return None;
    }
    let count = g.rng.below(9) as i64;
    let segments = if is_gradient { rows } else { 5 };
    let mut ids: Vec<i64> = (0..count).map(|_| g.rng.below(segments as usize) as i64).collect();
    ids.sort_unstable();
    let dtypes = [0; 2].map(|_| DTypeClass::Index.sample(&mut g.rng));
    let length = vec![Size::Known(count)];
    let limit = if is_gradient { 6 } else { rows };
    let past = i64::from(g.rng.chance(1, 25));
    let indices = g.source(dtypes[0], length.clone(), Content::Range(0, limit - 1 + past), false)?;
    let ids = g.source(dtypes[1], length, Content::Fixed(ids), false)?;
    let mut params = Vec::new();
    let name = match op {
        _ if op.ends_with("_grad_rows") => Some(("dense_output_dim0", 6)),
        _ if is_gradient => Some(("output_dim0", 6)),
        _ if op.ends_with("_with") => Some(("num_segments", segments)),
        _ => None,
    };
    let mut call = Call::new(op);
    if let Some((name, number)) = name {
        call = g.param(call, &mut params, name, &[number], false)?;
    }
    let props = ElementProps { small_integers: false, ..props_of(g, &[x]) };
    g.add_step(call, &[x, indices, ids], &params, props)
}
