//! `Machine`: where the slots of a block are, and the instructions of a block that are more than one of the processor's.

use super::Isa;
use super::allocate::frame_at;
use super::block::{Kind, LaneOp, Place, Tail};
use super::encode::{Asm, Gpr, Len, Masked, Mem, Reg, Rm};
use super::frame::{Layout, STEP_WORDS};
use super::function::Body;
use super::op;
use super::scalar::{Alu, Cond, RAX, RBX, RCX, RDX, RSP};
use crate::codegen::abi::{KernelArgs, SLOT_INNER, slot_words};
use crate::codegen::clif::size_of;
use crate::lower::code::{Class, Code, FOLD_BYTES, SlotType, SlotUse, TILE};

/// The number of the current element of the inner axis.
pub(super) const INDEX: Gpr = Gpr(13);
/// The first element that the running loop leaves out.
pub(super) const END: Gpr = Gpr(12);
/// Registers that hold the starts of slots; rax, rcx, rdx and rbx are free for every instruction.
pub(super) const POINTERS: [Gpr; 8] = [Gpr(6), Gpr(7), Gpr(8), Gpr(9), Gpr(10), Gpr(11), Gpr(14), Gpr(15)];
/// The mask register that comparisons pass through.
const COMPARED: u8 = 1;

/// What the instructions of a block stand on.
pub(super) struct Machine<'a> {
    pub code: &'a Code,
    pub layout: &'a Layout,
    /// Loops around the block.
    pub level: usize,
    /// The registers of slots that have one.
    pub pointers: &'a [Option<Gpr>],
    /// Whether the block is at the current element, or at the start of every slot.
    pub moving: bool,
    /// Where slots are read instead of at their starts, if they are.
    pub ahead: Option<Shift<'a>>,
}

/// A place some positions further on.
#[derive(Clone, Copy)]
pub(super) struct Shift<'a> {
    /// By slot: words of the frame that say how far that is, of which the sum counts.
    pub words: [Option<&'a [u32]>; 2],
    /// Whether what is found there is no more than a guess, which fails nothing.
    pub guess: bool,
}

impl Shift<'_> {
    /// Adds to `to` how far a slot moves.
    pub fn add_to(&self, asm: &mut Asm, to: Gpr, slot: u32) {
        for words in self.words.iter().flatten() {
            asm.alu(Alu::Add, to, frame_at(words[slot as usize]));
        }
    }
}

impl<'a> Machine<'a> {
    /// For a block of a body: at the current element, or at the start of every slot.
    pub fn new(code: &'a Code, layout: &'a Layout, body: &'a Body<'_>, moving: bool) -> Machine<'a> {
        Machine { code, layout, level: body.level, pointers: &body.pointers, moving, ahead: None }
    }
}

impl Machine<'_> {
    /// The type of a slot, or of a copy of one.
    fn kind(&self, slot: u32) -> &SlotType {
        &self.code.slots[slot as usize % self.code.slots.len()]
    }

    /// The register that holds the address of a slot.
    pub fn pointer(&self, slot: u32) -> Option<Gpr> {
        self.pointers.get(slot as usize).copied().flatten()
    }

    /// A slot's memory `offset` bytes past the current element. May use rax and rbx.
    pub fn slot(&self, asm: &mut Asm, slot: u32, offset: i32) -> Mem {
        let kind = self.kind(slot);
        let base = match self.pointer(slot) {
            Some(pointer) => pointer,
            None => {
                let start = match kind.used {
                    SlotUse::Gather => self.layout.gathers[slot as usize].address,
                    _ => self.layout.start(self.level, slot),
                };
                asm.mov(RAX, frame_at(start));
                if let Some(shift) = self.ahead
                    && kind.used != SlotUse::Gather
                {
                    shift.add_to(asm, RAX, slot);
                }
                RAX
            }
        };
        let bytes = self.pitch(slot);
        if !self.moving || bytes == 0 {
            return Mem::Base(base, offset);
        }
        let scale = bytes.trailing_zeros().min(3);
        let (factor, mut index) = (bytes >> scale, INDEX);
        if factor > 1 {
            index = RBX;
            match factor % 2 {
                0 => asm.mov(RBX, INDEX),
                _ => asm.lea(RBX, Mem::Indexed(INDEX, INDEX, 1, 0)),
            }
            if factor % 2 == 0 {
                asm.shl(RBX, factor.trailing_zeros() as u8);
            }
        }
        Mem::Indexed(base, index, scale as u8, offset)
    }

    /// Bytes from an element of a slot to the next.
    fn pitch(&self, slot: u32) -> u32 {
        let kind = self.kind(slot);
        size_of(kind.dtype) * kind.class.step() as u32
    }

    /// Whether what [`Machine::slot`] gives for a slot names no register that other instructions change.
    pub fn stays(&self, slot: u32) -> bool {
        self.pointer(slot).is_some() && matches!(self.pitch(slot), 0 | 1 | 2 | 4 | 8)
    }

    fn place(&self, asm: &mut Asm, place: Place) -> Mem {
        match place {
            Place::Slot(slot, offset) => self.slot(asm, slot, offset),
            Place::Frame(offset) => frame_at(offset),
            Place::Lanes(offset, bytes) => {
                asm.mov(RBX, INDEX);
                asm.shl(RBX, bytes.trailing_zeros() as u8);
                asm.alu_imm(Alu::And, RBX, FOLD_BYTES as i32 - 1);
                Mem::Indexed(RSP, RBX, 0, offset as i32)
            }
            Place::Tile(fold, bytes, offset) => {
                asm.mov(RAX, frame_at(self.layout.tile));
                let start = fold as i32 * 8 * TILE as i32 + offset;
                Mem::Indexed(RAX, INDEX, bytes.trailing_zeros() as u8, start)
            }
        }
    }

    /// Emits an instruction whose operands are in registers.
    pub fn emit(&self, asm: &mut Asm, kind: &Kind, dst: Option<Reg>, sources: &[Reg]) {
        let whole = asm.isa.vector();
        let to = dst.map_or(0, |dst| dst.0);
        let from = sources.first().map_or(0, |source| source.0);
        match *kind {
            Kind::Load { op, len, place, tail } => {
                let memory = self.place(asm, place);
                match tail {
                    Tail::Whole => asm.vector(op, len, to, 0, memory.into(), None),
                    Tail::Mask(k) => {
                        asm.masked(op, len, to, 0, memory.into(), None, Masked { k, zero: true })
                    }
                }
            }
            Kind::LoadMasked { wide, place } => {
                let memory = self.place(asm, place);
                let op = if wide { op::LOAD_MASKED_Q } else { op::LOAD_MASKED_D };
                asm.vector(op, whole, to, from, memory.into(), None);
            }
            Kind::Store { op, len, imm, place, tail } => {
                let memory = self.place(asm, place);
                match tail {
                    Tail::Whole => asm.vector(op, len, from, 0, memory.into(), imm),
                    Tail::Mask(k) => {
                        asm.masked(op, len, from, 0, memory.into(), imm, Masked { k, zero: false })
                    }
                }
            }
            Kind::StoreOne { bytes, slot } => {
                let memory = self.slot(asm, slot, 0);
                let (op, imm) = match bytes {
                    1 => (op::STORE_B, Some(0)),
                    2 => (op::STORE_W, Some(0)),
                    4 => (op::STORE_D, None),
                    _ => (op::STORE_Q, None),
                };
                asm.vector(op, Len::X, from, 0, memory.into(), imm);
            }
            Kind::Stage { slot, out } => self.stage(asm, slot, out),
            Kind::StoreLast { slot, masked } => {
                let size = size_of(self.code.slots[slot as usize].dtype);
                if masked {
                    asm.mov(RCX, frame_at(self.layout.left));
                } else {
                    asm.mov_imm(RCX, asm.isa.step() as i32);
                }
                let last = self.layout.staging as i32 - size as i32;
                asm.load_low(RBX, Mem::Indexed(RSP, RCX, size.trailing_zeros() as u8, last), size);
                let memory = self.slot(asm, slot, 0);
                asm.store_low(memory, RBX, size);
            }
            Kind::Scalar(k) => {
                self.argument(asm, std::mem::offset_of!(KernelArgs, scalars));
                let scalar = Mem::Base(RAX, 8 * k as i32);
                asm.vector(op::SPLAT_Q, whole, to, 0, scalar.into(), None);
            }
            Kind::Iota { slot, ahead } => self.iota(asm, slot, ahead, to),
            Kind::Displace { slot, offset } => self.displace(asm, slot, offset, sources[0]),
            Kind::DisplaceBy { slot, offset, word, passed } => {
                if !passed {
                    asm.mov(RAX, frame_at(word));
                }
                self.displace_by(asm, slot, offset);
            }
            Kind::Index(inst) => self.index(asm, inst),
            Kind::Gather { slot, group } => self.gather(asm, slot, group, to),
            Kind::Fail => {
                if asm.isa == Isa::Avx512 {
                    asm.vector(op::D_TO_MASK, whole, COMPARED, 0, Rm::Reg(from), None);
                    asm.mask_move(false, RAX.0, COMPARED);
                } else {
                    asm.vector(op::SIGN_BITS, whole, RAX.0, 0, Rm::Reg(from), None);
                }
                // A jump rather than a sum in memory, for which the next step would wait.
                let fine = asm.label();
                asm.test(RAX, RAX);
                asm.jump_if(Cond::Equal, fine);
                asm.store_imm(frame_at(self.layout.failed), 1);
                asm.bind(fine);
            }
            Kind::Lanes(op) => self.lanes(asm, op, to, sources),
            Kind::Op { .. } | Kind::Fma { .. } | Kind::Select | Kind::Compare { .. } => {
                debug_assert!(false, "{kind:?} is emitted with its operands");
            }
        }
    }

    /// A field of the arguments, in rax.
    pub fn argument(&self, asm: &mut Asm, field: usize) {
        asm.mov(RAX, frame_at(self.layout.args));
        asm.mov(RAX, Mem::Base(RAX, field as i32));
    }

    /// The stride per inner element of a slot, as a memory operand. Uses rax.
    fn inner_stride(&self, asm: &mut Asm, slot: u32) -> Mem {
        self.argument(asm, std::mem::offset_of!(KernelArgs, slots));
        Mem::Base(RAX, 8 * (slot as i32 * slot_words(self.code.loops) as i32 + SLOT_INNER as i32))
    }

    fn iota(&self, asm: &mut Asm, slot: u32, ahead: i32, to: u8) {
        let start = frame_at(self.layout.start(self.level, slot));
        let mut value = start;
        if self.moving && self.code.slots[slot as usize].class == Class::Contiguous {
            let stride = self.inner_stride(asm, slot);
            asm.lea(RCX, Mem::Base(INDEX, ahead));
            asm.imul(RCX, stride);
            asm.alu(Alu::Add, RCX, start);
            value = frame_at(self.layout.scratch);
            asm.store(value, RCX);
        } else if let Some(shift) = self.ahead {
            asm.mov(RCX, start);
            shift.add_to(asm, RCX, slot);
            value = frame_at(self.layout.scratch);
            asm.store(value, RCX);
        }
        asm.vector(op::SPLAT_Q, asm.isa.vector(), to, 0, value.into(), None);
    }

    /// Writes the multiples of an iota's stride to its ramp.
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
        asm.alu_imm(Alu::Cmp, RBX, STEP_WORDS as i32);
        asm.jump_if(Cond::NotEqual, top);
    }

    /// Moves the elements that are left of a slot between memory and the staging area: by words, then by
    /// what is left of one; those of a strided load one by one.
    fn stage(&self, asm: &mut Asm, slot: u32, out: bool) {
        let size = size_of(self.kind(slot).dtype);
        let memory = self.slot(asm, slot, 0);
        asm.lea(RAX, memory);
        asm.mov(RDX, frame_at(self.layout.left));
        asm.shl(RDX, size.trailing_zeros() as u8);
        asm.mov_imm(RCX, 0);
        if let Class::Strided(_) = self.kind(slot).class {
            let top = asm.label();
            asm.bind(top);
            asm.load_low(RBX, Mem::Base(RAX, 0), size);
            let to = Mem::Indexed(RSP, RCX, 0, self.layout.staging as i32);
            asm.store_low(to, RBX, size);
            asm.alu_imm(Alu::Add, RAX, self.pitch(slot) as i32);
            asm.alu_imm(Alu::Add, RCX, size as i32);
            asm.alu(Alu::Cmp, RCX, RDX);
            asm.jump_if(Cond::Less, top);
            return;
        }
        let own = Mem::Indexed(RAX, RCX, 0, 0);
        let staged = Mem::Indexed(RSP, RCX, 0, self.layout.staging as i32);
        let (from, to) = if out { (staged, own) } else { (own, staged) };
        let (words, rest) = (asm.label(), asm.label());
        asm.bind(words);
        asm.alu_imm(Alu::Cmp, RDX, 8);
        asm.jump_if(Cond::Less, rest);
        asm.mov(RBX, from);
        asm.store(to, RBX);
        asm.alu_imm(Alu::Add, RCX, 8);
        asm.alu_imm(Alu::Sub, RDX, 8);
        asm.jump(words);
        asm.bind(rest);
        for part in [4, 2, 1].into_iter().filter(|part| *part >= size) {
            let skip = asm.label();
            asm.test_imm(RDX, part as i32);
            asm.jump_if(Cond::Equal, skip);
            asm.load_low(RBX, from, part);
            asm.store_low(to, RBX, part);
            asm.alu_imm(Alu::Add, RCX, part as i32);
            asm.bind(skip);
        }
    }

    /// Works on lanes of 8 bytes one by one, through the frame.
    fn lanes(&self, asm: &mut Asm, lane_op: LaneOp, to: u8, sources: &[Reg]) {
        let whole = asm.isa.vector();
        for (source, area) in sources.iter().zip(self.layout.lanes) {
            asm.vector(op::MOV_STORE, whole, source.0, 0, frame_at(area).into(), None);
        }
        let [first, second, result] = self.layout.lanes;
        for lane in 0..whole.bytes() / 8 {
            let at = |area: u32| frame_at(area + 8 * lane);
            match lane_op {
                LaneOp::I64ToF32 => {
                    asm.vector(op::SI64_TO_SS, Len::X, to, to, at(first).into(), None);
                    asm.vector(op::STORE_D, Len::X, to, 0, frame_at(result + 4 * lane).into(), None);
                }
                LaneOp::F64ToI64 => {
                    asm.vector(op::SD_TO_SI64, Len::X, RAX.0, 0, at(first).into(), None);
                    asm.store(at(result), RAX);
                }
                LaneOp::Divide { signed, rem } => {
                    asm.mov(RAX, at(first));
                    asm.mov(RBX, at(second));
                    let (plain, done) = (asm.label(), asm.label());
                    if signed {
                        // By -1 the least value overflows: its quotient is a negation, every remainder 0.
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
                    asm.store(at(result), if rem { RDX } else { RAX });
                }
            }
        }
        asm.vector(op::MOV_LOAD, whole, to, 0, frame_at(result).into(), None);
    }
}
