//! Reductions along the inner axis: accumulators in registers, totals in the frame, and the tree over them.

use super::function::FunctionEmitter;
use crate::codegen::repr::Repr;
use crate::codegen::simd::asm::{Alu, Cond, Mem, RAX, VectorIsa, VectorReg, opcode};
use crate::codegen::simd::ir::roles::{END, INDEX};
use crate::codegen::simd::ir::{LoopBody, MemRef, ValueOrigin, VectorBlock, frame_mem};
use crate::codegen::simd::select::{CodeVariant, SelectMode, SelectPlan, VectorIds};
use crate::lower::kernel_body::{Pass, REDUCE_BYTES, REDUCE_TILE, ReduceStep};

/// The location of a pass's accumulators while its elements are reduced.
#[derive(Clone, Copy)]
enum Accumulators {
    /// In the registers from this number on.
    Registers(u8),
    /// In the frame.
    Frame,
}

impl Accumulators {
    /// Returns the number of registers left to the body. The body uses the registers below this number.
    fn free_registers(self, isa: VectorIsa) -> u8 {
        match self {
            Accumulators::Registers(first) => first,
            Accumulators::Frame => isa.registers(),
        }
    }
}

/// Returns the number of vectors that hold the accumulators of one reduction.
fn accumulator_vectors(isa: VectorIsa) -> u32 {
    REDUCE_BYTES as u32 / isa.vector().bytes()
}

/// Returns the number of elements in a *round*: the least number that gives the same number of elements, at least one,
/// to each accumulator lane of every reduction of the pass.
fn round_elements(pass: &Pass) -> u32 {
    let lanes = pass.reduces.iter().map(|reduce| Repr::of(reduce.dtype).bytes());
    REDUCE_BYTES as u32 / lanes.min().expect("a pass of a row reduction has reductions")
}

impl FunctionEmitter<'_> {
    /// Emits a pass of a row kernel with reductions.
    pub fn reduce_pass(&mut self, pass: &Pass, body: &LoopBody<'_>, variant: CodeVariant) {
        let accumulators = self.accumulators(pass);
        for (index, reduce) in pass.reduces.iter().enumerate() {
            self.store_identity(*reduce, self.layout.totals[index]);
        }
        self.nest(&body.slots, 0, &mut |f| f.reduce_inner_axis(pass, body, accumulators, variant));
        self.finish_reductions(pass, body);
    }

    /// Returns the location of a pass's accumulators: registers, if half of all vector registers suffice.
    fn accumulators(&self, pass: &Pass) -> Accumulators {
        match pass.reduces.len() as u32 * accumulator_vectors(self.isa) {
            count if count <= u32::from(self.isa.registers()) / 2 => {
                Accumulators::Registers(self.isa.registers() - count as u8)
            }
            _ => Accumulators::Frame,
        }
    }

    /// Fills an area of the frame with the identity of a reduction.
    fn store_identity(&mut self, reduce: ReduceStep, area: u32) {
        let identity = self.identity(reduce);
        let len = self.isa.vector();
        self.asm.vector(opcode::MOV_LOAD, len, 0, 0, Mem::Pool(identity).into(), None);
        for offset in (0..REDUCE_BYTES as u32).step_by(len.bytes() as usize) {
            self.asm.vector(opcode::MOV_STORE, len, 0, 0, frame_mem(area + offset).into(), None);
        }
    }

    /// Loads accumulators from one area of the frame per reduction into registers from `first` on.
    fn load_accumulators(&mut self, first: u8, areas: &[u32]) {
        let len = self.isa.vector();
        for (reg, memory) in (first..).zip(accumulator_offsets(self.isa, areas)) {
            self.asm.vector(opcode::MOV_LOAD, len, reg, 0, frame_mem(memory).into(), None);
        }
    }

    /// Stores the accumulators that [`FunctionEmitter::load_accumulators`] loads.
    fn store_accumulators(&mut self, first: u8, areas: &[u32]) {
        let len = self.isa.vector();
        for (reg, memory) in (first..).zip(accumulator_offsets(self.isa, areas)) {
            self.asm.vector(opcode::MOV_STORE, len, reg, 0, frame_mem(memory).into(), None);
        }
    }

    /// Reduces the elements of the inner axis into the totals, tile by tile, for one iteration of the loops around it.
    /// If a row is a single tile, its accumulators may be stored as its totals.
    fn reduce_inner_axis(
        &mut self,
        pass: &Pass,
        body: &LoopBody<'_>,
        accumulators: Accumulators,
        variant: CodeVariant,
    ) {
        let reduces = pass.reduces.len();
        let areas: Vec<u32> = self.layout.accumulators[..reduces].to_vec();
        let totals: Vec<u32> = self.layout.totals[..reduces].to_vec();
        let [tile, end_known, no_rest, add, done] = std::array::from_fn(|_| self.asm.label());
        let n = frame_mem(self.layout.n);
        self.asm.alu_imm(Alu::Cmp, n, 0);
        self.asm.jump_if(Cond::LessEqual, done);
        self.asm.mov_imm(INDEX, 0);
        self.prefetch(body, variant);
        self.load_pointers(body);
        let uniforms = self.emit_uniform(body);
        let plan = SelectPlan { variant, uniforms: &uniforms, ..SelectPlan::one_element() };
        self.asm.bind(tile);
        self.asm.mov(END, n);
        self.asm.lea(RAX, Mem::Base(INDEX, REDUCE_TILE as i32));
        self.asm.alu(Alu::Cmp, RAX, END);
        self.asm.jump_if(Cond::GreaterEqual, end_known);
        self.asm.mov(END, RAX);
        self.asm.bind(end_known);
        for (reduce, area) in pass.reduces.iter().zip(&areas) {
            self.store_identity(*reduce, *area);
        }
        if let Accumulators::Registers(first) = accumulators {
            self.load_accumulators(first, &areas);
        }
        let single = self.reduce_step(pass, body, plan, false);
        self.emit_rounds(pass, body, plan, accumulators, single.pressure());
        self.asm.alu(Alu::Cmp, INDEX, END);
        self.asm.jump_if(Cond::GreaterEqual, no_rest);
        if let Accumulators::Registers(first) = accumulators {
            self.store_accumulators(first, &areas);
        }
        self.emit_steps(body, single, self.isa.step(), self.isa.registers());
        let masked = self.reduce_step(pass, body, plan, true);
        self.emit_remaining(body, masked);
        if let Accumulators::Registers(first) = accumulators {
            self.load_accumulators(first, &areas);
        }
        self.asm.bind(no_rest);
        if let Accumulators::Registers(first) = accumulators {
            if self.code.loops == 0 {
                self.asm.alu_imm(Alu::Cmp, n, REDUCE_TILE as i32);
                self.asm.jump_if(Cond::Greater, add);
                self.store_accumulators(first, &totals);
                self.asm.jump(done);
                self.asm.bind(add);
            }
            self.store_accumulators(first, &areas);
        }
        self.add_to_totals(pass, body, &areas);
        self.asm.alu(Alu::Cmp, INDEX, n);
        self.asm.jump_if(Cond::GreaterEqual, done);
        self.poll();
        self.asm.jump(tile);
        self.asm.bind(done);
    }

    /// Emits a loop over whole rounds (see [`round_elements`]) up to [`END`]. `pressure` is the register
    /// pressure of a single step.
    fn emit_rounds(
        &mut self,
        pass: &Pass,
        body: &LoopBody<'_>,
        plan: SelectPlan<'_>,
        accumulators: Accumulators,
        pressure: u32,
    ) {
        let registers = accumulators.free_registers(self.isa);
        let round = round_elements(pass);
        let step = self.isa.step();
        let steps = round / step;
        let pressure = pressure.max(1);
        // Up to two spilled registers cost less than less unrolling.
        let unroll =
            [4, 2].into_iter().find(|u| *u <= steps && pressure * u <= u32::from(registers) + 2).unwrap_or(1);
        let areas: Vec<u32> = self.layout.accumulators[..pass.reduces.len()].to_vec();
        let vectors = accumulator_vectors(self.isa);
        let bytes = self.isa.vector().bytes();
        let mut selector = self.selector(body, plan);
        for part in 0..steps / unroll {
            let ahead = part * unroll * step;
            selector.restart(SelectMode::Step { unroll, ahead, masked: false }, 0);
            selector.select_varying(&[]);
            for (index, reduce) in pass.reduces.iter().enumerate() {
                let values = selector.reduction_operands(*reduce);
                for (j, value) in values.iter().enumerate() {
                    let vector = (part * values.len() as u32 + j as u32) % vectors;
                    match accumulators {
                        Accumulators::Registers(first) => {
                            let reg = VectorReg(first + (index as u32 * vectors + vector) as u8);
                            let lanes = selector.block.value_from(ValueOrigin::Pinned(reg));
                            selector.combine(reduce.dtype, reduce.op.combiner(), lanes, *value);
                            selector.block.redirect_last(lanes);
                        }
                        Accumulators::Frame => {
                            selector.reduce_into(
                                *reduce,
                                MemRef::Frame(areas[index] + vector * bytes),
                                *value,
                            );
                        }
                    }
                }
            }
        }
        let block = selector.block;
        self.emit_steps_after(body, block, round, registers, |f| f.read_ahead(pass, body, round));
    }

    /// Selects a single step with the accumulators in the frame.
    fn reduce_step(
        &mut self,
        pass: &Pass,
        body: &LoopBody<'_>,
        plan: SelectPlan<'_>,
        masked: bool,
    ) -> VectorBlock {
        let areas: Vec<u32> = self.layout.accumulators[..pass.reduces.len()].to_vec();
        let mode = SelectMode::Step { unroll: 1, ahead: 0, masked };
        let mut selector = self.selector(body, SelectPlan { mode, ..plan });
        selector.select_varying(&[]);
        for (reduce, area) in pass.reduces.iter().zip(areas) {
            let lane_bytes = Repr::of(reduce.dtype).bytes() as u8;
            let vector_bytes = selector.vector_len().bytes();
            let values = selector.reduction_operands(*reduce);
            for (j, value) in values.iter().enumerate() {
                selector.reduce_into(
                    *reduce,
                    MemRef::AccumulatorLane(area + j as u32 * vector_bytes, lane_bytes),
                    *value,
                );
            }
        }
        selector.block
    }

    /// Combines accumulators in the frame into the totals. `accumulators` has the offset of an area for each reduction.
    fn add_to_totals(&mut self, pass: &Pass, body: &LoopBody<'_>, accumulators: &[u32]) {
        let bytes = self.isa.vector().bytes();
        let vectors = accumulator_vectors(self.isa);
        let layout_totals = self.layout.totals[..pass.reduces.len()].to_vec();
        let mut selector = self.selector(body, SelectPlan::one_element());
        for (reduce, (totals, area)) in pass.reduces.iter().zip(layout_totals.into_iter().zip(accumulators)) {
            for offset in (0..vectors).map(|vector| vector * bytes) {
                let more = selector.block.value_from(ValueOrigin::Frame(area + offset));
                selector.reduce_into(*reduce, MemRef::Frame(totals + offset), more);
            }
        }
        let block = selector.block;
        self.emit_once(body, block);
    }

    /// Combines the upper half of the lanes of the totals with the lower half until one lane is left, and stores the
    /// results of the reductions.
    fn finish_reductions(&mut self, pass: &Pass, body: &LoopBody<'_>) {
        let bytes = self.isa.vector().bytes();
        let vectors = accumulator_vectors(self.isa);
        let areas: Vec<(u32, u32)> = pass
            .reduces
            .iter()
            .zip(&self.layout.totals)
            .map(|(reduce, totals)| (*totals, self.layout.reduced[reduce.into as usize]))
            .collect();
        let mut selector = self.selector(body, SelectPlan::one_element());
        for (reduce, (totals, result)) in pass.reduces.iter().zip(areas) {
            let mut lanes: VectorIds = (0..vectors)
                .map(|vector| selector.block.value_from(ValueOrigin::Frame(totals + vector * bytes)))
                .collect();
            while lanes.len() > 1 {
                let half = lanes.len() / 2;
                let (low, high): (VectorIds, VectorIds) = (lanes[..half].into(), lanes[half..].into());
                lanes =
                    selector.zip(&low, &high, |s, x, y| s.combine(reduce.dtype, reduce.op.combiner(), x, y));
            }
            let value = selector.reduce_lanes(*reduce, lanes[0]);
            selector.store_whole(MemRef::Frame(result), value);
        }
        let block = selector.block;
        self.emit_once(body, block);
    }
}

/// Returns the offsets of all vectors in areas of accumulators.
fn accumulator_offsets(isa: VectorIsa, areas: &[u32]) -> impl Iterator<Item = u32> {
    let vectors = (0..REDUCE_BYTES as u32).step_by(isa.vector().bytes() as usize);
    areas.iter().flat_map(move |area| vectors.clone().map(move |offset| area + offset))
}
