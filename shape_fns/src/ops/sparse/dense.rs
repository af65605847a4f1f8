//! Ops on a sparse and a dense tensor: conversion, addition, matmul.

use super::operand::SparseOperand;
use crate::{Dim, InferenceContext, Result, ShapeError, TensorShape};

/// Outputs a dense tensor of shape `output_shape`: `sparse_values` at `sparse_indices`, and `default_value` elsewhere.
/// `sparse_indices` is a matrix with one row per value, a vector, or a scalar.
///
/// # Errors
/// `sparse_indices` has more than two axes, `sparse_values` has more than one axis, `default_value` is not a scalar, or
/// the number of columns of the indices provably differs from the output's rank.
pub fn to_dense(cx: &mut InferenceContext<'_>) -> Result<()> {
    let indices = cx.with_rank_at_most(0, 2)?;
    if let Some(values) = cx.operand("sparse_values") {
        cx.with_rank_at_most(values, 1)?;
    }
    cx.scalars(&["default_value"])?;
    let output = cx.input_as_shape("output_shape")?;
    if let (Some([_, columns]), Some(rank)) = (indices.dims(), output.rank()) {
        let sizes = Dim::known(i64::try_from(rank).unwrap_or(i64::MAX));
        cx.agree("the number of columns of the indices and the number of sizes", columns, &sizes)?;
    }
    cx.set_output(0, output);
    Ok(())
}

/// The sum of a sparse tensor and a dense tensor of the same shape, as a dense tensor.
///
/// # Errors
/// The first three operands are not a sparse tensor, or the shapes provably differ.
pub fn add_dense(cx: &mut InferenceContext<'_>) -> Result<()> {
    SparseOperand::read(cx, 0)?;
    let (sparse, dense) = (cx.input_as_shape("a_shape")?, cx.input(3).clone());
    let both = cx.merge_shapes(&dense, &sparse).map_err(|error| error.operand(3))?;
    cx.set_output(0, both);
    Ok(())
}

/// The matmul of a sparse and a dense matrix: `[m, k], [k, n] -> [m, n]`. Attributes `adjoint_a` and `adjoint_b` swap
/// the axes of an operand.
///
/// # Errors
/// The first three operands are not a sparse tensor, an operand is not a matrix, or the inner dimensions provably
/// differ.
pub fn matmul_dense(cx: &mut InferenceContext<'_>) -> Result<()> {
    SparseOperand::read(cx, 0)?;
    let sizes = cx.input_as_shape("a_shape")?;
    let [mut rows, mut inner] = match sizes.dims() {
        None => [cx.fresh(), cx.fresh()],
        Some([rows, columns]) => [rows.clone(), columns.clone()],
        Some(_) => return Err(cx.blame(2, format_args!("must be the shape of a matrix, got {sizes}"))),
    };
    let [mut other_inner, mut columns] = cx.axes::<2>(3)?;
    if cx.bool_or("adjoint_a", false)? {
        std::mem::swap(&mut rows, &mut inner);
    }
    if cx.bool_or("adjoint_b", false)? {
        std::mem::swap(&mut other_inner, &mut columns);
    }
    cx.merge(&inner, &other_inner).map_err(|_| {
        let b = cx.input(3);
        ShapeError::new(format_args!(
            "the inner dimensions of a matmul must agree, got {inner} and {other_inner} in {sizes} and {b}"
        ))
        .operand(3)
    })?;
    cx.set_output(0, TensorShape::new([rows, columns]));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{add_dense, matmul_dense, to_dense};
    use crate::testing::shape_table;

    shape_table! { dense: to_dense, ["indices", "output_shape", "values", "default_value"];
        {} "?; i64 [4]; ?; ?" => "[?, ?, ?, ?]";
        {} "[n, 2]; i64 [2] = [b, 3]; [n]; []" => "[b, 3]";
        {} "?; ?; ?; ?" => "?";
        {} "[n, 3]; i64 [2]; ?; ?" => "error the number of columns of the indices and the number of sizes must agree, got 3 and 2";
        {} "?; i64 [1] = [-2]; ?; ?" => "error output_shape must not be negative, got -2";
    }
    shape_table! { sums: add_dense, ["indices", "values", "a_shape", "b"];
        {} "?; ?; ?; [3, ?]" => "[3, d3_1]";
        {} "?; ?; i64 [2] = [n, 4]; [3, ?]" => "[3, 4]";
        {} "?; ?; i64 [2] = [n, 4]; [3, 5]" => "error shapes must agree, got 5 and 4 at axis 1";
    }
    shape_table! { matmuls: matmul_dense, ["indices", "values", "a_shape", "b"];
        {} "?; ?; ?; [1, n]" => "[?, n]";
        {adjoint_b: true} "?; ?; ?; [m, 2]" => "[?, m]";
        {} "?; ?; i64 [2] = [b, ?]; [k, n]" => "[b, n]";
        {adjoint_a: true} "?; ?; i64 [2] = [3, 1]; [1, 2]" => "error the inner dimensions of a matmul must agree, got 3 and 1 in [3, 1] and [1, 2]";
        {} "?; ?; i64 [3]; ?" => "error a_shape must be the shape of a matrix, got [?, ?, ?]";
    }
}
