//! Folds along the inner axis: accumulator lanes, totals, and the tree over them.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use smallvec::SmallVec;

use super::emitter::{Emitter, Step, flags};
use super::facts::Facts;
use super::lanes::{Val, Vecs};
use crate::codegen::legalize::identity_bits;
use crate::codegen::repr::Repr;
use crate::lower::code::{FOLD_BYTES, FOLD_TILE, FoldStep, Pass};

/// Vectors that hold the lanes of one fold.
const FOLD_VECTORS: usize = FOLD_BYTES / 16;

/// Registers left to a body beside the accumulators of one fold.
const BESIDE_ACCUMULATORS: u32 = 8;

/// The largest body whose code is repeated until every accumulator was used once.
const REPEATED_BODY: usize = 16;

/// Elements that use every accumulator of a fold once.
fn lanes_of(fold: FoldStep) -> u32 {
    FOLD_BYTES as u32 / Repr::of(fold.dtype).bytes()
}

/// How many elements the body of a single fold is emitted for at a time, if its accumulators are to
/// stay in registers.
fn register_step(pass: &Pass, facts: &Facts) -> Option<u32> {
    if pass.folds.len() != 1 || facts.varying > REPEATED_BODY {
        return None;
    }
    match facts.unroll.min(BESIDE_ACCUMULATORS / facts.pressure) {
        0 | 1 => None,
        2 | 3 => Some(8),
        _ => Some(16),
    }
}

impl Emitter<'_, '_> {
    /// The lanes a fold starts from.
    pub fn identity(&mut self, fold: FoldStep) -> Value {
        self.splat_bits(Repr::of(fold.dtype), identity_bits(fold))
    }

    /// Two vectors of accumulators as one; nothing is settled before the end.
    pub fn combine(&mut self, fold: FoldStep, x: Value, y: Value) -> Value {
        self.arithmetic(fold.dtype, fold.op.combiner(), x, y)
    }

    /// The values a step folds.
    pub fn fold_values(&mut self, step: &mut Step<'_>, fold: FoldStep) -> Vecs {
        self.vecs(step, fold.value)
    }

    /// The address of a fold's accumulators (`part` 0) or totals (`part` 1), by its place in the pass.
    fn stack_lanes(&mut self, place: usize, part: usize) -> Value {
        let slot = self.accumulators.expect("a function with row folds has accumulators");
        self.b.ins().stack_addr(types::I64, slot, ((2 * place + part) * FOLD_BYTES) as i32)
    }

    fn store_all(&mut self, address: Value, vecs: impl IntoIterator<Item = Value>) {
        for (j, x) in vecs.into_iter().enumerate() {
            self.b.ins().store(flags(), x, address, 16 * j as i32);
        }
    }

    /// Sets the totals of every fold to its identity, before the first element of a row.
    pub fn start_folds(&mut self, pass: &Pass) {
        for (place, fold) in pass.folds.iter().enumerate() {
            let totals = self.stack_lanes(place, 1);
            let identity = self.identity(*fold);
            self.store_all(totals, [identity; FOLD_VECTORS]);
        }
    }

    /// Folds one run of the inner axis into the totals.
    ///
    /// A tile's accumulators start from the identity and are combined into the totals after it. Where
    /// that changes nothing (each lane meets at most one element, or the row is a single tile) the
    /// totals themselves accumulate: the run is *direct*.
    pub fn fold_run(
        &mut self,
        pass: &Pass,
        facts: &Facts,
        uniforms: &[Option<Val>],
        starts: &[Option<Value>],
    ) {
        let loops = self.code.loops > 0;
        let few = pass.folds.iter().map(|fold| lanes_of(*fold)).min().expect("the pass has reductions");
        let limit = if loops { i64::from(few) } else { FOLD_TILE as i64 };
        let n = self.args.n;
        let limit = self.b.ins().iconst(types::I64, limit);
        let direct = self.b.ins().icmp(IntCC::SignedLessThanOrEqual, n, limit);
        let lanes: SmallVec<[Value; 4]> = (0..pass.folds.len())
            .map(|place| {
                let (own, totals) = (self.stack_lanes(place, 0), self.stack_lanes(place, 1));
                self.b.ins().select(direct, totals, own)
            })
            .collect();

        let tile = self.b.create_block();
        let first = self.b.append_block_param(tile, types::I64);
        let zero = self.b.ins().iconst(types::I64, 0);
        self.b.ins().jump(tile, &[zero.into()]);
        self.b.switch_to_block(tile);
        let whole = self.b.ins().iadd_imm_s(first, FOLD_TILE as i64);
        let end = self.b.ins().smin(whole, n);

        let in_registers = register_step(pass, facts);
        let rest = self.b.create_block();
        let rest_start = self.b.append_block_param(rest, types::I64);
        let start = self.b.create_block();
        // Accumulators kept in registers overwrite what memory held, which a direct run may only do
        // if the row is this run.
        if in_registers.is_some() && !loops {
            self.b.ins().jump(start, &[]);
        } else {
            self.b.ins().brif(direct, rest, &[first.into()], start, &[]);
        }
        self.b.switch_to_block(start);
        let left = match in_registers {
            Some(elems) => {
                let body = &pass.body;
                self.fold_in_registers(pass, facts, elems, [first, end], lanes[0], |e, elems, index| {
                    e.group(body, facts, uniforms, starts, elems, index)
                })
            }
            None => {
                for (fold, address) in pass.folds.iter().zip(&lanes) {
                    let identity = self.identity(*fold);
                    self.store_all(*address, [identity; FOLD_VECTORS]);
                }
                first
            }
        };
        self.b.ins().jump(rest, &[left.into()]);
        self.b.switch_to_block(rest);

        let mut from = rest_start;
        let one_size = in_registers.is_some() || facts.unroll == 1;
        for elems in [4 * facts.unroll, 4, 1].into_iter().skip(usize::from(one_size)) {
            (from, _) = self.groups(from, end, elems, &[], |e, index, _| {
                let mut step = e.group(&pass.body, facts, uniforms, starts, elems, index);
                for (fold, address) in pass.folds.iter().zip(&lanes) {
                    e.fold_in_memory(&mut step, *fold, *address, index);
                }
                Vecs::new()
            });
        }

        let (add, next) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(direct, next, &[], add, &[]);
        self.b.switch_to_block(add);
        for (place, fold) in pass.folds.iter().enumerate() {
            let (own, totals) = (self.stack_lanes(place, 0), self.stack_lanes(place, 1));
            let vector = Repr::of(fold.dtype).vector();
            for j in 0..FOLD_VECTORS {
                let offset = 16 * j as i32;
                let total = self.b.ins().load(vector, flags(), totals, offset);
                let more = self.b.ins().load(vector, flags(), own, offset);
                let sum = self.combine(*fold, total, more);
                self.b.ins().store(flags(), sum, totals, offset);
            }
        }
        self.b.ins().jump(next, &[]);
        self.b.switch_to_block(next);
        let done = self.b.create_block();
        let more = self.b.ins().icmp(IntCC::SignedLessThan, end, n);
        self.b.ins().brif(more, tile, &[end.into()], done, &[]);
        self.b.switch_to_block(done);
    }

    /// Folds whole rounds of the accumulators, which stay in registers, and writes them to `address`.
    /// Returns the first element left over.
    fn fold_in_registers<'s>(
        &mut self,
        pass: &'s Pass,
        facts: &Facts,
        elems: u32,
        [first, end]: [Value; 2],
        address: Value,
        group: impl Fn(&mut Self, u32, Value) -> Step<'s>,
    ) -> Value {
        debug_assert!(elems <= 4 * facts.unroll);
        let fold = pass.folds[0];
        let identity = self.identity(fold);
        let round = lanes_of(fold);
        let (rest, finished) =
            self.groups(first, end, round, &[identity; FOLD_VECTORS], |e, index, lanes| {
                let mut lanes = Vecs::from_slice(lanes);
                let mut at = 0;
                for part in 0..round / elems {
                    let index = match part {
                        0 => index,
                        _ => e.b.ins().iadd_imm_s(index, i64::from(part * elems)),
                    };
                    let mut step = group(e, elems, index);
                    for x in e.fold_values(&mut step, fold) {
                        lanes[at] = e.combine(fold, lanes[at], x);
                        at += 1;
                    }
                }
                lanes
            });
        self.store_all(address, finished);
        rest
    }

    /// Folds the elements of one step into lanes in memory.
    fn fold_in_memory(&mut self, step: &mut Step<'_>, fold: FoldStep, address: Value, index: Value) {
        let repr = Repr::of(fold.dtype);
        let bytes = self.b.ins().ishl_imm_u(index, i64::from(repr.bytes().trailing_zeros()));
        let offset = self.b.ins().band_imm_u(bytes, FOLD_BYTES as i64 - 1);
        let address = self.b.ins().iadd(address, offset);
        let values = self.fold_values(step, fold);
        let before = self.load_accumulators(repr, address, step.elems);
        let after = self.zip(&before, &values, |e, x, y| e.combine(fold, x, y));
        self.store_accumulators(repr, address, step.elems, &after);
    }

    /// Combines the totals of a row and keeps the results.
    pub fn finish_folds(&mut self, pass: &Pass) {
        for (place, fold) in pass.folds.iter().enumerate() {
            let repr = Repr::of(fold.dtype);
            let totals = self.stack_lanes(place, 1);
            let mut vecs: Vecs = (0..FOLD_VECTORS)
                .map(|j| self.b.ins().load(repr.vector(), flags(), totals, 16 * j as i32))
                .collect();
            while vecs.len() > 1 {
                let half = vecs.len() / 2;
                let (low, high): (Vecs, Vecs) = (vecs[..half].into(), vecs[half..].into());
                vecs = self.zip(&low, &high, |e, x, y| e.combine(*fold, x, y));
            }
            let mut vector = vecs[0];
            let high = self.high_half(vector);
            vector = self.combine(*fold, vector, high);
            if repr.bytes() == 4 {
                let second = self.shuffle(vector, vector, [4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7]);
                vector = self.combine(*fold, vector, second);
            }
            let vector = self.finish_fold(*fold, [vector].into_iter().collect())[0];
            let spread = match repr.bytes() {
                4 => [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3],
                _ => [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7],
            };
            self.folded[fold.into as usize] = Some(self.shuffle(vector, vector, spread));
        }
    }

    /// Folds the elements of one step into the accumulators of their own rows.
    pub fn fold_in_tile(&mut self, step: &mut Step<'_>, fold: FoldStep) {
        let repr = Repr::of(fold.dtype);
        let address = self.tile_address(step, fold.into, repr);
        let values = self.fold_values(step, fold);
        let before = self.load_accumulators(repr, address, step.elems);
        let after = self.zip(&before, &values, |e, x, y| e.combine(fold, x, y));
        self.store_accumulators(repr, address, step.elems, &after);
    }
}
