//! [`Storage`]: the shared elements of a tensor.

use std::sync::Arc;

use super::strings::StringBuffer;
use super::{Buffer, SharedBytes, TensorList};
use crate::error::Result;

/// The elements of a tensor: all bytes of a buffer, bytes of another owner, strings, or the lists of a variant tensor.
/// The bytes are aligned for the type of the elements' bits, and the bytes of bools are 0 or 1.
#[derive(Clone)]
pub(super) enum Storage {
    Bytes(Arc<Buffer>),
    Shared(SharedBytes),
    Strings(Arc<StringBuffer>),
    Lists(Arc<Vec<TensorList>>),
}

impl Storage {
    pub(super) fn of(buffer: Buffer) -> Storage {
        Storage::Bytes(Arc::new(buffer))
    }

    pub(super) fn of_strings(strings: StringBuffer) -> Storage {
        Storage::Strings(Arc::new(strings))
    }

    /// Returns the bytes for writing; empty for strings and lists. Shared bytes are copied first.
    pub(super) fn unshared_bytes(&mut self) -> Result<&mut [u8]> {
        if let Storage::Shared(shared) = self {
            let mut copy = Buffer::new(shared.bytes().len())?;
            copy.bytes_mut().copy_from_slice(shared.bytes());
            *self = Storage::of(copy);
        }
        let Storage::Bytes(buffer) = self else { return Ok(&mut []) };
        if Arc::get_mut(buffer).is_none() {
            let mut copy = Buffer::new(buffer.len())?;
            copy.bytes_mut().copy_from_slice(buffer.bytes());
            *buffer = Arc::new(copy);
        }
        let buffer = Arc::get_mut(buffer).expect("a buffer just copied has one owner");
        Ok(buffer.bytes_mut())
    }
}
