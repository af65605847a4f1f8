//! [`Order`]: what the parts of a kernel are ordered by, where the order of the boxes will not do.

use crate::lower::boxes::{BoxPlan, SlotPlan};
use crate::lower::code::SlotUse;
use crate::lower::kernel::{BufferIx, Kernel};
use crate::lower::plan::KernelPlan;

/// By where parts store, or by where they load from a buffer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    /// Several boxes write pieces of the same cache lines, which should still be in a cache when the next of them
    /// comes.
    Stored,
    /// Several boxes read the same places of this buffer, or places between them.
    Loaded(BufferIx),
}

/// Bytes that a part may spread over where others come between: a share of the cache of one core.
pub(super) const SPREAD: i64 = 256 << 10;

/// Bytes that a box may write in a row without much being written beside them in their first and last line.
const LONG: i64 = 16 << 10;

/// Bytes of a cache line.
pub(super) const LINE: i64 = 64;

impl Order {
    pub(super) fn of(kernel: &Kernel, plan: &KernelPlan) -> Option<Order> {
        if plan.boxes.len() < 2 || !kernel.row.is_empty() {
            return None;
        }
        if are_mixed(kernel, plan) {
            return Some(Order::Stored);
        }
        let largest = plan.buffers.iter().filter(|used| !used.stored).max_by_key(|used| used.bytes)?;
        let order = Order::Loaded(largest.buffer);
        (largest.bytes as i64 > 2 * SPREAD && order.is_shared(kernel, plan)).then_some(order)
    }

    /// The slot of a box that says where a part of it stands.
    pub(super) fn slot<'a>(self, kernel: &Kernel, plan: &'a BoxPlan) -> Option<&'a SlotPlan> {
        let kinds = &kernel.variants[plan.variant].code.slots;
        plan.slots.iter().zip(kinds).map(|(slot, kind)| (slot, kind.used)).find_map(|(slot, used)| match self
        {
            Order::Stored => (used == SlotUse::Store).then_some(slot),
            // Columns of a matrix, of which every element is in a line of its own, have no order to keep.
            Order::Loaded(buffer) => {
                (used == SlotUse::Load && slot.buffer == Some(buffer) && slot.inner.saturating_abs() <= LINE)
                    .then_some(slot)
            }
        })
    }

    /// Whether large boxes spread over half as much again as all of them together: much is there for several.
    fn is_shared(self, kernel: &Kernel, plan: &KernelPlan) -> bool {
        let (mut sum, mut low, mut high) = (0i64, i64::MAX, i64::MIN);
        let most = plan.boxes.iter().map(BoxPlan::len).max().unwrap_or(0);
        let large = plan.boxes.iter().filter(|plan| plan.len() > most / 4);
        for (plan, slot) in large.filter_map(|plan| Some((plan, self.slot(kernel, plan)?))) {
            let (begin, end) = range(plan, slot);
            sum = sum.saturating_add(end - begin);
            (low, high) = (low.min(begin), high.max(end));
        }
        sum / 3 > high.saturating_sub(low) / 2
    }
}

/// Whether several boxes write pieces of the same cache lines of a result that is not small.
fn are_mixed(kernel: &Kernel, plan: &KernelPlan) -> bool {
    let bytes = plan.buffers.iter().filter(|used| used.stored).map(|used| used.bytes).max();
    if bytes.unwrap_or(0) as i64 <= 2 * SPREAD {
        return false;
    }
    let targets = plan.boxes.iter().map(|plan| Some((plan, Order::Stored.slot(kernel, plan)?)));
    let most = targets.clone().max_by_key(|target| target.map_or(0, |(plan, _)| plan.len()));
    most.flatten().is_some_and(|(plan, slot)| stretch(plan, slot) < LONG)
        && targets.flatten().any(|(plan, slot)| breaks_lines(plan, slot))
}

/// Whether a slot moves over pieces of cache lines.
fn breaks_lines(plan: &BoxPlan, slot: &SlotPlan) -> bool {
    let row = plan.n.saturating_mul(slot.inner);
    let mut strides = slot.outer.iter().chain([&slot.row, &slot.base, &row]);
    strides.any(|stride| stride % LINE != 0)
}

/// Bytes that a slot moves over without a gap.
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

/// The first byte that a slot of a kernel without loops in its rows stands at, and the last.
fn range(plan: &BoxPlan, slot: &SlotPlan) -> (i64, i64) {
    let axes = plan.outer.iter().zip(&slot.outer).chain([(&plan.rows, &slot.row), (&plan.n, &slot.inner)]);
    axes.fold((slot.base, slot.base), |(low, high), (extent, stride)| {
        let moved = stride.saturating_mul(extent - 1);
        (low.saturating_add(moved.min(0)), high.saturating_add(moved.max(0)))
    })
}
