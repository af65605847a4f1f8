//! Single steps, and what is left of a row: the code of a single step once more, on copies of the elements that are
//! left.

use smallvec::SmallVec;

use super::Isa;
use super::allocate::{Allocator, frame_at};
use super::block::{Block, Home, Kind, Place};
use super::encode::{Asm, Len, Masked, Mem, Rm};
use super::frame::Layout;
use super::function::{Body, Function};
use super::machine::{END, INDEX, Machine, times_index};
use super::op::{self, Vop};
use super::scalar::{Alu, Cond, RAX, RBX, RCX, RDX, RSP};
use crate::codegen::clif::size_of;
use crate::lower::code::Class;

/// Mask register of the elements that are left, for lanes of at most 4 bytes; those of 8-byte lanes follow.
const TAIL_MASK: u8 = 2;

/// A slot whose elements are copied.
struct Staged {
    slot: u32,
    loaded: bool,
    stored: bool,
}

/// The slots whose elements a block reads or writes.
fn staged(block: &Block, machine: &Machine<'_>) -> SmallVec<[Staged; 8]> {
    let mut found: SmallVec<[Staged; 8]> = SmallVec::new();
    for inst in &block.insts {
        let (slot, load) = match inst.kind {
            Kind::Load { place: Place::Slot(slot, _), .. } => (slot, true),
            Kind::Store { place: Place::Slot(slot, _), .. } => (slot, false),
            _ => continue,
        };
        if machine.kind(slot).class == Class::Splat {
            continue;
        }
        match found.iter_mut().find(|known| known.slot == slot) {
            Some(known) => (known.loaded, known.stored) = (known.loaded | load, known.stored | !load),
            None => found.push(Staged { slot, loaded: load, stored: !load }),
        }
    }
    found
}

impl Function<'_> {
    /// Repeats a single step for the elements that are left: as long as there are enough where they are, and then on
    /// copies of them.
    pub fn tail(&mut self, body: &Body<'_>, block: Block) {
        let [enter, top, part, out, done] = std::array::from_fn(|_| self.asm.label());
        let step = self.isa.step() as i32;
        self.asm.alu(Alu::Cmp, INDEX, END);
        self.asm.jump_if(Cond::GreaterEqual, done);
        self.asm.lea(RAX, Mem::Base(INDEX, step));
        self.asm.alu(Alu::Cmp, RAX, END);
        self.asm.jump_if(Cond::Greater, part);
        let machine = Machine::new(self.code, &self.layout, body, true);
        let copied = staged(&block, &machine);
        let masks = Masks::of(&block, &copied, &machine);
        if block.masked {
            self.asm.mov_imm(RAX, step);
            masks.make(&mut self.asm, &self.layout, self.mask_table);
        }
        let mut allocator =
            Allocator::new(&mut self.asm, &block, &machine, &mut self.frame, self.isa.registers());
        // Masks are among what registers hold: they are loaded anew for the copies.
        allocator.bind_label(enter);
        allocator.hoist();
        allocator.bind_label(top);
        allocator.run();
        self.asm.alu_imm(Alu::Add, INDEX, step);
        self.asm.lea(RAX, Mem::Base(INDEX, step));
        self.asm.alu(Alu::Cmp, RAX, END);
        self.asm.jump_if(Cond::LessEqual, top);
        // Only the step on copies goes past the end.
        self.asm.alu(Alu::Cmp, INDEX, END);
        self.asm.jump_if(Cond::Equal, done);
        self.asm.jump_if(Cond::Greater, out);
        self.asm.bind(part);
        self.asm.mov(RAX, END);
        self.asm.alu(Alu::Sub, RAX, INDEX);
        masks.make(&mut self.asm, &self.layout, self.mask_table);
        let machine = Machine::new(self.code, &self.layout, body, true);
        for (at, staged) in copied.iter().enumerate() {
            machine.enter_copy(&mut self.asm, at, staged);
        }
        self.asm.jump(enter);
        self.asm.bind(out);
        self.asm.mov(INDEX, END);
        for (at, staged) in copied.iter().enumerate() {
            machine.leave_copy(&mut self.asm, at, staged);
        }
        self.asm.store_imm(frame_at(self.layout.left), step);
        self.asm.bind(done);
        self.blocks.push(block);
    }
}

/// The widths of lanes for which masks are needed.
#[derive(Clone, Copy)]
struct Masks {
    /// At most 4 bytes.
    narrow: bool,
    /// 8 bytes.
    wide: bool,
}

impl Masks {
    fn of(block: &Block, copied: &[Staged], machine: &Machine<'_>) -> Masks {
        let moves =
            |wide: bool| copied.iter().any(|staged| (size_of(machine.kind(staged.slot).dtype) == 8) == wide);
        let [narrow, first, second] = machine.layout.masks.map(|at| block.values.contains(&Home::Frame(at)));
        Masks { narrow: narrow || moves(false), wide: first || second || moves(true) }
    }

    /// Makes masks for the number of elements in rax.
    fn make(self, asm: &mut Asm, layout: &Layout, table: u32) {
        asm.store(frame_at(layout.left), RAX);
        if asm.isa == Isa::Avx512 {
            asm.mov(RCX, RAX);
            asm.mov_imm(RDX, 1);
            asm.shl_cl(RDX);
            asm.alu_imm(Alu::Sub, RDX, 1);
            asm.mask_move(true, TAIL_MASK, RDX.0);
            if self.wide {
                asm.mask_move(true, TAIL_MASK + 1, RDX.0);
                asm.shr(RDX, 8);
                asm.mask_move(true, TAIL_MASK + 2, RDX.0);
            }
        }
        // So many unset lanes before the end of the set ones.
        asm.neg(RAX);
        asm.lea(RCX, Mem::Pool(table));
        let whole = asm.isa.vector();
        let step = asm.isa.step() as i32;
        let lanes = |offset: i32| Mem::Indexed(RCX, RAX, 2, 4 * step + offset);
        let parts =
            [(self.narrow, op::MOV_LOAD, 0), (self.wide, op::SX_DQ, 0), (self.wide, op::SX_DQ, 2 * step)];
        for ((_, op, offset), mask) in parts.into_iter().zip(layout.masks).filter(|((needed, ..), _)| *needed)
        {
            asm.vector(op, whole, 0, 0, lanes(offset).into(), None);
            asm.vector(op::MOV_STORE, whole, 0, 0, frame_at(mask).into(), None);
        }
    }
}

/// Where copy number `at` is.
fn copy_at(layout: &Layout, at: usize) -> i32 {
    (layout.copies + layout.copy * at as u32) as i32
}

/// How AVX-512 loads the elements of a vector from a slot of so many bytes an element, and stores them.
fn masked_moves(size: u32) -> (Vop, Vop) {
    match size {
        1 => (op::ZX_BD, op::DOWN_DB),
        2 => (op::ZX_WD, op::DOWN_DW),
        4 => (op::MOV_LOAD, op::MOV_STORE),
        _ => (op::MOV_LOAD_Q, op::MOV_STORE_Q),
    }
}

impl Machine<'_> {
    /// Copies what is left of a slot and puts the copy in its place. Register 0 is free.
    fn enter_copy(&self, asm: &mut Asm, at: usize, staged: &Staged) {
        let slot = staged.slot;
        let size = size_of(self.kind(slot).dtype);
        let copy = copy_at(self.layout, at);
        if staged.loaded {
            let whole = asm.isa.vector();
            let vectors = size.div_ceil(4);
            let memory = self.slot(asm, slot, 0);
            match asm.isa {
                _ if self.kind(slot).class != Class::Contiguous => self.move_strided(asm, slot, memory, copy),
                Isa::Avx512 => self.move_masked(asm, size, memory, Mem::Base(RSP, copy), false),
                Isa::Avx2 if size >= 4 => {
                    let wide = size == 8;
                    let op = if wide { op::LOAD_MASKED_Q } else { op::LOAD_MASKED_D };
                    for j in 0..vectors {
                        let mask = self.layout.masks[if wide { 1 + j as usize } else { 0 }];
                        let offset = (j * whole.bytes()) as i32;
                        asm.vector(op::MOV_LOAD, whole, 0, 0, frame_at(mask).into(), None);
                        asm.vector(op, whole, 0, 0, memory.plus(offset).into(), None);
                        let to = Mem::Base(RSP, copy + offset);
                        asm.vector(op::MOV_STORE, whole, 0, 0, to.into(), None);
                    }
                }
                Isa::Avx2 => self.move_parts(asm, size, memory, copy, false),
            }
        }
        let home = self.home(slot);
        asm.mov(RAX, home);
        asm.store(frame_at(self.layout.saved + 8 * at as u32), RAX);
        times_index(asm, self.pitch(slot));
        asm.neg(RBX);
        asm.lea(RAX, Mem::Indexed(RSP, RBX, 0, copy));
        asm.set(home, RAX);
    }

    /// Puts a slot back in its place and copies to it what is left of it, which ends at the current element.
    fn leave_copy(&self, asm: &mut Asm, at: usize, staged: &Staged) {
        let slot = staged.slot;
        let home = self.home(slot);
        asm.mov(RAX, frame_at(self.layout.saved + 8 * at as u32));
        asm.set(home, RAX);
        if !staged.stored {
            return;
        }
        let size = size_of(self.kind(slot).dtype);
        let copy = copy_at(self.layout, at);
        // The first of what is left.
        asm.mov(RCX, INDEX);
        asm.alu(Alu::Sub, RCX, frame_at(self.layout.left));
        let memory = Mem::Indexed(RAX, RCX, size.trailing_zeros() as u8, 0);
        match asm.isa {
            Isa::Avx512 => self.move_masked(asm, size, memory, Mem::Base(RSP, copy), true),
            Isa::Avx2 => self.move_parts(asm, size, memory, copy, true),
        }
    }

    /// Where the address of a slot is.
    fn home(&self, slot: u32) -> Rm {
        self.pointer(slot).map_or_else(|| frame_at(self.start(slot)).into(), Rm::from)
    }

    /// AVX-512: moves the elements that are left between memory and a copy.
    fn move_masked(&self, asm: &mut Asm, size: u32, memory: Mem, copy: Mem, out: bool) {
        let (load, store) = masked_moves(size);
        for j in 0..size.div_ceil(4) {
            let offset = (j * Len::Z.bytes()) as i32;
            let (memory, copy) = (memory.plus(offset).into(), copy.plus(offset).into());
            let k = TAIL_MASK + if size == 8 { 1 + j as u8 } else { 0 };
            if out {
                asm.vector(load, Len::Z, 0, 0, copy, None);
                asm.masked(store, Len::Z, 0, 0, memory, None, Masked { k, zero: false });
            } else {
                asm.masked(load, Len::Z, 0, 0, memory, None, Masked { k, zero: true });
                asm.vector(store, Len::Z, 0, 0, copy, None);
            }
        }
    }

    /// Copies the elements that are left of a strided load, each to where the step finds it.
    fn move_strided(&self, asm: &mut Asm, slot: u32, memory: Mem, copy: i32) {
        let (size, pitch) = (size_of(self.kind(slot).dtype), self.pitch(slot) as i32);
        let top = asm.label();
        asm.lea(RAX, memory);
        asm.mov(RDX, frame_at(self.layout.left));
        asm.mov_imm(RCX, 0);
        asm.bind(top);
        asm.load_low(RBX, Mem::Indexed(RAX, RCX, 0, 0), size);
        asm.store_low(Mem::Indexed(RSP, RCX, 0, copy), RBX, size);
        asm.alu_imm(Alu::Add, RCX, pitch);
        asm.alu_imm(Alu::Sub, RDX, 1);
        asm.jump_if(Cond::NotEqual, top);
    }

    /// Moves the elements that are left between memory and a copy: four, two and one of them.
    fn move_parts(&self, asm: &mut Asm, size: u32, memory: Mem, copy: i32, out: bool) {
        asm.lea(RAX, memory);
        asm.mov(RDX, frame_at(self.layout.left));
        asm.mov_imm(RCX, 0);
        let own = Mem::Indexed(RAX, RCX, 0, 0);
        let staged = Mem::Indexed(RSP, RCX, 0, copy);
        let (from, to) = if out { (staged, own) } else { (own, staged) };
        for count in [4, 2, 1] {
            let (skip, bytes) = (asm.label(), count * size);
            asm.test_imm(RDX, count as i32);
            asm.jump_if(Cond::Equal, skip);
            if bytes > 8 {
                let len = if bytes == 16 { Len::X } else { Len::Y };
                asm.vector(op::MOV_LOAD, len, 0, 0, from.into(), None);
                asm.vector(op::MOV_STORE, len, 0, 0, to.into(), None);
            } else {
                asm.load_low(RBX, from, bytes);
                asm.store_low(to, RBX, bytes);
            }
            if count > 1 {
                asm.alu_imm(Alu::Add, RCX, bytes as i32);
            }
            asm.bind(skip);
        }
    }
}
