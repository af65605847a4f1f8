//! A whole kernel function: rows, loops around the inner axis, and the inner loops of each pass.

use super::allocate::{Allocator, frame_at};
use super::block::{Block, Home, Pool};
use super::encode::{Asm, Gpr, Label, Mem};
use super::frame::{Frame, Layout as FrameLayout};
use super::machine::{END, INDEX, Machine, POINTERS};
use super::scalar::{Alu, Cond, RAX, RBP, RBX, RCX, RDI, RDX, RSP};
use super::select::{Mode, Refusal, Selector};
use super::streams::Apart;
use super::{Isa, index};
use crate::codegen::abi::{KernelArgs, SLOT_BASE, SLOT_INNER, SLOT_ROW, slot_words};
use crate::codegen::clif::{Repr, is_uniform, lane_bits, size_of};
use crate::expr::Scalar;
use crate::lower::code::{Code, FoldStep, Inst, Layout, Pass, SlotUse, Vid};

/// Bytes of stack that a function may take: what it takes is touched page by page.
const MOST_FRAME: u32 = 1 << 16;
const PAGE: i32 = 4096;

/// A function under construction.
pub(super) struct Function<'a> {
    pub code: &'a Code,
    pub isa: Isa,
    pub asm: Asm,
    pub pool: Pool,
    pub frame: Frame,
    pub layout: FrameLayout,
    /// Where the constants have the masks of steps that are not whole.
    pub mask_table: u32,
    /// Whether the elements of gathered rows do not follow each other.
    pub strided: bool,
    /// Whether all elements to gather lie so near that 4-byte lanes hold how far.
    pub near: bool,
    /// Whether the code is for what is rare.
    pub brief: bool,
    /// The memory of blocks that are emitted.
    pub blocks: Vec<Block>,
}

/// A body with what its inner loops need to know of it.
pub(super) struct Body<'a> {
    pub insts: &'a [Inst],
    /// Values that folds read.
    pub roots: Vec<Vid>,
    pub uniform: Vec<bool>,
    /// Which instructions are index arithmetic.
    pub index: Vec<bool>,
    /// The slots it names.
    pub slots: Vec<u32>,
    /// The registers of those that have one.
    pub pointers: Vec<Option<Gpr>>,
    /// Loops around it.
    pub level: usize,
    /// At how many places a step runs it, and how far apart.
    pub copies: usize,
    pub apart: Apart,
}

impl<'a> Body<'a> {
    pub fn new(code: &Code, insts: &'a [Inst], folds: &[FoldStep], level: usize) -> Body<'a> {
        let mut uniform = Vec::with_capacity(insts.len());
        let mut slots = Vec::new();
        for inst in insts {
            uniform.push(is_uniform(code, inst, &uniform));
            if let Some(slot) = inst.op.slot()
                && !slots.contains(&slot)
            {
                slots.push(slot);
            }
        }
        // Those that move come first: they are read in every step.
        let moving =
            |slot: &u32| insts.iter().zip(&uniform).any(|(inst, u)| !u && inst.op.slot() == Some(*slot));
        let addresses = slots.iter().filter(|slot| code.slots[**slot as usize].used != SlotUse::Iota);
        let (first, last): (Vec<u32>, Vec<u32>) = addresses.partition(|slot| moving(slot));
        let mut pointers = vec![None; code.slots.len()];
        for (slot, pointer) in first.iter().chain(&last).zip(POINTERS) {
            pointers[*slot as usize] = Some(pointer);
        }
        let roots: Vec<Vid> = folds.iter().map(|fold| fold.value).collect();
        let index = index::of_body(insts, &uniform, &roots);
        Body { insts, roots, uniform, index, slots, pointers, level, copies: 1, apart: Apart::Single }
    }

    /// Whether nothing is computed for each element.
    fn is_idle(&self) -> bool {
        self.uniform.iter().all(|uniform| *uniform)
    }
}

/// `code`, which must have passed its verifier, as the bytes of a function.
///
/// # Errors
/// Why it is left to another emitter.
pub(super) fn emit(code: &Code, isa: Isa) -> Result<Vec<u8>, Refusal> {
    let mut frame = Frame::new();
    let layout = FrameLayout::new(code, isa, &mut frame)?;
    let mut pool = Pool::new(isa);
    let mask_table = pool.mask_table(isa.step());
    let asm = Asm::new(isa);
    let mut f = Function {
        code,
        isa,
        asm,
        pool,
        frame,
        layout,
        mask_table,
        strided: false,
        near: false,
        brief: false,
        blocks: Vec::new(),
    };
    f.function()?;
    let size = f.frame.bytes();
    if size > MOST_FRAME {
        return Err("more values than a frame holds");
    }
    let mut start = Asm::new(isa);
    for reg in SAVED {
        start.push(reg);
    }
    start.mov(RBP, RSP);
    for page in 1..=size as i32 / PAGE {
        start.store(Mem::Base(RSP, -page * PAGE), RAX);
    }
    start.alu_imm(Alu::Sub, RSP, size as i32);
    start.alu_imm(Alu::And, RSP, -64);
    Ok(f.asm.finish(&start, &f.pool.bytes))
}

/// Registers that belong to the caller.
const SAVED: [Gpr; 6] = [RBP, RBX, END, INDEX, Gpr(14), Gpr(15)];

impl Function<'_> {
    fn function(&mut self) -> Result<(), Refusal> {
        self.enter();
        let (row, done) = (self.asm.label(), self.asm.label());
        self.asm.alu_imm(Alu::Cmp, frame_at(self.layout.rows), 0);
        self.asm.jump_if(Cond::LessEqual, done);
        self.asm.bind(row);
        self.fold_rows(row, done)?;
        let code = self.code;
        for pass in &code.passes {
            self.pass(pass)?;
        }
        self.epilogue()?;
        let slots: Vec<u32> = (0..code.slots.len() as u32).collect();
        self.advance(0, SLOT_ROW, &slots);
        self.asm.alu_imm(Alu::Sub, frame_at(self.layout.rows), 1);
        self.asm.jump_if(Cond::NotEqual, row);
        self.asm.bind(done);
        self.leave();
        Ok(())
    }

    /// Keeps the arguments in the frame.
    fn enter(&mut self) {
        let field = |offset: usize| Mem::Base(RDI, offset as i32);
        let kept = [
            (std::mem::offset_of!(KernelArgs, rows), self.layout.rows),
            (std::mem::offset_of!(KernelArgs, n), self.layout.n),
            (std::mem::offset_of!(KernelArgs, tile), self.layout.tile),
        ];
        let asm = &mut self.asm;
        asm.store(frame_at(self.layout.args), RDI);
        asm.store_imm(frame_at(self.layout.failed), 0);
        asm.store_imm(frame_at(self.layout.leading), 0);
        asm.store_imm(frame_at(self.layout.streamed), 0);
        for (from, to) in kept {
            asm.mov(RAX, field(from));
            asm.store(frame_at(to), RAX);
        }
        asm.mov(RCX, field(std::mem::offset_of!(KernelArgs, slots)));
        let words = slot_words(self.code.loops);
        for slot in 0..self.code.slots.len() {
            asm.mov(RAX, Mem::Base(RCX, 8 * (slot * words + SLOT_BASE) as i32));
            asm.store(frame_at(self.layout.start(0, slot as u32)), RAX);
        }
        asm.mov(RDX, field(std::mem::offset_of!(KernelArgs, scalars)));
        for (k, word) in self.layout.scalars.iter().enumerate() {
            asm.mov(RAX, Mem::Base(RDX, 8 * k as i32));
            asm.store(frame_at(*word), RAX);
        }
        for (slot, gather) in self.layout.gathers.iter().enumerate() {
            if self.code.slots[slot].used == SlotUse::Gather {
                asm.mov(RAX, Mem::Base(RCX, 8 * (slot * words + SLOT_INNER) as i32));
                asm.store(frame_at(gather.inner), RAX);
            }
        }
        self.enter_ahead();
        self.enter_spread();
        let asm = &mut self.asm;
        let machine = Machine {
            code: self.code,
            layout: &self.layout,
            level: 0,
            pointers: &[],
            moving: false,
            ahead: None,
        };
        for slot in 0..self.code.slots.len() as u32 {
            machine.make_ramp(asm, slot);
        }
    }

    /// Waits for what was written past the caches, reports a failed check and returns.
    fn leave(&mut self) {
        let asm = &mut self.asm;
        let waited = asm.label();
        asm.alu_imm(Alu::Cmp, frame_at(self.layout.streamed), 0);
        asm.jump_if(Cond::Equal, waited);
        asm.store_fence();
        asm.bind(waited);
        let fine = asm.label();
        asm.alu_imm(Alu::Cmp, frame_at(self.layout.failed), 0);
        asm.jump_if(Cond::Equal, fine);
        asm.mov(RAX, frame_at(self.layout.args));
        asm.mov(RAX, Mem::Base(RAX, std::mem::offset_of!(KernelArgs, failed) as i32));
        asm.store_imm(Mem::Base(RAX, 0), 1);
        asm.bind(fine);
        asm.zero_upper();
        asm.mov(RSP, RBP);
        for reg in SAVED.into_iter().rev() {
            asm.pop(reg);
        }
        asm.ret();
    }

    fn pass(&mut self, pass: &Pass) -> Result<(), Refusal> {
        let body = Body::new(self.code, &pass.body, &pass.folds, self.code.loops as usize);
        self.over_rows(&body, &mut |f| f.pass_over(pass, &body))
    }

    /// What `emit` does, twice where rows are gathered: for rows whose elements follow each other, and for others.
    fn over_rows(
        &mut self,
        body: &Body<'_>,
        emit: &mut dyn FnMut(&mut Self) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let rows = body.gathered_rows(self.code);
        if rows.is_empty() {
            return self.over_spread(body, emit);
        }
        let is_strided = |f: &mut Self, strided| {
            for slot in rows {
                let size = size_of(f.code.slots[slot as usize].dtype) as i32;
                f.asm.alu_imm(Alu::Cmp, frame_at(f.layout.gathers[slot as usize].inner), size);
                f.asm.jump_if(Cond::NotEqual, strided);
            }
        };
        self.either(is_strided, &mut |f, strided| {
            if !strided {
                return f.over_spread(body, emit);
            }
            f.strided = true;
            let emitted = emit(f);
            f.strided = false;
            emitted
        })
    }

    /// Code for what is usual, then other code, to which `jump` goes where that is needed.
    pub fn either(
        &mut self,
        jump: impl FnOnce(&mut Self, Label),
        emit: &mut dyn FnMut(&mut Self, bool) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let (other, done) = (self.asm.label(), self.asm.label());
        jump(self, other);
        emit(self, false)?;
        self.asm.jump(done);
        self.asm.bind(other);
        emit(self, true)?;
        self.asm.bind(done);
        Ok(())
    }

    fn pass_over(&mut self, pass: &Pass, body: &Body<'_>) -> Result<(), Refusal> {
        match self.code.layout {
            Layout::Row if !pass.folds.is_empty() => self.fold_pass(pass, body),
            Layout::Row if body.is_idle() => Ok(()),
            Layout::Row => self.nest(&body.slots, 0, &mut |f| f.walk(body, &[])),
            Layout::Column => self.column_pass(pass, body),
        }
    }

    pub fn epilogue(&mut self) -> Result<(), Refusal> {
        let code = self.code;
        if code.epilogue.is_empty() {
            return Ok(());
        }
        let body = Body::new(code, &code.epilogue, &[], 0);
        if code.layout == Layout::Column {
            return self.over_rows(&body, &mut |f| f.walk(&body, &[]));
        }
        self.load_pointers(&body);
        let homes = vec![None; body.insts.len()];
        let mut selector = self.selector(&body, Mode::Once, &homes);
        selector.body()?;
        let block = selector.block;
        self.once(&body, block);
        Ok(())
    }

    pub fn load_pointers(&mut self, body: &Body<'_>) {
        for slot in &body.slots {
            let start = frame_at(self.layout.start(body.level, *slot));
            if let Some(pointer) = body.pointers[*slot as usize] {
                self.asm.mov(pointer, start);
            } else if self.code.slots[*slot as usize].used == SlotUse::Gather {
                self.asm.mov(RAX, start);
                self.asm.store(frame_at(self.layout.gathers[*slot as usize].address), RAX);
            }
        }
        self.load_copies(body);
    }

    pub fn selector<'s>(
        &'s mut self,
        body: &'s Body<'_>,
        mode: Mode,
        homes: &'s [Option<Home>],
    ) -> Selector<'s> {
        let near = self.near;
        let mut block = self.blocks.pop().unwrap_or_default();
        block.clear();
        let mut selector = Selector::new(
            self.code,
            body.insts,
            &body.uniform,
            &body.index,
            self.isa,
            block,
            &mut self.pool,
            &mut self.frame,
            &self.layout,
            mode,
            homes,
            self.strided,
        );
        selector.near = near;
        selector
    }

    /// A block that is run once, at the start of its slots.
    pub fn once(&mut self, body: &Body<'_>, mut block: Block) {
        index::chain(&mut block, |slot| Some(self.layout.start(body.level, slot)));
        let machine = Machine::new(self.code, &self.layout, body, false);
        Allocator::new(&mut self.asm, &block, &machine, &mut self.frame, self.isa.registers()).run();
        self.blocks.push(block);
    }

    /// Computes uniform values; where they are kept.
    pub fn uniforms(&mut self, body: &Body<'_>) -> Result<Vec<Option<Home>>, Refusal> {
        let mut selector = self.selector(body, Mode::Once, &[]);
        let homes = selector.uniforms(&body.roots)?;
        let block = selector.block;
        self.once(body, block);
        Ok(homes)
    }

    /// The constant a fold starts from.
    pub fn identity(&mut self, fold: FoldStep) -> u32 {
        let identity: Scalar = fold.op.identity(fold.dtype);
        self.pool.splat(lane_bits(identity), Repr::of(fold.dtype).bytes())
    }
}

impl Asm {
    /// Leaves no trace in the upper halves of registers, which slow older instructions down.
    fn zero_upper(&mut self) {
        self.bytes.extend([0xc5, 0xf8, 0x77]);
    }
}
