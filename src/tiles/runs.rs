//! Copies of planes of byte runs, with a loop for each class of run lengths.

use super::cpu::has_avx2;
use super::moves;
use super::plane::{Plane, PlaneFn};
use super::prefetch::prefetch_write;

/// Returns the function that copies a plane of runs.
pub(super) fn runs_fn(plane: &Plane) -> PlaneFn {
    if plane.stream {
        return streamed;
    }
    if !has_avx2() {
        return by_length;
    }
    #[cfg(target_arch = "x86_64")]
    match plane.elem {
        1 => avx2::single::<u8>,
        2 => avx2::single::<u16>,
        4 => avx2::single::<u32>,
        8 => avx2::single::<u64>,
        16 => avx2::single::<[u64; 2]>,
        32 => avx2::vectors::<1>,
        64 => avx2::vectors::<2>,
        128 => avx2::vectors::<4>,
        3 => avx2::ends::<u16>,
        5..=7 => avx2::ends::<u32>,
        9..=15 => avx2::ends::<u64>,
        17..=31 => avx2::ends::<[u64; 2]>,
        33..=63 => avx2::vector_ends::<1>,
        65..=127 => avx2::vector_ends::<2>,
        129..=256 => avx2::vector_ends::<4>,
        257..MIN_MEMCPY => avx2::long,
        _ => by_length,
    }
    #[cfg(not(target_arch = "x86_64"))]
    by_length
}

/// The length in bytes from which a run is copied by the C library's `memcpy`, which is tuned to the processor. The
/// cost of the call is negligible for such a run.
#[cfg(target_arch = "x86_64")]
const MIN_MEMCPY: usize = 2048;

/// How many runs ahead a streamed copy prefetches the cache lines that a run covers only in part. A wait for such a
/// line would hold up the streaming stores that follow it.
const PREFETCH_RUNS: isize = 4;

/// Calls `copy_run` with the destination and the source of every run of the plane.
#[inline(always)]
fn for_each_run(plane: &Plane, dst: *mut u8, src: *const u8, mut copy_run: impl FnMut(*mut u8, *const u8)) {
    let Plane { rows, cols, .. } = *plane;
    let (mut row_dst, mut row_src) = (dst, src);
    for _ in 0..rows.n {
        let (mut dst, mut src) = (row_dst, row_src);
        for _ in 0..cols.n {
            copy_run(dst, src);
            (dst, src) = (dst.wrapping_offset(cols.dst), src.wrapping_offset(cols.src));
        }
        (row_dst, row_src) = (row_dst.wrapping_offset(rows.dst), row_src.wrapping_offset(rows.src));
    }
}

/// Copies runs of any length. A [`PlaneFn`].
unsafe fn by_length(plane: &Plane, dst: *mut u8, src: *const u8) {
    let len = plane.elem;
    // SAFETY: the caller's promise for every run.
    for_each_run(plane, dst, src, |dst, src| unsafe { moves::copy_run(dst, src, len) });
}

/// Copies runs of any length with stores that bypass the caches. A [`PlaneFn`].
unsafe fn streamed(plane: &Plane, dst: *mut u8, src: *const u8) {
    let Plane { rows, cols, elem: len, .. } = *plane;
    let strides = [rows.dst, cols.dst, len as isize];
    if strides.iter().all(|stride| stride % 64 == 0) && dst.addr().is_multiple_of(64) {
        // SAFETY: the caller's promise for every run. Each run consists of whole cache lines.
        return for_each_run(plane, dst, src, |dst, src| unsafe { moves::stream_lines(dst, src, len / 64) });
    }
    let ahead = cols.dst.wrapping_mul(PREFETCH_RUNS);
    for_each_run(plane, dst, src, |dst, src| {
        let end = dst.wrapping_add(len);
        prefetch_write(dst.wrapping_offset(ahead));
        prefetch_write(end.wrapping_offset(ahead));
        // SAFETY: the caller's promise for every run.
        unsafe { moves::stream_run(dst, src, len) }
    });
}

/// Loops by 256-bit vectors. All functions are [`PlaneFn`]s for a processor with AVX2.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{__m256i, _mm256_loadu_si256, _mm256_setzero_si256, _mm256_storeu_si256};

    use super::{Plane, for_each_run, moves};

    /// Copies runs that are one `T`.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn single<T: Copy>(plane: &Plane, dst: *mut u8, src: *const u8) {
        for_each_run(plane, dst, src, |dst, src| {
            // SAFETY: the caller's promise for the run.
            unsafe { dst.cast::<T>().write_unaligned(src.cast::<T>().read_unaligned()) };
        });
    }

    /// Copies runs of the size of one to two `T`.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn ends<T: Copy>(plane: &Plane, dst: *mut u8, src: *const u8) {
        let len = plane.elem;
        // SAFETY: the caller's promise for the run, which is at least one and at most two `T` long.
        for_each_run(plane, dst, src, |dst, src| unsafe { moves::copy_ends::<T>(dst, src, len) });
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn load<const N: usize>(src: *const u8) -> [__m256i; N] {
        let mut vectors = [_mm256_setzero_si256(); N];
        for (i, vector) in vectors.iter_mut().enumerate() {
            // SAFETY: the caller's run has `N` vectors here.
            *vector = unsafe { _mm256_loadu_si256(src.cast::<__m256i>().add(i)) };
        }
        vectors
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn store<const N: usize>(dst: *mut u8, vectors: [__m256i; N]) {
        for (i, vector) in vectors.into_iter().enumerate() {
            // SAFETY: the caller's run has `N` vectors here.
            unsafe { _mm256_storeu_si256(dst.cast::<__m256i>().add(i), vector) };
        }
    }

    /// Copies runs of `N` vectors.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn vectors<const N: usize>(plane: &Plane, dst: *mut u8, src: *const u8) {
        // SAFETY: the caller's promise for the run.
        for_each_run(plane, dst, src, |dst, src| unsafe { store::<N>(dst, load(src)) });
    }

    /// Copies runs of `N` to `2·N` vectors: the first `N` vectors and the last `N` vectors, which may overlap.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn vector_ends<const N: usize>(plane: &Plane, dst: *mut u8, src: *const u8) {
        let last = plane.elem - 32 * N;
        for_each_run(plane, dst, src, |dst, src| {
            // SAFETY: the caller's promise for the run, which contains both parts.
            unsafe {
                store::<N>(dst, load(src));
                store::<N>(dst.add(last), load(src.add(last)));
            }
        });
    }

    /// Copies runs of at least four vectors.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn long(plane: &Plane, dst: *mut u8, src: *const u8) {
        const STEP: usize = 128;
        let last = plane.elem - STEP;
        for_each_run(plane, dst, src, |dst, src| {
            // SAFETY: the caller's promise for the run; every step lies inside the run.
            unsafe {
                for offset in (0..last).step_by(STEP) {
                    store::<4>(dst.add(offset), load(src.add(offset)));
                }
                store::<4>(dst.add(last), load(src.add(last)));
            }
        });
    }
}
