//! [`Chunking`]: cuts the boxes (rectangular parts) of a kernel's domain into work items, in the order in which the
//! items run.

use smallvec::SmallVec;

use super::cost::{UNITS_PER_NANOSECOND, element_cost};
use super::work_order::{LINE, MAX_SPREAD_BYTES, WorkOrder};
use crate::lower::box_plan::BoxPlan;
use crate::lower::kernel::Kernel;
use crate::lower::kernel_body::{LaneLayout, TILE};
use crate::lower::launch_mode::LaunchMode;
use crate::lower::plan::KernelPlan;
use crate::lower::slot_plan::SlotPlan;
use crate::tiles::StridedCopy;

/// A part of a box: some positions with all inner elements, or one position with some inner elements.
///
/// A position is a row-major index over the outer axes and the rows. The part is a rectangle: some consecutive indices
/// of one axis, all indices of the axes inside that axis, and one index of each axis around that axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct WorkItem {
    /// Index of the box in [`KernelPlan::boxes`].
    pub box_index: usize,
    /// First position.
    pub begin: i64,
    /// Position after the last position.
    pub end: i64,
    /// First inner element.
    pub inner_begin: i64,
    /// Inner element after the last inner element.
    pub inner_end: i64,
    /// Index of the item's copy in [`Chunking::copies`]. `None` if [`WorkItem::whole`] made the item, or if the box is
    /// not a copy.
    pub copy: Option<u32>,
}

/// A box with at least this number of rows gives enough items without cuts inside the rows.
const ENOUGH_ROWS: i64 = 8;

/// The maximum number of elements in one item.
const MAX_ITEM_LEN: i64 = 1 << 16;

/// The maximum number of nanoseconds of work in one item, by the estimate of [`element_cost`]. An item of a costly
/// kernel has fewer elements than [`MAX_ITEM_LEN`].
const MAX_ITEM_NANOSECONDS: i64 = 50_000;

/// The maximum number of elements in one item of a copy whose source is transposed. Such an item reads columns of the
/// source. Each element of a column may lie in a page of its own. With larger items, fewer items load the same cache
/// line of the source.
const MAX_TRANSPOSED_ITEM_LEN: i64 = 1 << 20;

impl WorkItem {
    /// Returns the item that is the whole box.
    pub(super) fn whole(box_index: usize, plan: &BoxPlan) -> WorkItem {
        let positions = plan.outer.iter().product::<i64>() * plan.rows;
        WorkItem { box_index, begin: 0, end: positions, inner_begin: 0, inner_end: plan.n, copy: None }
    }
}

/// The work items of a kernel. Different items store to different elements.
#[derive(Debug, Default)]
pub(super) struct Chunking {
    pub items: Vec<WorkItem>,
    /// The strided copies of the items of boxes that are copies.
    pub copies: Vec<StridedCopy>,
}

impl Chunking {
    /// Cuts a kernel into items. The cut depends on sizes only, so results do not depend on the number of threads.
    pub(super) fn new(kernel: &Kernel, plan: &KernelPlan, order: Option<WorkOrder>) -> Chunking {
        let mut chunking = Chunking::default();
        let max_len = MAX_ITEM_LEN.min(MAX_ITEM_NANOSECONDS * UNITS_PER_NANOSECOND / element_cost(kernel));
        for (index, plan) in plan.boxes.iter().enumerate() {
            chunking.cut(kernel, index, plan, order, max_len);
        }
        if let Some(order) = order {
            chunking.items.sort_by_cached_key(|item| {
                let plan = &plan.boxes[item.box_index];
                let (outer, row) = plan.position(item.begin);
                order.slot(kernel, plan).map_or(0, |slot| slot.offset_at(&outer, row, item.inner_begin))
            });
        }
        chunking
    }

    /// Cuts a box into items of at most `max_len` elements, or of [`MAX_TRANSPOSED_ITEM_LEN`] elements if the box is a
    /// copy of a transposed source and the items have no order. An item has at least one row, or [`TILE`] inner
    /// elements of a row that may be cut, even if these are more elements than the maximum.
    fn cut(&mut self, kernel: &Kernel, index: usize, plan: &BoxPlan, order: Option<WorkOrder>, max_len: i64) {
        let whole = WorkItem::whole(index, plan);
        let is_transposed = |from: &SlotPlan| from.inner.saturating_abs() > LINE;
        let size = match &plan.mode {
            LaunchMode::Copy(copy) if order.is_none() && is_transposed(&plan.slots[copy.from]) => {
                MAX_TRANSPOSED_ITEM_LEN
            }
            _ => max_len,
        };
        let inner_may_be_cut =
            kernel.row.is_empty() || kernel.variants[plan.variant].body.layout == LaneLayout::Column;
        let row_len = plan.row_len().max(1);
        if inner_may_be_cut && whole.end < ENOUGH_ROWS && plan.n > 2 * TILE as i64 {
            let iterations: i64 = plan.loops.iter().product();
            let width = (size / iterations.max(1)).max(TILE as i64) / TILE as i64 * TILE as i64;
            let mut copies = KnownCopies::default();
            for row in 0..whole.end {
                let mut inner_begin = 0;
                while inner_begin < plan.n {
                    let inner_end = (inner_begin + width).min(plan.n);
                    let item = WorkItem { begin: row, end: row + 1, inner_begin, inner_end, ..whole };
                    self.push(plan, item, plan.outer.len(), &mut copies);
                    inner_begin = inner_end;
                }
            }
            return;
        }
        let ordered = order.and_then(|order| order.slot(kernel, plan));
        // The items cut axis `cut`: the outermost axis for which one index, with all elements at this index, fits into
        // an item. If there is no such axis, `cut` is the axis of the rows. `unit` is the number of positions at one
        // index of `cut`. `height` is the number of indices of `cut` in an item.
        let (mut unit, mut cut, mut height) = (1, plan.outer.len(), 1);
        for axis in (0..=plan.outer.len()).rev() {
            let inner_unit = if axis == plan.outer.len() { 1 } else { unit * extent(plan, axis + 1) };
            let stride =
                ordered.map_or(0, |slot| slot.outer.get(axis).copied().unwrap_or(slot.row).saturating_abs());
            let max_height = (size / inner_unit.saturating_mul(row_len))
                .min(MAX_SPREAD_BYTES.checked_div(stride).unwrap_or(size));
            if max_height < 1 {
                break;
            }
            (unit, cut, height) = (inner_unit, axis, max_height.min(extent(plan, axis)));
        }
        let outer_unit = unit * extent(plan, cut);
        let mut copies = KnownCopies::default();
        for start in (0..whole.end).step_by(outer_unit.max(1) as usize) {
            let mut index = 0;
            while index < extent(plan, cut) {
                let next = (index + height).min(extent(plan, cut));
                let item = WorkItem { begin: start + index * unit, end: start + next * unit, ..whole };
                self.push(plan, item, cut, &mut copies);
                index = next;
            }
        }
    }

    /// Adds an item that has one index of each axis before `cut`, and some indices of axis `cut`. If the box is a copy,
    /// the function makes the item's copy, or finds it in `copies`.
    fn push(&mut self, plan: &BoxPlan, mut item: WorkItem, cut: usize, copies: &mut KnownCopies) {
        if let LaunchMode::Copy(copy) = &plan.mode {
            let shape = (item.end - item.begin, item.inner_end - item.inner_begin);
            let known = copies.iter().find(|known| known.0 == shape).map(|known| known.1);
            item.copy = Some(known.unwrap_or_else(|| {
                let mut extents = plan.extents();
                let inner_positions: i64 = extents[cut + 1..=plan.outer.len()].iter().product();
                extents[..cut].fill(1);
                extents[cut] = shape.0 / inner_positions;
                let inner = extents.last_mut().expect("a box has rows and an inner axis");
                *inner = shape.1;
                let index = self.copies.len() as u32;
                self.copies.push(copy.part(&plan.slots, &extents));
                copies.push((shape, index));
                index
            }));
        }
        self.items.push(item);
    }
}

/// The copies made so far for a box. An entry is the number of positions and of inner elements of an item, and the
/// index of the copy in [`Chunking::copies`]. Items for which both numbers are equal share a copy.
type KnownCopies = SmallVec<[((i64, i64), u32); 2]>;

/// Returns the extent of an outer axis, or the number of rows.
fn extent(plan: &BoxPlan, axis: usize) -> i64 {
    plan.outer.get(axis).copied().unwrap_or(plan.rows)
}
