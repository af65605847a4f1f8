//! [`Staging`]: slots of a block of rows in contiguous memory of a thread.

use smallvec::SmallVec;

use crate::lower::boxes::BoxPlan;
use crate::lower::code::{Code, SlotUse};
use crate::tiles::StridedCopy;

/// Fewest inner elements of a staged block that may be cut.
const WIDTH: i64 = 128;
/// Rows of a staged block at most.
const HEIGHT: i64 = 64;
/// Elements of a staged block, if a row is not longer.
const BLOCK: i64 = 4096;

/// The largest block of rows that runs at once.
pub(super) struct Block {
    pub rows: i64,
    pub width: i64,
    /// Elements of the loops around the inner axis.
    around: i64,
}

impl Block {
    /// All rows, at most `width` elements of each, if nothing is staged.
    pub(super) fn all(plan: &BoxPlan, width: i64) -> Block {
        Block { rows: plan.rows, width: plan.n.min(width), around: 1 }
    }

    /// For a box of which rows may be cut if `cut`, to at most `widest`, and several of the slots `staged` be staged
    /// at once if `several`.
    pub(super) fn staged(plan: &BoxPlan, staged: &[usize], cut: bool, widest: i64, several: bool) -> Block {
        // Values of the row's end are there also where the row has no elements.
        let around: i64 = plan.loops.iter().map(|extent| (*extent).max(1)).product();
        // A slot whose rows are nearer to each other than its inner elements is brought in by many rows at once; of
        // any other whole rows are.
        let crossed = |slot: &usize| {
            let slot = &plan.slots[*slot];
            slot.row.saturating_abs() < slot.inner.saturating_abs()
        };
        let narrow = if staged.iter().any(crossed) { WIDTH } else { (BLOCK / around).max(WIDTH) };
        let least = if cut { narrow.min(widest).min(plan.n.max(1)) } else { plan.n };
        let most = if several { plan.rows.clamp(1, HEIGHT) } else { 1 };
        let rows = (BLOCK / (around * least).max(1)).clamp(1, most);
        let width =
            if cut { (BLOCK / (rows * around) / WIDTH * WIDTH).max(least).min(widest) } else { plan.n };
        Block { rows, width, around }
    }

    /// Bytes of a slot's elements, in whole cache lines.
    pub(super) fn bytes(&self, size: i64) -> usize {
        ((self.rows * self.around * self.width * size + 63) / 64 * 64) as usize
    }
}

/// A staged slot of a block: the strides of its elements in contiguous memory, and the copy there or back.
pub(super) struct Staging {
    pub slot: usize,
    pub row: i64,
    pub inner: i64,
    pub loops: SmallVec<[i64; 2]>,
    copy: StridedCopy,
    load: bool,
}

impl Staging {
    /// For a slot whose elements have `size` bytes, and stand as far apart as the code takes them to. A slot that does not move along a loop has one position for all
    /// of it; where a loop has no elements, only what the row's end touches is there.
    pub(super) fn new(plan: &BoxPlan, code: &Code, slot: usize, size: i64, rows: i64, n: i64) -> Staging {
        let own = &plan.slots[slot];
        let at_row_end = || code.epilogue.iter().any(|inst| inst.op.slot() == Some(slot as u32));
        let absent = plan.loops.contains(&0) && !at_row_end();
        let mut loops: SmallVec<[i64; 2]> = SmallVec::from_elem(0, plan.loops.len());
        let mut extents: SmallVec<[usize; 6]> = SmallVec::from_elem(1, plan.loops.len() + 2);
        extents[0] = rows as usize;
        extents[plan.loops.len() + 1] = n as usize;
        let inner = size * code.slots[slot].class.step();
        let mut stride = inner * n;
        for (at, extent) in plan.loops.iter().enumerate().rev() {
            if absent || own.loops[at] != 0 {
                loops[at] = stride;
                extents[at + 1] = *extent as usize;
                stride *= (*extent).max(1);
            }
        }
        let strides = |row: i64, loops: &[i64], inner: i64| -> SmallVec<[isize; 6]> {
            [row].iter().chain(loops).chain([&inner]).map(|stride| *stride as isize).collect()
        };
        let (there, here) = (strides(stride, &loops, inner), strides(own.row, &own.loops, own.inner));
        let load = code.slots[slot].used == SlotUse::Load;
        let (to, from) = if load { (&there, &here) } else { (&here, &there) };
        // Elements that are staged are written or read next: they do not pass the caches.
        let copy = StridedCopy::new(to, from, &extents, size as usize, 0);
        Staging { slot, row: stride, inner, loops, copy, load }
    }

    /// Fills the block at `area` from the slot's memory at `base`, if the code loads it.
    ///
    /// # Safety
    /// The block has room for the elements and no other user; the slot's are valid.
    pub(super) unsafe fn fill(&self, area: i64, base: i64) {
        if self.load {
            // SAFETY: the caller's promise.
            unsafe { self.copy.run(area as *mut u8, base as *const u8) };
        }
    }

    /// Takes the block at `area` to the slot's memory at `base`, if the code stores it.
    ///
    /// # Safety
    /// As [`Staging::fill`].
    pub(super) unsafe fn empty(&self, area: i64, base: i64) {
        if !self.load {
            // SAFETY: the caller's promise.
            unsafe { self.copy.run(base as *mut u8, area as *const u8) };
        }
    }
}
