//! [`Stream`]: a write-combining buffer whose stores bypass the caches, one whole cache line at a time.

use std::mem::MaybeUninit;
use std::ptr;

use super::cpu::CACHE_LINE;
use super::moves;

/// The maximum number of bytes of one [`Stream::put`]. The buffer and a source of this size fit in the L1 cache
/// together.
pub(super) const PIECE: usize = 8 << 10;

#[repr(C, align(64))]
struct StreamBuffer(MaybeUninit<[u8; PIECE + CACHE_LINE]>);

/// A buffer of bytes on their way to their destinations.
///
/// If a piece continues the previous piece in the destination, both pieces fill the same cache line. So each line is
/// stored once and whole, however short the pieces are.
pub(super) struct Stream {
    buffer: StreamBuffer,
    /// The destination of the buffer's first cache line.
    line: *mut u8,
    /// The buffer holds the bytes `first..held`. The bytes before `first` belong to the first line, but are not
    /// written.
    first: usize,
    held: usize,
}

impl Stream {
    pub(super) fn new() -> Stream {
        Stream { buffer: StreamBuffer(MaybeUninit::uninit()), line: ptr::null_mut(), first: 0, held: 0 }
    }

    /// Passes `fill` a buffer for the `len` bytes that belong at `dst`.
    ///
    /// # Safety
    /// `len` is at most [`PIECE`]; `len` bytes are writable at `dst`, and stay so until [`Stream::end`]; `fill`
    /// writes all `len` bytes of its buffer.
    #[inline]
    pub(super) unsafe fn put(&mut self, dst: *mut u8, len: usize, fill: impl FnOnce(*mut u8)) {
        debug_assert!(len <= PIECE);
        if self.line.wrapping_add(self.held) != dst {
            // SAFETY: earlier callers promised that the held bytes may be written.
            unsafe { self.flush() };
            self.held = dst.addr() % CACHE_LINE;
            self.first = self.held;
            self.line = dst.wrapping_sub(self.held);
        }
        let buffer = (&raw mut self.buffer.0).cast::<u8>();
        // SAFETY: less than a line is held, so the piece fits. Whole lines go to bytes that the callers named.
        unsafe {
            fill(buffer.add(self.held));
            self.held += len;
            let whole = self.held / CACHE_LINE * CACHE_LINE;
            if whole == 0 {
                return;
            }
            let mut start = 0;
            if self.first > 0 {
                moves::copy_run(self.line.add(self.first), buffer.add(self.first), CACHE_LINE - self.first);
                (start, self.first) = (CACHE_LINE, 0);
            }
            moves::stream_run(self.line.wrapping_add(start), buffer.add(start), whole - start);
            moves::copy_run(buffer, buffer.add(whole), self.held - whole);
            self.line = self.line.wrapping_add(whole);
            self.held -= whole;
        }
    }

    /// Writes the held bytes, and makes all streaming stores visible before every later store.
    ///
    /// # Safety
    /// As [`Stream::put`], for all bytes since the last call of `end`.
    pub(super) unsafe fn end(&mut self) {
        // SAFETY: the caller's promise.
        unsafe { self.flush() };
        moves::stream_end();
    }

    /// Writes the held bytes.
    ///
    /// # Safety
    /// As [`Stream::end`].
    unsafe fn flush(&mut self) {
        let buffer = (&raw const self.buffer.0).cast::<u8>();
        // SAFETY: the bytes `first..held` are initialized, and the callers named their destinations.
        unsafe {
            let to = self.line.wrapping_add(self.first);
            moves::copy_run(to, buffer.add(self.first), self.held - self.first);
        }
        (self.line, self.first, self.held) = (ptr::null_mut(), 0, 0);
    }
}
