//! Systems of linear equations: batches of matrices and of right-hand sides.

use super::square::{batched, square};
use crate::{Dim, Guard, InferenceContext, Result, TensorShape, counted};

/// `matrix[..batch, n, n], rhs[..batch, n, k] -> [..batch, n, k]`. The leading axes are unified.
///
/// # Errors
/// A rank is less than 2, the matrices are provably not square, or the numbers of rows or the leading axes provably
/// differ.
pub fn matrix_solve(cx: &mut InferenceContext<'_>) -> Result<()> {
    square(cx, 0)?;
    solve(cx, true)
}

/// `matrix[..batch, m, n], rhs[..batch, m, k], l2_regularizer[] -> [..batch, n, k]`. The leading axes are unified.
///
/// # Errors
/// A rank is less than 2, the regularizer is not a scalar, or the numbers of rows or the leading axes provably differ.
pub fn matrix_solve_ls(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.scalar(2)?;
    solve(cx, false)
}

/// Sets the output of a system whose leading axes are unified.
fn solve(cx: &mut InferenceContext<'_>, is_square: bool) -> Result<()> {
    let (matrix, rhs) = (cx.last_axes::<2>(0)?, cx.last_axes::<2>(1)?);
    let mut unknown = |batch: &TensorShape| (batch.clone(), [cx.fresh(), cx.fresh()]);
    // An unranked operand has the same leading axes as the other operand.
    let (matrix, rhs) = match (matrix, rhs) {
        (None, None) => return Ok(()),
        (Some(matrix), None) => (matrix.clone(), unknown(&matrix.0)),
        (None, Some(rhs)) => (unknown(&rhs.0), rhs),
        (Some(matrix), Some(rhs)) => (matrix, rhs),
    };
    let batch = cx.merge_shapes(&matrix.0, &rhs.0).map_err(|error| error.operand(1))?;
    let ([rows, unknowns], [values, columns]) = (matrix.1, rhs.1);
    let rows = agree_rows(cx, &rows, &values)?;
    let unknowns = if is_square { rows } else { unknowns };
    cx.set_output(0, batched(&batch, [unknowns, columns]));
    Ok(())
}

/// Unifies the number of rows of the matrix with the number of rows of `rhs`.
fn agree_rows(cx: &mut InferenceContext<'_>, rows: &Dim, values: &Dim) -> Result<Dim> {
    cx.agree("the numbers of rows of matrix and rhs", rows, values).map_err(|error| error.operand(1))
}

/// `matrix[..a, n, n], rhs[..b, n, k] -> [..c, n, k]`. The leading axes broadcast.
///
/// # Errors
/// A rank is less than 2, the matrices are provably not square, the numbers of rows provably differ, or the leading
/// axes do not broadcast.
pub fn triangular_solve(cx: &mut InferenceContext<'_>) -> Result<()> {
    let matrix = square(cx, 0)?;
    broadcast_solve(cx, matrix)
}

/// `matrix[..a, bands, n], rhs[..b, n, k] -> [..c, n, k]`. The leading axes broadcast.
///
/// # Errors
/// A rank is less than 2, the number of bands is provably outside `1..=n`, the length of the bands provably differs
/// from the number of rows of `rhs`, or the leading axes do not broadcast.
pub fn banded_triangular_solve(cx: &mut InferenceContext<'_>) -> Result<()> {
    let matrix = match cx.last_axes::<2>(0)? {
        Some((batch, [bands, length])) => {
            for guard in [Guard::Ge(bands.clone(), Dim::known(1)), Guard::Ge(length.clone(), bands.clone())] {
                cx.require(guard).map_err(|_| {
                    cx.blame(
                        0,
                        format_args!(
                            "must have 1 to {length}, at most one per row, got {bands}",
                            length = counted(&length, "band")
                        ),
                    )
                })?;
            }
            Some((batch, length))
        }
        None => None,
    };
    broadcast_solve(cx, matrix)
}

/// Sets the output of a system whose leading axes broadcast.
fn broadcast_solve(cx: &mut InferenceContext<'_>, matrix: Option<(TensorShape, Dim)>) -> Result<()> {
    let rhs = cx.last_axes::<2>(1)?;
    let (Some((a, size)), Some((b, [rows, columns]))) = (matrix, rhs) else { return Ok(()) };
    let rows = agree_rows(cx, &size, &rows)?;
    let batch = cx.broadcast(&a, &b).map_err(|error| error.operand(1))?;
    cx.set_output(0, batched(&batch, [rows, columns]));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{banded_triangular_solve, matrix_solve, matrix_solve_ls, triangular_solve};
    use crate::testing::shape_table;

    shape_table! { square_systems: matrix_solve, ["matrix", "rhs"];
        {} "[?, ?]; ?" => "[d0_0, ?]";
        {} "?; [b, n, k]" => "[b, n, k]";
        {} "[?, ?]; [1, ?]" => "[1, d1_1]";
        {} "[10, ?, ?, ?]; [?, 20, 1, ?]" => "[10, 20, 1, d1_3]";
        {} "?; ?" => "?";
        {} "[1, 2]; ?" => "error matrix must hold square matrices, got 1 by 2";
        {} "[5, ?]; [6, ?, ?]" => "error shapes must have the same rank";
        {} "[5, ?, ?]; [6]" => "error rhs must have rank at least 2";
    }
    shape_table! { least_squares: matrix_solve_ls, ["matrix", "rhs", "l2_regularizer"];
        {} "[10, ?, 1, ?]; [?, 20, 1, ?]; []" => "[10, 20, d0_3, d1_3]";
        {} "[1, 2]; [1, 3]; ?" => "[2, 3]";
        {} "[5, ?]; [6, ?]; ?" => "error the numbers of rows of matrix and rhs must agree, got 5 and 6";
        {} "?; ?; [1]" => "error l2_regularizer must have rank 0, got rank 1 in [1]";
        {} "[10, 5, ?]; [11, 5, ?]; ?" => "error shapes must agree, got 10 and 11 at axis 0";
    }
    shape_table! { triangular_systems: triangular_solve, ["matrix", "rhs"];
        {} "[?, 1]; [1, ?]" => "[1, d1_1]";
        {} "[a, n, n]; [n, k]" => "[a, n, k]";
        {} "[1, 3, 3]; [b, ?, k]" => "[b, 3, k]";
        {} "[4, 4]; ?" => "?";
        {} "[2, 3, 3]; [4, 3, 1]" => "error must be equal or 1 to broadcast, got 2 and 4";
    }
    shape_table! { banded_systems: banded_triangular_solve, ["matrix", "rhs"];
        {} "[?, 2, 4]; [3, ?, 5]" => "[3, 4, 5]";
        {} "[?, 2, 4]; [3, 5, 5]" => "error the numbers of rows of matrix and rhs must agree, got 4 and 5";
        {} "[n, m]; [m, 1]" => "[m, 1] if n >= 1, m >= n";
        {} "[0, 4]; ?" => "error matrix must have 1 to 4 bands, at most one per row, got 0";
        {} "[5, 4]; ?" => "error matrix must have 1 to 4 bands, at most one per row, got 5";
    }
}
