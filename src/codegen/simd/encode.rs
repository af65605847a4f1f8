//! `Asm`: x86-64 machine code under construction, with every VEX and EVEX encoding made in one place.

use std::ops::Range;

use super::Isa;
use super::op::{self, Form, Vop};

/// A general register, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Gpr(pub u8);

/// A vector register, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Reg(pub u8);

/// How much of a vector register an instruction works on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Len {
    /// 16 bytes.
    X,
    /// 32 bytes.
    Y,
    /// 64 bytes.
    Z,
}

impl Len {
    pub fn bytes(self) -> u32 {
        16 << self as u32
    }
}

/// A memory operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mem {
    /// `base + disp`.
    Base(Gpr, i32),
    /// `base + (index << scale) + disp`; the index is not `rsp`.
    Indexed(Gpr, Gpr, u8, i32),
    /// An offset into the constants behind the code.
    Pool(u32),
}

/// The operand that may be a register or memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rm {
    Reg(u8),
    Mem(Mem),
}

impl From<Reg> for Rm {
    fn from(reg: Reg) -> Rm {
        Rm::Reg(reg.0)
    }
}

impl From<Gpr> for Rm {
    fn from(reg: Gpr) -> Rm {
        Rm::Reg(reg.0)
    }
}

impl From<Mem> for Rm {
    fn from(mem: Mem) -> Rm {
        Rm::Mem(mem)
    }
}

/// A place in the code that jumps go to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Label(u32);

/// A mask register and what becomes of the lanes it leaves out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Masked {
    pub k: u8,
    /// They become 0 rather than keep what they hold; never for stores.
    pub zero: bool,
}

/// The bytes of one function.
pub(super) struct Asm {
    pub isa: Isa,
    pub bytes: Vec<u8>,
    labels: Vec<Option<usize>>,
    /// Places of 4-byte distances, and the labels they lead to.
    jumps: Vec<(usize, Label)>,
    /// Places of 4-byte distances into the constants, the ends of their instructions, and the offsets.
    pool_uses: Vec<(usize, usize, u32)>,
    /// The first bytes of stores of vectors to slots.
    stores: Vec<usize>,
}

/// Alignment of a function and of its constants.
pub(super) const ALIGN: usize = 64;

impl Asm {
    pub fn new(isa: Isa) -> Asm {
        Asm {
            isa,
            bytes: Vec::with_capacity(2048),
            labels: Vec::new(),
            jumps: Vec::new(),
            pool_uses: Vec::new(),
            stores: Vec::new(),
        }
    }

    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() as u32 - 1)
    }

    /// Puts `label` here.
    pub fn bind(&mut self, label: Label) {
        debug_assert!(self.labels[label.0 as usize].is_none(), "{label:?} is bound twice");
        self.labels[label.0 as usize] = Some(self.bytes.len());
    }

    /// A 4-byte distance to `label`, at the end of a jump.
    pub fn distance_to(&mut self, label: Label) {
        self.jumps.push((self.bytes.len(), label));
        self.word(0);
    }

    pub fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        self.bytes.extend_from_slice(&bytes);
    }

    pub fn word(&mut self, word: i32) {
        self.put(word.to_le_bytes());
    }

    /// Remembers that a store of a vector to a slot follows.
    pub fn mark_store(&mut self) {
        self.stores.push(self.bytes.len());
    }

    /// The code from `start` on once more; jumps inside of it, also to its end, stay inside.
    pub fn again(&mut self, start: usize) {
        let more = self.bytes.len() - start;
        self.bytes.extend_from_within(start..);
        for at in 0..self.jumps.len() {
            let (place, mut label) = self.jumps[at];
            if place < start {
                continue;
            }
            if let Some(target) = self.labels[label.0 as usize].filter(|target| *target >= start) {
                label = self.label();
                self.labels[label.0 as usize] = Some(target + more);
            }
            self.jumps.push((place + more, label));
        }
        for at in 0..self.pool_uses.len() {
            let (place, end, offset) = self.pool_uses[at];
            if place >= start {
                self.pool_uses.push((place + more, end + more, offset));
            }
        }
    }

    /// Makes stores of whole vectors to slots in a part of the code go past the caches.
    pub fn stream(&mut self, part: Range<usize>) {
        for place in self.stores.iter().filter(|place| part.contains(place)) {
            let prefix = match self.bytes[*place] {
                0xc5 => 2,
                0xc4 => 3,
                _ => 4,
            };
            debug_assert_eq!(self.bytes[place + prefix], op::MOV_STORE.opcode, "a store of a whole vector");
            self.bytes[place + prefix] = op::MOV_STREAM.opcode;
        }
    }

    /// The function: `before`, this code, then the constants at the next multiple of [`ALIGN`].
    pub fn finish(mut self, before: &Asm, pool: &[u8]) -> Vec<u8> {
        debug_assert!(before.jumps.is_empty() && before.pool_uses.is_empty());
        for (place, label) in &self.jumps {
            let target = self.labels[label.0 as usize].expect("every label is bound");
            let distance = target as i64 - (*place as i64 + 4);
            self.bytes[*place..*place + 4].copy_from_slice(&(distance as i32).to_le_bytes());
        }
        let start = before.bytes.len();
        let pool_start = (start + self.bytes.len()).next_multiple_of(ALIGN);
        for (place, end, offset) in &self.pool_uses {
            let distance = (pool_start + *offset as usize) as i64 - (start + end) as i64;
            self.bytes[*place..*place + 4].copy_from_slice(&(distance as i32).to_le_bytes());
        }
        let mut all = Vec::with_capacity(pool_start + pool.len());
        all.extend(&before.bytes);
        all.append(&mut self.bytes);
        // What stands between code and constants is never run: int3.
        all.resize(pool_start, 0xcc);
        all.extend(pool);
        all
    }

    /// ModRM, SIB and displacement. `unit`, a power of two, is what a one-byte displacement counts in; `trailing` bytes
    /// of the instruction follow.
    fn operand(&mut self, reg: u8, rm: Rm, unit: i32, trailing: usize) {
        let reg = (reg & 7) << 3;
        let (base, index, disp) = match rm {
            Rm::Reg(r) => return self.byte(0xc0 | reg | (r & 7)),
            Rm::Mem(Mem::Pool(offset)) => {
                let place = self.bytes.len() + 1;
                self.put([reg | 5, 0, 0, 0, 0]);
                self.pool_uses.push((place, place + 4 + trailing, offset));
                return;
            }
            Rm::Mem(Mem::Base(base, disp)) => (base.0, None, disp),
            Rm::Mem(Mem::Indexed(base, index, scale, disp)) => (base.0, Some((index.0, scale)), disp),
        };
        let count = disp >> unit.trailing_zeros();
        let short = disp & (unit - 1) == 0 && i8::try_from(count).is_ok();
        // Without displacement, rbp and r13 as a base mean something else.
        let mode = match short {
            true if disp == 0 && base & 7 != 5 => 0,
            true => 0x40,
            false => 0x80,
        };
        let sib = match index {
            None if base & 7 != 4 => None,
            None => Some(0x24),
            Some((index, scale)) => {
                debug_assert_ne!(index, 4, "rsp is no index");
                Some(scale << 6 | (index & 7) << 3 | (base & 7))
            }
        };
        let [d0, d1, d2, d3] = disp.to_le_bytes();
        match (sib, mode) {
            (None, 0) => self.put([mode | reg | (base & 7)]),
            (None, 0x40) => self.put([mode | reg | (base & 7), count as u8]),
            (None, _) => self.put([mode | reg | (base & 7), d0, d1, d2, d3]),
            (Some(sib), 0) => self.put([mode | reg | 4, sib]),
            (Some(sib), 0x40) => self.put([mode | reg | 4, sib, count as u8]),
            (Some(sib), _) => self.put([mode | reg | 4, sib, d0, d1, d2, d3]),
        }
    }

    /// A general-purpose instruction: prefix, REX, opcode, operands.
    pub fn legacy(
        &mut self,
        prefix: Option<u8>,
        wide: bool,
        opcode: &[u8],
        reg: u8,
        rm: Rm,
        trailing: usize,
    ) {
        if let Some(prefix) = prefix {
            self.byte(prefix);
        }
        let (x, b) = high_bits(rm);
        let rex = 0x40 | u8::from(wide) << 3 | (reg >> 3 & 1) << 2 | x << 1 | b;
        if rex != 0x40 {
            self.byte(rex);
        }
        opcode.iter().for_each(|byte| self.byte(*byte));
        self.operand(reg, rm, 1, trailing);
    }

    /// A vector instruction in the encoding of the machine: `reg` and `rm` as in the manual, `v` the
    /// operand of the prefix (0 if there is none).
    pub fn vector(&mut self, op: Vop, len: Len, reg: u8, v: u8, rm: Rm, imm: Option<u8>) {
        if self.isa == Isa::Avx512 && op.form != Form::VexOnly {
            self.evex(op, len, reg, v, rm, imm, None);
        } else {
            self.vex(op, len, reg, v, rm, imm);
        }
    }

    /// A vector instruction under a mask (AVX-512 only).
    #[expect(clippy::too_many_arguments, reason = "the fields of the encoding")]
    pub fn masked(&mut self, op: Vop, len: Len, reg: u8, v: u8, rm: Rm, imm: Option<u8>, masked: Masked) {
        self.evex(op, len, reg, v, rm, imm, Some(masked));
    }

    fn vex(&mut self, op: Vop, len: Len, reg: u8, v: u8, rm: Rm, imm: Option<u8>) {
        debug_assert!(len != Len::Z && reg < 16 && v < 16, "{op:?} has no VEX form");
        let (x, b) = high_bits(rm);
        let r = reg >> 3 & 1;
        let last = (!v & 15) << 3 | u8::from(len == Len::Y) << 2 | op.pp;
        if x == 0 && b == 0 && !op.vex_w && op.map == 1 {
            self.put([0xc5, (r ^ 1) << 7 | last, op.opcode]);
        } else {
            let bits = (r ^ 1) << 7 | (x ^ 1) << 6 | (b ^ 1) << 5 | op.map;
            self.put([0xc4, bits, u8::from(op.vex_w) << 7 | last, op.opcode]);
        }
        self.operand(reg, rm, 1, usize::from(imm.is_some()));
        if let Some(imm) = imm {
            self.byte(imm);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of the encoding")]
    fn evex(&mut self, op: Vop, len: Len, reg: u8, v: u8, rm: Rm, imm: Option<u8>, masked: Option<Masked>) {
        let (mut x, b) = high_bits(rm);
        if let Rm::Reg(r) = rm {
            x = r >> 4 & 1;
        }
        let (r, r_high) = (reg >> 3 & 1, reg >> 4 & 1);
        let (k, zero) = masked.map_or((0, false), |m| (m.k, m.zero));
        self.put([
            0x62,
            (r ^ 1) << 7 | (x ^ 1) << 6 | (b ^ 1) << 5 | (r_high ^ 1) << 4 | op.map,
            u8::from(op.evex_w) << 7 | (!v & 15) << 3 | 4 | op.pp,
            u8::from(zero) << 7 | (len as u8) << 5 | (v >> 4 & 1 ^ 1) << 3 | k,
            op.opcode,
        ]);
        self.operand(reg, rm, op.memory_bytes(len) as i32, usize::from(imm.is_some()));
        if let Some(imm) = imm {
            self.byte(imm);
        }
    }

    /// A move between a general register and a mask register.
    pub fn mask_move(&mut self, to_mask: bool, reg: u8, rm: u8) {
        let opcode = if to_mask { 0x92 } else { 0x93 };
        self.vex(
            Vop {
                pp: 3,
                map: 1,
                opcode,
                vex_w: true,
                evex_w: false,
                share: 0,
                form: Form::VexOnly,
                commutes: false,
            },
            Len::X,
            reg,
            0,
            Rm::Reg(rm),
            None,
        );
    }
}

/// The fourth bits of index and base (or register).
fn high_bits(rm: Rm) -> (u8, u8) {
    match rm {
        Rm::Reg(r) => (0, r >> 3 & 1),
        Rm::Mem(Mem::Base(base, _)) => (0, base.0 >> 3),
        Rm::Mem(Mem::Indexed(base, index, ..)) => (index.0 >> 3, base.0 >> 3),
        Rm::Mem(Mem::Pool(_)) => (0, 0),
    }
}
