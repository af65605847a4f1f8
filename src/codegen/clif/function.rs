//! `emit`: a whole kernel function: rows, loops around the inner axis, and the inner loops of each pass.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Function, InstBuilder, StackSlotData, StackSlotKind, Value, types};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

use super::body_analysis::BodyAnalysis;
use super::emitted_value::{EmittedValue, Vecs};
use super::emitter::{ArgumentValues, ElementGroup, Emitter, flags};
use super::target::{Target, kernel_signature};
use crate::codegen::abi::{CHECK_FAILED, KernelArgs, SLOT_BASE, SLOT_LOOPS, SLOT_ROW, STOPPED, slot_words};
use crate::codegen::repr::Repr;
use crate::expr::BinaryOp;
use crate::lower::kernel_body::{Inst, InstId, InstOp, KernelBody, LaneLayout, Pass, REDUCE_BYTES, TILE};

/// Emits a verified kernel into an empty function.
pub(in crate::codegen) fn emit(
    code: &KernelBody,
    target: Target,
    func: &mut Function,
    context: &mut FunctionBuilderContext,
) {
    func.signature = kernel_signature(target.call_conv);
    let mut b = FunctionBuilder::new(func, context);
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    let args_address = b.block_params(entry)[0];
    let mut field = |offset: usize| b.ins().load(types::I64, flags(), args_address, offset as i32);
    let args = ArgumentValues {
        address: args_address,
        slots: field(offset_of!(KernelArgs, slots)),
        scalars: field(offset_of!(KernelArgs, scalars)),
        tile: field(offset_of!(KernelArgs, tile)),
        n: field(offset_of!(KernelArgs, n)),
        extents: field(offset_of!(KernelArgs, extents)),
    };
    let rows = field(offset_of!(KernelArgs, rows));
    let failed = can_fail(code).then(|| {
        let failed = b.declare_var(types::I8);
        let no = b.ins().iconst(types::I8, 0);
        b.def_var(failed, no);
        failed
    });
    let max_reduces = code.passes.iter().map(|pass| pass.reduces.len()).max().unwrap_or(0);
    let accumulators = (code.layout == LaneLayout::Row && max_reduces > 0).then(|| {
        // Accumulators and totals of each reduction of a pass.
        let (size, log2_align) = (2 * REDUCE_BYTES * max_reduces, 4);
        b.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, size as u32, log2_align))
    });
    let reduced = vec![None; code.reduced.len()];
    let (stop, report, done) = (b.create_block(), b.create_block(), b.create_block());
    let outcome = b.append_block_param(report, types::I64);
    let mut e = Emitter {
        b,
        code,
        target,
        args,
        failed,
        stop,
        reduced,
        accumulators,
        remainder: [None; 2],
        angles: None,
    };
    e.counted(rows, |e, row| e.row(row));
    let check_failed = e.b.ins().iconst(types::I64, CHECK_FAILED);
    match e.failed.map(|failed| e.b.use_var(failed)) {
        Some(failed) => e.b.ins().brif(failed, report, &[check_failed.into()], done, &[]),
        None => e.b.ins().jump(done, &[]),
    };
    e.b.switch_to_block(stop);
    let stopped = e.b.ins().iconst(types::I64, STOPPED);
    e.b.ins().jump(report, &[stopped.into()]);
    e.b.switch_to_block(report);
    let address = e.b.ins().load(types::I64, flags(), args_address, offset_of!(KernelArgs, outcome) as i32);
    e.b.ins().store(flags(), outcome, address, 0);
    e.b.ins().jump(done, &[]);
    e.b.switch_to_block(done);
    e.b.ins().return_(&[]);
    e.b.seal_all_blocks();
    e.b.finalize(target.frontend);
}

/// Returns whether the kernel has checks that may fail at run time: of indices, and of integer divisors.
fn can_fail(code: &KernelBody) -> bool {
    let bodies = code.passes.iter().map(|pass| &pass.body).chain([&code.epilogue]);
    bodies.flatten().any(|inst| match inst.op {
        InstOp::CheckIndex { .. } => true,
        InstOp::Binary(BinaryOp::Div | BinaryOp::Rem, ..) => !inst.dtype.is_float(),
        _ => false,
    })
}

impl Emitter<'_, '_> {
    /// Emits one row: its passes, then the epilogue.
    fn row(&mut self, row: Value) {
        let code = self.code;
        for pass in &code.passes {
            let roots: Vec<InstId> = pass.reduces.iter().map(|reduce| reduce.value).collect();
            let analysis = BodyAnalysis::new(code, &pass.body, &roots);
            let starts = self.starts(&analysis, row);
            match code.layout {
                LaneLayout::Row if !pass.reduces.is_empty() => {
                    self.start_reductions(pass);
                    self.nest(0, &analysis, &starts, &mut |e, starts| {
                        e.with_uniforms(&pass.body, &analysis, &roots, starts, |e, uniforms| {
                            e.reduce_inner_axis(pass, &analysis, uniforms, starts);
                        });
                    });
                    self.finish_reductions(pass);
                }
                LaneLayout::Row => self.walk(pass, &analysis, &roots, &starts),
                LaneLayout::Column => {
                    for reduce in &pass.reduces {
                        let identity = self.identity(*reduce);
                        self.fill_tile(reduce.into, Repr::of(reduce.dtype), identity);
                    }
                    self.walk(pass, &analysis, &roots, &starts);
                }
            }
        }
        if code.epilogue.is_empty() {
            return;
        }
        let analysis = BodyAnalysis::new(code, &code.epilogue, &[]);
        let starts = self.starts(&analysis, row);
        match code.layout {
            LaneLayout::Row => self.once(&code.epilogue, &analysis, &starts),
            LaneLayout::Column => self.inner(&code.epilogue, &analysis, &[], &starts, |_, _| {}),
        }
    }

    /// Emits the start of each slot that a body uses, in row `row`: an address, or the value of an iota. The result is
    /// `None` for a slot that the body does not use.
    fn starts(&mut self, analysis: &BodyAnalysis, row: Value) -> Vec<Option<Value>> {
        let mut starts = vec![None; self.code.slots.len()];
        for slot in &analysis.slots {
            let first_word = *slot as usize * slot_words(self.code.loops);
            let base = self.word(self.args.slots, first_word + SLOT_BASE);
            let stride = self.word(self.args.slots, first_word + SLOT_ROW);
            let moved = self.b.ins().imul(row, stride);
            starts[*slot as usize] = Some(self.b.ins().iadd(base, moved));
        }
        starts
    }

    /// Emits the loops of a row from `level` on, around `f`. `starts` are the starts of the slots before these loops
    /// begin. `f` takes the starts of the slots at the current position of the loops.
    fn nest(
        &mut self,
        level: u32,
        analysis: &BodyAnalysis,
        starts: &[Option<Value>],
        f: &mut dyn FnMut(&mut Self, &[Option<Value>]),
    ) {
        if level == self.code.loops {
            return f(self, starts);
        }
        let extent = self.word(self.args.extents, level as usize);
        self.counted(extent, |e, position| {
            let mut inside = starts.to_vec();
            for slot in &analysis.slots {
                let slot = *slot as usize;
                let first_word = slot * slot_words(e.code.loops);
                let stride = e.word(e.args.slots, first_word + SLOT_LOOPS + level as usize);
                let moved = e.b.ins().imul(position, stride);
                inside[slot] = inside[slot].map(|start| e.b.ins().iadd(start, moved));
            }
            e.nest(level + 1, analysis, &inside, f);
        });
    }

    /// Emits a pass: its loops, and the inner axis inside them. The pass has no reductions, or belongs to a column
    /// kernel. `roots` are the values that the reductions read.
    fn walk(&mut self, pass: &Pass, analysis: &BodyAnalysis, roots: &[InstId], starts: &[Option<Value>]) {
        self.nest(0, analysis, starts, &mut |e, starts| {
            e.inner(&pass.body, analysis, roots, starts, |e, group| {
                for reduce in &pass.reduces {
                    e.reduce_in_tile(group, *reduce);
                }
            });
        });
    }

    /// Emits the uniform values of a body, then the code of `f`, which takes these values. If the inner axis has no
    /// elements, the emitted code skips both.
    fn with_uniforms(
        &mut self,
        body: &[Inst],
        analysis: &BodyAnalysis,
        roots: &[InstId],
        starts: &[Option<Value>],
        f: impl FnOnce(&mut Self, &[Option<EmittedValue>]),
    ) {
        let (some, done) = (self.b.create_block(), self.b.create_block());
        let zero = self.b.ins().iconst(types::I64, 0);
        let any = self.b.ins().icmp(IntCC::SignedGreaterThan, self.args.n, zero);
        self.b.ins().brif(any, some, &[], done, &[]);
        self.b.switch_to_block(some);
        let uniforms = self.uniforms(body, analysis, roots, starts);
        f(self, &uniforms);
        self.b.ins().jump(done, &[]);
        self.b.switch_to_block(done);
    }

    /// Emits the inner axis in groups of `4 * unroll` elements, then of 4, then of 1. Calls `after` with each emitted
    /// group.
    fn inner(
        &mut self,
        body: &[Inst],
        analysis: &BodyAnalysis,
        roots: &[InstId],
        starts: &[Option<Value>],
        mut after: impl FnMut(&mut Self, &mut ElementGroup<'_>),
    ) {
        self.with_uniforms(body, analysis, roots, starts, |e, uniforms| {
            let mut from = e.b.ins().iconst(types::I64, 0);
            let sizes = [4 * analysis.unroll, 4, 1];
            for elems in sizes.into_iter().skip(usize::from(analysis.unroll == 1)) {
                (from, _) = e.groups(from, e.args.n, elems, &[], |e, index, _| {
                    let mut group = e.group(body, analysis, uniforms, starts, elems, index);
                    after(e, &mut group);
                    Vecs::new()
                });
            }
        });
    }

    /// Fills the tile of reduction `k` with `identity`.
    fn fill_tile(&mut self, k: u32, repr: Repr, identity: Value) {
        let base = self.b.ins().iadd_imm_s(self.args.tile, i64::from(k) * 8 * TILE as i64);
        let zero = self.b.ins().iconst(types::I64, 0);
        // The last group may write lanes past `n`: they are in the tile, whose length is a multiple of 4 lanes.
        let rounded = self.b.ins().iadd_imm_s(self.args.n, 3);
        self.groups(zero, rounded, 4, &[], |e, index, _| {
            let address = e.element(base, index, repr.bytes());
            let vecs: Vecs = (0..repr.vectors(4)).map(|_| identity).collect();
            e.store_accumulators(repr, address, 4, &vecs);
            Vecs::new()
        });
    }
}
