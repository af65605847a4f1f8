//! `EmitContext`: where a block finds its slots. A block is straight-line code.

use crate::codegen::abi::{KernelArgs, SLOT_INNER, slot_words};
use crate::codegen::repr;
use crate::codegen::simd::asm::{Alu, Asm, Gpr, Mem, RAX, RBX, RSP};
use crate::codegen::simd::ir::roles::INDEX;
use crate::codegen::simd::ir::{FrameLayout, LoopBody, MemRef, frame_mem};
use crate::lower::kernel_body::{KernelBody, REDUCE_BYTES, SlotType, SlotUse, TILE};

/// The surroundings of a block that its instructions refer to.
pub(crate) struct EmitContext<'a> {
    pub code: &'a KernelBody,
    pub layout: &'a FrameLayout,
    /// The number of loops around the block.
    pub level: usize,
    /// The address register of each slot of each copy of the loop body, if the slot has one. Slot `s` of copy `c` has
    /// the index `c * code.slots.len() + s`.
    pub pointers: &'a [Option<Gpr>],
    /// Whether the block accesses each slot at the current element. If not, the block accesses the start of each slot.
    pub pointers_advance: bool,
    /// The position that the block runs for, if it differs from the current position.
    pub shift: Option<SlotShift<'a>>,
}

/// A later position of the loops, as a distance from the current position.
#[derive(Clone, Copy)]
pub(crate) struct SlotShift<'a> {
    /// Up to two lists of frame offsets. Entry `s` of a list is the offset of a word of slot `s`. The words of a slot
    /// add up to the distance of the slot in bytes.
    pub words: [Option<&'a [u32]>; 2],
    /// Whether the position may lie past the end of the loops. A check that fails there is no error.
    pub speculative: bool,
}

impl SlotShift<'_> {
    /// Adds the distance of a slot to `to`.
    pub fn add_to(&self, asm: &mut Asm, to: Gpr, slot: u32) {
        for words in self.words.iter().flatten() {
            asm.alu(Alu::Add, to, frame_mem(words[slot as usize]));
        }
    }
}

impl<'a> EmitContext<'a> {
    /// Makes the context of a block of a body.
    pub fn new(
        code: &'a KernelBody,
        layout: &'a FrameLayout,
        body: &'a LoopBody<'_>,
        pointers_advance: bool,
    ) -> EmitContext<'a> {
        EmitContext {
            code,
            layout,
            level: body.level,
            pointers: &body.pointers,
            pointers_advance,
            shift: None,
        }
    }

    /// Makes the context of code outside all loops.
    pub fn outside_loops(code: &'a KernelBody, layout: &'a FrameLayout) -> EmitContext<'a> {
        EmitContext { code, layout, level: 0, pointers: &[], pointers_advance: false, shift: None }
    }
}

impl EmitContext<'_> {
    /// Returns the type of a slot. `slot` may be an index of [`EmitContext::pointers`]: a slot of a copy.
    pub fn slot_type(&self, slot: u32) -> &SlotType {
        &self.code.slots[slot as usize % self.code.slots.len()]
    }

    /// Returns the address register of a slot.
    pub fn pointer(&self, slot: u32) -> Option<Gpr> {
        self.pointers.get(slot as usize).copied().flatten()
    }

    /// Returns the number of bytes from an element of a slot to the next.
    pub fn element_pitch(&self, slot: u32) -> u32 {
        repr::element_pitch(self.slot_type(slot))
    }

    /// Returns the memory `offset` bytes past the current element of a slot. The code may overwrite rax and rbx.
    pub fn slot_mem(&self, asm: &mut Asm, slot: u32, offset: i32) -> Mem {
        let kind = self.slot_type(slot);
        let base = match self.pointer(slot) {
            Some(pointer) => pointer,
            None => {
                let start = match kind.used {
                    SlotUse::Gather => self.layout.gathers[slot as usize].address,
                    _ => self.layout.start(self.level, slot),
                };
                asm.mov(RAX, frame_mem(start));
                if let Some(shift) = self.shift
                    && kind.used != SlotUse::Gather
                {
                    shift.add_to(asm, RAX, slot);
                }
                RAX
            }
        };
        let bytes = self.element_pitch(slot);
        if !self.pointers_advance || bytes == 0 {
            return Mem::Base(base, offset);
        }
        // A pitch is 1 to 4 elements of at most 8 bytes, so `factor` is 1, 2, 3 or 4.
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

    /// Returns the memory of [`EmitContext::slot_mem`] as an operand that stays valid for the whole block. `None` if
    /// the operand would need code or scratch registers.
    pub fn stable_slot_mem(&self, slot: u32, offset: i32) -> Option<Mem> {
        let base = self.pointer(slot)?;
        let bytes = self.element_pitch(slot);
        match bytes {
            0 => Some(Mem::Base(base, offset)),
            1 | 2 | 4 | 8 if self.pointers_advance => {
                Some(Mem::Indexed(base, INDEX, bytes.trailing_zeros() as u8, offset))
            }
            1 | 2 | 4 | 8 => Some(Mem::Base(base, offset)),
            _ => None,
        }
    }

    /// Returns the memory that a memory operand of the block names. The code may overwrite rax and rbx.
    pub fn mem(&self, asm: &mut Asm, mem: MemRef) -> Mem {
        match mem {
            MemRef::Slot(slot, offset) => self.slot_mem(asm, slot, offset),
            MemRef::Frame(offset) => frame_mem(offset),
            MemRef::AccumulatorLane(offset, bytes) => {
                asm.mov(RBX, INDEX);
                asm.shl(RBX, bytes.trailing_zeros() as u8);
                asm.alu_imm(Alu::And, RBX, REDUCE_BYTES as i32 - 1);
                Mem::Indexed(RSP, RBX, 0, offset as i32)
            }
            MemRef::Tile(reduce, bytes, offset) => {
                asm.mov(RAX, frame_mem(self.layout.tile));
                let start = reduce as i32 * 8 * TILE as i32 + offset;
                Mem::Indexed(RAX, INDEX, bytes.trailing_zeros() as u8, start)
            }
        }
    }

    /// Loads a field of the arguments into rax.
    pub fn load_argument(&self, asm: &mut Asm, field: usize) {
        asm.mov(RAX, frame_mem(self.layout.args));
        asm.mov(RAX, Mem::Base(RAX, field as i32));
    }

    /// Returns the stride of a slot along the inner axis, as a memory operand based on rax.
    pub fn inner_stride(&self, asm: &mut Asm, slot: u32) -> Mem {
        self.load_argument(asm, std::mem::offset_of!(KernelArgs, slots));
        Mem::Base(RAX, 8 * (slot as i32 * slot_words(self.code.loops) as i32 + SLOT_INNER as i32))
    }
}
