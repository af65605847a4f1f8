//! Prefetching of gathered rows. The code computes their addresses [`DISTANCE`] positions ahead, because the
//! processor's own prefetching cannot predict them.

use super::function::FunctionEmitter;
use crate::codegen::abi::{KernelArgs, SLOT_LOOPS, SLOT_ROW, slot_words};
use crate::codegen::repr::size_of;
use crate::codegen::simd::asm::{Alu, Cond, Mem, RAX, RCX, RDX};
use crate::codegen::simd::ir::{AddressSlice, LoopBody, frame_mem};
use crate::codegen::simd::select::{CodeVariant, SelectPlan};
use crate::lower::kernel_body::{KernelBody, SlotUse};

/// The number of positions (of the innermost loop, or rows in a kernel without loops) between a row that is read and
/// the row that is prefetched at the same time. A power of two.
const DISTANCE: i32 = 32;
/// The largest number of bytes of a row that are prefetched. The processor itself prefetches the rest of a longer row.
const MAX_ROW_BYTES: i32 = 512;
/// Bytes of a cache line.
const LINE: i32 = 64;

/// Returns which of a slot's words holds the stride of the slot along the innermost loop, or along rows in a kernel
/// without loops.
pub(super) fn innermost_stride(code: &KernelBody) -> usize {
    if code.loops > 0 { SLOT_LOOPS + code.loops as usize - 1 } else { SLOT_ROW }
}

impl FunctionEmitter<'_> {
    /// Stores in the frame the words that [`FunctionEmitter::prefetch`] reads: the distances, the number of bytes to
    /// prefetch of each gathered row, and the flag `rows_continue_loop`. The flag is 1 if each row starts one loop
    /// stride after the last position of the previous row. Prefetching then continues in the next row.
    pub fn enter_prefetch(&mut self) {
        let code = self.code;
        let Some(lookahead) = &self.layout.prefetch else { return };
        let asm = &mut self.asm;
        let args = frame_mem(self.layout.args);
        let words = slot_words(code.loops);
        let inner = innermost_stride(code);
        asm.mov(RCX, args);
        asm.mov(RCX, Mem::Base(RCX, std::mem::offset_of!(KernelArgs, slots) as i32));
        for (slot, ahead) in lookahead.strides.iter().enumerate() {
            asm.mov(RAX, Mem::Base(RCX, 8 * (slot * words + inner) as i32));
            asm.shl(RAX, DISTANCE.trailing_zeros() as u8);
            asm.store(frame_mem(*ahead), RAX);
        }
        for (slot, slot_type) in code.slots.iter().enumerate() {
            asm.mov(RAX, Mem::Base(RCX, 8 * (slot * words + inner) as i32));
            asm.mov(RDX, RAX);
            for distances in &lookahead.copy_distances {
                asm.store(frame_mem(distances[slot]), RDX);
                asm.alu(Alu::Add, RDX, RAX);
            }
            if slot_type.used == SlotUse::Gather {
                let short = asm.label();
                asm.mov(RDX, frame_mem(self.layout.n));
                asm.shl(RDX, size_of(slot_type.dtype).trailing_zeros() as u8);
                asm.alu_imm(Alu::Cmp, RDX, MAX_ROW_BYTES);
                asm.jump_if(Cond::LessEqual, short);
                asm.mov_imm(RDX, MAX_ROW_BYTES);
                asm.bind(short);
                asm.store(frame_mem(lookahead.bytes[slot]), RDX);
            }
        }
        let rows_continue_loop = frame_mem(lookahead.rows_continue_loop);
        asm.store_imm(rows_continue_loop, 0);
        if code.loops != 1 {
            return;
        }
        let uneven = asm.label();
        asm.mov(RDX, args);
        asm.mov(RDX, Mem::Base(RDX, std::mem::offset_of!(KernelArgs, extents) as i32));
        asm.mov(RDX, Mem::Base(RDX, 0));
        let mut slots: Vec<u32> = AddressSlice::of_passes(code).flat_map(|slice| slice.slots).collect();
        slots.sort_unstable();
        slots.dedup();
        for slot in slots {
            let first_word = slot as usize * words;
            asm.mov(RAX, Mem::Base(RCX, 8 * (first_word + inner) as i32));
            asm.imul(RAX, RDX);
            asm.alu(Alu::Cmp, RAX, Mem::Base(RCX, 8 * (first_word + SLOT_ROW) as i32));
            asm.jump_if(Cond::NotEqual, uneven);
        }
        asm.store_imm(rows_continue_loop, 1);
        asm.bind(uneven);
    }

    /// Prefetches the rows that a body gathers [`DISTANCE`] positions later, if such a position exists.
    pub fn prefetch(&mut self, body: &LoopBody<'_>, variant: CodeVariant) {
        let Some(lookahead) = &self.layout.prefetch else { return };
        let rows_continue_loop = frame_mem(lookahead.rows_continue_loop);
        let (code, slice) = (self.code, AddressSlice::new(self.code, body));
        if variant.strided_rows || body.level != code.loops as usize || slice.slots.is_empty() {
            return;
        }
        let none_ahead = self.asm.label();
        let asm = &mut self.asm;
        // rax: the number of remaining positions.
        match self.layout.counters.last() {
            None => asm.mov(RAX, frame_mem(self.layout.rows)),
            Some(counter) => {
                let within_row = asm.label();
                asm.mov(RAX, frame_mem(*counter));
                asm.alu_imm(Alu::Cmp, rows_continue_loop, 0);
                asm.jump_if(Cond::Equal, within_row);
                asm.mov(RCX, frame_mem(self.layout.args));
                asm.mov(RCX, Mem::Base(RCX, std::mem::offset_of!(KernelArgs, extents) as i32));
                asm.mov(RDX, frame_mem(self.layout.rows));
                asm.alu_imm(Alu::Sub, RDX, 1);
                asm.imul(RDX, Mem::Base(RCX, 0));
                asm.alu(Alu::Add, RAX, RDX);
                asm.bind(within_row);
            }
        }
        asm.alu_imm(Alu::Cmp, RAX, DISTANCE + body.copies as i32 - 1);
        asm.jump_if(Cond::LessEqual, none_ahead);
        let strides = lookahead.strides.clone();
        self.load_pointers(body);
        let slots = code.slots.len();
        let mut moved: Vec<usize> =
            slice.rows.iter().chain(&slice.slots).map(|slot| *slot as usize).collect();
        moved.retain(|slot| code.slots[*slot].used == SlotUse::Gather);
        moved.sort_unstable();
        moved.dedup();
        for copy in 0..body.copies {
            // The pointer registers of the slots that are not gathered hold current addresses. The prefetch needs later
            // addresses, so it computes the addresses of these slots from memory.
            let mut pointers = vec![None; slots];
            for &slot in &moved {
                pointers[slot] = body.pointers[copy * slots + slot];
                match pointers[slot] {
                    Some(pointer) => self.asm.alu(Alu::Add, pointer, frame_mem(strides[slot])),
                    None => {
                        self.asm.mov(RAX, frame_mem(strides[slot]));
                        self.asm.add_to(frame_mem(self.layout.gathers[slot].address), RAX);
                    }
                }
            }
            let plan = SelectPlan { speculative: true, ..SelectPlan::one_element() };
            let mut selector = self.selector(body, plan);
            selector.select_addresses(&slice.wanted);
            let block = selector.block;
            self.emit_shifted(body, block, copy, &pointers, true);
        }
        for slot in &slice.rows {
            self.prefetch_rows(body, *slot as usize);
        }
        self.asm.bind(none_ahead);
    }

    /// Prefetches the gathered rows of a slot, one row per copy of the body: the first cache line of every row, then
    /// the second line of every row, and so on.
    fn prefetch_rows(&mut self, body: &LoopBody<'_>, slot: usize) {
        let lookahead = self.layout.prefetch.as_ref().expect("only a kernel that prefetches comes here");
        let line = self.asm.label();
        let asm = &mut self.asm;
        asm.mov_imm(RCX, 0);
        asm.bind(line);
        for copy in 0..body.copies {
            let row = match body.pointers[copy * self.code.slots.len() + slot] {
                Some(pointer) => pointer,
                None => {
                    asm.mov(RAX, frame_mem(self.layout.gathers[slot].address));
                    RAX
                }
            };
            asm.prefetch(Mem::Indexed(row, RCX, 0, 0));
        }
        asm.alu_imm(Alu::Add, RCX, LINE);
        asm.alu(Alu::Cmp, RCX, frame_mem(lookahead.bytes[slot]));
        asm.jump_if(Cond::Less, line);
    }
}
