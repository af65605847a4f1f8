//! Elementwise ops on sparse tensors.

use super::operand::{SparseOperand, set_sparse};
use crate::{InferenceContext, Result, TensorShape};

/// The sum of two sparse tensors of the same shape, as a sparse tensor. Sums of magnitude below `thresh` are dropped,
/// so the number of elements depends on the data.
///
/// # Errors
/// The operands are not two sparse tensors, `thresh` is not a scalar, or the ranks provably differ.
pub fn add(cx: &mut InferenceContext<'_>) -> Result<()> {
    let (a, b) = (SparseOperand::read(cx, 0)?, SparseOperand::read(cx, 3)?);
    cx.scalar(6)?;
    let rank = a.same_rank(cx, &b)?;
    let count = cx.fresh();
    cx.forward(2, 2);
    set_sparse(cx, 0, &count, &rank);
    Ok(())
}

/// The gradients of the values of both summands: one vector each, with one element per row of the summand's indices.
///
/// # Errors
/// The gradient is not a vector, or indices are not a matrix.
pub fn add_grad(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.axes::<1>(0)?;
    let ([a, _], [b, _]) = (cx.axes::<2>(1)?, cx.axes::<2>(2)?);
    cx.axes::<2>(3)?;
    cx.set_output(0, TensorShape::new([a]));
    cx.set_output(1, TensorShape::new([b]));
    Ok(())
}

/// An elementwise op on two sparse tensors of the same shape. Outputs the indices and values of the union of their
/// elements, whose number depends on the data.
///
/// # Errors
/// The operands are not two sparse tensors, or the ranks provably differ.
pub fn elementwise(cx: &mut InferenceContext<'_>) -> Result<()> {
    let (a, b) = (SparseOperand::read(cx, 0)?, SparseOperand::read(cx, 3)?);
    let rank = a.same_rank(cx, &b)?;
    let count = cx.fresh();
    set_sparse(cx, 0, &count, &rank);
    Ok(())
}

/// An elementwise op on a sparse tensor and a dense tensor that broadcasts to it. Outputs new values for the same
/// indices.
///
/// # Errors
/// The first three operands are not a sparse tensor, or the dense operand provably has more axes.
pub fn elementwise_with_dense(cx: &mut InferenceContext<'_>) -> Result<()> {
    let sparse = SparseOperand::read(cx, 0)?;
    let dense = cx.input(3);
    if let (Some(rank), Some(axes)) = (sparse.rank.as_known(), dense.rank())
        && usize::try_from(rank).is_ok_and(|rank| axes > rank)
    {
        return Err(
            cx.blame(3, format_args!("must broadcast to a sparse tensor of rank {rank}, got {dense}"))
        );
    }
    cx.set_output(0, TensorShape::new([sparse.count]));
    Ok(())
}

/// The softmax along the last axis over the elements of a sparse tensor. Outputs new values for the same indices.
///
/// # Errors
/// The operands are not a sparse tensor.
pub fn softmax(cx: &mut InferenceContext<'_>) -> Result<()> {
    let sparse = SparseOperand::read(cx, 0)?;
    cx.set_output(0, TensorShape::new([sparse.count]));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{add, add_grad, elementwise, elementwise_with_dense, softmax};
    use crate::testing::shape_table;

    shape_table! { sums: add, ["ai", "av", "as", "bi", "bv", "bs", "thresh"];
        {} "?; ?; i64 [?]; ?; ?; ?; ?" => "[?, d2_0]; [?]; [d2_0]";
        {} "[n, ?]; [?]; i64 [2] = [b, 3]; ?; ?; i64 [2]; []" => "[?, 2]; [?]; [2] = [b, 3]";
        {} "?; ?; i64 [2]; ?; ?; i64 [3]; []" => "error(3 outputs) the ranks of the sparse tensors must agree, got 2 and 3";
        {} "[3, 2]; [4]; i64 [2]; ?; ?; i64 [2]; []" => "error(3 outputs) the number of rows of the indices and the number of values must agree, got 3 and 4";
        {} "?; ?; ?; ?; ?; ?; [1]" => "error(3 outputs) thresh must have rank 0";
    }
    shape_table! { gradients: add_grad, ["grad", "a", "b", "sum"];
        {} "?; [?, 2]; [n, 2]; ?" => "[d1_0]; [n]";
        {} "?; [1]; ?; ?" => "error(2 outputs) a must have rank 2";
    }
    shape_table! { joined: elementwise, ["ai", "av", "as", "bi", "bv", "bs"];
        {} "[n, 2]; [n]; i64 [2]; [m, ?]; [m]; ?" => "[?, 2]; [?]";
        {} "?; ?; []; ?; ?; ?" => "error(2 outputs) as must have rank 1";
    }
    shape_table! { with_dense: elementwise_with_dense, ["indices", "values", "shape", "dense"];
        {} "[?, 2]; ?; ?; [3]" => "[d0_0]";
        {} "?; [n]; ?; ?" => "[n]";
        {} "[?, 2]; ?; ?; [1, 2, 3]" => "error dense must broadcast to a sparse tensor of rank 2, got [1, 2, 3]";
    }
    shape_table! { exponents: softmax, ["indices", "values", "shape"];
        {} "?; [5]; ?" => "[5]";
        {} "[1]; ?; ?" => "error indices must have rank 2";
    }
}
