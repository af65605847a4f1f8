//! Transposes: copies of planes whose source is contiguous along the rows and whose destination is contiguous along the
//! columns. So a source row is a column of the plane, and a destination row is a row of the plane.
//!
//! A tile is transposed in registers into a buffer in the L1 cache, and leaves the buffer as runs of whole cache lines.
//! Without the buffer, destination rows a power of two apart would map to one cache set and evict each other before
//! their lines are full. A block of 1-byte elements reads more source rows at once than a cache set has ways. If these
//! source rows map to the same sets, they are copied to a buffer first.

#[cfg(target_arch = "x86_64")]
mod x86;

use std::mem::MaybeUninit;

use super::cpu::CACHE_LINE;
use super::moves;
use super::plane::Plane;
use super::prefetch::prefetch_read;

/// The maximum number of bytes of a tile.
const TILE: usize = 16 << 10;

/// The maximum number of bytes of a plane that is transposed without tiles: all of it stays in the cache.
const SMALL: usize = 4 << 10;

/// Bytes of a source row in a tile of [`transpose_unaligned`]. The bytes span several cache lines, because source rows
/// are not aligned to lines either.
const UNALIGNED_COLUMN: usize = 256;

/// Bytes of the destination in a row of a tile of [`transpose_unaligned`]; half as many for 1-byte elements.
const UNALIGNED_RUN: usize = 512;

/// Bytes of the buffer for a tile of [`transpose_unaligned`]: each row has one extra line at its start and up to one
/// extra line at its end.
const UNALIGNED_TILE: usize = UNALIGNED_COLUMN * (UNALIGNED_RUN / 2 + 2 * CACHE_LINE);

/// Bytes of the buffer that collects source rows of 1-byte elements.
const STAGE: usize = 2 << 10;

/// The maximum number of bytes of a plane whose source a core's own caches can hold. A larger source is prefetched, see
/// [`is_far`].
const MAX_CACHED: usize = 2 << 20;

/// The number of groups from the current group to the group whose lines are prefetched. A group is the source rows that
/// one block reads.
const PREFETCH_GROUPS: usize = 2;

#[repr(C, align(64))]
struct Aligned<const N: usize>(MaybeUninit<[u8; N]>);

/// Returns the fewest rows and columns of a plane for which a transpose in registers pays. Elements have `elem` bytes.
pub(super) fn smallest(elem: usize) -> usize {
    (16 / elem).max(2)
}

/// Returns the rows and columns of a tile.
///
/// A tile of 4-byte elements is square and reads four adjacent lines of each source row, which memory fetches together.
/// The lines of larger elements are not prefetched. If the stores of larger elements bypass the caches, a tile reads
/// one line of each source row.
fn tile_sizes(elem: usize, stream: bool) -> (usize, usize) {
    let (rows, run) = if stream && elem > 4 { (CACHE_LINE / elem, 512) } else { (MAX_ROWS, 256) };
    (rows, run / elem)
}

/// Copies a plane whose strides `cols.dst` and `rows.src` equal the element size: 1, 2, 4, 8, or 16 bytes.
///
/// # Safety
/// As [`super::plane::PlaneFn`]; the plane has at least [`smallest`] rows and columns.
pub(super) unsafe fn transpose(plane: &Plane, dst: *mut u8, src: *const u8) {
    let Plane { rows, cols, elem, stream, .. } = *plane;
    let block = block_fn(elem);
    if rows.n * cols.n * elem <= SMALL {
        // SAFETY: the caller's promise.
        return unsafe { block(dst, rows.dst, src, cols.src, rows.n, cols.n) };
    }
    let is_unaligned = !dst.addr().is_multiple_of(CACHE_LINE) || rows.dst % CACHE_LINE as isize != 0;
    if stream && is_unaligned {
        // SAFETY: the caller's promise.
        return unsafe { transpose_unaligned(plane, dst, src) };
    }
    let far = is_far(plane);
    let (tile_rows, tile_cols) = tile_sizes(elem, stream);
    let mut tile = Aligned::<TILE>(MaybeUninit::uninit());
    let tile = (&raw mut tile.0).cast::<u8>();
    for col in (0..cols.n).step_by(tile_cols) {
        for row in (0..rows.n).step_by(tile_rows) {
            let (n_rows, n_cols) = (tile_rows.min(rows.n - row), tile_cols.min(cols.n - col));
            // A last tile too small for a block of registers overlaps the tile before it.
            let n_rows = n_rows.max(smallest(elem));
            let n_cols = n_cols.max(smallest(elem));
            let row = row.min(rows.n - n_rows) as isize;
            let col = col.min(cols.n - n_cols) as isize;
            let pitch = tile_cols * elem;
            debug_assert!(n_rows * pitch <= TILE && n_cols * elem <= pitch);
            // SAFETY: the tile lies in the plane. At `pitch` bytes per row, it fits in the buffer.
            unsafe {
                let from = src.offset(row * rows.src + col * cols.src);
                let to = dst.offset(row * rows.dst + col * cols.dst);
                let source = TileSource { start: from, stride: cols.src, far, next: Next::Below };
                transpose_tile(block, elem, tile, pitch as isize, source, n_rows, n_cols);
                for line in 0..n_rows {
                    let from = tile.add(line * pitch);
                    let to = to.offset(line as isize * rows.dst);
                    if stream {
                        moves::stream_run(to, from, n_cols * elem);
                    } else {
                        moves::copy_run(to, from, n_cols * elem);
                    }
                }
            }
        }
    }
}

/// Returns whether the lines of a plane's source are prefetched. A block of elements of at most 4 bytes reads 8 or more
/// source rows in turn, which is more than the hardware prefetchers can follow.
fn is_far(plane: &Plane) -> bool {
    plane.elem <= 4 && plane.rows.n * plane.cols.n * plane.elem > MAX_CACHED
}

/// Transposes as [`transpose`] does, with stores that bypass the caches, if rows of the destination are not aligned to
/// cache lines.
///
/// A row of the buffer has the same offset in a cache line as its row of the destination. Tiles follow each other along
/// the columns. The partial line at the end of a tile stays in the buffer until the next tile completes it, so each
/// line is stored once and whole.
///
/// # Safety
/// As [`transpose`].
unsafe fn transpose_unaligned(plane: &Plane, dst: *mut u8, src: *const u8) {
    let Plane { rows, cols, elem, .. } = *plane;
    let (block, far) = (block_fn(elem), is_far(plane));
    let run = if elem == 1 { UNALIGNED_RUN / 2 } else { UNALIGNED_RUN };
    let (tile_rows, tile_cols) = (UNALIGNED_COLUMN / elem, run / elem);
    let pitch = run + CACHE_LINE + rows.dst.rem_euclid(CACHE_LINE as isize) as usize;
    let mut tile = Aligned::<UNALIGNED_TILE>(MaybeUninit::uninit());
    let tile = (&raw mut tile.0).cast::<u8>();
    for row in (0..rows.n).step_by(tile_rows) {
        let height = tile_rows.min(rows.n - row).max(smallest(elem));
        let row = row.min(rows.n - height);
        let to = dst.wrapping_offset(row as isize * rows.dst);
        let first = to.addr() % CACHE_LINE;
        let mut col = 0;
        while col < cols.n {
            let left = cols.n - col;
            // The rest for the last tile must not be too small for a block of registers.
            let n_cols = match left.checked_sub(tile_cols) {
                None | Some(0) => left,
                Some(rest) if rest < smallest(elem) => tile_cols - CACHE_LINE / elem,
                Some(_) => tile_cols,
            };
            let bytes = n_cols * elem;
            // SAFETY: the tile lies in the plane. At `pitch` bytes per row, it fits in the buffer. The bytes that are
            // copied to the destination belong to this tile or, in its first line, to the tile before it.
            unsafe {
                let from = src.offset(row as isize * rows.src + col as isize * cols.src);
                for part in (0..height).step_by(MAX_ROWS) {
                    let n_rows = MAX_ROWS.min(height - part).max(smallest(elem));
                    let part = part.min(height - n_rows);
                    let source = TileSource {
                        start: from.add(part * elem),
                        stride: cols.src,
                        far,
                        next: Next::Beside,
                    };
                    let tile = tile.add(first + part * pitch);
                    transpose_tile(block, elem, tile, pitch as isize, source, n_rows, n_cols);
                }
                for line in 0..height {
                    let begin = first + line * pitch;
                    let to = to.offset(line as isize * rows.dst + (col * elem) as isize);
                    let before = begin % CACHE_LINE;
                    let held = if col == 0 { 0 } else { before };
                    let (to, from) = (to.sub(held), tile.add(begin - held));
                    if n_cols == left {
                        moves::stream_run(to, from, held + bytes);
                        continue;
                    }
                    let rest = (before + bytes) % CACHE_LINE;
                    moves::stream_run(to, from, held + bytes - rest);
                    moves::copy_run(tile.add(begin - before), tile.add(begin + bytes - rest), rest);
                }
            }
            col += n_cols;
        }
    }
}

/// Transposes `rows × cols` elements: `dst[row·dst_stride + col·elem] = src[col·src_stride + row·elem]`, in bytes.
///
/// # Safety
/// The destination elements are writable and the source elements readable; the two sides do not overlap. There are at
/// least [`smallest`] rows and columns.
pub(super) type BlockFn =
    unsafe fn(dst: *mut u8, dst_stride: isize, src: *const u8, src_stride: isize, rows: usize, cols: usize);

/// The source of a tile.
struct TileSource {
    start: *const u8,
    /// Bytes from a column to the next.
    stride: isize,
    /// Whether lines are prefetched.
    far: bool,
    next: Next,
}

/// The position of the next tile.
#[derive(PartialEq)]
enum Next {
    /// At the same columns, in the next rows.
    Below,
    /// At the same rows, in the next columns.
    Beside,
}

/// The maximum number of rows of the destination that are transposed at once.
const MAX_ROWS: usize = 64;

/// Transposes a tile of at most [`MAX_ROWS`] rows with `block`.
///
/// # Safety
/// As [`BlockFn`].
unsafe fn transpose_tile(
    block: BlockFn,
    elem: usize,
    dst: *mut u8,
    dst_stride: isize,
    source: TileSource,
    rows: usize,
    cols: usize,
) {
    let TileSource { start: src, stride: src_stride, far, next } = source;
    // The number of source rows, which are columns of the plane, that one block reads.
    let group = 32 / elem;
    // Lines about 2 KiB apart map to two sets of the L1 cache, too few for a group of 32 rows. Groups of larger
    // elements have fewer rows and are faster without the extra buffer.
    let crowded = elem == 1 && (src_stride + 64).rem_euclid(2048) < 128;
    if cols < group || !crowded && !far {
        // SAFETY: the caller's promise.
        return unsafe { block(dst, dst_stride, src, src_stride, rows, cols) };
    }
    let mut stage = Aligned::<STAGE>(MaybeUninit::uninit());
    let stage = (&raw mut stage.0).cast::<u8>();
    let pitch = MAX_ROWS * elem;
    debug_assert!(rows <= MAX_ROWS && (!crowded || group * pitch <= STAGE));
    for col in (0..cols).step_by(group) {
        if far {
            // Prefetches the group after the next one. At the end of the tile, this group belongs to the next tile.
            let ahead = col + PREFETCH_GROUPS * group;
            let is_below = ahead >= cols && next == Next::Below;
            let (ahead, below) = if is_below { (ahead - cols, rows * elem) } else { (ahead, 0) };
            for i in 0..group {
                let line = src.wrapping_offset((ahead + i) as isize * src_stride).wrapping_add(below);
                prefetch_read(line, rows * elem);
            }
        }
        let col = col.min(cols - group);
        // SAFETY: the columns come from the caller, and a group of them fits in `stage`.
        unsafe {
            let (mut from, mut from_stride) = (src.offset(col as isize * src_stride), src_stride);
            if crowded {
                for i in 0..group {
                    let row = src.offset((col + i) as isize * src_stride);
                    moves::copy_run(stage.add(i * pitch), row, rows * elem);
                }
                (from, from_stride) = (stage, pitch as isize);
            }
            block(dst.add(col * elem), dst_stride, from, from_stride, rows, group);
        }
    }
}

/// Returns the function that transposes elements of `elem` bytes: 1, 2, 4, 8, or 16.
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

/// Transposes a block element by element. Each source row is read to its end before the next.
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
            moves::copy_strided::<T>(
                dst.offset(col * size),
                dst_stride,
                src.offset(col * src_stride),
                size,
                rows,
            )
        };
    }
}
