//! `Selector`: turns the instructions of a body into the instructions of a block. This file has its basic operations.

use shapeflow_shape_fns::DType;

use super::selected_value::{SelectedValue, VectorIds};
use crate::codegen::legalize::Settle;
use crate::codegen::simd::asm::opcode::{self, Opcode};
use crate::codegen::simd::asm::{VectorIsa, VectorLen};
use crate::codegen::simd::ir::{
    ConstantPool, FrameAllocator, FrameLayout, LoopBody, ValueOrigin, VectorBlock, VectorId, VectorInstKind,
};
use crate::lower::kernel_body::{InstId, KernelBody};

/// The elements that a body is selected for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SelectMode {
    /// Code outside the inner loop: it computes one element, repeated in every lane of a vector.
    OneElement,
    /// A step of the inner loop.
    Step {
        /// The number of vectors of 4-byte lanes that the step computes.
        unroll: u32,
        /// The number of the step's first element, counted from the current element.
        ahead: u32,
        /// Whether the step computes only the remaining elements of the row. Such a step has `unroll` 1.
        masked: bool,
    },
}

/// The variant of the code for a body. One body may be emitted in several variants; a run-time check picks one.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct CodeVariant {
    /// Whether the elements of gathered rows may be apart in memory. If not, they are adjacent.
    pub strided_rows: bool,
    /// Whether the offset in bytes of every element to gather, `Σ index·stride`, fits in a 4-byte lane.
    pub narrow_offsets: bool,
    /// Whether the code runs rarely, so that it has no unrolling and no non-temporal stores.
    pub cold: bool,
}

/// The task of one selection.
#[derive(Clone, Copy)]
pub(crate) struct SelectPlan<'a> {
    pub mode: SelectMode,
    pub variant: CodeVariant,
    /// For each instruction: the location of its value, if it is uniform and a step reads it.
    pub uniforms: &'a [Option<ValueOrigin>],
    /// Whether the code runs for a position that may lie past the end of the loops. A failing check is then no error.
    pub speculative: bool,
}

impl SelectPlan<'static> {
    /// Makes the plan of code outside the inner loop: see [`SelectMode::OneElement`].
    pub fn one_element() -> SelectPlan<'static> {
        SelectPlan {
            mode: SelectMode::OneElement,
            variant: CodeVariant::default(),
            uniforms: &[],
            speculative: false,
        }
    }
}

/// Selects one body.
pub(crate) struct Selector<'a> {
    pub block: VectorBlock,
    pub code: &'a KernelBody,
    pub body: &'a LoopBody<'a>,
    pub isa: VectorIsa,
    pub pool: &'a mut ConstantPool,
    pub frame: &'a mut FrameAllocator,
    pub layout: &'a FrameLayout,
    pub plan: SelectPlan<'a>,
    /// The copy of the body that is selected.
    pub copy: u32,
    /// For each instruction: its result in the forms selected so far.
    pub values: Vec<SelectedValue>,
}

impl Selector<'_> {
    /// Starts the body again, for another step or copy in the same block.
    pub fn restart(&mut self, mode: SelectMode, copy: u32) {
        self.plan.mode = mode;
        self.copy = copy;
        self.values.fill(SelectedValue::default());
    }

    pub fn dtype(&self, v: InstId) -> DType {
        self.body.insts[v.0 as usize].dtype
    }

    /// Returns the length of a whole vector register.
    pub fn vector_len(&self) -> VectorLen {
        self.isa.vector()
    }

    /// Returns the number of vectors that hold a varying value with lanes of `bytes` bytes.
    pub fn vectors(&self, bytes: u32) -> usize {
        match self.plan.mode {
            SelectMode::OneElement => 1,
            SelectMode::Step { unroll, .. } => (unroll * bytes / 4) as usize,
        }
    }

    pub fn is_masked(&self) -> bool {
        matches!(self.plan.mode, SelectMode::Step { masked: true, .. })
    }

    pub fn op1(&mut self, op: Opcode, a: VectorId) -> VectorId {
        self.op_imm(op, &[a], None)
    }

    pub fn op2(&mut self, op: Opcode, a: VectorId, b: VectorId) -> VectorId {
        self.op_imm(op, &[a, b], None)
    }

    pub fn op_imm(&mut self, op: Opcode, srcs: &[VectorId], imm: Option<u8>) -> VectorId {
        let len = self.vector_len();
        self.block.push(VectorInstKind::Op { op, len, imm }, srcs)
    }

    /// Selects a shift of every lane by a constant.
    pub fn shift(&mut self, op: Opcode, x: VectorId, count: u32) -> VectorId {
        self.op_imm(op, &[x], Some(count as u8))
    }

    pub fn map(&mut self, x: &VectorIds, mut f: impl FnMut(&mut Self, VectorId) -> VectorId) -> VectorIds {
        x.iter().map(|x| f(self, *x)).collect()
    }

    pub fn zip(
        &mut self,
        x: &VectorIds,
        y: &VectorIds,
        mut f: impl FnMut(&mut Self, VectorId, VectorId) -> VectorId,
    ) -> VectorIds {
        x.iter().zip(y.iter()).map(|(x, y)| f(self, *x, *y)).collect()
    }

    /// Selects the complement of a mask.
    pub fn not(&mut self, x: VectorId) -> VectorId {
        let ones = self.splat(u64::MAX, 8);
        self.op2(opcode::XOR_D, x, ones)
    }

    /// Selects `mask ? x : y`, lane by lane.
    pub fn choose(&mut self, mask: VectorId, x: VectorId, y: VectorId) -> VectorId {
        self.block.push(VectorInstKind::Select, &[mask, x, y])
    }

    /// Selects two vectors for each vector of `x`: its low half of lanes widened by `op`, then its high half. For one
    /// element, whose lanes are all equal, only the first.
    pub fn widen(&mut self, x: &VectorIds, op: Opcode) -> VectorIds {
        let mut wide = VectorIds::default();
        for x in x.iter() {
            wide.push(self.op1(op, *x));
            if self.plan.mode != SelectMode::OneElement {
                let high = self.high_half(*x);
                wide.push(self.op1(op, high));
            }
        }
        wide
    }

    /// Selects the high half of a vector, moved to the low half.
    pub fn high_half(&mut self, x: VectorId) -> VectorId {
        let op = if self.isa == VectorIsa::Avx512 { opcode::EXTRACT_256 } else { opcode::EXTRACT_128 };
        self.op_imm(op, &[x], Some(1))
    }

    /// Selects the low halves of two vectors as one vector.
    pub fn join(&mut self, a: VectorId, b: VectorId) -> VectorId {
        let op = if self.isa == VectorIsa::Avx512 { opcode::INSERT_256 } else { opcode::INSERT_128 };
        self.op_imm(op, &[a, b], Some(1))
    }

    /// Selects one vector for every two of `x`, which `f` narrows and joins. A single vector is joined with itself.
    pub fn narrow_pairs(
        &mut self,
        x: &VectorIds,
        f: fn(&mut Self, VectorId, VectorId) -> VectorId,
    ) -> VectorIds {
        x.chunks(2).map(|pair| f(self, pair[0], pair[pair.len() - 1])).collect()
    }

    /// Selects the low 4 bytes of each 8-byte lane of two vectors as one vector.
    pub fn even_words(&mut self, a: VectorId, b: VectorId) -> VectorId {
        if self.isa == VectorIsa::Avx512 {
            let (a, b) = (self.op1(opcode::DOWN_QD, a), self.op1(opcode::DOWN_QD, b));
            return self.join(a, b);
        }
        let both = self.op_imm(opcode::SHUFFLE_PS, &[a, b], Some(0x88));
        self.op_imm(opcode::PERMUTE_Q, &[both], Some(0xd8))
    }

    /// Wraps or rounds lanes to values of `dtype`.
    pub fn settle(&mut self, dtype: DType, x: VectorId) -> VectorId {
        self.settle_by(Settle::of(dtype), x)
    }

    /// Applies the step `settle` to lanes.
    pub fn settle_by(&mut self, settle: Settle, x: VectorId) -> VectorId {
        match settle {
            Settle::Keep => x,
            Settle::SignExtend { spare } => {
                let up = self.shift(opcode::SLL_D, x, spare);
                self.shift(opcode::SRA_D, up, spare)
            }
            Settle::ZeroExtend { mask } => {
                let mask = self.splat(u64::from(mask), 4);
                self.op2(opcode::AND_D, x, mask)
            }
            Settle::RoundF16 => {
                let half = self.op_imm(opcode::PS_TO_PH, &[x], Some(0));
                self.op1(opcode::PH_TO_PS, half)
            }
            Settle::RoundBf16 => self.round_bf16(x),
        }
    }
}
