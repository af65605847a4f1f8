//! The instructions of a body, emitted for one group of elements.

use cranelift_codegen::ir::{InstBuilder, Value};
use smallvec::smallvec;

use super::body_analysis::BodyAnalysis;
use super::emitted_value::{EmittedValue, Vecs};
use super::emitter::{ElementGroup, Emitter};
use crate::codegen::legalize::{ends_with_zero, reduce_step};
use crate::codegen::repr::{Repr, lane_bits};
use crate::lower::kernel_body::{Inst, InstId, InstOp, LaneLayout, ReduceStep};

impl Emitter<'_, '_> {
    /// Emits the uniform instructions, and each form of their values that a varying instruction or a root takes.
    /// Returns the values by instruction; a varying instruction has none yet.
    pub fn uniforms(
        &mut self,
        body: &[Inst],
        analysis: &BodyAnalysis,
        roots: &[InstId],
        starts: &[Option<Value>],
    ) -> Vec<Option<EmittedValue>> {
        let mut group = ElementGroup::single(body, analysis, starts);
        for number in (0..body.len()).filter(|number| analysis.uniform[*number]) {
            self.inst(&mut group, number);
        }
        self.prepare(&mut group, roots);
        group.vals
    }

    /// Emits the varying instructions for `elems` elements from element `index` on. `uniforms` are the values that
    /// [`Emitter::uniforms`] returned.
    pub fn group<'s>(
        &mut self,
        body: &'s [Inst],
        analysis: &'s BodyAnalysis,
        uniforms: &[Option<EmittedValue>],
        starts: &'s [Option<Value>],
        elems: u32,
        index: Value,
    ) -> ElementGroup<'s> {
        let mut group = ElementGroup {
            body,
            analysis,
            vals: uniforms.to_vec(),
            starts,
            elems,
            uniform: false,
            index: Some(index),
        };
        for number in (0..body.len()).filter(|number| !analysis.uniform[*number]) {
            self.inst(&mut group, number);
        }
        group
    }

    /// Emits a whole body for a single element, at the start of every slot.
    pub fn once(&mut self, body: &[Inst], analysis: &BodyAnalysis, starts: &[Option<Value>]) {
        let mut group = ElementGroup::single(body, analysis, starts);
        for number in 0..body.len() {
            self.inst(&mut group, number);
        }
    }

    fn inst(&mut self, group: &mut ElementGroup<'_>, number: usize) {
        let inst = &group.body[number];
        let as_scalars = group.analysis.lane_only[number];
        let val = match &inst.op {
            InstOp::Const(scalar) => EmittedValue::of_constant(Repr::of(inst.dtype), lane_bits(*scalar)),
            InstOp::Scalar(k) => EmittedValue::of_lanes(Repr::I64, true, smallvec![self.scalar(*k)]),
            InstOp::Iota(slot) => self.iota(group, *slot, as_scalars),
            InstOp::Load(slot) => self.load(group, *slot, as_scalars),
            InstOp::Gather { slot, offsets } => self.gather(group, *slot, offsets),
            InstOp::Unary(op, a) => self.unary(group, *op, *a),
            InstOp::Binary(op, a, b) => self.binary(group, *op, *a, *b),
            InstOp::MulAdd(a, b, c) => self.mul_add(group, *a, *b, *c),
            InstOp::Select(c, a, b) => self.select(group, *c, *a, *b),
            InstOp::Cast(a) => self.cast(group, *a, inst.dtype),
            InstOp::Bitcast(a) => self.bitcast(group, *a, inst.dtype),
            InstOp::Reduced(k) => self.reduced(group, *k),
            InstOp::CheckIndex { value, limit } => self.check_index(group, *value, *limit),
            InstOp::Store { slot, value } => {
                self.store(group, *slot, *value);
                group.val(*value).clone()
            }
            InstOp::StorePair { slot, values } => {
                self.store_pair(group, *slot, *values);
                group.val(values[0]).clone()
            }
        };
        group.vals[number] = Some(val);
    }

    /// Emits the result of reduction `k`. A row kernel has one result for the row. In a column kernel every lane has
    /// its own result, in the tile.
    fn reduced(&mut self, group: &ElementGroup<'_>, k: u32) -> EmittedValue {
        let reduce = reduce_step(self.code, k);
        let repr = Repr::of(reduce.dtype);
        if self.code.layout == LaneLayout::Row {
            let vector = self.reduced[k as usize].expect("a reduction is finished before it is read");
            return EmittedValue::of_vecs(repr, true, smallvec![vector]);
        }
        let address = self.tile_address(group, k, repr);
        let accumulators = self.load_accumulators(repr, address, group.elems);
        EmittedValue::of_vecs(repr, false, self.finish_reduction(reduce, accumulators))
    }

    /// Emits the last step of a reduction for accumulators `x`: the final addition of a float sum, and rounding or
    /// wrapping to the dtype.
    pub fn finish_reduction(&mut self, reduce: ReduceStep, mut x: Vecs) -> Vecs {
        if ends_with_zero(reduce) {
            let zero = self.splat_bits(Repr::of(reduce.dtype), 0);
            x = self.map(&x, |e, x| e.b.ins().fadd(x, zero));
        }
        self.settle(reduce.dtype, x)
    }
}
