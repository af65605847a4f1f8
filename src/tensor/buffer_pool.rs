//! [`BufferPool`]: a free list of tensor buffers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::aligned_memory::AlignedMemory;

/// Free list of tensor buffers, reused to avoid page faults and clearing.
///
/// A tensor that the pool makes gives its memory back when its last clone is dropped, on any thread. A full pool frees
/// its oldest entry.
pub(crate) struct BufferPool(Arc<FreeList>);

struct FreeList {
    /// The free memory, oldest entry first.
    entries: Mutex<Vec<FreeBuffer>>,
    /// The maximum number of entries.
    capacity: usize,
}

/// The memory of a dropped buffer.
pub(super) struct FreeBuffer {
    pub memory: AlignedMemory,
    /// Whether all bytes are valid bools: 0 or 1.
    pub bools: bool,
}

/// The pool to which a buffer returns its memory.
pub(super) struct PoolReturn {
    free: Weak<FreeList>,
    bools: bool,
}

/// The smallest pooled buffer in bytes. For smaller buffers, the allocator's own free lists are as fast.
pub(super) const MIN_POOLED: usize = 128 << 10;

impl BufferPool {
    /// Makes a pool that keeps at most `capacity` entries.
    pub(crate) fn new(capacity: usize) -> BufferPool {
        BufferPool(Arc::new(FreeList { entries: Mutex::default(), capacity }))
    }

    /// Frees all entries.
    pub(crate) fn clear(&self) {
        self.0.lock().clear();
    }

    /// Takes the smallest entry of at least `len` bytes, unless more than half of the entry would be wasted. Among
    /// entries of equal size, an entry with `entry.bools == bools` comes first.
    pub(super) fn take(&self, len: usize, bools: bool) -> Option<FreeBuffer> {
        let mut entries = self.0.lock();
        let fitting = entries.iter().enumerate().filter(|(_, entry)| {
            let size = entry.memory.len();
            size >= len && size / 2 <= len
        });
        let (index, _) = fitting.min_by_key(|(_, entry)| (entry.memory.len(), entry.bools != bools))?;
        Some(entries.remove(index))
    }

    /// Makes the handle with which a buffer returns its memory. `bools` promises that the buffer's bytes are valid
    /// bools.
    pub(super) fn return_handle(&self, bools: bool) -> PoolReturn {
        PoolReturn { free: Arc::downgrade(&self.0), bools }
    }

    /// Returns the number of entries.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.lock().len()
    }
}

impl FreeList {
    fn lock(&self) -> MutexGuard<'_, Vec<FreeBuffer>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PoolReturn {
    /// Gives `memory` to the pool, or frees it if the pool is gone.
    pub(super) fn give_back(self, memory: AlignedMemory) {
        let Some(free) = self.free.upgrade() else { return };
        let mut entries = free.lock();
        let oldest = (entries.len() >= free.capacity && !entries.is_empty()).then(|| entries.remove(0));
        if free.capacity > 0 {
            entries.push(FreeBuffer { memory, bools: self.bools });
        }
        drop(entries);
        // Freeing memory is slow, so it happens outside the lock.
        drop(oldest);
    }
}
