//! [`SparseOperand`]: the three operands that represent a sparse tensor.

use crate::{Dim, InferenceContext, Result, TensorShape};

/// The dimensions of a sparse tensor. The dimensions that its three operands have in common are unified.
pub(super) struct SparseOperand {
    /// The number of elements.
    pub(super) count: Dim,
    /// The number of axes.
    pub(super) rank: Dim,
}

impl SparseOperand {
    /// Reads the sparse tensor in operands `first` (indices), `first + 1` (values) and `first + 2` (shape).
    ///
    /// # Errors
    /// The indices are not a matrix, the values or the shape are not a vector, or their common dimensions provably
    /// differ.
    pub(super) fn read(cx: &mut InferenceContext<'_>, first: usize) -> Result<SparseOperand> {
        SparseOperand::of(cx, first, first + 1, first + 2)
    }

    /// Like [`SparseOperand::read`], for operands that are not adjacent.
    pub(super) fn of(
        cx: &mut InferenceContext<'_>,
        indices: usize,
        values: usize,
        shape: usize,
    ) -> Result<SparseOperand> {
        let [count, rank] = cx.axes::<2>(indices)?;
        let [values_count] = cx.axes::<1>(values)?;
        let [sizes] = cx.axes::<1>(shape)?;
        let count = cx
            .agree("the number of rows of the indices and the number of values", &count, &values_count)
            .map_err(|error| error.operand(values))?;
        let rank = cx
            .agree("the number of columns of the indices and the number of sizes", &rank, &sizes)
            .map_err(|error| error.operand(shape))?;
        Ok(SparseOperand { count, rank })
    }

    /// Unifies the ranks of two sparse tensors.
    pub(super) fn same_rank(&self, cx: &mut InferenceContext<'_>, other: &SparseOperand) -> Result<Dim> {
        cx.agree("the ranks of the sparse tensors", &self.rank, &other.rank)
    }
}

/// Sets outputs `first`, `first + 1` and `first + 2` to the indices, values and shape of a sparse tensor.
pub(super) fn set_sparse(cx: &mut InferenceContext<'_>, first: usize, count: &Dim, rank: &Dim) {
    cx.set_output(first, TensorShape::new([count.clone(), rank.clone()]));
    cx.set_output(first + 1, TensorShape::new([count.clone()]));
    cx.set_output(first + 2, TensorShape::new([rank.clone()]));
}

/// Sets these outputs to the indices, values and shape of a sparse tensor whose number of elements depends on the data.
pub(crate) fn set_sparse_rows(cx: &mut InferenceContext<'_>, outputs: [usize; 3], rank: &Dim) {
    let count = cx.fresh();
    cx.set_output(outputs[0], TensorShape::new([count.clone(), rank.clone()]));
    cx.set_output(outputs[1], TensorShape::new([count]));
    cx.set_output(outputs[2], TensorShape::new([rank.clone()]));
}
