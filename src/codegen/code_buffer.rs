//! [`CodeBuffer`]: position-independent code in executable memory.

use std::io::Write;

use cranelift_jit::{BranchProtection, JITMemoryKind, JITMemoryProvider, SystemMemoryProvider};

use super::error::cannot_compile;
use crate::error::Result;

/// Executable bytes at a fixed address, freed on drop.
pub(super) struct CodeBuffer {
    memory: SystemMemoryProvider,
    start: *const u8,
    len: usize,
}

// SAFETY: the buffer owns its memory, and nothing writes to the memory after `CodeBuffer::new`.
unsafe impl Send for CodeBuffer {}

impl CodeBuffer {
    /// Copies `code` to executable memory. Its address is a multiple of `align`, which must divide the page size.
    ///
    /// # Errors
    /// The system refuses executable memory.
    pub fn new(code: &[u8], align: u64) -> Result<CodeBuffer> {
        let mut buffer =
            CodeBuffer { memory: SystemMemoryProvider::new(), start: std::ptr::null(), len: code.len() };
        if code.is_empty() {
            return Ok(buffer);
        }
        let start =
            buffer.memory.allocate(code.len(), align, JITMemoryKind::Executable).map_err(cannot_compile)?;
        buffer.start = start;
        // SAFETY: `start` points to `code.len()` new bytes, which are writable until `finalize`.
        unsafe { start.copy_from_nonoverlapping(code.as_ptr(), code.len()) };
        buffer.memory.finalize(BranchProtection::None).map_err(cannot_compile)?;
        Ok(buffer)
    }

    /// The address of the byte at `offset`.
    pub fn address(&self, offset: usize) -> *const u8 {
        assert!(offset < self.len, "offset {offset} lies outside a code buffer of {} bytes", self.len);
        // SAFETY: the offset lies inside the allocation.
        unsafe { self.start.add(offset) }
    }
}

impl Drop for CodeBuffer {
    fn drop(&mut self) {
        // SAFETY: only `CodeModule`, which owns this buffer, holds pointers into it, and it lends them for the length
        // of a call.
        unsafe { self.memory.free_memory() }
    }
}

/// Tells `perf` the address and size of each function, if `PERF_BUILDID_DIR` is set; Cranelift's modules do the same.
pub(super) fn tell_perf(functions: impl Iterator<Item = (*const u8, usize)>) {
    if !cfg!(unix) || std::env::var_os("PERF_BUILDID_DIR").is_none() {
        return;
    }
    let path = format!("/tmp/perf-{}.map", std::process::id());
    let Ok(mut map) = std::fs::OpenOptions::new().create(true).append(true).open(path) else { return };
    for (number, (address, size)) in functions.enumerate() {
        // A profile without names is still useful, so a failed write is no error.
        let _ = writeln!(map, "{:x} {size:x} kernel_{number}", address as usize);
    }
}
