//! Registers for the values of a block: on demand, giving up the value whose next use is farthest.

use super::Isa;
use super::block::{Block, Home, Kind, Place, Tail, V, VInst};
use super::encode::{Asm, Label, Len, Mem, Reg, Rm};
use super::frame::Frame;
use super::list::List;
use super::machine::Machine;
use super::op::{self, Form};
use super::regs::Regs;
use super::scalar::RSP;

/// Never used again.
pub(super) const NEVER: u32 = u32::MAX;

/// Chooses registers for one block and emits it.
pub(super) struct Allocator<'a, 'm> {
    pub asm: &'a mut Asm,
    pub block: &'a mut Block,
    machine: &'a Machine<'m>,
    frame: &'a mut Frame,
    /// The register each value is in.
    pub reg_of: Vec<Option<Reg>>,
    /// The value in each register that is neither free nor beyond those to be chosen.
    held: [V; 32],
    free: Regs,
    /// Registers that keep their value to the end.
    pub fixed: Regs,
    /// Where each value is in memory, if it is.
    pub memory: Vec<Option<Mem>>,
    /// The next use of each value that is in a register.
    pub next: Vec<u32>,
    /// Uses after each use, and after each definition, of values.
    after: Vec<[u32; 3]>,
    pub first: Vec<u32>,
    /// Loads that can be done as late as at the last use of what they load.
    late: Vec<bool>,
    registers: u8,
    spills: Vec<u32>,
}

impl<'a, 'm> Allocator<'a, 'm> {
    /// Registers from `registers` on are left alone, but for pinned values.
    pub fn new(
        asm: &'a mut Asm,
        block: &'a mut Block,
        machine: &'a Machine<'m>,
        frame: &'a mut Frame,
        registers: u8,
    ) -> Allocator<'a, 'm> {
        let count = block.values.len();
        let mut this = Allocator {
            asm,
            machine,
            frame,
            reg_of: vec![None; count],
            held: [V::default(); 32],
            free: Regs::first(registers),
            fixed: Regs::default(),
            memory: vec![None; count],
            next: vec![NEVER; count],
            after: vec![[NEVER; 3]; block.insts.len()],
            first: vec![NEVER; block.insts.len()],
            late: vec![false; block.insts.len()],
            registers,
            spills: Vec::new(),
            block,
        };
        for v in 0..count {
            match this.block.values[v] {
                Home::Made => {}
                Home::Pool(offset) => this.memory[v] = Some(Mem::Pool(offset)),
                Home::Frame(offset) => this.memory[v] = Some(frame_at(offset)),
                Home::Pinned(reg) => {
                    this.bind(reg, V(v as u32));
                    this.fixed.add(reg);
                }
            }
        }
        let mut seen = vec![NEVER; count];
        let mut last = vec![0; count];
        // The next instruction that may write what loads read, or move where slots are.
        let mut effect = NEVER;
        for (at, inst) in this.block.insts.iter().enumerate().rev() {
            match inst.dst {
                Some(dst) => {
                    this.first[at] = seen[dst.0 as usize];
                    this.late[at] = last[dst.0 as usize] < effect;
                }
                None if inst.kind == Kind::Fail => {}
                None => effect = at as u32,
            }
            for (k, src) in inst.srcs.iter().enumerate() {
                this.after[at][k] = seen[src.0 as usize];
            }
            for src in inst.srcs.iter() {
                seen[src.0 as usize] = at as u32;
                last[src.0 as usize] = last[src.0 as usize].max(at as u32);
            }
        }
        this
    }

    /// Loads values that the block finds in memory into registers it can spare, those used most first; they
    /// stay there while the block is repeated.
    pub fn hoist(&mut self) {
        let open = Regs::first(self.registers).without(self.fixed);
        let spare = open.count().saturating_sub(self.block.pressure() + 1);
        if spare == 0 {
            return;
        }
        let mut uses = vec![0u32; self.block.values.len()];
        for inst in &self.block.insts {
            inst.srcs.iter().for_each(|src| uses[src.0 as usize] += 1);
        }
        let mut wanted: Vec<usize> =
            (0..uses.len()).filter(|v| self.memory[*v].is_some() && uses[*v] > 0).collect();
        wanted.sort_by_key(|v| std::cmp::Reverse(uses[*v]));
        for v in wanted.into_iter().take(spare as usize) {
            let Some(reg) = self.free.highest() else { return };
            self.load(reg, V(v as u32));
            self.fixed.add(reg);
        }
    }

    pub fn bind_label(&mut self, label: Label) {
        self.asm.bind(label);
    }

    /// Emits the block.
    pub fn run(&mut self) {
        for at in 0..self.block.insts.len() {
            let inst = self.block.insts[at];
            self.inst(at, inst);
        }
        self.frame.give_back(&self.spills);
    }

    pub fn len(&self) -> Len {
        self.asm.isa.vector()
    }

    fn load(&mut self, reg: Reg, v: V) {
        let at = v.0 as usize;
        let from = self.memory[at].expect("a value is in a register or in memory");
        let len = self.len();
        self.asm.vector(op::MOV_LOAD, len, reg.0, 0, from.into(), None);
        self.bind(reg, v);
    }

    pub fn bind(&mut self, reg: Reg, v: V) {
        self.held[reg.0 as usize] = v;
        self.free.remove(reg);
        self.reg_of[v.0 as usize] = Some(reg);
    }

    /// Forgets the value of a register that has one.
    pub fn release(&mut self, reg: Reg) {
        self.reg_of[self.held[reg.0 as usize].0 as usize] = None;
        self.free.add(reg);
    }

    /// A register, if need be that of the value whose next use is farthest; not one of `locked`.
    pub fn take(&mut self, locked: Regs) -> Reg {
        if let Some(reg) = self.free.lowest() {
            return reg;
        }
        let reg = Regs::first(self.registers)
            .without(self.fixed)
            .without(locked)
            .max_by_key(|reg| {
                let at = self.held[reg.0 as usize].0 as usize;
                (self.next[at], self.memory[at].is_some())
            })
            .expect("there are more registers than operands");
        let at = self.held[reg.0 as usize].0 as usize;
        if self.memory[at].is_none() && self.next[at] != NEVER {
            let home = self.frame.spill(self.asm.isa);
            self.spills.push(home);
            let home = frame_at(home);
            let len = self.len();
            self.asm.vector(op::MOV_STORE, len, reg.0, 0, home.into(), None);
            self.memory[at] = Some(home);
        }
        self.release(reg);
        reg
    }

    pub fn in_register(&self, v: V) -> bool {
        self.reg_of[v.0 as usize].is_some()
    }

    /// The register of a source, loaded if need be.
    pub fn source(&mut self, v: V, locked: &mut Regs) -> Reg {
        let reg = match self.reg_of[v.0 as usize] {
            Some(reg) => reg,
            None => {
                let reg = self.take(*locked);
                self.load(reg, v);
                reg
            }
        };
        locked.add(reg);
        reg
    }

    /// A source that may stay in memory: a constant does, since loads are cheaper than more instructions; others do
    /// if they are not needed again or there is no register for them.
    pub fn source_or_memory(&mut self, v: V, after: u32, locked: &mut Regs) -> Rm {
        let constant = matches!(self.block.values[v.0 as usize], Home::Pool(_));
        match (self.reg_of[v.0 as usize], self.memory[v.0 as usize]) {
            (None, Some(memory)) if constant || after == NEVER || self.free.lowest().is_none() => {
                memory.into()
            }
            _ => self.source(v, locked).into(),
        }
    }

    /// Lets go of the sources that are not needed again.
    pub fn retire(&mut self, inst: &VInst, after: [u32; 3]) {
        for (src, after) in inst.srcs.iter().zip(after) {
            self.next[src.0 as usize] = after;
            if after == NEVER
                && let Some(reg) = self.reg_of[src.0 as usize]
                && !self.fixed.has(reg)
            {
                self.release(reg);
            }
        }
    }

    /// The register of a result. Registers of `locked` are not given up for it.
    fn result(&mut self, at: usize, dst: V, locked: Regs) -> Reg {
        if let Home::Pinned(reg) = self.block.values[dst.0 as usize] {
            return reg;
        }
        let reg = self.take(locked);
        self.bind(reg, dst);
        self.next[dst.0 as usize] = self.first[at];
        if self.first[at] == NEVER {
            self.release(reg);
        }
        reg
    }

    /// Leaves a vector of a slot in memory, where its only user may find it.
    fn postpone(&mut self, at: usize, inst: &VInst) -> bool {
        let Kind::Load { op, len, place: Place::Slot(slot, offset), tail: Tail::Whole } = inst.kind else {
            return false;
        };
        let Some(dst) = inst.dst else { return false };
        let made = self.block.values[dst.0 as usize] == Home::Made;
        if op != op::MOV_LOAD || len != self.len() || !made || !self.late[at] || !self.machine.stays(slot) {
            return false;
        }
        self.memory[dst.0 as usize] = Some(self.machine.slot(self.asm, slot, offset));
        self.next[dst.0 as usize] = self.first[at];
        true
    }

    fn inst(&mut self, at: usize, mut inst: VInst) {
        if self.postpone(at, &inst) {
            return;
        }
        let mut after = self.after[at];
        // Until they are looked at, sources are needed now.
        let mut locked = Regs::default();
        for src in inst.srcs.iter() {
            self.next[src.0 as usize] = at as u32;
            if let Some(reg) = self.reg_of[src.0 as usize] {
                locked.add(reg);
            }
        }
        let len = self.len();
        match inst.kind {
            Kind::Op { op, len, imm } => {
                if op.commutes && !self.in_register(inst.srcs[0]) && self.in_register(inst.srcs[1]) {
                    inst.srcs.swap(0, 1);
                    after.swap(0, 1);
                }
                let operands: (u8, Rm) = match op.form {
                    Form::Three | Form::VexOnly | Form::Blend => {
                        let first = self.source(inst.srcs[0], &mut locked);
                        (first.0, self.source_or_memory(inst.srcs[1], after[1], &mut locked))
                    }
                    Form::Two => (0, self.source_or_memory(inst.srcs[0], after[0], &mut locked)),
                    // Without EVEX, a shift takes no memory.
                    Form::Back | Form::Shift(_) => (0, self.source(inst.srcs[0], &mut locked).into()),
                };
                self.retire(&inst, after);
                let Some(dst) = inst.dst else { return };
                let dst = self.result(at, dst, Regs::default());
                match (op.form, operands) {
                    (Form::Back, (_, Rm::Reg(source))) => {
                        self.asm.vector(op, len, source, 0, dst.into(), imm)
                    }
                    (Form::Shift(number), (_, rm)) => self.asm.vector(op, len, number, dst.0, rm, imm),
                    (_, (first, rm)) => self.asm.vector(op, len, dst.0, first, rm, imm),
                }
            }
            Kind::Fma { double } => self.fma(at, &inst, after, double, locked),
            Kind::Select if self.asm.isa == Isa::Avx512 => self.ternary(at, &inst, after, locked),
            Kind::Select => {
                let mask = self.source(inst.srcs[0], &mut locked);
                let other = self.source(inst.srcs[2], &mut locked);
                let chosen = self.source_or_memory(inst.srcs[1], after[1], &mut locked);
                self.retire(&inst, after);
                let Some(dst) = inst.dst else { return };
                let dst = self.result(at, dst, Regs::default());
                self.asm.vector(op::BLENDV, len, dst.0, other.0, chosen, Some(mask.0 << 4));
            }
            Kind::Compare { op, imm, wide } => {
                let first = self.source(inst.srcs[0], &mut locked);
                let second = self.source_or_memory(inst.srcs[1], after[1], &mut locked);
                self.retire(&inst, after);
                let Some(dst) = inst.dst else { return };
                let dst = self.result(at, dst, Regs::default());
                self.asm.vector(op, len, 1, first.0, second, Some(imm));
                let spread = if wide { op::MASK_TO_Q } else { op::MASK_TO_D };
                self.asm.vector(spread, len, dst.0, 0, Rm::Reg(1), None);
            }
            _ => {
                let sources: List<Reg, 3> =
                    inst.srcs.iter().map(|src| self.source(*src, &mut locked)).collect();
                // These are more than one instruction: the result must not take a register of a source.
                let dst = inst.dst.map(|dst| self.result(at, dst, locked));
                self.retire(&inst, after);
                self.machine.emit(self.asm, &inst.kind, dst, &sources);
            }
        }
    }
}

/// A place of the frame as a memory operand.
pub(super) fn frame_at(offset: u32) -> Mem {
    Mem::Base(RSP, offset as i32)
}
