//! One-dimensional copies: the innermost loops of every strided copy.
//!
//! Pointers need no alignment. Each function accesses only the bytes that it names. These bytes must be valid, and
//! source and destination must not overlap.

use std::ptr;

use super::cpu::CACHE_LINE;

/// The maximum length, in bytes, of a run that is copied by inline vector moves. A longer run is copied by `memcpy`.
const INLINE: usize = 128;

/// Copies `len` bytes.
///
/// # Safety
/// `len` bytes are readable at `src` and writable at `dst`, and do not overlap.
#[inline(always)]
pub(super) unsafe fn copy_run(dst: *mut u8, src: *const u8, len: usize) {
    // SAFETY: each arm accesses only bytes of the run.
    unsafe {
        match len {
            0 => {}
            1 => *dst = *src,
            2..=4 => copy_ends::<u16>(dst, src, len),
            5..=8 => copy_ends::<u32>(dst, src, len),
            9..=16 => copy_ends::<u64>(dst, src, len),
            17..=32 => copy_ends::<[u64; 2]>(dst, src, len),
            33..=64 => copy_ends::<[u64; 4]>(dst, src, len),
            65..=INLINE => copy_ends::<[u64; 8]>(dst, src, len),
            _ => ptr::copy_nonoverlapping(src, dst, len),
        }
    }
}

/// Copies `len` bytes as the first `T` and the last `T` of them, which may overlap.
///
/// # Safety
/// As [`copy_run`]; `len` is at least the size of a `T` and at most twice that size.
#[inline(always)]
pub(super) unsafe fn copy_ends<T: Copy>(dst: *mut u8, src: *const u8, len: usize) {
    let last = len - size_of::<T>();
    // SAFETY: both values lie in the run.
    unsafe {
        let first = src.cast::<T>().read_unaligned();
        let tail = src.add(last).cast::<T>().read_unaligned();
        dst.cast::<T>().write_unaligned(first);
        dst.add(last).cast::<T>().write_unaligned(tail);
    }
}

/// Copies `len` bytes with stores that bypass the caches. These stores are faster if the destination is larger than the
/// caches and is not read soon. Call [`stream_end`] before another thread may read the bytes.
///
/// # Safety
/// As [`copy_run`].
#[inline]
pub(super) unsafe fn stream_run(dst: *mut u8, src: *const u8, len: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        let head = dst.align_offset(CACHE_LINE).min(len);
        let lines = (len - head) / CACHE_LINE;
        // SAFETY: the run consists of the head, the lines, and the tail. The lines start at a multiple of 64.
        unsafe {
            copy_run(dst, src, head);
            stream_lines(dst.add(head), src.add(head), lines);
            let done = head + CACHE_LINE * lines;
            copy_run(dst.add(done), src.add(done), len - done);
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: the caller's promise.
    unsafe {
        copy_run(dst, src, len);
    }
}

/// Copies whole cache lines with stores that bypass the caches.
///
/// # Safety
/// As [`stream_run`], for `lines * 64` bytes; `dst` is a multiple of 64.
#[inline(always)]
pub(super) unsafe fn stream_lines(dst: *mut u8, src: *const u8, lines: usize) {
    for line in 0..lines {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the line is one of the caller's and consists of four vectors.
        unsafe {
            use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};

            let from = src.add(CACHE_LINE * line).cast::<__m128i>();
            let to = dst.add(CACHE_LINE * line).cast::<__m128i>();
            let vectors: [__m128i; 4] = std::array::from_fn(|i| _mm_loadu_si128(from.add(i)));
            for (i, vector) in vectors.into_iter().enumerate() {
                _mm_stream_si128(to.add(i), vector);
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        // SAFETY: the line is one of the caller's.
        unsafe {
            ptr::copy_nonoverlapping(src.add(CACHE_LINE * line), dst.add(CACHE_LINE * line), CACHE_LINE);
        }
    }
}

/// Makes earlier streaming stores visible before every later store.
#[inline]
pub(super) fn stream_end() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has this instruction.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

/// Writes `value` to `n` contiguous elements.
///
/// # Safety
/// `n` elements are writable at `dst`.
#[inline(always)]
pub(super) unsafe fn splat<T: Copy>(dst: *mut u8, value: T, n: usize) {
    let dst = dst.cast::<T>();
    for i in 0..n {
        // SAFETY: `i < n`.
        unsafe { dst.add(i).write_unaligned(value) };
    }
}

/// Copies `n` elements between any two strides, which are in bytes.
///
/// # Safety
/// For every `i < n`, the element at `i * dst_stride` is writable and the element at `i * src_stride` is readable. The
/// two sides do not overlap.
#[inline(always)]
pub(super) unsafe fn copy_strided<T: Copy>(
    dst: *mut u8,
    dst_stride: isize,
    src: *const u8,
    src_stride: isize,
    n: usize,
) {
    for i in 0..n as isize {
        // SAFETY: `i < n`, so both offsets lie inside the caller's memory.
        unsafe {
            let element = src.offset(i * src_stride).cast::<T>().read_unaligned();
            dst.offset(i * dst_stride).cast::<T>().write_unaligned(element);
        }
    }
}

/// Interleaves `N` rows of `n` elements, `src_stride` bytes apart, into `n` groups of `N`.
///
/// # Safety
/// `n·N` elements are writable at `dst`, every row is readable, and the rows do not overlap the destination.
#[inline(always)]
pub(super) unsafe fn interleave<T: Copy, const N: usize>(
    dst: *mut u8,
    src: *const u8,
    src_stride: isize,
    n: usize,
) {
    let dst = dst.cast::<[T; N]>();
    for i in 0..n {
        // SAFETY: `i < n`, and row `j < N` starts at `j * src_stride`.
        unsafe {
            let group = std::array::from_fn(|j| {
                src.offset(j as isize * src_stride).cast::<T>().add(i).read_unaligned()
            });
            dst.add(i).write_unaligned(group);
        }
    }
}
