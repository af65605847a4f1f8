//! [`Packed`]: a right operand whose panels were packed before, for many products.

use super::blocks::{Blocks, parts};
use super::kernel::{Float, Kernel};
use super::pack::{Slab, pack};
use super::{LINE, Strided};

/// Columns of an operand that is packed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packed<T> {
    at: *const T,
    /// Columns of the operand, up to whole panels.
    width: usize,
    /// The first column.
    column: usize,
}

impl<T: Float> Packed<T> {
    /// Elements that an operand of `k` rows and `n` columns takes.
    pub(crate) fn room(k: usize, n: usize) -> usize {
        Packed::room_for(T::kernel(), k, n)
    }

    pub(super) fn room_for(kernel: &'static Kernel<T>, k: usize, n: usize) -> usize {
        k.saturating_mul(n.saturating_add(kernel.panel())).next_multiple_of(LINE)
    }

    /// The operand of `n` columns that [`Packed::pack`] has written at an address.
    pub(crate) fn new(at: *const T, n: usize) -> Packed<T> {
        Packed::new_for(T::kernel(), at, n)
    }

    pub(super) fn new_for(kernel: &'static Kernel<T>, at: *const T, n: usize) -> Packed<T> {
        Packed { at, width: n.next_multiple_of(kernel.panel()), column: 0 }
    }

    /// Packs an operand of `k` rows and `n` columns.
    ///
    /// # Safety
    /// The operand can be read, with what lies between its elements, and [`Packed::room`] elements at `to` written,
    /// which are elsewhere.
    pub(crate) unsafe fn pack(to: *mut T, b: &Strided<T>, k: usize, n: usize) {
        // SAFETY: the caller's.
        unsafe { Packed::pack_for(T::kernel(), to, b, k, n) }
    }

    /// # Safety
    /// As [`Packed::pack`].
    pub(super) unsafe fn pack_for(
        kernel: &'static Kernel<T>,
        to: *mut T,
        b: &Strided<T>,
        k: usize,
        n: usize,
    ) {
        let packed = Packed::new_for(kernel, to, n);
        for (step, depth) in parts(k, Blocks::depth(k)) {
            for (column, columns) in parts(n, kernel.panel()) {
                // SAFETY: the caller's; panels lie one after the other, and a narrow one has the room of a whole one.
                unsafe {
                    let at = b.from(step, column).at;
                    let slab = Slab { at, along: b.row, across: b.column, depth, count: columns };
                    let to = to.add(packed.offset(step, depth, column));
                    pack(to, columns.next_multiple_of(kernel.lanes), &slab);
                }
            }
        }
    }

    /// The operand from a column on, which is the first of a panel.
    pub(crate) fn from(self, column: usize) -> Packed<T> {
        Packed { column: self.column + column, ..self }
    }

    /// Where the panels of so many steps begin, from a column on.
    pub(super) fn block(&self, step: usize, depth: usize, column: usize) -> *const T {
        self.at.wrapping_add(self.offset(step, depth, self.column + column))
    }

    fn offset(&self, step: usize, depth: usize, column: usize) -> usize {
        step * self.width + column * depth
    }
}
