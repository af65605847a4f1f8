//! [`Staging`]: copies between a slot's memory and contiguous memory of a thread, for a block of rows.

use smallvec::SmallVec;

use crate::lower::box_plan::BoxPlan;
use crate::lower::kernel_body::{KernelBody, SlotUse};
use crate::tiles::StridedCopy;

/// The minimum number of inner elements of a staged block whose rows may be cut.
const MIN_WIDTH: i64 = 128;
/// The maximum number of rows of a staged block.
const MAX_ROWS: i64 = 64;
/// The maximum number of elements of a staged block, unless a block of one row of the least width has more.
const MAX_BLOCK_LEN: i64 = 4096;

/// The size of the blocks into which a launch cuts a [`BoxPlan`]: the rows and inner elements of one kernel call.
pub(super) struct RowBlock {
    /// The maximum number of rows of a block.
    pub rows: i64,
    /// The maximum number of inner elements of a block.
    pub width: i64,
    /// The product of the extents of the loops around the inner axis. An empty loop counts as one iteration. The
    /// product is not used for a box without staged slots, and is 1 there.
    iterations: i64,
}

impl RowBlock {
    /// Returns the blocks of a box without staged slots: all rows, and at most `width` inner elements.
    pub(super) fn unstaged(plan: &BoxPlan, width: i64) -> RowBlock {
        RowBlock { rows: plan.rows, width: plan.n.min(width), iterations: 1 }
    }

    /// Returns the blocks of a box with the staged slots `staged`. If `may_cut_rows`, a block may have a part of each
    /// row, of at most `max_width` inner elements; otherwise a block has whole rows. If `may_have_several_rows`, a
    /// block may have several rows; otherwise a block has one row.
    pub(super) fn staged(
        plan: &BoxPlan,
        staged: &[usize],
        may_cut_rows: bool,
        max_width: i64,
        may_have_several_rows: bool,
    ) -> RowBlock {
        // The code at the end of a row accesses an element even if a loop is empty, so an empty loop counts as one
        // iteration.
        let iterations: i64 = plan.loops.iter().map(|extent| (*extent).max(1)).product();
        // For a slot whose rows are closer together than its inner elements, the copy takes many rows at a time. For
        // any other slot, the copy takes rows as long as possible.
        let rows_are_closer = |slot: &usize| {
            let slot = &plan.slots[*slot];
            slot.row.saturating_abs() < slot.inner.saturating_abs()
        };
        let wanted_width = if staged.iter().any(rows_are_closer) {
            MIN_WIDTH
        } else {
            (MAX_BLOCK_LEN / iterations).max(MIN_WIDTH)
        };
        let min_width = if may_cut_rows { wanted_width.min(max_width).min(plan.n.max(1)) } else { plan.n };
        let max_rows = if may_have_several_rows { plan.rows.clamp(1, MAX_ROWS) } else { 1 };
        let rows = (MAX_BLOCK_LEN / (iterations * min_width).max(1)).clamp(1, max_rows);
        let width = if may_cut_rows {
            (MAX_BLOCK_LEN / (rows * iterations) / MIN_WIDTH * MIN_WIDTH).max(min_width).min(max_width)
        } else {
            plan.n
        };
        RowBlock { rows, width, iterations }
    }

    /// Returns the number of bytes of a slot in a block, rounded up to whole cache lines. `size` is the stride in bytes
    /// of the slot's inner elements.
    pub(super) fn bytes(&self, size: i64) -> usize {
        ((self.rows * self.iterations * self.width * size + 63) / 64 * 64) as usize
    }
}

/// A staged slot of a block: its strides in contiguous memory, and the copy to this memory (for a load) or from it (for
/// a store).
pub(super) struct Staging {
    /// Index of the slot.
    pub slot: usize,
    /// The stride per row in the contiguous memory, in bytes.
    pub row: i64,
    /// The stride per inner element, in bytes.
    pub inner: i64,
    /// The stride of each loop around the inner axis, in bytes.
    pub loops: SmallVec<[i64; 2]>,
    copy: StridedCopy,
    /// Whether the code loads the slot; otherwise the code stores the slot.
    is_load: bool,
}

impl Staging {
    /// Returns the staging of `slot`, whose elements have `size` bytes, for a block of `rows` rows and `n` inner
    /// elements. The inner stride is the stride that `code` expects.
    ///
    /// A loop along which the slot does not move takes one position in the block. If a loop is empty, the block has
    /// only the elements that the code at the end of a row accesses.
    pub(super) fn new(
        plan: &BoxPlan,
        code: &KernelBody,
        slot: usize,
        size: i64,
        rows: i64,
        n: i64,
    ) -> Staging {
        let source = &plan.slots[slot];
        let at_row_end = || code.epilogue.iter().any(|inst| inst.op.slot() == Some(slot as u32));
        let absent = plan.loops.contains(&0) && !at_row_end();
        let mut loops: SmallVec<[i64; 2]> = SmallVec::from_elem(0, plan.loops.len());
        let mut extents: SmallVec<[usize; 6]> = SmallVec::from_elem(1, plan.loops.len() + 2);
        extents[0] = rows as usize;
        extents[plan.loops.len() + 1] = n as usize;
        let inner = size * code.slots[slot].pattern.step();
        let mut stride = inner * n;
        for (axis, extent) in plan.loops.iter().enumerate().rev() {
            if absent || source.loops[axis] != 0 {
                loops[axis] = stride;
                extents[axis + 1] = *extent as usize;
                stride *= (*extent).max(1);
            }
        }
        let strides = |row: i64, loops: &[i64], inner: i64| -> SmallVec<[isize; 6]> {
            [row].iter().chain(loops).chain([&inner]).map(|stride| *stride as isize).collect()
        };
        let (block, memory) =
            (strides(stride, &loops, inner), strides(source.row, &source.loops, source.inner));
        let is_load = code.slots[slot].used == SlotUse::Load;
        let (to, from) = if is_load { (&block, &memory) } else { (&memory, &block) };
        // A slot that stores with a stride stores pairs of elements. The copy moves a whole pair as one unit.
        let unit = if is_load { size } else { inner };
        // Ordinary stores keep the staged elements in the caches, where the kernel reads them next or has just written
        // them.
        let copy = StridedCopy::new(to, from, &extents, unit as usize, false);
        Staging { slot, row: stride, inner, loops, copy, is_load }
    }

    /// Copies the slot's memory at `base` to the block at `area`, if the code loads the slot.
    ///
    /// # Safety
    /// The block has room for the elements and no other user. The slot's elements are readable.
    pub(super) unsafe fn copy_in(&self, area: i64, base: i64) {
        if self.is_load {
            // SAFETY: the caller's promise.
            unsafe { self.copy.run(area as *mut u8, base as *const u8) };
        }
    }

    /// Copies the block at `area` to the slot's memory at `base`, if the code stores the slot.
    ///
    /// # Safety
    /// The block holds the elements. The slot's elements are writable and have no other user.
    pub(super) unsafe fn copy_out(&self, area: i64, base: i64) {
        if !self.is_load {
            // SAFETY: the caller's promise.
            unsafe { self.copy.run(base as *mut u8, area as *const u8) };
        }
    }
}
