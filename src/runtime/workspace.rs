//! [`Workspace`]: the working memory of one thread.

use crate::error::Result;
use crate::lower::kernel_body::TILE;
use crate::tensor::Buffer;

/// The working memory of one thread. Launches reuse it and leave unspecified contents.
#[derive(Default)]
pub(crate) struct Workspace {
    scratch: Option<Buffer>,
    tile: Option<Buffer>,
    /// The slot words of a kernel call.
    pub(super) words: Vec<i64>,
    /// By slot: the address or value of the slot at the current outer indices.
    pub(super) bases: Vec<i64>,
}

impl Workspace {
    /// The address of at least `bytes` bytes, a multiple of 64.
    ///
    /// # Errors
    /// Memory is refused.
    pub(super) fn scratch(&mut self, bytes: usize) -> Result<usize> {
        Ok(at_least(&mut self.scratch, bytes)?.as_ptr() as usize)
    }

    /// The address of the accumulators of `reduces` column reductions.
    ///
    /// # Errors
    /// Memory is refused.
    pub(super) fn tile(&mut self, reduces: usize) -> Result<usize> {
        Ok(at_least(&mut self.tile, reduces * 8 * TILE)?.as_ptr() as usize)
    }
}

/// The workspace of the calling thread, which is the first one.
pub(super) fn first(workspaces: &mut Vec<Workspace>) -> &mut Workspace {
    if workspaces.is_empty() {
        workspaces.push(Workspace::default());
    }
    &mut workspaces[0]
}

/// The buffer, replaced by a zeroed one if it has fewer than `bytes` bytes.
///
/// # Errors
/// Memory is refused.
pub(super) fn at_least(buffer: &mut Option<Buffer>, bytes: usize) -> Result<&Buffer> {
    // The old buffer is freed first, so that the two do not take memory at the same time.
    if buffer.as_ref().is_some_and(|held| held.len() < bytes) {
        *buffer = None;
    }
    match buffer {
        Some(held) => Ok(held),
        None => Ok(buffer.insert(Buffer::zeroed(bytes.max(64))?)),
    }
}
