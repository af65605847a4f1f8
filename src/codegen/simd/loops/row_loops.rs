//! The loops of a kernel outside the inner axis: their counters, and the start of each slot in each loop. The start of
//! a slot is its address (for an iota, its value) at inner element 0 of the current row and loop iterations.

use super::function::FunctionEmitter;
use crate::codegen::abi::{KernelArgs, SLOT_LOOPS, slot_words};
use crate::codegen::simd::asm::{Alu, Cond, Mem, RAX, RCX, RDX};
use crate::codegen::simd::ir::frame_mem;

impl FunctionEmitter<'_> {
    /// Emits the loops of a row from `level` on, around `f`.
    pub fn nest(&mut self, slots: &[u32], level: usize, f: &mut dyn FnMut(&mut Self)) {
        self.nest_to(slots, level, self.code.loops as usize, f)
    }

    /// Emits the loops of a row from `level` up to, not including, `end`, around `f`.
    pub fn nest_to(&mut self, slots: &[u32], level: usize, end: usize, f: &mut dyn FnMut(&mut Self)) {
        if level == end {
            return f(self);
        }
        let (top, done) = (self.asm.label(), self.asm.label());
        let counter = self.enter_loop(slots, level);
        self.asm.alu_imm(Alu::Cmp, counter, 0);
        self.asm.jump_if(Cond::LessEqual, done);
        self.asm.bind(top);
        self.nest_to(slots, level + 1, end, f);
        self.advance(level + 1, SLOT_LOOPS + level, slots);
        self.asm.alu_imm(Alu::Sub, counter, 1);
        self.asm.jump_if(Cond::Equal, done);
        self.repeat(counter, 1, top);
        self.asm.bind(done);
    }

    /// Enters a loop: sets its counter, and copies the starts of slots from the enclosing loop. Returns the counter.
    pub fn enter_loop(&mut self, slots: &[u32], level: usize) -> Mem {
        let counter = frame_mem(self.layout.counters[level]);
        let asm = &mut self.asm;
        asm.mov(RAX, frame_mem(self.layout.args));
        asm.mov(RAX, Mem::Base(RAX, std::mem::offset_of!(KernelArgs, extents) as i32));
        asm.mov(RAX, Mem::Base(RAX, 8 * level as i32));
        asm.store(counter, RAX);
        for slot in slots {
            asm.mov(RAX, frame_mem(self.layout.start(level, *slot)));
            asm.store(frame_mem(self.layout.start(level + 1, *slot)), RAX);
        }
        counter
    }

    /// Adds one stride to the starts of slots inside `level` loops. `word` is the index of the stride among a slot's
    /// words (see [`slot_words`]).
    pub fn advance(&mut self, level: usize, word: usize, slots: &[u32]) {
        self.advance_by(1, level, word, slots);
    }

    /// Does the same as [`FunctionEmitter::advance`], but adds `steps` strides. `steps` is a power of two.
    pub fn advance_by(&mut self, steps: usize, level: usize, word: usize, slots: &[u32]) {
        let asm = &mut self.asm;
        asm.mov(RCX, frame_mem(self.layout.args));
        asm.mov(RCX, Mem::Base(RCX, std::mem::offset_of!(KernelArgs, slots) as i32));
        for slot in slots {
            let first_word = *slot as usize * slot_words(self.code.loops);
            asm.mov(RDX, Mem::Base(RCX, 8 * (first_word + word) as i32));
            if steps > 1 {
                asm.shl(RDX, steps.trailing_zeros() as u8);
            }
            asm.add_to(frame_mem(self.layout.start(level, *slot)), RDX);
        }
    }
}
