//! Folds along the inner axis: accumulator lanes in registers, totals in the frame, and the tree over them.

use super::Isa;
use super::allocate::frame_at;
use super::block::{Block, Home, Kind, Place, Tail, V};
use super::encode::{Len, Mem, Reg};
use super::function::{Body, Function};
use super::machine::{END, INDEX};
use super::op;
use super::scalar::{Alu, Cond, RAX};
use super::select::{Mode, Refusal, Selector};
use super::values::Vecs;
use crate::codegen::clif::Repr;
use crate::lower::code::{FOLD_BYTES, FOLD_TILE, FoldStep, Pass};

/// Where the accumulators of a pass are while its elements are folded.
#[derive(Clone, Copy)]
pub(super) enum Accumulators {
    /// In registers from this one on.
    Registers(u8),
    /// In the frame.
    Frame,
}

impl Isa {
    /// Vectors that hold the accumulators of one fold.
    fn fold_vectors(self) -> u32 {
        FOLD_BYTES as u32 / self.vector().bytes()
    }

    /// Elements after which every accumulator of a pass has been folded into.
    pub fn round(pass: &Pass) -> u32 {
        let smallest = pass.folds.iter().map(|fold| Repr::of(fold.dtype).bytes()).min().unwrap_or(4);
        FOLD_BYTES as u32 / smallest
    }

    /// The most accumulators that are kept in registers.
    fn most_accumulators(self) -> u32 {
        u32::from(self.registers()) / 2
    }
}

impl Function<'_> {
    /// A pass with folds of a row kernel.
    pub fn fold_pass(&mut self, pass: &Pass, body: &Body<'_>) -> Result<(), Refusal> {
        let accumulators = self.accumulators(pass);
        for (place, fold) in pass.folds.iter().enumerate() {
            self.store_identity(*fold, self.layout.totals[place]);
        }
        self.nest(&body.slots, 0, &mut |f| f.fold_run(pass, body, accumulators))?;
        self.finish_folds(pass, body)
    }

    pub fn accumulators(&self, pass: &Pass) -> Accumulators {
        match pass.folds.len() as u32 * self.isa.fold_vectors() {
            count if count <= self.isa.most_accumulators() => {
                Accumulators::Registers(self.isa.registers() - count as u8)
            }
            _ => Accumulators::Frame,
        }
    }

    pub fn store_identity(&mut self, fold: FoldStep, area: u32) {
        let identity = self.identity(fold);
        let whole = self.isa.vector();
        self.asm.vector(op::MOV_LOAD, whole, 0, 0, Mem::Pool(identity).into(), None);
        for at in (0..FOLD_BYTES as u32).step_by(whole.bytes() as usize) {
            self.asm.vector(op::MOV_STORE, whole, 0, 0, frame_at(area + at).into(), None);
        }
    }

    /// Moves accumulators in registers to or from an area of the frame for each fold.
    pub fn move_accumulators(&mut self, first: u8, areas: &[u32], store: bool) {
        let whole = self.isa.vector();
        let mut reg = first;
        for area in areas {
            for at in (0..FOLD_BYTES as u32).step_by(whole.bytes() as usize) {
                let op = if store { op::MOV_STORE } else { op::MOV_LOAD };
                self.asm.vector(op, whole, reg, 0, frame_at(area + at).into(), None);
                reg += 1;
            }
        }
    }

    /// Folds one run of the inner axis into the totals, tile by tile. If the row is a single tile, its
    /// accumulators are the totals.
    fn fold_run(&mut self, pass: &Pass, body: &Body<'_>, accumulators: Accumulators) -> Result<(), Refusal> {
        let folds = pass.folds.len();
        let own: Vec<u32> = self.layout.own[..folds].to_vec();
        let totals: Vec<u32> = self.layout.totals[..folds].to_vec();
        let [tile, whole, no_rest, add, done] = std::array::from_fn(|_| self.asm.label());
        let n = frame_at(self.layout.n);
        self.asm.alu_imm(Alu::Cmp, n, 0);
        self.asm.jump_if(Cond::LessEqual, done);
        self.asm.mov_imm(INDEX, 0);
        self.fold_tiles(pass, body, accumulators)?;
        self.asm.alu(Alu::Cmp, INDEX, n);
        self.asm.jump_if(Cond::GreaterEqual, done);
        self.prefetch(body)?;
        self.load_pointers(body);
        let homes = self.uniforms(body)?;
        self.asm.bind(tile);
        self.asm.mov(END, n);
        self.asm.lea(RAX, Mem::Base(INDEX, FOLD_TILE as i32));
        self.asm.alu(Alu::Cmp, RAX, END);
        self.asm.jump_if(Cond::GreaterEqual, whole);
        self.asm.mov(END, RAX);
        self.asm.bind(whole);
        for (place, fold) in pass.folds.iter().enumerate() {
            self.store_identity(*fold, own[place]);
        }
        let mut registers = self.isa.registers();
        if let Accumulators::Registers(first) = accumulators {
            self.move_accumulators(first, &own, false);
            registers = first;
        }
        let single = self.rest(pass, body, &homes, false)?;
        self.rounds(pass, body, &homes, accumulators, registers, 0, single.pressure())?;
        self.asm.alu(Alu::Cmp, INDEX, END);
        self.asm.jump_if(Cond::GreaterEqual, no_rest);
        if let Accumulators::Registers(first) = accumulators {
            self.move_accumulators(first, &own, true);
        }
        self.repeat(body, single, self.isa.step(), self.isa.registers());
        let masked = self.rest(pass, body, &homes, true)?;
        self.last(body, masked);
        if let Accumulators::Registers(first) = accumulators {
            self.move_accumulators(first, &own, false);
        }
        self.asm.bind(no_rest);
        if let Accumulators::Registers(first) = accumulators {
            if self.code.loops == 0 {
                self.asm.alu_imm(Alu::Cmp, n, FOLD_TILE as i32);
                self.asm.jump_if(Cond::Greater, add);
                self.move_accumulators(first, &totals, true);
                self.asm.jump(done);
                self.asm.bind(add);
            }
            self.move_accumulators(first, &own, true);
        }
        self.add_to_totals(pass, body, &own)?;
        self.asm.alu(Alu::Cmp, INDEX, n);
        self.asm.jump_if(Cond::Less, tile);
        self.asm.bind(done);
        Ok(())
    }

    /// Whole rounds of the accumulators, for a copy of the body of which a single step takes so many registers.
    #[expect(clippy::too_many_arguments, reason = "the parts of one loop")]
    pub fn rounds(
        &mut self,
        pass: &Pass,
        body: &Body<'_>,
        homes: &[Option<Home>],
        accumulators: Accumulators,
        registers: u8,
        copy: u32,
        pressure: u32,
    ) -> Result<(), Refusal> {
        let round = Isa::round(pass);
        let steps = round / self.isa.step();
        let pressure = pressure.max(1);
        let unroll =
            [4, 2].into_iter().find(|u| *u <= steps && pressure * u <= u32::from(registers) + 2).unwrap_or(1);
        let own: Vec<u32> = self.layout.own[..pass.folds.len()].to_vec();
        let vectors = self.isa.fold_vectors();
        let bytes = self.isa.vector().bytes();
        let step = self.isa.step();
        let mut selector = self.selector(body, Mode::Step { unroll, ahead: 0, masked: false }, homes);
        selector.copy = copy;
        for part in 0..steps / unroll {
            selector.restart(Mode::Step { unroll, ahead: part * unroll * step, masked: false });
            selector.body()?;
            for (place, fold) in pass.folds.iter().enumerate() {
                let values = selector.fold_values(*fold)?;
                for (j, value) in values.iter().enumerate() {
                    let at = (part * values.len() as u32 + j as u32) % vectors;
                    match accumulators {
                        Accumulators::Registers(first) => {
                            let reg = Reg(first + (place as u32 * vectors + at) as u8);
                            let lanes = selector.block.at(Home::Pinned(reg));
                            selector.combine(fold.dtype, fold.op.combiner(), lanes, *value);
                            selector.block.redirect(lanes);
                        }
                        Accumulators::Frame => {
                            selector.fold_at(*fold, Place::Frame(own[place] + at * bytes), *value);
                        }
                    }
                }
            }
        }
        let block = selector.block;
        self.repeat(body, block, round, registers);
        Ok(())
    }

    /// A single step with the accumulators in the frame.
    pub fn rest(
        &mut self,
        pass: &Pass,
        body: &Body<'_>,
        homes: &[Option<Home>],
        masked: bool,
    ) -> Result<Block, Refusal> {
        let own: Vec<u32> = self.layout.own[..pass.folds.len()].to_vec();
        let mut selector = self.selector(body, Mode::Step { unroll: 1, ahead: 0, masked }, homes);
        selector.body()?;
        for (place, fold) in pass.folds.iter().enumerate() {
            let bytes = Repr::of(fold.dtype).bytes();
            let per = selector.len().bytes();
            let values = selector.fold_values(*fold)?;
            for (j, value) in values.iter().enumerate() {
                selector.fold_at(*fold, Place::Lanes(own[place] + j as u32 * per, bytes as u8), *value);
            }
        }
        Ok(selector.block)
    }

    /// Combines the accumulators in the frame into the totals.
    pub fn add_to_totals(&mut self, pass: &Pass, body: &Body<'_>, own: &[u32]) -> Result<(), Refusal> {
        let bytes = self.isa.vector().bytes();
        let areas: Vec<(u32, u32)> = self.layout.totals.iter().copied().zip(own.iter().copied()).collect();
        let vectors = self.isa.fold_vectors();
        let mut selector = self.selector(body, Mode::Once, &[]);
        for (fold, (totals, own)) in pass.folds.iter().zip(areas) {
            for at in (0..vectors).map(|at| at * bytes) {
                let more = selector.block.at(Home::Frame(own + at));
                selector.fold_at(*fold, Place::Frame(totals + at), more);
            }
        }
        let block = selector.block;
        self.once(body, block);
        Ok(())
    }

    /// Combines the lanes of the totals by halving and keeps the results.
    pub fn finish_folds(&mut self, pass: &Pass, body: &Body<'_>) -> Result<(), Refusal> {
        let bytes = self.isa.vector().bytes();
        let vectors = self.isa.fold_vectors();
        let isa = self.isa;
        let places: Vec<(u32, u32)> = pass
            .folds
            .iter()
            .zip(&self.layout.totals)
            .map(|(fold, totals)| (*totals, self.layout.folded[fold.into as usize]))
            .collect();
        let mut selector = self.selector(body, Mode::Once, &[]);
        for (fold, (totals, home)) in pass.folds.iter().zip(places) {
            let mut vecs: Vecs =
                (0..vectors).map(|at| selector.block.at(Home::Frame(totals + at * bytes))).collect();
            while vecs.len() > 1 {
                let (low, high): (Vecs, Vecs) =
                    (vecs[..vecs.len() / 2].into(), vecs[vecs.len() / 2..].into());
                vecs = selector.zip(&low, &high, |s, x, y| s.combine(fold.dtype, fold.op.combiner(), x, y));
            }
            let result = selector.fold_lanes(*fold, vecs[0], isa);
            let len = selector.len();
            let place = Place::Frame(home);
            let store = Kind::Store { op: op::MOV_STORE, len, imm: None, place, tail: Tail::Whole };
            selector.block.effect(store, &[result]);
        }
        let block = selector.block;
        self.once(body, block);
        Ok(())
    }
}

impl Selector<'_> {
    /// Folds a vector into accumulators in memory.
    fn fold_at(&mut self, fold: FoldStep, place: Place, value: V) {
        let len = self.len();
        let before = self.block.push(Kind::Load { op: op::MOV_LOAD, len, place, tail: Tail::Whole }, &[]);
        let after = self.combine(fold.dtype, fold.op.combiner(), before, value);
        self.block
            .effect(Kind::Store { op: op::MOV_STORE, len, imm: None, place, tail: Tail::Whole }, &[after]);
    }

    /// The lanes of one vector combined by halving, finished, and in every lane.
    fn fold_lanes(&mut self, fold: FoldStep, mut x: V, isa: Isa) -> V {
        let combiner = fold.op.combiner();
        let wide = Repr::of(fold.dtype).bytes() == 8;
        if isa == Isa::Avx512 {
            let high = self.high_half(x);
            x = self.combine(fold.dtype, combiner, x, high);
        }
        let high = self.block.push(Kind::Op { op: op::EXTRACT_128, len: Len::Y, imm: Some(1) }, &[x]);
        x = self.combine(fold.dtype, combiner, x, high);
        let swaps: &[u8] = if wide { &[0x4e] } else { &[0x4e, 0xb1] };
        for order in swaps {
            let other = self.op_imm(op::SHUFFLE_D, &[x], Some(*order));
            x = self.combine(fold.dtype, combiner, x, other);
        }
        let x = self.finish_fold(fold, x);
        self.op1(if wide { op::SPLAT_PD } else { op::SPLAT_PS }, x)
    }
}
