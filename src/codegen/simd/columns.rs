//! Column folds: every lane folds its own row into a tile, at several positions of the innermost loop at a time.

use super::allocate::frame_at;
use super::encode::Mem;
use super::function::{Body, Function};
use super::machine::INDEX;
use super::op;
use super::scalar::{Alu, Cond, RAX};
use super::select::Refusal;
use super::streams::Apart;
use crate::codegen::abi::SLOT_LOOPS;
use crate::codegen::clif::Repr;
use crate::lower::code::{Code, FoldStep, Layout, Pass, TILE};

/// The most positions of the innermost loop at a time.
const MOST_POSITIONS: usize = 8;

impl Body<'_> {
    /// The body of a pass of a column kernel at several positions of the innermost loop.
    pub fn at_positions(&self, code: &Code, pass: &Pass) -> Option<Body<'_>> {
        if code.layout != Layout::Column || code.loops == 0 || pass.folds.is_empty() {
            return None;
        }
        self.copied(code, MOST_POSITIONS, Apart::Position)
    }
}

impl Function<'_> {
    /// A pass of a column kernel.
    pub fn column_pass(&mut self, pass: &Pass, body: &Body<'_>) -> Result<(), Refusal> {
        for fold in &pass.folds {
            self.fill_tile(*fold);
        }
        // An accumulator is loaded and stored once for all positions.
        let several = body.at_positions(self.code, pass).filter(|_| !self.strided);
        let Some(several) = several else {
            return self.nest(&body.slots, 0, &mut |f| f.walk(body, &pass.folds));
        };
        let loops = self.code.loops as usize;
        self.nest_to(&body.slots, 0, loops - 1, &mut |f| {
            let [several_top, rest, top, done] = std::array::from_fn(|_| f.asm.label());
            let counter = f.enter_loop(&body.slots, loops - 1);
            f.asm.bind(several_top);
            f.asm.alu_imm(Alu::Cmp, counter, several.copies as i32);
            f.asm.jump_if(Cond::Less, rest);
            f.walk(&several, &pass.folds)?;
            f.advance_by(several.copies, loops, SLOT_LOOPS + loops - 1, &body.slots);
            f.asm.alu_imm(Alu::Sub, counter, several.copies as i32);
            f.asm.jump(several_top);
            f.asm.bind(rest);
            f.asm.alu_imm(Alu::Cmp, counter, 0);
            f.asm.jump_if(Cond::LessEqual, done);
            f.asm.bind(top);
            f.walk(body, &pass.folds)?;
            f.advance(loops, SLOT_LOOPS + loops - 1, &body.slots);
            f.asm.alu_imm(Alu::Sub, counter, 1);
            f.asm.jump_if(Cond::NotEqual, top);
            f.asm.bind(done);
            Ok(())
        })
    }

    /// Sets the accumulators of every row of a column fold to its identity.
    fn fill_tile(&mut self, fold: FoldStep) {
        let bytes = Repr::of(fold.dtype).bytes();
        let identity = self.identity(fold);
        let (top, done) = (self.asm.label(), self.asm.label());
        let asm = &mut self.asm;
        let whole = self.isa.vector();
        asm.vector(op::MOV_LOAD, whole, 0, 0, Mem::Pool(identity).into(), None);
        asm.mov(RAX, frame_at(self.layout.tile));
        asm.mov_imm(INDEX, 0);
        asm.bind(top);
        asm.alu(Alu::Cmp, INDEX, frame_at(self.layout.n));
        asm.jump_if(Cond::GreaterEqual, done);
        // Lanes past the last may be written: the tile is whole, and a vector divides it.
        let start = (fold.into as usize * 8 * TILE) as i32;
        let place = Mem::Indexed(RAX, INDEX, bytes.trailing_zeros() as u8, start);
        asm.vector(op::MOV_STORE, whole, 0, 0, place.into(), None);
        asm.alu_imm(Alu::Add, INDEX, (whole.bytes() / bytes) as i32);
        asm.jump(top);
        asm.bind(done);
    }
}
