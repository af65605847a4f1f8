//! Ops whose operands have several sizes, or several parameters.

use shapeflow_shape_fns::{Attr, DType, TensorShape, shape};

use super::draws::Draws;
use super::loops::{axes_of, element, indices_of, ints, offset_of, with_position};
use crate::error::Result;
use crate::graph::{Graph, Value};
use crate::op::Registry;
use crate::tensor::Tensor;

mod bands;
mod slices;
mod sparse;

/// A call of an op, its feeds, and loops that compute its results.
pub(super) struct Program {
    pub(super) op: &'static str,
    /// Builds the call. The flag says whether the inputs are declared with a rank.
    pub(super) build: for<'g> fn(&'g Graph, bool) -> Result<Vec<Value<'g>>>,
    pub(super) draw: fn(&mut Draws, bool) -> Vec<Tensor>,
    pub(super) naive: fn(&[Tensor]) -> Vec<Tensor>,
}

pub(super) const PROGRAMS: &[Program] = &[
    Program { op: "concat_offset", build: concat_offset, draw: draw_shapes, naive: offsets },
    Program { op: "quantized_concat", build: quantized_concat, draw: draw_quantized, naive: joined },
    Program { op: "reduce_join", build: reduce_join, draw: draw_strings, naive: joined_strings },
    bands::DIAG,
    bands::DIAG_PART,
    bands::SET_DIAG,
    slices::STRIDED_SLICE,
    slices::MASKED_SLICE,
    slices::STRIDED_SLICE_GRAD,
    slices::STRIDED_SLICE_UPDATE,
    slices::SLICE,
    slices::PAD,
    slices::BROADCAST_TO,
    slices::FILL,
    sparse::SUM,
    sparse::MAX,
    sparse::SUM_SPARSE,
    sparse::MAX_SPARSE,
];

/// Returns the shape of an input of this rank, or an unknown shape.
fn shape_of(is_ranked: bool, rank: usize) -> TensorShape {
    if is_ranked { (0..rank).map(|_| None::<i64>).collect() } else { TensorShape::unranked() }
}

/// Calls an op on data, with parameters that are values.
fn call<'g>(
    op: &str,
    data: &[Value<'g>],
    params: &[(&'static str, Value<'g>)],
    attrs: &[(&'static str, Attr)],
) -> Result<Vec<Value<'g>>> {
    let def = Registry::builtin().get(op).unwrap();
    let graph = data[0].graph();
    let call =
        params.iter().fold(graph.op(def).data_all(data), |call, (name, value)| call.structure(name, *value));
    attrs.iter().fold(call, |call, (name, attr)| call.attr(name, attr.clone())).finish_all()
}

fn vector(ints: &[i64]) -> Tensor {
    Tensor::from_slice(&[ints.len()], &ints.iter().map(|int| *int as i32).collect::<Vec<_>>()).unwrap()
}

fn scalar(int: i64) -> Tensor {
    Tensor::scalar(int as i32)
}

/// Draws an axis, counted from the front or from the end.
fn draw_axis(rank: usize, draws: &mut Draws) -> i64 {
    let axis = draws.below(rank) as i64;
    if draws.below(2) == 0 { axis } else { axis - rank as i64 }
}

fn draw_rank(draws: &mut Draws, is_ranked: bool) -> usize {
    if is_ranked { 3 } else { 1 + draws.below(3) }
}

fn draw_sizes(draws: &mut Draws, rank: usize) -> Vec<usize> {
    (0..rank).map(|_| 1 + draws.below(4)).collect()
}

fn draw_floats(draws: &mut Draws, sizes: &[usize]) -> Tensor {
    let len = sizes.iter().product();
    Tensor::from_vec(sizes, (0..len).map(|_| draws.below(64) as f32 / 8.0 - 4.0).collect()).unwrap()
}

fn concat_offset(graph: &Graph, is_ranked: bool) -> Result<Vec<Value<'_>>> {
    let length = || if is_ranked { shape![3] } else { shape![?] };
    let shapes = ["a", "b", "c"].map(|name| graph.input(name, DType::I32, length()));
    let shapes: Vec<Value<'_>> = shapes.into_iter().collect::<Result<_>>()?;
    call("concat_offset", &shapes, &[("concat_dim", graph.input("axis", DType::I32, shape![])?)], &[])
}

fn draw_shapes(draws: &mut Draws, is_ranked: bool) -> Vec<Tensor> {
    let rank = draw_rank(draws, is_ranked);
    let axis = draw_axis(rank, draws);
    let common = draw_sizes(draws, rank);
    let mut feeds: Vec<Tensor> = (0..3)
        .map(|_| {
            let mut sizes: Vec<i64> = common.iter().map(|size| *size as i64).collect();
            sizes[axis.rem_euclid(rank as i64) as usize] = draws.below(5) as i64;
            vector(&sizes)
        })
        .collect();
    feeds.push(scalar(axis));
    feeds
}

fn offsets(feeds: &[Tensor]) -> Vec<Tensor> {
    let (shapes, axis) = feeds.split_at(3);
    let axis = ints(&axis[0])[0].rem_euclid(shapes[0].len() as i64) as usize;
    let mut start = 0;
    let offset = |shape: &Tensor| {
        let mut offset = vec![0; shape.len()];
        offset[axis] = start;
        start += ints(shape)[axis];
        vector(&offset)
    };
    shapes.iter().map(offset).collect()
}

fn quantized_concat(graph: &Graph, is_ranked: bool) -> Result<Vec<Value<'_>>> {
    let mut operands = Vec::new();
    for name in ["a", "b"] {
        operands.push(graph.input(name, DType::QU8, shape_of(is_ranked, 3))?);
    }
    for name in ["min_a", "min_b", "max_a", "max_b"] {
        operands.push(graph.input(name, DType::F32, shape![])?);
    }
    call("quantized_concat", &operands, &[("axis", graph.input("axis", DType::I32, shape![])?)], &[])
}

fn draw_quantized(draws: &mut Draws, is_ranked: bool) -> Vec<Tensor> {
    let rank = draw_rank(draws, is_ranked);
    let axis = draw_axis(rank, draws);
    let mut sizes = draw_sizes(draws, rank);
    let mut feeds = Vec::new();
    for _ in 0..2 {
        sizes[axis.rem_euclid(rank as i64) as usize] = 1 + draws.below(3);
        let bits: Vec<u8> = (0..sizes.iter().product()).map(|_| draws.below(256) as u8).collect();
        feeds.push(Tensor::from_bits(DType::QU8, &sizes, &bits).unwrap());
    }
    // Both operands have one range, so the integers stay.
    feeds.extend([0.0, 0.0, 255.0, 255.0].map(|end: f32| Tensor::scalar(end)));
    feeds.push(scalar(axis));
    feeds
}

fn joined(feeds: &[Tensor]) -> Vec<Tensor> {
    let axis = axes_of(&feeds[6], feeds[0].sizes().len())[0];
    let first = feeds[0].sizes()[axis];
    let sizes = with_position(feeds[0].sizes(), axis, first + feeds[1].sizes()[axis]);
    let bits: Vec<u8> = indices_of(&sizes)
        .map(|index| match index[axis] < first {
            true => element(&feeds[0], &index),
            false => element(&feeds[1], &with_position(&index, axis, index[axis] - first)),
        })
        .collect();
    vec![
        Tensor::from_bits(DType::QU8, &sizes, &bits).unwrap(),
        Tensor::scalar(0.0f32),
        Tensor::scalar(255.0f32),
    ]
}

fn reduce_join(graph: &Graph, is_ranked: bool) -> Result<Vec<Value<'_>>> {
    let x = graph.input("x", DType::String, shape_of(is_ranked, 3))?;
    let axes = graph.input("axes", DType::I32, shape![?])?;
    call("reduce_join", &[x], &[("reduction_indices", axes)], &[("separator", "-".into())])
}

fn draw_strings(draws: &mut Draws, is_ranked: bool) -> Vec<Tensor> {
    let rank = draw_rank(draws, is_ranked);
    let sizes = draw_sizes(draws, rank);
    let count = draws.below(rank + 1);
    let axes: Vec<i64> = draws.axes(rank, count).into_iter().map(i64::from).collect();
    let strings: Vec<String> =
        (0..sizes.iter().product()).map(|_| format!("s{}", draws.below(100))).collect();
    vec![Tensor::from_strings(&sizes, &strings).unwrap(), vector(&axes)]
}

/// Joins the strings. The first of the axes varies fastest.
fn joined_strings(feeds: &[Tensor]) -> Vec<Tensor> {
    let sizes = feeds[0].sizes();
    let axes = axes_of(&feeds[1], sizes.len());
    let strings = feeds[0].as_strings().unwrap();
    let text = |index: &[usize]| String::from_utf8(strings.at(offset_of(index, sizes)).to_vec()).unwrap();
    let kept: Vec<usize> = (0..sizes.len()).filter(|axis| !axes.contains(axis)).collect();
    let remaining: Vec<usize> = kept.iter().map(|axis| sizes[*axis]).collect();
    // The sizes of the joined axes, the slowest first.
    let joined: Vec<usize> = axes.iter().rev().map(|axis| sizes[*axis]).collect();
    let result: Vec<String> = indices_of(&remaining)
        .map(|outer| {
            let parts: Vec<String> = indices_of(&joined)
                .map(|inner| {
                    let mut index = vec![0; sizes.len()];
                    kept.iter().zip(&outer).for_each(|(axis, position)| index[*axis] = *position);
                    axes.iter().rev().zip(&inner).for_each(|(axis, position)| index[*axis] = *position);
                    text(&index)
                })
                .collect();
            parts.join("-")
        })
        .collect();
    vec![Tensor::from_strings(&remaining, &result).unwrap()]
}
