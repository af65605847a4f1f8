//! [`pack`]: copies a panel of an operand into the order in which tiles read it.

use std::ops::Range;

use super::kernel::{Float, ROWS};
use crate::tiles::transpose::{block_fn, smallest};

/// A panel of an operand before it is packed: rows of the left operand or columns of the right operand. The panel has
/// `depth` steps of `count` elements. Element `(p, i)` is at `start + p * along + i * across`.
pub(super) struct UnpackedPanel<T> {
    pub start: *const T,
    pub along: usize,
    pub across: usize,
    pub depth: usize,
    pub count: usize,
}

/// Packs a panel: `to[p * width + i] = panel(p, i)`. For `i` in `panel.count..width` the values are unspecified.
///
/// # Safety
/// The panel is readable, with all memory between its elements. `panel.depth * width` elements are writable at `to` and
/// do not overlap the panel.
pub(super) unsafe fn pack<T: Float>(to: *mut T, width: usize, panel: &UnpackedPanel<T>) {
    let UnpackedPanel { start, along, across, depth, count } = *panel;
    let size = size_of::<T>();
    // SAFETY: the caller's promise, for every row and column.
    unsafe {
        if across == 1 {
            // Steps are read `width` elements wide as long as this many elements lie in the panel's memory. Only the
            // last steps may be narrower.
            let last = (depth - 1) * along + count;
            let wide = if last < width { 0 } else { (last - width).checked_div(along).map_or(0, |p| p + 1) };
            let wide = wide.min(depth);
            copy_steps(to, width, panel, 0..wide, width * size);
            copy_steps(to, width, panel, wide..depth, count * size);
        } else if along == 1 && depth.min(count) >= smallest(size) {
            let done = if count == ROWS && width == ROWS { interleave(to, start, across, depth) } else { 0 };
            let (to, start, depth) = (to.add(done * width), start.add(done), depth - done);
            if depth >= smallest(size) {
                let (line, row) = ((width * size) as isize, (across * size) as isize);
                block_fn(size)(to.cast(), line, start.cast(), row, depth, count);
                return;
            }
            for p in 0..depth {
                for i in 0..count {
                    to.add(p * width + i).write(start.add(p + i * across).read_unaligned());
                }
            }
        } else {
            for p in 0..depth {
                for i in 0..count {
                    to.add(p * width + i).write(start.add(p * along + i * across).read_unaligned());
                }
            }
        }
    }
}

/// Packs [`ROWS`] contiguous rows that lie `row` elements apart. Packs only the steps that fill whole registers, and
/// returns their number.
///
/// # Safety
/// As [`pack`], for a panel of these rows and `depth` steps.
unsafe fn interleave<T: Float>(to: *mut T, start: *const T, row: usize, depth: usize) -> usize {
    #[cfg(target_arch = "x86_64")]
    if crate::tiles::cpu::has_avx2() {
        // SAFETY: the caller's promise, for elements of this size. The processor has AVX2.
        unsafe {
            return match size_of::<T>() {
                4 => interleave_4(to.cast(), start.cast(), row, depth),
                8 => interleave_8(to.cast(), start.cast(), row, depth),
                _ => 0,
            };
        }
    }
    0
}

/// Implements [`interleave`] for 4-byte elements. It interleaves two rows into pairs of elements; each step has three
/// such pairs.
///
/// # Safety
/// As [`interleave`], on a processor with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn interleave_4(to: *mut f32, start: *const f32, row: usize, depth: usize) -> usize {
    use std::arch::x86_64::*;
    const STEPS: usize = 8;
    for step in (0..depth / STEPS).map(|index| index * STEPS) {
        // SAFETY: the caller's promise.
        unsafe {
            let (from, to) = (start.add(step), to.add(step * ROWS));
            let rows: [__m256; ROWS] = std::array::from_fn(|i| _mm256_loadu_ps(from.add(i * row)));
            let low = |i: usize| _mm256_castps_pd(_mm256_unpacklo_ps(rows[i], rows[i + 1]));
            let high = |i: usize| _mm256_castps_pd(_mm256_unpackhi_ps(rows[i], rows[i + 1]));
            // The first half holds steps 0, 1, 4, 5; the second holds steps 2, 3, 6, 7.
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

/// Implements [`interleave`] for 8-byte elements.
///
/// # Safety
/// As [`interleave_4`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn interleave_8(to: *mut f64, start: *const f64, row: usize, depth: usize) -> usize {
    use std::arch::x86_64::*;
    const STEPS: usize = 4;
    for step in (0..depth / STEPS).map(|index| index * STEPS) {
        for pair in (0..ROWS).step_by(2) {
            // SAFETY: the caller's promise.
            unsafe {
                let (from, to) = (start.add(step + pair * row), to.add(step * ROWS + pair));
                let (first, second) = (_mm256_loadu_pd(from), _mm256_loadu_pd(from.add(row)));
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

/// Copies the first `bytes` bytes of each step in `steps`.
///
/// # Safety
/// As [`pack`], for these bytes of these steps.
unsafe fn copy_steps<T: Float>(
    to: *mut T,
    width: usize,
    panel: &UnpackedPanel<T>,
    steps: Range<usize>,
    bytes: usize,
) {
    // SAFETY: the caller's promise.
    unsafe {
        match bytes {
            16 => copy_steps_of::<T, 16>(to, width, panel, steps),
            24 => copy_steps_of::<T, 24>(to, width, panel, steps),
            32 => copy_steps_of::<T, 32>(to, width, panel, steps),
            48 => copy_steps_of::<T, 48>(to, width, panel, steps),
            64 => copy_steps_of::<T, 64>(to, width, panel, steps),
            _ => {
                for p in steps {
                    let step = panel.start.add(p * panel.along).cast::<u8>();
                    step.copy_to_nonoverlapping(to.add(p * width).cast(), bytes);
                }
            }
        }
    }
}

/// Copies the first `BYTES` bytes of each step in `steps`, without a call of `memcpy`.
///
/// # Safety
/// As [`copy_steps`].
unsafe fn copy_steps_of<T: Float, const BYTES: usize>(
    to: *mut T,
    width: usize,
    panel: &UnpackedPanel<T>,
    steps: Range<usize>,
) {
    for p in steps {
        // SAFETY: the caller's promise.
        unsafe {
            let step = panel.start.add(p * panel.along).cast::<[u8; BYTES]>().read();
            to.add(p * width).cast::<[u8; BYTES]>().write(step);
        }
    }
}
