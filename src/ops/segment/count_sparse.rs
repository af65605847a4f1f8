//! Counts of numbers as a sparse tensor: one element for each number that occurs in a row.

use std::collections::BTreeMap;
use std::ops::Add;

use shapeflow_shape_fns::{Attribute, Attrs, DType, counted};

use super::counting::row_of;
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::integers::ints;
use crate::ops::row_major::RowMajor;
use crate::tensor::{Element, Tensor, TensorView};

/// An op for import only. Counts the numbers in every row of a dense tensor.
pub(crate) static DENSE: OpDef = OpDef::host("dense_count_sparse_output", |cx| {
    let x = RowMajor::new(cx.input(0)?)?;
    let x = x.view();
    match x.sizes() {
        [_] => count(cx, &ints(&x), None, &|_| Ok(0)),
        [rows, columns] => count(cx, &ints(&x), Some(*rows), &|place| Ok(place / columns)),
        sizes => Err(shape_error(format!("values must have rank 1 or 2, got sizes {sizes:?}"))),
    }
})
.attrs(&[
    Attribute::int_or("minlength", -1),
    Attribute::int_or("maxlength", -1),
    Attribute::bool_or("binary_output", false),
])
.operands(&[Operand::Data("values"), Operand::Data("weights")])
.outputs(|_, _| 3)
.shape_fn(shapeflow_shape_fns::segment::count_dense)
.dtype_rule(dtypes)
.tensorflow(&[TfOp::new("DenseCountSparseOutput")]);

/// An op for import only. Counts the numbers in every row of a ragged tensor.
pub(crate) static RAGGED: OpDef = OpDef::host("ragged_count_sparse_output", |cx| {
    let (splits, values) = (ints(&cx.input(0)?), ints(&cx.input(1)?));
    let is_valid = splits.first() == Some(&0)
        && splits.is_sorted()
        && splits.last().and_then(|last| usize::try_from(*last).ok()) == Some(values.len());
    if !is_valid {
        return Err(shape_error(format!("splits must ascend from 0 to {}, got {splits:?}", values.len())));
    }
    let row = |place: usize| Ok(splits.partition_point(|split| *split <= place as i64) - 1);
    count(cx, &values, Some(splits.len() - 1), &row)
})
.attrs(&[
    Attribute::int_or("minlength", -1),
    Attribute::int_or("maxlength", -1),
    Attribute::bool_or("binary_output", false),
])
.operands(&[Operand::Data("splits"), Operand::Data("values"), Operand::Data("weights")])
.outputs(|_, _| 3)
.shape_fn(shapeflow_shape_fns::segment::count_ragged)
.dtype_rule(dtypes)
.tensorflow(&[TfOp::new("RaggedCountSparseOutput")]);

/// An op for import only. Counts the numbers in every row of a sparse tensor.
pub(crate) static SPARSE: OpDef = OpDef::host("sparse_count_sparse_output", |cx| {
    let (indices, values, shape) = (ints(&cx.input(0)?), ints(&cx.input(1)?), ints(&cx.input(2)?));
    let (rank, rows) = match *shape {
        [_] => (1, None),
        [rows, _] => (2, Some(usize::try_from(rows).unwrap_or(0))),
        _ => return Err(shape_error(format!("dense_shape must have one or two sizes, got {shape:?}"))),
    };
    if indices.len() != rank * values.len() {
        return Err(shape_error(format!(
            "there must be one index for each of {}",
            counted(values.len(), "value")
        )));
    }
    count(cx, &values, rows, &|element| row_of(&indices, &shape, element))
})
.attrs(&[
    Attribute::int_or("minlength", -1),
    Attribute::int_or("maxlength", -1),
    Attribute::bool_or("binary_output", false),
])
.operands(&[
    Operand::Data("indices"),
    Operand::Data("values"),
    Operand::Data("dense_shape"),
    Operand::Data("weights"),
])
.outputs(|_, _| 3)
.shape_fn(shapeflow_shape_fns::segment::count_sparse)
.dtype_rule(dtypes)
.tensorflow(&[TfOp::new("SparseCountSparseOutput")]);

fn shape_error(message: String) -> Error {
    Error::new(ErrorKind::Shape, Phase::Run, message)
}

/// The dtype rule. The last operand holds the weights, and the counts have their dtype. The other operands are
/// integers.
fn dtypes(operands: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    let Some((weights, numbers)) = operands.split_last() else {
        return dtype::refuse("a count must have numbers and weights, got no operands".to_string());
    };
    dtype::check_indices(numbers, 0)?;
    match weights {
        DType::I32 | DType::I64 | DType::F32 | DType::F64 => Ok(vec![DType::I64, *weights, DType::I64]),
        other => dtype::refuse(format!("weights must be i32, i64, f32 or f64, got {other}")),
    }
}

fn int(attrs: &Attrs, name: &str) -> i64 {
    attrs.int(name)
}

/// Counts `values`. `row` returns the row of the value at a position. `rows` is the number of rows; with `None`, the
/// result has one axis. Attribute `maxlength` limits the numbers that count; -1 is no limit.
fn count(
    cx: &mut HostCx<'_>,
    values: &[i64],
    rows: Option<usize>,
    row: &dyn Fn(usize) -> Result<usize>,
) -> Result<()> {
    let weights = RowMajor::new(cx.input(cx.inputs() - 1)?)?;
    match weights.view().dtype() {
        DType::I32 => count_as::<i32>(cx, values, rows, row, weights.view(), i32::wrapping_add, 1),
        DType::I64 => count_as::<i64>(cx, values, rows, row, weights.view(), i64::wrapping_add, 1),
        DType::F32 => count_as::<f32>(cx, values, rows, row, weights.view(), f32::add, 1.0),
        _ => count_as::<f64>(cx, values, rows, row, weights.view(), f64::add, 1.0),
    }
}

fn count_as<T: Element>(
    cx: &mut HostCx<'_>,
    values: &[i64],
    rows: Option<usize>,
    row: &dyn Fn(usize) -> Result<usize>,
    weights: TensorView<'_>,
    add: fn(T, T) -> T,
    one: T,
) -> Result<()> {
    let is_binary = cx.attrs().bool("binary_output");
    let (least, most) = (int(cx.attrs(), "minlength"), int(cx.attrs(), "maxlength"));
    if !weights.is_empty() && weights.len() != values.len() {
        let message =
            format!("there must be one weight for each number, got {} for {}", weights.len(), values.len());
        return Err(shape_error(message));
    }
    let weights = weights.as_slice::<T>()?;
    let mut counts: BTreeMap<(usize, i64), T> = BTreeMap::new();
    let mut largest = 0;
    for (place, &value) in values.iter().enumerate() {
        let row = row(place)?;
        if value < 0 {
            let message = format!("numbers must be at least 0, got {value} at position {place}");
            return Err(Error::new(ErrorKind::Data, Phase::Run, message));
        }
        if most >= 0 && value >= most {
            continue;
        }
        largest = largest.max(value);
        let count = counts.entry((row, value)).or_default();
        *count = if is_binary { one } else { add(*count, weights.get(place).copied().unwrap_or(one)) };
    }
    let size = if most >= 0 { most } else { least.max(largest.saturating_add(1)) };
    let rank = if rows.is_some() { 2 } else { 1 };
    let mut indices = Vec::with_capacity(counts.len() * rank);
    for &(row, value) in counts.keys() {
        if rows.is_some() {
            indices.push(row as i64);
        }
        indices.push(value);
    }
    let shape: Vec<i64> = rows.map(|rows| rows as i64).into_iter().chain([size]).collect();
    cx.set_output(0, Tensor::from_vec(&[counts.len(), rank], indices)?)?;
    cx.set_output(1, Tensor::from_vec(&[counts.len()], counts.into_values().collect())?)?;
    cx.set_output(2, Tensor::from(shape))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run, shape_table, tensor};

    shape_table! { DENSE, {},
        "i32[n, 3]; f64[0]" => "i64[?, 2]; f64[?]; i64[2]",
        "i32[n]; f16[0]" => error "weights must be i32, i64, f32 or f64",
    }
    shape_table! { ragged: RAGGED, {},
        "i64[3]; i32[n]; [0]" => "i64[?, 2]; [?]; i64[2]",
    }
    shape_table! { sparse: SPARSE, {},
        "i64[n, 2]; i32[n]; i64[2]; [0]" => "i64[?, 2]; [?]; i64[2]",
    }

    #[test]
    fn numbers_are_counted_by_row() {
        let (values, none) = (tensor(&[4], &[2, 0, 2, 5i32]), tensor::<i32>(&[0], &[]));
        let splits = tensor(&[4], &[0, 3, 3, 4i64]);
        let attrs = Attrs::new().with("maxlength", 3);
        let outputs = run(&RAGGED, &attrs, &[splits, values.clone(), none.clone()]).unwrap();
        assert_eq!(outputs[0], tensor(&[2, 2], &[0, 0, 0, 2i64]));
        assert_eq!(outputs[1], tensor(&[2], &[1, 2]));
        assert_eq!(outputs[2], tensor(&[2], &[3, 3i64]));
        let outputs =
            run(&DENSE, &Attrs::new().with("maxlength", 0), &[values.clone(), none.clone()]).unwrap();
        assert_eq!((outputs[0].sizes(), &outputs[2]), (&[0, 1][..], &tensor(&[1], &[0i64])));
        let outputs = run(&DENSE, &Attrs::new(), &[values.clone(), none.clone()]).unwrap();
        assert_eq!((&outputs[0], &outputs[2]), (&tensor(&[3, 1], &[0, 2, 5i64]), &tensor(&[1], &[6i64])));
        // No number is less than a length of 0.
        let attrs = Attrs::new().with("maxlength", 0).with("minlength", 4);
        let outputs = run(&DENSE, &attrs, &[values.clone(), none.clone()]).unwrap();
        assert_eq!((outputs[1].len(), &outputs[2]), (0, &tensor(&[1], &[0i64])));
        let error = run(&DENSE, &Attrs::new(), &[tensor(&[2], &[1, -3]), none.clone()]).unwrap_err();
        assert_eq!(error.message(), "numbers must be at least 0, got -3 at position 1");
        let short = tensor(&[2], &[0, 3i64]);
        assert!(run(&RAGGED, &Attrs::new(), &[short, values, none]).is_err());
    }
}
