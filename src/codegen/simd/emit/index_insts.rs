//! Index arithmetic as instructions on general registers.

use shapeflow_shape_fns::DType;

use super::context::EmitContext;
use crate::codegen::abi::CHECK_FAILED;
use crate::codegen::repr::size_of;
use crate::codegen::simd::asm::{Alu, Asm, Cond, Gpr, RAX, RCX, RDX};
use crate::codegen::simd::ir::{IndexInst, IndexOp, IndexOperand, condition, frame_mem};
use crate::expr::BinaryOp;

impl EmitContext<'_> {
    /// Emits one instruction of index arithmetic. The result is in rax, and if `is_stored` in the frame too.
    pub fn index(&self, asm: &mut Asm, inst: &IndexInst) {
        let second = inst.from[1];
        // `passed` means that the previous instruction left this operand in rax.
        if let Some(first) = inst.first()
            && !inst.passed
        {
            fetch(asm, RAX, first);
        }
        match inst.op {
            IndexOp::Const(value) => asm.mov_imm(RAX, value),
            IndexOp::Scalar => {
                unreachable!("a run-time scalar is in the frame already, so no instruction computes it")
            }
            IndexOp::Iota(slot) => {
                asm.mov(RAX, frame_mem(self.layout.start(self.level, slot)));
                // With a shift, the code computes for a position of the loops that lies ahead by the shift.
                if let Some(shift) = self.shift {
                    shift.add_to(asm, RAX, slot);
                }
            }
            IndexOp::Load(slot) => {
                let memory = self.slot_mem(asm, slot, 0);
                let dtype = self.code.slots[slot as usize].dtype;
                if dtype.is_signed() {
                    asm.load_signed(RAX, memory, size_of(dtype));
                } else {
                    asm.load_low(RAX, memory, size_of(dtype));
                }
            }
            IndexOp::Binary(op) => {
                match op {
                    BinaryOp::Add => combine(asm, Alu::Add, RAX, second),
                    BinaryOp::Sub => combine(asm, Alu::Sub, RAX, second),
                    BinaryOp::Mul => {
                        fetch(asm, RCX, second);
                        asm.imul(RAX, RCX);
                    }
                    BinaryOp::Min | BinaryOp::Max => {
                        fetch(asm, RCX, second);
                        asm.alu(Alu::Cmp, RCX, RAX);
                        asm.move_if(if op == BinaryOp::Min { Cond::Less } else { Cond::Greater }, RAX, RCX);
                    }
                    _ => {
                        asm.mov(RCX, RAX);
                        asm.mov_imm(RAX, 0);
                        asm.mov_imm(RDX, 1);
                        combine(asm, Alu::Cmp, RCX, second);
                        asm.move_if(compare_condition(op), RAX, RDX);
                    }
                }
                if inst.dtype == DType::I32 {
                    asm.extend_word(RAX, RAX);
                }
            }
            // `compare(from[0], from[1]) ? from[2] : from[3]`: RAX holds `from[3]`, which `inst.first()` returned.
            IndexOp::Select(op) => {
                fetch(asm, RCX, inst.from[0]);
                fetch(asm, RDX, inst.from[2]);
                combine(asm, Alu::Cmp, RCX, second);
                asm.move_if(compare_condition(op), RAX, RDX);
            }
            IndexOp::Cast if inst.dtype == DType::I32 => asm.extend_word(RAX, RAX),
            IndexOp::Cast => {}
            IndexOp::Check(limit) => {
                asm.alu(Alu::Cmp, RAX, frame_mem(self.layout.scalars[limit as usize]));
                let fine = asm.label();
                // Compared as unsigned, a negative index is above every limit.
                asm.jump_if(Cond::Below, fine);
                asm.mov_imm(RAX, 0);
                // The position of a speculative shift may lie past the end of the loops. A check there does not fail
                // the run.
                if self.shift.is_none_or(|shift| !shift.speculative) {
                    asm.store_imm(frame_mem(self.layout.outcome), CHECK_FAILED as i32);
                }
                asm.bind(fine);
            }
        }
        if inst.is_stored {
            asm.store(frame_mem(inst.to), RAX);
        }
    }
}

/// Returns the condition under which a comparison is true.
fn compare_condition(op: BinaryOp) -> Cond {
    condition(op).expect("every other binary operation of index arithmetic is a comparison")
}

/// Emits `to = from`.
fn fetch(asm: &mut Asm, to: Gpr, from: IndexOperand) {
    match from {
        IndexOperand::Word(word) => asm.mov(to, frame_mem(word)),
        IndexOperand::Number(number) => asm.mov_imm(to, number),
    }
}

/// Emits `to = to op from`.
fn combine(asm: &mut Asm, op: Alu, to: Gpr, from: IndexOperand) {
    match from {
        IndexOperand::Word(word) => asm.alu(op, to, frame_mem(word)),
        IndexOperand::Number(number) => asm.alu_imm(op, to, number),
    }
}
