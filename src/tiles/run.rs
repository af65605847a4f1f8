//! One-dimensional moves: the innermost loops of every copy.
//!
//! Pointers need no alignment. Every function promises to touch only the bytes it names and asks that they
//! are valid, and that source and destination do not overlap.

use std::ptr;

/// Up to this many bytes a run is copied by vector moves in place rather than by a call.
const INLINE: usize = 128;

/// Copies `len` bytes.
///
/// # Safety
/// `len` bytes are readable at `src` and writable at `dst`, and do not overlap.
#[inline(always)]
pub(super) unsafe fn copy_run(dst: *mut u8, src: *const u8, len: usize) {
    // SAFETY: each arm moves bytes inside the run only.
    unsafe {
        match len {
            0 => {}
            1 => *dst = *src,
            2..=4 => ends::<u16>(dst, src, len),
            5..=8 => ends::<u32>(dst, src, len),
            9..=16 => ends::<u64>(dst, src, len),
            17..=32 => ends::<[u64; 2]>(dst, src, len),
            33..=64 => ends::<[u64; 4]>(dst, src, len),
            65..=INLINE => ends::<[u64; 8]>(dst, src, len),
            _ => ptr::copy_nonoverlapping(src, dst, len),
        }
    }
}

/// Copies the first and the last `T` of `len` bytes, which overlap where `len` is less than two of them.
///
/// # Safety
/// As [`copy_run`], with `len` at least the size of a `T` and at most twice that.
#[inline(always)]
pub(super) unsafe fn ends<T: Copy>(dst: *mut u8, src: *const u8, len: usize) {
    let last = len - size_of::<T>();
    // SAFETY: both lie in the run.
    unsafe {
        let first = src.cast::<T>().read_unaligned();
        let tail = src.add(last).cast::<T>().read_unaligned();
        dst.cast::<T>().write_unaligned(first);
        dst.add(last).cast::<T>().write_unaligned(tail);
    }
}

/// Copies `len` bytes past the caches, which pays where the destination is larger than they are and not read
/// next. [`stream_end`] must follow before another thread is told of the bytes.
///
/// # Safety
/// As [`copy_run`].
#[inline]
pub(super) unsafe fn stream_run(dst: *mut u8, src: *const u8, len: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        let head = dst.align_offset(64).min(len);
        let lines = (len - head) / 64;
        // SAFETY: head, lines and tail make up the run; the lines start at a multiple of 64.
        unsafe {
            copy_run(dst, src, head);
            stream_lines(dst.add(head), src.add(head), lines);
            let done = head + 64 * lines;
            copy_run(dst.add(done), src.add(done), len - done);
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: the caller's promise is the same.
    unsafe {
        copy_run(dst, src, len);
    }
}

/// Copies whole cache lines past the caches.
///
/// # Safety
/// As [`stream_run`] for so many times 64 bytes; `dst` is a multiple of 64.
#[inline(always)]
pub(super) unsafe fn stream_lines(dst: *mut u8, src: *const u8, lines: usize) {
    for line in 0..lines {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the line is one of the caller's, in four vectors.
        unsafe {
            use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};

            let from = src.add(64 * line).cast::<__m128i>();
            let to = dst.add(64 * line).cast::<__m128i>();
            let vectors: [__m128i; 4] = std::array::from_fn(|i| _mm_loadu_si128(from.add(i)));
            for (i, vector) in vectors.into_iter().enumerate() {
                _mm_stream_si128(to.add(i), vector);
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        // SAFETY: the line is one of the caller's.
        unsafe {
            ptr::copy_nonoverlapping(src.add(64 * line), dst.add(64 * line), 64);
        }
    }
}

/// Asks for the cache line of a byte, which need not be there, to be written.
#[inline]
pub(super) fn ask_to_write(dst: *mut u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};

        // SAFETY: a prefetch of any address is without effect but on caches.
        unsafe { _mm_prefetch::<_MM_HINT_ET0>(dst.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = dst;
}

/// Asks for the cache lines of `len` bytes, which need not be there.
#[inline]
pub(super) fn ask_for(src: *const u8, len: usize) {
    #[cfg(target_arch = "x86_64")]
    for at in (0..len).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

        // SAFETY: a prefetch of any address is without effect but on caches.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(src.wrapping_add(at).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (src, len);
}

/// Asks for an element that is to be read or written soon, if there is one.
#[inline(always)]
pub(crate) fn foresee<T>(of: &[T], at: usize) {
    ask_for(of.as_ptr().wrapping_add(at).cast(), 1);
}

/// Orders streamed stores before every later store.
#[inline]
pub(super) fn stream_end() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has it.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

/// Writes `n` times the same element.
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

/// Copies `n` elements between any strides, in bytes.
///
/// # Safety
/// Every element so reached is writable or readable, and the two sides do not overlap.
#[inline(always)]
pub(super) unsafe fn moved<T: Copy>(
    dst: *mut u8,
    dst_stride: isize,
    src: *const u8,
    src_stride: isize,
    n: usize,
) {
    for i in 0..n as isize {
        // SAFETY: `i < n`. The strides times `n - 1` are offsets inside the caller's memory.
        unsafe {
            let element = src.offset(i * src_stride).cast::<T>().read_unaligned();
            dst.offset(i * dst_stride).cast::<T>().write_unaligned(element);
        }
    }
}

/// Interleaves `N` rows of `n` elements, `src_stride` bytes apart, into `n` groups of `N`.
///
/// # Safety
/// `n·N` elements are writable at `dst`, every row is readable, and they do not overlap.
#[inline(always)]
pub(super) unsafe fn zip<T: Copy, const N: usize>(dst: *mut u8, src: *const u8, src_stride: isize, n: usize) {
    let dst = dst.cast::<[T; N]>();
    for i in 0..n {
        // SAFETY: `i < n`, and row `j < N` is at `j` strides.
        unsafe {
            let group = std::array::from_fn(|j| {
                src.offset(j as isize * src_stride).cast::<T>().add(i).read_unaligned()
            });
            dst.add(i).write_unaligned(group);
        }
    }
}
