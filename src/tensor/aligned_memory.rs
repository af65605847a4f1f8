//! [`AlignedMemory`]: an aligned allocation.

use std::alloc::{self, Layout};
use std::ptr::NonNull;

use crate::error::{Error, ErrorKind, Phase, Result};

/// A block of memory that starts at a multiple of [`AlignedMemory::ALIGN`], freed on drop.
pub(super) struct AlignedMemory {
    start: NonNull<u8>,
    len: usize,
    /// What the allocator gave: `start` is the first aligned address in it.
    base: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the block owns its memory and nothing in it depends on a thread.
unsafe impl Send for AlignedMemory {}
// SAFETY: `&AlignedMemory` gives an address only; accesses through it are unsafe code that answers for exclusive
// access.
unsafe impl Sync for AlignedMemory {}

/// Bytes of a huge page.
const HUGE_PAGE: usize = 2 << 20;

/// Bytes for which a whole huge page is asked for: the system clears a huge page faster than a quarter of its bytes in
/// small pages.
const HUGE: usize = HUGE_PAGE / 4 * 3;

/// The bytes at the start of a block that are to be huge pages. These are more than `len` if the block nearly fills the
/// last page.
fn huge_bytes(len: usize) -> usize {
    let whole = len & !(HUGE_PAGE - 1);
    if len - whole >= HUGE { whole.saturating_add(HUGE_PAGE) } else { whole }
}

impl AlignedMemory {
    /// The alignment of blocks: a cache line, and the widest vector.
    pub(super) const ALIGN: usize = 64;

    /// A block without bytes.
    pub(super) fn empty() -> AlignedMemory {
        let start = NonNull::<Line>::dangling().cast();
        AlignedMemory { start, len: 0, base: start, layout: Layout::new::<()>() }
    }

    /// A block of `len` bytes. The bytes are zero if `zeroed`; otherwise they are not initialised.
    ///
    /// # Errors
    /// `Memory`: more than `isize::MAX` bytes, or the allocator refuses.
    pub(super) fn new(len: usize, zeroed: bool) -> Result<AlignedMemory> {
        if len == 0 {
            return Ok(AlignedMemory::empty());
        }
        // The allocator is asked for its own alignment, and the rest is done here: to give zeroed memory with a larger
        // alignment, the system allocator would clear it by hand and so touch every page.
        let huge = huge_bytes(len);
        let align = if huge > 0 { HUGE_PAGE } else { AlignedMemory::ALIGN };
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
        let memory = AlignedMemory { start, len, base, layout };
        if huge > 0 {
            memory.ask_for_huge_pages(huge);
        }
        Ok(memory)
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
        // The advice covers whole huge pages only, so it names no page that the allocator shares with others. If the
        // system refuses it, only speed changes.
        // SAFETY: the block owns these pages alone, and advice does not change their content.
        unsafe { madvise(self.start.as_ptr().cast(), bytes, MADV_HUGEPAGE) };
    }

    #[cfg(not(all(target_os = "linux", not(miri))))]
    fn ask_for_huge_pages(&self, _: usize) {}

    /// The first byte; a multiple of [`AlignedMemory::ALIGN`], never null, dangling if the block has no bytes.
    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// The number of bytes.
    pub(super) fn len(&self) -> usize {
        self.len
    }
}

impl Drop for AlignedMemory {
    fn drop(&mut self) {
        if self.len != 0 {
            // SAFETY: `base` was allocated with `layout` and is freed once, here.
            unsafe { alloc::dealloc(self.base.as_ptr(), self.layout) };
        }
    }
}

/// A type of the alignment of blocks, for the address of empty ones.
#[repr(align(64))]
struct Line;

const _: () = assert!(align_of::<Line>() == AlignedMemory::ALIGN);

/// The alignment that every 64-bit system allocator gives anyway.
const MIN_ALIGN: usize = 16;

/// The error of an allocation of `len` bytes that failed.
pub(super) fn refused(len: usize) -> Error {
    Error::new(ErrorKind::Memory, Phase::Run, format!("{len} bytes of memory were refused"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_and_large_ones_to_huge_pages() {
        let lens =
            [0, 1, 63, 64, 65, 4096, HUGE - 1, HUGE, HUGE_PAGE, HUGE_PAGE + HUGE, 3 * HUGE_PAGE + 12345];
        for len in lens {
            for zeroed in [false, true] {
                let memory = AlignedMemory::new(len, zeroed).unwrap();
                let address = memory.start().as_ptr().addr();
                assert_eq!((memory.len(), address % AlignedMemory::ALIGN), (len, 0));
                assert!(len < HUGE || address.is_multiple_of(HUGE_PAGE));
            }
        }
    }

    #[test]
    fn what_no_machine_has_is_refused() {
        for len in [usize::MAX, isize::MAX as usize, isize::MAX as usize + 1, isize::MAX as usize - (3 << 20)]
        {
            for zeroed in [false, true] {
                let error = AlignedMemory::new(len, zeroed).err().expect("refused");
                assert_eq!(error.kind(), ErrorKind::Memory);
            }
        }
    }
}
