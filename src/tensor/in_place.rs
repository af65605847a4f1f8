//! Access to the elements of a tensor in place: this access never copies or moves the elements.

use std::sync::Arc;

use super::layout::Layout;
use super::storage::Storage;
use super::{Tensor, TensorViewMut};

impl Tensor {
    /// Returns the address of the first byte and the number of bytes; strings and lists have no bytes. A write through
    /// the address needs a tensor that shares its elements with no other tensor and with no slice.
    pub(crate) fn raw_bytes(&self) -> (*mut u8, usize) {
        match &self.storage {
            Storage::Bytes(buffer) => (buffer.as_ptr(), buffer.len()),
            Storage::Shared(shared) => (shared.bytes().as_ptr().cast_mut(), shared.bytes().len()),
            Storage::Strings(_) | Storage::Lists(_) => (std::ptr::NonNull::dangling().as_ptr(), 0),
        }
    }

    /// Borrows the elements for writing, as [`Tensor::view_mut`] does, but never copies them. Returns `None` if the
    /// elements are shared, and for a variant tensor.
    pub(crate) fn unshared_view_mut(&mut self) -> Option<TensorViewMut<'_>> {
        let Layout { sizes, len, .. } = &self.layout;
        match &mut self.storage {
            Storage::Strings(strings) => Some(TensorViewMut::of_strings(sizes, *len, strings)),
            Storage::Bytes(buffer) => {
                Some(TensorViewMut::of_bytes(self.dtype, sizes, *len, Arc::get_mut(buffer)?.bytes_mut()))
            }
            // A variant tensor is only replaced as a whole.
            Storage::Shared(_) | Storage::Lists(_) => None,
        }
    }
}
