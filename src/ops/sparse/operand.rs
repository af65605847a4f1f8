//! A sparse tensor as three operands (indices, values, shape): makes them, checks them, and finds values by position.

use std::panic::Location;

use shapeflow_shape_fns::{DType, counted};

use crate::dtype;
pub(super) use crate::error::refuse_at_run as refuse;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoOperand, Value};
use crate::op::HostCx;
use crate::ops::pick_rows::pick_rows;
use crate::ops::positions::Positions;
use crate::ops::rows::{Combine, combine, put};
use crate::tensor::{Tensor, TensorView, TensorViewMut};

/// Returns the three operands that are a sparse tensor: the indices, the values and the shape.
pub(super) fn parts<'g>(
    indices: Value<'g>,
    values: impl IntoOperand<'g>,
    shape: impl IntoOperand<'g>,
    location: &'static Location<'static>,
) -> [Value<'g>; 3] {
    [indices, values.into_own_operand(indices.graph(), location), shape.into_operand(indices, location)]
}

/// Writes values to positions of a vector, or combines them with the elements there.
///
/// # Errors
/// A position is outside the vector.
pub(super) fn store(
    target: &mut TensorViewMut<'_>,
    values: TensorView<'_>,
    positions: &[i64],
    how: Option<Combine>,
) -> Result<()> {
    let sizes = [target.len()];
    let positions = Tensor::from_slice(&[positions.len()], positions)?;
    let positions = Positions::new(positions.view(), None, &sizes)?;
    match how {
        None => put(target, values, 1, &positions),
        Some(how) => combine(target, values, 1, how, &positions),
    }
}

/// Checks that these operands are i64, as the indices and shapes of sparse tensors are.
pub(super) fn check_i64(dtypes: &[DType], operands: &[usize]) -> Result<()> {
    for &operand in operands {
        let dtype = dtype::common(dtypes, operand, operand + 1, dtype::Class::Any)?;
        if dtype != DType::I64 {
            return dtype::refuse_with_help(
                format!("indices and shapes must be i64, got {dtype} in operand {operand}"),
                format!("cast operand {operand} with .cast(DType::I64)"),
            );
        }
    }
    Ok(())
}

/// Returns the rows of `indices [count, rank]`.
///
/// # Errors
/// `indices` is not a matrix of i64, or `shape` does not have one size for each column.
pub(super) fn rows_of<'a>(indices: TensorView<'a>, shape: &[i64]) -> Result<(Vec<&'a [i64]>, usize)> {
    let (elements, [count, rank]) = index_matrix(indices, shape)?;
    Ok(((0..count).map(|row| &elements[row * rank..(row + 1) * rank]).collect(), rank))
}

/// Returns the elements and the sizes of `indices [count, rank]`.
///
/// # Errors
/// As [`rows_of`].
pub(super) fn index_matrix<'a>(indices: TensorView<'a>, shape: &[i64]) -> Result<(&'a [i64], [usize; 2])> {
    let [count, rank] = *indices.sizes() else {
        return refuse(format!("indices must be a matrix, got sizes {:?}", indices.sizes()));
    };
    if rank != shape.len() {
        return refuse(format!(
            "indices must have {}, one for each size, got {rank}",
            counted(shape.len(), "column")
        ));
    }
    Ok((indices.as_slice::<i64>()?, [count, rank]))
}

/// Returns the error about an index outside its axis. `operand` has the indices.
pub(super) fn out_of_range<T>(operand: usize, [row, column]: [usize; 2], index: i64, size: i64) -> Result<T> {
    let message = format!("an index must lie in [0, {size}), got {index}");
    let error = Error::new(ErrorKind::Index, Phase::Run, message);
    Err(error.in_element(operand, &format!(" at [{row}, {column}]")))
}

/// Makes output `output` of the values at these positions, in order. `values` is row-major.
///
/// # Errors
/// There is no such output, or memory is refused.
pub(super) fn pick_values(
    cx: &mut HostCx<'_>,
    output: usize,
    values: TensorView<'_>,
    positions: Vec<usize>,
) -> Result<()> {
    let sources: Vec<Option<usize>> = positions.into_iter().map(Some).collect();
    // `pick_rows` takes the width of a row from the default, here one element. Every source is given, so no output
    // gets the default.
    let default = Tensor::zeros(values.dtype(), &[])?;
    pick_rows(cx, output, values, default.view(), &sources, &[sources.len()])
}
