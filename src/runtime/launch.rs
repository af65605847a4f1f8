//! [`launch`]: runs a planned kernel, on one thread or several.

use smallvec::SmallVec;

use super::cost::{UNITS_PER_NANOSECOND, element_cost};
use super::kernel_call::{KernelCall, Outcome, base_word, push_slot};
use super::memory::Memory;
use super::staging::{RowBlock, Staging};
use super::thread_pool::Pool;
use super::work_items::{Chunking, WorkItem};
use super::work_order::WorkOrder;
use super::workspace::{Workspace, first_workspace};
use crate::codegen::{CodeModule, FuncIndex, slot_words};
use crate::dump::Traced;
use crate::error::Result;
use crate::lower::box_plan::BoxPlan;
use crate::lower::kernel::Kernel;
use crate::lower::kernel_body::{LaneLayout, SlotUse, TILE};
use crate::lower::launch_mode::LaunchMode;
use crate::lower::plan::KernelPlan;
use crate::lower::slot_plan::SlotPlan;
use crate::op::Cancel;
use crate::tiles::StridedCopy;

/// A kernel, its plan and its buffers.
pub(crate) struct Launch<'a> {
    pub kernel: &'a Kernel,
    pub plan: &'a KernelPlan,
    pub code: &'a CodeModule,
    /// The function of each variant.
    pub functions: &'a [FuncIndex],
    pub memory: &'a Memory<'a>,
    /// The result of [`stream_threshold`](super::stream_threshold).
    pub stream_threshold: i64,
    /// The trace entry under which each thread records its time.
    pub traced: Option<Traced<'a>>,
    /// The cancellation token of the run.
    pub cancel: Cancel<'a>,
}

/// The number of nanoseconds of work above which a kernel is cut into work items, so that a run with a token can end
/// between two items.
const MAX_UNCUT_NANOSECONDS: i64 = 500_000;

/// The number of nanoseconds that a costly element takes.
const MAX_ELEMENT_NANOSECONDS: i64 = 64;

/// Returns whether a run with this token cuts the kernel into work items even on one thread. A run without a token does
/// not.
pub(crate) fn is_cut_for(cancel: Cancel<'_>, kernel: &Kernel, plan: &KernelPlan) -> bool {
    cancel.has_token() && is_long(kernel, plan)
}

/// Returns whether a kernel is estimated to take more than [`MAX_UNCUT_NANOSECONDS`].
fn is_long(kernel: &Kernel, plan: &KernelPlan) -> bool {
    let elements = plan.boxes.iter().map(BoxPlan::len).fold(0, i64::saturating_add);
    // The first comparison spares small kernels the walk over their instructions. An element seldom takes more than
    // `MAX_ELEMENT_NANOSECONDS`.
    elements > MAX_UNCUT_NANOSECONDS / MAX_ELEMENT_NANOSECONDS
        && elements.saturating_mul(element_cost(kernel)) / UNITS_PER_NANOSECOND > MAX_UNCUT_NANOSECONDS
}

/// Runs the kernel. Returns whether a check of the kernel failed.
///
/// # Errors
/// A buffer is not what the plan needs, memory for a thread is refused, or the run is cancelled.
pub(crate) fn launch(launch: &Launch<'_>, workspaces: &mut Vec<Workspace>, pool: &Pool) -> Result<bool> {
    for used in &launch.plan.buffers {
        launch.memory.check(used)?;
    }
    let elements: i64 = launch.plan.boxes.iter().map(BoxPlan::len).fold(0, i64::saturating_add);
    let on_several_threads = pool.is_worth_threads(launch.kernel, elements);
    let mut failed = 0;
    // `None` if the items may run in the order of the boxes.
    let order = WorkOrder::of(launch.kernel, launch.plan);
    let is_cut = on_several_threads || is_cut_for(launch.cancel, launch.kernel, launch.plan);
    if !is_cut && order.is_none() {
        let workspace = first_workspace(workspaces);
        for (index, plan) in launch.plan.boxes.iter().enumerate() {
            launch.run_item(&WorkItem::whole(index, plan), &[], workspace, &mut failed)?;
        }
        return Ok(failed != 0);
    }
    let Chunking { items, copies } = Chunking::new(launch.kernel, launch.plan, order);
    if !on_several_threads {
        let workspace = first_workspace(workspaces);
        for item in &items {
            launch.cancel.check()?;
            launch.run_item(item, &copies, workspace, &mut failed)?;
        }
        return Ok(failed != 0);
    }
    let traced = launch.traced.map(Traced::part);
    pool.run(&items, workspaces, &|item, workspace, failed| {
        launch.cancel.check()?;
        let _span = traced.map(Traced::begin);
        launch.run_item(item, &copies, workspace, failed)
    })
}

/// These methods run after `launch` has checked the buffers.
impl Launch<'_> {
    fn run_item(
        &self,
        item: &WorkItem,
        copies: &[StridedCopy],
        workspace: &mut Workspace,
        failed: &mut i64,
    ) -> Result<()> {
        let plan = &self.plan.boxes[item.box_index];
        match &plan.mode {
            LaunchMode::Direct if plan.scratch == 0 && !self.is_column(plan) => {
                self.run_direct(plan, item, workspace, failed)
            }
            LaunchMode::Direct => self.run_blocks(plan, &[], item, workspace, failed),
            LaunchMode::Staged(staged) => self.run_blocks(plan, staged, item, workspace, failed),
            LaunchMode::Copy(copy) => {
                let strided = item.copy.map_or(&copy.whole, |index| &copies[index as usize]);
                let (outer, row) = plan.position(item.begin);
                let [from, to] = [copy.from, copy.to].map(|slot| {
                    self.origin(&plan.slots[slot]) + plan.slots[slot].offset_at(&outer, row, item.inner_begin)
                });
                // SAFETY: as in `call`. The plan checked both slots over the whole box. The copy covers the item,
                // which is a part of the box and begins at these addresses.
                unsafe { strided.run(to as *mut u8, from as *const u8) };
                Ok(())
            }
        }
    }

    /// Returns the address to which the offsets of a slot are added: the address of the slot's buffer, or 0 if the slot
    /// has no buffer.
    fn origin(&self, slot: &SlotPlan) -> i64 {
        slot.buffer.map_or(0, |buffer| self.memory.address(buffer) as i64)
    }

    /// Returns whether each vector lane reduces a row of its own, see [`LaneLayout::Column`].
    fn is_column(&self, plan: &BoxPlan) -> bool {
        self.kernel.variants[plan.variant].body.layout == LaneLayout::Column
    }

    /// Runs the machine code on the buffers themselves, once for each position of the outer axes.
    fn run_direct(
        &self,
        plan: &BoxPlan,
        item: &WorkItem,
        workspace: &mut Workspace,
        failed: &mut i64,
    ) -> Result<()> {
        let stride = slot_words(self.kernel.variants[plan.variant].body.loops);
        let (mut outer, mut row) = plan.position(item.begin);
        let words = &mut workspace.words;
        words.clear();
        for slot in &plan.slots {
            let base = self.origin(slot) + slot.offset_at(&outer, row, item.inner_begin);
            push_slot(words, base, slot.row, slot.inner, &slot.loops);
        }
        let mut position = item.begin;
        loop {
            let rows = (plan.rows - row).min(item.end - position);
            self.call(plan, words, rows, item.inner_end - item.inner_begin, 0, failed)?;
            position += rows;
            if position >= item.end {
                return Ok(());
            }
            if row > 0 {
                for (word, slot) in words.iter_mut().step_by(stride).zip(&plan.slots) {
                    *word -= slot.row * row;
                }
                row = 0;
            }
            advance(plan, &mut outer, words, stride);
        }
    }

    /// Runs the machine code on one block of rows after the other. The elements of the `staged` slots are copied
    /// between the buffers and contiguous memory of the workspace.
    fn run_blocks(
        &self,
        plan: &BoxPlan,
        staged: &[usize],
        item: &WorkItem,
        workspace: &mut Workspace,
        failed: &mut i64,
    ) -> Result<()> {
        let code = &self.kernel.variants[plan.variant].body;
        let column = self.is_column(plan);
        let along_row = !column && !self.kernel.row.is_empty();
        let max_width = if column { TILE as i64 } else { i64::MAX };
        let block = if staged.is_empty() {
            RowBlock::unstaged(plan, max_width)
        } else {
            // Scratch memory has room for one row only, so a block with scratch slots is one row.
            let may_have_several_rows = plan.scratch == 0;
            RowBlock::staged(plan, staged, !along_row, max_width, may_have_several_rows)
        };
        let size = |slot: usize| element_size(self.kernel, plan, slot) as i64;
        let bytes = |slot: usize| block.bytes(size(slot) * code.slots[slot].pattern.step());
        let areas: usize = staged.iter().map(|slot| bytes(*slot)).sum();
        let scratch =
            if plan.scratch + areas > 0 { workspace.scratch(plan.scratch + areas)? as i64 } else { 0 };
        let tile = if column { workspace.tile(code.reduced.len())? } else { 0 };
        let Workspace { words, bases, .. } = workspace;
        let mut stagings: SmallVec<[Staging; 2]> = SmallVec::new();
        let (mut outer, mut row) = plan.position(item.begin);
        let is_scratch = |index: usize| code.slots[index].used == SlotUse::Scratch;
        bases.clear();
        bases.extend(plan.slots.iter().enumerate().map(|(index, slot)| {
            if is_scratch(index) {
                scratch + slot.base
            } else {
                self.origin(slot) + slot.offset_at(&outer, 0, 0)
            }
        }));
        let mut position = item.begin;
        // The numbers of rows and inner elements for which `words` and `stagings` were made.
        let mut shape = (-1, -1);
        loop {
            let end = plan.rows.min(row + item.end - position);
            position += end - row;
            while row < end {
                let rows = block.rows.min(end - row);
                let mut first = item.inner_begin;
                loop {
                    let n = block.width.min(item.inner_end - first);
                    if (rows, n) != shape {
                        shape = (rows, n);
                        let new = |slot: &usize| Staging::new(plan, code, *slot, size(*slot), rows, n);
                        stagings = staged.iter().map(new).collect();
                        words.clear();
                        for (index, slot) in plan.slots.iter().enumerate() {
                            match stagings.iter().find(|staging| staging.slot == index) {
                                Some(staging) => {
                                    push_slot(words, 0, staging.row, staging.inner, &staging.loops);
                                }
                                None => push_slot(words, 0, slot.row, slot.inner, &slot.loops),
                            }
                        }
                    }
                    for (index, (slot, base)) in plan.slots.iter().zip(&*bases).enumerate() {
                        let moved = if is_scratch(index) { 0 } else { slot.row * row + slot.inner * first };
                        words[base_word(index, code.loops)] = base + moved;
                    }
                    let mut area = scratch + plan.scratch as i64;
                    for staging in &stagings {
                        let word = &mut words[base_word(staging.slot, code.loops)];
                        // SAFETY: the workspace owns the area, which has room for a block of this size; the plan
                        // checked the slot over the whole box.
                        unsafe { staging.copy_in(area, *word) };
                        *word = area;
                        area += bytes(staging.slot) as i64;
                    }
                    self.call(plan, words, rows, n, tile, failed)?;
                    let mut area = scratch + plan.scratch as i64;
                    for staging in &stagings {
                        let slot = &plan.slots[staging.slot];
                        let base = bases[staging.slot] + slot.row * row + slot.inner * first;
                        // SAFETY: as above.
                        unsafe { staging.copy_out(area, base) };
                        area += bytes(staging.slot) as i64;
                    }
                    first += n;
                    if first >= item.inner_end {
                        break;
                    }
                }
                row += rows;
            }
            if position >= item.end {
                return Ok(());
            }
            row = 0;
            advance(plan, &mut outer, bases, 1);
        }
    }

    /// Runs the machine code once. Sets `failed` to 1 if a check of the kernel failed.
    ///
    /// # Errors
    /// The run is cancelled.
    fn call(
        &self,
        plan: &BoxPlan,
        words: &[i64],
        rows: i64,
        n: i64,
        tile: usize,
        failed: &mut i64,
    ) -> Result<()> {
        debug_assert_eq!(
            words.len(),
            plan.slots.len() * slot_words(self.kernel.variants[plan.variant].body.loops)
        );
        let call = KernelCall {
            code: self.code,
            function: self.functions[plan.variant],
            words,
            scalars: &plan.scalars,
            extents: &plan.loops,
            tile,
            rows,
            n,
            stream_threshold: self.stream_threshold,
            cancel: self.cancel,
        };
        // SAFETY: the plan checked that every slot stays inside its buffer over the whole box, of which this call
        // covers a part. `launch` checked that the buffers of `memory` have as many bytes as the plan needs. Staged
        // and scratch slots, and the tile, lie in memory of this workspace with room for them. The items of a launch
        // store to different elements.
        match unsafe { call.run() } {
            Outcome::Done => {}
            Outcome::CheckFailed => *failed = 1,
            Outcome::Cancelled => return Err(Cancel::error()),
        }
        Ok(())
    }
}

/// Moves `outer` to the next position of the outer axes. Sets every `step`-th entry of `bases` to the base of its slot
/// at this position.
fn advance(plan: &BoxPlan, outer: &mut [i64], bases: &mut [i64], step: usize) {
    for axis in (0..outer.len()).rev() {
        outer[axis] += 1;
        let remaining = plan.outer[axis] - outer[axis];
        // After its last index an axis returns to index 0, and the next outer axis moves.
        let moved = if remaining > 0 { 1 } else { 1 - plan.outer[axis] };
        for (base, slot) in bases.iter_mut().step_by(step).zip(&plan.slots) {
            *base += slot.outer[axis] * moved;
        }
        if remaining > 0 {
            return;
        }
        outer[axis] = 0;
    }
}

fn element_size(kernel: &Kernel, plan: &BoxPlan, slot: usize) -> usize {
    let dtype = kernel.variants[plan.variant].body.slots[slot].dtype;
    dtype.size_bytes().expect("verification refuses slots whose dtype has no fixed size")
}
