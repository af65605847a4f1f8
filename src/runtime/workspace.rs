//! [`Workspace`]: the working memory of one thread.

use crate::error::Result;
use crate::lower::kernel_body::TILE;
use crate::tensor::Buffer;

/// The working memory of one thread. Each launch reuses the memory and leaves unspecified contents in it.
#[derive(Default)]
pub(crate) struct Workspace {
    scratch: Option<Buffer>,
    tile: Option<Buffer>,
    /// The words of all slots of a kernel call: for each slot, its base address and its strides.
    pub(super) words: Vec<i64>,
    /// For each slot: its address at the current outer indices. For a slot without a buffer: its value there.
    pub(super) bases: Vec<i64>,
}

impl Workspace {
    /// Returns the address, a multiple of 64, of at least `bytes` bytes.
    ///
    /// # Errors
    /// Memory is refused.
    pub(super) fn scratch(&mut self, bytes: usize) -> Result<usize> {
        Ok(ensure_capacity(&mut self.scratch, bytes)?.as_ptr() as usize)
    }

    /// Returns the address of the accumulators of `reduces` column reductions: [`TILE`] accumulators of at most 8 bytes
    /// for each reduction.
    ///
    /// # Errors
    /// Memory is refused.
    pub(super) fn tile(&mut self, reduces: usize) -> Result<usize> {
        Ok(ensure_capacity(&mut self.tile, reduces * 8 * TILE)?.as_ptr() as usize)
    }
}

/// Returns the workspace of the calling thread, which is the first workspace.
pub(super) fn first_workspace(workspaces: &mut Vec<Workspace>) -> &mut Workspace {
    if workspaces.is_empty() {
        workspaces.push(Workspace::default());
    }
    &mut workspaces[0]
}

/// Returns the buffer in `buffer`. If there is no buffer, or if the buffer has fewer than `bytes` bytes, the function
/// first puts a new zeroed buffer there.
///
/// # Errors
/// Memory is refused.
pub(super) fn ensure_capacity(buffer: &mut Option<Buffer>, bytes: usize) -> Result<&Buffer> {
    // The old buffer is freed first, so that the old and the new buffer do not take memory at the same time.
    if buffer.as_ref().is_some_and(|held| held.len() < bytes) {
        *buffer = None;
    }
    match buffer {
        Some(held) => Ok(held),
        None => Ok(buffer.insert(Buffer::zeroed(bytes.max(64))?)),
    }
}
