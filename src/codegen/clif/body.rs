//! A body of straight-line instructions, emitted for one group of elements.

use cranelift_codegen::ir::{InstBuilder, Value};
use smallvec::smallvec;

use super::emitter::{Emitter, Step};
use super::facts::Facts;
use super::lanes::{Val, Vecs};
use crate::codegen::legalize::{ends_with_zero, fold_step};
use crate::codegen::repr::{Repr, lane_bits};
use crate::lower::code::{FoldStep, Inst, InstOp, Layout, Vid};

impl Emitter<'_, '_> {
    /// Emits what has one value for the whole inner loop, in the forms the loop will take.
    pub fn uniforms(
        &mut self,
        body: &[Inst],
        facts: &Facts,
        roots: &[Vid],
        starts: &[Option<Value>],
    ) -> Vec<Option<Val>> {
        let mut step =
            Step { body, facts, vals: vec![None; body.len()], starts, elems: 1, uniform: true, index: None };
        for at in (0..body.len()).filter(|at| facts.uniform[*at]) {
            self.inst(&mut step, at);
        }
        self.prepare(&mut step, roots);
        step.vals
    }

    /// Emits every instruction that varies, for `elems` elements from `index` on.
    pub fn group<'s>(
        &mut self,
        body: &'s [Inst],
        facts: &'s Facts,
        uniforms: &[Option<Val>],
        starts: &'s [Option<Value>],
        elems: u32,
        index: Value,
    ) -> Step<'s> {
        let mut step =
            Step { body, facts, vals: uniforms.to_vec(), starts, elems, uniform: false, index: Some(index) };
        for at in (0..body.len()).filter(|at| !facts.uniform[*at]) {
            self.inst(&mut step, at);
        }
        step
    }

    /// Emits a whole body for a single element, at the start of every slot.
    pub fn once(&mut self, body: &[Inst], facts: &Facts, starts: &[Option<Value>]) {
        let mut step =
            Step { body, facts, vals: vec![None; body.len()], starts, elems: 1, uniform: true, index: None };
        for at in 0..body.len() {
            self.inst(&mut step, at);
        }
    }

    fn inst(&mut self, step: &mut Step<'_>, at: usize) {
        let inst = &step.body[at];
        let by_lanes = step.facts.lane_only[at];
        let val = match &inst.op {
            InstOp::Const(scalar) => Val::of_constant(Repr::of(inst.dtype), lane_bits(*scalar)),
            InstOp::Scalar(k) => Val::of_lanes(Repr::I64, true, smallvec![self.scalar(*k)]),
            InstOp::Iota(slot) => self.iota(step, *slot, by_lanes),
            InstOp::Load(slot) => self.load(step, *slot, by_lanes),
            InstOp::Gather { slot, offsets } => self.gather(step, *slot, offsets),
            InstOp::Unary(op, a) => self.unary(step, *op, *a),
            InstOp::Binary(op, a, b) => self.binary(step, *op, *a, *b),
            InstOp::MulAdd(a, b, c) => self.mul_add(step, *a, *b, *c),
            InstOp::Select(c, a, b) => self.select(step, *c, *a, *b),
            InstOp::Cast(a) => self.cast(step, *a, inst.dtype),
            InstOp::Bitcast(a) => self.bitcast(step, *a, inst.dtype),
            InstOp::Folded(k) => self.folded(step, *k),
            InstOp::CheckIndex { value, limit } => self.check_index(step, *value, *limit),
            InstOp::Store { slot, value } => {
                self.store(step, *slot, *value);
                step.val(*value).clone()
            }
        };
        step.vals[at] = Some(val);
    }

    /// The result of a fold: of the row, or of each lane's own row.
    fn folded(&mut self, step: &Step<'_>, k: u32) -> Val {
        let fold = fold_step(self.code, k);
        let repr = Repr::of(fold.dtype);
        if self.code.layout == Layout::Row {
            let vector = self.folded[k as usize].expect("a fold is finished before it is read");
            return Val::of_vecs(repr, true, smallvec![vector]);
        }
        let address = self.tile_address(step, k, repr);
        let accumulators = self.load_accumulators(repr, address, step.elems);
        Val::of_vecs(repr, false, self.finish_fold(fold, accumulators))
    }

    /// The last step of a fold: a float sum adds 0.0, and lanes wider than the dtype are settled.
    pub fn finish_fold(&mut self, fold: FoldStep, mut x: Vecs) -> Vecs {
        if ends_with_zero(fold) {
            let zero = self.splat_bits(Repr::of(fold.dtype), 0);
            x = self.map(&x, |e, x| e.b.ins().fadd(x, zero));
        }
        self.settle(fold.dtype, x)
    }
}
