//! `Placed`: code that needs no linking, in executable memory of its own.

use std::io::Write;

use cranelift_jit::{BranchProtection, JITMemoryKind, JITMemoryProvider, SystemMemoryProvider};

use super::module::refused;
use crate::error::Result;

/// Bytes that stay where they are until this is dropped.
pub(super) struct Placed {
    memory: SystemMemoryProvider,
    start: *const u8,
    len: usize,
}

// SAFETY: the memory belongs to this alone, and nothing writes to it once it is made.
unsafe impl Send for Placed {}

impl Placed {
    /// Makes `code` executable where it may be jumped to, its start at a multiple of `align`, which divides a page.
    ///
    /// # Errors
    /// Executable memory was refused.
    pub fn new(code: &[u8], align: u64) -> Result<Placed> {
        let mut placed =
            Placed { memory: SystemMemoryProvider::new(), start: std::ptr::null(), len: code.len() };
        if code.is_empty() {
            return Ok(placed);
        }
        let to = placed.memory.allocate(code.len(), align, JITMemoryKind::Executable).map_err(refused)?;
        placed.start = to;
        // SAFETY: `to` starts as many bytes, which are new and not yet protected.
        unsafe { to.copy_from_nonoverlapping(code.as_ptr(), code.len()) };
        placed.memory.finalize(BranchProtection::None).map_err(refused)?;
        Ok(placed)
    }

    /// Where the byte at an offset is.
    pub fn at(&self, offset: usize) -> Option<*const u8> {
        // SAFETY: the offset lies inside the allocation.
        (offset < self.len).then(|| unsafe { self.start.add(offset) })
    }
}

/// Tells `perf` where functions are, as Cranelift's own modules do: if `PERF_BUILDID_DIR` is set.
pub(super) fn tell_perf(functions: impl Iterator<Item = (*const u8, usize)>) {
    if !cfg!(unix) || std::env::var_os("PERF_BUILDID_DIR").is_none() {
        return;
    }
    let path = format!("/tmp/perf-{}.map", std::process::id());
    let Ok(mut map) = std::fs::OpenOptions::new().create(true).append(true).open(path) else { return };
    for (number, (at, size)) in functions.enumerate() {
        // A profile without names is still one.
        let _ = writeln!(map, "{:x} {size:x} kernel_{number}", at as usize);
    }
}

impl Drop for Placed {
    fn drop(&mut self) {
        // SAFETY: pointers into it are handed out to `CodeModule` only, which lends them for the length of a launch
        // and owns this.
        unsafe { self.memory.free_memory() }
    }
}
