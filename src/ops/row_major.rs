//! `RowMajor`: a kernel's operand with its elements one after the other.

use crate::error::Result;
use crate::tensor::{Tensor, TensorView};

/// The operand itself, or a copy when its strides are others.
pub(crate) enum RowMajor<'a> {
    Given(TensorView<'a>),
    Copied(Tensor),
}

impl<'a> RowMajor<'a> {
    /// # Errors
    /// Memory for the copy is refused.
    pub(crate) fn new(view: TensorView<'a>) -> Result<RowMajor<'a>> {
        Ok(if view.is_row_major() { RowMajor::Given(view) } else { RowMajor::Copied(view.to_tensor()?) })
    }

    pub(crate) fn view(&self) -> TensorView<'_> {
        match self {
            RowMajor::Given(view) => *view,
            RowMajor::Copied(tensor) => tensor.view(),
        }
    }
}
