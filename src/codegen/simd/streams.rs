//! Folds of several rows, or of several tiles of one, side by side: memory answers more than one stream of lines at
//! a time.

use super::Isa;
use super::allocate::frame_at;
use super::encode::{Label, Mem};
use super::folds::Accumulators;
use super::function::{Body, Function};
use super::machine::{END, INDEX, POINTERS};
use super::op;
use super::scalar::{Alu, Cond, RAX, RBX, RCX, RDX, RSP};
use super::select::Refusal;
use crate::codegen::abi::{KernelArgs, SLOT_LOOPS, SLOT_ROW, slot_words};
use crate::codegen::clif::size_of;
use crate::lower::code::{Class, Code, FOLD_BYTES, FOLD_TILE, Inst, InstOp, Layout, Pass, SlotUse};

/// Streams of a fold.
const STREAMS: usize = 4;
/// Elements of a stream before the next one has its turn; whole rounds of the accumulators.
const TURN: i32 = 128;
/// The fewest elements of a row that is a stream.
const LEAST_ROW: i32 = 2 * TURN;
/// The most instructions of a body with all its copies: a long body does not wait for memory.
const MOST_INSTS: usize = 64;

/// How far apart the copies of a body are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Apart {
    /// There is one.
    Single,
    /// A position of the innermost loop.
    Position,
    /// A row.
    Row,
    /// A tile of a fold along the inner axis.
    Tile,
}

impl Body<'_> {
    /// A power of two of copies, up to `most`, of a body that only reads what moves with the inner axis, and rows that
    /// index arithmetic names. Slot `s` of copy `c` is `c` times the number of slots plus `s`, and has a register if it
    /// moves.
    pub fn copied(&self, code: &Code, most: usize, apart: Apart) -> Option<Body<'_>> {
        let rows = self.gathered_rows(code);
        let moves = |slot: &u32| {
            let kind = &code.slots[*slot as usize];
            kind.used == SlotUse::Load && kind.class != Class::Splat || rows.contains(slot)
        };
        let moving: Vec<u32> = self.slots.iter().copied().filter(moves).collect();
        let fits = |(at, inst): (usize, &Inst)| match &inst.op {
            InstOp::Gather { slot, offsets } => {
                apart == Apart::Position
                    && rows.contains(slot)
                    && offsets.iter().all(|(v, _)| self.index[v.0 as usize])
            }
            InstOp::Const(_) | InstOp::Scalar(_) => true,
            op if self.uniform[at] => {
                self.index[at] || op.slot().is_none() && !matches!(op, InstOp::CheckIndex { .. })
            }
            op => op.slot().is_none_or(|slot| moving.contains(&slot)),
        };
        if moving.is_empty() || !self.insts.iter().enumerate().all(fits) {
            return None;
        }
        let most = most.min(POINTERS.len() / moving.len()).min(MOST_INSTS / self.insts.len());
        let copies: usize = 1 << most.checked_ilog2().filter(|log| *log > 0)?;
        let mut pointers = vec![None; copies * code.slots.len()];
        let places = (0..copies)
            .flat_map(|copy| moving.iter().map(move |slot| copy * code.slots.len() + *slot as usize));
        for (place, pointer) in places.zip(POINTERS) {
            pointers[place] = Some(pointer);
        }
        Some(Body {
            insts: self.insts,
            roots: self.roots.clone(),
            uniform: self.uniform.clone(),
            index: self.index.clone(),
            slots: self.slots.clone(),
            pointers,
            level: self.level,
            copies,
            apart,
        })
    }
}

impl Function<'_> {
    /// Loads the starts of the copies of a body, that of the first being there.
    pub fn load_copies(&mut self, body: &Body<'_>) {
        let word = match body.apart {
            Apart::Single => return,
            Apart::Position => Some(SLOT_LOOPS + body.level - 1),
            Apart::Row => Some(SLOT_ROW),
            Apart::Tile => None,
        };
        let (asm, slots) = (&mut self.asm, self.code.slots.len());
        asm.mov(RCX, frame_at(self.layout.args));
        asm.mov(RCX, Mem::Base(RCX, std::mem::offset_of!(KernelArgs, slots) as i32));
        for slot in &body.slots {
            let slot = *slot as usize;
            match word {
                Some(word) => {
                    let word = slot * slot_words(self.code.loops) + word;
                    asm.mov(RDX, Mem::Base(RCX, 8 * word as i32));
                }
                None => {
                    let kind = self.code.slots[slot];
                    let bytes = size_of(kind.dtype) as i32 * kind.class.step() as i32;
                    asm.mov_imm(RDX, FOLD_TILE as i32 * bytes);
                }
            }
            let copies = (0..body.copies).filter_map(|copy| body.pointers[copy * slots + slot]);
            let copies: Vec<_> = copies.collect();
            for pair in copies.windows(2) {
                asm.lea(pair[1], Mem::Indexed(pair[0], RDX, 0, 0));
            }
        }
    }

    /// Where the accumulators of the streams of a pass are, by stream and fold.
    fn stream_areas(&mut self, pass: &Pass, copies: usize) -> Vec<Vec<u32>> {
        let bytes = FOLD_BYTES as u32;
        let first = self.frame.area(bytes * (copies * pass.folds.len()) as u32, 64);
        let of_stream = |copy| {
            (0..pass.folds.len()).map(move |fold| first + bytes * (copy * pass.folds.len() + fold) as u32)
        };
        (0..copies).map(|copy| of_stream(copy).collect()).collect()
    }

    /// Folds as many elements of each stream as `length` says, from the first on: whole rounds, at least one.
    fn fold_streams(
        &mut self,
        pass: &Pass,
        body: &Body<'_>,
        first: u8,
        length: Mem,
        areas: &[Vec<u32>],
    ) -> Result<(), Refusal> {
        let homes = self.uniforms(body)?;
        for area in areas {
            for (fold, area) in pass.folds.iter().zip(area) {
                self.store_identity(*fold, *area);
            }
        }
        let turn = frame_at(self.frame.word());
        let [top, whole] = std::array::from_fn(|_| self.asm.label());
        self.asm.mov_imm(INDEX, 0);
        self.asm.bind(top);
        self.asm.store(turn, INDEX);
        self.asm.lea(END, Mem::Base(INDEX, TURN));
        self.asm.alu(Alu::Cmp, END, length);
        self.asm.jump_if(Cond::LessEqual, whole);
        self.asm.mov(END, length);
        self.asm.bind(whole);
        for (copy, area) in areas.iter().enumerate() {
            self.asm.mov(INDEX, turn);
            self.move_accumulators(first, area, false);
            self.rounds(pass, body, &homes, Accumulators::Registers(first), first, copy as u32)?;
            self.move_accumulators(first, area, true);
        }
        self.asm.alu(Alu::Cmp, INDEX, length);
        self.asm.jump_if(Cond::Less, top);
        Ok(())
    }

    /// Folds tiles of the running row side by side, from the one that starts at the current element on, while there
    /// are enough.
    pub fn fold_tiles(
        &mut self,
        pass: &Pass,
        body: &Body<'_>,
        accumulators: Accumulators,
    ) -> Result<(), Refusal> {
        let Accumulators::Registers(first) = accumulators else { return Ok(()) };
        let Some(body) = body.copied(self.code, STREAMS, Apart::Tile) else { return Ok(()) };
        let areas = self.stream_areas(pass, body.copies);
        let (base, length) = (frame_at(self.frame.word()), frame_at(self.frame.word()));
        let elements = (body.copies * FOLD_TILE) as i32;
        let [top, done] = std::array::from_fn(|_| self.asm.label());
        self.asm.store_imm(length, FOLD_TILE as i32);
        self.asm.bind(top);
        self.asm.lea(RAX, Mem::Base(INDEX, elements));
        self.asm.alu(Alu::Cmp, RAX, frame_at(self.layout.n));
        self.asm.jump_if(Cond::Greater, done);
        self.asm.store(base, INDEX);
        self.load_pointers(&body);
        for slot in body.slots.clone() {
            let size = size_of(self.code.slots[slot as usize].dtype);
            for copy in 0..body.copies {
                if let Some(pointer) = body.pointers[copy * self.code.slots.len() + slot as usize] {
                    self.asm.lea(pointer, Mem::Indexed(pointer, INDEX, size.trailing_zeros() as u8, 0));
                }
            }
        }
        self.fold_streams(pass, &body, first, length, &areas)?;
        for area in &areas {
            self.add_to_totals(pass, &body, area)?;
        }
        self.asm.mov(INDEX, base);
        self.asm.alu_imm(Alu::Add, INDEX, elements);
        self.asm.jump(top);
        self.asm.bind(done);
        Ok(())
    }

    /// Folds rows of a kernel that does nothing else side by side, if the next ones are enough, single tiles and
    /// whole rounds: goes to `row` after them, or to `done` after the last.
    pub fn fold_rows(&mut self, row: Label, done: Label) -> Result<(), Refusal> {
        let code = self.code;
        let [pass] = &code.passes[..] else { return Ok(()) };
        if code.layout != Layout::Row || code.loops > 0 || pass.folds.is_empty() {
            return Ok(());
        }
        let Accumulators::Registers(first) = self.accumulators(pass) else { return Ok(()) };
        let body = Body::new(code, &pass.body, &pass.folds, 0);
        let Some(several) = body.copied(code, STREAMS, Apart::Row) else { return Ok(()) };
        let areas = self.stream_areas(pass, several.copies);
        let (rows, n) = (frame_at(self.layout.rows), frame_at(self.layout.n));
        let [plain, each] = std::array::from_fn(|_| self.asm.label());
        self.asm.alu_imm(Alu::Cmp, rows, several.copies as i32);
        self.asm.jump_if(Cond::Less, plain);
        self.asm.mov(RAX, n);
        self.asm.alu_imm(Alu::Cmp, RAX, LEAST_ROW);
        self.asm.jump_if(Cond::Less, plain);
        self.asm.alu_imm(Alu::Cmp, RAX, FOLD_TILE as i32);
        self.asm.jump_if(Cond::Greater, plain);
        self.asm.test_imm(RAX, Isa::round(pass) as i32 - 1);
        self.asm.jump_if(Cond::NotEqual, plain);
        self.load_pointers(&several);
        self.fold_streams(pass, &several, first, n, &areas)?;
        let (stream, bytes) = (frame_at(self.frame.word()), (FOLD_BYTES * pass.folds.len()) as i32);
        self.asm.store_imm(stream, 0);
        self.asm.bind(each);
        self.asm.mov(RBX, stream);
        let whole = self.isa.vector();
        for (from, to) in areas[0].iter().zip(self.layout.totals.clone()) {
            for at in (0..FOLD_BYTES as u32).step_by(whole.bytes() as usize) {
                let from = Mem::Indexed(RSP, RBX, 0, (from + at) as i32);
                self.asm.vector(op::MOV_LOAD, whole, 0, 0, from.into(), None);
                self.asm.vector(op::MOV_STORE, whole, 0, 0, frame_at(to + at).into(), None);
            }
        }
        self.finish_folds(pass, &body)?;
        self.epilogue()?;
        let slots: Vec<u32> = (0..code.slots.len() as u32).collect();
        self.advance(0, SLOT_ROW, &slots);
        self.asm.alu_imm(Alu::Add, stream, bytes);
        self.asm.alu_imm(Alu::Cmp, stream, bytes * several.copies as i32);
        self.asm.jump_if(Cond::NotEqual, each);
        self.asm.alu_imm(Alu::Sub, rows, several.copies as i32);
        self.asm.jump_if(Cond::NotEqual, row);
        self.asm.jump(done);
        self.asm.bind(plain);
        Ok(())
    }
}
