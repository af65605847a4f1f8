//! [`pack`]: copies a panel of an operand into the order in which tiles read it.

use std::ops::Range;

use super::kernel::Float;
use super::tile::MAX_ROWS;
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
            // A step is copied `width` elements wide if these elements lie in the panel's memory, which ends with the
            // last element of the last step. So only the last steps may be narrower.
            let panel_len = (depth - 1) * along + count;
            let wide_steps = match panel_len.checked_sub(width) {
                Some(last_start) => last_start.checked_div(along).map_or(0, |p| p + 1).min(depth),
                None => 0,
            };
            copy_steps(to, width, panel, 0..wide_steps, width * size);
            copy_steps(to, width, panel, wide_steps..depth, count * size);
        } else if along == 1 && depth.min(count) >= smallest(size) {
            let rows = std::array::from_fn(|i| start.wrapping_add(i * across));
            let done = if count == MAX_ROWS && width == MAX_ROWS { interleave(to, rows, depth) } else { 0 };
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

/// Packs the first `count` of these rows: `to[p * count + i] = rows[i][p * along]`.
///
/// # Safety
/// As [`pack`], for these rows of `depth` steps.
pub(super) unsafe fn pack_rows<T: Float>(
    to: *mut T,
    rows: [*const T; MAX_ROWS],
    count: usize,
    along: usize,
    depth: usize,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let done = if count == MAX_ROWS && along == 1 { interleave(to, rows, depth) } else { 0 };
        for p in done..depth {
            for (i, row) in rows.iter().enumerate().take(count) {
                to.add(p * count + i).write(row.add(p * along).read_unaligned());
            }
        }
    }
}

/// Packs [`MAX_ROWS`] contiguous rows. Packs only the steps that fill whole registers, and returns their number.
///
/// # Safety
/// As [`pack`], for a panel of these rows and `depth` steps.
unsafe fn interleave<T: Float>(to: *mut T, rows: [*const T; MAX_ROWS], depth: usize) -> usize {
    #[cfg(target_arch = "x86_64")]
    if crate::tiles::cpu::has_avx2() {
        // SAFETY: the caller's promise, for elements of this size. The processor has AVX2.
        unsafe {
            return match size_of::<T>() {
                4 => interleave_4(to.cast(), rows.map(<*const T>::cast), depth),
                8 => interleave_8(to.cast(), rows.map(<*const T>::cast), depth),
                _ => 0,
            };
        }
    }
    0
}

/// Implements [`interleave`] for 4-byte elements. The code interleaves two rows into pairs of elements; each step has
/// three such pairs.
///
/// # Safety
/// As [`interleave`], on a processor with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn interleave_4(to: *mut f32, starts: [*const f32; MAX_ROWS], depth: usize) -> usize {
    use std::arch::x86_64::*;
    const STEPS: usize = 8;
    for step in (0..depth / STEPS).map(|index| index * STEPS) {
        // SAFETY: the caller's promise.
        unsafe {
            let to = to.add(step * MAX_ROWS);
            let rows: [__m256; MAX_ROWS] = std::array::from_fn(|i| _mm256_loadu_ps(starts[i].add(step)));
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
                    let to = to.add(half * 2 * MAX_ROWS + part * 4).cast::<f64>();
                    _mm_storeu_pd(to, _mm256_castpd256_pd128(*pairs));
                    _mm_storeu_pd(to.add(STEPS / 4 * MAX_ROWS), _mm256_extractf128_pd::<1>(*pairs));
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
unsafe fn interleave_8(to: *mut f64, starts: [*const f64; MAX_ROWS], depth: usize) -> usize {
    use std::arch::x86_64::*;
    const STEPS: usize = 4;
    for step in (0..depth / STEPS).map(|index| index * STEPS) {
        for pair in (0..MAX_ROWS).step_by(2) {
            // SAFETY: the caller's promise.
            unsafe {
                let to = to.add(step * MAX_ROWS + pair);
                let (first, second) =
                    (_mm256_loadu_pd(starts[pair].add(step)), _mm256_loadu_pd(starts[pair + 1].add(step)));
                let even = _mm256_unpacklo_pd(first, second);
                let odd = _mm256_unpackhi_pd(first, second);
                _mm_storeu_pd(to, _mm256_castpd256_pd128(even));
                _mm_storeu_pd(to.add(MAX_ROWS), _mm256_castpd256_pd128(odd));
                _mm_storeu_pd(to.add(2 * MAX_ROWS), _mm256_extractf128_pd::<1>(even));
                _mm_storeu_pd(to.add(3 * MAX_ROWS), _mm256_extractf128_pd::<1>(odd));
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
