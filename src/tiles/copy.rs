//! [`StridedCopy`]: copies elements between any two strided layouts.

use smallvec::SmallVec;

use super::axes::{CopyLoop, CopyLoops, for_each_offset};
use super::plane::{Plane, PlaneFn, PlaneKind};
use super::plane_copy::{copy_streamed, copy_tiles, plane_fn};
use super::stream::Stream;
use super::{moves, transpose};

/// Runs shorter than this many bytes are copied in tiles if consecutive runs are not neighbors in the source. Runs that
/// are neighbors share a cache line, or lie in lines that are fetched together.
const SHORT_RUN: usize = 2048;

/// [`SHORT_RUN`] if the stores bypass the caches. Reads then profit from longer stretches in order.
const SHORT_STREAM_RUN: usize = 16 << 10;

/// A contiguous stretch of the destination is not streamed (stored past the caches) if it is shorter than this many
/// bytes: too few of its bytes are in whole cache lines.
const SHORT_STREAM: usize = 512;

/// [`SHORT_STREAM`] for rows that end inside a cache line.
const SHORT_UNALIGNED: usize = 2048;

/// Runs of at least this many bytes store past the caches themselves. Shorter ones go through a [`Stream`], which joins
/// them to whole cache lines.
const LONG_RUN: usize = 2048;

/// Rows and columns of a tile of single elements or short runs.
const TILE: usize = 32;

/// The number of bytes in a row of a tile of runs, which are contiguous in the destination, and in a column, which are
/// contiguous in the source.
const TILE_BYTES: usize = 4096;

/// Rows of a tile of runs that is streamed: the number of runs that each column reads in order.
const STREAM_ROWS: usize = 64;

/// The minimum number of columns of a tile of runs that is streamed. Memory serves only a few sequential streams of
/// reads well at once.
const STREAM_COLS: usize = 4;

/// Bytes of the destination in a row of a tile of runs that is streamed.
const STREAM_BYTES: usize = 512;

/// Columns of a tile that spans all rows of a plane of at most 16 rows. Each row reads all cache lines of the tile's
/// source, so the source must stay in the cache.
const CHUNK: usize = 512;

/// A planned copy of a box of elements: for every index below the extents, the element at `src + Σ index·src_stride`
/// goes to `dst + Σ index·dst_stride`. A copy is planned once and can run many times.
#[derive(Clone, Debug)]
pub(crate) struct StridedCopy {
    /// The loops around the plane, which is the pair of innermost loops.
    outer: SmallVec<[CopyLoop; 6]>,
    plane: Plane,
    walk: Walk,
    /// Byte offset of the element that the loops copy first, in the destination and in the source.
    dst_first: isize,
    src_first: isize,
}

/// How a plane is traversed.
#[derive(Clone, Copy, Debug)]
enum Walk {
    /// There is nothing to copy.
    Nothing,
    /// One call copies the whole plane.
    Whole(PlaneFn),
    /// The plane is copied in tiles of this size.
    Tiles { rows: usize, cols: usize },
    /// The plane is copied in pieces through a [`Stream`].
    Buffered,
}

/// An axis of one element.
const ONE: CopyLoop = CopyLoop { n: 1, dst: 0, src: 0 };

impl StridedCopy {
    /// Plans a copy of elements of `elem` bytes (1, 2, 4, 8, or 16).
    ///
    /// Strides are in bytes and have any sign. A source stride of 0 repeats an element. With `bypass`, the
    /// stores bypass the caches if the runs of adjacent elements are long enough: see [`is_streamed`](super::is_streamed).
    pub(crate) fn new(
        dst_strides: &[isize],
        src_strides: &[isize],
        extents: &[usize],
        elem: usize,
        bypass: bool,
    ) -> StridedCopy {
        debug_assert!(matches!(elem, 1 | 2 | 4 | 8 | 16));
        match CopyLoops::new(dst_strides, src_strides, extents, elem) {
            Some(axes) => StridedCopy::from_axes(axes, bypass),
            None => StridedCopy {
                outer: SmallVec::new(),
                plane: Plane { rows: ONE, cols: ONE, kind: PlaneKind::Runs, elem, stream: false },
                walk: Walk::Nothing,
                dst_first: 0,
                src_first: 0,
            },
        }
    }

    /// Copies from `src` to `dst`.
    ///
    /// # Safety
    /// For the copy's strides and extents, every source element is readable and every destination element writable.
    /// Destination elements overlap neither one another nor a source element. No alignment is needed.
    pub(crate) unsafe fn run(&self, dst: *mut u8, src: *const u8) {
        if matches!(self.walk, Walk::Nothing) {
            return;
        }
        // SAFETY: both offsets lead to elements of the caller.
        let (dst, src) = unsafe { (dst.offset(self.dst_first), src.offset(self.src_first)) };
        // SAFETY: the loops name each of the caller's elements once.
        unsafe {
            let pointers = |dst_offset, src_offset| (dst.offset(dst_offset), src.offset(src_offset));
            match self.walk {
                Walk::Nothing => {}
                Walk::Whole(body) => for_each_offset(&self.outer, |dst, src| {
                    let (dst, src) = pointers(dst, src);
                    body(&self.plane, dst, src);
                }),
                Walk::Tiles { rows, cols } => for_each_offset(&self.outer, |dst, src| {
                    let (dst, src) = pointers(dst, src);
                    copy_tiles(&self.plane, rows, cols, dst, src);
                }),
                Walk::Buffered => {
                    let mut stream = Stream::new();
                    for_each_offset(&self.outer, |dst, src| {
                        let (dst, src) = pointers(dst, src);
                        copy_streamed(&self.plane, &mut stream, dst, src);
                    });
                    stream.end();
                }
            }
        }
        if self.plane.stream {
            moves::stream_end();
        }
    }

    /// Plans a copy over `axes`.
    fn from_axes(axes: CopyLoops, bypass: bool) -> StridedCopy {
        let CopyLoops { axes: mut outer, mut dst_first, mut src_first, elem } = axes;
        let size = elem as isize;
        let inner = outer.pop().unwrap_or(CopyLoop { dst: size, src: size, ..ONE });
        if inner.dst == size && inner.src == size {
            let len = inner.n * elem;
            let cols = outer.pop().unwrap_or(ONE);
            let short = if bypass { SHORT_STREAM_RUN } else { SHORT_RUN };
            let near_axis = if len < short { nearest(&outer, cols) } else { None };
            let tiled = near_axis.is_some();
            let rows = near_axis.map(|index| outer.remove(index)).or_else(|| outer.pop()).unwrap_or(ONE);
            let line_aligned =
                len % 64 == 0 && outer.iter().chain([&rows, &cols]).all(|axis| axis.dst % 64 == 0);
            let stream = bypass && (line_aligned || len >= SHORT_STREAM);
            // A tile reads its source in order and writes a few destination lines at a time. A tile whose stores bypass
            // the caches writes its destination in order instead.
            let (rows, cols) = if tiled && !stream { (cols, rows) } else { (rows, cols) };
            let mut plane = Plane { rows, cols, kind: PlaneKind::Runs, elem: len, stream };
            let walk = if tiled && stream {
                // A tile stores whole lines, so the tiles may come in any order: the loops follow the source.
                outer.sort_by_key(|axis| std::cmp::Reverse(axis.src.unsigned_abs()));
                Walk::Tiles { rows: STREAM_ROWS, cols: (STREAM_BYTES / len).max(STREAM_COLS) }
            } else if tiled {
                let side = (TILE_BYTES / len).clamp(2, TILE);
                Walk::Tiles { rows: side, cols: side }
            } else if bypass
                && !line_aligned
                && len < LONG_RUN
                && stretch(&outer, &plane) >= SHORT_STREAM.max(2 * len)
            {
                plane.stream = false;
                Walk::Buffered
            } else {
                Walk::Whole(plane_fn(&plane))
            };
            return StridedCopy { outer, plane, walk, dst_first, src_first };
        }
        let contiguous = inner.dst == size;
        let kind = if contiguous && inner.src == 0 { PlaneKind::Splat } else { PlaneKind::Strided };
        let reversed = contiguous && inner.src == -size;
        let near_axis = if kind == PlaneKind::Strided && !reversed { nearest(&outer, inner) } else { None };
        let Some(row_axis) = near_axis else {
            let rows = outer.pop().unwrap_or(ONE);
            let mut plane = Plane { rows, cols: inner, kind, elem, stream: false };
            if kind == PlaneKind::Splat && is_group(rows, inner, size) {
                plane.kind = PlaneKind::Interleave;
            }
            // Only rows that byte shuffles gather can store past the caches themselves.
            plane.stream = bypass && plane.is_shuffled() && inner.n * elem >= LONG_RUN;
            let walk = if bypass && !plane.stream && contiguous && stretch(&outer, &plane) >= SHORT_STREAM {
                Walk::Buffered
            } else {
                Walk::Whole(plane_fn(&plane))
            };
            return StridedCopy { outer, plane, walk, dst_first, src_first };
        };
        let mut rows = outer.remove(row_axis);
        if rows.src < 0 {
            // Reversing the rows makes the source addresses increase. The destination addresses may then decrease.
            dst_first += rows.dst * (rows.n as isize - 1);
            src_first += rows.src * (rows.n as isize - 1);
            rows = CopyLoop { dst: -rows.dst, src: -rows.src, ..rows };
        }
        let mut plane = Plane { rows, cols: inner, kind, elem, stream: false };
        let is_transpose = contiguous && rows.src == size;
        let walk = if is_transpose && is_group(rows, inner, size) {
            plane.kind = PlaneKind::Interleave;
            Walk::Whole(plane_fn(&plane))
        } else if is_transpose && rows.n.min(inner.n) >= transpose::smallest(elem) {
            // A transpose stores each row in pieces, so its stores bypass the caches only for long rows. Rows that are
            // not aligned to cache lines must be longer, because each piece then has two partial lines.
            let line_aligned = rows.dst % 64 == 0 && outer.iter().all(|axis| axis.dst % 64 == 0);
            let min_row = if line_aligned { SHORT_STREAM } else { SHORT_UNALIGNED };
            plane.stream = bypass && inner.n * elem >= min_row;
            Walk::Whole(transpose::transpose)
        } else if is_transpose && rows.n <= 16 {
            Walk::Tiles { rows: rows.n, cols: CHUNK }
        } else {
            Walk::Tiles { rows: TILE, cols: TILE }
        };
        StridedCopy { outer, plane, walk, dst_first, src_first }
    }
}

/// Returns whether each row is a group of at most four columns, all groups are contiguous in the destination, and the
/// source is contiguous along the rows.
fn is_group(rows: CopyLoop, cols: CopyLoop, size: isize) -> bool {
    cols.n <= 4 && cols.dst == size && rows.dst == size * cols.n as isize && rows.src == size
}

/// Returns how many bytes of the destination the loops write in order, without a gap.
fn stretch(outer: &[CopyLoop], plane: &Plane) -> usize {
    let mut bytes = plane.elem;
    for axis in outer.iter().chain([&plane.rows, &plane.cols]).rev() {
        if axis.n > 1 && axis.dst != bytes as isize {
            break;
        }
        bytes *= axis.n;
    }
    bytes
}

/// Returns the index of the axis with the smallest source stride that is not 0, if that stride is smaller than
/// `inner`'s source stride.
fn nearest(outer: &[CopyLoop], inner: CopyLoop) -> Option<usize> {
    let (index, axis) = outer
        .iter()
        .enumerate()
        .filter(|(_, axis)| axis.src != 0)
        .min_by_key(|(_, axis)| axis.src.unsigned_abs())?;
    (axis.src.unsigned_abs() < inner.src.unsigned_abs()).then_some(index)
}

#[cfg(test)]
mod tests;
