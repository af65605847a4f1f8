//! Batches of square matrices: inverses, Cholesky factors, determinants. Also the cross product of vectors.

use crate::common::require_last_dim;
use crate::{Dim, InferenceContext, Result, TensorShape};

/// Returns the leading axes of operand `index` and the size of its square matrices, or `None` if the operand is
/// unranked. Unifies the numbers of rows and columns.
pub(super) fn square(cx: &mut InferenceContext<'_>, index: usize) -> Result<Option<(TensorShape, Dim)>> {
    let Some((batch, [rows, columns])) = cx.last_axes::<2>(index)? else { return Ok(None) };
    let size = cx.merge(&rows, &columns).map_err(|_| {
        let shape = cx.input(index);
        cx.blame(index, format_args!("must hold square matrices, got {rows} by {columns} in {shape}"))
    })?;
    Ok(Some((batch, size)))
}

/// Returns the shape of a batch of matrices or vectors.
pub(super) fn batched<const N: usize>(batch: &TensorShape, last: [Dim; N]) -> TensorShape {
    batch.concatenate(&TensorShape::new(last))
}

/// `[..batch, n, n] -> [..batch, n, n]`. The last two dimensions are unified.
///
/// # Errors
/// The rank is less than 2, or the last two dimensions provably differ.
pub fn square_matrix(cx: &mut InferenceContext<'_>) -> Result<()> {
    if let Some((batch, size)) = square(cx, 0)? {
        cx.set_output(0, batched(&batch, [size.clone(), size]));
    }
    Ok(())
}

/// `l[..batch, n, n], grad[..batch, n, n] -> [..batch, n, n]`.
///
/// # Errors
/// Same as [`square_matrix`], or the two shapes provably differ.
pub fn cholesky_grad(cx: &mut InferenceContext<'_>) -> Result<()> {
    square_matrix(cx)?;
    let (factor, grad) = (cx.output(0).clone(), cx.input(1).clone());
    let both = cx.merge_shapes(&factor, &grad).map_err(|error| error.operand(1))?;
    cx.set_output(0, both);
    Ok(())
}

/// `[..batch, n, n] -> [..batch]` for every output: the determinant, or its sign and its logarithm.
///
/// # Errors
/// Same as [`square_matrix`].
pub fn determinant(cx: &mut InferenceContext<'_>) -> Result<()> {
    if let Some((batch, _)) = square(cx, 0)? {
        for output in 0..cx.outputs() {
            cx.set_output(output, batch.clone());
        }
    }
    Ok(())
}

/// `a[.., 3], b[.., 3] -> [.., 3]`. The operands' shapes are unified.
///
/// # Errors
/// A rank is 0, the last dimension provably differs from 3, or the shapes provably differ.
pub fn cross(cx: &mut InferenceContext<'_>) -> Result<()> {
    let (a, b) = (cx.with_rank_at_least(0, 1)?, cx.with_rank_at_least(1, 1)?);
    let both = cx.merge_shapes(&a, &b)?;
    if let Some(last) = both.dim(-1) {
        require_last_dim(cx, 0, last, 3)?;
    }
    cx.set_output(0, both);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{cholesky_grad, cross, determinant, square_matrix};
    use crate::testing::shape_table;

    shape_table! { squares: square_matrix, ["input"];
        {} "?" => "?";
        {} "[?, ?]" => "[d0_0, d0_0]";
        {} "[1, ?]" => "[1, 1]";
        {} "[5, b, ?, 7]" => "[5, b, 7, 7]";
        {} "[1]" => "error input must have rank at least 2, got rank 1 in [1]";
        {} "[3, 1, 2]" => "error input must hold square matrices, got 1 by 2 in [3, 1, 2]";
    }
    shape_table! { gradients: cholesky_grad, ["l", "grad"];
        {} "[?, ?]; ?" => "[d0_0, d0_0]";
        {} "?; [b, 3, 3]" => "[b, 3, 3]";
        {} "[?, n, ?]; [b, ?, 3]" => "[b, 3, 3]";
        {} "[2, 2]; [2, 3]" => "error shapes must agree, got 2 and 3 at axis 1";
    }
    shape_table! { determinants: determinant, ["input"];
        {} "[1, ?, 3, ?, ?]" => "[1, d0_1, 3]";
        {} "[b, n, 2]" => "[b]; [b]";
        {} "[1, ?]" => "[]";
        {} "[1, 2]" => "error must hold square matrices, got 1 by 2";
    }
    shape_table! { crossed: cross, ["a", "b"];
        {} "[1, ?, ?]; [?, n, 3]" => "[1, n, 3]";
        {} "?; ?" => "?";
        {} "[]; ?" => "error a must have rank at least 1";
        {} "[3, 5]; [3, 5]" => "error a must have size 3 at the last axis, got 5 in [3, 5]";
    }
}
