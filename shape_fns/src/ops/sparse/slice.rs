//! `sparse_slice`: extracts a box from a sparse tensor.

use super::operand::{SparseOperand, set_sparse};
use crate::{Dim, InferenceContext, PartialElements, Result, TensorShape, counted};

/// Outputs the elements in the box that begins at `start` and has sizes `size`, as a sparse tensor. The number of
/// elements depends on the data. The box is clamped to the tensor.
///
/// # Errors
/// The operands are not a sparse tensor, `start` or `size` is not a vector with one element per axis, or a size is
/// negative.
pub fn slice(cx: &mut InferenceContext<'_>) -> Result<()> {
    let sparse = SparseOperand::read(cx, 0)?;
    let mut rank = sparse.rank;
    for index in [3, 4] {
        let [given] = cx.axes::<1>(index)?;
        rank = cx.merge(&rank, &given).map_err(|_| {
            cx.blame(
                index,
                format_args!(
                    "must have one element for each of {rank}, got {given}",
                    rank = counted(rank, "axis")
                ),
            )
        })?;
    }
    if let Some(elements) = cx.param_elements("size")? {
        for element in elements.elements() {
            cx.require_not_negative("size", element)?;
        }
    }
    let count = cx.fresh();
    set_sparse(cx, 0, &count, &rank);
    if let (Some(shape), Some(start), Some(size)) =
        (tracked_elements(cx, 2), tracked_elements(cx, 3), tracked_elements(cx, 4))
    {
        let mut sliced = Vec::with_capacity(shape.len());
        for ((dim, start), size) in shape.iter().zip(&start).zip(&size) {
            let rest = cx.sub(dim, start)?;
            let rest = cx.max(&rest, &Dim::known(0))?;
            sliced.push(cx.min(size, &rest)?);
        }
        cx.set_output_value(2, PartialElements::vector(sliced));
    }
    Ok(())
}

/// Returns the tracked elements of operand `index`.
fn tracked_elements(cx: &InferenceContext<'_>, index: usize) -> Option<Vec<Dim>> {
    cx.input_value(index).map(|value| value.elements().to_vec())
}

/// The gradient of the values of the sliced tensor: a vector with one element per row of its indices.
///
/// # Errors
/// The gradient or `input_start` is not a vector, or indices are not a matrix.
pub fn slice_grad(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.axes::<1>(0)?;
    let [count, _] = cx.axes::<2>(1)?;
    cx.axes::<1>(2)?;
    cx.axes::<2>(3)?;
    cx.set_output(0, TensorShape::new([count]));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{slice, slice_grad};
    use crate::testing::shape_table;

    shape_table! { shapes: slice, ["indices", "values", "shape", "start", "size"];
        {} "?; ?; i64 [?]; ?; ?" => "[?, d2_0]; [?]; [d2_0]";
        {} "[4, 2]; [4]; [2] = [3, n]; [2] = [0, 1]; [2] = [2, 9]" => "[?, 2]; [?]; [2] = [2, min(9, max(0, n-1))]";
        {} "[4, 2]; [4]; [2] = [2, 3]; [2] = [1, 5]; [2] = [4, 1]" => "[?, 2]; [?]; [2] = [1, 0]";
        {} "[4, 2]; [4]; i64 [2]; i64 [3]; ?" => "error(3 outputs) start must have one element for each of 2 axes, got 3";
        {} "[4, 1]; [4]; i64 [1]; i64 [1]; i64 [1] = [-1]" => "error(3 outputs) size must not be negative, got -1";
    }
    shape_table! { gradients: slice_grad, ["grad", "indices", "start", "output_indices"];
        {} "?; [?, 3]; ?; ?" => "[d1_0]";
        {} "?; [1]; ?; ?" => "error indices must have rank 2";
    }
}
