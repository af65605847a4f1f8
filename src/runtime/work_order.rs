//! [`WorkOrder`]: an order of a kernel's work items that uses the caches better than the order of the boxes.
//!
//! A box is a part of a kernel's index space in which every slot moves by constant strides. A work item is a part of a
//! box that one thread computes at once. By default, threads take all items of one box before the items of the next
//! box.

use crate::lower::box_plan::BoxPlan;
use crate::lower::kernel::{BufferIx, Kernel};
use crate::lower::kernel_body::SlotUse;
use crate::lower::plan::KernelPlan;
use crate::lower::slot_plan::SlotPlan;

/// The key by which work items are sorted.
#[derive(Clone, Copy, Debug)]
pub(super) enum WorkOrder {
    /// The address of the item's stores. Several boxes write pieces of the same cache lines, so items that write the
    /// same line should run close together.
    Stored,
    /// The address of the item's loads from this buffer. Several boxes read the same or interleaved elements of the
    /// buffer.
    Loaded(BufferIx),
}

/// The maximum number of bytes over which the accesses of an ordered item spread along the axis that is cut. This is a
/// share of the cache of one core. A buffer of at most `2 * MAX_SPREAD_BYTES` bytes needs no order, because the buffer
/// stays in the cache.
pub(super) const MAX_SPREAD_BYTES: i64 = 256 << 10;

/// The minimum length in bytes of a contiguous range of stores for which the two split cache lines at its ends cost
/// little.
const LONG_STRETCH: i64 = 16 << 10;

/// Bytes in a cache line.
pub(super) const LINE: i64 = 64;

impl WorkOrder {
    /// Returns the order of a kernel's items, or `None` if the order of the boxes is as good.
    pub(super) fn of(kernel: &Kernel, plan: &KernelPlan) -> Option<WorkOrder> {
        if plan.boxes.len() < 2 || !kernel.row.is_empty() {
            return None;
        }
        if boxes_share_stored_lines(kernel, plan) {
            return Some(WorkOrder::Stored);
        }
        let largest = plan.buffers.iter().filter(|used| !used.stored).max_by_key(|used| used.bytes)?;
        let order = WorkOrder::Loaded(largest.buffer);
        (largest.bytes as i64 > 2 * MAX_SPREAD_BYTES && order.is_shared(kernel, plan)).then_some(order)
    }

    /// Returns the slot of a box whose addresses are the keys of the box's items. Returns `None` if the box does not
    /// access the buffer of the key, or if the box reads this buffer at an inner stride that exceeds a cache line.
    pub(super) fn slot<'a>(self, kernel: &Kernel, plan: &'a BoxPlan) -> Option<&'a SlotPlan> {
        let kinds = &kernel.variants[plan.variant].body.slots;
        plan.slots.iter().zip(kinds).map(|(slot, kind)| (slot, kind.used)).find_map(|(slot, used)| match self
        {
            WorkOrder::Stored => (used == SlotUse::Store).then_some(slot),
            // A box that reads columns of a matrix touches a new cache line with every element, in any order.
            WorkOrder::Loaded(buffer) => {
                (used == SlotUse::Load && slot.buffer == Some(buffer) && slot.inner.saturating_abs() <= LINE)
                    .then_some(slot)
            }
        })
    }

    /// Returns whether the accesses of large boxes overlap: the spans of these boxes sum to more than 1.5 times their
    /// hull. A large box has more than a quarter of the elements of the largest box.
    fn is_shared(self, kernel: &Kernel, plan: &KernelPlan) -> bool {
        let (mut sum, mut low, mut high) = (0i64, i64::MAX, i64::MIN);
        let largest = plan.boxes.iter().map(BoxPlan::len).max().unwrap_or(0);
        let large = plan.boxes.iter().filter(|plan| plan.len() > largest / 4);
        for (plan, slot) in large.filter_map(|plan| Some((plan, self.slot(kernel, plan)?))) {
            let (begin, end) = range(plan, slot);
            sum = sum.saturating_add(end - begin);
            (low, high) = (low.min(begin), high.max(end));
        }
        sum / 3 > high.saturating_sub(low) / 2
    }
}

/// Returns whether several boxes write pieces of the same cache lines of a result of more than `2 * MAX_SPREAD_BYTES`
/// bytes.
fn boxes_share_stored_lines(kernel: &Kernel, plan: &KernelPlan) -> bool {
    let bytes = plan.buffers.iter().filter(|used| used.stored).map(|used| used.bytes).max();
    if bytes.unwrap_or(0) as i64 <= 2 * MAX_SPREAD_BYTES {
        return false;
    }
    let targets = plan.boxes.iter().map(|plan| Some((plan, WorkOrder::Stored.slot(kernel, plan)?)));
    let largest = targets.clone().max_by_key(|target| target.map_or(0, |(plan, _)| plan.len()));
    largest.flatten().is_some_and(|(plan, slot)| stretch(plan, slot) < LONG_STRETCH)
        && targets.flatten().any(|(plan, slot)| rows_split_lines(plan, slot))
}

/// Returns whether a slot's rows begin or end inside a cache line.
fn rows_split_lines(plan: &BoxPlan, slot: &SlotPlan) -> bool {
    let row = plan.n.saturating_mul(slot.inner);
    let mut strides = slot.outer.iter().chain([&slot.row, &slot.base, &row]);
    strides.any(|stride| stride % LINE != 0)
}

/// Returns the length in bytes of the contiguous ranges that a slot covers.
fn stretch(plan: &BoxPlan, slot: &SlotPlan) -> i64 {
    let mut bytes = plan.n.saturating_mul(slot.inner.saturating_abs());
    for (extent, stride) in plan.outer.iter().zip(&slot.outer).chain([(&plan.rows, &slot.row)]).rev() {
        if *extent > 1 && stride.saturating_abs() != bytes {
            break;
        }
        bytes = bytes.saturating_mul(*extent);
    }
    bytes
}

/// Returns the least and the greatest offset of an element of a slot, for a kernel without loops in its rows.
fn range(plan: &BoxPlan, slot: &SlotPlan) -> (i64, i64) {
    let axes = plan.outer.iter().zip(&slot.outer).chain([(&plan.rows, &slot.row), (&plan.n, &slot.inner)]);
    axes.fold((slot.base, slot.base), |(low, high), (extent, stride)| {
        let moved = stride.saturating_mul(extent - 1);
        (low.saturating_add(moved.min(0)), high.saturating_add(moved.max(0)))
    })
}
