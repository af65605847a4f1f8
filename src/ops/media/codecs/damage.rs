//! What decoders share: errors about a file, bounded memory, and reads of integers.

use crate::error::{Error, ErrorKind, Phase, Result};
use crate::tensor::reserved_vec;

/// The greatest number of elements of a decoded image or animation, as in TensorFlow.
pub(super) const MAX_ELEMENTS: usize = 1 << 29;

/// Makes an error about the bytes of a file or about an element.
pub(super) fn damage(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Data, Phase::Run, message.into())
}

/// Returns a vector of `len` equal elements.
///
/// # Errors
/// `Memory`: the allocation fails.
pub(super) fn filled<T: Copy>(len: usize, element: T) -> Result<Vec<T>> {
    let mut all = reserved_vec(len)?;
    all.resize(len, element);
    Ok(all)
}

/// Returns the number of elements of an image.
///
/// # Errors
/// There are none, or at least 2²⁹.
pub(super) fn checked_len(sizes: &[usize]) -> Result<usize> {
    let len = sizes.iter().try_fold(1usize, |len, size| len.checked_mul(*size));
    match len {
        Some(len @ 1..MAX_ELEMENTS) => Ok(len),
        Some(0) => Err(damage(format!("an image must have pixels, got the sizes {sizes:?}"))),
        _ => Err(damage(format!("an image must have fewer than 2^29 elements, got the sizes {sizes:?}"))),
    }
}

/// Returns the little-endian 16-bit integer at `offset`.
pub(super) fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(offset..)?.first_chunk()?))
}

/// Returns the little-endian 32-bit integer at `offset`.
pub(super) fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(offset..)?.first_chunk()?))
}
