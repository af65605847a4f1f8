//! Adds ops on uniformly quantized tensors to random graphs.

use shapeflow::{Attr, DType};

use super::{props_of, random_axis};
use crate::element_props::ElementProps;
use crate::graph_generator::{GraphGenerator, ValueIndex};
use crate::graph_recipe::{Content, Size};
use crate::op_call::Call;

const DTYPES: [DType; 3] = [DType::QI8, DType::QU8, DType::QI32];

/// Adds an op with suitable operands and parameters. Returns its first output, or `None` if there are no suitable
/// operands or parameters.
pub fn add_op(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    match op {
        "uniform_quantized_dot" | "uniform_quantized_dot_hybrid" => product(g, op),
        "uniform_quantized_conv" | "uniform_quantized_conv_hybrid" => convolution(g, op),
        "uniform_quantized_add" => sum(g),
        "uniform_ratio" | "uniform_slice" | "uniform_sum" => part(g, op),
        _ => elementwise(g, op),
    }
}

fn source(g: &mut GraphGenerator<'_>, dtype: DType, sizes: &[Size], range: [i64; 2]) -> Option<ValueIndex> {
    g.source(dtype, sizes.to_vec(), Content::Range(range[0], range[1]), false)
}

/// Adds scales and zero points of these sizes.
fn parameters(g: &mut GraphGenerator<'_>, sizes: &[Size]) -> Option<[ValueIndex; 2]> {
    Some([source(g, DType::F32, sizes, [1, 3])?, source(g, DType::I32, sizes, [-5, 5])?])
}

fn integers(g: &GraphGenerator<'_>, operands: &[ValueIndex]) -> ElementProps {
    ElementProps { small_integers: false, ..props_of(g, operands) }
}

fn known(sizes: &[i64]) -> Vec<Size> {
    sizes.iter().copied().map(Size::Known).collect()
}

/// Adds an op of one tensor and scales and zero points, which may belong to slices along an axis.
fn elementwise(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let sizes: Vec<Size> = (0..g.rng.below(4)).map(|_| g.random_size()).collect();
    let dtype = match op {
        "uniform_quantize" => DType::F32,
        _ => *g.rng.choose(&DTYPES),
    };
    let content = g.random_content();
    let x = g.source(dtype, sizes.clone(), content, false)?;
    let (mut axis, mut slices) = (-1, Vec::new());
    if !sizes.is_empty() && g.rng.chance(1, 2) {
        let (position, _) = random_axis(g, sizes.len());
        (axis, slices) = (position as i64, vec![sizes[position]]);
    }
    let to = *g.rng.choose(&DTYPES);
    let call = Call::new(op);
    let mut operands = vec![x];
    let call = match op {
        "uniform_quantize" => call.attr("dtype", to).attr("quantization_axis", axis),
        "uniform_requantize" => {
            let call = call.attr("dtype", to).attr("input_quantization_axis", axis);
            operands.extend(parameters(g, &slices)?);
            if g.rng.chance(1, 2) {
                slices.clear();
            }
            call.attr("output_quantization_axis", if slices.is_empty() { -1 } else { axis })
        }
        "uniform_integers" => {
            operands.push(source(g, DType::I32, &slices, [-5, 5])?);
            operands.push(source(g, DType::I32, &slices, [1 << 30, (1 << 31) - 1])?);
            operands.push(source(g, DType::I32, &slices, [-31, 30])?);
            operands.push(source(g, DType::I32, &slices, [-5, 5])?);
            let call = call.attr("dtype", to).attr("axis", axis).attr("low", 0i64).attr("high", 100i64);
            let props = integers(g, &operands[..1]);
            return g.add_step(call, &operands, &[], props);
        }
        "uniform_quantized_clip" => {
            operands.push(source(g, dtype, &slices, [0, 20])?);
            operands.push(source(g, dtype, &slices, [10, 60])?);
            call.attr("quantization_axis", axis)
        }
        _ => call.attr("quantization_axis", axis),
    };
    operands.extend(parameters(g, &slices)?);
    let props = integers(g, &operands[..1]);
    g.add_step(call, &operands, &[], props)
}

/// Adds a sum of tensors that broadcast. The axis of its scales is the last one.
fn sum(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let [rows, columns] = [(); 2].map(|()| g.random_size());
    let column = vec![columns];
    let lhs = source(g, DType::QI32, &[rows, columns], [-1000, 1000])?;
    let rhs = source(g, DType::QI32, &column, [-1000, 1000])?;
    let mut operands = vec![lhs, rhs];
    let mut call = Call::new("uniform_quantized_add");
    for (name, axis) in
        [("lhs_quantization_axis", 1), ("rhs_quantization_axis", 0), ("output_quantization_axis", 1)]
    {
        let has_axis = g.rng.chance(1, 2);
        call = call.attr(name, if has_axis { axis } else { -1i64 });
        operands.extend(parameters(g, if has_axis { &column } else { &[] })?);
    }
    let props = integers(g, &operands[..2]);
    g.add_step(call, &operands, &[], props)
}

/// Adds the operands of a product or a convolution whose output channels are at axis `channel` of `rhs`, and at axis
/// `output_channel` of the output.
fn operands(
    g: &mut GraphGenerator<'_>,
    mut call: Call,
    [lhs, rhs]: [&[Size]; 2],
    [channel, output_channel]: [i64; 2],
    is_hybrid: bool,
) -> Option<ValueIndex> {
    let lhs = match is_hybrid {
        true => g.source(DType::F32, lhs.to_vec(), Content::Ordinary, false)?,
        false => source(g, DType::QI8, lhs, [-128, 127])?,
    };
    let channels = vec![rhs[channel as usize]];
    let mut operands = vec![lhs, source(g, DType::QI8, rhs, [-128, 127])?];
    if !is_hybrid {
        operands.extend(parameters(g, &[])?);
    }
    let has_axis = g.rng.chance(1, 2);
    operands.extend(parameters(g, if has_axis { &channels } else { &[] })?);
    call = call.attr("rhs_quantization_axis", if has_axis { channel } else { -1 });
    if !is_hybrid {
        let has_axis = has_axis && g.rng.chance(1, 2);
        operands.extend(parameters(g, if has_axis { &channels } else { &[] })?);
        call = call.attr("output_quantization_axis", if has_axis { output_channel } else { -1 });
    }
    let props = integers(g, &operands[..2]);
    g.add_step(call, &operands, &[], props)
}

fn product(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let [rows, inner, columns] = [(); 3].map(|()| g.random_size());
    let (lhs, rhs) = ([rows, inner], [inner, columns]);
    operands(g, Call::new(op), [&lhs, &rhs], [1, 1], op.ends_with("hybrid"))
}

fn convolution(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let spatial = 1 + g.rng.below(2);
    let [groups, batch_groups] = *g.rng.choose(&[[1, 1], [2, 1], [1, 2], [2, 2]]);
    let filters = groups * batch_groups * (1 + g.rng.below(2) as i64);
    let inputs = 1 + g.rng.below(3) as i64;
    let lhs = [vec![2 * batch_groups, groups * inputs], vec![5, 4][..spatial].to_vec()].concat();
    let rhs = [vec![filters, inputs], vec![2, 3][..spatial].to_vec()].concat();
    let mut call = Call::new(op).attr("feature_group_count", groups).attr("batch_group_count", batch_groups);
    for name in ["window_strides", "lhs_dilation", "rhs_dilation"] {
        let list: Vec<i64> = (0..spatial).map(|_| 1 + g.rng.below(2) as i64).collect();
        call = call.attr(name, Attr::Ints(list.into()));
    }
    let call = call.attr("padding", "SAME");
    operands(g, call, [&known(&lhs), &known(&rhs)], [0, 1], op.ends_with("hybrid"))
}

/// Adds a part of another op.
fn part(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let sizes: Vec<Size> = (0..g.rng.below(3)).map(|_| g.random_size()).collect();
    let operands = match op {
        "uniform_ratio" => vec![source(g, DType::F64, &sizes, [1, 1 << 40])?],
        "uniform_slice" => {
            vec![source(g, DType::F32, &sizes, [-9, 0])?, source(g, DType::F32, &sizes, [0, 9])?]
        }
        _ => vec![
            source(g, DType::QI32, &sizes, [-1000, 1000])?,
            source(g, DType::QI32, &sizes, [-1000, 1000])?,
            source(g, DType::I32, &[], [-5, 5])?,
            source(g, DType::I32, &[], [1 << 30, (1 << 31) - 1])?,
            source(g, DType::I32, &[], [-31, 30])?,
            source(g, DType::I32, &[], [-5, 5])?,
            source(g, DType::I32, &[], [1 << 30, (1 << 31) - 1])?,
            source(g, DType::I32, &[], [-31, 30])?,
            source(g, DType::I32, &[], [-5, 5])?,
        ],
    };
    let call = match op {
        "uniform_sum" => Call::new(op).attr("dtype", DType::QI8).attr("low", -100i64).attr("high", 100i64),
        _ => Call::new(op),
    };
    g.add_step(call, &operands, &[], ElementProps { small_integers: false, ..ElementProps::INTEGERS })
}
