//! The inner axis: unrolled steps, single steps, and the remaining elements under a mask.

use super::function::FunctionEmitter;
use crate::codegen::abi::KernelArgs;
use crate::codegen::repr::size_of;
use crate::codegen::simd::asm::{Alu, Cond, Label, Mem, RAX, RCX, RDX, VectorIsa, opcode};
use crate::codegen::simd::emit::{BlockEmitter, EmitContext};
use crate::codegen::simd::ir::roles::{END, INDEX, TAIL_MASK};
use crate::codegen::simd::ir::{LoopBody, ValueOrigin, VectorBlock, frame_mem};
use crate::codegen::simd::select::{CodeVariant, SelectMode, SelectPlan, inst_order};
use crate::lower::kernel_body::{AccessPattern, InstOp, LaneLayout, ReduceStep, SlotUse};

/// The largest number of instructions of a body whose result may bypass the caches. A longer body spends its time on
/// computation, so that it would gain nothing.
const MAX_STREAMED_INSTS: usize = 96;
/// Bytes of a cache line.
const LINE: i32 = 64;

impl FunctionEmitter<'_> {
    /// Selects one step of a body, with its instructions in the order `order`. `reduces` are the column reductions at
    /// the end of the step.
    fn step(
        &mut self,
        body: &LoopBody<'_>,
        order: &[u32],
        plan: SelectPlan<'_>,
        reduces: &[ReduceStep],
    ) -> VectorBlock {
        let mut selector = self.selector(body, plan);
        match reduces {
            [] => selector.select_varying(order),
            reduces => selector.reduce_in_tile(reduces, order),
        }
        selector.block
    }

    /// Emits the inner axis: unrolled steps, single steps, then the remaining elements under a mask.
    ///
    /// If the result may bypass the caches, the unrolled loop exists twice: see [`FunctionEmitter::choose_streaming`].
    /// Only unrolled steps bypass the caches. They start at the first address of a cache line.
    pub fn walk(&mut self, body: &LoopBody<'_>, reduces: &[ReduceStep], variant: CodeVariant) {
        let [plain, aligned, done] = std::array::from_fn(|_| self.asm.label());
        self.asm.mov(END, frame_mem(self.layout.n));
        self.asm.test(END, END);
        self.asm.jump_if(Cond::LessEqual, done);
        self.prefetch(body, variant);
        self.load_pointers(body);
        let uniforms = self.emit_uniform(body);
        self.place_copies(body);
        self.asm.mov_imm(INDEX, 0);
        let plan = |unroll, masked| SelectPlan {
            mode: SelectMode::Step { unroll, ahead: 0, masked },
            variant,
            uniforms: &uniforms,
            speculative: false,
        };
        let order = inst_order(body.insts, &body.uniform, self.isa);
        let single = self.step(body, &order, plan(1, false), reduces);
        let unroll = if variant.cold { 1 } else { unroll_factor(self.isa, single.pressure()) };
        let registers = self.isa.registers();
        let streamed = if reduces.is_empty() && !variant.cold { self.streamed_result(body) } else { None };
        if unroll > 1 || streamed.is_some() {
            let block = self.step(body, &order, plan(unroll, false), reduces);
            if let Some((slot, size)) = streamed {
                self.choose_streaming(body, slot, size, plain, aligned);
                self.asm.bind(aligned);
                self.asm.mov(END, frame_mem(self.layout.n));
            }
            let start = self.asm.bytes.len();
            self.emit_steps(body, block, unroll * self.isa.step(), registers);
            if streamed.is_some() {
                let end = self.asm.bytes.len();
                self.asm.bind(plain);
                if unroll > 1 {
                    self.asm.duplicate_from(start);
                }
                self.asm.make_stores_bypass_caches(start..end);
            }
        }
        self.emit_steps(body, single, self.isa.step(), registers);
        let block = self.step(body, &order, plan(1, true), reduces);
        self.emit_remaining(body, block);
        if streamed.is_some() {
            let leading = frame_mem(self.layout.leading);
            self.asm.alu_imm(Alu::Cmp, leading, 0);
            self.asm.store_imm(leading, 0);
            self.asm.jump_if(Cond::NotEqual, aligned);
        }
        self.asm.bind(done);
    }

    /// Returns the slot and the element size of a result that may bypass the caches. It must be the only result of a
    /// body of at most [`MAX_STREAMED_INSTS`] instructions, in a row kernel without loops around the inner axis and
    /// without an epilogue. Its elements must be adjacent and have at least 4 bytes, so that vectors are stored as they
    /// are.
    fn streamed_result(&self, body: &LoopBody<'_>) -> Option<(u32, u32)> {
        let code = self.code;
        let plain = code.layout == LaneLayout::Row && code.loops == 0 && code.epilogue.is_empty();
        if !plain || body.insts.len() > MAX_STREAMED_INSTS {
            return None;
        }
        let mut stores = body.insts.iter().filter_map(|inst| match inst.op {
            InstOp::Store { slot, .. } | InstOp::StorePair { slot, .. } => Some(slot),
            _ => None,
        });
        let (slot, None) = (stores.next()?, stores.next()) else { return None };
        let slot_type = &code.slots[slot as usize];
        let size = size_of(slot_type.dtype);
        let is_streamable =
            slot_type.pattern == AccessPattern::Contiguous && slot_type.used == SlotUse::Store && size >= 4;
        is_streamable.then_some((slot, size))
    }

    /// Chooses between the two copies of the unrolled loop at run time.
    ///
    /// The loop at `plain` stores the result through the caches. The loop at `aligned` bypasses the caches and starts
    /// at a whole cache line. For a row that bypasses the caches, the code runs `plain` only for the elements before
    /// the first whole cache line, and then jumps to `aligned`. If there are none, it jumps to `aligned` at once. If an
    /// element straddles two lines, or the row ends before its first whole line, the code runs `plain` for all
    /// elements.
    fn choose_streaming(&mut self, body: &LoopBody<'_>, slot: u32, size: u32, plain: Label, aligned: Label) {
        let asm = &mut self.asm;
        asm.mov(RCX, frame_mem(self.layout.args));
        asm.mov(RCX, Mem::Base(RCX, std::mem::offset_of!(KernelArgs, stream) as i32));
        asm.test(RCX, RCX);
        asm.jump_if(Cond::Equal, plain);
        // A row of at least `stream` (rcx) bytes bypasses the caches; if `stream` is 0, none does. A shorter row
        // bypasses them only if it consists of whole lines, because non-temporal stores of partial lines are slow.
        let bypasses = asm.label();
        let start = frame_mem(self.layout.start(body.level, slot));
        asm.mov(RAX, END);
        asm.shl(RAX, size.trailing_zeros() as u8);
        asm.alu(Alu::Cmp, RAX, RCX);
        asm.jump_if(Cond::GreaterEqual, bypasses);
        asm.alu(Alu::Or, RAX, start);
        asm.test_imm(RAX, LINE - 1);
        asm.jump_if(Cond::NotEqual, plain);
        asm.bind(bypasses);
        asm.mov(RAX, start);
        asm.neg(RAX);
        asm.store_imm(frame_mem(self.layout.needs_fence), 1);
        asm.alu_imm(Alu::And, RAX, LINE - 1);
        asm.jump_if(Cond::Equal, aligned);
        asm.test_imm(RAX, size as i32 - 1);
        asm.jump_if(Cond::NotEqual, plain);
        asm.shr(RAX, size.trailing_zeros() as u8);
        asm.alu(Alu::Cmp, RAX, END);
        asm.jump_if(Cond::GreaterEqual, plain);
        asm.mov(END, RAX);
        asm.store_imm(frame_mem(self.layout.leading), 1);
        asm.jump(plain);
    }

    /// Emits a loop of steps: a block of `elements` elements, repeated while at least `elements` elements remain. The
    /// loop uses the first `registers` registers.
    pub fn emit_steps(&mut self, body: &LoopBody<'_>, block: VectorBlock, elements: u32, registers: u8) {
        self.emit_steps_after(body, block, elements, registers, |_| {});
    }

    /// As [`FunctionEmitter::emit_steps`]. Each step ends with the code that `end` emits, which may change rax.
    pub fn emit_steps_after(
        &mut self,
        body: &LoopBody<'_>,
        block: VectorBlock,
        elements: u32,
        registers: u8,
        end: impl FnOnce(&mut Self),
    ) {
        let (top, done) = (self.asm.label(), self.asm.label());
        self.asm.lea(RAX, Mem::Base(INDEX, elements as i32));
        self.asm.alu(Alu::Cmp, RAX, END);
        self.asm.jump_if(Cond::Greater, done);
        let context = EmitContext::new(self.code, &self.layout, body, true);
        BlockEmitter::new(&mut self.asm, &block, &context, &mut self.frame, registers).emit_repeated(top);
        end(self);
        let asm = &mut self.asm;
        asm.alu_imm(Alu::Add, INDEX, elements as i32);
        asm.lea(RAX, Mem::Base(INDEX, elements as i32));
        asm.alu(Alu::Cmp, RAX, END);
        asm.jump_if(Cond::LessEqual, top);
        asm.bind(done);
        self.free_blocks.push(block);
    }

    /// Emits a masked step for the remaining elements, skipped if there are none.
    pub fn emit_remaining(&mut self, body: &LoopBody<'_>, block: VectorBlock) {
        let done = self.asm.label();
        self.asm.mov(RAX, END);
        self.asm.alu(Alu::Sub, RAX, INDEX);
        self.asm.jump_if(Cond::LessEqual, done);
        self.make_masks(&block);
        let context = EmitContext::new(self.code, &self.layout, body, true);
        BlockEmitter::new(&mut self.asm, &block, &context, &mut self.frame, self.isa.registers()).emit();
        self.asm.mov(INDEX, END);
        self.asm.bind(done);
        self.free_blocks.push(block);
    }

    /// Makes the masks that a block reads. Takes the number of remaining elements in rax, and stores it to the frame.
    fn make_masks(&mut self, block: &VectorBlock) {
        let asm = &mut self.asm;
        let len = self.isa.vector();
        asm.store(frame_mem(self.layout.remaining), RAX);
        if self.isa == VectorIsa::Avx512 {
            asm.mov(RCX, RAX);
            asm.mov_imm(RDX, 1);
            asm.shl_cl(RDX);
            asm.alu_imm(Alu::Sub, RDX, 1);
            // A mask for elements of 4 bytes, then one for each half of the elements of 8 bytes.
            asm.mask_move(true, TAIL_MASK, RDX.0);
            asm.mask_move(true, TAIL_MASK + 1, RDX.0);
            asm.shr(RDX, 8);
            asm.mask_move(true, TAIL_MASK + 2, RDX.0);
        }
        // The table has `step` set lanes of 4 bytes, then clear lanes. For `n` remaining elements (rax), the load
        // starts `n` lanes before the first clear lane.
        asm.neg(RAX);
        asm.lea(RCX, Mem::Pool(self.mask_table));
        let step = self.isa.step() as i32;
        let table = |offset: i32| Mem::Indexed(RCX, RAX, 2, 4 * step + offset);
        let parts = [(opcode::MOV_LOAD, 0), (opcode::SX_DQ, 0), (opcode::SX_DQ, 2 * step)];
        for ((op, offset), mask) in parts.into_iter().zip(self.layout.masks) {
            if block.values.contains(&ValueOrigin::Frame(mask)) {
                asm.vector(op, len, 0, 0, table(offset).into(), None);
                asm.vector(opcode::MOV_STORE, len, 0, 0, frame_mem(mask).into(), None);
            }
        }
    }
}

/// Returns the number of vectors of 4-byte lanes that one iteration computes, for a body that needs `pressure`
/// registers without unrolling. The limits are empirical: a few spills cost less than too little unrolling.
fn unroll_factor(isa: VectorIsa, pressure: u32) -> u32 {
    match (isa, pressure) {
        (VectorIsa::Avx512, 0..=28) => 2,
        (VectorIsa::Avx2, 0..=6) => 4,
        (VectorIsa::Avx2, 7..=14) => 2,
        _ => 1,
    }
}
