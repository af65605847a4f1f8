//! Packing: elements of an operand in the order in which tiles read them.

use std::ops::Range;

use super::kernel::Float;
use crate::tiles::transpose::{block_fn, smallest};

/// A rectangle of an operand, `depth` steps of `count` elements: element `(p, i)` at `p * along + i * across`.
pub(super) struct Slab<T> {
    pub at: *const T,
    pub along: usize,
    pub across: usize,
    pub depth: usize,
    pub count: usize,
}

/// `to[p * width + i] = slab(p, i)`; from `slab.count` to `width` anything.
///
/// # Safety
/// The slab can be read, with what lies between its elements, and `slab.depth * width` elements written, which are
/// elsewhere.
pub(super) unsafe fn pack<T: Float>(to: *mut T, width: usize, slab: &Slab<T>) {
    let Slab { at, along, across, depth, count } = *slab;
    let size = size_of::<T>();
    // SAFETY: the caller's, for every row and column.
    unsafe {
        if across == 1 {
            // What follows a row is the slab's own, but after the last rows: others are read as wide as they go.
            let last = (depth - 1) * along + count;
            let wide = if last < width { 0 } else { (last - width).checked_div(along).map_or(0, |p| p + 1) };
            let wide = wide.min(depth);
            copy_rows(to, width, slab, 0..wide, width * size);
            copy_rows(to, width, slab, wide..depth, count * size);
        } else if along == 1 && depth.min(count) >= smallest(size) {
            let (line, row) = ((width * size) as isize, (across * size) as isize);
            block_fn(size)(to.cast(), line, at.cast(), row, depth, count);
        } else {
            for p in 0..depth {
                for i in 0..count {
                    to.add(p * width + i).write(at.add(p * along + i * across).read_unaligned());
                }
            }
        }
    }
}

/// Copies `bytes` of some rows.
///
/// # Safety
/// As [`pack`], for so many bytes of these rows.
unsafe fn copy_rows<T: Float>(to: *mut T, width: usize, slab: &Slab<T>, rows: Range<usize>, bytes: usize) {
    // SAFETY: the caller's.
    unsafe {
        match bytes {
            16 => copy_rows_of::<T, 16>(to, width, slab, rows),
            24 => copy_rows_of::<T, 24>(to, width, slab, rows),
            32 => copy_rows_of::<T, 32>(to, width, slab, rows),
            48 => copy_rows_of::<T, 48>(to, width, slab, rows),
            64 => copy_rows_of::<T, 64>(to, width, slab, rows),
            _ => {
                for p in rows {
                    let row = slab.at.add(p * slab.along).cast::<u8>();
                    row.copy_to_nonoverlapping(to.add(p * width).cast(), bytes);
                }
            }
        }
    }
}

/// Rows of so many bytes, which need no call.
///
/// # Safety
/// As [`copy_rows`].
unsafe fn copy_rows_of<T: Float, const BYTES: usize>(
    to: *mut T,
    width: usize,
    slab: &Slab<T>,
    rows: Range<usize>,
) {
    for p in rows {
        // SAFETY: the caller's.
        unsafe {
            let row = slab.at.add(p * slab.along).cast::<[u8; BYTES]>().read();
            to.add(p * width).cast::<[u8; BYTES]>().write(row);
        }
    }
}
