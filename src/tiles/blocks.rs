//! [`Plane`]: two loops of a copy with what moves inside them.

use std::mem::MaybeUninit;

use super::axes::Axis;
use super::cpu::has_avx2;
use super::run;

/// Two nested loops. Their bodies move contiguous runs or single elements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plane {
    pub rows: Axis,
    pub cols: Axis,
    pub kind: Kind,
    /// Bytes of an element; for runs, of the whole run.
    pub elem: usize,
    /// Whether the destination is written past the caches.
    pub stream: bool,
}

/// How the columns of a plane move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// A column is a run of bytes.
    Runs,
    /// The destination is contiguous along the columns, the source does not move.
    Splat,
    /// The destination is contiguous along the columns, the source is too, downwards.
    Reversed,
    /// Any strides.
    Strided,
    /// The destination is contiguous, two to four columns wide; the source is contiguous along the rows and
    /// moves, or does not, along the columns: source rows are interleaved or elements repeated.
    Zip,
}

/// A function that moves one plane.
///
/// # Safety
/// Every element the plane names is writable at the first pointer and readable at the second; the two sides
/// do not overlap.
pub(super) type PlaneFn = unsafe fn(&Plane, *mut u8, *const u8);

/// The function for a plane whose elements have a size that [`super::copy_strided`] takes.
pub(super) fn plane_fn(plane: &Plane) -> PlaneFn {
    match (plane.kind, plane.elem, has_avx2()) {
        (Kind::Runs, ..) => move_runs,
        #[cfg(target_arch = "x86_64")]
        (_, 1, true) => move_avx2::<u8>,
        #[cfg(target_arch = "x86_64")]
        (_, 2, true) => move_avx2::<u16>,
        #[cfg(target_arch = "x86_64")]
        (_, 4, true) => move_avx2::<u32>,
        #[cfg(target_arch = "x86_64")]
        (_, 8, true) => move_avx2::<u64>,
        (_, 1, _) => move_elements::<u8>,
        (_, 2, _) => move_elements::<u16>,
        (_, 4, _) => move_elements::<u32>,
        (_, 8, _) => move_elements::<u64>,
        _ => move_elements::<[u64; 2]>,
    }
}

unsafe fn move_runs(plane: &Plane, dst: *mut u8, src: *const u8) {
    let Plane { rows, cols, elem: len, .. } = *plane;
    for row in 0..rows.n as isize {
        for col in 0..cols.n as isize {
            // SAFETY: the caller's promise for row and column.
            unsafe {
                let dst = dst.offset(row * rows.dst + col * cols.dst);
                let src = src.offset(row * rows.src + col * cols.src);
                if plane.stream { run::stream_run(dst, src, len) } else { run::copy_run(dst, src, len) }
            }
        }
    }
}

/// The loops of [`move_elements`], compiled for 256-bit vectors.
///
/// # Safety
/// As [`PlaneFn`], on a processor with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn move_avx2<T: Copy>(plane: &Plane, dst: *mut u8, src: *const u8) {
    // SAFETY: the caller's promise.
    unsafe { move_elements::<T>(plane, dst, src) }
}

#[inline(always)]
unsafe fn move_elements<T: Copy>(plane: &Plane, dst: *mut u8, src: *const u8) {
    let Plane { rows, cols, kind, .. } = *plane;
    if kind == Kind::Zip {
        // SAFETY: the caller's promise; groups of `cols.n` elements follow each other.
        return unsafe {
            match cols.n {
                2 => run::zip::<T, 2>(dst, src, cols.src, rows.n),
                3 => run::zip::<T, 3>(dst, src, cols.src, rows.n),
                _ => run::zip::<T, 4>(dst, src, cols.src, rows.n),
            }
        };
    }
    let elem = size_of::<T>() as isize;
    let step = if cols.dst == elem && cols.src % elem == 0 { cols.src / elem } else { 0 };
    for row in 0..rows.n as isize {
        // SAFETY: the caller's promise for the row; each function is given the strides it is for.
        unsafe {
            let (dst, src) = (dst.offset(row * rows.dst), src.offset(row * rows.src));
            match (kind, step) {
                (Kind::Splat, _) => run::splat(dst, src.cast::<T>().read_unaligned(), cols.n),
                (Kind::Reversed, _) => run::reversed::<T>(dst, src, cols.n),
                (_, 2) => run::every::<T, 2>(dst, src, cols.n),
                (_, 3) => run::every::<T, 3>(dst, src, cols.n),
                (_, 4) => run::every::<T, 4>(dst, src, cols.n),
                _ => run::moved::<T>(dst, cols.dst, src, cols.src, cols.n),
            }
        }
    }
}

/// Moves a plane tile by tile, so that lines of the source that several rows share are read once.
///
/// # Safety
/// As [`PlaneFn`].
pub(super) unsafe fn move_tiles(
    plane: &Plane,
    tile_rows: usize,
    tile_cols: usize,
    dst: *mut u8,
    src: *const u8,
) {
    let body = plane_fn(plane);
    for col in (0..plane.cols.n).step_by(tile_cols) {
        for row in (0..plane.rows.n).step_by(tile_rows) {
            let tile = Plane {
                rows: Axis { n: tile_rows.min(plane.rows.n - row), ..plane.rows },
                cols: Axis { n: tile_cols.min(plane.cols.n - col), ..plane.cols },
                ..*plane
            };
            let (row, col) = (row as isize, col as isize);
            // SAFETY: the tile is part of the plane.
            unsafe {
                body(
                    &tile,
                    dst.offset(row * plane.rows.dst + col * plane.cols.dst),
                    src.offset(row * plane.rows.src + col * plane.cols.src),
                );
            }
        }
    }
}

/// Bytes that a row is moved by on its way past the caches.
const PIECE: usize = 4 << 10;

/// Moves a plane whose destination is contiguous along the columns, row by row and piece by piece through a
/// buffer that leaves past the caches.
///
/// # Safety
/// As [`PlaneFn`].
pub(super) unsafe fn move_streamed(plane: &Plane, dst: *mut u8, src: *const u8) {
    let body = plane_fn(plane);
    let Plane { rows, cols, elem, .. } = *plane;
    let mut buffer = MaybeUninit::<[u8; PIECE]>::uninit();
    let buffer = buffer.as_mut_ptr().cast::<u8>();
    let step = PIECE / elem;
    for row in 0..rows.n as isize {
        for col in (0..cols.n).step_by(step) {
            let n = step.min(cols.n - col);
            let piece = Plane { rows: Axis { n: 1, ..rows }, cols: Axis { n, ..cols }, ..*plane };
            // SAFETY: the piece is part of the plane and fits the buffer.
            unsafe {
                body(&piece, buffer, src.offset(row * rows.src + col as isize * cols.src));
                run::stream_run(dst.offset(row * rows.dst).add(col * elem), buffer, n * elem);
            }
        }
    }
}
