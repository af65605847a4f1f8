//! [`Buffer`]: aligned memory that tensors and arenas are made of.

use std::slice;

use super::aligned_memory::AlignedMemory;
use super::buffer_pool::PoolReturn;
use crate::error::Result;

/// Bytes that start at a multiple of 64: a cache line, and the widest vector. Their memory is freed on drop, or
/// returned to a [`BufferPool`](super::BufferPool).
///
/// Every byte counts as initialised: a new buffer holds unspecified bytes ([`Buffer::new`]) or zeros
/// ([`Buffer::zeroed`]), so reading a byte that no kernel has written is a wrong answer, not undefined
/// behaviour. Whoever writes through [`Buffer::as_ptr`] must ensure that nobody holds a slice of the
/// same bytes.
pub(crate) struct Buffer {
    memory: AlignedMemory,
    /// At most as many bytes as `memory` has.
    len: usize,
    /// The pool that the memory returns to.
    returns: Option<PoolReturn>,
}

impl Buffer {
    /// `len` bytes of unspecified content.
    ///
    /// # Errors
    /// `Memory`: more than `isize::MAX` bytes, or the allocator refuses.
    pub(crate) fn new(len: usize) -> Result<Buffer> {
        Ok(Buffer::unspecified(AlignedMemory::new(len, false)?, len))
    }

    /// `len` zero bytes. The system zeroes large buffers page by page, as they are first touched.
    ///
    /// # Errors
    /// As [`Buffer::new`].
    pub(crate) fn zeroed(len: usize) -> Result<Buffer> {
        Ok(Buffer::initialised(AlignedMemory::new(len, true)?, len))
    }

    /// The first `len` bytes of `memory`, with unspecified content.
    pub(super) fn unspecified(memory: AlignedMemory, len: usize) -> Buffer {
        let buffer = Buffer::initialised(memory, len);
        buffer.freeze();
        buffer
    }

    /// The first `len` bytes of `memory`, which must be initialised or be frozen by the caller.
    pub(super) fn initialised(memory: AlignedMemory, len: usize) -> Buffer {
        assert!(len <= memory.len(), "a buffer of {len} bytes needs more than {} bytes", memory.len());
        Buffer { memory, len, returns: None }
    }

    /// Makes unspecified bytes initialised in the eyes of the language.
    fn freeze(&self) {
        let start = self.memory.start();
        // Debug builds write NaNs and -1, so that an element that no kernel wrote shows.
        let unwritten = cfg!(any(debug_assertions, miri))
            || !cfg!(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"));
        if unwritten {
            // SAFETY: the buffer owns `len` bytes at `start` and nobody else has seen them.
            unsafe { start.write_bytes(0xff, self.len) };
            return;
        }
        #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"), not(miri)))]
        // SAFETY: no instruction runs. The block gets the address and does not promise to leave memory alone, so the
        // compiler must assume that it wrote the bytes.
        unsafe {
            std::arch::asm!("/* {0} */", in(reg) start.as_ptr(), options(nostack, preserves_flags));
        }
    }

    /// Drops the bytes from `len` on. The memory stays as large as it is.
    pub(super) fn shorten(&mut self, len: usize) {
        assert!(len <= self.len, "a buffer of {} bytes cannot grow to {len}", self.len);
        self.len = len;
    }

    /// Returns the memory to a pool when the buffer is dropped.
    pub(super) fn return_to(&mut self, pool: PoolReturn) {
        self.returns = Some(pool);
    }

    /// The first byte; a multiple of 64, never null, dangling if the length is zero.
    pub(crate) fn as_ptr(&self) -> *mut u8 {
        self.memory.start().as_ptr()
    }

    /// The number of bytes.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// All bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: `len` initialised bytes live as long as `self`; writers through `as_ptr` promise that
        // nobody holds this slice.
        unsafe { slice::from_raw_parts(self.as_ptr(), self.len) }
    }

    /// All bytes, writable.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and `&mut self` makes it the only access.
        unsafe { slice::from_raw_parts_mut(self.as_ptr(), self.len) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some(pool) = self.returns.take() {
            pool.give_back(std::mem::replace(&mut self.memory, AlignedMemory::empty()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_as_long_as_asked() {
        for len in [0, 1, 63, 64, 65, 4096, (3 << 20) + 12345] {
            let mut buffer = Buffer::new(len).unwrap();
            assert_eq!((buffer.len(), buffer.as_ptr().addr() % 64), (len, 0));
            buffer.bytes_mut().fill(7);
            assert!(buffer.bytes().iter().all(|byte| *byte == 7));
            let zeroed = Buffer::zeroed(len).unwrap();
            assert_eq!((zeroed.len(), zeroed.as_ptr().addr() % 64), (len, 0));
            assert!(zeroed.bytes().iter().all(|byte| *byte == 0));
        }
    }
}
