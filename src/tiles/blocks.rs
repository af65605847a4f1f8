//! [`Plane`]: two loops of a copy with what moves inside them.

use super::axes::Axis;
use super::run;
use super::runs::runs_fn;
use super::stream::{PIECE, Stream};
#[cfg(target_arch = "x86_64")]
use super::{cpu::has_avx2, shuffle};

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

impl Plane {
    /// Elements from a column of the source to the next where the destination is contiguous; 0 if nothing is.
    #[cfg(target_arch = "x86_64")]
    fn step(&self) -> isize {
        let elem = self.elem as isize;
        if self.cols.dst == elem && self.cols.src % elem == 0 { self.cols.src / elem } else { 0 }
    }

    /// Whether rows are shuffled out of vectors of the source, which can leave past the caches.
    pub fn is_picked(&self) -> bool {
        #[cfg(target_arch = "x86_64")]
        {
            let most = if self.elem < 8 { 4 } else { 2 };
            let step = self.step();
            has_avx2()
                && self.kind == Kind::Strided
                && self.elem <= 8
                && step != 1
                && (1..=most).contains(&step.abs())
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            false
        }
    }
}

/// How the columns of a plane move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// A column is a run of bytes.
    Runs,
    /// The destination is contiguous along the columns, the source does not move.
    Splat,
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

/// The function for a plane whose elements have a size that a copy takes.
pub(super) fn plane_fn(plane: &Plane) -> PlaneFn {
    match (plane.kind, plane.elem) {
        (Kind::Runs, _) => runs_fn(plane),
        (_, 1) => elements_fn::<u8>(plane),
        (_, 2) => elements_fn::<u16>(plane),
        (_, 4) => elements_fn::<u32>(plane),
        (_, 8) => elements_fn::<u64>(plane),
        _ => move_elements::<[u64; 2]>,
    }
}

fn elements_fn<T: Copy>(plane: &Plane) -> PlaneFn {
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        return match (plane.kind, plane.step()) {
            (Kind::Zip, _) => match plane.cols.n {
                2 => avx2::zipped::<T, 2>,
                3 => avx2::zipped::<T, 3>,
                _ => avx2::zipped::<T, 4>,
            },
            (Kind::Strided, -1) => avx2::picked::<T, 1, true>,
            (Kind::Strided, 2) => avx2::picked::<T, 2, false>,
            (Kind::Strided, -2) => avx2::picked::<T, 2, true>,
            // A vector has at most one such element of 8 bytes: nothing to shuffle.
            (Kind::Strided, 3) if plane.elem < 8 => avx2::picked::<T, 3, false>,
            (Kind::Strided, -3) if plane.elem < 8 => avx2::picked::<T, 3, true>,
            (Kind::Strided, 4) if plane.elem < 8 => avx2::picked::<T, 4, false>,
            (Kind::Strided, -4) if plane.elem < 8 => avx2::picked::<T, 4, true>,
            _ => avx2::moved::<T>,
        };
    }
    move_elements::<T>
}

/// Planes by 256-bit vectors. All functions are [`PlaneFn`]s on a processor with AVX2.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::{Plane, move_elements, shuffle};

    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn moved<T: Copy>(plane: &Plane, dst: *mut u8, src: *const u8) {
        // SAFETY: the caller's promise.
        unsafe { move_elements::<T>(plane, dst, src) }
    }

    /// Columns that follow each other in the destination, `STEP` elements apart in the source.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn picked<T: Copy, const STEP: usize, const DOWN: bool>(
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
                    shuffle::pick_streamed::<T, STEP, DOWN>(dst, src, cols.n);
                } else {
                    shuffle::pick::<T, STEP, DOWN>(dst, src, cols.n);
                }
            }
        }
    }

    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn zipped<T: Copy, const N: usize>(plane: &Plane, dst: *mut u8, src: *const u8) {
        // SAFETY: the caller's promise; groups of `N` elements follow each other.
        unsafe { shuffle::zip::<T, N>(dst, src, plane.cols.src, plane.rows.n) }
    }
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
    for row in 0..rows.n as isize {
        // SAFETY: the caller's promise for the row; each function is given the strides it is for.
        unsafe {
            let (dst, src) = (dst.offset(row * rows.dst), src.offset(row * rows.src));
            match kind {
                Kind::Splat => run::splat(dst, src.cast::<T>().read_unaligned(), cols.n),
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

/// Moves a plane whose destination is contiguous along the columns, piece by piece past the caches.
///
/// # Safety
/// As [`PlaneFn`]; the destination stays writable until the stream ends.
pub(super) unsafe fn move_streamed(plane: &Plane, stream: &mut Stream, dst: *mut u8, src: *const u8) {
    let body = plane_fn(plane);
    let Plane { rows, cols, elem, .. } = *plane;
    let row_bytes = cols.n * elem;
    let packed = rows.dst == row_bytes as isize && row_bytes <= PIECE;
    let (step_rows, step_cols) = if packed { (PIECE / row_bytes, cols.n) } else { (1, PIECE / elem) };
    for row in (0..rows.n).step_by(step_rows) {
        let n = step_rows.min(rows.n - row);
        for col in (0..cols.n).step_by(step_cols) {
            let piece = Plane {
                rows: Axis { n, ..rows },
                cols: Axis { n: step_cols.min(cols.n - col), ..cols },
                ..*plane
            };
            let (row, col) = (row as isize, col as isize);
            // SAFETY: the piece is part of the plane, contiguous in the destination, and fits a piece.
            unsafe {
                let to = dst.offset(row * rows.dst + col * cols.dst);
                let from = src.offset(row * rows.src + col * cols.src);
                stream.put(to, n * piece.cols.n * elem, |buffer| body(&piece, buffer, from));
            }
        }
    }
}
