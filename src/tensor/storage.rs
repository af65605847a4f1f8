//! [`Storage`]: the shared elements of a tensor.

use std::sync::Arc;

use super::{Buffer, TensorList};
use crate::error::{Error, ErrorKind, Phase, Result};

/// The elements of a tensor: all bytes of a buffer, strings, or the lists of a variant tensor. The bytes of bools are 0 or 1.
#[derive(Clone)]
pub(super) enum Storage {
    Bytes(Arc<Buffer>),
    Strings(Arc<Vec<Box<[u8]>>>),
    Lists(Arc<Vec<TensorList>>),
}

impl Storage {
    pub(super) fn of(buffer: Buffer) -> Storage {
        Storage::Bytes(Arc::new(buffer))
    }

    /// Returns the bytes for writing; empty for strings and lists. Shared bytes are copied first.
    pub(super) fn unshared_bytes(&mut self) -> Result<&mut [u8]> {
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

/// Makes an empty vector with capacity for `len` strings.
pub(super) fn string_vec(len: usize) -> Result<Vec<Box<[u8]>>> {
    let mut strings = Vec::new();
    strings.try_reserve_exact(len).map_err(|_| {
        Error::new(ErrorKind::Memory, Phase::Run, format!("out of memory: could not allocate {len} strings"))
    })?;
    Ok(strings)
}
