//! [`Parts`]: the boxes of a kernel cut into pieces of work, in the order in which they run.

use smallvec::SmallVec;

use super::thread_pool::{NANOSECOND, work};
use super::work_order::{LINE, Order, SPREAD};
use crate::lower::boxes::{BoxPlan, SlotPlan};
use crate::lower::code::{Layout, TILE};
use crate::lower::kernel::Kernel;
use crate::lower::mode::Mode;
use crate::lower::plan::KernelPlan;
use crate::tiles::StridedCopy;

/// A part of a box: rows of the driver's odometer, or elements of a single row. It is a rectangle: all of the axes
/// inside one of them, and nothing or one index of those around.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub plan: usize,
    /// Position along all outer axes and rows together.
    pub begin: i64,
    pub end: i64,
    /// Range of the inner axis.
    pub first: i64,
    pub last: i64,
    /// Which of [`Parts::copies`] it is, if it is a copy and not the whole box.
    pub copy: Option<u32>,
}

/// The most elements in one part.
const PART: i64 = 1 << 16;

/// Nanoseconds of work in one part of fewer elements.
const LONG: i64 = 50_000;

/// Elements in one part of a copy whose source is transposed: it reads some columns, of which every element may be in a
/// page of its own, and should not share its lines with many other parts.
const TRANSPOSED: i64 = 1 << 20;

impl Part {
    pub(super) fn whole(number: usize, plan: &BoxPlan) -> Part {
        let rows = plan.outer.iter().product::<i64>() * plan.rows;
        Part { plan: number, begin: 0, end: rows, first: 0, last: plan.n, copy: None }
    }
}

/// Parts that touch different elements.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub parts: Vec<Part>,
    pub copies: Vec<StridedCopy>,
}

impl Parts {
    /// Cuts a kernel for its sizes alone, so that results do not depend on the number of threads.
    pub(super) fn new(kernel: &Kernel, plan: &KernelPlan, order: Option<Order>) -> Parts {
        let mut parts = Parts::default();
        let most = PART.min(LONG * NANOSECOND / work(kernel));
        for (number, plan) in plan.boxes.iter().enumerate() {
            parts.split(kernel, number, plan, order, most);
        }
        if let Some(order) = order {
            parts.parts.sort_by_cached_key(|part| {
                let plan = &plan.boxes[part.plan];
                let (outer, row) = plan.position(part.begin);
                order.slot(kernel, plan).map_or(0, |slot| slot.at(&outer, row, part.first))
            });
        }
        parts
    }

    /// Cuts a box into parts of `most` elements.
    fn split(&mut self, kernel: &Kernel, number: usize, plan: &BoxPlan, order: Option<Order>, most: i64) {
        let all = Part::whole(number, plan);
        let is_transposed = |from: &SlotPlan| from.inner.saturating_abs() > LINE;
        let size = match &plan.mode {
            Mode::Copy(copy) if order.is_none() && is_transposed(&plan.slots[copy.from]) => TRANSPOSED,
            _ => most,
        };
        let inner_may_be_cut = kernel.row.is_empty() || kernel.layout == Layout::Column;
        let row = plan.row_len().max(1);
        if inner_may_be_cut && all.end < 8 && plan.n > 2 * TILE as i64 {
            let around: i64 = plan.loops.iter().product();
            let width = (size / around.max(1)).max(TILE as i64) / TILE as i64 * TILE as i64;
            let mut copies = Copies::default();
            for row in 0..all.end {
                let mut first = 0;
                while first < plan.n {
                    let last = (first + width).min(plan.n);
                    let part = Part { begin: row, end: row + 1, first, last, ..all };
                    self.push(plan, part, plan.outer.len(), &mut copies);
                    first = last;
                }
            }
            return;
        }
        let ordered = order.and_then(|order| order.slot(kernel, plan));
        // The outermost axis of which one index is little enough; the rows if none is.
        let (mut unit, mut cut, mut height) = (1, plan.outer.len(), 1);
        for axis in (0..=plan.outer.len()).rev() {
            let inside = if axis == plan.outer.len() { 1 } else { unit * extent(plan, axis + 1) };
            let spread =
                ordered.map_or(0, |slot| slot.outer.get(axis).copied().unwrap_or(slot.row).saturating_abs());
            let most = (size / inside.saturating_mul(row)).min(SPREAD.checked_div(spread).unwrap_or(size));
            if most < 1 {
                break;
            }
            (unit, cut, height) = (inside, axis, most.min(extent(plan, axis)));
        }
        let around = unit * extent(plan, cut);
        let mut copies = Copies::default();
        for start in (0..all.end).step_by(around.max(1) as usize) {
            let mut at = 0;
            while at < extent(plan, cut) {
                let next = (at + height).min(extent(plan, cut));
                let part = Part { begin: start + at * unit, end: start + next * unit, ..all };
                self.push(plan, part, cut, &mut copies);
                at = next;
            }
        }
    }

    /// Adds a part that is one index of each axis before `cut`.
    fn push(&mut self, plan: &BoxPlan, mut part: Part, cut: usize, copies: &mut Copies) {
        if let Mode::Copy(copy) = &plan.mode {
            let shape = (part.end - part.begin, part.last - part.first);
            let known = copies.iter().find(|known| known.0 == shape).map(|known| known.1);
            part.copy = Some(known.unwrap_or_else(|| {
                let mut extents = plan.extents();
                let inside: i64 = extents[cut + 1..=plan.outer.len()].iter().product();
                extents[..cut].fill(1);
                extents[cut] = shape.0 / inside;
                if let Some(inner) = extents.last_mut() {
                    *inner = shape.1;
                }
                let at = self.copies.len() as u32;
                self.copies.push(copy.part(plan, &extents));
                copies.push((shape, at));
                at
            }));
        }
        self.parts.push(part);
    }
}

/// The copies of a box by rows and inner elements: as many as its parts have shapes, which are few.
type Copies = SmallVec<[((i64, i64), u32); 2]>;

fn extent(plan: &BoxPlan, axis: usize) -> i64 {
    plan.outer.get(axis).copied().unwrap_or(plan.rows)
}
