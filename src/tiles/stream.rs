//! [`Stream`]: bytes on their way past the caches, in whole cache lines.

use std::mem::MaybeUninit;
use std::ptr;

use super::run;

/// Most bytes that are put at once: with what they are read from they stay in the nearest cache.
pub(super) const PIECE: usize = 8 << 10;

/// Bytes of a cache line.
const LINE: usize = 64;

#[repr(C, align(64))]
struct Buffer(MaybeUninit<[u8; PIECE + LINE]>);

/// A buffer whose bytes go to a destination that grows upwards. What follows what was put before fills up the same
/// line, so that a line leaves once and whole, however short the pieces are.
pub(super) struct Stream {
    buffer: Buffer,
    /// Where the first line of the buffer goes.
    line: *mut u8,
    /// The bytes of the buffer that hold something: from the beginning of the line unless another wrote that.
    first: usize,
    held: usize,
}

impl Stream {
    pub(super) fn new() -> Stream {
        Stream { buffer: Buffer(MaybeUninit::uninit()), line: ptr::null_mut(), first: 0, held: 0 }
    }

    /// Lets `fill` write `len` bytes that go to `dst`.
    ///
    /// # Safety
    /// `len` is at most [`PIECE`]; `len` bytes are writable at `dst`, and stay so until [`Stream::end`]; `fill`
    /// writes all of the bytes it is given.
    #[inline]
    pub(super) unsafe fn put(&mut self, dst: *mut u8, len: usize, fill: impl FnOnce(*mut u8)) {
        debug_assert!(len <= PIECE);
        if self.line.wrapping_add(self.held) != dst {
            // SAFETY: the bytes held go where the caller said.
            unsafe { self.flush() };
            self.held = dst.addr() % LINE;
            self.first = self.held;
            self.line = dst.wrapping_sub(self.held);
        }
        let buffer = (&raw mut self.buffer.0).cast::<u8>();
        // SAFETY: fewer bytes than a line are held, so the piece fits. Whole lines go to bytes that were named.
        unsafe {
            fill(buffer.add(self.held));
            self.held += len;
            let whole = self.held / LINE * LINE;
            if whole == 0 {
                return;
            }
            let mut at = 0;
            if self.first > 0 {
                run::copy_run(self.line.add(self.first), buffer.add(self.first), LINE - self.first);
                (at, self.first) = (LINE, 0);
            }
            run::stream_run(self.line.wrapping_add(at), buffer.add(at), whole - at);
            run::copy_run(buffer, buffer.add(whole), self.held - whole);
            self.line = self.line.wrapping_add(whole);
            self.held -= whole;
        }
    }

    /// Writes what is held, and orders all that was streamed before every later store.
    ///
    /// # Safety
    /// As [`Stream::put`], of the bytes put since the last end.
    pub(super) unsafe fn end(&mut self) {
        // SAFETY: the caller's promise.
        unsafe { self.flush() };
        run::stream_end();
    }

    unsafe fn flush(&mut self) {
        let buffer = (&raw const self.buffer.0).cast::<u8>();
        // SAFETY: bytes from `first` to `held` are written and go to bytes that were named.
        unsafe {
            let to = self.line.wrapping_add(self.first);
            run::copy_run(to, buffer.add(self.first), self.held - self.first);
        }
        (self.line, self.first, self.held) = (ptr::null_mut(), 0, 0);
    }
}
