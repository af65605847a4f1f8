//! `launch`: runs a planned kernel over memory, in one thread or several.

use smallvec::SmallVec;

use super::memory::Memory;
use super::staging::{Block, Staging};
use super::thread_pool::Pool;
use super::work_items::{Part, Parts};
use super::work_order::Order;
use crate::codegen::{CodeModule, FuncIndex};
use crate::codegen::{KernelArgs, SLOT_BASE, SLOT_INNER, SLOT_LOOPS, SLOT_ROW, slot_words};
use crate::dump::Traced;
use crate::error::Result;
use crate::lower::boxes::{BoxPlan, SlotPlan};
use crate::lower::code::{Layout, SlotUse, TILE};
use crate::lower::kernel::Kernel;
use crate::lower::mode::Mode;
use crate::lower::plan::KernelPlan;
use crate::tensor::Buffer;
use crate::tiles::StridedCopy;

/// The least bytes of a row that passes the caches where its ends break lines.
const STREAMED_ROW: i64 = 1024;

/// Memory that one thread works in.
#[derive(Default)]
pub(crate) struct Lane {
    scratch: Option<Buffer>,
    tile: Option<Buffer>,
    pub(super) words: Vec<i64>,
    bases: Vec<i64>,
}

impl Lane {
    /// The address of so many bytes, at a multiple of [`Buffer::ALIGN`], of what an earlier use left.
    pub(super) fn scratch(&mut self, bytes: usize) -> Result<usize> {
        Ok(grow(&mut self.scratch, bytes)?.as_ptr() as usize)
    }

    fn tile(&mut self, folds: usize) -> Result<usize> {
        Ok(grow(&mut self.tile, folds * 8 * TILE)?.as_ptr() as usize)
    }
}

/// A buffer of at least so many bytes.
pub(crate) fn grow(buffer: &mut Option<Buffer>, bytes: usize) -> Result<&Buffer> {
    match buffer {
        Some(held) if held.len() >= bytes => {}
        _ => *buffer = None,
    }
    match buffer {
        Some(held) => Ok(held),
        None => Ok(buffer.insert(Buffer::zeroed(bytes.max(64))?)),
    }
}

/// A kernel with what a launch needs of it.
pub(crate) struct Launch<'a> {
    pub kernel: &'a Kernel,
    pub plan: &'a KernelPlan,
    pub code: &'a CodeModule,
    /// The function of each variant.
    pub functions: &'a [FuncIndex],
    pub memory: &'a Memory<'a>,
    /// What [`streamed_row`] gives.
    pub stream: i64,
    /// Under what the time of each thread is recorded.
    pub traced: Option<Traced<'a>>,
}

/// Runs the kernel; true if a check failed.
///
/// # Errors
/// A buffer is not what the plan was made for, or memory for a thread is refused.
pub(crate) fn launch(launch: &Launch<'_>, lanes: &mut Vec<Lane>, pool: &Pool) -> Result<bool> {
    for used in &launch.plan.buffers {
        launch.memory.check(used)?;
    }
    if lanes.is_empty() {
        lanes.push(Lane::default());
    }
    let work: i64 = launch.plan.boxes.iter().map(BoxPlan::len).fold(0, i64::saturating_add);
    let several = pool.pays(launch.kernel, work);
    let mut failed = 0;
    let order = Order::of(launch.kernel, launch.plan);
    if !several && order.is_none() {
        for (number, plan) in launch.plan.boxes.iter().enumerate() {
            launch.run_part(&Part::whole(number, plan), &[], &mut lanes[0], &mut failed)?;
        }
        return Ok(failed != 0);
    }
    let Parts { parts, copies } = Parts::new(launch.kernel, launch.plan, order);
    if !several {
        for part in &parts {
            launch.run_part(part, &copies, &mut lanes[0], &mut failed)?;
        }
        return Ok(failed != 0);
    }
    let traced = launch.traced.map(Traced::part);
    pool.run(&parts, lanes, &|part, lane, failed| {
        let _span = traced.map(Traced::begin);
        launch.run_part(part, &copies, lane, failed)
    })
}

/// What runs once the buffers were checked.
impl Launch<'_> {
    fn run_part(&self, part: &Part, copies: &[StridedCopy], lane: &mut Lane, failed: &mut i64) -> Result<()> {
        let plan = &self.plan.boxes[part.plan];
        match &plan.mode {
            Mode::Direct if plan.scratch == 0 && !self.is_column(plan) => {
                self.run_direct(plan, part, lane, failed);
                Ok(())
            }
            Mode::Direct => self.run_code(plan, &[], part, lane, failed),
            Mode::Staged(staged) => self.run_code(plan, staged, part, lane, failed),
            Mode::Copy(copy) => {
                let strided = part.copy.map_or(&copy.whole, |number| &copies[number as usize]);
                let (outer, row) = plan.position(part.begin);
                let [from, to] = [copy.from, copy.to]
                    .map(|slot| self.start(&plan.slots[slot]) + plan.slots[slot].at(&outer, row, part.first));
                // SAFETY: as in `call`: the plan checked both slots over the whole box, of which the copy is the
                // part that begins here.
                unsafe { strided.run(to as *mut u8, from as *const u8) };
                Ok(())
            }
        }
    }

    /// What a slot counts from: the address of its buffer.
    fn start(&self, slot: &SlotPlan) -> i64 {
        slot.buffer.map_or(0, |buffer| self.memory.address(buffer) as i64)
    }

    fn is_column(&self, plan: &BoxPlan) -> bool {
        self.kernel.variants[plan.variant].code.layout == Layout::Column
    }

    /// Runs the machine code on the buffers themselves, once for every position of the outer axes.
    fn run_direct(&self, plan: &BoxPlan, part: &Part, lane: &mut Lane, failed: &mut i64) {
        let stride = slot_words(self.kernel.variants[plan.variant].code.loops);
        let (mut outer, mut row) = plan.position(part.begin);
        let words = &mut lane.words;
        words.clear();
        for slot in &plan.slots {
            let base = self.start(slot) + slot.at(&outer, row, part.first);
            push_slot(words, base, slot.row, slot.inner, &slot.loops);
        }
        let mut at = part.begin;
        loop {
            let rows = (plan.rows - row).min(part.end - at);
            self.call(plan, words, rows, part.last - part.first, 0, failed);
            at += rows;
            if at >= part.end {
                return;
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

    /// Runs the machine code block by block, each with the staged slots in contiguous memory of the lane.
    fn run_code(
        &self,
        plan: &BoxPlan,
        staged: &[usize],
        part: &Part,
        lane: &mut Lane,
        failed: &mut i64,
    ) -> Result<()> {
        let code = &self.kernel.variants[plan.variant].code;
        let column = self.is_column(plan);
        let along_row = !column && !self.kernel.row.is_empty();
        let widest = if column { TILE as i64 } else { i64::MAX };
        let block = if staged.is_empty() {
            Block::all(plan, widest)
        } else {
            // Rows that use scratch memory run one by one.
            Block::staged(plan, staged, !along_row, widest, plan.scratch == 0)
        };
        let size = |slot: usize| element_size(self.kernel, plan, slot) as i64;
        let bytes = |slot: usize| block.bytes(size(slot) * code.slots[slot].class.step());
        let areas: usize = staged.iter().map(|slot| bytes(*slot)).sum();
        let scratch = if plan.scratch + areas > 0 { lane.scratch(plan.scratch + areas)? as i64 } else { 0 };
        let tile = if column { lane.tile(code.folded.len())? } else { 0 };
        let mut words = std::mem::take(&mut lane.words);
        let mut bases = std::mem::take(&mut lane.bases);
        let mut stagings: SmallVec<[Staging; 2]> = SmallVec::new();
        let stride = slot_words(code.loops);
        let (mut outer, mut row) = plan.position(part.begin);
        let is_scratch = |number: usize| code.slots[number].used == SlotUse::Scratch;
        bases.clear();
        bases.extend(plan.slots.iter().enumerate().map(|(number, slot)| {
            if is_scratch(number) { scratch + slot.base } else { self.start(slot) + slot.at(&outer, 0, 0) }
        }));
        let mut at = part.begin;
        // Rows and inner elements that the words and the staged copies are for.
        let mut shape = (-1, -1);
        loop {
            let end = plan.rows.min(row + part.end - at);
            at += end - row;
            while row < end {
                let rows = block.rows.min(end - row);
                let mut first = part.first;
                loop {
                    let n = block.width.min(part.last - first);
                    if (rows, n) != shape {
                        shape = (rows, n);
                        let new = |slot: &usize| Staging::new(plan, code, *slot, size(*slot), rows, n);
                        stagings = staged.iter().map(new).collect();
                        words.clear();
                        for (number, slot) in plan.slots.iter().enumerate() {
                            match stagings.iter().find(|staging| staging.slot == number) {
                                Some(staging) => {
                                    push_slot(&mut words, 0, staging.row, staging.inner, &staging.loops);
                                }
                                None => push_slot(&mut words, 0, slot.row, slot.inner, &slot.loops),
                            }
                        }
                    }
                    for (number, (slot, base)) in plan.slots.iter().zip(&bases).enumerate() {
                        let moved = if is_scratch(number) { 0 } else { slot.row * row + slot.inner * first };
                        words[number * stride + SLOT_BASE] = base + moved;
                    }
                    let mut area = scratch + plan.scratch as i64;
                    for staging in &stagings {
                        let word = &mut words[staging.slot * stride + SLOT_BASE];
                        // SAFETY: the area was sized for blocks as large as this one and belongs to the lane; the
                        // plan checked the slot over the whole box.
                        unsafe { staging.fill(area, *word) };
                        *word = area;
                        area += bytes(staging.slot) as i64;
                    }
                    self.call(plan, &words, rows, n, tile, failed);
                    let mut area = scratch + plan.scratch as i64;
                    for staging in &stagings {
                        let slot = &plan.slots[staging.slot];
                        let own = bases[staging.slot] + slot.row * row + slot.inner * first;
                        // SAFETY: as above.
                        unsafe { staging.empty(area, own) };
                        area += bytes(staging.slot) as i64;
                    }
                    first += n;
                    if first >= part.last {
                        break;
                    }
                }
                row += rows;
            }
            if at >= part.end {
                break;
            }
            row = 0;
            advance(plan, &mut outer, &mut bases, 1);
        }
        (lane.words, lane.bases) = (words, bases);
        Ok(())
    }

    fn call(&self, plan: &BoxPlan, words: &[i64], rows: i64, n: i64, tile: usize, failed: &mut i64) {
        let args = KernelArgs {
            slots: words.as_ptr(),
            scalars: plan.scalars.as_ptr(),
            tile: tile as *mut u8,
            rows,
            n,
            extents: plan.loops.as_ptr(),
            stream: self.stream,
            failed,
        };
        debug_assert_eq!(
            words.len(),
            plan.slots.len() * slot_words(self.kernel.variants[plan.variant].code.loops)
        );
        // SAFETY: the plan checked that every slot stays inside its buffer over the whole box, of which this
        // is a part; `launch` checked that `memory` holds these buffers with as many bytes; staged and scratch
        // slots point into memory of this lane that was sized for them; parts of one launch store to
        // different elements.
        unsafe { self.code.launch(self.functions[plan.variant], &args) }
    }
}

/// What [`KernelArgs::stream`] is. Results that are stored over an operand do not pass the caches: their lines are
/// there.
pub(crate) fn streamed_row(plan: &KernelPlan, memory: &Memory<'_>) -> i64 {
    let [loaded, stored] = [false, true].map(|stored| {
        let used = plan.buffers.iter().filter(move |used| used.stored == stored);
        used.map(|used| memory.address(used.buffer))
    });
    let over = |address: usize| loaded.clone().any(|other| other == address);
    if plan.stream && !stored.clone().any(over) { STREAMED_ROW } else { 0 }
}

/// The next position of the outer axes, and where every slot stands there: a base each `step` of `bases`.
fn advance(plan: &BoxPlan, outer: &mut [i64], bases: &mut [i64], step: usize) {
    for axis in (0..outer.len()).rev() {
        outer[axis] += 1;
        let rest = plan.outer[axis] - outer[axis];
        // From the last index an axis goes back to its first, and the next axis around it moves.
        let moved = if rest > 0 { 1 } else { 1 - plan.outer[axis] };
        for (base, slot) in bases.iter_mut().step_by(step).zip(&plan.slots) {
            *base += slot.outer[axis] * moved;
        }
        if rest > 0 {
            return;
        }
        outer[axis] = 0;
    }
}

pub(super) fn push_slot(words: &mut Vec<i64>, base: i64, row: i64, inner: i64, loops: &[i64]) {
    const { assert!(SLOT_BASE == 0 && SLOT_ROW == 1 && SLOT_INNER == 2 && SLOT_LOOPS == 3) };
    words.extend([base, row, inner]);
    words.extend_from_slice(loops);
}

fn element_size(kernel: &Kernel, plan: &BoxPlan, slot: usize) -> usize {
    kernel.variants[plan.variant].code.slots[slot].dtype.size_bytes().unwrap_or(1)
}
