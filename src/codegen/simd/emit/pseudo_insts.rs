//! Instructions of a block that may take several instructions of the processor: accesses to slots, divisions lane by
//! lane, staging, iotas, checks.

use super::context::EmitContext;
use crate::codegen::abi::{CHECK_FAILED, KernelArgs};
use crate::codegen::called_functions::CalledFunction;
use crate::codegen::repr::size_of;
use crate::codegen::simd::asm::opcode::{self, Opcode};
use crate::codegen::simd::asm::{
    Alu, Asm, Cond, Label, Masked, Mem, RAX, RBX, RCX, RDI, RDX, RSI, RSP, Rm, VectorIsa, VectorLen,
    VectorReg,
};
use crate::codegen::simd::ir::roles::{CALLEE_SAVED, COMPARE_MASK, INDEX, POINTERS, TAIL_MASK};
use crate::codegen::simd::ir::{MemRef, STEP_AREA_BYTES, Tail, VectorInstKind, frame_mem};
use crate::lower::kernel_body::AccessPattern;

impl EmitContext<'_> {
    /// Emits an instruction that may be several instructions of the processor. Its operands are in the registers
    /// `sources`, and `dst` is a different register.
    pub fn emit(&self, asm: &mut Asm, kind: &VectorInstKind, dst: Option<VectorReg>, sources: &[VectorReg]) {
        let len = asm.isa.vector();
        let to = || dst.expect("an instruction that computes a value has a result").0;
        let from = || sources[0].0;
        match *kind {
            VectorInstKind::Load { op, len, mem, tail } => {
                let memory = self.mem(asm, mem);
                match tail {
                    Tail::Whole => asm.vector(op, len, to(), 0, memory.into(), None),
                    Tail::Mask(k) => {
                        asm.masked(op, len, to(), 0, memory.into(), None, Masked { k, zero: true })
                    }
                }
            }
            VectorInstKind::LoadMasked { wide, mem } => {
                let memory = self.mem(asm, mem);
                let op = if wide { opcode::LOAD_MASKED_Q } else { opcode::LOAD_MASKED_D };
                asm.vector(op, len, to(), from(), memory.into(), None);
            }
            VectorInstKind::Store { op, len, imm, mem, tail } => {
                let memory = self.mem(asm, mem);
                match tail {
                    Tail::Whole => {
                        if matches!(mem, MemRef::Slot(..)) {
                            asm.mark_slot_store();
                        }
                        asm.vector(op, len, from(), 0, memory.into(), imm);
                    }
                    Tail::Mask(k) => {
                        asm.masked(op, len, from(), 0, memory.into(), imm, Masked { k, zero: false })
                    }
                }
            }
            VectorInstKind::StoreOne { bytes, slot, offset } => {
                let memory = self.slot_mem(asm, slot, offset);
                let (op, imm) = match bytes {
                    1 => (opcode::STORE_B, Some(0)),
                    2 => (opcode::STORE_W, Some(0)),
                    4 => (opcode::STORE_D, None),
                    _ => (opcode::STORE_Q, None),
                };
                asm.vector(op, VectorLen::X, from(), 0, memory.into(), imm);
            }
            VectorInstKind::Stage { slot, out, offset } => self.stage(asm, slot, out, offset),
            VectorInstKind::StoreLast { slot, masked } => {
                let size = size_of(self.code.slots[slot as usize].dtype);
                if masked {
                    asm.mov(RCX, frame_mem(self.layout.remaining));
                } else {
                    asm.mov_imm(RCX, asm.isa.step() as i32);
                }
                let last = self.layout.staging as i32 - size as i32;
                asm.load_low(RBX, Mem::Indexed(RSP, RCX, size.trailing_zeros() as u8, last), size);
                let memory = self.slot_mem(asm, slot, 0);
                asm.store_low(memory, RBX, size);
            }
            VectorInstKind::Scalar(k) => {
                self.load_argument(asm, std::mem::offset_of!(KernelArgs, scalars));
                let scalar = Mem::Base(RAX, 8 * k as i32);
                asm.vector(opcode::SPLAT_Q, len, to(), 0, scalar.into(), None);
            }
            VectorInstKind::Iota { slot, ahead } => self.iota(asm, slot, ahead, to()),
            VectorInstKind::Displace { slot, offset } => self.displace(asm, slot, offset, sources[0]),
            VectorInstKind::DisplaceBy { slot, offset, word, passed } => {
                if !passed {
                    asm.mov(RAX, frame_mem(word));
                }
                self.displace_by(asm, slot, offset);
            }
            VectorInstKind::Gather { slot, group } => self.gather(asm, slot, group, to()),
            VectorInstKind::Fail => {
                // Jumps over the store: `or [failed], rax` in every step would make each step wait for the previous
                // one.
                let fine = asm.label();
                self.jump_if_clear(asm, sources[0], fine);
                asm.store_imm(frame_mem(self.layout.outcome), CHECK_FAILED as i32);
                asm.bind(fine);
            }
            VectorInstKind::Divide { signed, rem } => self.divide(asm, signed, rem, to(), sources),
            VectorInstKind::LargeAngle(function) => {
                // A copy of the usual values, and a jump over the call.
                asm.vector(opcode::MOV, len, to(), 0, sources[1].into(), None);
                let usual = asm.label();
                self.jump_if_clear(asm, sources[0], usual);
                self.call(asm, CalledFunction::LargeAngle(function), to(), [sources[1], sources[2]]);
                asm.bind(usual);
            }
            VectorInstKind::Remainder => {
                self.call(asm, CalledFunction::Remainder, to(), [sources[0], sources[1]]);
            }
            VectorInstKind::Op { .. }
            | VectorInstKind::Fma { .. }
            | VectorInstKind::Select
            | VectorInstKind::Compare { .. }
            | VectorInstKind::Index(_) => {
                unreachable!("the block emitter chooses the operands of {kind:?} itself")
            }
        }
    }

    /// Emits a comparison that passes through a mask register.
    #[expect(clippy::too_many_arguments, reason = "the operands of one instruction")]
    pub fn compare(
        &self,
        asm: &mut Asm,
        op: Opcode,
        imm: u8,
        wide: bool,
        dst: VectorReg,
        first: VectorReg,
        second: Rm,
    ) {
        let len = asm.isa.vector();
        asm.vector(op, len, COMPARE_MASK, first.0, second, Some(imm));
        let to_lanes = if wide { opcode::MASK_TO_Q } else { opcode::MASK_TO_D };
        asm.vector(to_lanes, len, dst.0, 0, Rm::Reg(COMPARE_MASK), None);
    }

    /// Emits the value of an iota slot `ahead` elements past the current one, in every 8-byte lane of register `to`.
    fn iota(&self, asm: &mut Asm, slot: u32, ahead: i32, to: u8) {
        let start = frame_mem(self.layout.start(self.level, slot));
        let mut value = start;
        if self.pointers_advance && self.code.slots[slot as usize].pattern == AccessPattern::Contiguous {
            let stride = self.inner_stride(asm, slot);
            asm.lea(RCX, Mem::Base(INDEX, ahead));
            asm.imul(RCX, stride);
            asm.alu(Alu::Add, RCX, start);
            value = frame_mem(self.layout.scratch);
            asm.store(value, RCX);
        } else if let Some(shift) = self.shift {
            asm.mov(RCX, start);
            shift.add_to(asm, RCX, slot);
            value = frame_mem(self.layout.scratch);
            asm.store(value, RCX);
        }
        asm.vector(opcode::SPLAT_Q, asm.isa.vector(), to, 0, value.into(), None);
    }

    /// Fills the ramp of an iota slot with multiples of its stride. Other slots have no ramp.
    pub fn make_ramp(&self, asm: &mut Asm, slot: u32) {
        let Some(ramp) = self.layout.ramps[slot as usize] else { return };
        let stride = self.inner_stride(asm, slot);
        asm.mov(RCX, stride);
        asm.mov_imm(RDX, 0);
        asm.mov_imm(RBX, 0);
        let top = asm.label();
        asm.bind(top);
        asm.store(Mem::Indexed(RSP, RBX, 0, ramp as i32), RDX);
        asm.alu(Alu::Add, RDX, RCX);
        asm.alu_imm(Alu::Add, RBX, 8);
        asm.alu_imm(Alu::Cmp, RBX, STEP_AREA_BYTES as i32);
        asm.jump_if(Cond::NotEqual, top);
    }

    /// Emits [`VectorInstKind::Stage`]. Elements of a strided slot are copied one by one. Adjacent elements are copied
    /// in a piece of 4, a piece of 2 and a piece of 1, as the bits of their number say. Three bits suffice: only code
    /// for AVX2 stages adjacent elements, and at most 7 remain.
    fn stage(&self, asm: &mut Asm, slot: u32, out: bool, offset: u32) {
        let size = size_of(self.slot_type(slot).dtype);
        let memory = self.slot_mem(asm, slot, 0);
        asm.lea(RAX, memory);
        asm.mov(RDX, frame_mem(self.layout.remaining));
        asm.mov_imm(RCX, 0);
        if let AccessPattern::Strided(_) = self.slot_type(slot).pattern {
            let top = asm.label();
            asm.bind(top);
            let element = Mem::Base(RAX, offset as i32);
            let staged = Mem::Indexed(RSP, RCX, size.trailing_zeros() as u8, self.layout.staging as i32);
            let (from, to) = if out { (staged, element) } else { (element, staged) };
            asm.load_low(RBX, from, size);
            asm.store_low(to, RBX, size);
            asm.alu_imm(Alu::Add, RAX, self.element_pitch(slot) as i32);
            asm.alu_imm(Alu::Add, RCX, 1);
            asm.alu(Alu::Cmp, RCX, RDX);
            asm.jump_if(Cond::Less, top);
            return;
        }
        for count in [4, 2, 1] {
            let (skip, bytes) = (asm.label(), count * size);
            asm.test_imm(RDX, count as i32);
            asm.jump_if(Cond::Equal, skip);
            for offset in (0..bytes).step_by(8) {
                let slot = Mem::Indexed(RAX, RCX, 0, offset as i32);
                let staged = Mem::Indexed(RSP, RCX, 0, (self.layout.staging + offset) as i32);
                let (from, to) = if out { (staged, slot) } else { (slot, staged) };
                asm.load_low(RBX, from, bytes.min(8));
                asm.store_low(to, RBX, bytes.min(8));
            }
            asm.alu_imm(Alu::Add, RCX, bytes as i32);
            asm.bind(skip);
        }
    }

    /// Jumps if no lane of a mask is set.
    fn jump_if_clear(&self, asm: &mut Asm, mask: VectorReg, to: Label) {
        let len = asm.isa.vector();
        if asm.isa == VectorIsa::Avx512 {
            asm.vector(opcode::D_TO_MASK, len, COMPARE_MASK, 0, Rm::Reg(mask.0), None);
            asm.mask_move(false, RAX.0, COMPARE_MASK);
        } else {
            asm.vector(opcode::SIGN_BITS, len, RAX.0, 0, Rm::Reg(mask.0), None);
        }
        asm.test(RAX, RAX);
        asm.jump_if(Cond::Equal, to);
    }

    /// Emits a call of a function for each lane of two vectors of doubles. The call goes through a subroutine that
    /// preserves registers: see [`EmitContext::call_subroutine`].
    fn call(&self, asm: &mut Asm, function: CalledFunction, to: u8, [values, operands]: [VectorReg; 2]) {
        let len = asm.isa.vector();
        let [first, second, _] = self.layout.lanes.map(frame_mem);
        asm.vector(opcode::MOV_STORE, len, values.0, 0, first.into(), None);
        asm.vector(opcode::MOV_STORE, len, operands.0, 0, second.into(), None);
        self.load_argument(asm, function.offset());
        let subroutine = match asm.subroutine {
            Some(label) => label,
            None => asm.label(),
        };
        asm.subroutine = Some(subroutine);
        asm.call(subroutine);
        asm.vector(opcode::MOV_LOAD, len, to, 0, first.into(), None);
    }

    /// Emits the subroutine for calls, if the code calls it. It calls the function at the address in rax, for the two
    /// vectors in `FrameLayout::lanes`. It preserves all registers except the scratch registers and `COMPARE_MASK`.
    pub fn call_subroutine(&self, asm: &mut Asm) {
        let Some(label) = asm.subroutine else { return };
        let (len, is_avx512) = (asm.isa.vector(), asm.isa == VectorIsa::Avx512);
        let (vectors, masks) = if is_avx512 { (32, TAIL_MASK..TAIL_MASK + 3) } else { (16, 0..0) };
        let vector = |number: u8| Mem::Base(RSP, i32::from(number) * len.bytes() as i32);
        let words = i32::from(vectors) * len.bytes() as i32;
        let word = |number: u8| Mem::Base(RSP, words + 8 * i32::from(number));
        // A function may change these address registers. It preserves the others.
        let pointers = || POINTERS.into_iter().filter(|reg| !CALLEE_SAVED.contains(reg)).zip(8..);
        asm.bind(label);
        asm.mov(RBX, RSP);
        asm.alu_imm(Alu::Sub, RSP, words + 8 * 16);
        asm.alu_imm(Alu::And, RSP, -64);
        for number in 0..vectors {
            asm.vector(opcode::MOV_STORE, len, number, 0, vector(number).into(), None);
        }
        for number in masks.clone() {
            asm.mask_move(false, RCX.0, number);
            asm.store(word(number), RCX);
        }
        for (reg, number) in pointers() {
            asm.store(word(number), reg);
        }
        // The return address lies below the frame.
        let [values, operands, _] = self.layout.lanes.map(|offset| Mem::Base(RBX, 8 + offset as i32));
        asm.lea(RDI, values);
        asm.lea(RSI, operands);
        asm.mov_imm(RDX, len.bytes() as i32 / 8);
        asm.zero_upper();
        asm.call_address(RAX);
        for number in 0..vectors {
            asm.vector(opcode::MOV_LOAD, len, number, 0, vector(number).into(), None);
        }
        for number in masks {
            asm.mov(RCX, word(number));
            asm.mask_move(true, number, RCX.0);
        }
        for (reg, number) in pointers() {
            asm.mov(reg, word(number));
        }
        asm.mov(RSP, RBX);
        asm.ret();
    }

    /// Divides 64-bit integers lane by lane, through the frame: see [`VectorInstKind::Divide`].
    fn divide(&self, asm: &mut Asm, signed: bool, rem: bool, to: u8, sources: &[VectorReg]) {
        let len = asm.isa.vector();
        for (source, area) in sources.iter().zip(self.layout.lanes) {
            asm.vector(opcode::MOV_STORE, len, source.0, 0, frame_mem(area).into(), None);
        }
        let [first, second, result] = self.layout.lanes;
        for lane in 0..len.bytes() / 8 {
            let lane_of = |area: u32| frame_mem(area + 8 * lane);
            asm.mov(RAX, lane_of(first));
            asm.mov(RBX, lane_of(second));
            let (plain, done) = (asm.label(), asm.label());
            if signed {
                // The least value divided by -1 overflows. Any quotient by -1 is a negation, with remainder 0.
                asm.alu_imm(Alu::Cmp, RBX, -1);
                asm.jump_if(Cond::NotEqual, plain);
                asm.neg(RAX);
                asm.mov_imm(RDX, 0);
                asm.jump(done);
                asm.bind(plain);
                asm.cqo();
            } else {
                asm.mov_imm(RDX, 0);
            }
            asm.divide(RBX, signed);
            if signed {
                asm.bind(done);
            }
            asm.store(lane_of(result), if rem { RDX } else { RAX });
        }
        asm.vector(opcode::MOV_LOAD, len, to, 0, frame_mem(result).into(), None);
    }
}
