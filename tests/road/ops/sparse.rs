//! Adds ops on sparse tensors, and `batch_norm`, to random graphs.

use shapeflow::DType;

use super::sets::random_indices;
use super::{props_of, random_axes};
use crate::element_props::{DTypeClass, ElementProps};
use crate::graph_generator::{GraphGenerator, ValueIndex};
use crate::graph_recipe::{Content, Size};
use crate::op_call::Call;

/// Adds an op with suitable operands. Returns the first output of the op, or `None` if there are no suitable operands.
pub fn add_op(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    match op {
        "sparse_reshape" => reshape(g),
        "fill_empty_rows_grad" => fill_empty_rows_grad(g),
        "sparse_fill_empty_rows" => fill_empty_rows(g),
        "sparse_reorder" => reorder(g),
        "sparse_dense_matmul" => matmul(g),
        "sparse_cross" | "sparse_cross_hashed" => cross(g, op),
        "sparse_slice" => slice(g),
        "sparse_add_grad" | "sparse_slice_grad" => gradient(g, op),
        "sparse_softmax" => softmax(g),
        "sparse_split" => split(g),
        "sparse_concat" => concat(g),
        "sparse_dense_add" | "sparse_dense_mul" | "sparse_dense_div" | "sparse_add_to_dense" => {
            with_dense(g, op)
        }
        "edit_distance" | "sparse_add" | "sparse_maximum" | "sparse_minimum" => union(g, op),
        _ if op.starts_with("sparse_reduce_") => reduce(g, op),
        _ => panic!("the generator has no case for {op}"),
    }
}

/// The size of every axis of the dense tensors.
const SIZE: i64 = 4;

/// Adds the indices of a sparse tensor, and the sizes of the tensor. Sometimes an index is out of range.
fn indices(g: &mut GraphGenerator<'_>, count: Size, rank: i64) -> Option<[ValueIndex; 2]> {
    let past = i64::from(g.rng.chance(1, 25));
    let sizes = vec![count, Size::Known(rank)];
    let indices = g.source(DType::I64, sizes, Content::Range(0, SIZE - 1 + past), false)?;
    let shape = g.source(DType::I64, vec![Size::Known(rank)], Content::Range(SIZE, SIZE), false)?;
    Some([indices, shape])
}

fn values(g: &mut GraphGenerator<'_>, dtype: DType, count: Size) -> Option<ValueIndex> {
    let content = g.random_content();
    g.source(dtype, vec![count], content, false)
}

/// Returns the joined properties of the operands, without `small_integers`.
fn moved(g: &GraphGenerator<'_>, operands: &[ValueIndex]) -> ElementProps {
    ElementProps { small_integers: false, ..props_of(g, operands) }
}

/// Adds the gradient of a sum whose summands have one element of each row, or of a slice without the first row.
fn gradient(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let dtype = DTypeClass::Numeric.sample(&mut g.rng);
    let row_of = |row: i64| [row, row % 3];
    let mut matrix = |rows: &[i64], first: i64| {
        let elements = rows.iter().flat_map(|row| row_of(*row)).enumerate();
        let elements = elements.map(|(place, index)| if place % 2 == 0 { index - first } else { index });
        let sizes = vec![Size::Known(rows.len() as i64), Size::Known(2)];
        g.source(DType::I64, sizes, Content::Fixed(elements.collect()), false)
    };
    let (count, indices) = match op {
        "sparse_add_grad" => {
            (4, vec![matrix(&[0, 2, 3], 0)?, matrix(&[1, 3], 0)?, matrix(&[0, 1, 2, 3], 0)?])
        }
        _ => (2, vec![matrix(&[0, 1, 2], 0)?, matrix(&[1, 2], 1)?]),
    };
    let mut operands = vec![values(g, dtype, Size::Known(count))?];
    operands.extend(indices);
    if op == "sparse_slice_grad" {
        let start = g.source(DType::I64, vec![Size::Known(2)], Content::Fixed(vec![1, 0]), false)?;
        operands.insert(2, start);
    }
    let props = moved(g, &operands[..1]);
    g.add_step(Call::new(op), &operands, &[], props)
}

fn reshape(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let count = g.random_size();
    let [indices, shape] = indices(g, count, 2)?;
    let (rank, size) = *g.rng.choose(&[(1, SIZE * SIZE), (2, SIZE), (4, 2), (2, SIZE + 1)]);
    let new = g.source(DType::I64, vec![Size::Known(rank)], Content::Range(size, size), false)?;
    let props = moved(g, &[indices, new]);
    g.add_step(Call::new("sparse_reshape"), &[indices, shape, new], &[], props)
}

fn fill_empty_rows(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let (count, dtype) = (g.random_size(), DTypeClass::Any.sample(&mut g.rng));
    let [indices, shape] = indices(g, count, 2)?;
    let values = values(g, dtype, count)?;
    let default = g.scalar(dtype, Content::SmallIntegers)?;
    let props = moved(g, &[indices, values, default]);
    g.add_step(Call::new("sparse_fill_empty_rows"), &[indices, values, shape, default], &[], props)
}

fn reorder(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let (count, dtype) = (g.random_size(), DTypeClass::Any.sample(&mut g.rng));
    let [indices, shape] = indices(g, count, 2)?;
    let values = values(g, dtype, count)?;
    let props = moved(g, &[indices, values]);
    g.add_step(Call::new("sparse_reorder"), &[indices, values, shape], &[], props)
}

/// Adds a softmax of elements whose indices ascend.
fn softmax(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let (mut elements, mut count) = (Vec::new(), 0);
    for row in 0..SIZE {
        for column in 0..g.rng.range_inclusive(0, SIZE - 1) {
            elements.extend([row, column]);
            count += 1;
        }
    }
    let sizes = vec![Size::Known(count), Size::Known(2)];
    let indices = g.source(DType::I64, sizes, Content::Fixed(elements), false)?;
    let shape = g.source(DType::I64, vec![Size::Known(2)], Content::Range(SIZE, SIZE), false)?;
    let dtype = *g.rng.choose(&[DType::F16, DType::F32, DType::F64]);
    let values = values(g, dtype, Size::Known(count))?;
    let props = moved(g, &[indices, values]);
    g.add_step(Call::new("sparse_softmax"), &[indices, values, shape], &[], props)
}

fn split(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let (count, dtype) = (g.random_size(), DTypeClass::Any.sample(&mut g.rng));
    let [indices, shape] = indices(g, count, 2)?;
    let values = values(g, dtype, count)?;
    let axis = g.scalar(DType::I64, Content::Range(-2, 1))?;
    let call = Call::new("sparse_split").attr("num_split", g.rng.range_inclusive(1, SIZE));
    let props = moved(g, &[indices, values]);
    g.add_step(call, &[axis, indices, values, shape], &[], props)
}

/// Adds a cross of a dense feature and a sparse feature.
fn cross(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let rows = g.rng.range_inclusive(1, SIZE);
    let (mut elements, mut count) = (Vec::new(), 0);
    for row in 0..rows {
        for column in 0..g.rng.range_inclusive(0, 2) {
            elements.extend([row, column]);
            count += 1;
        }
    }
    let sizes = vec![Size::Known(count), Size::Known(2)];
    let indices = g.source(DType::I64, sizes, Content::Fixed(elements), false)?;
    let values = g.source(DType::I64, vec![Size::Known(count)], Content::Range(0, 99), false)?;
    let shape = g.source(DType::I64, vec![Size::Known(2)], Content::Fixed(vec![rows, 2]), false)?;
    let dense = vec![Size::Known(rows), Size::Known(g.rng.range_inclusive(0, 3))];
    let dense = g.source(DType::I64, dense, Content::Range(0, 99), false)?;
    let buckets = g.rng.range_inclusive(0, 50);
    if op == "sparse_cross_hashed" {
        let props = moved(g, &[indices, values, dense]);
        let buckets = g.scalar(DType::I64, Content::Fixed(vec![buckets]))?;
        let is_strong = g.scalar(DType::Bool, Content::SmallIntegers)?;
        let salt = g.source(DType::I64, vec![Size::Known(2)], Content::Range(0, 99), false)?;
        let operands = [indices, values, shape, dense, buckets, is_strong, salt];
        return g.add_step(Call::new(op).attr("N", 1), &operands, &[], props);
    }
    let call =
        Call::new("sparse_cross").attr("N", 1).attr("hashed_output", true).attr("num_buckets", buckets);
    let props = moved(g, &[indices, values, dense]);
    g.add_step(call, &[indices, values, shape, dense], &[], props)
}

fn matmul(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let dtype = *g.rng.choose(&[DType::I32, DType::I64, DType::F32, DType::F64]);
    let (count, width) = (g.random_size(), g.random_size());
    let [indices, shape] = indices(g, count, 2)?;
    let values = values(g, dtype, count)?;
    let adjoint_b = g.rng.chance(1, 2);
    let sizes = if adjoint_b { vec![width, Size::Known(SIZE)] } else { vec![Size::Known(SIZE), width] };
    let content = g.random_content();
    let dense = g.source(dtype, sizes, content, false)?;
    let call =
        Call::new("sparse_dense_matmul").attr("adjoint_a", g.rng.chance(1, 2)).attr("adjoint_b", adjoint_b);
    let props = moved(g, &[values, dense]);
    g.add_step(call, &[indices, values, shape, dense], &[], props)
}

/// Adds a batch normalization outside of training.
pub fn batch_norm(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let dtype = DTypeClass::Float.sample(&mut g.rng);
    let parameter = if matches!(dtype, DType::F16 | DType::BF16) { DType::F32 } else { dtype };
    let sizes: Vec<Size> = (0..4).map(|_| g.random_size()).collect();
    let channels_first = g.rng.chance(1, 3);
    let channels = sizes[if channels_first { 1 } else { 3 }];
    let content = g.random_content();
    let mut operands = vec![g.source(dtype, sizes, content, false)?];
    for _ in 0..3 {
        let content = g.random_content();
        operands.push(g.source(parameter, vec![channels], content, false)?);
    }
    operands.push(g.source(parameter, vec![channels], Content::Range(1, 9), false)?);
    let call = Call::new(op).attr("is_training", false).attr("epsilon", 1e-3);
    let call = call.attr("data_format", if channels_first { "NCHW" } else { "NHWC" });
    let props = moved(g, &operands);
    g.add_step(call, &operands, &[], props)
}

fn slice(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let (count, dtype) = (g.random_size(), DTypeClass::Any.sample(&mut g.rng));
    let [indices, shape] = indices(g, count, 2)?;
    let values = values(g, dtype, count)?;
    let mut bound = |range| g.source(DType::I64, vec![Size::Known(2)], range, false);
    let (start, size) = (bound(Content::Range(-1, SIZE))?, bound(Content::Range(0, SIZE + 1))?);
    let props = moved(g, &[indices, values]);
    g.add_step(Call::new("sparse_slice"), &[indices, values, shape, start, size], &[], props)
}

fn concat(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let dtype = DTypeClass::Any.sample(&mut g.rng);
    let number = 1 + g.rng.below(3);
    let mut parts = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..number {
        let count = g.random_size();
        let [indices, shape] = indices(g, count, 2)?;
        for (parts, part) in parts.iter_mut().zip([indices, values(g, dtype, count)?, shape]) {
            parts.push(part);
        }
    }
    let props = moved(g, &parts.concat());
    let call = Call::new("sparse_concat").attr("concat_dim", g.rng.range_inclusive(-2, 1));
    g.add_step(call, &parts.concat(), &[], props)
}

/// Adds a sparse tensor of ascending indices: indices, values and sizes.
fn ascending(g: &mut GraphGenerator<'_>, dtype: DType) -> Option<[ValueIndex; 3]> {
    let (elements, count) = random_indices(g, &[SIZE, SIZE]);
    let sizes = vec![Size::Known(count), Size::Known(2)];
    let indices = g.source(DType::I64, sizes, Content::Fixed(elements), false)?;
    let values = values(g, dtype, Size::Known(count))?;
    let shape = g.source(DType::I64, vec![Size::Known(2)], Content::Range(SIZE, SIZE), false)?;
    Some([indices, values, shape])
}

fn union(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let dtype = DTypeClass::Number.sample(&mut g.rng);
    let mut operands = [ascending(g, dtype)?, ascending(g, dtype)?].concat();
    let props = moved(g, &operands);
    if op == "sparse_add" {
        operands.push(g.scalar(dtype, Content::SmallIntegers)?);
    }
    g.add_step(Call::new(op), &operands, &[], props)
}

/// Adds an op on a sparse tensor and a dense tensor. No index of the sparse tensor is out of range.
fn with_dense(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let dtype = *g.rng.choose(&[DType::I32, DType::I64, DType::F32, DType::F64]);
    let [indices, values, shape] = ascending(g, dtype)?;
    let mut sizes = vec![Size::Known(SIZE); 2];
    if op != "sparse_add_to_dense" && g.rng.chance(1, 2) {
        sizes = vec![Size::Known(if g.rng.chance(1, 2) { SIZE } else { 1 })];
    }
    let dense = g.source(dtype, sizes, Content::Range(1, 9), false)?;
    let props = moved(g, &[values, dense]);
    g.add_step(Call::new(op), &[indices, values, shape, dense], &[], props)
}

fn reduce(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let (count, dtype) = (g.random_size(), DTypeClass::Number.sample(&mut g.rng));
    let [indices, shape] = indices(g, count, 2)?;
    let values = values(g, dtype, count)?;
    let mut params = Vec::new();
    let call = Call::new(op).attr("keep_dims", g.rng.chance(1, 2));
    let call = g.structure_param(call, &mut params, "reduction_axes", true, |g| random_axes(g, 2, 1))?;
    let props = moved(g, &[indices, values]);
    g.add_step(call, &[indices, values, shape], &params, props)
}

fn fill_empty_rows_grad(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let (count, dtype) = (g.random_size(), DTypeClass::Number.sample(&mut g.rng));
    // Sometimes a position is out of range.
    let past = i64::from(g.rng.chance(1, 25));
    let positions = g.source(DType::I64, vec![count], Content::Range(0, SIZE - 1 + past), false)?;
    let gradients = g.source(dtype, vec![Size::Known(SIZE)], Content::SmallIntegers, false)?;
    let props = moved(g, &[gradients]);
    g.add_step(Call::new("fill_empty_rows_grad"), &[positions, gradients], &[], props)
}
