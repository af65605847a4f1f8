//! Reductions of several rows, or of several tiles of one row, side by side. Each row or tile is a stream: one copy of
//! the loop body reads it into accumulators of its own. The streams take turns, so memory serves several sequences of
//! cache lines at a time. Each turn of a stream prefetches what the stream reads in the next group of rows or tiles: a
//! processor stops its own prefetching at the end of a page, and many rows are about as short as a page.

use super::function::FunctionEmitter;
use super::row_reduce::{Accumulators, round_elements};
use crate::codegen::abi::SLOT_ROW;
use crate::codegen::repr::element_pitch;
use crate::codegen::simd::asm::{Alu, Cond, Label, Mem, RAX, RBX, RSP, opcode};
use crate::codegen::simd::ir::roles::{END, INDEX};
use crate::codegen::simd::ir::{CopySpacing, LoopBody, frame_mem};
use crate::codegen::simd::select::{CodeVariant, SelectPlan};
use crate::lower::kernel_body::{AccessPattern, LaneLayout, Pass, REDUCE_BYTES, REDUCE_TILE};

/// The number of streams of a reduction that reads one slot. A processor follows few sequences of cache lines at a
/// time, so more of them take longer.
const STREAMS: usize = 4;
/// The largest number of elements that a stream reduces in its turn: a multiple of every [`round_elements`].
const TURN: i32 = 128;
/// The least number of elements of a row for which rows are reduced side by side.
const MIN_STREAM_ROW: i32 = 2 * TURN;
/// Bytes of a cache line.
const LINE: i32 = 64;

/// Returns the number of streams of a reduction that reads `slots` slots, before the limits of [`LoopBody::copied`]. A
/// row of several slots reads several sequences of cache lines already; a second row beside it makes the reduction
/// slower.
fn stream_count(slots: usize) -> usize {
    if slots == 1 { STREAMS } else { 1 }
}

impl FunctionEmitter<'_> {
    /// Allocates areas of the frame for the accumulators of streams. Returns their offsets, indexed by stream and
    /// reduction.
    fn stream_areas(&mut self, pass: &Pass, streams: usize) -> Vec<Vec<u32>> {
        let bytes = REDUCE_BYTES as u32;
        let first_area = self.frame.area(bytes * (streams * pass.reduces.len()) as u32, 64);
        let of_stream = |stream| {
            (0..pass.reduces.len())
                .map(move |reduce| first_area + bytes * (stream * pass.reduces.len() + reduce) as u32)
        };
        (0..streams).map(|stream| of_stream(stream).collect()).collect()
    }

    /// Reduces the first `length` elements of each stream into its accumulators in `areas`. `length` is a multiple of
    /// [`round_elements`] and not 0. `first` is the first accumulator register.
    fn reduce_streams(
        &mut self,
        pass: &Pass,
        body: &LoopBody<'_>,
        first: u8,
        length: Mem,
        areas: &[Vec<u32>],
        variant: CodeVariant,
    ) {
        let uniforms = self.emit_uniform(body);
        let plan = SelectPlan { variant, uniforms: &uniforms, ..SelectPlan::one_element() };
        for area in areas {
            for (reduce, area) in pass.reduces.iter().zip(area) {
                self.store_identity(*reduce, *area);
            }
        }
        let ahead = self.store_group_strides(body);
        let turn = frame_mem(self.frame.word());
        let [top, full_turn] = std::array::from_fn(|_| self.asm.label());
        self.asm.mov_imm(INDEX, 0);
        self.asm.bind(top);
        self.asm.store(turn, INDEX);
        self.asm.lea(END, Mem::Base(INDEX, TURN));
        self.asm.alu(Alu::Cmp, END, length);
        self.asm.jump_if(Cond::LessEqual, full_turn);
        self.asm.mov(END, length);
        self.asm.bind(full_turn);
        let pressure = self.reduce_step(pass, body, plan, false).pressure();
        for (stream, area) in areas.iter().enumerate() {
            self.asm.mov(INDEX, turn);
            self.prefetch_next_group(body, stream, &ahead);
            self.load_accumulators(first, area);
            self.emit_rounds(pass, body, plan, Accumulators::Registers(first), stream as u32, pressure);
            self.store_accumulators(first, area);
        }
        self.asm.alu(Alu::Cmp, INDEX, length);
        self.asm.jump_if(Cond::Less, top);
    }

    /// Stores in the frame, for each slot whose elements are adjacent, the number of bytes from a row or tile of this
    /// group to the row or tile that the same stream reads next. Returns these slots and the numbers.
    fn store_group_strides(&mut self, body: &LoopBody<'_>) -> Vec<(usize, Mem)> {
        let code = self.code;
        let mut strides = Vec::new();
        for slot in body.slots.iter().map(|slot| *slot as usize) {
            let of_stream = |stream: usize| body.pointers[stream * code.slots.len() + slot];
            let (Some(first), Some(second)) = (of_stream(0), of_stream(1)) else { continue };
            if code.slots[slot].pattern != AccessPattern::Contiguous {
                continue;
            }
            // Neighboring streams have the same distance everywhere, so the next group is `copies` distances ahead.
            let stride = frame_mem(self.frame.word());
            self.asm.mov(RAX, second);
            self.asm.alu(Alu::Sub, RAX, first);
            self.asm.shl(RAX, body.copies.trailing_zeros() as u8);
            self.asm.store(stride, RAX);
            strides.push((slot, stride));
        }
        strides
    }

    /// Prefetches the cache lines that a stream reads one group later, in the turn that starts at the current element.
    fn prefetch_next_group(&mut self, body: &LoopBody<'_>, stream: usize, strides: &[(usize, Mem)]) {
        for &(slot, stride) in strides {
            let Some(pointer) = body.pointers[stream * self.code.slots.len() + slot] else { continue };
            let size = element_pitch(&self.code.slots[slot]);
            self.asm.mov(RAX, stride);
            self.asm.alu(Alu::Add, RAX, pointer);
            self.asm.lea(RAX, Mem::Indexed(RAX, INDEX, size.trailing_zeros() as u8, 0));
            for line in (0..TURN * size as i32).step_by(LINE as usize) {
                self.asm.prefetch(Mem::Base(RAX, line));
            }
        }
    }

    /// Reduces full tiles of the current row side by side, from the current element on, while each stream has one. Does
    /// nothing if the accumulators are in the frame or the body cannot be copied.
    pub fn reduce_tiles(
        &mut self,
        pass: &Pass,
        body: &LoopBody<'_>,
        accumulators: Accumulators,
        variant: CodeVariant,
    ) {
        let Accumulators::Registers(first) = accumulators else { return };
        let Some(body) = body.copied(self.code, stream_count, CopySpacing::Tile) else { return };
        let areas = self.stream_areas(pass, body.copies);
        let (base, length) = (frame_mem(self.frame.word()), frame_mem(self.frame.word()));
        let elements = (body.copies * REDUCE_TILE) as i32;
        let [top, done] = std::array::from_fn(|_| self.asm.label());
        self.asm.store_imm(length, REDUCE_TILE as i32);
        self.asm.bind(top);
        self.asm.lea(RAX, Mem::Base(INDEX, elements));
        self.asm.alu(Alu::Cmp, RAX, frame_mem(self.layout.n));
        self.asm.jump_if(Cond::Greater, done);
        self.asm.store(base, INDEX);
        self.load_pointers(&body);
        // The streams count their elements from 0, so their addresses start at the current element.
        for slot in &body.slots {
            let slot = *slot as usize;
            self.asm.mov_imm(RAX, element_pitch(&self.code.slots[slot]) as i32);
            self.asm.imul(RAX, INDEX);
            for copy in 0..body.copies {
                if let Some(pointer) = body.pointers[copy * self.code.slots.len() + slot] {
                    self.asm.alu(Alu::Add, pointer, RAX);
                }
            }
        }
        self.reduce_streams(pass, &body, first, length, &areas, variant);
        for area in &areas {
            self.add_to_totals(pass, &body, area);
        }
        self.asm.mov(INDEX, base);
        self.asm.alu_imm(Alu::Add, INDEX, elements);
        self.poll();
        self.asm.jump(top);
        self.asm.bind(done);
    }

    /// Reduces rows side by side, in a row kernel with one pass and without loops around the inner axis.
    ///
    /// At run time, the code checks two conditions: at least one row remains for each stream, and the length of a row
    /// is at least [`MIN_STREAM_ROW`], at most one tile ([`REDUCE_TILE`]), and a multiple of [`round_elements`]. If a
    /// condition does not hold, control passes to the code that is emitted next, which reduces a single row. After the
    /// rows, the code jumps to `row`, or to `done` if no row remains.
    pub fn reduce_rows(&mut self, row: Label, done: Label) {
        let code = self.code;
        let [pass] = &code.passes[..] else { return };
        if code.layout != LaneLayout::Row || code.loops > 0 || pass.reduces.is_empty() {
            return;
        }
        let Accumulators::Registers(first) = self.accumulators(pass) else { return };
        let body = LoopBody::new(code, &pass.body, &pass.reduces, 0);
        let Some(several) = body.copied(code, stream_count, CopySpacing::Row) else { return };
        let areas = self.stream_areas(pass, several.copies);
        let (rows, n) = (frame_mem(self.layout.rows), frame_mem(self.layout.n));
        let [plain, each] = std::array::from_fn(|_| self.asm.label());
        self.asm.alu_imm(Alu::Cmp, rows, several.copies as i32);
        self.asm.jump_if(Cond::Less, plain);
        self.asm.mov(RAX, n);
        self.asm.alu_imm(Alu::Cmp, RAX, MIN_STREAM_ROW);
        self.asm.jump_if(Cond::Less, plain);
        self.asm.alu_imm(Alu::Cmp, RAX, REDUCE_TILE as i32);
        self.asm.jump_if(Cond::Greater, plain);
        self.asm.test_imm(RAX, round_elements(pass) as i32 - 1);
        self.asm.jump_if(Cond::NotEqual, plain);
        self.load_pointers(&several);
        self.reduce_streams(pass, &several, first, n, &areas, CodeVariant::default());
        // The results of each stream become the totals of its row, one row after the other.
        let (stream_offset, bytes) =
            (frame_mem(self.frame.word()), (REDUCE_BYTES * pass.reduces.len()) as i32);
        self.asm.store_imm(stream_offset, 0);
        self.asm.bind(each);
        self.asm.mov(RBX, stream_offset);
        let len = self.isa.vector();
        for (from, to) in areas[0].iter().zip(self.layout.totals.clone()) {
            for offset in (0..REDUCE_BYTES as u32).step_by(len.bytes() as usize) {
                let from = Mem::Indexed(RSP, RBX, 0, (from + offset) as i32);
                self.asm.vector(opcode::MOV_LOAD, len, 0, 0, from.into(), None);
                self.asm.vector(opcode::MOV_STORE, len, 0, 0, frame_mem(to + offset).into(), None);
            }
        }
        self.finish_reductions(pass, &body);
        self.epilogue();
        let slots: Vec<u32> = (0..code.slots.len() as u32).collect();
        self.advance(0, SLOT_ROW, &slots);
        self.asm.alu_imm(Alu::Add, stream_offset, bytes);
        self.asm.alu_imm(Alu::Cmp, stream_offset, bytes * several.copies as i32);
        self.asm.jump_if(Cond::NotEqual, each);
        self.asm.alu_imm(Alu::Sub, rows, several.copies as i32);
        self.asm.jump_if(Cond::NotEqual, row);
        self.asm.jump(done);
        self.asm.bind(plain);
    }
}
