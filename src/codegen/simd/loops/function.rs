//! `FunctionEmitter`: a function under construction, its entry and its exit.

use super::frame_demands::frame_demands;
use crate::codegen::abi::{
    KernelArgs, POLLED_ITERATIONS, SLOT_BASE, SLOT_INNER, SLOT_ROW, STOPPED, slot_words,
};
use crate::codegen::simd::asm::{
    Alu, Asm, Cond, Label, Mem, RAX, RBP, RCX, RDI, RDX, RSP, VectorIsa, opcode,
};
use crate::codegen::simd::emit::EmitContext;
use crate::codegen::simd::ir::roles::CALLEE_SAVED;
use crate::codegen::simd::ir::{
    ConstantPool, FrameAllocator, FrameLayout, LaneScalar, Refusal, VectorBlock, frame_mem,
};
use crate::codegen::simd::select::check_support;
use crate::lower::kernel_body::{KernelBody, SlotUse};

/// The largest frame. Entering a function touches every page of its frame, so that the stack can grow page by page.
const MAX_FRAME_BYTES: u32 = 1 << 16;
const PAGE: i32 = 4096;

/// A function under construction.
pub(super) struct FunctionEmitter<'a> {
    pub code: &'a KernelBody,
    pub isa: VectorIsa,
    pub asm: Asm,
    pub pool: ConstantPool,
    pub frame: FrameAllocator,
    pub layout: FrameLayout,
    /// The offset of the constant from which masks of steps are loaded: [`ConstantPool::mask_table`].
    pub mask_table: u32,
    /// The code that ends the function early.
    pub stop: Label,
    /// Blocks that are already emitted. Later blocks reuse their memory.
    pub free_blocks: Vec<VectorBlock>,
}

/// Emits the function of a verified kernel. Returns its bytes.
///
/// # Errors
/// The reason why this emitter leaves the kernel to Cranelift.
pub(crate) fn emit_function(code: &KernelBody, isa: VectorIsa) -> Result<Vec<u8>, Refusal> {
    check_support(code)?;
    let mut frame = FrameAllocator::new();
    let layout = FrameLayout::new(code, isa, frame_demands(code), &mut frame);
    let mut pool = ConstantPool::new(isa);
    let mask_table = pool.mask_table(isa.step());
    let mut asm = Asm::new(isa);
    let stop = asm.label();
    let mut f =
        FunctionEmitter { code, isa, asm, pool, frame, layout, mask_table, stop, free_blocks: Vec::new() };
    f.function();
    let size = f.frame.bytes();
    if size > MAX_FRAME_BYTES {
        return Err("more values than a frame holds");
    }
    let prologue = prologue(isa, size);
    Ok(f.asm.finish(&prologue, &f.pool.bytes))
}

/// Returns the code that saves registers and makes the frame, aligned to 64 bytes.
fn prologue(isa: VectorIsa, frame_bytes: u32) -> Asm {
    let mut asm = Asm::new(isa);
    for reg in CALLEE_SAVED {
        asm.push(reg);
    }
    asm.mov(RBP, RSP);
    for page in 1..=frame_bytes as i32 / PAGE {
        asm.store(Mem::Base(RSP, -page * PAGE), RAX);
    }
    asm.alu_imm(Alu::Sub, RSP, frame_bytes as i32);
    asm.alu_imm(Alu::And, RSP, -64);
    asm
}

impl FunctionEmitter<'_> {
    /// Emits the function after its prologue: a loop over rows around the passes and the epilogue.
    fn function(&mut self) {
        self.enter();
        let (row, done) = (self.asm.label(), self.asm.label());
        self.asm.alu_imm(Alu::Cmp, frame_mem(self.layout.rows), 0);
        self.asm.jump_if(Cond::LessEqual, done);
        self.asm.bind(row);
        let code = self.code;
        for pass in &code.passes {
            self.pass(pass);
        }
        self.epilogue();
        let slots: Vec<u32> = (0..code.slots.len() as u32).collect();
        self.advance(0, SLOT_ROW, &slots);
        self.asm.alu_imm(Alu::Sub, frame_mem(self.layout.rows), 1);
        self.asm.jump_if(Cond::NotEqual, row);
        self.asm.bind(done);
        self.leave();
        EmitContext::outside_loops(self.code, &self.layout).call_subroutine(&mut self.asm);
    }

    /// Copies the arguments to the frame, and fills the parts of the frame that never change.
    fn enter(&mut self) {
        let field = |offset: usize| Mem::Base(RDI, offset as i32);
        let copied = [
            (std::mem::offset_of!(KernelArgs, rows), self.layout.rows),
            (std::mem::offset_of!(KernelArgs, n), self.layout.n),
            (std::mem::offset_of!(KernelArgs, tile), self.layout.tile),
        ];
        let asm = &mut self.asm;
        asm.store(frame_mem(self.layout.args), RDI);
        asm.store_imm(frame_mem(self.layout.outcome), 0);
        asm.store_imm(frame_mem(self.layout.leading), 0);
        asm.store_imm(frame_mem(self.layout.needs_fence), 0);
        for (from, to) in copied {
            asm.mov(RAX, field(from));
            asm.store(frame_mem(to), RAX);
        }
        asm.mov(RCX, field(std::mem::offset_of!(KernelArgs, slots)));
        let words = slot_words(self.code.loops);
        for slot in 0..self.code.slots.len() {
            asm.mov(RAX, Mem::Base(RCX, 8 * (slot * words + SLOT_BASE) as i32));
            asm.store(frame_mem(self.layout.start(0, slot as u32)), RAX);
        }
        asm.mov(RDX, field(std::mem::offset_of!(KernelArgs, scalars)));
        for (k, word) in self.layout.scalars.iter().enumerate() {
            asm.mov(RAX, Mem::Base(RDX, 8 * k as i32));
            asm.store(frame_mem(*word), RAX);
        }
        for (slot, gather) in self.layout.gathers.iter().enumerate() {
            if self.code.slots[slot].used == SlotUse::Gather {
                asm.mov(RAX, Mem::Base(RCX, 8 * (slot * words + SLOT_INNER) as i32));
                asm.store(frame_mem(gather.inner), RAX);
            }
        }
        self.enter_prefetch();
        self.enter_read_ahead();
        self.enter_lane_scalars();
        let context = EmitContext::outside_loops(self.code, &self.layout);
        for slot in 0..self.code.slots.len() as u32 {
            context.make_ramp(&mut self.asm, slot);
        }
    }

    /// Fills the vectors of limits and strides.
    fn enter_lane_scalars(&mut self) {
        let (asm, layout, whole) = (&mut self.asm, &self.layout, self.isa.vector());
        for (scalar, vector) in layout.lane_scalars() {
            if let LaneScalar::Limit { scalar, bytes } = scalar {
                asm.mov(RAX, frame_mem(layout.scalars[scalar as usize]));
                if bytes == 4 {
                    // A 4-byte lane holds no index from 2^31 on: a larger limit acts as 2^31.
                    asm.mov_imm(RDX, i32::MIN);
                    asm.mov(RCX, RDX);
                    asm.neg(RDX);
                    asm.alu(Alu::Cmp, RAX, RDX);
                    asm.move_if(Cond::Greater, RAX, RDX);
                } else {
                    asm.mov_imm(RCX, 1);
                    asm.shl(RCX, 63);
                }
                if self.isa != VectorIsa::Avx512 {
                    asm.alu(Alu::Add, RAX, RCX);
                }
                asm.store(frame_mem(layout.scratch), RAX);
                let splat = if bytes == 4 { opcode::SPLAT_PS } else { opcode::SPLAT_Q };
                asm.vector(splat, whole, 0, 0, frame_mem(layout.scratch).into(), None);
                asm.vector(opcode::MOV_STORE, whole, 0, 0, frame_mem(vector).into(), None);
            }
        }
        for (scalar, vector) in layout.lane_scalars() {
            if let LaneScalar::Stride { scalar } = scalar {
                let word = frame_mem(layout.scalars[scalar as usize]);
                asm.vector(opcode::SPLAT_PS, whole, 0, 0, word.into(), None);
                asm.vector(opcode::MOV_STORE, whole, 0, 0, frame_mem(vector).into(), None);
            }
        }
    }

    /// Emits the end of a loop whose `counter` counts the remaining iterations down by `step`, a power of two: jumps to
    /// `top`, once in [`POLLED_ITERATIONS`] iterations after [`FunctionEmitter::poll`].
    pub fn repeat(&mut self, counter: Mem, step: usize, top: Label) {
        self.asm.mov(RAX, counter);
        self.asm.test_imm(RAX, (POLLED_ITERATIONS - step) as i32);
        self.asm.jump_if(Cond::NotEqual, top);
        self.poll();
        self.asm.jump(top);
    }

    /// Ends the function early if [`KernelArgs::stop`] is true. Changes rax.
    pub fn poll(&mut self) {
        self.asm.mov(RAX, frame_mem(self.layout.args));
        self.asm.mov(RAX, Mem::Base(RAX, std::mem::offset_of!(KernelArgs, stop) as i32));
        self.asm.load_low(RAX, Mem::Base(RAX, 0), 1);
        self.asm.test(RAX, RAX);
        self.asm.jump_if(Cond::NotEqual, self.stop);
    }

    /// Orders non-temporal stores, reports the outcome, and returns.
    fn leave(&mut self) {
        let asm = &mut self.asm;
        let [leave, ordered] = std::array::from_fn(|_| asm.label());
        asm.bind(leave);
        asm.alu_imm(Alu::Cmp, frame_mem(self.layout.needs_fence), 0);
        asm.jump_if(Cond::Equal, ordered);
        asm.store_fence();
        asm.bind(ordered);
        let fine = asm.label();
        asm.mov(RCX, frame_mem(self.layout.outcome));
        asm.test(RCX, RCX);
        asm.jump_if(Cond::Equal, fine);
        asm.mov(RAX, frame_mem(self.layout.args));
        asm.mov(RAX, Mem::Base(RAX, std::mem::offset_of!(KernelArgs, outcome) as i32));
        asm.store(Mem::Base(RAX, 0), RCX);
        asm.bind(fine);
        asm.zero_upper();
        asm.mov(RSP, RBP);
        for reg in CALLEE_SAVED.into_iter().rev() {
            asm.pop(reg);
        }
        asm.ret();
        asm.bind(self.stop);
        asm.store_imm(frame_mem(self.layout.outcome), STOPPED as i32);
        asm.jump(leave);
    }
}
