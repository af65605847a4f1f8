//! A [`Code`] as Cranelift IR: 128-bit vector loops, every instruction for all unrolled vectors before the next.
//!
//! The inner axis is walked in groups of `4 * unroll` elements, then of 4, then singly; one emitter
//! serves all three, a single element being the first lane of a vector. What does not move with the
//! inner axis is computed before these loops. An operation without a vector form is computed scalar
//! by scalar inside the group.

mod arith;
mod body;
mod convert;
mod emitter;
mod facts;
mod folds;
mod gather;
mod half;
mod lanes;
mod loops;
mod memory;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Function, InstBuilder, StackSlotData, StackSlotKind, Value, types};
use cranelift_codegen::isa::{CallConv, TargetFrontendConfig};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

use self::emitter::{Args, Emitter, flags};
use self::facts::Facts;
use self::lanes::Vecs;
use super::abi::{KernelArgs, SLOT_BASE, SLOT_LOOPS, SLOT_ROW, slot_words};
use super::repr::Repr;
use crate::expr::BinaryOp;
use crate::lower::code::{Code, FOLD_BYTES, Inst, InstOp, Layout, Pass, TILE, Vid};

pub(super) use self::emitter::kernel_signature;

/// What emission must know of the machine and the module.
#[derive(Clone, Copy)]
pub(super) struct Target {
    pub call_conv: CallConv,
    pub frontend: TargetFrontendConfig,
    /// Whether `MulAdd` is one instruction.
    pub fused: bool,
    /// Numbers of the imported functions `fmodf` and `fmod`.
    pub remainder: [u32; 2],
}

/// Emits `code`, which must have passed its verifier, into an empty function.
pub(super) fn emit(code: &Code, target: Target, func: &mut Function, context: &mut FunctionBuilderContext) {
    func.signature = kernel_signature(target.call_conv);
    let mut b = FunctionBuilder::new(func, context);
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    let given = b.block_params(entry)[0];
    let mut field = |offset: usize| b.ins().load(types::I64, flags(), given, offset as i32);
    let args = Args {
        slots: field(std::mem::offset_of!(KernelArgs, slots)),
        scalars: field(std::mem::offset_of!(KernelArgs, scalars)),
        tile: field(std::mem::offset_of!(KernelArgs, tile)),
        n: field(std::mem::offset_of!(KernelArgs, n)),
        extents: field(std::mem::offset_of!(KernelArgs, extents)),
    };
    let rows = field(std::mem::offset_of!(KernelArgs, rows));
    let failed = can_fail(code).then(|| {
        let failed = b.declare_var(types::I8);
        let no = b.ins().iconst(types::I8, 0);
        b.def_var(failed, no);
        failed
    });
    let most_folds = code.passes.iter().map(|pass| pass.folds.len()).max().unwrap_or(0);
    let accumulators = (code.layout == Layout::Row && most_folds > 0).then(|| {
        let size = 2 * FOLD_BYTES * most_folds;
        b.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, size as u32, 4))
    });
    let folded = vec![None; code.folded.len()];
    let mut e = Emitter { b, code, target, args, failed, folded, accumulators, remainder: [None; 2] };
    e.counted(rows, |e, row| e.row(row));
    if let Some(failed) = e.failed {
        let (report, done) = (e.b.create_block(), e.b.create_block());
        let failed = e.b.use_var(failed);
        e.b.ins().brif(failed, report, &[], done, &[]);
        e.b.switch_to_block(report);
        let flag =
            e.b.ins().load(types::I64, flags(), given, std::mem::offset_of!(KernelArgs, failed) as i32);
        let one = e.b.ins().iconst(types::I64, 1);
        e.b.ins().store(flags(), one, flag, 0);
        e.b.ins().jump(done, &[]);
        e.b.switch_to_block(done);
    }
    e.b.ins().return_(&[]);
    e.b.seal_all_blocks();
    e.b.finalize(target.frontend);
}

fn can_fail(code: &Code) -> bool {
    let bodies = code.passes.iter().map(|pass| &pass.body).chain([&code.epilogue]);
    bodies.flatten().any(|inst| match inst.op {
        InstOp::CheckIndex { .. } => true,
        InstOp::Binary(BinaryOp::Div | BinaryOp::Rem, ..) => !inst.dtype.is_float(),
        _ => false,
    })
}

impl Emitter<'_, '_> {
    /// One row: its passes, then the epilogue.
    fn row(&mut self, row: Value) {
        let code = self.code;
        for pass in &code.passes {
            let roots: Vec<Vid> = pass.folds.iter().map(|fold| fold.value).collect();
            let facts = Facts::new(code, &pass.body, &roots);
            let starts = self.starts(&facts, row);
            match code.layout {
                Layout::Row if !pass.folds.is_empty() => {
                    self.start_folds(pass);
                    self.nest(0, &facts, &starts, &mut |e, starts| {
                        e.run(&pass.body, &facts, &roots, starts, |e, uniforms| {
                            e.fold_run(pass, &facts, uniforms, starts);
                        });
                    });
                    self.finish_folds(pass);
                }
                Layout::Row => self.walk(pass, &facts, &roots, &starts),
                Layout::Column => {
                    for fold in &pass.folds {
                        let identity = self.identity(*fold);
                        self.fill_tile(fold.into, Repr::of(fold.dtype), identity);
                    }
                    self.walk(pass, &facts, &roots, &starts);
                }
            }
        }
        if code.epilogue.is_empty() {
            return;
        }
        let facts = Facts::new(code, &code.epilogue, &[]);
        let starts = self.starts(&facts, row);
        match code.layout {
            Layout::Row => self.once(&code.epilogue, &facts, &starts),
            Layout::Column => self.inner(&code.epilogue, &facts, &[], &starts, |_, _| {}),
        }
    }

    /// Where the slots of a body start in a row.
    fn starts(&mut self, facts: &Facts, row: Value) -> Vec<Option<Value>> {
        let mut starts = vec![None; self.code.slots.len()];
        for slot in &facts.slots {
            let line = *slot as usize * slot_words(self.code.loops);
            let base = self.word(self.args.slots, line + SLOT_BASE);
            let stride = self.word(self.args.slots, line + SLOT_ROW);
            let moved = self.b.ins().imul(row, stride);
            starts[*slot as usize] = Some(self.b.ins().iadd(base, moved));
        }
        starts
    }

    /// The loops of a row from `level` on, around `f`, which is given the starts of the slots.
    fn nest(
        &mut self,
        level: u32,
        facts: &Facts,
        starts: &[Option<Value>],
        f: &mut dyn FnMut(&mut Self, &[Option<Value>]),
    ) {
        if level == self.code.loops {
            return f(self, starts);
        }
        let extent = self.word(self.args.extents, level as usize);
        self.counted(extent, |e, position| {
            let mut inside = starts.to_vec();
            for slot in &facts.slots {
                let at = *slot as usize;
                let line = at * slot_words(e.code.loops);
                let stride = e.word(e.args.slots, line + SLOT_LOOPS + level as usize);
                let moved = e.b.ins().imul(position, stride);
                inside[at] = inside[at].map(|start| e.b.ins().iadd(start, moved));
            }
            e.nest(level + 1, facts, &inside, f);
        });
    }

    /// A pass without folds of its row, or with one fold per lane.
    fn walk(&mut self, pass: &Pass, facts: &Facts, roots: &[Vid], starts: &[Option<Value>]) {
        self.nest(0, facts, starts, &mut |e, starts| {
            e.inner(&pass.body, facts, roots, starts, |e, step| {
                for fold in &pass.folds {
                    e.fold_in_tile(step, *fold);
                }
            });
        });
    }

    /// What surrounds the inner loops: nothing happens if there are no elements, and uniform values
    /// are computed first.
    fn run(
        &mut self,
        body: &[Inst],
        facts: &Facts,
        roots: &[Vid],
        starts: &[Option<Value>],
        f: impl FnOnce(&mut Self, &[Option<lanes::Val>]),
    ) {
        let (some, done) = (self.b.create_block(), self.b.create_block());
        let zero = self.b.ins().iconst(types::I64, 0);
        let any = self.b.ins().icmp(IntCC::SignedGreaterThan, self.args.n, zero);
        self.b.ins().brif(any, some, &[], done, &[]);
        self.b.switch_to_block(some);
        let uniforms = self.uniforms(body, facts, roots, starts);
        f(self, &uniforms);
        self.b.ins().jump(done, &[]);
        self.b.switch_to_block(done);
    }

    /// The inner axis in groups, then the rest; `after` is called with each emitted group.
    fn inner(
        &mut self,
        body: &[Inst],
        facts: &Facts,
        roots: &[Vid],
        starts: &[Option<Value>],
        mut after: impl FnMut(&mut Self, &mut emitter::Step<'_>),
    ) {
        self.run(body, facts, roots, starts, |e, uniforms| {
            let mut from = e.b.ins().iconst(types::I64, 0);
            let sizes = [4 * facts.unroll, 4, 1];
            for elems in sizes.into_iter().skip(usize::from(facts.unroll == 1)) {
                (from, _) = e.groups(from, e.args.n, elems, &[], |e, index, _| {
                    let mut step = e.group(body, facts, uniforms, starts, elems, index);
                    after(e, &mut step);
                    Vecs::new()
                });
            }
        });
    }

    /// Sets the accumulators of every lane to `identity`.
    fn fill_tile(&mut self, k: u32, repr: Repr, identity: Value) {
        let base = self.b.ins().iadd_imm_s(self.args.tile, i64::from(k) * 8 * TILE as i64);
        let zero = self.b.ins().iconst(types::I64, 0);
        // Lanes past `n` may be written: the tile is whole, and 4 lanes divide it.
        let rounded = self.b.ins().iadd_imm_s(self.args.n, 3);
        self.groups(zero, rounded, 4, &[], |e, index, _| {
            let address = e.element(base, index, repr.bytes());
            let vecs: Vecs = (0..repr.vectors(4)).map(|_| identity).collect();
            e.store_accumulators(repr, address, 4, &vecs);
            Vecs::new()
        });
    }
}
