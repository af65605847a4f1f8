//! Matmuls of batches of matrices.

use smallvec::SmallVec;

use crate::shape::advice;
use crate::{Dim, InferenceContext, Result, ShapeError, TensorShape};

/// `[..batch, m, k], [..batch, k, n] -> [..batch, m, n]`. The inner dimensions are unified and the leading axes
/// broadcast. Attributes `transpose_a` and `transpose_b` (or `adj_x` and `adj_y`) swap the last two axes of an
/// operand.
///
/// # Errors
/// A rank is less than 2, the inner dimensions provably differ, or the leading axes do not broadcast.
pub fn matmul(cx: &mut InferenceContext<'_>) -> Result<()> {
    let (a, b) = (cx.with_rank_at_least(0, 2)?, cx.with_rank_at_least(1, 2)?);
    set_matmul(cx, &a, &b)
}

/// Like [`matmul`], for two matrices.
///
/// # Errors
/// A rank is not 2, or the inner dimensions provably differ.
pub fn matmul_2d(cx: &mut InferenceContext<'_>) -> Result<()> {
    let (a, b) = (cx.with_rank(0, 2)?, cx.with_rank(1, 2)?);
    set_matmul(cx, &a, &b)
}

/// Like [`matmul`], but unifies the leading axes instead of broadcasting them.
///
/// # Errors
/// Same as [`matmul`], or a leading dimension provably differs.
pub fn matmul_same_batch(cx: &mut InferenceContext<'_>) -> Result<()> {
    let (a, b) = (cx.with_rank_at_least(0, 2)?, cx.with_rank_at_least(1, 2)?);
    let (a, b) = match (a.dims(), b.dims()) {
        (Some([a_batch @ .., _, _]), Some([b_batch @ .., _, _])) => {
            cx.merge_shapes(&TensorShape::from(a_batch), &TensorShape::from(b_batch))?;
            (a, b)
        }
        // An unranked operand has the same batch as the other operand.
        (Some([batch @ .., _, _]), None) => (a.clone(), with_unknown_matrices(cx, batch)),
        (None, Some([batch @ .., _, _])) => (with_unknown_matrices(cx, batch), b.clone()),
        _ => (a, b),
    };
    set_matmul(cx, &a, &b)
}

/// Returns the shape of a batch of matrices with known leading axes and fresh last axes.
fn with_unknown_matrices(cx: &mut InferenceContext<'_>, batch: &[Dim]) -> TensorShape {
    TensorShape::from(batch).concatenate(&cx.unknown_shape_of_rank(2))
}

/// Sets the output of a matmul of operands of shapes `a` and `b`.
fn set_matmul(cx: &mut InferenceContext<'_>, a: &TensorShape, b: &TensorShape) -> Result<()> {
    let flag = |name, other| -> Result<bool> { Ok(cx.bool_or(name, false)? || cx.bool_or(other, false)?) };
    let (swap_a, swap_b) = (flag("transpose_a", "adj_x")?, flag("transpose_b", "adj_y")?);
    let (Some([a_batch @ .., a_rows, a_columns]), Some([b_batch @ .., b_rows, b_columns])) =
        (a.dims(), b.dims())
    else {
        return Ok(());
    };
    let (rows, inner) = if swap_a { (a_columns, a_rows) } else { (a_rows, a_columns) };
    let (other_inner, columns) = if swap_b { (b_columns, b_rows) } else { (b_rows, b_columns) };
    cx.merge(inner, other_inner).map_err(|_| {
        let note = if swap_a || swap_b { " after transposing" } else { "" };
        let [inner, other_inner, rows, columns] =
            [inner, other_inner, rows, columns].map(|dim| cx.table().resolve(dim));
        let is_plain = a.rank() == Some(2) && b.rank() == Some(2);
        ShapeError::new(format_args!(
            "the inner dimensions of a matmul must agree, got {inner} and {other_inner} in {a} and {b}{note}"
        ))
        .with_help_if(advice::matmul([&rows, &inner], [&other_inner, &columns], is_plain))
    })?;
    let mut dims: SmallVec<[Dim; 4]> = SmallVec::new();
    if !(a_batch.is_empty() && b_batch.is_empty()) {
        let batch = cx.broadcast(&TensorShape::from(a_batch), &TensorShape::from(b_batch))?;
        dims.extend(batch.dims().unwrap_or_default().iter().cloned());
    }
    dims.extend([rows.clone(), columns.clone()]);
    cx.set_output(0, TensorShape::new(dims));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{matmul, matmul_2d, matmul_same_batch};
    use crate::testing::shape_table;

    shape_table! { batched: matmul, ["a", "b"];
        {} "[m, k]; [k, n]" => "[m, n]";
        {} "[?, 3]; [?, 4]" => "[d0_0, 4]";
        {transpose_a: true} "[k, m]; [k, n]" => "[m, n]";
        {adj_y: true} "[2, m, 3]; [5, 3]" => "[2, m, 5]";
        {} "[b, 1, m, k]; [7, k, n]" => "[b, 7, m, n]";
        {} "[?, 2, 3]; [?, 3, 2]" => "[bcast(d0_0, d1_0), 2, 2]";
        {} "[m, k]; ?" => "?";
        {} "[2, 3]; [4, 5]" => "error the inner dimensions of a matmul must agree, got 3 and 4 in [2, 3] and [4, 5]";
        {} "[3]; [3, 5]" => "error a must have rank at least 2, got rank 1 in [3]";
        {} "[2, 2, 3]; [3, 3, 5]" => "error must be equal or 1 to broadcast, got 2 and 3";
    }
    shape_table! { same_batch: matmul_same_batch, ["a", "b"];
        {} "[?, 2, 3]; [4, 3, 5]" => "[4, 2, 5]";
        {} "[?, m, ?]; ?" => "[d0_0, m, ?]";
        {} "[2, 2, 2]; [3, 2, 2]" => "error shapes must agree, got 2 and 3 at axis 0";
    }
    shape_table! { matrices: matmul_2d, ["a", "b"];
        {} "?; [k, n]" => "[?, n]";
        {} "[2, 3, 4]; [4, 5]" => "error a must have rank 2, got rank 3 in [2, 3, 4]";
    }
}
