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

/// Where a value is, and what is to come for it.
#[derive(Clone, Copy)]
pub(super) struct Value {
    pub reg: Option<Reg>,
    pub memory: Option<Mem>,
    /// Its next use, as far as instructions up to the current one know.
    pub next: u32,
    last: u32,
    uses: u32,
}

impl Value {
    /// Whether an instruction makes it that is still to come.
    fn is_made(&self) -> bool {
        self.reg.is_none() && self.memory.is_none()
    }
}

/// The uses of values after an instruction.
#[derive(Clone, Copy)]
pub(super) struct Uses {
    /// Of its sources.
    pub after: [u32; 3],
    /// Of its result.
    pub first: u32,
    /// Whether it is a load that can be done as late as at the last use of what it loads.
    late: bool,
}

/// Chooses registers for one block and emits it.
pub(super) struct Allocator<'a, 'm> {
    pub asm: &'a mut Asm,
    pub block: &'a Block,
    machine: &'a Machine<'m>,
    frame: &'a mut Frame,
    values: Vec<Value>,
    /// By instruction.
    pub uses: Vec<Uses>,
    /// The value in each register that is neither free nor beyond those to be chosen.
    held: [V; 32],
    free: Regs,
    /// Registers that keep their value to the end.
    pub fixed: Regs,
    /// The most registers that values made in the block take at once.
    pressure: u32,
    registers: u8,
    spills: Vec<u32>,
}

impl<'a, 'm> Allocator<'a, 'm> {
    /// Registers from `registers` on are left alone, but for pinned values.
    pub fn new(
        asm: &'a mut Asm,
        block: &'a Block,
        machine: &'a Machine<'m>,
        frame: &'a mut Frame,
        registers: u8,
    ) -> Allocator<'a, 'm> {
        let none = Value { reg: None, memory: None, next: NEVER, last: 0, uses: 0 };
        let value = |home: &Home| match *home {
            Home::Made => none,
            Home::Pool(offset) => Value { memory: Some(Mem::Pool(offset)), ..none },
            Home::Frame(offset) => Value { memory: Some(frame_at(offset)), ..none },
            Home::Pinned(reg) => Value { reg: Some(reg), ..none },
        };
        let mut this = Allocator {
            asm,
            machine,
            frame,
            values: block.values.iter().map(value).collect(),
            uses: Vec::new(),
            held: [V::default(); 32],
            free: Regs::first(registers),
            fixed: Regs::default(),
            pressure: 0,
            registers,
            spills: Vec::new(),
            block,
        };
        for (v, value) in this.values.iter().enumerate() {
            if let Some(reg) = value.reg {
                this.held[reg.0 as usize] = V(v as u32);
                this.free.remove(reg);
                this.fixed.add(reg);
            }
        }
        this.look_back();
        this
    }

    /// Finds the uses of values, from the end on.
    fn look_back(&mut self) {
        self.uses.resize(self.block.insts.len(), Uses { after: [NEVER; 3], first: NEVER, late: false });
        // The next instruction that may write what loads read, or move where slots are.
        let mut effect = NEVER;
        let mut live = 0u32;
        for ((at, inst), uses) in self.block.insts.iter().enumerate().zip(&mut self.uses).rev() {
            let at = at as u32;
            match inst.dst {
                Some(dst) => {
                    let value = &self.values[dst.0 as usize];
                    uses.first = value.next;
                    uses.late = value.last < effect;
                    if value.is_made() {
                        if value.next == NEVER {
                            continue;
                        }
                        live -= 1;
                    }
                }
                None if inst.kind == Kind::Fail => {}
                None => effect = at,
            }
            for (k, src) in inst.srcs.iter().enumerate() {
                uses.after[k] = self.values[src.0 as usize].next;
            }
            for src in inst.srcs.iter() {
                let value = &mut self.values[src.0 as usize];
                live += u32::from(value.uses == 0 && value.is_made());
                value.uses += 1;
                value.next = at;
                value.last = value.last.max(at);
            }
            self.pressure = self.pressure.max(live);
        }
    }

    pub fn value(&self, v: V) -> &Value {
        &self.values[v.0 as usize]
    }

    /// Says when a value is used next.
    pub fn used_next(&mut self, v: V, at: u32) {
        self.values[v.0 as usize].next = at;
    }

    /// Loads values that the block finds in memory into registers it can spare, those used most first; they
    /// stay there while the block is repeated.
    pub fn hoist(&mut self) {
        let open = Regs::first(self.registers).without(self.fixed);
        let spare = open.count().saturating_sub(self.pressure + 1);
        if spare == 0 {
            return;
        }
        let mut wanted: Vec<(u32, u32)> = self
            .values
            .iter()
            .enumerate()
            .filter(|(_, value)| value.memory.is_some() && value.uses > 0)
            .map(|(v, value)| (value.uses, v as u32))
            .collect();
        wanted.sort_by_key(|(uses, _)| std::cmp::Reverse(*uses));
        for (_, v) in wanted.into_iter().take(spare as usize) {
            let Some(reg) = self.free.highest() else { return };
            self.load(reg, V(v));
            self.fixed.add(reg);
        }
    }

    pub fn bind_label(&mut self, label: Label) {
        self.asm.bind(label);
    }

    /// Emits the block.
    pub fn run(&mut self) {
        let block = self.block;
        for (at, inst) in block.insts.iter().enumerate() {
            self.inst(at, inst);
        }
        self.frame.give_back(&self.spills);
    }

    pub fn len(&self) -> Len {
        self.asm.isa.vector()
    }

    fn load(&mut self, reg: Reg, v: V) {
        let from = self.value(v).memory.expect("a value is in a register or in memory");
        let len = self.len();
        self.asm.vector(op::MOV_LOAD, len, reg.0, 0, from.into(), None);
        self.bind(reg, v);
    }

    pub fn bind(&mut self, reg: Reg, v: V) {
        self.held[reg.0 as usize] = v;
        self.free.remove(reg);
        self.values[v.0 as usize].reg = Some(reg);
    }

    /// Forgets the value of a register that has one.
    pub fn release(&mut self, reg: Reg) {
        self.values[self.held[reg.0 as usize].0 as usize].reg = None;
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
                let value = self.value(self.held[reg.0 as usize]);
                (value.next, value.memory.is_some())
            })
            .expect("there are more registers than operands");
        let v = self.held[reg.0 as usize];
        let Value { memory, next, .. } = *self.value(v);
        if memory.is_none() && next != NEVER {
            let home = self.frame.spill(self.asm.isa);
            self.spills.push(home);
            let home = frame_at(home);
            let len = self.len();
            self.asm.vector(op::MOV_STORE, len, reg.0, 0, home.into(), None);
            self.values[v.0 as usize].memory = Some(home);
        }
        self.release(reg);
        reg
    }

    pub fn in_register(&self, v: V) -> bool {
        self.value(v).reg.is_some()
    }

    /// The register of a source, loaded if need be.
    pub fn source(&mut self, v: V, locked: &mut Regs) -> Reg {
        let reg = match self.value(v).reg {
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
        let value = self.value(v);
        match (value.reg, value.memory) {
            (None, Some(memory)) if constant || after == NEVER || self.free.lowest().is_none() => {
                memory.into()
            }
            _ => self.source(v, locked).into(),
        }
    }

    /// Lets go of the sources that are not needed again.
    pub fn retire(&mut self, srcs: &[V], after: [u32; 3]) {
        for (src, after) in srcs.iter().zip(after) {
            let value = &mut self.values[src.0 as usize];
            value.next = after;
            if after == NEVER
                && let Some(reg) = value.reg
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
        self.used_next(dst, self.uses[at].first);
        reg
    }

    /// Leaves a vector of a slot in memory, where its only user may find it.
    fn postpone(&mut self, at: usize, inst: &VInst) -> bool {
        let Kind::Load { op, len, place: Place::Slot(slot, offset), tail: Tail::Whole } = inst.kind else {
            return false;
        };
        let Some(dst) = inst.dst else { return false };
        let made = self.block.values[dst.0 as usize] == Home::Made;
        if op != op::MOV_LOAD
            || len != self.len()
            || !made
            || !self.uses[at].late
            || !self.machine.stays(slot)
        {
            return false;
        }
        let value = &mut self.values[dst.0 as usize];
        value.memory = Some(self.machine.slot(self.asm, slot, offset));
        value.next = self.uses[at].first;
        true
    }

    fn inst(&mut self, at: usize, inst: &VInst) {
        let Uses { mut after, first, .. } = self.uses[at];
        let unused = |dst: V| first == NEVER && self.value(dst).is_made();
        if inst.dst.is_some_and(unused) || self.postpone(at, inst) {
            return;
        }
        let mut locked = Regs::default();
        inst.srcs.iter().filter_map(|src| self.value(*src).reg).for_each(|reg| locked.add(reg));
        let len = self.len();
        match inst.kind {
            Kind::Op { op, len, imm } => {
                let mut srcs = inst.srcs;
                if op.commutes && !self.in_register(srcs[0]) && self.in_register(srcs[1]) {
                    srcs.swap(0, 1);
                    after.swap(0, 1);
                }
                let operands: (u8, Rm) = match op.form {
                    Form::Three | Form::VexOnly | Form::Blend => {
                        let first = self.source(srcs[0], &mut locked);
                        (first.0, self.source_or_memory(srcs[1], after[1], &mut locked))
                    }
                    Form::Two => (0, self.source_or_memory(srcs[0], after[0], &mut locked)),
                    // Without EVEX, a shift takes no memory.
                    Form::Back | Form::Shift(_) => (0, self.source(srcs[0], &mut locked).into()),
                };
                self.retire(&srcs, after);
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
            Kind::Fma { double } => self.fma(at, inst, after, double, locked),
            Kind::Select if self.asm.isa == Isa::Avx512 => self.ternary(at, inst, after, locked),
            Kind::Select => {
                let mask = self.source(inst.srcs[0], &mut locked);
                let other = self.source(inst.srcs[2], &mut locked);
                let chosen = self.source_or_memory(inst.srcs[1], after[1], &mut locked);
                self.retire(&inst.srcs, after);
                let Some(dst) = inst.dst else { return };
                let dst = self.result(at, dst, Regs::default());
                self.asm.vector(op::BLENDV, len, dst.0, other.0, chosen, Some(mask.0 << 4));
            }
            Kind::Compare { op, imm, wide } => {
                let first = self.source(inst.srcs[0], &mut locked);
                let second = self.source_or_memory(inst.srcs[1], after[1], &mut locked);
                self.retire(&inst.srcs, after);
                let Some(dst) = inst.dst else { return };
                let dst = self.result(at, dst, Regs::default());
                self.asm.vector(op, len, 1, first.0, second, Some(imm));
                let spread = if wide { op::MASK_TO_Q } else { op::MASK_TO_D };
                self.asm.vector(spread, len, dst.0, 0, Rm::Reg(1), None);
            }
            Kind::Index(at) => self.machine.index(self.asm, &self.block.index[at as usize]),
            _ => {
                let sources: List<Reg, 3> =
                    inst.srcs.iter().map(|src| self.source(*src, &mut locked)).collect();
                // These are more than one instruction: the result must not take a register of a source.
                let dst = inst.dst.map(|dst| self.result(at, dst, locked));
                self.retire(&inst.srcs, after);
                self.machine.emit(self.asm, &inst.kind, dst, &sources);
            }
        }
    }
}

/// A place of the frame as a memory operand.
pub(super) fn frame_at(offset: u32) -> Mem {
    Mem::Base(RSP, offset as i32)
}
