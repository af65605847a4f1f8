//! The two kinds of loop in a kernel: over single rows or loop positions, and over groups of inner elements.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Type, Value, types};
use smallvec::SmallVec;

use super::emitted_value::Vecs;
use super::emitter::Emitter;

impl Emitter<'_, '_> {
    /// Emits a loop around `f(i)`, for every `i` below `count`.
    pub fn counted(&mut self, count: Value, f: impl FnOnce(&mut Self, Value)) {
        let (body, done) = (self.b.create_block(), self.b.create_block());
        let i = self.b.append_block_param(body, types::I64);
        let zero = self.b.ins().iconst(types::I64, 0);
        let any = self.b.ins().icmp(IntCC::SignedGreaterThan, count, zero);
        self.b.ins().brif(any, body, &[zero.into()], done, &[]);
        self.b.switch_to_block(body);
        f(self, i);
        let next = self.b.ins().iadd_imm_s(i, 1);
        let more = self.b.ins().icmp(IntCC::SignedLessThan, next, count);
        self.b.ins().brif(more, body, &[next.into()], done, &[]);
        self.b.switch_to_block(done);
    }

    /// Emits a loop around `f`, for every whole group of `elems` elements from `start` to `end`. `f` takes the first
    /// element of its group and the loop-carried values, which start as `carried`, and returns their next values.
    /// Returns the first element after the groups and the final values.
    pub fn groups(
        &mut self,
        start: Value,
        end: Value,
        elems: u32,
        carried: &[Value],
        f: impl FnOnce(&mut Self, Value, &[Value]) -> Vecs,
    ) -> (Value, Vecs) {
        let (body, done) = (self.b.create_block(), self.b.create_block());
        let last = self.b.ins().iadd_imm_s(end, -i64::from(elems));
        let any = self.b.ins().icmp(IntCC::SignedLessThanOrEqual, start, last);
        let params = |e: &mut Self, block: Block| -> (Value, Vecs) {
            let i = e.b.append_block_param(block, types::I64);
            let types: SmallVec<[Type; 8]> = carried.iter().map(|v| e.b.func.dfg.value_type(*v)).collect();
            (i, types.iter().map(|t| e.b.append_block_param(block, *t)).collect())
        };
        let (i, inside) = params(self, body);
        let (rest, after) = params(self, done);
        let arguments = |i: Value, values: &[Value]| -> SmallVec<[_; 9]> {
            std::iter::once(i).chain(values.iter().copied()).map(Into::into).collect()
        };
        let first = arguments(start, carried);
        self.b.ins().brif(any, body, &first, done, &first);
        self.b.switch_to_block(body);
        let next_values = f(self, i, &inside);
        let next = self.b.ins().iadd_imm_s(i, i64::from(elems));
        let more = self.b.ins().icmp(IntCC::SignedLessThanOrEqual, next, last);
        let again = arguments(next, &next_values);
        self.b.ins().brif(more, body, &again, done, &again);
        self.b.switch_to_block(done);
        (rest, after)
    }
}
