//! `LoopBody`: one body of a kernel with the analysis that its inner loops need.

use smallvec::SmallVec;

use super::index_inst::index_insts;
use super::roles::POINTERS;
use crate::codegen::simd::asm::Gpr;
use crate::codegen::uniform::{has_uniform_offsets, uniform_insts};
use crate::lower::kernel_body::{
    AccessPattern, Inst, InstId, InstOp, KernelBody, LaneLayout, Pass, ReduceStep, SlotUse,
};

/// The largest total number of instructions of all copies of a body. Copies pay only if the body spends its time on
/// memory accesses. A longer body spends it on computation.
const MAX_COPIED_INSTS: usize = 64;
/// The largest number of copies of a body in a column kernel.
const MAX_POSITIONS: usize = 8;

/// A body, analyzed. A step may run several copies of it, each at another position of the innermost loop.
pub(crate) struct LoopBody<'a> {
    pub insts: &'a [Inst],
    /// The values that reductions read.
    pub roots: Vec<InstId>,
    /// For each instruction: whether it has one value for the whole inner loop.
    pub uniform: Vec<bool>,
    /// For each instruction: whether it is index arithmetic.
    pub index: Vec<bool>,
    /// The slots that the body names, in order of first use.
    pub slots: Vec<u32>,
    /// Address registers of slots: entry `c * code.slots.len() + s` is for slot `s` of copy `c`.
    pub pointers: Vec<Option<Gpr>>,
    /// The number of loops around the body.
    pub level: usize,
    /// The number of copies of the body that a step runs.
    pub copies: usize,
}

impl<'a> LoopBody<'a> {
    /// Analyzes `insts`. `reduces` are the reductions that read their values, and `level` is the number of loops around
    /// them. The result has one copy.
    pub fn new(code: &KernelBody, insts: &'a [Inst], reduces: &[ReduceStep], level: usize) -> LoopBody<'a> {
        let uniform = uniform_insts(code, insts);
        let mut slots = Vec::new();
        for inst in insts {
            if let Some(slot) = inst.op.slot()
                && !slots.contains(&slot)
            {
                slots.push(slot);
            }
        }
        // Slots of varying instructions get registers first: every step reads them.
        let is_varying =
            |slot: &u32| insts.iter().zip(&uniform).any(|(inst, u)| !u && inst.op.slot() == Some(*slot));
        let addresses = slots.iter().filter(|slot| code.slots[**slot as usize].used != SlotUse::Iota);
        let (first, last): (Vec<u32>, Vec<u32>) = addresses.partition(|slot| is_varying(slot));
        let mut pointers = vec![None; code.slots.len()];
        for (slot, pointer) in first.iter().chain(&last).zip(POINTERS) {
            pointers[*slot as usize] = Some(pointer);
        }
        let roots: Vec<InstId> = reduces.iter().map(|reduce| reduce.value).collect();
        let index = index_insts(insts, &uniform, &roots);
        LoopBody { insts, roots, uniform, index, slots, pointers, level, copies: 1 }
    }

    /// Returns whether every instruction is uniform: the body computes and stores nothing per element.
    pub fn is_idle(&self) -> bool {
        self.uniform.iter().all(|uniform| *uniform)
    }

    /// Returns the gather slots that move along the inner axis and have uniform offsets. The code adds the offsets to
    /// the slot's address once, before the inner loop, and the inner loop reads a row from this address.
    pub fn gathered_rows(&self, code: &KernelBody) -> Vec<u32> {
        let gathered_row = |inst: &Inst| match &inst.op {
            InstOp::Gather { slot, offsets } => {
                let is_uniform = has_uniform_offsets(&self.uniform, offsets);
                (is_uniform && code.slots[*slot as usize].pattern == AccessPattern::Contiguous)
                    .then_some(*slot)
            }
            _ => None,
        };
        self.insts.iter().filter_map(gathered_row).collect()
    }

    /// Returns the limit and the stride of each offset of the gathers that compute an address for every element. The
    /// limit and the stride are indices of run-time scalars.
    pub fn element_offsets(&self) -> SmallVec<[(u32, u32); 4]> {
        let limit = |v: InstId| match self.insts[v.0 as usize].op {
            InstOp::CheckIndex { limit, .. } => limit,
            _ => unreachable!("the verifier checks that every offset of a gather is a checked index"),
        };
        let mut found = SmallVec::new();
        for inst in self.insts {
            if let InstOp::Gather { offsets, .. } = &inst.op
                && !has_uniform_offsets(&self.uniform, offsets)
            {
                found.extend(offsets.iter().map(|(v, stride)| (limit(*v), *stride)));
            }
        }
        found
    }

    /// Copies the body of a pass of a column kernel for neighboring positions of the innermost loop. The number of
    /// copies is a power of two, and at most [`MAX_POSITIONS`].
    ///
    /// Only slots that move along the inner axis have address registers in the copied body. These slots are loads and
    /// gathered rows. Returns `None` in each of these cases:
    /// - The kernel is not a column kernel with loops, or the pass reduces nothing.
    /// - The body has no slot that moves along the inner axis.
    /// - An instruction that varies along the inner axis accesses another slot, such as a store or a scratch slot.
    /// - A uniform load, iota or index check is not index arithmetic.
    /// - The offsets of a gathered row are not index arithmetic.
    /// - Two copies need too many registers, or exceed `MAX_COPIED_INSTS`.
    pub fn at_positions(&self, code: &KernelBody, pass: &Pass) -> Option<LoopBody<'_>> {
        if code.layout != LaneLayout::Column || code.loops == 0 || pass.reduces.is_empty() {
            return None;
        }
        let rows = self.gathered_rows(code);
        let moves = |slot: &u32| {
            let slot_type = &code.slots[*slot as usize];
            slot_type.used == SlotUse::Load && slot_type.pattern != AccessPattern::Splat
                || rows.contains(slot)
        };
        let moving: Vec<u32> = self.slots.iter().copied().filter(moves).collect();
        let fits = |(i, inst): (usize, &Inst)| match &inst.op {
            InstOp::Gather { slot, offsets } => {
                rows.contains(slot) && offsets.iter().all(|(v, _)| self.index[v.0 as usize])
            }
            InstOp::Const(_) | InstOp::Scalar(_) => true,
            op if self.uniform[i] => {
                self.index[i] || op.slot().is_none() && !matches!(op, InstOp::CheckIndex { .. })
            }
            op => op.slot().is_none_or(|slot| moving.contains(&slot)),
        };
        if moving.is_empty() || !self.insts.iter().enumerate().all(fits) {
            return None;
        }
        let by_registers = POINTERS.len() / moving.len();
        let limit = MAX_POSITIONS.min(by_registers).min(MAX_COPIED_INSTS / self.insts.len());
        let copies: usize = 1 << limit.checked_ilog2().filter(|log| *log > 0)?;
        let mut pointers = vec![None; copies * code.slots.len()];
        let entries = (0..copies)
            .flat_map(|copy| moving.iter().map(move |slot| copy * code.slots.len() + *slot as usize));
        for (entry, pointer) in entries.zip(POINTERS) {
            pointers[entry] = Some(pointer);
        }
        Some(LoopBody {
            insts: self.insts,
            roots: self.roots.clone(),
            uniform: self.uniform.clone(),
            index: self.index.clone(),
            slots: self.slots.clone(),
            pointers,
            level: self.level,
            copies,
        })
    }
}
