//! Copies of a body at neighboring positions: their address registers, and the rows that they gather.

use super::function::FunctionEmitter;
use crate::codegen::abi::{KernelArgs, SLOT_LOOPS, slot_words};
use crate::codegen::simd::asm::{Gpr, Mem, RCX, RDX};
use crate::codegen::simd::emit::{BlockEmitter, EmitContext, SlotShift};
use crate::codegen::simd::ir::{AddressSlice, LoopBody, VectorBlock, frame_mem};
use crate::codegen::simd::select::{SelectPlan, chain_index_insts};

impl FunctionEmitter<'_> {
    /// Loads the address registers of the later copies of a body. The registers of the first copy are loaded already.
    pub fn load_copies(&mut self, body: &LoopBody<'_>) {
        if body.copies == 1 {
            return;
        }
        let (asm, slots) = (&mut self.asm, self.code.slots.len());
        asm.mov(RCX, frame_mem(self.layout.args));
        asm.mov(RCX, Mem::Base(RCX, std::mem::offset_of!(KernelArgs, slots) as i32));
        for slot in &body.slots {
            let slot = *slot as usize;
            // The stride of the slot along the innermost loop.
            let word = slot * slot_words(self.code.loops) + SLOT_LOOPS + body.level - 1;
            asm.mov(RDX, Mem::Base(RCX, 8 * word as i32));
            let copies = (0..body.copies).filter_map(|copy| body.pointers[copy * slots + slot]);
            let copies: Vec<_> = copies.collect();
            for pair in copies.windows(2) {
                asm.lea(pair[1], Mem::Indexed(pair[0], RDX, 0, 0));
            }
        }
    }

    /// Adds the offsets of gathered rows to the address registers of the later copies of a body.
    pub fn place_copies(&mut self, body: &LoopBody<'_>) {
        if body.copies == 1 {
            return;
        }
        // The instructions that compute the offsets of gathered rows.
        let (code, slice) = (self.code, AddressSlice::new(self.code, body));
        if slice.rows.is_empty() {
            return;
        }
        let slots = code.slots.len();
        for copy in 1..body.copies {
            let mut selector = self.selector(body, SelectPlan::one_element());
            selector.select_addresses(&slice.wanted);
            let block = selector.block;
            self.emit_shifted(body, block, copy, &body.pointers[copy * slots..(copy + 1) * slots], false);
        }
    }

    /// Emits a block that runs once, for copy number `copy` of a body with the address registers `pointers`. With
    /// `prefetching`, it runs for the position whose rows are prefetched, which may lie past the end of the loops.
    pub fn emit_shifted(
        &mut self,
        body: &LoopBody<'_>,
        mut block: VectorBlock,
        copy: usize,
        pointers: &[Option<Gpr>],
        prefetching: bool,
    ) {
        // The block runs for another position, so no slot word holds the value of an iota.
        chain_index_insts(&mut block, |_| None);
        // The prefetch area of the frame holds the byte distances between copies. A body without gathered rows has no
        // prefetch area, and its addresses need no shift.
        let lookahead = self.layout.prefetch.as_ref();
        let shift = lookahead.map(|lookahead| {
            let distances = copy.checked_sub(1).map(|copy| &lookahead.copy_distances[copy][..]);
            SlotShift {
                words: [prefetching.then_some(&lookahead.strides[..]), distances],
                speculative: prefetching,
            }
        });
        let context = EmitContext {
            code: self.code,
            layout: &self.layout,
            level: body.level,
            pointers,
            pointers_advance: false,
            shift,
        };
        BlockEmitter::new(&mut self.asm, &block, &context, &mut self.frame, self.isa.registers()).emit();
        self.free_blocks.push(block);
    }
}
