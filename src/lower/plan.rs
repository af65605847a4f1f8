//! `KernelPlan`: the boxes of a kernel for one set of sizes, with every address checked.

use shapeflow_shape_fns::Dim;
use smallvec::SmallVec;

use super::affine::{Affine, Piece};
use super::boxes::{BoxPlan, SlotPlan};
use super::code::{Class, InstOp, Layout, SlotUse};
use super::kernel::{Address, BufferIx, Kernel, ScalarArg, Variant};
use super::mode::{BoxCopy, Mode, plain_copy, staged};
use super::plan_axes::{PlanAxes, PlanAxis};
use super::sized::{Sized, SizedDecision, Unsized};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::tensor::size_of_element;
use crate::tiles::is_streamed;

/// A kernel with its sizes.
#[derive(Clone, Debug, Default)]
pub(crate) struct KernelPlan {
    pub boxes: Vec<BoxPlan>,
    /// The buffers it touches, the bytes each must have, and whether it is stored to.
    pub buffers: Vec<BufferUse>,
    /// Whether what it stores passes the caches.
    pub stream: bool,
}

/// What a plan was made for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BufferUse {
    pub buffer: BufferIx,
    pub bytes: usize,
    pub stored: bool,
}

/// More boxes than this mean that a body cannot be cut sensibly for these sizes.
const MAX_BOXES: usize = 1 << 20;

struct Planner<'a> {
    kernel: &'a Kernel,
    dim: &'a dyn Fn(&Dim) -> Result<i64, Unsized>,
    sizes: &'a dyn Fn(BufferIx) -> Result<SmallVec<[i64; 6]>, Unsized>,
}

/// Cuts the kernel's domain for the sizes that `dim` gives; `sizes` gives those of a buffer.
pub(crate) fn plan(
    kernel: &Kernel,
    dim: &dyn Fn(&Dim) -> Result<i64, Unsized>,
    sizes: &dyn Fn(BufferIx) -> Result<SmallVec<[i64; 6]>, Unsized>,
) -> Result<KernelPlan> {
    Planner { kernel, dim, sizes }.plan().map_err(|unsized_| {
        Error::new(
            ErrorKind::Shape,
            Phase::Run,
            format!("the sizes of a kernel cannot be planned: {}", unsized_.0),
        )
    })
}

impl KernelPlan {
    fn note_buffers(&mut self, sized: &SizedVariant, variant: &Variant) {
        for (slot, kind) in sized.slots.iter().zip(&variant.code.slots) {
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
struct SizedVariant {
    slots: Vec<SizedSlot>,
    scalars: Vec<i64>,
}

struct SizedSlot {
    buffer: Option<BufferIx>,
    index: Sized,
    /// Bytes of an element; 1 for an iota.
    size: i64,
    /// Elements of the buffer.
    len: i64,
    /// How far run-time values may move a gather, in elements.
    reach: i64,
}

impl Planner<'_> {
    fn plan(&self) -> Result<KernelPlan, Unsized> {
        let extents: Vec<i64> = (0..self.kernel.rank())
            .map(|axis| (self.dim)(self.kernel.extent(axis)))
            .collect::<Result<_, _>>()?;
        let outer = self.kernel.outer.len();
        let mut result = KernelPlan::default();
        if extents.iter().any(|&extent| extent < 0) {
            return Err(Unsized(format!("an extent is negative: {extents:?}")));
        }
        let map = self.kernel.row.is_empty();
        if extents[..outer].contains(&0) || map && extents.contains(&0) {
            return Ok(result);
        }
        let decision = SizedDecision::of(&self.kernel.decision, self.dim)?;
        let mut variants: Vec<Option<SizedVariant>> = self.kernel.variants.iter().map(|_| None).collect();
        let mut todo = vec![Piece::whole(&extents)];
        'pieces: while let Some(piece) = todo.pop() {
            if todo.len() + result.boxes.len() > MAX_BOXES {
                return Err(Unsized("the domain falls into too many pieces".to_string()));
            }
            let number = match piece.choose(&decision) {
                Ok(number) => number as usize,
                Err(refine) => {
                    piece.refine(refine, &mut todo);
                    continue;
                }
            };
            let variant = &self.kernel.variants[number];
            if variants[number].is_none() {
                variants[number] = Some(self.size_variant(variant)?);
            }
            let Some(sized) = &variants[number] else { continue };
            let mut places = Vec::with_capacity(sized.slots.len());
            for slot in &sized.slots {
                match piece.linear(&slot.index) {
                    Ok(affine) => places.push(affine),
                    Err(refine) => {
                        piece.refine(refine, &mut todo);
                        continue 'pieces;
                    }
                }
            }
            self.check_bounds(&piece, sized, &places, variant)?;
            result.note_buffers(sized, variant);
            result.boxes.push(self.make_box(&piece, number, sized, &places));
        }
        result.stream = result.buffers.iter().any(|used| used.stored && is_streamed(used.bytes));
        Ok(result)
    }

    fn size_variant(&self, variant: &Variant) -> Result<SizedVariant, Unsized> {
        let mut slots = Vec::with_capacity(variant.slots.len());
        for (address, kind) in variant.slots.iter().zip(&variant.code.slots) {
            let size = size_of_element(kind.dtype).map_err(|e| Unsized(e.to_string()))? as i64;
            slots.push(match address {
                Address::Element { buffer, index } => {
                    let sizes = (self.sizes)(*buffer)?;
                    let mut position = Sized::zero();
                    let mut stride = 1i64;
                    for (axis, index) in index.iter().enumerate().rev() {
                        position.add(&Sized::of(index, self.dim)?, stride)?;
                        stride = stride.saturating_mul(sizes.get(axis).copied().unwrap_or(1));
                    }
                    SizedSlot { buffer: Some(*buffer), index: position, size, len: stride, reach: 0 }
                }
                Address::Flat { buffer, position } => {
                    let len = (self.sizes)(*buffer)?.iter().fold(1i64, |len, size| len.saturating_mul(*size));
                    SizedSlot {
                        buffer: Some(*buffer),
                        index: Sized::of(position, self.dim)?,
                        size,
                        len,
                        reach: 0,
                    }
                }
                Address::Iota(index) => SizedSlot {
                    buffer: None,
                    index: Sized::of(index, self.dim)?,
                    size: 1,
                    len: i64::MAX,
                    reach: 0,
                },
                Address::Row => {
                    SizedSlot { buffer: None, index: Sized::zero(), size, len: i64::MAX, reach: 0 }
                }
            });
        }
        let mut scalars = Vec::with_capacity(variant.scalars.len());
        for scalar in &variant.scalars {
            scalars.push(match scalar {
                ScalarArg::Size(dim) => (self.dim)(dim)?,
                ScalarArg::GatherStride { slot, coefficients } => {
                    let slot = &mut slots[*slot as usize];
                    let sizes = slot.buffer.map_or(Ok(SmallVec::new()), |buffer| (self.sizes)(buffer))?;
                    let (mut stride, mut step) = (1i64, 0i64);
                    for (coefficient, size) in coefficients.iter().zip(&sizes).rev() {
                        step += (self.dim)(coefficient)?.wrapping_mul(stride);
                        stride = stride.saturating_mul(*size);
                    }
                    step.wrapping_mul(slot.size)
                }
            });
        }
        self.add_reaches(variant, &scalars, &mut slots);
        Ok(SizedVariant { slots, scalars })
    }

    /// How far each gather may move: values lie below their limits.
    fn add_reaches(&self, variant: &Variant, scalars: &[i64], slots: &mut [SizedSlot]) {
        let code = &variant.code;
        for body in code.passes.iter().map(|pass| &pass.body).chain([&code.epilogue]) {
            for inst in body {
                let InstOp::Gather { slot, offsets } = &inst.op else { continue };
                let reach = offsets.iter().fold(0i64, |reach, (value, stride)| {
                    let limit = match body.get(value.0 as usize).map(|inst| &inst.op) {
                        Some(InstOp::CheckIndex { limit, .. }) => scalars[*limit as usize],
                        // Only checked values are offsets; anything else fails the bounds check.
                        _ => i64::MAX,
                    };
                    let step = scalars[*stride as usize] / slots[*slot as usize].size.max(1);
                    reach.saturating_add((limit - 1).max(0).saturating_mul(step))
                });
                let slot = &mut slots[*slot as usize];
                slot.reach = slot.reach.max(reach);
            }
        }
    }

    /// Every address of the box lies in its buffer; in rows without elements only the end of the row addresses any.
    fn check_bounds(
        &self,
        piece: &Piece,
        sized: &SizedVariant,
        places: &[Affine],
        variant: &Variant,
    ) -> Result<(), Unsized> {
        let empty_row = piece.axes.iter().any(|axis| axis.extent == 0);
        let at_row_end =
            |slot: usize| variant.code.epilogue.iter().any(|inst| inst.op.slot() == Some(slot as u32));
        for (number, (slot, place)) in sized.slots.iter().zip(places).enumerate() {
            if slot.buffer.is_none() || empty_row && !at_row_end(number) {
                continue;
            }
            let (low, high) = piece.range(place);
            let high = high.saturating_add(slot.reach.max(0));
            let low = low.saturating_add(slot.reach.min(0));
            if low < 0 || high >= slot.len {
                return Err(Unsized(format!(
                    "slot {number} reaches elements {low} to {high} of {} elements of {}",
                    slot.len,
                    slot.buffer.map_or_else(String::new, |buffer| buffer.to_string())
                )));
            }
        }
        Ok(())
    }

    fn make_box(&self, piece: &Piece, number: usize, sized: &SizedVariant, places: &[Affine]) -> BoxPlan {
        let variant = &self.kernel.variants[number];
        let code = &variant.code;
        let strides: Vec<SmallVec<[i64; 6]>> = sized
            .slots
            .iter()
            .zip(places)
            .map(|(slot, place)| place.coefficients.iter().map(|c| c.wrapping_mul(slot.size)).collect())
            .collect();
        let outer_axes = self.kernel.outer.len();
        let is_row = |axis: &usize| piece.axes[*axis].of >= outer_axes;
        let mut outer = PlanAxes::new(piece, (0..piece.axes.len()).filter(|axis| !is_row(axis)), &strides);
        let mut row = PlanAxes::new(piece, (0..piece.axes.len()).filter(is_row), &strides);
        outer.coalesce();
        row.coalesce();
        // Slots that do not move along the inner axis of the code must not move along that of the box.
        let splat_ok = |axis: &PlanAxis| {
            code.slots.iter().zip(&axis.strides).all(|(slot, stride)| {
                slot.class != Class::Splat
                    || slot.used == SlotUse::Scratch
                    || *stride == 0
                    || axis.extent == 1
            })
        };
        let along_row = self.kernel.layout == Layout::Row && !self.kernel.row.is_empty();
        let inner_group = if along_row { &mut row } else { &mut outer };
        let inner = match inner_group.axes.last() {
            Some(axis) if splat_ok(axis) => inner_group.axes.pop(),
            _ => None,
        };
        let none = || PlanAxes::one(sized.slots.len());
        let inner = inner.unwrap_or_else(none);
        let rows = outer.axes.pop().unwrap_or_else(none);
        while row.axes.len() < code.loops as usize {
            row.axes.insert(0, none());
        }
        let (n, row_count) = (inner.extent, rows.extent);
        let loops: SmallVec<[i64; 2]> = row.axes.iter().map(|axis| axis.extent).collect();
        let mut scratch = 0i64;
        let mut slots = Vec::with_capacity(sized.slots.len());
        for (number, (slot, place)) in sized.slots.iter().zip(places).enumerate() {
            let kind = &code.slots[number];
            let mut plan = SlotPlan {
                buffer: slot.buffer,
                base: place.constant.wrapping_mul(slot.size),
                outer: outer.axes.iter().map(|axis| axis.strides[number]).collect(),
                row: rows.strides[number],
                inner: inner.strides[number],
                loops: row.axes.iter().map(|axis| axis.strides[number]).collect(),
            };
            if kind.used == SlotUse::Scratch {
                // One row, contiguous; the next row uses the same memory.
                plan.base = scratch;
                plan.inner = slot.size;
                let mut stride = slot.size * n;
                for (at, extent) in loops.iter().enumerate().rev() {
                    plan.loops[at] = stride;
                    stride *= extent;
                }
                scratch += (stride + 63) / 64 * 64;
            }
            slots.push(plan);
        }
        let mut plan = BoxPlan {
            variant: number,
            outer: outer.axes.iter().map(|axis| axis.extent).collect(),
            rows: row_count,
            n,
            loops,
            slots,
            scalars: sized.scalars.clone(),
            mode: Mode::Direct,
            scratch: scratch as usize,
        };
        plan.mode = match plain_copy(code) {
            Some((from, to)) => {
                let target = &sized.slots[to];
                let bytes = target.len.saturating_mul(target.size);
                Mode::Copy(Box::new(BoxCopy::new(&plan, from, to, target.size, bytes)))
            }
            None => staged(&plan, code),
        };
        plan
    }
}
