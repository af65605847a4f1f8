//! `BlockEmitter`: the instructions of a block, one by one, with their registers.

use super::context::EmitContext;
use crate::codegen::simd::asm::opcode::{self, OperandForm};
use crate::codegen::simd::asm::{Asm, Label, Rm, VectorIsa, VectorReg};
use crate::codegen::simd::ir::{
    FrameAllocator, InlineList, MemRef, Tail, ValueOrigin, VectorBlock, VectorInst, VectorInstKind,
};
use crate::codegen::simd::regalloc::{Allocator, RegisterSet, ValueUses};

/// Emits one block.
pub(crate) struct BlockEmitter<'a, 'c> {
    registers: Allocator<'a>,
    context: &'a EmitContext<'c>,
}

impl<'a, 'c> BlockEmitter<'a, 'c> {
    /// Makes an emitter that allocates from the first `registers` vector registers. Pinned values of the block have
    /// registers of their own.
    pub fn new(
        asm: &'a mut Asm,
        block: &'a VectorBlock,
        context: &'a EmitContext<'c>,
        frame: &'a mut FrameAllocator,
        registers: u8,
    ) -> BlockEmitter<'a, 'c> {
        BlockEmitter { registers: Allocator::new(asm, block, frame, registers), context }
    }

    /// Emits the block as the body of a loop that starts at `top`. Before the loop, spare registers are loaded with the
    /// constants and frame values that the block uses most.
    pub fn emit_repeated(mut self, top: Label) {
        self.registers.hoist();
        self.registers.asm.bind(top);
        self.emit();
    }

    /// Emits the block.
    pub fn emit(mut self) {
        let block = self.registers.block;
        for (index, inst) in block.insts.iter().enumerate() {
            self.inst(index, inst);
        }
        self.registers.finish();
    }

    /// Omits the load of a slot if the instructions that use its value can read the slot themselves, as a memory
    /// operand. Returns whether they can.
    fn postpone(&mut self, index: usize, inst: &VectorInst, uses: &ValueUses) -> bool {
        let VectorInstKind::Load { op, len, mem: MemRef::Slot(slot, offset), tail: Tail::Whole } = inst.kind
        else {
            return false;
        };
        let dst = inst.result();
        let made = self.registers.block.values[dst.0 as usize] == ValueOrigin::Made;
        if op != opcode::MOV_LOAD || len != self.registers.vector_len() || !made || !uses.postponable {
            return false;
        }
        let Some(memory) = self.context.stable_slot_mem(slot, offset) else { return false };
        self.registers.leave_in_memory(index, dst, memory);
        true
    }

    fn inst(&mut self, index: usize, inst: &VectorInst) {
        let uses = self.registers.uses(index);
        let mut next_uses = uses.next_uses;
        if inst.dst.is_some_and(|dst| self.registers.is_dead(dst, &uses)) || self.postpone(index, inst, &uses)
        {
            return;
        }
        let mut locked = RegisterSet::default();
        let registers = &mut self.registers;
        inst.srcs.iter().filter_map(|src| registers.register(*src)).for_each(|reg| locked.add(reg));
        let len = registers.vector_len();
        match inst.kind {
            VectorInstKind::Op { op, len, imm } => {
                let mut srcs = inst.srcs;
                if op.commutes
                    && registers.register(srcs[0]).is_none()
                    && registers.register(srcs[1]).is_some()
                {
                    srcs.swap(0, 1);
                    next_uses.swap(0, 1);
                }
                let (first, rm): (u8, Rm) = match op.form {
                    OperandForm::Three | OperandForm::VexOnly | OperandForm::Blend => {
                        let first = registers.source(srcs[0], &mut locked);
                        (first.0, registers.source_or_memory(srcs[1], next_uses[1], &mut locked))
                    }
                    OperandForm::Two => (0, registers.source_or_memory(srcs[0], next_uses[0], &mut locked)),
                    // The result of a `ToRm` op is its `rm` operand, so the source must be a register. The source of a
                    // shift without EVEX must be a register too.
                    OperandForm::ToRm | OperandForm::Shift(_) => {
                        (0, registers.source(srcs[0], &mut locked).into())
                    }
                };
                registers.retire(&srcs, next_uses);
                let dst = registers.result(index, inst.result(), RegisterSet::default());
                match (op.form, rm) {
                    (OperandForm::ToRm, Rm::Reg(source)) => {
                        registers.asm.vector(op, len, source, 0, dst.into(), imm)
                    }
                    (OperandForm::Shift(number), rm) => registers.asm.vector(op, len, number, dst.0, rm, imm),
                    (_, rm) => registers.asm.vector(op, len, dst.0, first, rm, imm),
                }
            }
            VectorInstKind::Fma { double } => self.fma(index, inst, double, locked),
            VectorInstKind::Select if registers.asm.isa == VectorIsa::Avx512 => {
                self.ternary_select(index, inst, locked)
            }
            VectorInstKind::Select => {
                let mask = registers.source(inst.srcs[0], &mut locked);
                let other = registers.source(inst.srcs[2], &mut locked);
                let chosen = registers.source_or_memory(inst.srcs[1], next_uses[1], &mut locked);
                registers.retire(&inst.srcs, next_uses);
                let dst = registers.result(index, inst.result(), RegisterSet::default());
                registers.asm.vector(opcode::BLENDV, len, dst.0, other.0, chosen, Some(mask.0 << 4));
            }
            VectorInstKind::Compare { op, imm, wide } => {
                let first = registers.source(inst.srcs[0], &mut locked);
                let second = registers.source_or_memory(inst.srcs[1], next_uses[1], &mut locked);
                registers.retire(&inst.srcs, next_uses);
                let dst = registers.result(index, inst.result(), RegisterSet::default());
                self.context.compare(registers.asm, op, imm, wide, dst, first, second);
            }
            VectorInstKind::Index(number) => {
                self.context.index(registers.asm, &registers.block.index[number as usize]);
            }
            _ => {
                let sources: InlineList<VectorReg, 3> =
                    inst.srcs.iter().map(|src| registers.source(*src, &mut locked)).collect();
                // The code is a sequence of instructions, so the result must not take the register of a source.
                let dst = inst.dst.map(|dst| registers.result(index, dst, locked));
                registers.retire(&inst.srcs, next_uses);
                self.context.emit(registers.asm, &inst.kind, dst, &sources);
            }
        }
    }

    /// Emits a fused multiplication and addition, whose result overwrites one of the three sources.
    fn fma(&mut self, index: usize, inst: &VectorInst, double: bool, mut locked: RegisterSet) {
        let registers = &mut self.registers;
        let next_uses = registers.uses(index).next_uses;
        let (dst, overwritten) = registers.overwritten_source(index, inst, &mut locked);
        locked.add(dst);
        // The two other sources: a register, then a register or memory.
        let (mut first, mut second) = [(1, 2), (0, 2), (0, 1)][overwritten];
        let same = |k: usize| inst.srcs[k] == inst.srcs[overwritten];
        let in_memory = |k: usize| registers.register(inst.srcs[k]).is_none() && !same(k);
        if in_memory(first) && !in_memory(second) {
            std::mem::swap(&mut first, &mut second);
        }
        let v = if same(first) { dst } else { registers.source(inst.srcs[first], &mut locked) };
        let rm: Rm = match same(second) {
            true => dst.into(),
            false => registers.source_or_memory(inst.srcs[second], next_uses[second], &mut locked),
        };
        // 213: dst = v * dst + rm; 132: dst = dst * rm + v; 231: dst = v * rm + dst.
        let ops = if double {
            [opcode::FMA213_PD, opcode::FMA132_PD, opcode::FMA231_PD]
        } else {
            [opcode::FMA213_PS, opcode::FMA132_PS, opcode::FMA231_PS]
        };
        let op = match (overwritten, second) {
            (2, _) => ops[2],
            (_, 2) => ops[0],
            _ => ops[1],
        };
        registers.retire(&inst.srcs, next_uses);
        let len = registers.vector_len();
        registers.asm.vector(op, len, dst.0, v.0, rm, None);
    }

    /// AVX-512: emits `mask ? a : b` by a truth table over the three operands. The result overwrites one operand.
    fn ternary_select(&mut self, index: usize, inst: &VectorInst, mut locked: RegisterSet) {
        let registers = &mut self.registers;
        let next_uses = registers.uses(index).next_uses;
        let (dst, overwritten) = registers.overwritten_source(index, inst, &mut locked);
        locked.add(dst);
        let (first, second) = [(1, 2), (0, 2), (0, 1)][overwritten];
        let same = |k: usize| inst.srcs[k] == inst.srcs[overwritten];
        let v = if same(first) { dst } else { registers.source(inst.srcs[first], &mut locked) };
        let rm: Rm = match same(second) {
            true => dst.into(),
            false => registers.source_or_memory(inst.srcs[second], next_uses[second], &mut locked),
        };
        // Bit `row` of the table is the result for the bits of (overwritten, first, second) that `row` spells.
        let mut table = 0u8;
        for row in 0..8u8 {
            let mut bits = [false; 3];
            bits[overwritten] = row & 4 != 0;
            bits[first] = row & 2 != 0;
            bits[second] = row & 1 != 0;
            if if bits[0] { bits[1] } else { bits[2] } {
                table |= 1 << row;
            }
        }
        registers.retire(&inst.srcs, next_uses);
        let len = registers.vector_len();
        registers.asm.vector(opcode::TERNARY, len, dst.0, v.0, rm, Some(table));
    }
}
