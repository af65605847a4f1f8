//! [`SparseOperand`]: the three operands a sparse tensor is given by.

use crate::{Dim, InferenceContext, Result, TensorShape};

/// A sparse tensor as its operands describe it; the dimensions they share are unified.
pub(super) struct SparseOperand {
    /// How many elements it holds.
    pub(super) count: Dim,
    /// How many axes it has.
    pub(super) rank: Dim,
}

impl SparseOperand {
    /// The sparse tensor in operands `first`, `first + 1` and `first + 2`: indices, values and shape.
    ///
    /// # Errors
    /// Indices are not a matrix, values or shape no vector, or what they share provably differs.
    pub(super) fn read(cx: &mut InferenceContext<'_>, first: usize) -> Result<SparseOperand> {
        SparseOperand::of(cx, first, first + 1, first + 2)
    }

    /// Like [`SparseOperand::read`], of operands that do not stand side by side.
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
            .agree("the rows of the indices and the number of values", &count, &values_count)
            .map_err(|error| error.operand(values))?;
        let rank = cx
            .agree("the columns of the indices and the number of sizes", &rank, &sizes)
            .map_err(|error| error.operand(shape))?;
        Ok(SparseOperand { count, rank })
    }

    /// Ties the ranks of two sparse tensors.
    pub(super) fn same_rank(&self, cx: &mut InferenceContext<'_>, other: &SparseOperand) -> Result<Dim> {
        cx.agree("the ranks of the sparse tensors", &self.rank, &other.rank)
    }
}

/// Sets outputs `first` to `first + 2` to indices, values and shape of a sparse tensor.
pub(super) fn set_sparse(cx: &mut InferenceContext<'_>, first: usize, count: &Dim, rank: &Dim) {
    cx.set_output(first, TensorShape::new([count.clone(), rank.clone()]));
    cx.set_output(first + 1, TensorShape::new([count.clone()]));
    cx.set_output(first + 2, TensorShape::new([rank.clone()]));
}
