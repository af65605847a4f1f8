//! [`AlignedMemory`]: an allocation aligned for vectors. An allocation that fills most of a huge page is aligned to
//! huge pages.

use std::alloc::{self, Layout};
use std::ptr::NonNull;

use shapeflow_shape_fns::counted;

use super::allowance::check_allowance;
use crate::error::{Error, ErrorKind, Phase, Result};

/// A block of memory that starts at a multiple of [`AlignedMemory::ALIGN`], freed on drop.
pub(super) struct AlignedMemory {
    start: NonNull<u8>,
    len: usize,
    /// The address that the allocator returned. `start` is the first aligned address from there.
    base: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the block owns its memory and nothing in it depends on a thread.
unsafe impl Send for AlignedMemory {}
// SAFETY: `&AlignedMemory` gives an address only. Access through the address is unsafe code that ensures exclusivity.
unsafe impl Sync for AlignedMemory {}

/// The size of a huge page in bytes.
const HUGE_PAGE: usize = 2 << 20;

/// If at least this number of bytes follow the last whole huge page of a block, these bytes get a huge page too.
/// Clearing a whole huge page is faster than clearing even a quarter of its bytes in small pages. The limit of three
/// quarters bounds the wasted memory.
const MIN_HUGE_REST: usize = HUGE_PAGE / 4 * 3;

/// Returns the number of bytes at the start of a block of `len` bytes to back with huge pages. The number exceeds `len`
/// if the block nearly fills its last huge page.
fn huge_bytes(len: usize) -> usize {
    let whole = len & !(HUGE_PAGE - 1);
    if len - whole >= MIN_HUGE_REST { whole.saturating_add(HUGE_PAGE) } else { whole }
}

impl AlignedMemory {
    /// The alignment of blocks: the size of a cache line and of the widest vector.
    pub(super) const ALIGN: usize = 64;

    /// Makes a block without bytes.
    pub(super) fn empty() -> AlignedMemory {
        let start = NonNull::<AlignedLine>::dangling().cast();
        AlignedMemory { start, len: 0, base: start, layout: Layout::new::<()>() }
    }

    /// Allocates a block of `len` bytes. The bytes are zero if `zeroed`, else uninitialized.
    ///
    /// # Errors
    /// `Memory`: `len` exceeds `isize::MAX`, or the allocation fails.
    pub(super) fn new(len: usize, zeroed: bool) -> Result<AlignedMemory> {
        if len == 0 {
            return Ok(AlignedMemory::empty());
        }
        check_allowance(len)?;
        // The layout requests the allocator's natural alignment and extra bytes to align within. With a larger
        // alignment the system allocator would zero the memory itself and so touch every page.
        let huge = huge_bytes(len);
        let align = if huge > 0 { HUGE_PAGE } else { AlignedMemory::ALIGN };
        let layout = len
            .max(huge)
            .checked_add(align - MIN_ALIGN)
            .and_then(|bytes| Layout::from_size_align(bytes, MIN_ALIGN).ok())
            .ok_or_else(|| out_of_memory(len))?;
        // SAFETY: the layout has at least `len` bytes, which is not zero.
        let base = unsafe { if zeroed { alloc::alloc_zeroed(layout) } else { alloc::alloc(layout) } };
        let base = NonNull::new(base).ok_or_else(|| out_of_memory(len))?;
        // `base` is a multiple of MIN_ALIGN, so the next multiple of `align` is at most
        // `align - MIN_ALIGN` bytes away.
        let skipped = base.as_ptr().addr().wrapping_neg() & (align - 1);
        // SAFETY: the layout has room for `skipped` bytes and `len` more, see above.
        let start = unsafe { base.add(skipped) };
        let memory = AlignedMemory { start, len, base, layout };
        if huge > 0 {
            memory.advise_huge_pages(huge);
        }
        Ok(memory)
    }

    /// Advises the system to back the first `bytes` bytes with huge pages.
    #[cfg(all(target_os = "linux", not(miri)))]
    fn advise_huge_pages(&self, bytes: usize) {
        unsafe extern "C" {
            fn madvise(
                address: *mut std::ffi::c_void,
                len: usize,
                advice: std::ffi::c_int,
            ) -> std::ffi::c_int;
        }
        const MADV_HUGEPAGE: std::ffi::c_int = 14;
        // The advice covers whole huge pages, all of them in this allocation. If the system refuses the advice, only
        // speed changes. SAFETY: only the block owns these pages, and advice does not change their content.
        unsafe { madvise(self.start.as_ptr().cast(), bytes, MADV_HUGEPAGE) };
    }

    #[cfg(not(all(target_os = "linux", not(miri))))]
    fn advise_huge_pages(&self, _: usize) {}

    /// Returns the address of the first byte: a multiple of [`AlignedMemory::ALIGN`], dangling if the block is empty.
    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Returns the number of bytes.
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

/// A type with the alignment of blocks. The type gives empty blocks their dangling address.
#[repr(align(64))]
struct AlignedLine;

const _: () = assert!(align_of::<AlignedLine>() == AlignedMemory::ALIGN);

/// The natural alignment of every 64-bit system allocator.
const MIN_ALIGN: usize = 16;

/// Makes the error for a failed allocation of `len` bytes.
pub(super) fn out_of_memory(len: usize) -> Error {
    Error::new(
        ErrorKind::Memory,
        Phase::Run,
        format!("out of memory: could not allocate {len}", len = counted(len, "byte")),
    )
}

/// Makes a vector of `len` copies of `value`, where `len` comes from the elements of a tensor.
///
/// # Errors
/// `Memory`: the allocation fails.
pub(crate) fn filled_vec<T: Clone>(len: usize, value: T) -> Result<Vec<T>> {
    let mut vec = reserved_vec(len)?;
    vec.resize(len, value);
    Ok(vec)
}

/// Makes a vector of the items of an iterator, whose number comes from the elements of a tensor.
///
/// # Errors
/// `Memory`: the allocation fails.
pub(crate) fn collected_vec<T>(items: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>> {
    let mut vec = reserved_vec(items.len())?;
    vec.extend(items);
    Ok(vec)
}

/// Makes an empty vector with capacity for `len` elements.
///
/// # Errors
/// `Memory`: the allocation fails.
pub(crate) fn reserved_vec<T>(len: usize) -> Result<Vec<T>> {
    check_allowance(len.saturating_mul(size_of::<T>()))?;
    let mut vec = Vec::new();
    vec.try_reserve_exact(len).map_err(|_| out_of_memory(len.saturating_mul(size_of::<T>())))?;
    Ok(vec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_and_large_blocks_to_huge_pages() {
        let lens = [
            0,
            1,
            63,
            64,
            65,
            4096,
            MIN_HUGE_REST - 1,
            MIN_HUGE_REST,
            HUGE_PAGE,
            HUGE_PAGE + MIN_HUGE_REST,
            3 * HUGE_PAGE + 12345,
        ];
        for len in lens {
            for zeroed in [false, true] {
                let memory = AlignedMemory::new(len, zeroed).unwrap();
                let address = memory.start().as_ptr().addr();
                assert_eq!((memory.len(), address % AlignedMemory::ALIGN), (len, 0));
                assert!(len < MIN_HUGE_REST || address.is_multiple_of(HUGE_PAGE));
            }
        }
    }

    #[test]
    fn impossible_sizes_are_errors() {
        for len in [usize::MAX, isize::MAX as usize, isize::MAX as usize + 1, isize::MAX as usize - (3 << 20)]
        {
            for zeroed in [false, true] {
                let error = AlignedMemory::new(len, zeroed).err().expect("refused");
                assert_eq!(error.kind(), ErrorKind::Memory);
            }
        }
    }
}
