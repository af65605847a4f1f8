//! The passes of a row and its epilogue, in the code variants that their gathers need.

use super::function::FunctionEmitter;
use crate::codegen::legalize::identity_bits;
use crate::codegen::repr::{Repr, size_of};
use crate::codegen::simd::asm::{Alu, Cond, Label, RAX};
use crate::codegen::simd::emit::{BlockEmitter, EmitContext};
use crate::codegen::simd::ir::{LoopBody, ValueOrigin, VectorBlock, frame_mem};
use crate::codegen::simd::select::{CodeVariant, SelectPlan, Selector, chain_index_insts};
use crate::lower::kernel_body::{LaneLayout, Pass, ReduceStep, SlotUse};

impl FunctionEmitter<'_> {
    /// Emits a pass of a row, in all variants.
    pub fn pass(&mut self, pass: &Pass) {
        let body = LoopBody::new(self.code, &pass.body, &pass.reduces, self.code.loops as usize);
        self.with_variants(&body, &mut |f, variant| f.pass_variant(pass, &body, variant));
    }

    /// Emits one variant of a pass.
    fn pass_variant(&mut self, pass: &Pass, body: &LoopBody<'_>, variant: CodeVariant) {
        match self.code.layout {
            LaneLayout::Row if !pass.reduces.is_empty() => self.reduce_pass(pass, body, variant),
            LaneLayout::Row if body.is_idle() => {}
            LaneLayout::Row => self.nest(&body.slots, 0, &mut |f| f.walk(body, &[], variant)),
            LaneLayout::Column => self.column_pass(pass, body, variant),
        }
    }

    /// Emits the epilogue of a row, if the kernel has one.
    pub fn epilogue(&mut self) {
        let code = self.code;
        if code.epilogue.is_empty() {
            return;
        }
        let body = LoopBody::new(code, &code.epilogue, &[], 0);
        if code.layout == LaneLayout::Column {
            return self.with_variants(&body, &mut |f, variant| f.walk(&body, &[], variant));
        }
        self.load_pointers(&body);
        let mut selector = self.selector(&body, SelectPlan::one_element());
        selector.select_all();
        let block = selector.block;
        self.emit_once(&body, block);
    }

    /// Emits the usual case by `emit(self, false)`, and the unusual case by `emit(self, true)`. `jump` emits the check
    /// that picks one at run time: it jumps to the given label in the unusual case.
    pub fn either(&mut self, jump: impl FnOnce(&mut Self, Label), emit: &mut dyn FnMut(&mut Self, bool)) {
        let (other, done) = (self.asm.label(), self.asm.label());
        jump(self, other);
        emit(self, false);
        self.asm.jump(done);
        self.asm.bind(other);
        emit(self, true);
        self.asm.bind(done);
    }

    /// Calls `emit` for each variant of a body. If the body gathers rows, it has one variant for rows whose elements
    /// are apart in memory. All other variants are for rows of adjacent elements.
    fn with_variants(&mut self, body: &LoopBody<'_>, emit: &mut dyn FnMut(&mut Self, CodeVariant)) {
        let rows = body.gathered_rows(self.code);
        if rows.is_empty() {
            return self.with_offset_variants(body, emit);
        }
        let jump_if_strided = |f: &mut Self, strided| {
            for slot in rows {
                let size = size_of(f.code.slots[slot as usize].dtype) as i32;
                f.asm.alu_imm(Alu::Cmp, frame_mem(f.layout.gathers[slot as usize].inner), size);
                f.asm.jump_if(Cond::NotEqual, strided);
            }
        };
        self.either(jump_if_strided, &mut |f, strided_rows| match strided_rows {
            false => f.with_offset_variants(body, emit),
            true => emit(f, CodeVariant { strided_rows, ..CodeVariant::default() }),
        });
    }

    /// Loads the address registers of a body with the starts of their slots. The start of a gather slot that has no
    /// address register is copied to its place in the frame.
    pub fn load_pointers(&mut self, body: &LoopBody<'_>) {
        for slot in &body.slots {
            let start = frame_mem(self.layout.start(body.level, *slot));
            if let Some(pointer) = body.pointers[*slot as usize] {
                self.asm.mov(pointer, start);
            } else if self.code.slots[*slot as usize].used == SlotUse::Gather {
                self.asm.mov(RAX, start);
                self.asm.store(frame_mem(self.layout.gathers[*slot as usize].address), RAX);
            }
        }
        self.load_copies(body);
    }

    /// Makes a selector that selects instructions of a body into an empty block.
    pub fn selector<'s>(&'s mut self, body: &'s LoopBody<'_>, plan: SelectPlan<'s>) -> Selector<'s> {
        let mut block = self.free_blocks.pop().unwrap_or_default();
        block.clear();
        Selector {
            block,
            code: self.code,
            body,
            isa: self.isa,
            pool: &mut self.pool,
            frame: &mut self.frame,
            layout: &self.layout,
            plan,
            copy: 0,
            values: vec![Default::default(); body.insts.len()],
        }
    }

    /// Emits a block that runs once and accesses each slot at its start.
    pub fn emit_once(&mut self, body: &LoopBody<'_>, mut block: VectorBlock) {
        chain_index_insts(&mut block, |slot| Some(self.layout.start(body.level, slot)));
        let context = EmitContext::new(self.code, &self.layout, body, false);
        BlockEmitter::new(&mut self.asm, &block, &context, &mut self.frame, self.isa.registers()).emit();
        self.free_blocks.push(block);
    }

    /// Emits the uniform instructions of a body. Returns the locations of the values that steps read.
    pub fn emit_uniform(&mut self, body: &LoopBody<'_>) -> Vec<Option<ValueOrigin>> {
        let mut selector = self.selector(body, SelectPlan::one_element());
        let locations = selector.select_uniform(&body.roots);
        let block = selector.block;
        self.emit_once(body, block);
        locations
    }

    /// Returns the offset of the constant from which a reduction starts.
    pub fn identity(&mut self, reduce: ReduceStep) -> u32 {
        self.pool.splat(identity_bits(reduce), Repr::of(reduce.dtype).bytes())
    }
}
