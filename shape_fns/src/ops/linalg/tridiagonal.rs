//! Tridiagonal matrices, given by their diagonals.

use crate::{Dim, InferenceContext, Result};

/// Three diagonals `[..batch, 1, n]` and `rhs[..batch, n, k] -> [..batch, n, k]`: the product of the matrix and `rhs`.
///
/// # Errors
/// A rank is less than 2, a diagonal provably has several rows, or lengths or leading axes provably differ.
pub fn tridiagonal_matmul(cx: &mut InferenceContext<'_>) -> Result<()> {
    for index in 0..3 {
        unify_diagonals(cx, index, 1, 3)?;
    }
    cx.set_output(0, cx.input(3).clone());
    Ok(())
}

/// `diagonals[..batch, 3, n], rhs[..batch, n, k] -> [..batch, n, k]`: the solution of the system.
///
/// # Errors
/// A rank is less than 2, the number of diagonals provably differs from 3, or lengths or leading axes provably differ.
pub fn tridiagonal_solve(cx: &mut InferenceContext<'_>) -> Result<()> {
    unify_diagonals(cx, 0, 3, 1)?;
    cx.set_output(0, cx.input(1).clone());
    Ok(())
}

/// Unifies operand `index`, which holds `count` diagonals, with the right-hand sides in operand `rhs`.
fn unify_diagonals(cx: &mut InferenceContext<'_>, index: usize, count: i64, rhs: usize) -> Result<()> {
    let (given, values) = (cx.last_axes::<2>(index)?, cx.last_axes::<2>(rhs)?);
    let Some((batch, [rows, length])) = given else { return Ok(()) };
    cx.merge(&rows, &Dim::known(count)).map_err(|_| {
        let shape = cx.input(index);
        cx.blame(index, format_args!("must have size {count} at axis -2, got {rows} in {shape}"))
    })?;
    if let Some((rhs_batch, [rhs_rows, _])) = values {
        cx.merge_shapes(&batch, &rhs_batch).map_err(|error| error.operand(index))?;
        cx.agree("the length of the diagonals and the number of rows of rhs", &length, &rhs_rows)
            .map_err(|error| error.operand(index))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{tridiagonal_matmul, tridiagonal_solve};
    use crate::testing::shape_table;

    shape_table! { matmuls: tridiagonal_matmul, ["superdiag", "maindiag", "subdiag", "rhs"];
        {} "?; ?; ?; ?" => "?";
        {} "[7, 1, 5]; [7, 1, ?]; ?; [?, n, 2]" => "[7, 5, 2]";
        {} "[3, 5]; ?; ?; [5, 2]" => "error superdiag must have size 1 at axis -2, got 3 in [3, 5]";
        {} "[1, 5]; [1, 6]; [1, 5]; [6, 2]" => "error the length of the diagonals and the number of rows of rhs must agree, got 5 and 6";
    }
    shape_table! { solutions: tridiagonal_solve, ["diagonals", "rhs"];
        {} "[?, 3, 5]; [7, ?, 2]" => "[7, 5, 2]";
        {} "?; [n, 1]" => "[n, 1]";
        {} "[4, 5]; [5, 2]" => "error diagonals must have size 3 at axis -2, got 4";
        {} "[3]; [5, 1]" => "error diagonals must have rank at least 2";
        {} "[6, 4, 3, 5]; [6, 8, 5, 2]" => "error shapes must agree, got 4 and 8 at axis 1";
    }
}
