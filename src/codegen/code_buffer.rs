//! [`CodeBuffer`]: position-independent code in executable memory.

use std::io::Write;

use memmap2::{Mmap, MmapMut};

use super::error::cannot_compile;
use crate::error::Result;

/// Executable bytes at a fixed address, freed on drop. The address is a multiple of the page size, so an offset that is
/// a multiple of [`ALIGN`](super::simd::ALIGN) gives an address that is one too.
pub(super) struct CodeBuffer {
    /// `None` if there are no bytes, because the system maps no empty region.
    pages: Option<Mmap>,
    len: usize,
}

impl CodeBuffer {
    /// Copies `code` to memory that is then executable and no longer writable.
    ///
    /// # Errors
    /// The system refuses executable memory.
    pub fn new(code: &[u8]) -> Result<CodeBuffer> {
        if code.is_empty() {
            return Ok(CodeBuffer { pages: None, len: 0 });
        }
        let mut pages = MmapMut::map_anon(code.len()).map_err(cannot_compile)?;
        pages[..code.len()].copy_from_slice(code);
        let pages = pages.make_exec().map_err(cannot_compile)?;
        Ok(CodeBuffer { pages: Some(pages), len: code.len() })
    }

    /// Returns the address of the byte at `offset`.
    pub fn address(&self, offset: usize) -> *const u8 {
        assert!(offset < self.len, "offset {offset} lies outside a code buffer of {} bytes", self.len);
        let pages = self.pages.as_ref().expect("a buffer with bytes has pages");
        pages.as_ptr().wrapping_add(offset)
    }
}

/// Tells the profiler `perf` the address and size of each function, if `PERF_BUILDID_DIR` is set: Cranelift's modules
/// do so under the same condition. The function names count the functions of one buffer.
pub(super) fn tell_perf(functions: impl Iterator<Item = (*const u8, usize)>) {
    if !cfg!(unix) || std::env::var_os("PERF_BUILDID_DIR").is_none() {
        return;
    }
    let path = format!("/tmp/perf-{}.map", std::process::id());
    let Ok(mut map) = std::fs::OpenOptions::new().create(true).append(true).open(path) else { return };
    for (number, (address, size)) in functions.enumerate() {
        // A profile without names is still useful, so a failed write is not an error.
        let _ = writeln!(map, "{:x} {size:x} kernel_{number}", address as usize);
    }
}
