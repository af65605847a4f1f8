//! `launch`: runs a planned kernel over memory, in one thread or several.

use smallvec::SmallVec;

use super::abi::{KernelArgs, SLOT_BASE, SLOT_INNER, SLOT_LOOPS, SLOT_ROW, slot_words};
use super::memory::Memory;
use super::module::{CodeModule, FuncIndex};
use super::pool::Pool;
use crate::dump::Traced;
use crate::error::Result;
use crate::lower::code::{Code, Layout, SlotUse, TILE};
use crate::lower::kernel::Kernel;
use crate::lower::plan::{BoxPlan, KernelPlan, Mode, SlotPlan};
use crate::tensor::Buffer;
use crate::tiles;

/// Memory that one thread works in.
#[derive(Default)]
pub(crate) struct Lane {
    scratch: Option<Buffer>,
    tile: Option<Buffer>,
    words: Vec<i64>,
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
    /// Under what the time of each thread is recorded.
    pub traced: Option<Traced<'a>>,
}

/// The arguments of a launch that needs nothing else, made once for many runs on the same memory.
pub(crate) struct Prepared {
    words: Vec<i64>,
    scalars: Vec<i64>,
    extents: SmallVec<[i64; 2]>,
    rows: i64,
    n: i64,
    function: FuncIndex,
}

impl Prepared {
    /// The arguments for a kernel of one box that runs on its buffers directly, in one thread.
    pub(crate) fn new(launch: &Launch<'_>, pool: &Pool) -> Option<Prepared> {
        let [plan] = &launch.plan.boxes[..] else { return None };
        let code = &launch.kernel.variants[plan.variant].code;
        let direct = plan.mode == Mode::Direct && plan.outer.is_empty() && plan.scratch == 0;
        if !direct || code.layout == Layout::Column || pool.pays(launch.kernel, plan.len()) {
            return None;
        }
        launch.plan.buffers.iter().try_for_each(|used| launch.memory.check(used)).ok()?;
        let span = Span { outer: &[], row: 0, rows: plan.rows, first: 0, last: plan.n };
        let mut words = Vec::new();
        for slot in &plan.slots {
            push_slot(&mut words, launch.base(slot, &span), slot.row, slot.inner, &slot.loops);
        }
        let function = launch.functions[plan.variant];
        let (scalars, extents) = (plan.scalars.clone(), plan.loops.clone());
        Some(Prepared { words, scalars, extents, rows: plan.rows, n: plan.n, function })
    }

    /// Runs the kernel; true if a check failed. `code` and `memory` must be those it was made with.
    pub(crate) fn run(&self, code: &CodeModule, memory: &mut Memory<'_>) -> bool {
        let _ = memory;
        let mut failed = 0;
        let args = KernelArgs {
            slots: self.words.as_ptr(),
            scalars: self.scalars.as_ptr(),
            tile: std::ptr::null_mut(),
            rows: self.rows,
            n: self.n,
            extents: self.extents.as_ptr(),
            failed: &raw mut failed,
        };
        // SAFETY: as in `Launch::call`, for the whole box; the caller still holds the memory.
        unsafe { code.launch(self.function, &args) }
        failed != 0
    }
}

/// A part of a box: rows of the driver's odometer, or elements of a single row.
#[derive(Clone, Copy, Debug)]
struct Part {
    plan: usize,
    /// Position along all outer axes and rows together.
    begin: i64,
    end: i64,
    /// Range of the inner axis.
    first: i64,
    last: i64,
}

/// Elements of work in one part.
const PART: i64 = 1 << 16;

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
    if !pool.pays(launch.kernel, work) {
        let mut failed = 0;
        for (number, plan) in launch.plan.boxes.iter().enumerate() {
            launch.run_part(&whole(number, plan), &mut lanes[0], &mut failed)?;
        }
        return Ok(failed != 0);
    }
    let mut parts = Vec::new();
    for (number, plan) in launch.plan.boxes.iter().enumerate() {
        split(launch.kernel, number, plan, &mut parts);
    }
    let traced = launch.traced.map(Traced::part);
    pool.run(&parts, lanes, &|part, lane, failed| {
        let _span = traced.map(Traced::begin);
        launch.run_part(part, lane, failed)
    })
}

fn whole(number: usize, plan: &BoxPlan) -> Part {
    let rows = plan.outer.iter().product::<i64>() * plan.rows;
    Part { plan: number, begin: 0, end: rows, first: 0, last: plan.n }
}

/// Cuts a box into parts by its sizes alone, so that results do not depend on the number of threads.
fn split(kernel: &Kernel, number: usize, plan: &BoxPlan, parts: &mut Vec<Part>) {
    let all = whole(number, plan);
    let row = plan.row_len().max(1);
    let inner_may_be_cut = kernel.row.is_empty() || kernel.layout == Layout::Column;
    if inner_may_be_cut && all.end < 8 && plan.n > 2 * TILE as i64 {
        let around: i64 = plan.loops.iter().product();
        let width = (PART / around.max(1)).max(TILE as i64) / TILE as i64 * TILE as i64;
        for row in 0..all.end {
            let mut first = 0;
            while first < plan.n {
                let last = (first + width).min(plan.n);
                parts.push(Part { begin: row, end: row + 1, first, last, ..all });
                first = last;
            }
        }
        return;
    }
    let height = (PART / row).max(1);
    let mut begin = 0;
    while begin < all.end {
        let end = (begin + height).min(all.end);
        parts.push(Part { begin, end, ..all });
        begin = end;
    }
}

impl Launch<'_> {
    fn run_part(&self, part: &Part, lane: &mut Lane, failed: &mut i64) -> Result<()> {
        let plan = &self.plan.boxes[part.plan];
        let mut at = part.begin;
        let mut outer: SmallVec<[i64; 4]> = SmallVec::from_elem(0, plan.outer.len());
        while at < part.end {
            let row = at % plan.rows;
            let rows = (plan.rows - row).min(part.end - at);
            let mut rest = at / plan.rows;
            for axis in (0..plan.outer.len()).rev() {
                outer[axis] = rest % plan.outer[axis];
                rest /= plan.outer[axis];
            }
            let span = Span { outer: &outer, row, rows, first: part.first, last: part.last };
            match &plan.mode {
                Mode::Direct => self.run_direct(plan, &span, lane, failed)?,
                Mode::Staged(staged) => self.run_staged(plan, staged, &span, lane, failed)?,
                Mode::Copy { from, to } => self.run_copy(plan, *from, *to, &span),
            }
            at += rows;
        }
        Ok(())
    }

    /// The address (or start value) of a slot at the beginning of a span.
    fn base(&self, slot: &SlotPlan, span: &Span<'_>) -> i64 {
        let start = slot.buffer.map_or(0, |buffer| self.memory.address(buffer) as i64);
        let outer: i64 = slot.outer.iter().zip(span.outer).map(|(stride, at)| stride * at).sum();
        start + slot.base + outer + slot.row * span.row + slot.inner * span.first
    }

    fn run_direct(&self, plan: &BoxPlan, span: &Span<'_>, lane: &mut Lane, failed: &mut i64) -> Result<()> {
        let code = &self.kernel.variants[plan.variant].code;
        let column = code.layout == Layout::Column;
        let width = if column { TILE as i64 } else { i64::MAX };
        let scratch = if plan.scratch > 0 { lane.scratch(plan.scratch)? as i64 } else { 0 };
        let tile = if column { lane.tile(code.folded.len())? } else { 0 };
        let mut words = std::mem::take(&mut lane.words);
        let mut first = span.first;
        loop {
            let last = first.saturating_add(width).min(span.last);
            let part = Span { first, last, ..*span };
            words.clear();
            for (slot, kind) in plan.slots.iter().zip(&code.slots) {
                let base = match kind.used {
                    SlotUse::Scratch => scratch + slot.base,
                    _ => self.base(slot, &part),
                };
                push_slot(
                    &mut words,
                    base,
                    if kind.used == SlotUse::Scratch { 0 } else { slot.row },
                    slot.inner,
                    &slot.loops,
                );
            }
            self.call(plan, &words, part.rows, last - first, tile, failed);
            first = last;
            if first >= span.last {
                break;
            }
        }
        lane.words = words;
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

    fn run_copy(&self, plan: &BoxPlan, from: usize, to: usize, span: &Span<'_>) {
        let size = element_size(self.kernel, plan, to);
        let (source, target) = (&plan.slots[from], &plan.slots[to]);
        let mut extents: SmallVec<[usize; 6]> = SmallVec::new();
        let mut source_strides: SmallVec<[isize; 6]> = SmallVec::new();
        let mut target_strides: SmallVec<[isize; 6]> = SmallVec::new();
        let mut axis = |extent: i64, from: i64, to: i64| {
            extents.push(extent as usize);
            source_strides.push(from as isize);
            target_strides.push(to as isize);
        };
        axis(span.rows, source.row, target.row);
        axis(span.last - span.first, source.inner, target.inner);
        // SAFETY: as in `call`: the plan checked both slots over the whole box.
        unsafe {
            tiles::copy_strided(
                self.base(target, span) as *mut u8,
                &target_strides,
                self.base(source, span) as *const u8,
                &source_strides,
                &extents,
                size,
            );
        }
    }

    /// Runs blocks of rows with the staged slots in contiguous memory of the lane.
    fn run_staged(
        &self,
        plan: &BoxPlan,
        staged: &[usize],
        span: &Span<'_>,
        lane: &mut Lane,
        failed: &mut i64,
    ) -> Result<()> {
        let code = &self.kernel.variants[plan.variant].code;
        let along_row = code.layout == Layout::Row && !self.kernel.row.is_empty();
        // Values of the row's end are there also where the row has no elements.
        let around: i64 = plan.loops.iter().map(|extent| (*extent).max(1)).product();
        let width = if along_row { plan.n } else { STAGED_WIDTH };
        // Rows that use scratch memory run one by one.
        let height = if plan.scratch > 0 {
            1
        } else {
            (STAGED_BLOCK / (around * width).max(1)).clamp(1, STAGED_HEIGHT)
        };
        let block = |size: i64| ((height * around * width * size + 63) / 64 * 64) as usize;
        let areas: usize =
            staged.iter().map(|slot| block(element_size(self.kernel, plan, *slot) as i64)).sum();
        let scratch = lane.scratch(plan.scratch + areas)? as i64;
        let tile = if code.layout == Layout::Column { lane.tile(code.folded.len())? } else { 0 };
        let mut words = std::mem::take(&mut lane.words);
        let mut row = span.row;
        while row < span.row + span.rows {
            let rows = height.min(span.row + span.rows - row);
            let mut first = span.first;
            loop {
                let last = (first + width).min(span.last);
                let part = Span { outer: span.outer, row, rows, first, last };
                words.clear();
                let mut area = scratch + plan.scratch as i64;
                for (number, (slot, kind)) in plan.slots.iter().zip(&code.slots).enumerate() {
                    if kind.used == SlotUse::Scratch {
                        push_slot(&mut words, scratch + slot.base, 0, slot.inner, &slot.loops);
                    } else if staged.contains(&number) {
                        let size = element_size(self.kernel, plan, number) as i64;
                        let staging = Staging::new(plan, code, number, size, &part);
                        if kind.used == SlotUse::Load {
                            staging.copy(area, self.base(slot, &part), slot, true);
                        }
                        push_slot(&mut words, area, staging.row, size, &staging.loops);
                        area += block(size) as i64;
                    } else {
                        push_slot(&mut words, self.base(slot, &part), slot.row, slot.inner, &slot.loops);
                    }
                }
                self.call(plan, &words, rows, last - first, tile, failed);
                let mut area = scratch + plan.scratch as i64;
                for &number in staged {
                    let size = element_size(self.kernel, plan, number) as i64;
                    let slot = &plan.slots[number];
                    if code.slots[number].used == SlotUse::Store {
                        Staging::new(plan, code, number, size, &part).copy(
                            area,
                            self.base(slot, &part),
                            slot,
                            false,
                        );
                    }
                    area += block(size) as i64;
                }
                first = last;
                if first >= span.last {
                    break;
                }
            }
            row += rows;
        }
        lane.words = words;
        Ok(())
    }
}

/// Inner elements of a staged block that may be cut.
const STAGED_WIDTH: i64 = 128;
/// Rows of a staged block at most.
const STAGED_HEIGHT: i64 = 64;
/// Elements of a staged block, if a row is not longer.
const STAGED_BLOCK: i64 = 4096;

/// Rows and inner elements that run together.
struct Span<'a> {
    outer: &'a [i64],
    row: i64,
    rows: i64,
    first: i64,
    last: i64,
}

fn push_slot(words: &mut Vec<i64>, base: i64, row: i64, inner: i64, loops: &[i64]) {
    let start = words.len();
    words.resize(start + SLOT_LOOPS + loops.len(), 0);
    words[start + SLOT_BASE] = base;
    words[start + SLOT_ROW] = row;
    words[start + SLOT_INNER] = inner;
    words[start + SLOT_LOOPS..].copy_from_slice(loops);
}

fn element_size(kernel: &Kernel, plan: &BoxPlan, slot: usize) -> usize {
    kernel.variants[plan.variant].code.slots[slot].dtype.size_bytes().unwrap_or(1)
}

/// The strides of a block in contiguous memory.
struct Staging {
    size: i64,
    row: i64,
    loops: SmallVec<[i64; 2]>,
    extents: SmallVec<[usize; 6]>,
}

impl Staging {
    /// For slot `number`. A slot that does not move along a loop has one position for all of it; where a loop has
    /// no elements, only what the row's end touches is there.
    fn new(plan: &BoxPlan, code: &Code, number: usize, size: i64, span: &Span<'_>) -> Staging {
        let slot = &plan.slots[number];
        let at_row_end = || code.epilogue.iter().any(|inst| inst.op.slot() == Some(number as u32));
        let absent = plan.loops.contains(&0) && !at_row_end();
        let mut loops: SmallVec<[i64; 2]> = SmallVec::from_elem(0, plan.loops.len());
        let mut extents: SmallVec<[usize; 6]> = SmallVec::from_elem(1, plan.loops.len() + 2);
        extents[0] = span.rows as usize;
        extents[plan.loops.len() + 1] = (span.last - span.first) as usize;
        let mut stride = size * (span.last - span.first);
        for (at, extent) in plan.loops.iter().enumerate().rev() {
            if absent || slot.loops[at] != 0 {
                loops[at] = stride;
                extents[at + 1] = *extent as usize;
                stride *= (*extent).max(1);
            }
        }
        Staging { size, row: stride, loops, extents }
    }

    /// Copies between the block at `area` and the slot's own memory at `base`.
    fn copy(&self, area: i64, base: i64, slot: &SlotPlan, load: bool) {
        let strides = |row: i64, loops: &[i64], inner: i64| -> SmallVec<[isize; 6]> {
            [row].iter().chain(loops).chain([inner].iter()).map(|stride| *stride as isize).collect()
        };
        let block = strides(self.row, &self.loops, self.size);
        let own = strides(slot.row, &slot.loops, slot.inner);
        let size = self.size as usize;
        // SAFETY: the block was sized for these extents and belongs to this lane; the plan checked the slot
        // over the whole box.
        unsafe {
            if load {
                tiles::copy_strided(area as *mut u8, &block, base as *const u8, &own, &self.extents, size);
            } else {
                tiles::copy_strided(base as *mut u8, &own, area as *const u8, &block, &self.extents, size);
            }
        }
    }
}
