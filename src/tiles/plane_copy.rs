//! Copies of a [`Plane`]: at once, tile by tile, or through a [`Stream`].

use super::axes::CopyLoop;
use super::moves;
use super::plane::{Plane, PlaneFn, PlaneKind};
use super::runs::runs_fn;
use super::stream::{PIECE, Stream};
#[cfg(target_arch = "x86_64")]
use super::{cpu::has_avx2, shuffle};

/// Returns the function that copies a plane. Single elements have 1, 2, 4, 8, or 16 bytes; runs have any number of
/// bytes.
pub(super) fn plane_fn(plane: &Plane) -> PlaneFn {
    match (plane.kind, plane.elem) {
        (PlaneKind::Runs, _) => runs_fn(plane),
        (_, 1) => elements_fn::<u8>(plane),
        (_, 2) => elements_fn::<u16>(plane),
        (_, 4) => elements_fn::<u32>(plane),
        (_, 8) => elements_fn::<u64>(plane),
        _ => copy_elements::<[u64; 2]>,
    }
}

/// Returns the function that copies a plane of single elements, each the size of a `T`.
fn elements_fn<T: Copy>(plane: &Plane) -> PlaneFn {
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        return match (plane.kind, plane.step()) {
            (PlaneKind::Interleave, _) => match plane.cols.n {
                2 => avx2::interleaved::<T, 2>,
                3 => avx2::interleaved::<T, 3>,
                _ => avx2::interleaved::<T, 4>,
            },
            (PlaneKind::Strided, -1) => avx2::shuffled::<T, 1, true>,
            (PlaneKind::Strided, 2) => avx2::shuffled::<T, 2, false>,
            (PlaneKind::Strided, -2) => avx2::shuffled::<T, 2, true>,
            // With a step of 3 or 4, a 16-byte source vector holds at most one 8-byte element that the copy takes.
            (PlaneKind::Strided, 3) if plane.elem < 8 => avx2::shuffled::<T, 3, false>,
            (PlaneKind::Strided, -3) if plane.elem < 8 => avx2::shuffled::<T, 3, true>,
            (PlaneKind::Strided, 4) if plane.elem < 8 => avx2::shuffled::<T, 4, false>,
            (PlaneKind::Strided, -4) if plane.elem < 8 => avx2::shuffled::<T, 4, true>,
            _ => avx2::elements::<T>,
        };
    }
    copy_elements::<T>
}

/// Copies of planes by 256-bit vectors. All functions are [`PlaneFn`]s for a processor with AVX2.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::{Plane, copy_elements, shuffle};

    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn elements<T: Copy>(plane: &Plane, dst: *mut u8, src: *const u8) {
        // SAFETY: the caller's promise.
        unsafe { copy_elements::<T>(plane, dst, src) }
    }

    /// Copies columns that are contiguous in the destination and `STEP` elements apart in the source.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn shuffled<T: Copy, const STEP: usize, const DOWN: bool>(
        plane: &Plane,
        dst: *mut u8,
        src: *const u8,
    ) {
        let Plane { rows, cols, stream, .. } = *plane;
        for row in 0..rows.n as isize {
            // SAFETY: the caller's promise for the row.
            unsafe {
                let (dst, src) = (dst.offset(row * rows.dst), src.offset(row * rows.src));
                if stream {
                    shuffle::gather_streamed::<T, STEP, DOWN>(dst, src, cols.n);
                } else {
                    shuffle::gather::<T, STEP, DOWN>(dst, src, cols.n);
                }
            }
        }
    }

    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn interleaved<T: Copy, const N: usize>(plane: &Plane, dst: *mut u8, src: *const u8) {
        // SAFETY: the caller's promise; the groups of `N` elements are contiguous in the destination.
        unsafe { shuffle::interleave::<T, N>(dst, src, plane.cols.src, plane.rows.n) }
    }
}

/// Copies a plane of single elements, each the size of a `T`.
///
/// # Safety
/// As [`PlaneFn`].
#[inline(always)]
unsafe fn copy_elements<T: Copy>(plane: &Plane, dst: *mut u8, src: *const u8) {
    let Plane { rows, cols, kind, .. } = *plane;
    if kind == PlaneKind::Interleave {
        // SAFETY: the caller's promise; the groups of `cols.n` elements are contiguous in the destination.
        return unsafe {
            match cols.n {
                2 => moves::interleave::<T, 2>(dst, src, cols.src, rows.n),
                3 => moves::interleave::<T, 3>(dst, src, cols.src, rows.n),
                _ => moves::interleave::<T, 4>(dst, src, cols.src, rows.n),
            }
        };
    }
    for row in 0..rows.n as isize {
        // SAFETY: the caller's promise for the row. A splat has a contiguous destination.
        unsafe {
            let (dst, src) = (dst.offset(row * rows.dst), src.offset(row * rows.src));
            match kind {
                PlaneKind::Splat => moves::splat(dst, src.cast::<T>().read_unaligned(), cols.n),
                _ => moves::copy_strided::<T>(dst, cols.dst, src, cols.src, cols.n),
            }
        }
    }
}

/// Copies a plane tile by tile. Several rows share source cache lines, and a tile reads each of these lines once.
///
/// # Safety
/// As [`PlaneFn`].
pub(super) unsafe fn copy_tiles(
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
                rows: CopyLoop { n: tile_rows.min(plane.rows.n - row), ..plane.rows },
                cols: CopyLoop { n: tile_cols.min(plane.cols.n - col), ..plane.cols },
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

/// Copies a plane piece by piece through a stream. The plane's destination is contiguous along the columns.
///
/// # Safety
/// As [`PlaneFn`]; the destination stays writable until the stream ends.
pub(super) unsafe fn copy_streamed(plane: &Plane, stream: &mut Stream, dst: *mut u8, src: *const u8) {
    let body = plane_fn(plane);
    let Plane { rows, cols, elem, .. } = *plane;
    let row_bytes = cols.n * elem;
    debug_assert!(row_bytes > 0, "a plane has elements");
    let packed = rows.dst == row_bytes as isize && row_bytes <= PIECE;
    let (step_rows, step_cols) = if packed { (PIECE / row_bytes, cols.n) } else { (1, PIECE / elem) };
    for row in (0..rows.n).step_by(step_rows) {
        let n = step_rows.min(rows.n - row);
        for col in (0..cols.n).step_by(step_cols) {
            let piece = Plane {
                rows: CopyLoop { n, ..rows },
                cols: CopyLoop { n: step_cols.min(cols.n - col), ..cols },
                ..*plane
            };
            let (row, col) = (row as isize, col as isize);
            // SAFETY: the piece is part of the plane, is contiguous in the destination, and has at most `PIECE` bytes.
            unsafe {
                let to = dst.offset(row * rows.dst + col * cols.dst);
                let from = src.offset(row * rows.src + col * cols.src);
                stream.put(to, n * piece.cols.n * elem, |buffer| body(&piece, buffer, from));
            }
        }
    }
}
