//! [`StridedCopy`]: copies elements between any two strided layouts.

use smallvec::SmallVec;

use super::axes::{Axes, Axis, for_each_offset};
use super::blocks::{Kind, Plane, PlaneFn, move_streamed, move_tiles, plane_fn};
use super::cpu::is_streamed;
use super::stream::Stream;
use super::{run, transpose};

/// Shorter runs are copied in tiles if their source is not in order: several share a cache line, or lines that are
/// fetched together.
const SHORT_RUN: usize = 2048;

/// The same where the destination passes the caches: memory is read in order for longer.
const SHORT_STREAM_RUN: usize = 16 << 10;

/// Shorter stretches of a destination are not streamed: too little of them is whole cache lines.
const SHORT_STREAM: usize = 512;

/// The same of rows that end inside a line.
const SHORT_BROKEN: usize = 2048;

/// Longer runs are streamed from where they are.
const LONG_RUN: usize = 2048;

/// Rows and columns of a tile of single elements or short runs.
const TILE: usize = 32;

/// Bytes of the destination in a row of a tile of runs, and of the source in a column.
const TILE_BYTES: usize = 4096;

/// Rows of a tile of runs that is streamed: each of its columns is read in order for so long.
const STREAM_ROWS: usize = 64;

/// The fewest columns of such a tile. Memory answers a few places that are read in order, and hardly more at once.
const STREAM_COLS: usize = 4;

/// Bytes of the destination in a row of such a tile.
const STREAM_BYTES: usize = 512;

/// Elements of a chunk of columns whose source is read once for each of a few rows.
const CHUNK: usize = 512;

/// A copy of the elements at every index below some extents, each from `src + Σ index·src_stride` to
/// `dst + Σ index·dst_stride`, decided once to be done many times.
#[derive(Clone, Debug)]
pub(crate) struct StridedCopy {
    /// Loops around the plane.
    outer: SmallVec<[Axis; 6]>,
    plane: Plane,
    walk: Walk,
    dst_first: isize,
    src_first: isize,
}

#[derive(Clone, Copy, Debug)]
enum Walk {
    Nothing,
    Whole(PlaneFn),
    Tiles { rows: usize, cols: usize },
    Streamed,
}

/// An axis of one element.
const ONE: Axis = Axis { n: 1, dst: 0, src: 0 };

impl StridedCopy {
    /// Decides how to copy elements of `elem` bytes (1, 2, 4, 8 or 16). Strides are in bytes and of any sign; a
    /// source stride of 0 repeats. The elements are part of a destination of `whole` bytes: one that no cache
    /// holds is written past the caches, whichever part of it a thread writes.
    pub(crate) fn new(
        dst_strides: &[isize],
        src_strides: &[isize],
        extents: &[usize],
        elem: usize,
        whole: usize,
    ) -> StridedCopy {
        debug_assert!(matches!(elem, 1 | 2 | 4 | 8 | 16));
        match Axes::new(dst_strides, src_strides, extents, elem) {
            Some(axes) => StridedCopy::over(axes, whole),
            None => StridedCopy {
                outer: SmallVec::new(),
                plane: Plane { rows: ONE, cols: ONE, kind: Kind::Runs, elem, stream: false },
                walk: Walk::Nothing,
                dst_first: 0,
                src_first: 0,
            },
        }
    }

    /// Copies from `src` to `dst`.
    ///
    /// # Safety
    /// For the strides and extents the copy was made with, every source element is readable and every destination
    /// element writable; destination elements do not overlap one another or any source element. No alignment is
    /// needed.
    pub(crate) unsafe fn run(&self, dst: *mut u8, src: *const u8) {
        if matches!(self.walk, Walk::Nothing) {
            return;
        }
        // SAFETY: both are offsets of elements of the caller's.
        let (dst, src) = unsafe { (dst.offset(self.dst_first), src.offset(self.src_first)) };
        // SAFETY: the loops name the caller's elements, each once.
        unsafe {
            let at = |dst_offset, src_offset| (dst.offset(dst_offset), src.offset(src_offset));
            match self.walk {
                Walk::Nothing => {}
                Walk::Whole(body) => for_each_offset(&self.outer, |dst, src| {
                    let (dst, src) = at(dst, src);
                    body(&self.plane, dst, src);
                }),
                Walk::Tiles { rows, cols } => for_each_offset(&self.outer, |dst, src| {
                    let (dst, src) = at(dst, src);
                    move_tiles(&self.plane, rows, cols, dst, src);
                }),
                Walk::Streamed => {
                    let mut stream = Stream::new();
                    for_each_offset(&self.outer, |dst, src| {
                        let (dst, src) = at(dst, src);
                        move_streamed(&self.plane, &mut stream, dst, src);
                    });
                    stream.end();
                }
            }
        }
        if self.plane.stream {
            run::stream_end();
        }
    }

    fn over(axes: Axes, whole: usize) -> StridedCopy {
        let Axes { axes: mut outer, mut dst_first, mut src_first, elem } = axes;
        let size = elem as isize;
        let inner = outer.pop().unwrap_or(Axis { dst: size, src: size, ..ONE });
        let huge = is_streamed(whole);
        if inner.dst == size && inner.src == size {
            let len = inner.n * elem;
            let cols = outer.pop().unwrap_or(ONE);
            let short = if huge { SHORT_STREAM_RUN } else { SHORT_RUN };
            let near = if len < short { nearest(&outer, cols) } else { None };
            let tiled = near.is_some();
            let rows = near.map(|at| outer.remove(at)).or_else(|| outer.pop()).unwrap_or(ONE);
            let lines = len % 64 == 0 && outer.iter().chain([&rows, &cols]).all(|axis| axis.dst % 64 == 0);
            let stream = huge && (lines || len >= SHORT_STREAM);
            // In a tile the source is read in order, a few lines of the destination written at a time, unless they
            // pass the caches: those are written in their own order.
            let (rows, cols) = if tiled && !stream { (cols, rows) } else { (rows, cols) };
            let mut plane = Plane { rows, cols, kind: Kind::Runs, elem: len, stream };
            let walk = if tiled && stream {
                // Lines leave whole in any order, so that the source is read in its own.
                outer.sort_by_key(|axis| std::cmp::Reverse(axis.src.unsigned_abs()));
                Walk::Tiles { rows: STREAM_ROWS, cols: (STREAM_BYTES / len).max(STREAM_COLS) }
            } else if tiled {
                let side = (TILE_BYTES / len).clamp(2, TILE);
                Walk::Tiles { rows: side, cols: side }
            } else if huge && !lines && len < LONG_RUN && stretch(&outer, &plane) >= SHORT_STREAM.max(2 * len)
            {
                plane.stream = false;
                Walk::Streamed
            } else {
                Walk::Whole(plane_fn(&plane))
            };
            return StridedCopy { outer, plane, walk, dst_first, src_first };
        }
        let contiguous = inner.dst == size;
        let kind = if contiguous && inner.src == 0 { Kind::Splat } else { Kind::Strided };
        let reversed = contiguous && inner.src == -size;
        let near = if kind == Kind::Strided && !reversed { nearest(&outer, inner) } else { None };
        let Some(at) = near else {
            let rows = outer.pop().unwrap_or(ONE);
            let mut plane = Plane { rows, cols: inner, kind, elem, stream: false };
            if kind == Kind::Splat && is_group(rows, inner, size) {
                plane.kind = Kind::Zip;
            }
            plane.stream = huge && plane.is_picked() && inner.n * elem >= LONG_RUN;
            let walk = if huge && !plane.stream && contiguous && stretch(&outer, &plane) >= SHORT_STREAM {
                Walk::Streamed
            } else {
                Walk::Whole(plane_fn(&plane))
            };
            return StridedCopy { outer, plane, walk, dst_first, src_first };
        };
        let mut rows = outer.remove(at);
        if rows.src < 0 {
            // The source is walked upwards; a destination may go either way from row to row.
            dst_first += rows.dst * (rows.n as isize - 1);
            src_first += rows.src * (rows.n as isize - 1);
            rows = Axis { dst: -rows.dst, src: -rows.src, ..rows };
        }
        let mut plane = Plane { rows, cols: inner, kind, elem, stream: false };
        let crossed = contiguous && rows.src == size;
        let walk = if crossed && is_group(rows, inner, size) {
            plane.kind = Kind::Zip;
            Walk::Whole(plane_fn(&plane))
        } else if crossed && rows.n.min(inner.n) >= transpose::smallest(elem) {
            // Rows written in pieces cost more than runs do where the cache cannot keep the whole. Those that do not
            // share their place in a cache line have two broken ones each.
            let lines = rows.dst % 64 == 0 && outer.iter().all(|axis| axis.dst % 64 == 0);
            let least = if lines { SHORT_STREAM } else { SHORT_BROKEN };
            plane.stream = huge && inner.n * elem >= least;
            Walk::Whole(transpose::transpose)
        } else if crossed && rows.n <= 16 {
            Walk::Tiles { rows: rows.n, cols: CHUNK }
        } else {
            Walk::Tiles { rows: TILE, cols: TILE }
        };
        StridedCopy { outer, plane, walk, dst_first, src_first }
    }
}

/// Whether each row is a group of two to four columns, which follow each other in the destination, and the
/// source is contiguous along the rows.
fn is_group(rows: Axis, cols: Axis, size: isize) -> bool {
    cols.n <= 4 && cols.dst == size && rows.dst == size * cols.n as isize && rows.src == size
}

/// Bytes of the destination that follow each other without a gap in the order of the loops.
fn stretch(outer: &[Axis], plane: &Plane) -> usize {
    let mut bytes = plane.elem;
    for axis in outer.iter().chain([&plane.rows, &plane.cols]).rev() {
        if axis.n > 1 && axis.dst != bytes as isize {
            break;
        }
        bytes *= axis.n;
    }
    bytes
}

/// The axis whose source moves least, if that is less than the source of `inner` moves.
fn nearest(outer: &[Axis], inner: Axis) -> Option<usize> {
    let (at, axis) = outer
        .iter()
        .enumerate()
        .filter(|(_, axis)| axis.src != 0)
        .min_by_key(|(_, axis)| axis.src.unsigned_abs())?;
    (axis.src.unsigned_abs() < inner.src.unsigned_abs()).then_some(at)
}

#[cfg(test)]
mod tests;
