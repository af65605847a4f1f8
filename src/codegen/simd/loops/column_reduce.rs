//! Column reductions: every lane reduces its own row into its accumulator in a tile. A step may run at several
//! positions of the innermost loop.

use super::function::FunctionEmitter;
use crate::codegen::abi::SLOT_LOOPS;
use crate::codegen::repr::Repr;
use crate::codegen::simd::asm::{Alu, Cond, Mem, RAX, opcode};
use crate::codegen::simd::ir::roles::INDEX;
use crate::codegen::simd::ir::{LoopBody, frame_mem};
use crate::codegen::simd::select::CodeVariant;
use crate::lower::kernel_body::{Pass, ReduceStep, TILE};

impl FunctionEmitter<'_> {
    /// Emits a pass of a column kernel.
    pub fn column_pass(&mut self, pass: &Pass, body: &LoopBody<'_>, variant: CodeVariant) {
        for reduce in &pass.reduces {
            self.fill_tile(*reduce);
        }
        // A step that computes several positions loads and stores each accumulator once for all of them.
        let copied = body.at_positions(self.code, pass).filter(|_| !variant.strided_rows);
        let Some(copied) = copied else {
            return self.nest(&body.slots, 0, &mut |f| f.walk(body, &pass.reduces, variant));
        };
        let loops = self.code.loops as usize;
        self.nest_to(&body.slots, 0, loops - 1, &mut |f| {
            let [copies_top, rest, top, done] = std::array::from_fn(|_| f.asm.label());
            let counter = f.enter_loop(&body.slots, loops - 1);
            f.asm.bind(copies_top);
            f.asm.alu_imm(Alu::Cmp, counter, copied.copies as i32);
            f.asm.jump_if(Cond::Less, rest);
            f.walk(&copied, &pass.reduces, variant);
            f.advance_by(copied.copies, loops, SLOT_LOOPS + loops - 1, &body.slots);
            f.asm.alu_imm(Alu::Sub, counter, copied.copies as i32);
            f.repeat(counter, copied.copies, copies_top);
            f.asm.bind(rest);
            f.asm.alu_imm(Alu::Cmp, counter, 0);
            f.asm.jump_if(Cond::LessEqual, done);
            f.asm.bind(top);
            f.walk(body, &pass.reduces, variant);
            f.advance(loops, SLOT_LOOPS + loops - 1, &body.slots);
            f.asm.alu_imm(Alu::Sub, counter, 1);
            f.asm.jump_if(Cond::NotEqual, top);
            f.asm.bind(done);
        })
    }

    /// Sets the accumulators of a column reduction to its identity.
    fn fill_tile(&mut self, reduce: ReduceStep) {
        let bytes = Repr::of(reduce.dtype).bytes();
        let identity = self.identity(reduce);
        let (top, done) = (self.asm.label(), self.asm.label());
        let asm = &mut self.asm;
        let len = self.isa.vector();
        asm.vector(opcode::MOV_LOAD, len, 0, 0, Mem::Pool(identity).into(), None);
        asm.mov(RAX, frame_mem(self.layout.tile));
        asm.mov_imm(INDEX, 0);
        asm.bind(top);
        asm.alu(Alu::Cmp, INDEX, frame_mem(self.layout.n));
        asm.jump_if(Cond::GreaterEqual, done);
        // The last store may write lanes past `n`: they are in the tile, whose length is a multiple of a vector.
        let start = (reduce.into as usize * 8 * TILE) as i32;
        let mem = Mem::Indexed(RAX, INDEX, bytes.trailing_zeros() as u8, start);
        asm.vector(opcode::MOV_STORE, len, 0, 0, mem.into(), None);
        asm.alu_imm(Alu::Add, INDEX, (len.bytes() / bytes) as i32);
        asm.jump(top);
        asm.bind(done);
    }
}
