//! The two kinds of loop in a kernel: over single rows or loop positions, and over groups of inner elements.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Type, Value, types};
use smallvec::SmallVec;

use super::emitted_value::Vecs;
use super::emitter::{Emitter, flags};
use crate::codegen::abi::{KernelArgs, POLLED_ITERATIONS};

impl Emitter<'_, '_> {
    /// Emits a loop around `f(i)`, for every `i` below `count`. The code polls once in [`POLLED_ITERATIONS`]
    /// iterations.
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
        let (again, polled) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(more, again, &[], done, &[]);
        self.b.switch_to_block(again);
        let unpolled = self.b.ins().band_imm_u(next, POLLED_ITERATIONS as i64 - 1);
        self.b.ins().brif(unpolled, body, &[next.into()], polled, &[]);
        self.b.switch_to_block(polled);
        self.poll();
        self.b.ins().jump(body, &[next.into()]);
        self.b.switch_to_block(done);
    }

    /// Ends the function early if [`KernelArgs::stop`] is true.
    pub fn poll(&mut self) {
        let next = self.b.create_block();
        let offset = std::mem::offset_of!(KernelArgs, stop) as i32;
        let stop = self.b.ins().load(types::I64, flags(), self.args.address, offset);
        // Atomic, because Cranelift may take an ordinary load as equal to an earlier one.
        let stops = self.b.ins().atomic_load(types::I8, flags(), stop);
        self.b.ins().brif(stops, self.stop, &[], next, &[]);
        self.b.switch_to_block(next);
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
