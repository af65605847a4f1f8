//! Reading ahead. A row reduction that reads memory spends its time on waiting: the processor's own prefetching asks
//! for too few cache lines at a time, and stops at the end of a page. So the code prefetches the bytes that lie
//! [`AHEAD`] after each load, if the next row follows in memory or the row is long. It skips what an earlier pass read.

use super::frame_demands::slots_read_ahead;
use super::function::FunctionEmitter;
use super::prefetch::innermost_stride;
use crate::codegen::abi::{KernelArgs, slot_words};
use crate::codegen::repr::size_of;
use crate::codegen::simd::asm::{Alu, Cond, Mem, RAX, RCX, RDX};
use crate::codegen::simd::ir::roles::INDEX;
use crate::codegen::simd::ir::{LoopBody, frame_mem};
use crate::lower::kernel_body::Pass;

/// The distance, in bytes, from the element that is read to the element that is prefetched. A shorter distance hides
/// less of the time that memory takes. With a longer one, lines leave the caches before they are read.
const AHEAD: i32 = 6 << 10;
/// A row of at least this number of bytes is read ahead even if the next row lies elsewhere. Then the code prefetches
/// [`AHEAD`] bytes after its end in vain.
const LONG_ROW: i32 = 16 * AHEAD;
/// Bytes of a cache line.
const LINE: i32 = 64;

impl FunctionEmitter<'_> {
    /// Stores in the frame the distance of the prefetches of each slot: [`AHEAD`] bytes if its rows are adjacent or
    /// long, else 0 bytes, so that the prefetches have no effect.
    pub fn enter_read_ahead(&mut self) {
        let (asm, code) = (&mut self.asm, self.code);
        if self.layout.ahead.iter().all(Option::is_none) {
            return;
        }
        asm.mov(RCX, frame_mem(self.layout.args));
        asm.mov(RCX, Mem::Base(RCX, std::mem::offset_of!(KernelArgs, slots) as i32));
        for (slot, word) in self.layout.ahead.iter().enumerate() {
            let Some(word) = word else { continue };
            let ahead = asm.label();
            let stride = slot * slot_words(code.loops) + innermost_stride(code);
            asm.mov_imm(RDX, size_of(code.slots[slot].dtype) as i32);
            asm.imul(RDX, frame_mem(self.layout.n));
            asm.store_imm(frame_mem(*word), AHEAD);
            asm.alu(Alu::Cmp, RDX, Mem::Base(RCX, 8 * stride as i32));
            asm.jump_if(Cond::Equal, ahead);
            asm.alu_imm(Alu::Cmp, RDX, LONG_ROW);
            asm.jump_if(Cond::GreaterEqual, ahead);
            asm.store_imm(frame_mem(*word), 0);
            asm.bind(ahead);
        }
    }

    /// Prefetches for the next `elements` elements of a pass. Changes rax.
    pub fn read_ahead(&mut self, pass: &Pass, body: &LoopBody<'_>, elements: u32) {
        for slot in slots_read_ahead(self.code, pass) {
            let slot = slot as usize;
            let (Some(pointer), Some(word)) = (body.pointers[slot], self.layout.ahead[slot]) else {
                continue;
            };
            let size = size_of(self.code.slots[slot].dtype);
            self.asm.mov(RAX, frame_mem(word));
            self.asm.alu(Alu::Add, RAX, pointer);
            self.asm.lea(RAX, Mem::Indexed(RAX, INDEX, size.trailing_zeros() as u8, 0));
            for line in (0..(elements * size) as i32).step_by(LINE as usize) {
                self.asm.prefetch(Mem::Base(RAX, line));
            }
        }
    }
}
