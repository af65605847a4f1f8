//! The inner axis: unrolled steps, single ones, and what is left under a mask.

use super::Isa;
use super::allocate::{Allocator, frame_at};
use super::block::{Block, Home};
use super::encode::{Label, Mem};
use super::function::{Body, Function};
use super::machine::{END, INDEX, Machine};
use super::memory::TAIL_MASK;
use super::op;
use super::scalar::{Alu, Cond, RAX, RCX, RDX};
use super::schedule;
use super::select::{Mode, Refusal};
use crate::codegen::abi::KernelArgs;
use crate::codegen::clif::size_of;
use crate::lower::code::{Class, FoldStep, InstOp, Layout, SlotUse};

/// The most instructions of a body whose results are: a longer one does not wait for memory.
const STREAMED_BODY: usize = 96;
/// Bytes of a line of the caches.
const LINE: i32 = 64;

impl Function<'_> {
    /// One step of a body, folded into the tile.
    fn step(
        &mut self,
        body: &Body<'_>,
        order: &[u32],
        homes: &[Option<Home>],
        mode: Mode,
        folds: &[FoldStep],
    ) -> Result<Block, Refusal> {
        let mut selector = self.selector(body, mode, homes);
        selector.order = order;
        match folds {
            [] => selector.body()?,
            folds => selector.fold_in_tile(folds, body.copies as u32)?,
        }
        Ok(selector.block)
    }

    /// The inner axis: unrolled steps, single ones, then what is left under a mask.
    ///
    /// A large result is written past the caches, which takes whole lines: what comes before the first of them goes
    /// through the other steps.
    pub fn walk(&mut self, body: &Body<'_>, folds: &[FoldStep]) -> Result<(), Refusal> {
        let [plain, led, done] = std::array::from_fn(|_| self.asm.label());
        self.asm.mov(END, frame_at(self.layout.n));
        self.asm.test(END, END);
        self.asm.jump_if(Cond::LessEqual, done);
        self.prefetch(body)?;
        self.load_pointers(body);
        let homes = self.uniforms(body)?;
        self.place_copies(body)?;
        self.asm.mov_imm(INDEX, 0);
        let mode = |unroll, masked| Mode::Step { unroll, ahead: 0, masked };
        let order = schedule::order(body.insts, &body.uniform, self.isa);
        let single = self.step(body, &order, &homes, mode(1, false), folds)?;
        let unroll = if self.brief { 1 } else { self.isa.unroll(single.pressure()) };
        let registers = self.isa.registers();
        let streamed = if folds.is_empty() && !self.brief { self.streamed(body) } else { None };
        if unroll > 1 || streamed.is_some() {
            let block = self.step(body, &order, &homes, mode(unroll, false), folds)?;
            if let Some((slot, size)) = streamed {
                self.lead(body, slot, size, plain, led);
                self.asm.bind(led);
                self.asm.mov(END, frame_at(self.layout.n));
            }
            let start = self.asm.bytes.len();
            self.repeat(body, block, unroll * self.isa.step(), registers);
            if streamed.is_some() {
                let end = self.asm.bytes.len();
                self.asm.bind(plain);
                if unroll > 1 {
                    self.asm.again(start);
                }
                self.asm.stream(start..end);
            }
        }
        self.repeat(body, single, self.isa.step(), registers);
        let block = self.step(body, &order, &homes, mode(1, true), folds)?;
        self.last(body, block);
        if streamed.is_some() {
            let leading = frame_at(self.layout.leading);
            self.asm.alu_imm(Alu::Cmp, leading, 0);
            self.asm.store_imm(leading, 0);
            self.asm.jump_if(Cond::NotEqual, led);
        }
        self.asm.bind(done);
        Ok(())
    }

    /// The slot and the size of an element of a body's only result, if whole vectors of it are stored: in a
    /// kernel whose results are made by one loop over elements.
    fn streamed(&self, body: &Body<'_>) -> Option<(u32, u32)> {
        let code = self.code;
        let plain = code.layout == Layout::Row && code.loops == 0 && code.epilogue.is_empty();
        if !plain || body.insts.len() > STREAMED_BODY {
            return None;
        }
        let mut stores = body.insts.iter().filter_map(|inst| match inst.op {
            InstOp::Store { slot, .. } => Some(slot),
            _ => None,
        });
        let (slot, None) = (stores.next()?, stores.next()) else { return None };
        let kind = &code.slots[slot as usize];
        let size = size_of(kind.dtype);
        let whole = kind.class == Class::Contiguous && kind.used == SlotUse::Store && size >= 4;
        whole.then_some((slot, size))
    }

    /// Goes to `plain` unless the result is to be written past the caches, and first for the elements before the
    /// first whole line: at once to `led` if there are none.
    fn lead(&mut self, body: &Body<'_>, slot: u32, size: u32, plain: Label, led: Label) {
        let asm = &mut self.asm;
        asm.mov(RCX, frame_at(self.layout.args));
        asm.mov(RCX, Mem::Base(RCX, std::mem::offset_of!(KernelArgs, stream) as i32));
        asm.test(RCX, RCX);
        asm.jump_if(Cond::Equal, plain);
        // Short rows would be written in broken lines, unless each is whole ones.
        let unbroken = asm.label();
        let start = frame_at(self.layout.start(body.level, slot));
        asm.mov(RAX, END);
        asm.shl(RAX, size.trailing_zeros() as u8);
        asm.alu(Alu::Cmp, RAX, RCX);
        asm.jump_if(Cond::GreaterEqual, unbroken);
        asm.alu(Alu::Or, RAX, start);
        asm.test_imm(RAX, LINE - 1);
        asm.jump_if(Cond::NotEqual, plain);
        asm.bind(unbroken);
        asm.mov(RAX, start);
        asm.neg(RAX);
        asm.store_imm(frame_at(self.layout.streamed), 1);
        asm.alu_imm(Alu::And, RAX, LINE - 1);
        asm.jump_if(Cond::Equal, led);
        asm.test_imm(RAX, size as i32 - 1);
        asm.jump_if(Cond::NotEqual, plain);
        asm.shr(RAX, size.trailing_zeros() as u8);
        asm.alu(Alu::Cmp, RAX, END);
        asm.jump_if(Cond::GreaterEqual, plain);
        asm.mov(END, RAX);
        asm.store_imm(frame_at(self.layout.leading), 1);
        asm.jump(plain);
    }

    /// Repeats a block while so many elements are left, of which it uses registers below `registers`.
    pub fn repeat(&mut self, body: &Body<'_>, block: Block, elements: u32, registers: u8) {
        let (top, done) = (self.asm.label(), self.asm.label());
        self.asm.lea(RAX, Mem::Base(INDEX, elements as i32));
        self.asm.alu(Alu::Cmp, RAX, END);
        self.asm.jump_if(Cond::Greater, done);
        let machine = Machine::new(self.code, &self.layout, body, true);
        let mut allocator = Allocator::new(&mut self.asm, &block, &machine, &mut self.frame, registers);
        allocator.hoist();
        allocator.bind_label(top);
        allocator.run();
        let asm = &mut self.asm;
        asm.alu_imm(Alu::Add, INDEX, elements as i32);
        asm.lea(RAX, Mem::Base(INDEX, elements as i32));
        asm.alu(Alu::Cmp, RAX, END);
        asm.jump_if(Cond::LessEqual, top);
        asm.bind(done);
        self.blocks.push(block);
    }

    /// Runs a block for the elements that are left, if there are any.
    pub fn last(&mut self, body: &Body<'_>, block: Block) {
        let done = self.asm.label();
        self.asm.mov(RAX, END);
        self.asm.alu(Alu::Sub, RAX, INDEX);
        self.asm.jump_if(Cond::LessEqual, done);
        self.make_masks(&block);
        let machine = Machine::new(self.code, &self.layout, body, true);
        Allocator::new(&mut self.asm, &block, &machine, &mut self.frame, self.isa.registers()).run();
        self.asm.mov(INDEX, END);
        self.asm.bind(done);
        self.blocks.push(block);
    }

    /// The masks that a block needs, for the number of elements in rax.
    fn make_masks(&mut self, block: &Block) {
        let asm = &mut self.asm;
        let whole = self.isa.vector();
        asm.store(frame_at(self.layout.left), RAX);
        if self.isa == Isa::Avx512 {
            asm.mov(RCX, RAX);
            asm.mov_imm(RDX, 1);
            asm.shl_cl(RDX);
            asm.alu_imm(Alu::Sub, RDX, 1);
            asm.mask_move(true, TAIL_MASK, RDX.0);
            asm.mask_move(true, TAIL_MASK + 1, RDX.0);
            asm.shr(RDX, 8);
            asm.mask_move(true, TAIL_MASK + 2, RDX.0);
        }
        // So many unset lanes before the end of the set ones.
        asm.neg(RAX);
        asm.lea(RCX, Mem::Pool(self.mask_table));
        let step = self.isa.step() as i32;
        let table = |offset: i32| Mem::Indexed(RCX, RAX, 2, 4 * step + offset);
        let parts = [(op::MOV_LOAD, 0), (op::SX_DQ, 0), (op::SX_DQ, 2 * step)];
        for ((op, offset), mask) in parts.into_iter().zip(self.layout.masks) {
            if block.values.contains(&Home::Frame(mask)) {
                asm.vector(op, whole, 0, 0, table(offset).into(), None);
                asm.vector(op::MOV_STORE, whole, 0, 0, frame_at(mask).into(), None);
            }
        }
    }
}

impl Isa {
    /// Vectors of 4-byte lanes to work on side by side where one takes so many registers.
    fn unroll(self, pressure: u32) -> u32 {
        match (self, pressure) {
            (Isa::Avx512, 0..=28) => 2,
            (Isa::Avx2, 0..=6) => 4,
            (Isa::Avx2, 7..=14) => 2,
            _ => 1,
        }
    }
}
