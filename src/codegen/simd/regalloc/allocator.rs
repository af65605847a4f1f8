//! `Allocator`: chooses registers for a block's values, and keeps track of where the values are.

use super::register_set::RegisterSet;
use crate::codegen::simd::asm::{Asm, Mem, Rm, VectorLen, VectorReg, opcode};
use crate::codegen::simd::ir::{
    FrameAllocator, ValueOrigin, VectorBlock, VectorId, VectorInst, VectorInstKind, frame_mem,
};

/// The number that stands for the next use of a value without further uses.
pub(crate) const NEVER: u32 = u32::MAX;

/// The current locations of a value, and its uses.
#[derive(Clone, Copy)]
struct ValueState {
    reg: Option<VectorReg>,
    memory: Option<Mem>,
    /// The next use after the current instruction.
    next: u32,
    /// The last instruction that uses the value.
    last: u32,
    /// The number of uses.
    uses: u32,
}

impl ValueState {
    /// Returns whether the value has no location yet: the block computes it, and its instruction is still to come.
    fn is_unmade(&self) -> bool {
        self.reg.is_none() && self.memory.is_none()
    }
}

/// Where the values of an instruction are used after this instruction.
#[derive(Clone, Copy)]
pub(crate) struct ValueUses {
    /// For each source: its next use.
    pub next_uses: [u32; 3],
    /// The first use of the result.
    pub first: u32,
    /// For a load: whether nothing writes memory or advances the address of a slot up to the last use of the result. If
    /// so, the use may read memory itself.
    pub postponable: bool,
}

/// Chooses registers for one block.
pub(crate) struct Allocator<'a> {
    pub asm: &'a mut Asm,
    pub block: &'a VectorBlock,
    frame: &'a mut FrameAllocator,
    values: Vec<ValueState>,
    /// For each instruction: the later uses of its values.
    uses: Vec<ValueUses>,
    /// For each register: the value in it, unless the register is free.
    held: [VectorId; 32],
    free: RegisterSet,
    /// Registers that keep their value to the end of the block: of pinned and of hoisted values.
    fixed: RegisterSet,
    /// The largest number of registers that values computed in the block occupy at once.
    pressure: u32,
    /// The block may use the registers below this number, and the pinned registers.
    registers: u8,
    /// The frame offsets of the vectors to which values were spilled.
    spills: Vec<u32>,
}

impl<'a> Allocator<'a> {
    /// Makes an allocator that uses the first `registers` registers, and pinned ones.
    pub fn new(
        asm: &'a mut Asm,
        block: &'a VectorBlock,
        frame: &'a mut FrameAllocator,
        registers: u8,
    ) -> Allocator<'a> {
        let none = ValueState { reg: None, memory: None, next: NEVER, last: 0, uses: 0 };
        let state = |origin: &ValueOrigin| match *origin {
            ValueOrigin::Made => none,
            ValueOrigin::Pool(offset) => ValueState { memory: Some(Mem::Pool(offset)), ..none },
            ValueOrigin::Frame(offset) => ValueState { memory: Some(frame_mem(offset)), ..none },
            ValueOrigin::Pinned(reg) => ValueState { reg: Some(reg), ..none },
        };
        let mut this = Allocator {
            asm,
            frame,
            values: block.values.iter().map(state).collect(),
            uses: Vec::new(),
            held: [VectorId::default(); 32],
            free: RegisterSet::first(registers),
            fixed: RegisterSet::default(),
            pressure: 0,
            registers,
            spills: Vec::new(),
            block,
        };
        for (v, value) in this.values.iter().enumerate() {
            if let Some(reg) = value.reg {
                this.held[reg.0 as usize] = VectorId(v as u32);
                this.free.remove(reg);
                this.fixed.add(reg);
            }
        }
        this.find_uses();
        this
    }

    /// Finds the uses of values, from the last instruction to the first.
    fn find_uses(&mut self) {
        let unused = ValueUses { next_uses: [NEVER; 3], first: NEVER, postponable: false };
        self.uses.resize(self.block.insts.len(), unused);
        // The next instruction that may write memory or advance the address of a slot.
        let mut effect = NEVER;
        let mut live = 0u32;
        for ((index, inst), uses) in self.block.insts.iter().enumerate().zip(&mut self.uses).rev() {
            let index = index as u32;
            match inst.dst {
                Some(dst) => {
                    let value = &self.values[dst.0 as usize];
                    uses.first = value.next;
                    uses.postponable = value.last < effect;
                    if value.is_unmade() {
                        if value.next == NEVER {
                            continue;
                        }
                        live -= 1;
                    }
                }
                None if inst.kind == VectorInstKind::Fail => {}
                None => effect = index,
            }
            for (k, src) in inst.srcs.iter().enumerate() {
                uses.next_uses[k] = self.values[src.0 as usize].next;
            }
            for src in inst.srcs.iter() {
                let value = &mut self.values[src.0 as usize];
                live += u32::from(value.uses == 0 && value.is_unmade());
                value.uses += 1;
                value.next = index;
                value.last = value.last.max(index);
            }
            self.pressure = self.pressure.max(live);
        }
    }

    /// Returns the later uses of the values of instruction `index`.
    pub fn uses(&self, index: usize) -> ValueUses {
        self.uses[index]
    }

    fn value(&self, v: VectorId) -> &ValueState {
        &self.values[v.0 as usize]
    }

    pub fn vector_len(&self) -> VectorLen {
        self.asm.isa.vector()
    }

    /// Returns the register of a value, if it is in one.
    pub fn register(&self, v: VectorId) -> Option<VectorReg> {
        self.value(v).reg
    }

    /// Returns whether the instruction that makes `v`, with these uses, can be left out: nothing needs the result.
    pub fn is_dead(&self, v: VectorId, uses: &ValueUses) -> bool {
        uses.first == NEVER && self.value(v).is_unmade()
    }

    /// Loads values that are in memory into spare registers, the most used values first. The values stay there while
    /// the block is repeated.
    pub fn hoist(&mut self) {
        let usable = RegisterSet::first(self.registers).without(self.fixed);
        let spare = usable.count().saturating_sub(self.pressure + 1);
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
            self.load(reg, VectorId(v));
            self.fixed.add(reg);
        }
    }

    /// Ends the block: its spill vectors may serve other blocks.
    pub fn finish(self) {
        self.frame.free_spills(&self.spills);
    }

    /// Loads a value from its memory into a free register.
    fn load(&mut self, reg: VectorReg, v: VectorId) {
        let from = self.value(v).memory.expect("a value is in a register or in memory");
        let len = self.vector_len();
        self.asm.vector(opcode::MOV_LOAD, len, reg.0, 0, from.into(), None);
        self.bind(reg, v);
    }

    /// Records that `reg` holds `v`.
    fn bind(&mut self, reg: VectorReg, v: VectorId) {
        self.held[reg.0 as usize] = v;
        self.free.remove(reg);
        self.values[v.0 as usize].reg = Some(reg);
    }

    /// Frees a register that holds a value.
    fn release(&mut self, reg: VectorReg) {
        self.values[self.held[reg.0 as usize].0 as usize].reg = None;
        self.free.add(reg);
    }

    /// Returns a free register. If none is free, takes the register whose value has the farthest next use, among those
    /// that are neither in `locked` nor fixed. Spills the value if it is used again and is not in memory.
    fn take(&mut self, locked: RegisterSet) -> VectorReg {
        if let Some(reg) = self.free.lowest() {
            return reg;
        }
        let reg = RegisterSet::first(self.registers)
            .without(self.fixed)
            .without(locked)
            .max_by_key(|reg| {
                let value = self.value(self.held[reg.0 as usize]);
                (value.next, value.memory.is_some())
            })
            .expect("there are more registers than operands");
        let v = self.held[reg.0 as usize];
        let ValueState { memory, next, .. } = *self.value(v);
        if memory.is_none() && next != NEVER {
            let spill = self.frame.spill(self.asm.isa);
            self.spills.push(spill);
            let spill = frame_mem(spill);
            let len = self.vector_len();
            self.asm.vector(opcode::MOV_STORE, len, reg.0, 0, spill.into(), None);
            self.values[v.0 as usize].memory = Some(spill);
        }
        self.release(reg);
        reg
    }

    /// Returns the register of a source, and adds it to `locked`. Loads the source if it has none.
    pub fn source(&mut self, v: VectorId, locked: &mut RegisterSet) -> VectorReg {
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

    /// Returns a source as a register or a memory operand. A constant stays in memory, since a load as part of an
    /// instruction costs less than an instruction. Another value stays there if it has no later use or no register is
    /// free.
    pub fn source_or_memory(&mut self, v: VectorId, next_use: u32, locked: &mut RegisterSet) -> Rm {
        let constant = matches!(self.block.values[v.0 as usize], ValueOrigin::Pool(_));
        let value = self.value(v);
        match (value.reg, value.memory) {
            (None, Some(memory)) if constant || next_use == NEVER || self.free.lowest().is_none() => {
                memory.into()
            }
            _ => self.source(v, locked).into(),
        }
    }

    /// Ends the use of sources by an instruction: frees the register of each source without a later use.
    pub fn retire(&mut self, srcs: &[VectorId], next_uses: [u32; 3]) {
        for (src, next_use) in srcs.iter().zip(next_uses) {
            let value = &mut self.values[src.0 as usize];
            value.next = next_use;
            if next_use == NEVER
                && let Some(reg) = value.reg
                && !self.fixed.has(reg)
            {
                self.release(reg);
            }
        }
    }

    /// Returns the register for the result of instruction `index`. Does not evict values in `locked`.
    pub fn result(&mut self, index: usize, dst: VectorId, locked: RegisterSet) -> VectorReg {
        if let ValueOrigin::Pinned(reg) = self.block.values[dst.0 as usize] {
            return reg;
        }
        let reg = self.take(locked);
        self.bind_result(index, reg, dst);
        reg
    }

    /// Records that `reg` holds the result of instruction `index`.
    fn bind_result(&mut self, index: usize, reg: VectorReg, dst: VectorId) {
        self.bind(reg, dst);
        self.values[dst.0 as usize].next = self.uses[index].first;
    }

    /// Makes `memory` the location of the result of instruction `index`, which is a load that is not emitted.
    pub fn leave_in_memory(&mut self, index: usize, dst: VectorId, memory: Mem) {
        let value = &mut self.values[dst.0 as usize];
        value.memory = Some(memory);
        value.next = self.uses[index].first;
    }

    /// Chooses which of its three sources the result of instruction `inst` overwrites. Returns the result's register,
    /// which then holds that source, and the source's number. A pinned result that is a source overwrites itself. A
    /// result that is not pinned overwrites a source without a later use, if there is one. Otherwise a source is copied
    /// to the result's register: a source in memory, which must be loaded anyway, or else the last source.
    pub fn overwritten_source(
        &mut self,
        index: usize,
        inst: &VectorInst,
        locked: &mut RegisterSet,
    ) -> (VectorReg, usize) {
        let dst = inst.result();
        let next_uses = self.uses[index].next_uses;
        let pinned = match self.block.values[dst.0 as usize] {
            ValueOrigin::Pinned(reg) => Some(reg),
            _ => None,
        };
        let dying = |this: &Self, k: usize| {
            let reg = this.value(inst.srcs[k]).reg?;
            (next_uses[k] == NEVER && !this.fixed.has(reg)).then_some(reg)
        };
        if let Some(reg) = pinned
            && let Some(k) = (0..3).find(|k| inst.srcs[*k] == dst)
        {
            return (reg, k);
        }
        if pinned.is_none()
            && let Some((reg, k)) = (0..3).rev().find_map(|k| Some((dying(self, k)?, k)))
        {
            self.release(reg);
            self.bind_result(index, reg, dst);
            return (reg, k);
        }
        let k = (0..3).rev().find(|k| self.register(inst.srcs[*k]).is_none()).unwrap_or(2);
        let len = self.vector_len();
        let copied = self.value(inst.srcs[k]);
        let (mov, from): (_, Rm) = match (copied.reg, copied.memory) {
            (Some(reg), _) => (opcode::MOV, reg.into()),
            (None, Some(memory)) => (opcode::MOV_LOAD, memory.into()),
            (None, None) => unreachable!("a source is made before it is used"),
        };
        let reg = pinned.unwrap_or_else(|| {
            let reg = self.take(*locked);
            self.bind_result(index, reg, dst);
            reg
        });
        locked.add(reg);
        self.asm.vector(mov, len, reg.0, 0, from, None);
        (reg, k)
    }
}
