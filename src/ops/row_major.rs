//! `RowMajor`: an operand of a host op with contiguous row-major elements.

use crate::error::Result;
use crate::tensor::{Tensor, TensorView};

/// A row-major operand: the operand itself, or a copy of a strided one.
pub(crate) enum RowMajor<'a> {
    Borrowed(TensorView<'a>),
    Copied(Tensor),
}

impl<'a> RowMajor<'a> {
    /// Copies `view` if it is not row-major.
    ///
    /// # Errors
    /// `Memory`: the allocation of the copy fails.
    pub(crate) fn new(view: TensorView<'a>) -> Result<RowMajor<'a>> {
        Ok(if view.is_row_major() { RowMajor::Borrowed(view) } else { RowMajor::Copied(view.to_tensor()?) })
    }

    /// Returns the row-major elements.
    pub(crate) fn view(&self) -> TensorView<'_> {
        match self {
            RowMajor::Borrowed(view) => view.clone(),
            RowMajor::Copied(tensor) => tensor.view(),
        }
    }
}
