//! Set operations. The last axis of a tensor holds the elements of a set; the leading axes index the sets.

use super::operand::{SparseOperand, set_sparse};
use crate::{Dim, InferenceContext, Result, ShapeError, TensorShape};

/// Combines two dense tensors of sets into a sparse tensor of sets. The leading axes are unified.
///
/// # Errors
/// A rank is less than 2, the ranks differ, or leading dimensions provably differ.
pub fn dense_to_dense_set(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.takes(2)?;
    let (a, b) = (shape_of_sets(cx, 0)?, shape_of_sets(cx, 1)?);
    let rank = match (&a, &b) {
        (Some(a), Some(b)) => {
            merge_leading_axes(cx, a, b, 1)?;
            rank_of(a)
        }
        (Some(sets), None) | (None, Some(sets)) => rank_of(sets),
        (None, None) => cx.fresh(),
    };
    let count = cx.fresh();
    set_sparse(cx, 0, &count, &rank);
    Ok(())
}

/// Like [`dense_to_dense_set`], for a dense and a sparse tensor of sets.
///
/// # Errors
/// Same as [`dense_to_dense_set`], or the last three operands are not a sparse tensor.
pub fn dense_to_sparse_set(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.takes(4)?;
    let dense = shape_of_sets(cx, 0)?;
    let sparse = SparseOperand::read(cx, 1)?;
    let sizes = cx.input_as_shape("set2_shape")?;
    let rank = match &dense {
        Some(dense) => {
            if sizes.rank().is_some() {
                merge_leading_axes(cx, dense, &sizes, 3)?;
            }
            cx.agree("the ranks of both sets", &rank_of(dense), &sparse.rank)?
        }
        None => sparse.rank,
    };
    require_rank_of_sets(cx, 1, &rank)?;
    let count = cx.fresh();
    set_sparse(cx, 0, &count, &rank);
    Ok(())
}

/// Like [`dense_to_dense_set`], for two sparse tensors of sets.
///
/// # Errors
/// Same as [`dense_to_dense_set`], or the operands are not sparse tensors.
pub fn sparse_to_sparse_set(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.takes(6)?;
    let (a, b) = (SparseOperand::read(cx, 0)?, SparseOperand::read(cx, 3)?);
    let rank = cx.agree("the ranks of both sets", &a.rank, &b.rank)?;
    require_rank_of_sets(cx, 0, &rank)?;
    let (a, b) = (cx.input_as_shape("set1_shape")?, cx.input_as_shape("set2_shape")?);
    if a.rank().is_some() && b.rank().is_some() {
        merge_leading_axes(cx, &a, &b, 5)?;
    }
    let count = cx.fresh();
    set_sparse(cx, 0, &count, &rank);
    Ok(())
}

/// Outputs the number of elements of each set: the shape of the sparse tensor without the last axis.
///
/// # Errors
/// The operands are not a sparse tensor.
pub fn set_size(cx: &mut InferenceContext<'_>) -> Result<()> {
    SparseOperand::read(cx, 0)?;
    let sizes = cx.input_as_shape("set_shape")?;
    if let Some([groups @ .., _]) = sizes.dims() {
        cx.set_output(0, TensorShape::from(groups));
    }
    Ok(())
}

/// Returns the shape of a dense tensor of sets, or `None` if the tensor is unranked.
fn shape_of_sets(cx: &mut InferenceContext<'_>, index: usize) -> Result<Option<TensorShape>> {
    Ok(Some(cx.with_rank_at_least(index, 2)?).filter(|shape| shape.rank().is_some()))
}

/// Returns the rank of a ranked shape as a dimension.
fn rank_of(shape: &TensorShape) -> Dim {
    Dim::known(shape.rank().and_then(|rank| i64::try_from(rank).ok()).unwrap_or(i64::MAX))
}

/// Requires a rank of at least 2.
fn require_rank_of_sets(cx: &InferenceContext<'_>, index: usize, rank: &Dim) -> Result<()> {
    match rank.as_known() {
        Some(rank @ ..2) => Err(cx.blame(index, format_args!("must have rank at least 2, got rank {rank}"))),
        _ => Ok(()),
    }
}

/// Unifies the leading axes (all except the last) of two tensors of sets.
fn merge_leading_axes(
    cx: &mut InferenceContext<'_>,
    a: &TensorShape,
    b: &TensorShape,
    blamed: usize,
) -> Result<()> {
    let error = |error: ShapeError| {
        ShapeError::new(format_args!("all axes of the sets except the last must agree: {error}"))
            .operand(blamed)
    };
    cx.merge_shapes(&a.slice(..-1), &b.slice(..-1)).map(drop).map_err(error)
}

#[cfg(test)]
mod tests {
    use super::{dense_to_dense_set, dense_to_sparse_set, set_size, sparse_to_sparse_set};
    use crate::testing::shape_table;

    shape_table! { dense: dense_to_dense_set, ["set1", "set2"];
        {} "?; ?" => "[?, ?]; [?]; [?]";
        {} "[4, ?, 2, ?]; [?, 1, ?, 5]" => "[?, 4]; [?]; [4]";
        {} "?; [n, 3]" => "[?, 2]; [?]; [2]";
        {} "[2]; ?" => "error(3 outputs) set1 must have rank at least 2";
        {} "[2, 1]; [2, 1, 2]" => "error(3 outputs) all axes of the sets except the last must agree: shapes must have the same rank";
        {} "[4, 3, 2, 1]; [4, 3, 3, 1]" => "error(3 outputs) got 2 and 3 at axis 2";
    }
    shape_table! { mixed: dense_to_sparse_set, ["set1", "indices", "values", "set2_shape"];
        {} "?; [?, 2]; [?]; i64 [?]" => "[?, 2]; [?]; [2]";
        {} "[b, ?]; ?; ?; i64 [2] = [3, 5]" => "[?, 2]; [?]; [2]";
        {} "?; [5, 3]; [6]; ?" => "error(3 outputs) the number of rows of the indices and the number of values must agree, got 5 and 6";
        {} "[2, 3]; ?; ?; i64 [2] = [4, 5]" => "error(3 outputs) got 2 and 4 at axis 0";
        {} "[2, 3]; [?, 3]; ?; ?" => "error(3 outputs) the ranks of both sets must agree, got 2 and 3";
    }
    shape_table! { sparse: sparse_to_sparse_set, ["i1", "v1", "set1_shape", "i2", "v2", "set2_shape"];
        {} "?; ?; i64 [?]; [?, 2]; ?; ?" => "[?, 2]; [?]; [2]";
        {} "?; ?; i64 [2] = [3, 5]; ?; ?; i64 [2] = [4, 5]" => "error(3 outputs) got 3 and 4 at axis 0";
        {} "[?, 1]; ?; ?; ?; ?; ?" => "error(3 outputs) i1 must have rank at least 2, got rank 1";
    }
    shape_table! { sizes: set_size, ["indices", "values", "set_shape"];
        {} "?; ?; i64 [3] = [n, 4, 5]" => "[n, 4]";
        {} "[?, 3]; ?; i64 [3]" => "[?, ?]";
        {} "?; ?; ?" => "?";
    }
}
