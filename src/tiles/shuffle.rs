//! Gathers of every `STEP`-th element, and interleaves of rows, by byte shuffles of 128-bit vectors.
//!
//! A destination vector is the bitwise or of the shuffled source vectors that contain its elements. The source vectors
//! may include elements between the gathered elements, but no element before the first or after the last gathered
//! element.

use std::arch::x86_64::*;

use super::cpu::CACHE_LINE;
use super::moves;

/// Bytes of a 128-bit vector.
const LANE: usize = 16;

/// For each byte of a destination vector, the index of its byte in a source vector; 0x80 for a zero.
type Mask = [u8; LANE];

/// Returns one mask for each of the `step` vectors in a block of the source. Gathered element `i` of the block lies
/// `phase + i·step` elements from the block's beginning, or from its end if `down`.
const fn gather_masks(elem: usize, step: usize, down: bool, phase: usize) -> [Mask; 4] {
    let mut masks = [[0x80; LANE]; 4];
    let mut i = 0;
    while i < LANE / elem {
        let up = (phase + i * step) * elem;
        let offset = if down { LANE * step - elem - up } else { up };
        let mut byte = 0;
        while byte < elem {
            masks[(offset + byte) / LANE][i * elem + byte] = ((offset + byte) % LANE) as u8;
            byte += 1;
        }
        i += 1;
    }
    masks
}

/// Returns the masks that interleave `rows` rows: entry `4·k + row` selects the bytes of a row's vector that belong to
/// destination vector `k`.
const fn interleave_masks(elem: usize, rows: usize) -> [Mask; 16] {
    let mut masks = [[0x80; LANE]; 16];
    let mut byte = 0;
    while byte < LANE * rows {
        let (group, row) = (byte / elem / rows, byte / elem % rows);
        masks[4 * (byte / LANE) + row][byte % LANE] = (group * elem + byte % elem) as u8;
        byte += 1;
    }
    masks
}

/// Gathers one vector from the block of `step` vectors that begins at `src`.
///
/// # Safety
/// The block is readable.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn gather_lane(src: *const u8, masks: &[Mask; 4], step: usize) -> __m128i {
    let mut lane = _mm_setzero_si128();
    for (j, mask) in masks[..step].iter().enumerate() {
        // SAFETY: vector `j` lies in the block; a mask has the size of a vector.
        let taken = unsafe {
            let vector = _mm_loadu_si128(src.add(LANE * j).cast());
            _mm_shuffle_epi8(vector, _mm_loadu_si128(mask.as_ptr().cast()))
        };
        lane = if j == 0 { taken } else { _mm_or_si128(lane, taken) };
    }
    lane
}

/// Gathers two vectors, one from the block of `step` vectors at `low` and one from the block at `high`.
///
/// # Safety
/// Both blocks are readable.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn gather_lanes(low: *const u8, high: *const u8, masks: &[Mask; 4], step: usize) -> __m256i {
    let mut lanes = _mm256_setzero_si256();
    for (j, mask) in masks[..step].iter().enumerate() {
        // SAFETY: vector `j` lies in each block; a mask has the size of a vector.
        let taken = unsafe {
            let low = _mm_loadu_si128(low.add(LANE * j).cast());
            let high = _mm_loadu_si128(high.add(LANE * j).cast());
            let both = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high);
            let mask = _mm_loadu_si128(mask.as_ptr().cast());
            _mm256_shuffle_epi8(both, _mm256_broadcastsi128_si256(mask))
        };
        lanes = if j == 0 { taken } else { _mm256_or_si256(lanes, taken) };
    }
    lanes
}

/// Copies `n` elements that are contiguous in the destination and `STEP` elements apart in the source. The source
/// address decreases if `DOWN`.
///
/// # Safety
/// `n` elements are writable at `dst`. The source elements are readable, with all bytes between them. The two sides do
/// not overlap. The processor has AVX2.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn gather<T: Copy, const STEP: usize, const DOWN: bool>(
    dst: *mut u8,
    src: *const u8,
    n: usize,
) {
    let elem = const { size_of::<T>() };
    let block = LANE / elem;
    let stride = if DOWN { -((STEP * elem) as isize) } else { (STEP * elem) as isize };
    // Blocks that can be read whole. A block extends `STEP - 1` elements beyond its last gathered element.
    let whole = if STEP == 1 { n / block } else { n.saturating_sub(1) / block };
    if whole == 0 {
        // SAFETY: the caller's promise.
        return unsafe { moves::copy_strided::<T>(dst, elem as isize, src, stride, n) };
    }
    let masks = const { &gather_masks(size_of::<T>(), STEP, DOWN, 0) };
    // In the last block, the last gathered element is the block's last element.
    let last_masks = const { &gather_masks(size_of::<T>(), STEP, DOWN, STEP - 1) };
    let bytes = (LANE * STEP) as isize;
    // Offsets from a block's first gathered element to the block's lowest byte, and from a block to the next.
    let (start, next) = if DOWN { (elem as isize - bytes, -bytes) } else { (0, bytes) };
    // SAFETY: the blocks below `whole` lie between the first and the last element. So does the block that ends with the
    // last element: this block is needed only if there are more than `block` elements.
    unsafe {
        let (mut to, mut from) = (dst, src.offset(start));
        for _ in 0..whole / 2 {
            let lanes = gather_lanes(from, from.offset(next), masks, STEP);
            _mm256_storeu_si256(to.cast(), lanes);
            to = to.add(2 * LANE);
            from = from.offset(2 * next);
        }
        if whole % 2 == 1 {
            _mm_storeu_si128(to.cast(), gather_lane(from, masks, STEP));
        }
        if whole * block < n {
            let first = (n - block) as isize * stride;
            let back = (STEP - 1) as isize * stride / STEP as isize;
            let lane = gather_lane(src.offset(first - back + start), last_masks, STEP);
            _mm_storeu_si128(dst.add((n - block) * elem).cast(), lane);
        }
    }
}

/// Gathers `lines` whole cache lines as [`gather`] does, with stores that bypass the caches. The function reads the
/// source upwards, because hardware prefetchers follow that direction better.
///
/// # Safety
/// As [`gather`]; `dst` is a multiple of 64. The `STEP - 1` source elements after the last one, in the direction of the
/// gather, are readable.
#[target_feature(enable = "avx2")]
unsafe fn gather_lines<T: Copy, const STEP: usize, const DOWN: bool>(
    dst: *mut u8,
    src: *const u8,
    lines: usize,
) {
    let masks = const { &gather_masks(size_of::<T>(), STEP, DOWN, 0) };
    let bytes = (LANE * STEP) as isize;
    let (start, next) = if DOWN { (size_of::<T>() as isize - bytes, -bytes) } else { (0, bytes) };
    for i in 0..lines {
        let line = if DOWN { lines - 1 - i } else { i };
        // SAFETY: the line's four blocks lie between the first element and the readable elements after the last
        // element.
        unsafe {
            let from = src.offset(start + 4 * line as isize * next);
            let low = gather_lanes(from, from.offset(next), masks, STEP);
            let high = gather_lanes(from.offset(2 * next), from.offset(3 * next), masks, STEP);
            let to = dst.add(CACHE_LINE * line).cast::<__m256i>();
            _mm256_stream_si256(to, low);
            _mm256_stream_si256(to.add(1), high);
        }
    }
}

/// Gathers as [`gather`] does. Stores of whole cache lines bypass the caches.
///
/// # Safety
/// As [`gather`]. Call [`moves::stream_end`] before another thread may read the elements.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn gather_streamed<T: Copy, const STEP: usize, const DOWN: bool>(
    dst: *mut u8,
    src: *const u8,
    n: usize,
) {
    let elem = const { size_of::<T>() };
    let stride = if DOWN { -((STEP * elem) as isize) } else { (STEP * elem) as isize };
    let lead = dst.align_offset(CACHE_LINE);
    let head = if lead.is_multiple_of(elem) { (lead / elem).min(n) } else { n };
    // The blocks of the last line extend beyond its elements, so at least one element must follow the line.
    let beyond = if STEP == 1 { 0 } else { 1 };
    let lines = (n - head).saturating_sub(beyond) * elem / CACHE_LINE;
    let done = head + lines * CACHE_LINE / elem;
    // SAFETY: the elements consist of the head, the lines, and the tail. Elements after the lines are the caller's too.
    unsafe {
        gather::<T, STEP, DOWN>(dst, src, head);
        let element = |i: usize| (dst.add(i * elem), src.offset(i as isize * stride));
        let (to, from) = element(head);
        gather_lines::<T, STEP, DOWN>(to, from, lines);
        let (to, from) = element(done);
        gather::<T, STEP, DOWN>(to, from, n - done);
    }
}

/// Interleaves `N` rows of `n` elements, `src_stride` bytes apart, into `n` groups of `N`.
///
/// # Safety
/// As [`moves::interleave`], on a processor with AVX2.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn interleave<T: Copy, const N: usize>(
    dst: *mut u8,
    src: *const u8,
    src_stride: isize,
    n: usize,
) {
    let elem = const { size_of::<T>() };
    let block = LANE / elem;
    if n < block {
        // SAFETY: the caller's promise.
        return unsafe { moves::interleave::<T, N>(dst, src, src_stride, n) };
    }
    let masks = const { &interleave_masks(size_of::<T>(), N) };
    let mut start = 0;
    loop {
        let mut rows = [_mm_setzero_si128(); N];
        for (j, row) in rows.iter_mut().enumerate() {
            // SAFETY: `start + block <= n`, and row `j < N` starts at `j * src_stride`.
            *row = unsafe { _mm_loadu_si128(src.offset(j as isize * src_stride).add(start * elem).cast()) };
        }
        for k in 0..N {
            let mut lane = _mm_setzero_si128();
            for (j, row) in rows.iter().enumerate() {
                // SAFETY: a mask has the size of a vector.
                let mask = unsafe { _mm_loadu_si128(masks[4 * k + j].as_ptr().cast()) };
                lane = _mm_or_si128(lane, _mm_shuffle_epi8(*row, mask));
            }
            // SAFETY: the groups of a block fill `N` vectors.
            unsafe { _mm_storeu_si128(dst.add(start * N * elem + k * LANE).cast(), lane) };
        }
        if start + block == n {
            return;
        }
        // The last block overlaps the block before it, so that the last block ends with the rows.
        start = (start + block).min(n - block);
    }
}
