//! [`Buffer`]: aligned memory that tensors and arenas are made of.

use std::alloc::{self, Layout};
use std::ptr::NonNull;
use std::slice;

use super::buffer_pool::Return;
use crate::error::{Error, ErrorKind, Phase, Result};

/// A block of bytes that starts at a multiple of [`Buffer::ALIGN`], freed on drop or kept by a [`Shelf`](super::Shelf).
///
/// Every byte counts as initialised: a new buffer holds unspecified bytes ([`Buffer::new`]) or zeros
/// ([`Buffer::zeroed`]), so reading one that no kernel has written is a wrong answer, not undefined
/// behaviour. Whoever writes through [`Buffer::as_ptr`] must see to it that nobody holds a slice of the
/// same bytes.
pub(crate) struct Buffer {
    start: NonNull<u8>,
    len: usize,
    /// How long it was made.
    room: usize,
    /// What the allocator gave: `start` lies inside it, at the first aligned address.
    base: NonNull<u8>,
    layout: Layout,
    /// Who keeps the memory when this is dropped.
    after: Option<Return>,
}

// SAFETY: a `Buffer` owns its memory and nothing in it depends on a thread.
unsafe impl Send for Buffer {}
// SAFETY: `&Buffer` gives shared slices and a pointer; writing through the pointer is unsafe code that
// answers for exclusive access.
unsafe impl Sync for Buffer {}

/// Bytes of a huge page.
const HUGE_PAGE: usize = 2 << 20;

/// Bytes for which a whole huge page is asked for: one is cleared faster than a quarter of its bytes page by page.
const HUGE: usize = HUGE_PAGE / 4 * 3;

/// The bytes at the start of a buffer that are to be huge pages, more than it has if they nearly fill the last.
fn huge_bytes(len: usize) -> usize {
    let whole = len & !(HUGE_PAGE - 1);
    if len - whole >= HUGE { whole.saturating_add(HUGE_PAGE) } else { whole }
}

impl Buffer {
    /// What the address of the first byte is a multiple of: a cache line, and the widest vector.
    pub(crate) const ALIGN: usize = 64;

    /// `len` bytes of unspecified content.
    ///
    /// # Errors
    /// `Memory`: more than `isize::MAX` bytes, or the allocator refuses.
    pub(crate) fn new(len: usize) -> Result<Buffer> {
        let buffer = Buffer::allocate(len, false)?;
        buffer.freeze();
        Ok(buffer)
    }

    /// `len` zero bytes. Large buffers are zeroed by the system, page by page as they are first touched.
    ///
    /// # Errors
    /// As [`Buffer::new`].
    pub(crate) fn zeroed(len: usize) -> Result<Buffer> {
        Buffer::allocate(len, true)
    }

    fn allocate(len: usize, zeroed: bool) -> Result<Buffer> {
        if len == 0 {
            let start = NonNull::<Line>::dangling().cast();
            let layout = Layout::new::<()>();
            return Ok(Buffer { start, len, room: len, base: start, layout, after: None });
        }
        // The allocator is asked for its own alignment and the rest is done here: for a larger one the
        // system allocator would clear zeroed memory by hand and so touch every page.
        let huge = huge_bytes(len);
        let align = if huge > 0 { HUGE_PAGE } else { Buffer::ALIGN };
        let layout = len
            .max(huge)
            .checked_add(align - MIN_ALIGN)
            .and_then(|bytes| Layout::from_size_align(bytes, MIN_ALIGN).ok())
            .ok_or_else(|| refused(len))?;
        // SAFETY: the layout has at least `len` bytes, which is not zero.
        let base = unsafe { if zeroed { alloc::alloc_zeroed(layout) } else { alloc::alloc(layout) } };
        let base = NonNull::new(base).ok_or_else(|| refused(len))?;
        // `base` is a multiple of MIN_ALIGN, so the next multiple of `align` is at most
        // `align - MIN_ALIGN` bytes away.
        let skipped = base.as_ptr().addr().wrapping_neg() & (align - 1);
        // SAFETY: `skipped` bytes and `len` more lie in the allocation, as just said.
        let start = unsafe { base.add(skipped) };
        let buffer = Buffer { start, len, room: len, base, layout, after: None };
        if huge > 0 {
            buffer.ask_for_huge_pages(huge);
        }
        Ok(buffer)
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    fn ask_for_huge_pages(&self, bytes: usize) {
        unsafe extern "C" {
            fn madvise(
                address: *mut std::ffi::c_void,
                len: usize,
                advice: std::ffi::c_int,
            ) -> std::ffi::c_int;
        }
        const MADV_HUGEPAGE: std::ffi::c_int = 14;
        // Whole huge pages only, so that no page is named that the allocator shares with others. A
        // refusal changes speed, nothing else.
        // SAFETY: advice about pages the buffer owns alone, which leaves their content as it is.
        unsafe { madvise(self.start.as_ptr().cast(), bytes, MADV_HUGEPAGE) };
    }

    #[cfg(not(all(target_os = "linux", not(miri))))]
    fn ask_for_huge_pages(&self, _: usize) {}

    /// Makes the unspecified bytes of a new allocation initialised ones in the eyes of the language.
    pub(super) fn freeze(&self) {
        // Debug builds write NaNs and -1, so that an element no kernel wrote shows.
        let unwritten = cfg!(any(debug_assertions, miri))
            || !cfg!(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"));
        if unwritten {
            // SAFETY: the buffer owns `len` bytes at `start` and nobody else has seen them.
            unsafe { self.start.write_bytes(0xff, self.len) };
            return;
        }
        #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"), not(miri)))]
        // SAFETY: no instruction runs. The block is handed the address and does not promise to leave
        // memory alone, so the compiler must assume that it wrote the bytes with what they hold.
        unsafe {
            std::arch::asm!("/* {0} */", in(reg) self.start.as_ptr(), options(nostack, preserves_flags));
        }
    }

    /// The first byte; a multiple of [`Buffer::ALIGN`], never null, dangling if the length is zero.
    pub(crate) fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// The number of bytes.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The number of bytes it was made with.
    pub(super) fn room(&self) -> usize {
        self.room
    }

    /// Makes it `len` bytes long, or as long as it was made.
    pub(super) fn set_len(&mut self, len: usize) {
        self.len = len.min(self.room);
    }

    /// When this is dropped its memory goes there.
    pub(super) fn goes_to(&mut self, after: Return) {
        self.after = Some(after);
    }

    /// All bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: `len` initialised bytes live as long as `self`; writers through `as_ptr` promise that
        // nobody holds this slice.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// All bytes, to be written.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and `&mut self` makes it the only access.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some(after) = self.after.take() {
            let Buffer { start, room, base, layout, .. } = *self;
            // From here on the memory is the other's.
            self.room = 0;
            after.keep(Buffer { start, len: room, room, base, layout, after: None });
            return;
        }
        if self.room != 0 {
            // SAFETY: `base` was allocated with `layout` and is freed once, here.
            unsafe { alloc::dealloc(self.base.as_ptr(), self.layout) };
        }
    }
}

/// A type of the alignment of buffers, for the address of empty ones.
#[repr(align(64))]
struct Line;

const _: () = assert!(align_of::<Line>() == Buffer::ALIGN);

/// What every 64-bit system allocator gives anyway.
const MIN_ALIGN: usize = 16;

/// The error of `len` bytes that could not be had.
pub(super) fn refused(len: usize) -> Error {
    Error::new(ErrorKind::Memory, Phase::Run, format!("{len} bytes of memory were refused"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_and_as_long_as_asked() {
        for len in
            [0, 1, 63, 64, 65, 4096, HUGE - 1, HUGE, HUGE_PAGE, HUGE_PAGE + HUGE, 3 * HUGE_PAGE + 12345]
        {
            let mut buffer = Buffer::new(len).unwrap();
            assert_eq!((buffer.len(), buffer.as_ptr().addr() % Buffer::ALIGN), (len, 0));
            assert!(len < HUGE || buffer.as_ptr().addr().is_multiple_of(HUGE_PAGE));
            buffer.bytes_mut().fill(7);
            assert!(buffer.bytes().iter().all(|byte| *byte == 7));
            let zeroed = Buffer::zeroed(len).unwrap();
            assert_eq!((zeroed.len(), zeroed.as_ptr().addr() % Buffer::ALIGN), (len, 0));
            assert!(zeroed.bytes().iter().all(|byte| *byte == 0));
        }
    }

    #[test]
    fn what_no_machine_has_is_refused() {
        for len in [usize::MAX, isize::MAX as usize, isize::MAX as usize + 1, isize::MAX as usize - (3 << 20)]
        {
            let error = Buffer::new(len).err().expect("refused");
            assert_eq!(error.kind(), ErrorKind::Memory);
            assert!(Buffer::zeroed(len).is_err());
        }
    }
}
