//! Adds ops on quantized tensors to random graphs.

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
        "quantize" | "quantize_in_range" => quantize(g, op),
        "quantize_and_dequantize_grad" => gradient(g),
        "quantized_concat" => concat(g),
        "quantized_avg_pool" | "quantized_max_pool" => pool(g, op),
        "quantized_relu" | "quantized_relu6" => clamp(g, op),
        "quantized_zero" => {
            let ends = range(g, DType::F32, &[])?;
            let call = Call::new(op).attr("dtype", *g.rng.choose(&DTYPES));
            g.add_step(call, &ends, &[], ElementProps::INTEGERS)
        }
        "quantized_add" | "quantized_bias_add" | "quantized_conv_2d" | "quantized_matmul"
        | "quantized_mul" | "quantized_sum" => pair(g, op),
        _ => of_quantized(g, op),
    }
}

const DTYPES: [DType; 5] = [DType::QI8, DType::QU8, DType::QI16, DType::QU16, DType::QI32];

/// Adds two sources of these sizes: the minimum and the maximum of a range.
fn range(g: &mut GraphGenerator<'_>, dtype: DType, sizes: &[Size]) -> Option<[ValueIndex; 2]> {
    let min = g.source(dtype, sizes.to_vec(), Content::Range(-3, 0), false)?;
    let max = g.source(dtype, sizes.to_vec(), Content::Range(1, 3), false)?;
    Some([min, max])
}

/// Adds attribute `mode` to the call. If the mode allows a range for each index of an axis, sometimes also adds
/// attribute `axis`. Returns the call, and the sizes of its operands with the minima and the maxima of the ranges.
fn mode(g: &mut GraphGenerator<'_>, call: Call, x: ValueIndex) -> (Call, Vec<Size>) {
    let mode = *g.rng.choose(&["MIN_COMBINED", "MIN_FIRST", "SCALED"]);
    let call = call.attr("mode", mode).attr("narrow_range", g.rng.chance(1, 3));
    let rank = g.rank(x);
    if mode == "MIN_FIRST" || rank == 0 || g.rng.chance(1, 2) {
        return (call, Vec::new());
    }
    let (axis, _) = random_axis(g, rank);
    let dim = g.dims(x)[axis].clone();
    match g.size_like(&dim) {
        Some(size) => (call.attr("axis", axis as i64), vec![size]),
        None => (call, Vec::new()),
    }
}

fn quantize(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let sizes: Vec<Size> = (0..g.rng.below(3)).map(|_| g.random_size()).collect();
    let x = g.source(DType::F32, sizes, Content::Ordinary, false)?;
    let dtype = *g.rng.choose(&DTYPES);
    let (call, ends) = mode(g, Call::new(op).attr("dtype", dtype), x);
    let [min, max] = range(g, DType::F32, &ends)?;
    let props = ElementProps { small_integers: false, ..props_of(g, &[x]) };
    g.add_step(call, &[x, min, max], &[], props)
}

fn gradient(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Float, 0..=5, |props| !props.rounding_varies)?;
    let (dtype, content) = (g.dtype(x), g.random_content());
    let gradients = g.source_like(x, dtype, content)?;
    let [min, max] = range(g, dtype, &[])?;
    let props = ElementProps { small_integers: false, ..props_of(g, &[x, gradients]) };
    g.add_step(Call::new("quantize_and_dequantize_grad"), &[gradients, x, min, max], &[], props)
}

fn concat(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let dtype = *g.rng.choose(&DTYPES);
    let common: Vec<Size> = (0..g.rng.below(3)).map(|_| Size::Known(g.rng.range_inclusive(0, 4))).collect();
    let count = 1 + g.rng.below(3);
    let (mut values, mut mins, mut maxes) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..count {
        let mut sizes = vec![Size::Known(g.rng.range_inclusive(0, 4))];
        sizes.extend(common.iter().cloned());
        let content = g.random_content();
        values.push(g.source(dtype, sizes, content, false)?);
        let [min, max] = range(g, DType::F32, &[])?;
        mins.push(min);
        maxes.push(max);
    }
    let mut params = Vec::new();
    let call = g.param(Call::new("quantized_concat"), &mut params, "axis", &[0], false)?;
    let props = ElementProps { small_integers: false, ..props_of(g, &values) };
    values.extend(mins);
    values.extend(maxes);
    g.add_step(call, &values, &params, props)
}

/// Adds an op of two tensors of qu8 and their ranges.
fn pair(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let mut call = Call::new(op);
    let [a, b, c] = [(); 3].map(|()| 1 + g.rng.below(4) as i64);
    let sizes = match op {
        "quantized_bias_add" => [vec![a, b, c], vec![c]],
        "quantized_matmul" => [vec![a, b], vec![b, c]],
        "quantized_conv_2d" => {
            let stride = 1 + g.rng.below(3) as i64;
            call = call.attr("strides", [1, stride, stride, 1]).attr("padding", "SAME");
            [vec![2, 2 + a, 5, b], vec![2, 1, b, c]]
        }
        _ => [vec![a, b], vec![b]],
    };
    let mut operands = Vec::new();
    for sizes in sizes {
        let (sizes, content) = (sizes.into_iter().map(Size::Known).collect(), g.random_content());
        operands.push(g.source(DType::QU8, sizes, content, false)?);
    }
    let props = ElementProps { small_integers: false, ..props_of(g, &operands) };
    for _ in 0..2 {
        operands.extend(range(g, DType::F32, &[])?);
    }
    g.add_step(call, &operands, &[], props)
}

/// Adds a pool of images and their range.
fn pool(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let dtype = *g.rng.choose(&[DType::QU8, DType::QI8]);
    let batch = g.random_size();
    let sizes = [batch].into_iter().chain([4, 5, 2].map(Size::Known)).collect();
    let content = g.random_content();
    let x = g.source(dtype, sizes, content, false)?;
    let props = ElementProps { small_integers: false, ..props_of(g, &[x]) };
    let padding = *g.rng.choose(&["SAME", "VALID"]);
    let call =
        Call::new(op).attr("ksize", [1, 2, 3, 1]).attr("strides", [1, 2, 1, 1]).attr("padding", padding);
    let [min, max] = range(g, DType::F32, &[])?;
    g.add_step(call, &[x, min, max], &[], props)
}

/// Adds an activation of a quantized tensor and its range.
fn clamp(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let dtype = *g.rng.choose(&[DType::QU8, DType::QI32]);
    let sizes: Vec<Size> = (0..g.rng.below(3)).map(|_| g.random_size()).collect();
    let content = g.random_content();
    let x = g.source(dtype, sizes, content, false)?;
    let [min, max] = range(g, DType::F32, &[])?;
    let props = ElementProps { small_integers: false, ..props_of(g, &[x]) };
    g.add_step(Call::new(op).attr("dtype", dtype), &[x, min, max], &[], props)
}

/// Adds an op of a quantized tensor and its range.
fn of_quantized(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let dtype = *g.rng.choose(&DTYPES);
    let sizes: Vec<Size> = (0..g.rng.below(3)).map(|_| g.random_size()).collect();
    let content = g.random_content();
    let x = g.source(dtype, sizes, content, false)?;
    let (mut call, mut ends, mut params) = (Call::new(op), Vec::new(), Vec::new());
    match op {
        "dequantize" => {
            (call, ends) = mode(g, call, x);
            call = call.attr("dtype", *g.rng.choose(&[DType::F32, DType::BF16]));
        }
        "quantized_reshape" => call = g.param(call, &mut params, "shape", &[-1], true)?,
        "requantization_range" => {}
        _ => call = call.attr("dtype", *g.rng.choose(&DTYPES)),
    }
    let mut operands = vec![x];
    operands.extend(range(g, DType::F32, &ends)?);
    if op.starts_with("requantize") {
        operands.extend(range(g, DType::F32, &[])?);
    }
    let props = ElementProps { small_integers: false, ..props_of(g, &[x]) };
    g.add_step(call, &operands, &params, props)
}
