//! Reductions along the inner axis: accumulators, totals, and the tree over them.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use smallvec::SmallVec;

use super::body_analysis::BodyAnalysis;
use super::emitted_value::{EmittedValue, Vecs};
use super::emitter::{ElementGroup, Emitter, flags};
use crate::codegen::legalize::identity_bits;
use crate::codegen::repr::Repr;
use crate::lower::kernel_body::{Pass, REDUCE_BYTES, REDUCE_TILE, ReduceStep};

/// The number of vectors that hold the accumulators of one reduction.
const ACCUMULATOR_VECTORS: usize = REDUCE_BYTES / 16;

/// The number of registers left to a body besides the accumulators of one reduction: half of 16.
const FREE_REGISTERS: u32 = 8;

/// The largest number of varying instructions of a body that is emitted several times, once for each part of the
/// accumulators.
const MAX_REPEATED_INSTS: usize = 16;

/// Returns the number of elements in a *round*, which gives one element to each lane of the accumulator vectors.
fn round_elements(reduce: ReduceStep) -> u32 {
    REDUCE_BYTES as u32 / Repr::of(reduce.dtype).bytes()
}

/// Returns the number of elements per emission of the body, if the accumulators can stay in registers: the pass has one
/// reduction, and its body is short and needs few registers.
fn register_elements(pass: &Pass, analysis: &BodyAnalysis) -> Option<u32> {
    if pass.reduces.len() != 1 || analysis.varying > MAX_REPEATED_INSTS {
        return None;
    }
    // The unroll factor, in vectors of 4 elements.
    match analysis.unroll.min(FREE_REGISTERS / analysis.pressure) {
        0 | 1 => None,
        2 | 3 => Some(8),
        _ => Some(16),
    }
}

impl Emitter<'_, '_> {
    /// Emits the constant from which a reduction starts.
    pub fn identity(&mut self, reduce: ReduceStep) -> Value {
        self.splat_bits(Repr::of(reduce.dtype), identity_bits(reduce))
    }

    /// Combines two vectors of accumulators. Their lanes are values of the dtype only after
    /// [`finish_reduction`](Emitter::finish_reduction).
    pub fn combine(&mut self, reduce: ReduceStep, x: Value, y: Value) -> Value {
        self.arithmetic(reduce.dtype, reduce.op.combiner(), x, y)
    }

    /// Emits the operands of a reduction in a group.
    pub fn reduction_operands(&mut self, group: &mut ElementGroup<'_>, reduce: ReduceStep) -> Vecs {
        self.vecs(group, reduce.value)
    }

    /// Emits the address of the accumulators (`part` 0) or totals (`part` 1) of reduction number `index` of the pass.
    fn stack_lanes(&mut self, index: usize, part: usize) -> Value {
        let slot = self.accumulators.expect("a function with row reductions has accumulators");
        self.b.ins().stack_addr(types::I64, slot, ((2 * index + part) * REDUCE_BYTES) as i32)
    }

    /// Stores whole vectors one after the other from `address` on.
    fn store_all(&mut self, address: Value, vecs: impl IntoIterator<Item = Value>) {
        for (j, x) in vecs.into_iter().enumerate() {
            self.b.ins().store(flags(), x, address, 16 * j as i32);
        }
    }

    /// Sets the totals of every reduction to its identity.
    pub fn start_reductions(&mut self, pass: &Pass) {
        for (index, reduce) in pass.reduces.iter().enumerate() {
            let totals = self.stack_lanes(index, 1);
            let identity = self.identity(*reduce);
            self.store_all(totals, [identity; ACCUMULATOR_VECTORS]);
        }
    }

    /// Reduces the elements of the inner axis into the totals, for one iteration of the outer loops.
    ///
    /// A tile is [`REDUCE_TILE`] elements. The accumulators of a tile start from the identity, and are combined into
    /// the totals after the tile. In the *direct* case, the totals themselves are the accumulators. This case is chosen
    /// at run time if it gives the same result: each lane takes at most one element, or the row is a single tile.
    pub fn reduce_inner_axis(
        &mut self,
        pass: &Pass,
        analysis: &BodyAnalysis,
        uniforms: &[Option<EmittedValue>],
        starts: &[Option<Value>],
    ) {
        let loops = self.code.loops > 0;
        let rounds = pass.reduces.iter().map(|reduce| round_elements(*reduce));
        let shortest_round = rounds.min().expect("the pass has reductions");
        let limit = if loops { i64::from(shortest_round) } else { REDUCE_TILE as i64 };
        let n = self.args.n;
        let limit = self.b.ins().iconst(types::I64, limit);
        let direct = self.b.ins().icmp(IntCC::SignedLessThanOrEqual, n, limit);
        let lanes: SmallVec<[Value; 4]> = (0..pass.reduces.len())
            .map(|index| {
                let (accumulators, totals) = (self.stack_lanes(index, 0), self.stack_lanes(index, 1));
                self.b.ins().select(direct, totals, accumulators)
            })
            .collect();

        let tile = self.b.create_block();
        let first = self.b.append_block_param(tile, types::I64);
        let zero = self.b.ins().iconst(types::I64, 0);
        self.b.ins().jump(tile, &[zero.into()]);
        self.b.switch_to_block(tile);
        let full_end = self.b.ins().iadd_imm_s(first, REDUCE_TILE as i64);
        let end = self.b.ins().smin(full_end, n);

        let in_registers = register_elements(pass, analysis);
        let rest = self.b.create_block();
        let rest_start = self.b.append_block_param(rest, types::I64);
        let start = self.b.create_block();
        // The block `start` overwrites the accumulators in memory. In the direct case these are the totals, which hold
        // earlier results if there are loops: so the code goes to `rest`, and reduces in memory. Without loops the
        // totals are still the identity, so the registers may overwrite them.
        if in_registers.is_some() && !loops {
            self.b.ins().jump(start, &[]);
        } else {
            self.b.ins().brif(direct, rest, &[first.into()], start, &[]);
        }
        self.b.switch_to_block(start);
        let left = match in_registers {
            Some(elems) => {
                let body = &pass.body;
                self.reduce_in_registers(pass, analysis, elems, [first, end], lanes[0], |e, elems, index| {
                    e.group(body, analysis, uniforms, starts, elems, index)
                })
            }
            None => {
                for (reduce, address) in pass.reduces.iter().zip(&lanes) {
                    let identity = self.identity(*reduce);
                    self.store_all(*address, [identity; ACCUMULATOR_VECTORS]);
                }
                first
            }
        };
        self.b.ins().jump(rest, &[left.into()]);
        self.b.switch_to_block(rest);

        let mut from = rest_start;
        let one_size = in_registers.is_some() || analysis.unroll == 1;
        for elems in [4 * analysis.unroll, 4, 1].into_iter().skip(usize::from(one_size)) {
            (from, _) = self.groups(from, end, elems, &[], |e, index, _| {
                let mut group = e.group(&pass.body, analysis, uniforms, starts, elems, index);
                for (reduce, address) in pass.reduces.iter().zip(&lanes) {
                    e.reduce_in_memory(&mut group, *reduce, *address, index);
                }
                Vecs::new()
            });
        }

        let (add, next) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(direct, next, &[], add, &[]);
        self.b.switch_to_block(add);
        for (index, reduce) in pass.reduces.iter().enumerate() {
            let (accumulators, totals) = (self.stack_lanes(index, 0), self.stack_lanes(index, 1));
            let vector = Repr::of(reduce.dtype).vector();
            for j in 0..ACCUMULATOR_VECTORS {
                let offset = 16 * j as i32;
                let total = self.b.ins().load(vector, flags(), totals, offset);
                let more = self.b.ins().load(vector, flags(), accumulators, offset);
                let sum = self.combine(*reduce, total, more);
                self.b.ins().store(flags(), sum, totals, offset);
            }
        }
        self.b.ins().jump(next, &[]);
        self.b.switch_to_block(next);
        let done = self.b.create_block();
        let again = self.b.create_block();
        let more = self.b.ins().icmp(IntCC::SignedLessThan, end, n);
        self.b.ins().brif(more, again, &[], done, &[]);
        self.b.switch_to_block(again);
        self.poll();
        self.b.ins().jump(tile, &[end.into()]);
        self.b.switch_to_block(done);
    }

    /// Reduces the whole rounds from element `first` to `end` with the accumulators in registers, then stores the
    /// registers to `address`. `group` emits the body for `elems` elements from an element on. Returns the first
    /// remaining element.
    fn reduce_in_registers<'s>(
        &mut self,
        pass: &'s Pass,
        analysis: &BodyAnalysis,
        elems: u32,
        [first, end]: [Value; 2],
        address: Value,
        group: impl Fn(&mut Self, u32, Value) -> ElementGroup<'s>,
    ) -> Value {
        debug_assert!(elems <= 4 * analysis.unroll);
        let reduce = pass.reduces[0];
        let identity = self.identity(reduce);
        let round = round_elements(reduce);
        let (rest, finished) =
            self.groups(first, end, round, &[identity; ACCUMULATOR_VECTORS], |e, index, lanes| {
                let mut lanes = Vecs::from_slice(lanes);
                let mut next = 0;
                for part in 0..round / elems {
                    let index = match part {
                        0 => index,
                        _ => e.b.ins().iadd_imm_s(index, i64::from(part * elems)),
                    };
                    let mut group = group(e, elems, index);
                    for x in e.reduction_operands(&mut group, reduce) {
                        lanes[next] = e.combine(reduce, lanes[next], x);
                        next += 1;
                    }
                }
                lanes
            });
        self.store_all(address, finished);
        rest
    }

    /// Reduces the elements of the group at element `index` into the accumulators at `address`.
    fn reduce_in_memory(
        &mut self,
        group: &mut ElementGroup<'_>,
        reduce: ReduceStep,
        address: Value,
        index: Value,
    ) {
        let repr = Repr::of(reduce.dtype);
        let bytes = self.b.ins().ishl_imm_u(index, i64::from(repr.bytes().trailing_zeros()));
        let offset = self.b.ins().band_imm_u(bytes, REDUCE_BYTES as i64 - 1);
        let address = self.b.ins().iadd(address, offset);
        let values = self.reduction_operands(group, reduce);
        let before = self.load_accumulators(repr, address, group.elems);
        let after = self.zip(&before, &values, |e, x, y| e.combine(reduce, x, y));
        self.store_accumulators(repr, address, group.elems, &after);
    }

    /// Combines the upper half of each reduction's totals with the lower half until one total is left. Sets `reduced`
    /// to a vector with this total in every lane.
    pub fn finish_reductions(&mut self, pass: &Pass) {
        for (index, reduce) in pass.reduces.iter().enumerate() {
            let repr = Repr::of(reduce.dtype);
            let totals = self.stack_lanes(index, 1);
            let mut vecs: Vecs = (0..ACCUMULATOR_VECTORS)
                .map(|j| self.b.ins().load(repr.vector(), flags(), totals, 16 * j as i32))
                .collect();
            while vecs.len() > 1 {
                let half = vecs.len() / 2;
                let (low, high): (Vecs, Vecs) = (vecs[..half].into(), vecs[half..].into());
                vecs = self.zip(&low, &high, |e, x, y| e.combine(*reduce, x, y));
            }
            let mut vector = vecs[0];
            let high = self.high_half(vector);
            vector = self.combine(*reduce, vector, high);
            if repr.bytes() == 4 {
                let second = self.shuffle(vector, vector, [4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7]);
                vector = self.combine(*reduce, vector, second);
            }
            let vector = self.finish_reduction(*reduce, [vector].into_iter().collect())[0];
            let spread = match repr.bytes() {
                4 => [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3],
                _ => [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7],
            };
            self.reduced[reduce.into as usize] = Some(self.shuffle(vector, vector, spread));
        }
    }

    /// Reduces each element of a group into its accumulator in the tile: in a column kernel each lane is a row.
    pub fn reduce_in_tile(&mut self, group: &mut ElementGroup<'_>, reduce: ReduceStep) {
        let repr = Repr::of(reduce.dtype);
        let address = self.tile_address(group, reduce.into, repr);
        let values = self.reduction_operands(group, reduce);
        let before = self.load_accumulators(repr, address, group.elems);
        let after = self.zip(&before, &values, |e, x, y| e.combine(reduce, x, y));
        self.store_accumulators(repr, address, group.elems, &after);
    }
}
