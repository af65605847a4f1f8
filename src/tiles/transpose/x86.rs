//! Transposes of blocks in 128-bit and 256-bit registers.
//!
//! A block of K × K elements fills K registers. The block is transposed in log2 K rounds, which interleave register `i`
//! with register `i + K/2`. A 256-bit register holds two source rows that are K rows apart, one in each half, so the
//! same rounds yield destination rows of 2·K elements.

use std::arch::x86_64::*;

use super::BlockFn;
use crate::tiles::cpu::has_avx2;

/// Returns the function that transposes elements of `elem` bytes on this processor.
pub(super) fn block_fn(elem: usize) -> BlockFn {
    match (elem, has_avx2()) {
        (1, true) => wide_1,
        (2, true) => wide_2,
        (4, true) => wide_4,
        (8, true) => wide_8,
        (1, false) => narrow_1,
        (2, false) => narrow_2,
        (4, false) => narrow_4,
        (8, false) => narrow_8,
        _ => super::block::<[u64; 2]>,
    }
}

/// Returns the start of the next block of `step` rows or columns after the block at `start`. The last block ends at
/// `n`, so it may overlap the block before it.
#[inline(always)]
fn next(start: usize, step: usize, n: usize) -> Option<usize> {
    (start + step < n).then(|| (start + step).min(n - step))
}

macro_rules! blocks {
    ($elem:literal $wide:ident $low_256:ident $high_256:ident $narrow:ident $low_128:ident $high_128:ident) => {
        /// Transposes by 256-bit registers.
        ///
        /// # Safety
        /// As [`BlockFn`], on a processor with AVX2.
        #[target_feature(enable = "avx2")]
        unsafe fn $wide(
            dst: *mut u8,
            dst_stride: isize,
            src: *const u8,
            src_stride: isize,
            rows: usize,
            cols: usize,
        ) {
            const K: usize = 16 / $elem;
            if cols < 2 * K {
                // SAFETY: the caller's promise.
                return unsafe { $narrow(dst, dst_stride, src, src_stride, rows, cols) };
            }
            let mut next_col = Some(0);
            while let Some(col) = next_col {
                let mut next_row = Some(0);
                while let Some(row) = next_row {
                    // SAFETY: the block lies in the caller's rows and columns.
                    unsafe {
                        let src = src.offset(col as isize * src_stride).add(row * $elem);
                        let dst = dst.offset(row as isize * dst_stride).add(col * $elem);
                        let mut registers = [_mm256_setzero_si256(); K];
                        for (i, register) in registers.iter_mut().enumerate() {
                            let low = _mm_loadu_si128(src.offset(i as isize * src_stride).cast());
                            let high = _mm_loadu_si128(src.offset((i + K) as isize * src_stride).cast());
                            *register = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high);
                        }
                        for _ in 0..K.ilog2() {
                            let before = registers;
                            for i in 0..K / 2 {
                                registers[2 * i] = $low_256(before[i], before[i + K / 2]);
                                registers[2 * i + 1] = $high_256(before[i], before[i + K / 2]);
                            }
                        }
                        for (i, register) in registers.iter().enumerate() {
                            _mm256_storeu_si256(dst.offset(i as isize * dst_stride).cast(), *register);
                        }
                    }
                    next_row = next(row, K, rows);
                }
                next_col = next(col, 2 * K, cols);
            }
        }

        /// Transposes by 128-bit registers.
        ///
        /// # Safety
        /// As [`BlockFn`].
        unsafe fn $narrow(
            dst: *mut u8,
            dst_stride: isize,
            src: *const u8,
            src_stride: isize,
            rows: usize,
            cols: usize,
        ) {
            const K: usize = 16 / $elem;
            let mut next_col = Some(0);
            while let Some(col) = next_col {
                let mut next_row = Some(0);
                while let Some(row) = next_row {
                    // SAFETY: the block lies in the caller's rows and columns.
                    unsafe {
                        let src = src.offset(col as isize * src_stride).add(row * $elem);
                        let dst = dst.offset(row as isize * dst_stride).add(col * $elem);
                        let mut registers = [_mm_setzero_si128(); K];
                        for (i, register) in registers.iter_mut().enumerate() {
                            *register = _mm_loadu_si128(src.offset(i as isize * src_stride).cast());
                        }
                        for _ in 0..K.ilog2() {
                            let before = registers;
                            for i in 0..K / 2 {
                                registers[2 * i] = $low_128(before[i], before[i + K / 2]);
                                registers[2 * i + 1] = $high_128(before[i], before[i + K / 2]);
                            }
                        }
                        for (i, register) in registers.iter().enumerate() {
                            _mm_storeu_si128(dst.offset(i as isize * dst_stride).cast(), *register);
                        }
                    }
                    next_row = next(row, K, rows);
                }
                next_col = next(col, K, cols);
            }
        }
    };
}
blocks!(1 wide_1 _mm256_unpacklo_epi8 _mm256_unpackhi_epi8 narrow_1 _mm_unpacklo_epi8 _mm_unpackhi_epi8);
blocks!(2 wide_2 _mm256_unpacklo_epi16 _mm256_unpackhi_epi16 narrow_2 _mm_unpacklo_epi16 _mm_unpackhi_epi16);
blocks!(4 wide_4 _mm256_unpacklo_epi32 _mm256_unpackhi_epi32 narrow_4 _mm_unpacklo_epi32 _mm_unpackhi_epi32);
blocks!(8 wide_8 _mm256_unpacklo_epi64 _mm256_unpackhi_epi64 narrow_8 _mm_unpacklo_epi64 _mm_unpackhi_epi64);
