//! [`KernelPlan`]: the rectangular parts (boxes) of a kernel's domain for one set of sizes. Every address is checked
//! against its buffer.

use shapeflow_shape_fns::{Dim, counted};
use smallvec::SmallVec;

use super::affine::{Affine, Piece};
use super::bound_index::{BoundDecision, BoundIndex, PlanError};
use super::box_plan::BoxPlan;
use super::kernel::{Address, BufferIx, Kernel, ScalarArg, Variant};
use super::kernel_body::{AccessPattern, InstOp, LaneLayout, SlotUse};
use super::launch_mode::{BoxCopy, LaunchMode, copied_slots, direct_or_staged};
use super::plan_axes::{PlanAxis, merged_axes};
use super::slot_plan::SlotPlan;
use crate::error::{Error, Phase, Result};
use crate::tensor::size_of_element;
use crate::tiles::is_streamed;

/// A kernel for one set of sizes.
#[derive(Clone, Debug, Default)]
pub(crate) struct KernelPlan {
    pub boxes: SmallVec<[BoxPlan; 1]>,
    /// The buffers that the kernel reads or writes.
    pub buffers: SmallVec<[BufferUse; 4]>,
    /// Whether the stores of the kernel should bypass the caches: see [`is_streamed`].
    pub stream: bool,
}

/// What a plan requires of a buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BufferUse {
    pub buffer: BufferIx,
    /// The least size of the buffer.
    pub bytes: usize,
    /// Whether the kernel stores to the buffer.
    pub stored: bool,
}

/// The largest number of boxes of a plan. `plan` refuses sizes that need more, because such a plan costs more time than
/// it saves.
const MAX_BOXES: usize = 1 << 20;

/// Returns the number of elements of a buffer with these sizes, times the number of parts of an element.
fn elements((sizes, parts): (&[usize], i64)) -> i64 {
    sizes.iter().fold(parts, |elements, size| elements.saturating_mul(*size as i64))
}

/// Returns the sizes of a buffer, innermost first. If an element has several parts, their number is the first.
fn innermost_first((sizes, parts): (&[usize], i64)) -> impl Iterator<Item = i64> {
    (parts > 1).then_some(parts).into_iter().chain(sizes.iter().rev().map(|size| *size as i64))
}

struct Planner<'a> {
    kernel: &'a Kernel,
    /// The value of a dimension.
    dim: &'a dyn Fn(&Dim) -> Result<i64, PlanError>,
    /// The sizes of a buffer.
    sizes: &'a dyn Fn(BufferIx) -> Result<&'a [usize], PlanError>,
}

/// Plans a kernel. `dim` returns the value of a dimension, and `sizes` the sizes of a buffer.
///
/// # Errors
/// A dimension or buffer has no size yet, an index overflows, or an address would leave its buffer.
pub(crate) fn plan<'a>(
    kernel: &'a Kernel,
    dim: &'a dyn Fn(&Dim) -> Result<i64, PlanError>,
    sizes: &'a dyn Fn(BufferIx) -> Result<&'a [usize], PlanError>,
) -> Result<KernelPlan> {
    Planner { kernel, dim, sizes }.plan().map_err(|PlanError { reason, kind }| {
        let message = format!("the sizes of a kernel cannot be planned: {reason}");
        Error::new(kind, Phase::Run, message)
    })
}

impl KernelPlan {
    /// Adds the buffers of a variant.
    fn note_buffers(&mut self, bound: &BoundVariant, variant: &Variant) {
        for (slot, kind) in bound.slots.iter().zip(&variant.body.slots) {
            let Some(buffer) = slot.buffer else { continue };
            let bytes = usize::try_from(slot.len.saturating_mul(slot.size)).unwrap_or(usize::MAX);
            let stored = kind.used == SlotUse::Store;
            match self.buffers.iter_mut().find(|known| known.buffer == buffer) {
                Some(known) => {
                    known.bytes = known.bytes.max(bytes);
                    known.stored |= stored;
                }
                None => self.buffers.push(BufferUse { buffer, bytes, stored }),
            }
        }
    }
}

/// A variant with all sizes known.
struct BoundVariant {
    slots: Vec<BoundSlot>,
    scalars: Vec<i64>,
}

/// A slot with all sizes known.
struct BoundSlot {
    /// `None` for iotas and scratch.
    buffer: Option<BufferIx>,
    /// The row-major position in the buffer, or the value of an iota.
    index: BoundIndex,
    /// Bytes of an element; 1 for an iota.
    size: i64,
    /// The number of elements of the buffer.
    len: i64,
    /// The least and the greatest distance from the position to an element that the slot accesses, in elements.
    /// A gather adds offsets that the run computes; a store of pairs also writes the element after the position.
    reach: (i64, i64),
}

impl<'a> Planner<'a> {
    fn plan(&self) -> Result<KernelPlan, PlanError> {
        let mut extents: SmallVec<[i64; 6]> = (0..self.kernel.rank())
            .map(|axis| (self.dim)(self.kernel.extent(axis)))
            .collect::<Result<_, _>>()?;
        let outer = self.kernel.outer.len();
        let mut result = KernelPlan::default();
        if extents.iter().any(|&extent| extent < 0) {
            return Err(PlanError::new(format!(
                "the extents of a kernel must not be negative, got {extents:?}"
            )));
        }
        if extents[..outer].contains(&0) {
            return Ok(result);
        }
        // No loop of an empty row runs.
        if extents[outer..].contains(&0) {
            extents[outer..].fill(0);
        }
        // So no product of extents overflows.
        let count = extents.iter().try_fold(1i64, |count, &extent| count.checked_mul(extent));
        if count.is_none() {
            return Err(PlanError::too_large(format!(
                "a kernel must visit less than 2^63 elements, got extents {extents:?}"
            )));
        }
        result.stream = self.is_streamed()?;
        let decision = BoundDecision::of(&self.kernel.decision, self.kernel.rank(), self.dim)?;
        let mut variants: SmallVec<[Option<BoundVariant>; 1]> =
            self.kernel.variants.iter().map(|_| None).collect();
        let (mut whole, mut todo) = (Some(Piece::whole(&extents)), Vec::new());
        'pieces: while let Some(piece) = whole.take().or_else(|| todo.pop()) {
            if todo.len() + result.boxes.len() > MAX_BOXES {
                return Err(PlanError::new(format!(
                    "a domain must fall into at most {MAX_BOXES} boxes, but has more"
                )));
            }
            let number = match piece.choose(&decision) {
                Ok(number) => number as usize,
                Err(refine) => {
                    piece.refine(refine, &mut todo);
                    continue;
                }
            };
            let variant = &self.kernel.variants[number];
            let bound = match &mut variants[number] {
                Some(bound) => bound,
                missing => missing.insert(self.bind_variant(variant)?),
            };
            let mut positions: SmallVec<[Affine; 4]> = SmallVec::with_capacity(bound.slots.len());
            for slot in &bound.slots {
                match piece.linear(&slot.index) {
                    Ok(affine) => positions.push(affine),
                    Err(refine) => {
                        piece.refine(refine, &mut todo);
                        continue 'pieces;
                    }
                }
            }
            self.check_bounds(&piece, bound, &positions, variant)?;
            result.note_buffers(bound, variant);
            result.boxes.push(self.make_box(&piece, number, bound, &positions, result.stream));
        }
        Ok(result)
    }

    /// Returns whether the stores of the kernel bypass the caches.
    fn is_streamed(&self) -> Result<bool, PlanError> {
        let stored = self.bytes_of(&self.kernel.writes)?;
        // The usual kernel stores little, so its loads are not counted.
        Ok(is_streamed(usize::MAX, stored) && is_streamed(self.bytes_of(&self.kernel.reads)?, stored))
    }

    /// Returns the number of bytes of these buffers.
    fn bytes_of(&self, buffers: &[BufferIx]) -> Result<usize, PlanError> {
        let slots = || {
            let variants = self.kernel.variants.iter();
            variants.flat_map(|variant| variant.slots.iter().zip(&variant.body.slots))
        };
        let mut total = 0i64;
        for &wanted in buffers {
            let elements = slots().find_map(|(address, slot)| match address {
                Address::Element { buffer, index } if *buffer == wanted => {
                    Some((self.sizes_with_parts(wanted, index.len()).map(elements), slot.dtype))
                }
                Address::Flat { buffer, parts, .. } if *buffer == wanted => {
                    Some(((self.sizes)(wanted).map(|sizes| elements((sizes, i64::from(*parts)))), slot.dtype))
                }
                _ => None,
            });
            let Some((elements, dtype)) = elements else { continue };
            let size = size_of_element(dtype).map_err(|e| PlanError::new(e.to_string()))? as i64;
            let bytes = elements?.saturating_mul(size);
            total = total.saturating_add(bytes);
        }
        Ok(usize::try_from(total).unwrap_or(usize::MAX))
    }

    /// Returns the sizes of a buffer, and the number of parts of an element, for an access with this number of indices.
    /// If that is one more than the buffer has axes, the last index chooses one of the 2 parts of a complex number.
    fn sizes_with_parts(&self, buffer: BufferIx, indices: usize) -> Result<(&'a [usize], i64), PlanError> {
        let sizes = (self.sizes)(buffer)?;
        match indices.checked_sub(sizes.len()) {
            Some(0) => Ok((sizes, 1)),
            Some(1) => Ok((sizes, 2)),
            _ => {
                let axes = counted(sizes.len(), "axis");
                Err(PlanError::new(format!("{buffer} has {axes}, but an access has {indices} indices")))
            }
        }
    }

    /// Evaluates the slots and scalars of a variant.
    fn bind_variant(&self, variant: &Variant) -> Result<BoundVariant, PlanError> {
        let rank = self.kernel.rank();
        let mut slots = Vec::with_capacity(variant.slots.len());
        for (address, kind) in variant.slots.iter().zip(&variant.body.slots) {
            let size = size_of_element(kind.dtype).map_err(|e| PlanError::new(e.to_string()))? as i64;
            slots.push(match address {
                Address::Element { buffer, index } => {
                    let sizes = self.sizes_with_parts(*buffer, index.len())?;
                    let mut position = BoundIndex::zero(rank);
                    let mut stride = 1i64;
                    for (index, size) in index.iter().rev().zip(innermost_first(sizes)) {
                        position.add(index, stride, self.dim)?;
                        stride = stride.saturating_mul(size);
                    }
                    BoundSlot { buffer: Some(*buffer), index: position, size, len: stride, reach: (0, 0) }
                }
                Address::Flat { buffer, position, parts } => {
                    let len = elements(((self.sizes)(*buffer)?, i64::from(*parts)));
                    let index = BoundIndex::of(position, rank, self.dim)?;
                    BoundSlot { buffer: Some(*buffer), index, size, len, reach: (0, 0) }
                }
                Address::Iota(index) => BoundSlot {
                    buffer: None,
                    index: BoundIndex::of(index, rank, self.dim)?,
                    size: 1,
                    len: i64::MAX,
                    reach: (0, 0),
                },
                Address::Scratch => {
                    let index = BoundIndex::zero(rank);
                    BoundSlot { buffer: None, index, size, len: i64::MAX, reach: (0, 0) }
                }
            });
        }
        let mut scalars = Vec::with_capacity(variant.scalars.len());
        for scalar in &variant.scalars {
            scalars.push(match scalar {
                ScalarArg::Size(dim) => (self.dim)(dim)?,
                ScalarArg::GatherStride { slot, coefficients } => {
                    let slot = &mut slots[*slot as usize];
                    let buffer = slot.buffer.expect("a gather reads a buffer");
                    let sizes = self.sizes_with_parts(buffer, coefficients.len())?;
                    let (mut stride, mut step) = (1i64, 0i128);
                    for (coefficient, size) in coefficients.iter().rev().zip(innermost_first(sizes)) {
                        let part = i128::from((self.dim)(coefficient)?) * i128::from(stride);
                        step = step.saturating_add(part);
                        stride = stride.saturating_mul(size);
                    }
                    // A step that does not fit reaches outside every buffer, which the check of the bounds refuses.
                    let bytes = step.saturating_mul(i128::from(slot.size));
                    bytes.clamp(i64::MIN.into(), i64::MAX.into()) as i64
                }
            });
        }
        Self::add_reaches(variant, &scalars, &mut slots);
        Ok(BoundVariant { slots, scalars })
    }

    /// Sets the reach of each gather and of each store of pairs. The run-time values of a gather are checked indices,
    /// which lie in `[0, limit)`.
    fn add_reaches(variant: &Variant, scalars: &[i64], slots: &mut [BoundSlot]) {
        let kernel_body = &variant.body;
        for body in kernel_body.passes.iter().map(|pass| &pass.body).chain([&kernel_body.epilogue]) {
            for inst in body {
                if let InstOp::StorePair { slot, .. } = inst.op {
                    slots[slot as usize].reach.1 = 1;
                }
                let InstOp::Gather { slot, offsets } = &inst.op else { continue };
                let (mut least, mut greatest) = (0i64, 0i64);
                for (value, stride) in offsets {
                    let InstOp::CheckIndex { limit, .. } = body[value.0 as usize].op else {
                        unreachable!("the verifier accepts only checked indices as offsets of a gather")
                    };
                    let limit = scalars[limit as usize];
                    let step = scalars[*stride as usize] / slots[*slot as usize].size.max(1);
                    let farthest = (limit - 1).max(0).saturating_mul(step);
                    least = least.saturating_add(farthest.min(0));
                    greatest = greatest.saturating_add(farthest.max(0));
                }
                let reach = &mut slots[*slot as usize].reach;
                *reach = (reach.0.min(least), reach.1.max(greatest));
            }
        }
    }

    /// Checks that every address of a box lies in its buffer. If a row has no elements, only the epilogue has
    /// addresses.
    fn check_bounds(
        &self,
        piece: &Piece,
        bound: &BoundVariant,
        positions: &[Affine],
        variant: &Variant,
    ) -> Result<(), PlanError> {
        let empty_row = piece.axes.iter().any(|axis| axis.extent == 0);
        let in_epilogue =
            |slot: usize| variant.body.epilogue.iter().any(|inst| inst.op.slot() == Some(slot as u32));
        for (number, (slot, position)) in bound.slots.iter().zip(positions).enumerate() {
            let Some(buffer) = slot.buffer else { continue };
            if empty_row && !in_epilogue(number) {
                continue;
            }
            let (low, high) = piece.range(position);
            let (low, high) = (low.saturating_add(slot.reach.0), high.saturating_add(slot.reach.1));
            if low < 0 || high >= slot.len {
                return Err(PlanError::new(format!(
                    "slot {number} must stay in {buffer}, which has {} elements, but reaches elements {low} to {high}",
                    slot.len
                )));
            }
        }
        Ok(())
    }

    /// Makes the box of a piece on which every index is linear. `stream` says whether the stores bypass the caches.
    fn make_box(
        &self,
        piece: &Piece,
        number: usize,
        bound: &BoundVariant,
        positions: &[Affine],
        stream: bool,
    ) -> BoxPlan {
        let variant = &self.kernel.variants[number];
        let body = &variant.body;
        let stride = |slot: usize, axis: usize| {
            positions[slot].coefficients[axis].wrapping_mul(bound.slots[slot].size)
        };
        let step = |slot: usize, axis: &PlanAxis| axis.step.map_or(0, |axis| stride(slot, axis));
        let outer_axes = self.kernel.outer.len();
        let is_row = |axis: &usize| piece.axes[*axis].kernel_axis >= outer_axes;
        let axes = 0..piece.axes.len();
        let slots = bound.slots.len();
        let mut outer = merged_axes(piece, axes.clone().filter(|axis| !is_row(axis)), slots, stride);
        let mut row_axes = merged_axes(piece, axes.filter(is_row), slots, stride);
        // The last axis can be the inner axis of the box only if no splat slot of the body moves along it.
        let can_be_inner = |axis: &PlanAxis| {
            body.slots.iter().enumerate().all(|(number, slot)| {
                slot.pattern != AccessPattern::Splat
                    || slot.used == SlotUse::Scratch
                    || step(number, axis) == 0
                    || axis.extent == 1
            })
        };
        let along_row = body.layout == LaneLayout::Row && !self.kernel.row.is_empty();
        let inner_group = if along_row { &mut row_axes } else { &mut outer };
        let inner = match inner_group.last() {
            Some(axis) if can_be_inner(axis) => inner_group.pop(),
            _ => None,
        };
        let inner = inner.unwrap_or(PlanAxis::UNIT);
        // The kernel walks the rows along this axis itself; the launch walks the outer axes that remain.
        let row_axis = outer.pop().unwrap_or(PlanAxis::UNIT);
        while row_axes.len() < body.loops as usize {
            row_axes.insert(0, PlanAxis::UNIT);
        }
        let (n, row_count) = (inner.extent, row_axis.extent);
        let loops: SmallVec<[i64; 2]> = row_axes.iter().map(|axis| axis.extent).collect();
        let mut scratch = 0i64;
        let mut slots = Vec::with_capacity(bound.slots.len());
        for (number, (slot, position)) in bound.slots.iter().zip(positions).enumerate() {
            let kind = &body.slots[number];
            let mut plan = SlotPlan {
                buffer: slot.buffer,
                base: position.constant.wrapping_mul(slot.size),
                outer: outer.iter().map(|axis| step(number, axis)).collect(),
                row: step(number, &row_axis),
                inner: step(number, &inner),
                loops: row_axes.iter().map(|axis| step(number, axis)).collect(),
            };
            if kind.used == SlotUse::Scratch {
                // The memory holds one row, contiguous; every row uses the same memory. Each slot starts on a cache
                // line of 64 bytes.
                plan.base = scratch;
                plan.inner = slot.size;
                let mut stride = slot.size * n;
                for (axis, extent) in loops.iter().enumerate().rev() {
                    plan.loops[axis] = stride;
                    stride *= extent;
                }
                scratch += (stride + 63) / 64 * 64;
            }
            slots.push(plan);
        }
        let mut plan = BoxPlan {
            variant: number,
            outer: outer.iter().map(|axis| axis.extent).collect(),
            rows: row_count,
            n,
            loops,
            slots,
            scalars: bound.scalars.clone(),
            mode: LaunchMode::Direct,
            scratch: scratch as usize,
        };
        plan.mode = match copied_slots(body) {
            Some((from, to)) => {
                let size = bound.slots[to].size;
                let copy = BoxCopy::new(&plan.slots, from, to, &plan.extents(), size, stream);
                LaunchMode::Copy(Box::new(copy))
            }
            None => direct_or_staged(body, &plan.slots, n),
        };
        plan
    }
}
