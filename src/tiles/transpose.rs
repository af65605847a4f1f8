//! Transposes: planes whose source is contiguous along the rows and whose destination is along the columns.
//!
//! A tile is transposed in registers into a buffer in the nearest cache and leaves it as runs of whole cache
//! lines. Without the buffer, rows a power of two apart fall into one set of the cache and evict each other
//! before their lines are full. Bytes are read from more rows at a time than few sets have places, so those
//! rows go through a buffer too.

#[cfg(target_arch = "x86_64")]
mod x86;

use std::mem::MaybeUninit;

use super::blocks::Plane;
use super::run;

/// Bytes of a tile.
const TILE: usize = 16 << 10;

/// Bytes of a plane that is transposed in place of a tile: all of it stays in the cache.
const SMALL: usize = 4 << 10;

/// Bytes of the source in a column of a tile of which lines are broken: more than a line, since those of the source are
/// broken too.
const BROKEN_COLUMN: usize = 256;

/// Bytes of the destination in a row of such a tile, or half as many if rows have bytes.
const BROKEN_RUN: usize = 512;

/// Bytes of such a tile: a line before each row, and up to another between rows.
const BROKEN_TILE: usize = BROKEN_COLUMN * (BROKEN_RUN / 2 + 2 * LINE);

/// Bytes of a cache line.
const LINE: usize = 64;

/// Bytes of source rows that are brought together.
const STAGE: usize = 2 << 10;

/// Bytes of a plane whose source is not in a cache of one core. Lines of many rows in turn are not foreseen by the
/// processor, so they are asked for where a group has more of them than it reads ahead: if elements have 4 bytes or
/// fewer.
const FAR: usize = 2 << 20;

/// Groups of source rows by which lines are asked for before they are read.
const AHEAD: usize = 2;

#[repr(C, align(64))]
struct Aligned<const N: usize>(MaybeUninit<[u8; N]>);

/// Fewest rows and columns of a plane of elements of this size that is worth transposing in registers.
pub(super) fn smallest(elem: usize) -> usize {
    (16 / elem).max(2)
}

/// Rows and columns of a tile: square for elements of 4 bytes, so that what is read of a source row at a time is lines
/// that memory fetches together. Those of larger elements are not asked for: past the caches one is read at a time.
fn tile_sizes(elem: usize, stream: bool) -> (usize, usize) {
    let (rows, run) = if stream && elem > 4 { (LINE / elem, 512) } else { (MOST_ROWS, 256) };
    (rows, run / elem)
}

/// Moves a plane whose `cols.dst` and `rows.src` are the element size, which is 1, 2, 4, 8 or 16.
///
/// # Safety
/// As [`super::blocks::PlaneFn`]; at least [`smallest`] rows and columns.
pub(super) unsafe fn transpose(plane: &Plane, dst: *mut u8, src: *const u8) {
    let Plane { rows, cols, elem, stream, .. } = *plane;
    let block = block_fn(elem);
    if rows.n * cols.n * elem <= SMALL {
        // SAFETY: the caller's promise.
        return unsafe { block(dst, rows.dst, src, cols.src, rows.n, cols.n) };
    }
    let broken = !dst.addr().is_multiple_of(LINE) || rows.dst % LINE as isize != 0;
    if stream && broken {
        // SAFETY: the caller's promise.
        return unsafe { transpose_broken(plane, dst, src) };
    }
    let far = is_far(plane);
    let (tile_rows, tile_cols) = tile_sizes(elem, stream);
    let mut tile = Aligned::<TILE>(MaybeUninit::uninit());
    let tile = (&raw mut tile.0).cast::<u8>();
    for col in (0..cols.n).step_by(tile_cols) {
        for row in (0..rows.n).step_by(tile_rows) {
            let (n_rows, n_cols) = (tile_rows.min(rows.n - row), tile_cols.min(cols.n - col));
            // A last tile too thin for a block of registers reaches back into the one before it.
            let n_rows = n_rows.max(smallest(elem));
            let n_cols = n_cols.max(smallest(elem));
            let row = row.min(rows.n - n_rows) as isize;
            let col = col.min(cols.n - n_cols) as isize;
            let pitch = tile_cols * elem;
            debug_assert!(n_rows * pitch <= TILE && n_cols * elem <= pitch);
            // SAFETY: the tile lies in the plane and, at `pitch` bytes a row, in the buffer.
            unsafe {
                let from = src.offset(row * rows.src + col * cols.src);
                let to = dst.offset(row * rows.dst + col * cols.dst);
                let source = Source { at: from, stride: cols.src, far, next: Next::Below };
                transpose_tile(block, elem, tile, pitch as isize, source, n_rows, n_cols);
                for line in 0..n_rows {
                    let from = tile.add(line * pitch);
                    let to = to.offset(line as isize * rows.dst);
                    if stream {
                        run::stream_run(to, from, n_cols * elem);
                    } else {
                        run::copy_run(to, from, n_cols * elem);
                    }
                }
            }
        }
    }
}

/// Whether the lines of a plane's source are asked for.
fn is_far(plane: &Plane) -> bool {
    plane.elem <= 4 && plane.rows.n * plane.cols.n * plane.elem > FAR
}

/// [`transpose`] past the caches where rows of the destination begin inside a cache line, each at a place of its own.
///
/// A row of the buffer begins where its row of the destination does in a line. Tiles follow each other along the
/// columns, and the broken line at the end of one waits in the buffer for the next, so that every line leaves once and
/// whole.
///
/// # Safety
/// As [`transpose`].
unsafe fn transpose_broken(plane: &Plane, dst: *mut u8, src: *const u8) {
    let Plane { rows, cols, elem, .. } = *plane;
    let (block, far) = (block_fn(elem), is_far(plane));
    let run = if elem == 1 { BROKEN_RUN / 2 } else { BROKEN_RUN };
    let (tile_rows, tile_cols) = (BROKEN_COLUMN / elem, run / elem);
    let pitch = run + LINE + rows.dst.rem_euclid(LINE as isize) as usize;
    let mut tile = Aligned::<BROKEN_TILE>(MaybeUninit::uninit());
    let tile = (&raw mut tile.0).cast::<u8>();
    for row in (0..rows.n).step_by(tile_rows) {
        let height = tile_rows.min(rows.n - row).max(smallest(elem));
        let row = row.min(rows.n - height);
        let to = dst.wrapping_offset(row as isize * rows.dst);
        let first = to.addr() % LINE;
        let mut col = 0;
        while col < cols.n {
            let left = cols.n - col;
            // What is left for a last tile is not too thin for a block of registers.
            let n_cols = match left.checked_sub(tile_cols) {
                None | Some(0) => left,
                Some(rest) if rest < smallest(elem) => tile_cols - LINE / elem,
                Some(_) => tile_cols,
            };
            let bytes = n_cols * elem;
            // SAFETY: the tile lies in the plane and, at `pitch` bytes a row, in the buffer. What is copied from
            // there to the destination is of this tile or, in its first line, of the one before.
            unsafe {
                let from = src.offset(row as isize * rows.src + col as isize * cols.src);
                for part in (0..height).step_by(MOST_ROWS) {
                    let n_rows = MOST_ROWS.min(height - part).max(smallest(elem));
                    let part = part.min(height - n_rows);
                    let source =
                        Source { at: from.add(part * elem), stride: cols.src, far, next: Next::Beside };
                    let tile = tile.add(first + part * pitch);
                    transpose_tile(block, elem, tile, pitch as isize, source, n_rows, n_cols);
                }
                for line in 0..height {
                    let begin = first + line * pitch;
                    let to = to.offset(line as isize * rows.dst + (col * elem) as isize);
                    let before = begin % LINE;
                    let held = if col == 0 { 0 } else { before };
                    let (to, from) = (to.sub(held), tile.add(begin - held));
                    if n_cols == left {
                        run::stream_run(to, from, held + bytes);
                        continue;
                    }
                    let rest = (before + bytes) % LINE;
                    run::stream_run(to, from, held + bytes - rest);
                    run::copy_run(tile.add(begin - before), tile.add(begin + bytes - rest), rest);
                }
            }
            col += n_cols;
        }
    }
}

/// Transposes `rows × cols` elements: `dst[row·dst_stride + col] = src[col·src_stride + row]`, strides in
/// bytes.
///
/// # Safety
/// Every element named is writable or readable, and the sides do not overlap; at least [`smallest`] rows and
/// columns.
pub(super) type BlockFn =
    unsafe fn(dst: *mut u8, dst_stride: isize, src: *const u8, src_stride: isize, rows: usize, cols: usize);

/// Where a tile's source is.
struct Source {
    at: *const u8,
    /// From a column to the next.
    stride: isize,
    /// Whether lines are asked for before they are read.
    far: bool,
    next: Next,
}

/// Where the tile after this one is.
#[derive(PartialEq)]
enum Next {
    /// At the same columns.
    Below,
    /// At the columns behind.
    Beside,
}

/// Rows of the destination that are transposed at once.
const MOST_ROWS: usize = 64;

/// Transposes a tile of at most [`MOST_ROWS`] with `block`.
///
/// # Safety
/// As [`BlockFn`].
unsafe fn transpose_tile(
    block: BlockFn,
    elem: usize,
    dst: *mut u8,
    dst_stride: isize,
    source: Source,
    rows: usize,
    cols: usize,
) {
    let Source { at: src, stride: src_stride, far, next } = source;
    // Source rows that one block reads.
    let group = 32 / elem;
    // Lines about half of 4 KiB apart have two sets of the nearest cache between them, too few for a group of
    // 32. Groups of larger elements are smaller and do better without the detour.
    let crowded = elem == 1 && (src_stride + 64).rem_euclid(2048) < 128;
    if cols < group || !crowded && !far {
        // SAFETY: the caller's promise.
        return unsafe { block(dst, dst_stride, src, src_stride, rows, cols) };
    }
    let mut stage = Aligned::<STAGE>(MaybeUninit::uninit());
    let stage = (&raw mut stage.0).cast::<u8>();
    let pitch = MOST_ROWS * elem;
    debug_assert!(rows <= MOST_ROWS && (!crowded || group * pitch <= STAGE));
    for col in (0..cols).step_by(group) {
        if far {
            // Those of the group after the next, at the end of the tile those of the next tile.
            let ahead = col + AHEAD * group;
            let is_below = ahead >= cols && next == Next::Below;
            let (ahead, below) = if is_below { (ahead - cols, rows * elem) } else { (ahead, 0) };
            for i in 0..group {
                let line = src.wrapping_offset((ahead + i) as isize * src_stride).wrapping_add(below);
                run::ask_for(line, rows * elem);
            }
        }
        let col = col.min(cols - group);
        // SAFETY: the columns are the caller's, and `group` of them fit the stage.
        unsafe {
            let (mut from, mut from_stride) = (src.offset(col as isize * src_stride), src_stride);
            if crowded {
                for i in 0..group {
                    let row = src.offset((col + i) as isize * src_stride);
                    run::copy_run(stage.add(i * pitch), row, rows * elem);
                }
                (from, from_stride) = (stage, pitch as isize);
            }
            block(dst.add(col * elem), dst_stride, from, from_stride, rows, group);
        }
    }
}

pub(super) fn block_fn(elem: usize) -> BlockFn {
    #[cfg(target_arch = "x86_64")]
    {
        x86::block_fn(elem)
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        match elem {
            1 => block::<u8>,
            2 => block::<u16>,
            4 => block::<u32>,
            8 => block::<u64>,
            _ => block::<[u64; 2]>,
        }
    }
}

/// A block element by element; a row of the source is read to its end before the next.
///
/// # Safety
/// As [`BlockFn`].
unsafe fn block<T: Copy>(
    dst: *mut u8,
    dst_stride: isize,
    src: *const u8,
    src_stride: isize,
    rows: usize,
    cols: usize,
) {
    let size = size_of::<T>() as isize;
    for col in 0..cols as isize {
        // SAFETY: the caller's promise for the column.
        unsafe {
            run::moved::<T>(dst.offset(col * size), dst_stride, src.offset(col * src_stride), size, rows)
        };
    }
}
