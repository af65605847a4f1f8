//! Packing: elements of an operand in the order in which tiles read them.

use std::ops::Range;

use super::kernel::{Float, ROWS};
use crate::tiles::transpose::{block_fn, smallest};

/// A rectangle of an operand, `depth` steps of `count` elements: element `(p, i)` at `p * along + i * across`.
pub(super) struct Slab<T> {
    pub at: *const T,
    pub along: usize,
    pub across: usize,
    pub depth: usize,
    pub count: usize,
}

/// `to[p * width + i] = slab(p, i)`; from `slab.count` to `width` anything.
///
/// # Safety
/// The slab can be read, with what lies between its elements, and `slab.depth * width` elements written, which are
/// elsewhere.
pub(super) unsafe fn pack<T: Float>(to: *mut T, width: usize, slab: &Slab<T>) {
    let Slab { at, along, across, depth, count } = *slab;
    let size = size_of::<T>();
    // SAFETY: the caller's, for every row and column.
    unsafe {
        if across == 1 {
            // What follows a row is the slab's own, but after the last rows: others are read as wide as they go.
            let last = (depth - 1) * along + count;
            let wide = if last < width { 0 } else { (last - width).checked_div(along).map_or(0, |p| p + 1) };
            let wide = wide.min(depth);
            copy_rows(to, width, slab, 0..wide, width * size);
            copy_rows(to, width, slab, wide..depth, count * size);
        } else if along == 1 && depth.min(count) >= smallest(size) {
            let done = if count == ROWS && width == ROWS { interleave(to, at, across, depth) } else { 0 };
            let (to, at, depth) = (to.add(done * width), at.add(done), depth - done);
            if depth >= smallest(size) {
                let (line, row) = ((width * size) as isize, (across * size) as isize);
                block_fn(size)(to.cast(), line, at.cast(), row, depth, count);
                return;
            }
            for p in 0..depth {
                for i in 0..count {
                    to.add(p * width + i).write(at.add(p + i * across).read_unaligned());
                }
            }
        } else {
            for p in 0..depth {
                for i in 0..count {
                    to.add(p * width + i).write(at.add(p * along + i * across).read_unaligned());
                }
            }
        }
    }
}

/// Packs steps of [`ROWS`] contiguous rows that lie `row` elements apart, as many as fill whole registers; gives how
/// many.
///
/// # Safety
/// As [`pack`], for a slab of these rows and `depth` steps.
unsafe fn interleave<T: Float>(to: *mut T, at: *const T, row: usize, depth: usize) -> usize {
    #[cfg(target_arch = "x86_64")]
    if crate::tiles::cpu::has_avx2() {
        // SAFETY: the caller's, for elements of this size, and the processor has AVX2.
        unsafe {
            return match size_of::<T>() {
                4 => interleave_4(to.cast(), at.cast(), row, depth),
                8 => interleave_8(to.cast(), at.cast(), row, depth),
                _ => 0,
            };
        }
    }
    0
}

/// As [`interleave`]. Two rows are interleaved to pairs of elements, of which every step has three.
///
/// # Safety
/// As [`interleave`], on a processor with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn interleave_4(to: *mut f32, at: *const f32, row: usize, depth: usize) -> usize {
    use std::arch::x86_64::*;
    const STEPS: usize = 8;
    for step in (0..depth / STEPS).map(|number| number * STEPS) {
        // SAFETY: the caller's.
        unsafe {
            let (at, to) = (at.add(step), to.add(step * ROWS));
            let rows: [__m256; ROWS] = std::array::from_fn(|i| _mm256_loadu_ps(at.add(i * row)));
            let low = |i: usize| _mm256_castps_pd(_mm256_unpacklo_ps(rows[i], rows[i + 1]));
            let high = |i: usize| _mm256_castps_pd(_mm256_unpackhi_ps(rows[i], rows[i + 1]));
            // Steps 0, 1 and 4, 5 and then 2, 3 and 6, 7.
            for (half, pairs) in [[low(0), low(2), low(4)], [high(0), high(2), high(4)]].iter().enumerate() {
                let [first, second, third] = *pairs;
                let parts = [
                    _mm256_unpacklo_pd(first, second),
                    _mm256_shuffle_pd::<0b1010>(third, first),
                    _mm256_unpackhi_pd(second, third),
                ];
                for (part, pairs) in parts.iter().enumerate() {
                    let to = to.add(half * 2 * ROWS + part * 4).cast::<f64>();
                    _mm_storeu_pd(to, _mm256_castpd256_pd128(*pairs));
                    _mm_storeu_pd(to.add(STEPS / 4 * ROWS), _mm256_extractf128_pd::<1>(*pairs));
                }
            }
        }
    }
    depth / STEPS * STEPS
}

/// As [`interleave_4`].
///
/// # Safety
/// As [`interleave_4`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn interleave_8(to: *mut f64, at: *const f64, row: usize, depth: usize) -> usize {
    use std::arch::x86_64::*;
    const STEPS: usize = 4;
    for step in (0..depth / STEPS).map(|number| number * STEPS) {
        for pair in (0..ROWS).step_by(2) {
            // SAFETY: the caller's.
            unsafe {
                let (at, to) = (at.add(step + pair * row), to.add(step * ROWS + pair));
                let (first, second) = (_mm256_loadu_pd(at), _mm256_loadu_pd(at.add(row)));
                let even = _mm256_unpacklo_pd(first, second);
                let odd = _mm256_unpackhi_pd(first, second);
                _mm_storeu_pd(to, _mm256_castpd256_pd128(even));
                _mm_storeu_pd(to.add(ROWS), _mm256_castpd256_pd128(odd));
                _mm_storeu_pd(to.add(2 * ROWS), _mm256_extractf128_pd::<1>(even));
                _mm_storeu_pd(to.add(3 * ROWS), _mm256_extractf128_pd::<1>(odd));
            }
        }
    }
    depth / STEPS * STEPS
}

/// Copies `bytes` of some rows.
///
/// # Safety
/// As [`pack`], for so many bytes of these rows.
unsafe fn copy_rows<T: Float>(to: *mut T, width: usize, slab: &Slab<T>, rows: Range<usize>, bytes: usize) {
    // SAFETY: the caller's.
    unsafe {
        match bytes {
            16 => copy_rows_of::<T, 16>(to, width, slab, rows),
            24 => copy_rows_of::<T, 24>(to, width, slab, rows),
            32 => copy_rows_of::<T, 32>(to, width, slab, rows),
            48 => copy_rows_of::<T, 48>(to, width, slab, rows),
            64 => copy_rows_of::<T, 64>(to, width, slab, rows),
            _ => {
                for p in rows {
                    let row = slab.at.add(p * slab.along).cast::<u8>();
                    row.copy_to_nonoverlapping(to.add(p * width).cast(), bytes);
                }
            }
        }
    }
}

/// Rows of so many bytes, which need no call.
///
/// # Safety
/// As [`copy_rows`].
unsafe fn copy_rows_of<T: Float, const BYTES: usize>(
    to: *mut T,
    width: usize,
    slab: &Slab<T>,
    rows: Range<usize>,
) {
    for p in rows {
        // SAFETY: the caller's.
        unsafe {
            let row = slab.at.add(p * slab.along).cast::<[u8; BYTES]>().read();
            to.add(p * width).cast::<[u8; BYTES]>().write(row);
        }
    }
}
