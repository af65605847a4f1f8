//! [`Buffer`]: the memory of tensors and arenas.

use std::slice;

use super::aligned_memory::AlignedMemory;
use super::buffer_pool::PoolReturn;
use crate::error::Result;

/// Bytes that start at a multiple of 64, the size of a cache line and of the widest vector. Dropping the buffer frees
/// the memory or returns it to a [`BufferPool`](super::BufferPool).
///
/// Every byte counts as initialized: a new buffer holds unspecified bytes ([`Buffer::new`]) or zeros
/// ([`Buffer::zeroed`]). Reading a byte that no kernel has written is therefore a wrong answer, but not undefined
/// behavior. Code that writes through [`Buffer::as_ptr`] must ensure that no slice of the same bytes exists.
pub(crate) struct Buffer {
    memory: AlignedMemory,
    /// The number of bytes in use, at most `memory.len()`.
    len: usize,
    /// The pool to which the memory returns on drop.
    pool_return: Option<PoolReturn>,
}

impl Buffer {
    /// Allocates `len` bytes of unspecified content.
    ///
    /// # Errors
    /// `Memory`: `len` exceeds `isize::MAX`, or the allocation fails.
    pub(crate) fn new(len: usize) -> Result<Buffer> {
        Ok(Buffer::unspecified(AlignedMemory::new(len, false)?, len))
    }

    /// Allocates `len` zero bytes. The system zeroes the pages of a large buffer when they are first touched.
    ///
    /// # Errors
    /// As [`Buffer::new`].
    pub(crate) fn zeroed(len: usize) -> Result<Buffer> {
        Ok(Buffer::initialized(AlignedMemory::new(len, true)?, len))
    }

    /// Makes a buffer of the first `len` bytes of `memory`. These bytes may be uninitialized. The buffer holds
    /// unspecified bytes.
    pub(super) fn unspecified(memory: AlignedMemory, len: usize) -> Buffer {
        let buffer = Buffer::initialized(memory, len);
        buffer.freeze();
        buffer
    }

    /// Makes a buffer of the first `len` bytes of `memory`. The bytes must be initialized, or the caller must freeze
    /// the buffer.
    pub(super) fn initialized(memory: AlignedMemory, len: usize) -> Buffer {
        assert!(len <= memory.len(), "a buffer of {len} bytes needs more than {} bytes", memory.len());
        Buffer { memory, len, pool_return: None }
    }

    /// Makes uninitialized bytes initialized for the compiler, with unspecified values.
    fn freeze(&self) {
        let start = self.memory.start();
        // Debug builds fill with 0xff (NaN, -1), so that elements that no kernel wrote stand out.
        let fill = cfg!(any(debug_assertions, miri))
            || !cfg!(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"));
        if fill {
            // SAFETY: the buffer owns `len` bytes at `start` and nobody else has seen them.
            unsafe { start.write_bytes(0xff, self.len) };
            return;
        }
        #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"), not(miri)))]
        // SAFETY: no instruction runs. The assembly block takes the address and lacks `nomem`, so the compiler must
        // assume that the block wrote the bytes.
        unsafe {
            std::arch::asm!("/* {0} */", in(reg) start.as_ptr(), options(nostack, preserves_flags));
        }
    }

    /// Shortens the buffer to `len` bytes. The memory keeps its size.
    pub(super) fn shorten(&mut self, len: usize) {
        assert!(len <= self.len, "a buffer of {} bytes cannot grow to {len}", self.len);
        self.len = len;
    }

    /// Sets the pool to which the memory returns on drop.
    pub(super) fn return_to(&mut self, pool: PoolReturn) {
        self.pool_return = Some(pool);
    }

    /// Returns the address of the first byte: a multiple of 64, never null, dangling if the length is zero.
    pub(crate) fn as_ptr(&self) -> *mut u8 {
        self.memory.start().as_ptr()
    }

    /// Returns the number of bytes.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns all bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: `len` initialized bytes live as long as `self`. Code that writes through `as_ptr` ensures that this
        // slice does not exist meanwhile.
        unsafe { slice::from_raw_parts(self.as_ptr(), self.len) }
    }

    /// Returns all bytes for writing.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and `&mut self` excludes any other access.
        unsafe { slice::from_raw_parts_mut(self.as_ptr(), self.len) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some(pool) = self.pool_return.take() {
            pool.give_back(std::mem::replace(&mut self.memory, AlignedMemory::empty()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_have_the_requested_length_and_alignment() {
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
