//! Prefetches: hints that bring cache lines near before they are read or written.
//!
//! A prefetch takes any address, valid or not. A prefetch changes nothing but caches.

use super::cpu::CACHE_LINE;

/// Prefetches the cache line at an address for reading.
#[inline(always)]
pub(super) fn prefetch_line<T>(address: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch never faults and has no effect that the program can see.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}

/// Prefetches the cache lines of `len` bytes for reading.
#[inline]
pub(super) fn prefetch_read(src: *const u8, len: usize) {
    for offset in (0..len).step_by(CACHE_LINE) {
        prefetch_line(src.wrapping_add(offset));
    }
}

/// Prefetches the cache line at an address for writing.
#[inline]
pub(super) fn prefetch_write(dst: *mut u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch never faults and has no effect that the program can see.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_ET0>(dst.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = dst;
}

/// Prefetches `elements[index]`, which is about to be accessed. `index` may be out of bounds.
#[inline(always)]
pub(crate) fn prefetch<T>(elements: &[T], index: usize) {
    prefetch_line(elements.as_ptr().wrapping_add(index));
}
