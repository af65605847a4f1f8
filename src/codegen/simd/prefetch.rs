//! Rows to gather are asked for before they are read: their addresses are known well ahead, and no processor guesses
//! them.

use super::allocate::{Allocator, frame_at};
use super::block::Block;
use super::encode::{Gpr, Mem};
use super::frame::Frame;
use super::function::{Body, Function};
use super::gather::is_placed;
use super::index;
use super::machine::{Machine, Shift};
use super::scalar::{Alu, Cond, RAX, RCX, RDX};
use super::select::{Mode, Refusal, Selector};
use crate::codegen::abi::{KernelArgs, SLOT_LOOPS, SLOT_ROW, slot_words};
use crate::codegen::clif::size_of;
use crate::lower::code::{Code, InstOp, SlotUse};

/// How many rows ahead of the one that is read.
const DISTANCE: i32 = 32;
/// Bytes of a row that are asked for; from there on the processor sees that memory is read in order.
const MOST_BYTES: i32 = 512;
/// Bytes of a cache line.
const LINE: i32 = 64;

/// Words of the frame for addresses ahead.
pub(super) struct Ahead {
    /// How far each slot moves in [`DISTANCE`] steps of the innermost loop, or of rows.
    strides: Vec<u32>,
    /// How far each slot moves in one step, in two and so on, up to the copies of a body.
    near: Vec<Vec<u32>>,
    /// Nonzero if what is ahead of the last steps of the loop are the first of the next row.
    flat: u32,
    /// Bytes of a row to ask for, by slot.
    bytes: Vec<u32>,
}

impl Ahead {
    /// For a code of which some body gathers rows whose addresses are known ahead.
    pub fn new(code: &Code, frame: &mut Frame) -> Option<Ahead> {
        let is_gathering = code.slots.iter().any(|slot| slot.used == SlotUse::Gather);
        if !is_gathering || Guide::all(code).all(|guide| guide.slots.is_empty()) {
            return None;
        }
        let level = code.loops as usize;
        let copies = code.passes.iter().map(|pass| {
            let body = Body::new(code, &pass.body, &pass.folds, level);
            body.at_positions(code, pass).map_or(1, |body| body.copies)
        });
        let most = copies.max().unwrap_or(1);
        let mut by_slot = || code.slots.iter().map(|_| frame.word()).collect();
        let (strides, bytes) = (by_slot(), by_slot());
        let near = (1..most).map(|_| by_slot()).collect();
        Some(Ahead { strides, near, flat: frame.word(), bytes })
    }
}

/// The word of a slot's line with its stride along the innermost loop, or from row to row where there is none.
fn innermost(code: &Code) -> usize {
    if code.loops > 0 { SLOT_LOOPS + code.loops as usize - 1 } else { SLOT_ROW }
}

/// What says where the rows of a body are.
struct Guide {
    /// The gather slots that are read along rows.
    rows: Vec<u32>,
    /// Which instructions make their offsets.
    wanted: Vec<bool>,
    /// The slots that these read; none if there is nothing to look ahead to.
    slots: Vec<u32>,
}

impl Guide {
    fn new(code: &Code, body: &Body<'_>) -> Guide {
        let rows = body.gathered_rows(code);
        let mut wanted = vec![false; body.insts.len()];
        let mut slots = Vec::new();
        for (at, inst) in body.insts.iter().enumerate().rev() {
            let row = matches!(&inst.op, InstOp::Gather { slot, .. } if rows.contains(slot));
            if row || wanted[at] {
                inst.op.for_each_operand(|v| wanted[v.0 as usize] = true);
            }
            if wanted[at] {
                slots.extend(inst.op.slot());
            }
        }
        Guide { rows, wanted, slots }
    }

    /// Of every pass of a code.
    fn all(code: &Code) -> impl Iterator<Item = Guide> {
        let level = code.loops as usize;
        code.passes.iter().map(move |pass| Guide::new(code, &Body::new(code, &pass.body, &pass.folds, level)))
    }
}

impl Function<'_> {
    /// Keeps what addresses ahead need.
    pub fn enter_ahead(&mut self) {
        let code = self.code;
        let Some(ahead) = &self.layout.ahead else { return };
        let asm = &mut self.asm;
        let args = frame_at(self.layout.args);
        let words = slot_words(code.loops);
        let inner = innermost(code);
        asm.mov(RCX, args);
        asm.mov(RCX, Mem::Base(RCX, std::mem::offset_of!(KernelArgs, slots) as i32));
        for (slot, ahead) in ahead.strides.iter().enumerate() {
            asm.mov(RAX, Mem::Base(RCX, 8 * (slot * words + inner) as i32));
            asm.shl(RAX, DISTANCE.trailing_zeros() as u8);
            asm.store(frame_at(*ahead), RAX);
        }
        for (slot, kind) in code.slots.iter().enumerate() {
            asm.mov(RAX, Mem::Base(RCX, 8 * (slot * words + inner) as i32));
            asm.mov(RDX, RAX);
            for near in &ahead.near {
                asm.store(frame_at(near[slot]), RDX);
                asm.alu(Alu::Add, RDX, RAX);
            }
            if kind.used == SlotUse::Gather {
                let least = asm.label();
                asm.mov(RDX, frame_at(self.layout.n));
                asm.shl(RDX, size_of(kind.dtype).trailing_zeros() as u8);
                asm.alu_imm(Alu::Cmp, RDX, MOST_BYTES);
                asm.jump_if(Cond::LessEqual, least);
                asm.mov_imm(RDX, MOST_BYTES);
                asm.bind(least);
                asm.store(frame_at(ahead.bytes[slot]), RDX);
            }
        }
        let flat = frame_at(ahead.flat);
        asm.store_imm(flat, 0);
        if code.loops != 1 {
            return;
        }
        let uneven = asm.label();
        asm.mov(RDX, args);
        asm.mov(RDX, Mem::Base(RDX, std::mem::offset_of!(KernelArgs, extents) as i32));
        asm.mov(RDX, Mem::Base(RDX, 0));
        let mut guiding: Vec<u32> = Guide::all(code).flat_map(|guide| guide.slots).collect();
        guiding.sort_unstable();
        guiding.dedup();
        for slot in guiding {
            let line = slot as usize * words;
            asm.mov(RAX, Mem::Base(RCX, 8 * (line + inner) as i32));
            asm.imul(RAX, RDX);
            asm.alu(Alu::Cmp, RAX, Mem::Base(RCX, 8 * (line + SLOT_ROW) as i32));
            asm.jump_if(Cond::NotEqual, uneven);
        }
        asm.store_imm(flat, 1);
        asm.bind(uneven);
    }

    /// Asks for the rows that a body gathers some steps later.
    pub fn prefetch(&mut self, body: &Body<'_>) -> Result<(), Refusal> {
        let Some(ahead) = &self.layout.ahead else { return Ok(()) };
        let flat = frame_at(ahead.flat);
        let (code, guide) = (self.code, Guide::new(self.code, body));
        if self.strided || body.level != code.loops as usize || guide.slots.is_empty() {
            return Ok(());
        }
        let last = self.asm.label();
        let asm = &mut self.asm;
        match self.layout.counters.last() {
            None => asm.mov(RAX, frame_at(self.layout.rows)),
            Some(counter) => {
                let alone = asm.label();
                asm.mov(RAX, frame_at(*counter));
                asm.alu_imm(Alu::Cmp, flat, 0);
                asm.jump_if(Cond::Equal, alone);
                asm.mov(RCX, frame_at(self.layout.args));
                asm.mov(RCX, Mem::Base(RCX, std::mem::offset_of!(KernelArgs, extents) as i32));
                asm.mov(RDX, frame_at(self.layout.rows));
                asm.alu_imm(Alu::Sub, RDX, 1);
                asm.imul(RDX, Mem::Base(RCX, 0));
                asm.alu(Alu::Add, RAX, RDX);
                asm.bind(alone);
            }
        }
        asm.alu_imm(Alu::Cmp, RAX, DISTANCE + body.copies as i32 - 1);
        asm.jump_if(Cond::LessEqual, last);
        let strides = ahead.strides.clone();
        self.load_pointers(body);
        let slots = code.slots.len();
        let mut moved: Vec<usize> =
            guide.rows.iter().chain(&guide.slots).map(|slot| *slot as usize).collect();
        moved.retain(|slot| code.slots[*slot].used == SlotUse::Gather);
        moved.sort_unstable();
        moved.dedup();
        for copy in 0..body.copies {
            // Other slots are read where they are further on, which no register holds.
            let mut pointers = vec![None; slots];
            for &slot in &moved {
                pointers[slot] = body.pointers[copy * slots + slot];
                match pointers[slot] {
                    Some(pointer) => self.asm.alu(Alu::Add, pointer, frame_at(strides[slot])),
                    None => {
                        self.asm.mov(RAX, frame_at(strides[slot]));
                        self.asm.add_to(frame_at(self.layout.gathers[slot].address), RAX);
                    }
                }
            }
            let mut selector = self.selector(body, Mode::Once, &[]);
            selector.ahead = true;
            selector.look_ahead(&guide.wanted)?;
            let block = selector.block;
            self.shifted(body, block, copy, &pointers, true);
        }
        for slot in &guide.rows {
            self.ask_for_rows(body, *slot as usize);
        }
        self.asm.bind(last);
        Ok(())
    }

    /// Asks for the lines of the rows of a slot, one of each copy of a body before the next.
    fn ask_for_rows(&mut self, body: &Body<'_>, slot: usize) {
        let Some(ahead) = &self.layout.ahead else { return };
        let line = self.asm.label();
        let asm = &mut self.asm;
        asm.mov_imm(RCX, 0);
        asm.bind(line);
        for copy in 0..body.copies {
            let row = match body.pointers[copy * self.code.slots.len() + slot] {
                Some(pointer) => pointer,
                None => {
                    asm.mov(RAX, frame_at(self.layout.gathers[slot].address));
                    RAX
                }
            };
            asm.prefetch(Mem::Indexed(row, RCX, 0, 0));
        }
        asm.alu_imm(Alu::Add, RCX, LINE);
        asm.alu(Alu::Cmp, RCX, frame_at(ahead.bytes[slot]));
        asm.jump_if(Cond::Less, line);
    }

    /// Moves the rows that the copies of a body gather, but for those of the first.
    pub fn place_copies(&mut self, body: &Body<'_>) -> Result<(), Refusal> {
        if body.copies == 1 {
            return Ok(());
        }
        let (code, guide) = (self.code, Guide::new(self.code, body));
        if guide.rows.is_empty() {
            return Ok(());
        }
        let slots = code.slots.len();
        for copy in 1..body.copies {
            let mut selector = self.selector(body, Mode::Once, &[]);
            selector.look_ahead(&guide.wanted)?;
            let block = selector.block;
            self.shifted(body, block, copy, &body.pointers[copy * slots..(copy + 1) * slots], false);
        }
        Ok(())
    }

    /// Emits a block that is run once, for a copy of a body; as a guess, of what is [`DISTANCE`] further on.
    fn shifted(
        &mut self,
        body: &Body<'_>,
        mut block: Block,
        copy: usize,
        pointers: &[Option<Gpr>],
        guess: bool,
    ) {
        index::chain(&mut block, |_| None);
        let words = self.layout.ahead.as_ref().map(|ahead| {
            let near = copy.checked_sub(1).map(|copy| &ahead.near[copy][..]);
            [guess.then_some(&ahead.strides[..]), near]
        });
        let machine = Machine {
            code: self.code,
            layout: &self.layout,
            level: body.level,
            pointers,
            moving: false,
            ahead: words.map(|words| Shift { words, guess }),
        };
        Allocator::new(&mut self.asm, &block, &machine, &mut self.frame, self.isa.registers()).run();
        self.blocks.push(block);
    }
}

impl Selector<'_> {
    /// Computes the wanted values and moves the rows they lead to.
    fn look_ahead(&mut self, wanted: &[bool]) -> Result<(), Refusal> {
        for (at, inst) in self.body.iter().enumerate() {
            match &inst.op {
                _ if wanted[at] => self.inst(at)?,
                InstOp::Gather { slot, offsets } if !self.uniform[at] && is_placed(self.uniform, offsets) => {
                    self.place(*slot, offsets)?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}
