//! [`StridedCopy`]: copies elements between any two strided layouts.

use smallvec::SmallVec;

use super::axes::{Axes, Axis, for_each_offset};
use super::blocks::{Kind, Plane, PlaneFn, move_streamed, move_tiles, plane_fn};
use super::cpu::last_level_cache;
use super::stream::Stream;
use super::{run, transpose};

/// Shorter runs are copied in tiles if their source is not in order: several share a cache line, or lines that are
/// fetched together.
const SHORT_RUN: usize = 2048;

/// Shorter stretches of a destination are not streamed: too little of them is whole cache lines.
const SHORT_STREAM: usize = 512;

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

/// Bytes of the source that such a row spans where it reads one place of the source: a share of the nearest cache.
const NEAR_BYTES: usize = 16 << 10;

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
            let near = if len < SHORT_RUN { nearest(&outer, cols) } else { None };
            let tiled = near.is_some();
            let rows = near.map(|at| outer.remove(at)).or_else(|| outer.pop()).unwrap_or(ONE);
            let lines = len % 64 == 0 && outer.iter().chain([&rows, &cols]).all(|axis| axis.dst % 64 == 0);
            let stream = huge && (lines || len >= SHORT_STREAM);
            // In a tile the source is read in order, a few lines of the destination written at a time, unless they
            // pass the caches: those are written in their own order.
            let (rows, cols) = if tiled && !stream { (cols, rows) } else { (rows, cols) };
            let mut plane = Plane { rows, cols, kind: Kind::Runs, elem: len, stream };
            let walk = if tiled && stream {
                // Columns that are near each other are one place of the source.
                let near = NEAR_BYTES.checked_div(cols.src.unsigned_abs()).unwrap_or(0);
                let several = (STREAM_BYTES / len).max(STREAM_COLS);
                Walk::Tiles { rows: STREAM_ROWS, cols: several.max(near) }
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
            let walk = if huge && contiguous && stretch(&outer, &plane) >= SHORT_STREAM {
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
            // Rows written in pieces cost more than runs do where the cache cannot keep the whole. They must
            // share their place in a cache line: others have two broken lines a tile.
            plane.stream = huge
                && inner.n * elem >= SHORT_STREAM
                && rows.dst % 64 == 0
                && outer.iter().all(|axis| axis.dst % 64 == 0);
            Walk::Whole(transpose::transpose)
        } else if crossed && rows.n <= 16 {
            Walk::Tiles { rows: rows.n, cols: CHUNK }
        } else {
            Walk::Tiles { rows: TILE, cols: TILE }
        };
        StridedCopy { outer, plane, walk, dst_first, src_first }
    }
}

/// Whether a destination of so many bytes is written past the caches: with as much that is read it fills the last of
/// them, so that lines which are fetched only to be overwritten come from memory, and go there again.
pub(crate) fn is_streamed(bytes: usize) -> bool {
    bytes >= last_level_cache() / 2
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
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A copy of one case, with the bytes around and between destination elements kept.
    fn check(extents: &[usize], dst_strides: &[isize], src_strides: &[isize], elem: usize, whole: usize) {
        let reach = |strides: &[isize]| {
            let ends = extents.iter().zip(strides).map(|(n, stride)| (*n as isize - 1).max(0) * stride);
            ends.fold((0, 0), |(low, high): (isize, isize), end| (low + end.min(0), high + end.max(0)))
        };
        let (dst_low, dst_high) = reach(dst_strides);
        let (src_low, src_high) = reach(src_strides);
        // The source has no byte more than the copy may read, so that an address checker sees one too far.
        let source: Vec<u8> =
            (0..(src_high - src_low) as usize + elem).map(|i| (i * 7 + i / 251) as u8).collect();
        let margin = 65;
        let mut got = vec![0xa5u8; (dst_high - dst_low) as usize + elem + 2 * margin];
        let mut wanted = got.clone();
        let count: usize = extents.iter().product();
        for linear in 0..count {
            let mut rest = linear;
            let (mut dst, mut src) = (-dst_low, -src_low);
            for ((n, dst_stride), src_stride) in extents.iter().zip(dst_strides).zip(src_strides).rev() {
                let at = (rest % n) as isize;
                rest /= n;
                dst += at * dst_stride;
                src += at * src_stride;
            }
            let dst = dst as usize + margin;
            wanted[dst..dst + elem].copy_from_slice(&source[src as usize..src as usize + elem]);
        }
        // SAFETY: both buffers span all that the strides reach.
        unsafe {
            let dst = got.as_mut_ptr().add(margin).offset(-dst_low);
            let src = source.as_ptr().offset(-src_low);
            StridedCopy::new(dst_strides, src_strides, extents, elem, whole).run(dst, src);
        }
        assert!(
            got == wanted,
            "extents {extents:?}, strides {dst_strides:?} from {src_strides:?}, elem {elem}, whole {whole:?}"
        );
    }

    /// Strides in which no two indices share a byte: the axes in an order, each with a gap and a sign.
    fn strides(extents: &[usize], order: &[usize], gaps: &[usize], signs: u32, elem: usize) -> Vec<isize> {
        let mut strides = vec![0; extents.len()];
        let mut span = elem;
        for (place, axis) in order.iter().enumerate() {
            let stride = span + gaps[place];
            strides[*axis] = if signs >> axis & 1 == 1 { -(stride as isize) } else { stride as isize };
            span += stride * (extents[*axis].max(1) - 1);
        }
        strides
    }

    fn case() -> impl Strategy<Value = (Vec<usize>, Vec<isize>, Vec<isize>, usize, usize)> {
        (0usize..6)
            .prop_flat_map(|rank| {
                let top = [1usize, 1500, 70, 20, 9, 6][rank];
                let extent = prop_oneof![1 => Just(1usize), 8 => 1..=top, 1 => Just(0)];
                let gap = || prop_oneof![6 => Just(0usize), 2 => Just(4), 1 => 0usize..9];
                (
                    proptest::collection::vec(extent, rank),
                    Just((0..rank).collect::<Vec<_>>()).prop_shuffle(),
                    Just((0..rank).collect::<Vec<_>>()).prop_shuffle(),
                    proptest::collection::vec(gap(), rank),
                    proptest::collection::vec(gap(), rank),
                    (
                        prop_oneof![2 => Just(0u32), 1 => any::<u32>()],
                        prop_oneof![2 => Just(0u32), 1 => any::<u32>()],
                    ),
                    prop_oneof![3 => Just(0u32), 1 => any::<u32>()],
                    (0u32..5, prop_oneof![3 => Just(0), 1 => Just(usize::MAX)]),
                )
            })
            .prop_map(|(extents, dst_order, src_order, dst_gaps, src_gaps, signs, repeated, (log, whole))| {
                let elem = 1 << log;
                let dst = strides(&extents, &dst_order, &dst_gaps, signs.0, elem);
                let mut src = strides(&extents, &src_order, &src_gaps, signs.1, elem);
                for (axis, stride) in src.iter_mut().enumerate() {
                    if repeated >> axis & 1 == 1 {
                        *stride = 0;
                    }
                }
                (extents, dst, src, elem, whole)
            })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_copy_is_the_naive_one((extents, dst, src, elem, whole) in case()) {
            check(&extents, &dst, &src, elem, whole);
        }
    }

    #[test]
    fn every_kind_of_plane_is_copied() {
        for elem in [1usize, 2, 4, 8, 16] {
            let e = elem as isize;
            for whole in [0, usize::MAX] {
                for n in [1usize, 2, 3, 4, 7, 8, 16, 17, 33, 65, 513] {
                    let s = n as isize * e;
                    check(&[n], &[e], &[e], elem, whole);
                    check(&[n], &[e], &[-e], elem, whole);
                    check(&[n], &[e], &[0], elem, whole);
                    check(&[n, 3], &[3 * e, e], &[e, 0], elem, whole);
                    for step in 2..6 {
                        check(&[n], &[e], &[step * e], elem, whole);
                        check(&[n], &[e], &[-step * e], elem, whole);
                        check(&[3, n], &[s, e], &[step * s, step * e], elem, whole);
                        check(&[n], &[step * e], &[e], elem, whole);
                        check(&[n], &[-e], &[step * e + 1], elem, whole);
                    }
                    for m in [2usize, 3, 4, 16, 18, 40] {
                        let t = m as isize * e;
                        check(&[n, m], &[t, e], &[e, s], elem, whole);
                        check(&[n, m], &[t + 3, e], &[-e, s + 5], elem, whole);
                        check(&[n, m], &[t, e], &[e, -s], elem, whole);
                        check(&[n, m], &[t, e], &[2 * e, 2 * s], elem, whole);
                    }
                }
            }
            for len in (1..300).chain([511, 512, 1000, 2047, 2048, 2049, 9000]) {
                let (n, s) = (len as isize * e, (len as isize + 3) * e);
                for whole in [0, usize::MAX] {
                    check(&[3, 2, len], &[2 * s, s, e], &[s, 3 * s, e], elem, whole);
                    check(&[2, 5, len], &[5 * n, n, e], &[n, 2 * n, e], elem, whole);
                }
            }
            check(&[3, 50, 7], &[50 * 7 * e, 7 * e, e], &[7 * e, 21 * e, e], elem, 0);
        }
    }

    #[test]
    fn many_tiles_are_copied() {
        for elem in [1, 2, 4, 8, 16] {
            let e = elem as isize;
            for whole in [0, usize::MAX] {
                check(&[2, 70, 576], &[70 * 576 * e, 576 * e, e], &[e, 2 * e, 140 * e], elem, whole);
                check(
                    &[2, 150, 1025],
                    &[150 * 1025 * e, 1025 * e, e],
                    &[150 * 1025 * e, e, 150 * e],
                    elem,
                    whole,
                );
            }
        }
    }

    #[test]
    fn sixteen_axes_are_copied() {
        let extents = [2usize; 16];
        let dst: Vec<isize> = (0..16).map(|axis| 4 << (15 - axis)).collect();
        let src: Vec<isize> = (0..16).map(|axis| 4 << axis).collect();
        check(&extents, &dst, &src, 4, 0);
    }
}
