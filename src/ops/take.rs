//! `take`: copies runs of elements of a tensor into a new tensor. A string operand arrives as i64 handles: integers
//! that stand for the strings (`StringHandles`).

use crate::error::Result;
use crate::tensor::{Tensor, TensorView, size_of_element};

/// Makes a tensor of `sizes` from runs of `width` elements of a row-major tensor. The runs start at `starts`. All runs
/// together must have the number of elements of the result.
///
/// # Errors
/// The allocation fails.
pub(crate) fn take(
    x: &TensorView<'_>,
    sizes: &[usize],
    width: usize,
    starts: impl Iterator<Item = usize>,
) -> Result<Tensor> {
    let mut result = Tensor::allocate(x.dtype(), sizes)?;
    let size = size_of_element(x.dtype())?;
    let (from, mut to, bytes) = (x.bytes(), result.view_mut()?, width * size);
    for (start, target) in starts.zip(to.bytes_mut().chunks_exact_mut(bytes.max(1))) {
        target.copy_from_slice(&from[start * size..start * size + bytes]);
    }
    Ok(result)
}
