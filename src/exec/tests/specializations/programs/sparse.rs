//! Reductions of sparse tensors.

use std::collections::BTreeMap;

use shapeflow_shape_fns::{DType, shape};

use super::{Program, call, draw_axis, draw_rank, draw_sizes, vector};
use crate::error::Result;
use crate::exec::tests::specializations::draws::Draws;
use crate::exec::tests::specializations::loops::{axes_of, ints, offset_of};
use crate::graph::{Graph, Value};
use crate::tensor::Tensor;

macro_rules! program {
    ($NAME:ident, $op:literal, $naive:expr) => {
        pub(in super::super) const $NAME: Program =
            Program { op: $op, build: |graph, is_ranked| build(graph, $op, is_ranked), draw, naive: $naive };
    };
}
program!(SUM, "sparse_reduce_sum", |feeds| dense(feeds, |a, b| a + b));
program!(MAX, "sparse_reduce_max", |feeds| dense(feeds, f32::max));
program!(SUM_SPARSE, "sparse_reduce_sum_sparse", |feeds| sparse(feeds, |a, b| a + b));
program!(MAX_SPARSE, "sparse_reduce_max_sparse", |feeds| sparse(feeds, f32::max));

fn build<'g>(graph: &'g Graph, op: &str, is_ranked: bool) -> Result<Vec<Value<'g>>> {
    let (indices, sizes) = if is_ranked { (shape![?, 3], shape![3]) } else { (shape![?, ?], shape![?]) };
    let operands = [
        graph.input("indices", DType::I64, indices)?,
        graph.input("values", DType::F32, shape![?])?,
        graph.input("sizes", DType::I64, sizes)?,
    ];
    let axes = graph.input("axes", DType::I32, shape![?])?;
    let mut outputs = Vec::new();
    for keeps in [false, true] {
        outputs.extend(call(op, &operands, &[("reduction_axes", axes)], &[("keep_dims", keeps.into())])?);
    }
    Ok(outputs)
}

fn draw(draws: &mut Draws, is_ranked: bool) -> Vec<Tensor> {
    let rank = draw_rank(draws, is_ranked);
    let sizes = draw_sizes(draws, rank);
    let count = draws.below(6);
    let indices: Vec<i64> =
        (0..count).flat_map(|_| sizes.clone()).map(|size| draws.below(size) as i64).collect();
    let values: Vec<f32> = (0..count).map(|_| draws.below(64) as f32 / 8.0 - 4.0).collect();
    let axes: Vec<i64> = (0..draws.below(rank + 1)).map(|_| draw_axis(rank, draws)).collect();
    vec![
        Tensor::from_vec(&[count, rank], indices).unwrap(),
        Tensor::from_vec(&[count], values).unwrap(),
        Tensor::from_vec(&[rank], sizes.iter().map(|size| *size as i64).collect()).unwrap(),
        vector(&axes),
    ]
}

/// The sizes of a result, and its elements by their index.
type Reduced = (Vec<usize>, BTreeMap<Vec<usize>, f32>);

fn reduced(feeds: &[Tensor], keeps: bool, combine: fn(f32, f32) -> f32) -> Reduced {
    let (indices, values) = (ints(&feeds[0]), feeds[1].to_vec::<f32>().unwrap());
    let sizes: Vec<usize> = ints(&feeds[2]).iter().map(|size| *size as usize).collect();
    let axes = axes_of(&feeds[3], sizes.len());
    let result = |index: &[usize], reduced: usize| -> Vec<usize> {
        let kept = (0..sizes.len()).filter(|axis| keeps || !axes.contains(axis));
        kept.map(|axis| if axes.contains(&axis) { reduced } else { index[axis] }).collect()
    };
    let mut elements = BTreeMap::new();
    for (index, value) in indices.chunks(sizes.len()).zip(values) {
        let index: Vec<usize> = index.iter().map(|index| *index as usize).collect();
        elements.entry(result(&index, 0)).and_modify(|old| *old = combine(*old, value)).or_insert(value);
    }
    (result(&sizes, 1), elements)
}

fn dense(feeds: &[Tensor], combine: fn(f32, f32) -> f32) -> Vec<Tensor> {
    let of = |keeps| {
        let (sizes, elements) = reduced(feeds, keeps, combine);
        let mut result = vec![0.0f32; sizes.iter().product()];
        elements.iter().for_each(|(index, value)| result[offset_of(index, &sizes)] = *value);
        Tensor::from_vec(&sizes, result).unwrap()
    };
    [false, true].map(of).to_vec()
}

fn sparse(feeds: &[Tensor], combine: fn(f32, f32) -> f32) -> Vec<Tensor> {
    let of = |keeps| {
        let (sizes, elements) = reduced(feeds, keeps, combine);
        let indices: Vec<i64> = elements.keys().flatten().map(|index| *index as i64).collect();
        [
            Tensor::from_vec(&[elements.len(), sizes.len()], indices).unwrap(),
            Tensor::from_vec(&[elements.len()], elements.into_values().collect()).unwrap(),
            Tensor::from_vec(&[sizes.len()], sizes.iter().map(|size| *size as i64).collect()).unwrap(),
        ]
    };
    [false, true].map(of).concat()
}
