//! Code of gathers: adding an offset to the address of a gather slot, and loading elements one by one into a register.

use super::context::EmitContext;
use crate::codegen::repr::size_of;
use crate::codegen::simd::asm::{Alu, Asm, Cond, Mem, RAX, RBX, RCX, Rm, VectorLen, VectorReg, opcode};
use crate::codegen::simd::ir::roles::INDEX;
use crate::codegen::simd::ir::{GatherGroup, frame_mem};
use crate::lower::kernel_body::AccessPattern;

impl EmitContext<'_> {
    /// Adds `index * stride` to the address of a gather slot. `index` is the lowest lane of `from`, and `stride` is the
    /// stride with number `offset` of the slot.
    pub fn displace(&self, asm: &mut Asm, slot: u32, offset: u32, from: VectorReg) {
        let word = self.layout.scratch;
        asm.vector(opcode::STORE_Q, VectorLen::X, from.0, 0, frame_mem(word).into(), None);
        asm.mov(RAX, frame_mem(word));
        self.displace_by(asm, slot, offset);
    }

    /// Adds `rax * stride` to the address of a gather slot. `stride` is the stride with number `offset` of the slot.
    pub fn displace_by(&self, asm: &mut Asm, slot: u32, offset: u32) {
        asm.imul(RAX, frame_mem(self.layout.gathers[slot as usize].strides[offset as usize]));
        match self.pointer(slot) {
            Some(pointer) => asm.alu(Alu::Add, pointer, RAX),
            None => asm.add_to(frame_mem(self.layout.gathers[slot as usize].address), RAX),
        }
    }

    /// Inserts the elements of a group one by one into the low 16 bytes of register number `to`. Lanes without an
    /// element are 0. Overwrites rax, rbx and rcx.
    pub fn gather(&self, asm: &mut Asm, slot: u32, group: GatherGroup, to: u8) {
        let slot_type = &self.code.slots[slot as usize];
        let is_contiguous = slot_type.pattern == AccessPattern::Contiguous;
        let gather = &self.layout.gathers[slot as usize];
        let size = size_of(slot_type.dtype);
        let base = match self.pointer(slot) {
            Some(pointer) if !is_contiguous => pointer,
            Some(pointer) => {
                asm.mov(RCX, pointer);
                RCX
            }
            None => {
                asm.mov(RCX, frame_mem(gather.address));
                RCX
            }
        };
        if is_contiguous {
            asm.lea(RAX, Mem::Base(INDEX, group.ahead as i32));
            asm.imul(RAX, frame_mem(gather.inner));
            asm.alu(Alu::Add, RCX, RAX);
        }
        asm.vector(opcode::XOR_D, VectorLen::X, to, to, Rm::Reg(to), None);
        let insert = match size {
            1 => opcode::INSERT_B,
            2 => opcode::INSERT_W,
            4 => opcode::INSERT_D,
            _ => opcode::INSERT_Q,
        };
        let done = asm.label();
        for position in 0..group.count {
            let lane = group.lane + position;
            if group.masked {
                asm.alu_imm(Alu::Cmp, frame_mem(self.layout.remaining), lane as i32);
                asm.jump_if(Cond::LessEqual, done);
            }
            let mut memory = Mem::Base(base, 0);
            if group.narrow_offsets {
                asm.extend_word(RAX, frame_mem(self.layout.offsets[0] + 4 * lane));
                memory = Mem::Indexed(base, RAX, 0, 0);
            } else if !group.slot_at_row {
                for (k, stride) in gather.strides.iter().enumerate() {
                    let sum = if k == 0 { RAX } else { RBX };
                    asm.mov(sum, frame_mem(self.layout.offsets[k] + 8 * lane));
                    asm.imul(sum, frame_mem(*stride));
                    if k > 0 {
                        asm.alu(Alu::Add, RAX, RBX);
                    }
                }
                memory = Mem::Indexed(base, RAX, 0, 0);
            }
            asm.vector(insert, VectorLen::X, to, to, memory.into(), Some(position as u8));
            if is_contiguous && position + 1 < group.count {
                asm.alu(Alu::Add, RCX, frame_mem(gather.inner));
            }
        }
        asm.bind(done);
    }
}
