//! [`SharedBytes`]: bytes that belong to another owner, such as a mapped file.

use std::any::Any;
use std::sync::Arc;

/// Read-only bytes of an owner outside this crate. A clone shares the owner.
#[derive(Clone)]
pub(crate) struct SharedBytes {
    start: *const u8,
    len: usize,
    /// Keeps the bytes alive.
    _owner: Arc<dyn Any + Send + Sync>,
}

// SAFETY: the bytes are only read, and the owner, which keeps them alive, may be sent and shared.
unsafe impl Send for SharedBytes {}
// SAFETY: as above.
unsafe impl Sync for SharedBytes {}

impl SharedBytes {
    /// Returns the bytes of `owner`. The bytes keep the owner alive.
    pub(crate) fn new<T: AsRef<[u8]> + Send + Sync + 'static>(owner: Arc<T>) -> SharedBytes {
        let bytes: &[u8] = (*owner).as_ref();
        SharedBytes { start: bytes.as_ptr(), len: bytes.len(), _owner: owner }
    }

    #[cfg(any(feature = "graphdef", feature = "safetensors"))]
    /// Maps a file into memory. The system reads a page of the file when the page is first used.
    ///
    /// # Errors
    /// `Io`: the file cannot be opened or mapped.
    pub(crate) fn map_file(path: &std::path::Path) -> crate::error::Result<SharedBytes> {
        use crate::error::{Error, ErrorKind, Phase};
        let failed = |error: std::io::Error| {
            Error::new(ErrorKind::Io, Phase::Run, format!("{}: {error}", path.display()))
        };
        let file = std::fs::File::open(path).map_err(failed)?;
        // A folder opens too, but its mapping fails with the error of a missing device.
        if file.metadata().map_err(failed)?.is_dir() {
            return Err(failed(std::io::ErrorKind::IsADirectory.into()));
        }
        // SAFETY: the bytes are only read. The docs of every function that maps a file demand that nothing changes the
        // file while tensors use it.
        let map = unsafe { memmap2::Mmap::map(&file) }.map_err(failed)?;
        Ok(SharedBytes::new(Arc::new(map)))
    }

    /// Returns the bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: `new` took the address and the length from the owner. The owner is alive, and `self` shares it, so
        // nobody has exclusive access to it.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }

    #[cfg(any(feature = "graphdef", feature = "safetensors"))]
    /// Returns a part of the bytes; `None` if the range exceeds them.
    pub(crate) fn slice(&self, range: std::ops::Range<usize>) -> Option<SharedBytes> {
        let part = self.bytes().get(range)?;
        Some(SharedBytes { start: part.as_ptr(), len: part.len(), _owner: self._owner.clone() })
    }
}
