//! Packing: elements of an operand in the order in which tiles read them.

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

/// `to[p * width + i] = slab(p, i)`, and zeros from `slab.count` to `width`.
///
/// # Safety
/// The slab can be read and `slab.depth * width` elements written, which are elsewhere.
pub(super) unsafe fn pack<T: Float>(to: *mut T, width: usize, slab: &Slab<T>) {
    let Slab { at, along, across, depth, count } = *slab;
    let size = size_of::<T>();
    // SAFETY: the caller's, for every row and column.
    unsafe {
        if across == 1 {
            match count * size {
                16 => copy_rows::<T, 16>(to, width, slab),
                24 => copy_rows::<T, 24>(to, width, slab),
                32 => copy_rows::<T, 32>(to, width, slab),
                48 => copy_rows::<T, 48>(to, width, slab),
                64 => copy_rows::<T, 64>(to, width, slab),
                bytes => {
                    for p in 0..depth {
                        at.add(p * along).cast::<u8>().copy_to(to.add(p * width).cast(), bytes);
                    }
                }
            }
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
        for p in 0..depth {
            for i in count..width {
                to.add(p * width + i).write(T::default());
            }
        }
    }
}

/// Rows of so many bytes, which need no call.
///
/// # Safety
/// As [`pack`].
unsafe fn copy_rows<T: Float, const BYTES: usize>(to: *mut T, width: usize, slab: &Slab<T>) {
    for p in 0..slab.depth {
        // SAFETY: the caller's.
        unsafe {
            let row = slab.at.add(p * slab.along).cast::<[u8; BYTES]>().read();
            to.add(p * width).cast::<[u8; BYTES]>().write(row);
        }
    }
}
