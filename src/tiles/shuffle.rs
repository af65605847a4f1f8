//! Rows of elements taken at a step, or interleaved, by byte shuffles of 128-bit lanes.
//!
//! A vector of the destination is the union of shuffles of every vector of the source that its elements lie in.
//! Those vectors may hold elements that no one asks for between two that are asked for, never one beyond the
//! first or the last.

use std::arch::x86_64::*;

use super::run;

/// Bytes of a vector.
const LANE: usize = 16;

/// Bytes of a cache line.
const LINE: usize = 64;

/// Which byte of a source vector goes to each byte of a destination vector; 0x80 where none does.
type Mask = [u8; LANE];

/// For each of the `step` vectors in a block of the source, where its elements go. Element `i` of the block lies
/// `phase + i·step` elements from the block's beginning, or from its end if `down`.
const fn pick_masks(elem: usize, step: usize, down: bool, phase: usize) -> [Mask; 4] {
    let mut masks = [[0x80; LANE]; 4];
    let mut i = 0;
    while i < LANE / elem {
        let up = (phase + i * step) * elem;
        let at = if down { LANE * step - elem - up } else { up };
        let mut byte = 0;
        while byte < elem {
            masks[(at + byte) / LANE][i * elem + byte] = ((at + byte) % LANE) as u8;
            byte += 1;
        }
        i += 1;
    }
    masks
}

/// For vector `k` of a block of interleaved rows, what it takes of the vector of each row: entry `4·k + row`.
const fn zip_masks(elem: usize, rows: usize) -> [Mask; 16] {
    let mut masks = [[0x80; LANE]; 16];
    let mut byte = 0;
    while byte < LANE * rows {
        let (group, row) = (byte / elem / rows, byte / elem % rows);
        masks[4 * (byte / LANE) + row][byte % LANE] = (group * elem + byte % elem) as u8;
        byte += 1;
    }
    masks
}

/// One vector: the elements of the block of `step` vectors that begins at `src`.
///
/// # Safety
/// The block is readable.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn pick_lane(src: *const u8, masks: &[Mask; 4], step: usize) -> __m128i {
    let mut lane = _mm_setzero_si128();
    for (j, mask) in masks[..step].iter().enumerate() {
        // SAFETY: vector `j` is one of the block's; a mask is a vector.
        let taken = unsafe {
            let vector = _mm_loadu_si128(src.add(LANE * j).cast());
            _mm_shuffle_epi8(vector, _mm_loadu_si128(mask.as_ptr().cast()))
        };
        lane = if j == 0 { taken } else { _mm_or_si128(lane, taken) };
    }
    lane
}

/// Two vectors: the elements of the blocks of `step` vectors that begin at `low` and at `high`.
///
/// # Safety
/// Both blocks are readable.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn pick_lanes(low: *const u8, high: *const u8, masks: &[Mask; 4], step: usize) -> __m256i {
    let mut lanes = _mm256_setzero_si256();
    for (j, mask) in masks[..step].iter().enumerate() {
        // SAFETY: vector `j` is one of each block's; a mask is a vector.
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

/// Copies `n` elements, `STEP` of them apart in the source, which moves down if `DOWN`.
///
/// # Safety
/// `n` elements are writable at `dst`; those from the first to the last at `src`, and all between, are
/// readable; the sides do not overlap. The processor has AVX2.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn pick<T: Copy, const STEP: usize, const DOWN: bool>(
    dst: *mut u8,
    src: *const u8,
    n: usize,
) {
    let elem = const { size_of::<T>() };
    let block = LANE / elem;
    let stride = if DOWN { -((STEP * elem) as isize) } else { (STEP * elem) as isize };
    // The blocks that may be read whole: a block ends `STEP - 1` elements beyond its last.
    let whole = if STEP == 1 { n / block } else { n.saturating_sub(1) / block };
    if whole == 0 {
        // SAFETY: the caller's promise.
        return unsafe { run::moved::<T>(dst, elem as isize, src, stride, n) };
    }
    let masks = const { &pick_masks(size_of::<T>(), STEP, DOWN, 0) };
    // The last elements end a block instead of beginning one.
    let last_masks = const { &pick_masks(size_of::<T>(), STEP, DOWN, STEP - 1) };
    let bytes = (LANE * STEP) as isize;
    // From an element to the lowest byte of the block it begins, and to that of the next block.
    let (start, next) = if DOWN { (elem as isize - bytes, -bytes) } else { (0, bytes) };
    // SAFETY: blocks below `whole` are between the first element and the last, as is the block that ends with
    // the last element: more than `block` elements there are if it is needed.
    unsafe {
        let (mut to, mut from) = (dst, src.offset(start));
        for _ in 0..whole / 2 {
            let lanes = pick_lanes(from, from.offset(next), masks, STEP);
            _mm256_storeu_si256(to.cast(), lanes);
            to = to.add(2 * LANE);
            from = from.offset(2 * next);
        }
        if whole % 2 == 1 {
            _mm_storeu_si128(to.cast(), pick_lane(from, masks, STEP));
        }
        if whole * block < n {
            let first = (n - block) as isize * stride;
            let back = (STEP - 1) as isize * stride / STEP as isize;
            let lane = pick_lane(src.offset(first - back + start), last_masks, STEP);
            _mm_storeu_si128(dst.add((n - block) * elem).cast(), lane);
        }
    }
}

/// [`pick`] into `lines` whole cache lines, past the caches. The source is walked upwards, which the processor
/// foresees better.
///
/// # Safety
/// As [`pick`]; `dst` is a multiple of 64, and the `STEP - 1` elements beyond the last, in the direction in which the
/// source moves, are readable.
#[target_feature(enable = "avx2")]
unsafe fn pick_lines<T: Copy, const STEP: usize, const DOWN: bool>(
    dst: *mut u8,
    src: *const u8,
    lines: usize,
) {
    let masks = const { &pick_masks(size_of::<T>(), STEP, DOWN, 0) };
    let bytes = (LANE * STEP) as isize;
    let (start, next) = if DOWN { (size_of::<T>() as isize - bytes, -bytes) } else { (0, bytes) };
    for i in 0..lines {
        let line = if DOWN { lines - 1 - i } else { i };
        // SAFETY: the four blocks of the line lie between the first element and those beyond the last.
        unsafe {
            let from = src.offset(start + 4 * line as isize * next);
            let low = pick_lanes(from, from.offset(next), masks, STEP);
            let high = pick_lanes(from.offset(2 * next), from.offset(3 * next), masks, STEP);
            let to = dst.add(LINE * line).cast::<__m256i>();
            _mm256_stream_si256(to, low);
            _mm256_stream_si256(to.add(1), high);
        }
    }
}

/// [`pick`] with the whole cache lines of the destination past the caches, if it has any.
///
/// # Safety
/// As [`pick`]. [`run::stream_end`] must follow before another thread is told of the elements.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn pick_streamed<T: Copy, const STEP: usize, const DOWN: bool>(
    dst: *mut u8,
    src: *const u8,
    n: usize,
) {
    let elem = const { size_of::<T>() };
    let stride = if DOWN { -((STEP * elem) as isize) } else { (STEP * elem) as isize };
    let lead = dst.align_offset(LINE);
    let head = if lead.is_multiple_of(elem) { (lead / elem).min(n) } else { n };
    // What follows the last line holds the elements that its blocks reach beyond it.
    let beyond = if STEP == 1 { 0 } else { 1 };
    let lines = (n - head).saturating_sub(beyond) * elem / LINE;
    let done = head + lines * LINE / elem;
    // SAFETY: head, lines and rest make up the elements; what is beyond the lines are some of the caller's.
    unsafe {
        pick::<T, STEP, DOWN>(dst, src, head);
        let at = |i: usize| (dst.add(i * elem), src.offset(i as isize * stride));
        let (to, from) = at(head);
        pick_lines::<T, STEP, DOWN>(to, from, lines);
        let (to, from) = at(done);
        pick::<T, STEP, DOWN>(to, from, n - done);
    }
}

/// Interleaves `N` rows of `n` elements, `src_stride` bytes apart, into `n` groups of `N`.
///
/// # Safety
/// As [`run::zip`], on a processor with AVX2.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn zip<T: Copy, const N: usize>(dst: *mut u8, src: *const u8, src_stride: isize, n: usize) {
    let elem = const { size_of::<T>() };
    let block = LANE / elem;
    if n < block {
        // SAFETY: the caller's promise.
        return unsafe { run::zip::<T, N>(dst, src, src_stride, n) };
    }
    let masks = const { &zip_masks(size_of::<T>(), N) };
    let mut at = 0;
    loop {
        let mut rows = [_mm_setzero_si128(); N];
        for (j, row) in rows.iter_mut().enumerate() {
            // SAFETY: `at + block <= n`, and row `j < N` is at `j` strides.
            *row = unsafe { _mm_loadu_si128(src.offset(j as isize * src_stride).add(at * elem).cast()) };
        }
        for k in 0..N {
            let mut lane = _mm_setzero_si128();
            for (j, row) in rows.iter().enumerate() {
                // SAFETY: a mask is a vector.
                let mask = unsafe { _mm_loadu_si128(masks[4 * k + j].as_ptr().cast()) };
                lane = _mm_or_si128(lane, _mm_shuffle_epi8(*row, mask));
            }
            // SAFETY: the groups of the block are `N` vectors.
            unsafe { _mm_storeu_si128(dst.add(at * N * elem + k * LANE).cast(), lane) };
        }
        if at + block == n {
            return;
        }
        // The last block reaches back so that it ends with the rows.
        at = (at + block).min(n - block);
    }
}
