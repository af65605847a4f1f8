//! `Asm`: machine code under construction, and the encodings: with REX, VEX and EVEX prefixes.

use std::ops::Range;

use super::opcode::{MOV_STORE, MOV_STREAM, Opcode, OperandForm};
use super::operand::{Mem, Rm, VectorLen};
use super::vector_isa::VectorIsa;

/// A jump target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Label(u32);

/// A mask register, and the treatment of lanes whose mask bit is 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Masked {
    pub k: u8,
    /// Whether the lanes whose mask bit is 0 become 0. If not, these lanes keep their value. False for stores.
    pub zero: bool,
}

/// The bytes of one function.
pub(crate) struct Asm {
    pub isa: VectorIsa,
    pub bytes: Vec<u8>,
    /// For each label: the offset it is bound to.
    labels: Vec<Option<usize>>,
    /// Offset of each jump's 4-byte distance, with its target.
    jumps: Vec<(usize, Label)>,
    /// For each constant operand: offset of its 4-byte distance, end of its instruction, offset in the constants.
    pool_uses: Vec<(usize, usize, u32)>,
    /// Offset of each store that [`Asm::mark_slot_store`] marked.
    stores: Vec<usize>,
    /// The label of a subroutine that follows the function, if the code calls it.
    pub subroutine: Option<Label>,
}

/// Alignment in bytes of a function and of its constants.
pub(in crate::codegen) const ALIGN: usize = 64;

impl Asm {
    pub fn new(isa: VectorIsa) -> Asm {
        Asm {
            isa,
            bytes: Vec::with_capacity(2048),
            labels: Vec::new(),
            jumps: Vec::new(),
            pool_uses: Vec::new(),
            stores: Vec::new(),
            subroutine: None,
        }
    }

    /// Makes a label, to be bound later.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() as u32 - 1)
    }

    /// Binds `label` to the current offset.
    pub fn bind(&mut self, label: Label) {
        debug_assert!(self.labels[label.0 as usize].is_none(), "{label:?} is bound twice");
        self.labels[label.0 as usize] = Some(self.bytes.len());
    }

    /// Appends a 4-byte distance to `label`. A jump ends with it.
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

    /// Appends 4 bytes.
    pub fn word(&mut self, word: i32) {
        self.put(word.to_le_bytes());
    }

    /// Marks the next instruction for [`Asm::make_stores_bypass_caches`]. It must store a whole vector to a slot, by
    /// `MOV_STORE`.
    pub fn mark_slot_store(&mut self) {
        self.stores.push(self.bytes.len());
    }

    /// Appends a copy of the code from `start` on. In the copy, a jump to a label in the copied code, or at its end,
    /// goes to the copy of the label. Stores in the copy are not marked.
    pub fn duplicate_from(&mut self, start: usize) {
        let more = self.bytes.len() - start;
        self.bytes.extend_from_within(start..);
        for jump in 0..self.jumps.len() {
            let (distance, mut label) = self.jumps[jump];
            if distance < start {
                continue;
            }
            if let Some(target) = self.labels[label.0 as usize].filter(|target| *target >= start) {
                label = self.label();
                self.labels[label.0 as usize] = Some(target + more);
            }
            self.jumps.push((distance + more, label));
        }
        for pool_use in 0..self.pool_uses.len() {
            let (distance, end, offset) = self.pool_uses[pool_use];
            if distance >= start {
                self.pool_uses.push((distance + more, end + more, offset));
            }
        }
    }

    /// Turns the marked stores in a range of the code into non-temporal stores.
    pub fn make_stores_bypass_caches(&mut self, range: Range<usize>) {
        for offset in self.stores.iter().filter(|offset| range.contains(offset)) {
            // The number of bytes before the opcode: 2-byte VEX, 3-byte VEX, EVEX.
            let prefix = match self.bytes[*offset] {
                0xc5 => 2,
                0xc4 => 3,
                _ => 4,
            };
            debug_assert_eq!(self.bytes[offset + prefix], MOV_STORE.opcode, "a marked store is MOV_STORE");
            self.bytes[offset + prefix] = MOV_STREAM.opcode;
        }
    }

    /// Returns the bytes of the function: `prologue`, this code, then the constants `pool` at the next multiple of
    /// [`ALIGN`]. The prologue must have neither jumps nor constants.
    pub fn finish(mut self, prologue: &Asm, pool: &[u8]) -> Vec<u8> {
        debug_assert!(prologue.jumps.is_empty() && prologue.pool_uses.is_empty());
        for (offset, label) in &self.jumps {
            let target = self.labels[label.0 as usize].expect("every label is bound");
            let distance = target as i64 - (*offset as i64 + 4);
            self.bytes[*offset..*offset + 4].copy_from_slice(&(distance as i32).to_le_bytes());
        }
        let start = prologue.bytes.len();
        let pool_start = (start + self.bytes.len()).next_multiple_of(ALIGN);
        for (location, end, offset) in &self.pool_uses {
            let distance = (pool_start + *offset as usize) as i64 - (start + end) as i64;
            self.bytes[*location..*location + 4].copy_from_slice(&(distance as i32).to_le_bytes());
        }
        let mut all = Vec::with_capacity(pool_start + pool.len());
        all.extend(&prologue.bytes);
        all.append(&mut self.bytes);
        // The gap before the constants never runs. The bytes of the gap are `int3`, which traps.
        all.resize(pool_start, 0xcc);
        all.extend(pool);
        all
    }

    /// Appends ModRM, SIB and displacement. A one-byte displacement counts in units of `unit` bytes, a power of two: 1,
    /// but for EVEX the size of the memory operand. `trailing` is the number of instruction bytes after the operand.
    fn operand(&mut self, reg: u8, rm: Rm, unit: i32, trailing: usize) {
        let reg = (reg & 7) << 3;
        let (base, index, disp) = match rm {
            Rm::Reg(r) => return self.byte(0xc0 | reg | (r & 7)),
            Rm::Mem(Mem::Pool(offset)) => {
                let distance = self.bytes.len() + 1;
                self.put([reg | 5, 0, 0, 0, 0]);
                self.pool_uses.push((distance, distance + 4 + trailing, offset));
                return;
            }
            Rm::Mem(Mem::Base(base, disp)) => (base.0, None, disp),
            Rm::Mem(Mem::Indexed(base, index, scale, disp)) => (base.0, Some((index.0, scale)), disp),
        };
        let count = disp >> unit.trailing_zeros();
        let short = disp & (unit - 1) == 0 && i8::try_from(count).is_ok();
        // rbp and r13 as a base without displacement encode another addressing mode.
        let mode = match short {
            true if disp == 0 && base & 7 != 5 => 0,
            true => 0x40,
            false => 0x80,
        };
        let sib = match index {
            None if base & 7 != 4 => None,
            None => Some(0x24),
            Some((index, scale)) => {
                debug_assert_ne!(index, 4, "rsp cannot be an index");
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

    /// Appends an instruction on general registers: prefix, REX, opcode, operands. `wide` selects operands of 8 bytes.
    /// `trailing` is the number of bytes of the immediate, which the caller appends.
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

    /// Appends a vector instruction: VEX for AVX2, EVEX for AVX-512. `reg` and `rm` are the operands that Intel's
    /// manual calls ModRM:reg and ModRM:r/m. `v` is the register in the prefix (0 if the instruction has none).
    pub fn vector(&mut self, op: Opcode, len: VectorLen, reg: u8, v: u8, rm: Rm, imm: Option<u8>) {
        if self.isa == VectorIsa::Avx512 && op.form != OperandForm::VexOnly {
            self.evex(op, len, reg, v, rm, imm, None);
        } else {
            self.vex(op, len, reg, v, rm, imm);
        }
    }

    /// Appends a vector instruction under a mask (AVX-512 only).
    #[expect(clippy::too_many_arguments, reason = "the fields of the encoding")]
    pub fn masked(
        &mut self,
        op: Opcode,
        len: VectorLen,
        reg: u8,
        v: u8,
        rm: Rm,
        imm: Option<u8>,
        masked: Masked,
    ) {
        self.evex(op, len, reg, v, rm, imm, Some(masked));
    }

    /// Appends an instruction with a VEX prefix. The parameters are those of [`Asm::vector`].
    fn vex(&mut self, op: Opcode, len: VectorLen, reg: u8, v: u8, rm: Rm, imm: Option<u8>) {
        debug_assert!(len != VectorLen::Z && reg < 16 && v < 16, "{op:?} has no VEX form");
        let (x, b) = high_bits(rm);
        let r = reg >> 3 & 1;
        let last = (!v & 15) << 3 | u8::from(len == VectorLen::Y) << 2 | op.pp;
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

    /// Appends an instruction with an EVEX prefix. The parameters are those of [`Asm::masked`].
    #[expect(clippy::too_many_arguments, reason = "the fields of the encoding")]
    fn evex(
        &mut self,
        op: Opcode,
        len: VectorLen,
        reg: u8,
        v: u8,
        rm: Rm,
        imm: Option<u8>,
        masked: Option<Masked>,
    ) {
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

    /// Appends a move (`kmovq`) from register number `rm` to register number `reg`: from a general to a mask register
    /// if `to_mask`, else from a mask to a general register.
    pub fn mask_move(&mut self, to_mask: bool, reg: u8, rm: u8) {
        let opcode = if to_mask { 0x92 } else { 0x93 };
        self.vex(
            Opcode {
                pp: 3,
                map: 1,
                opcode,
                vex_w: true,
                evex_w: false,
                memory_size: 0,
                form: OperandForm::VexOnly,
                commutes: false,
            },
            VectorLen::X,
            reg,
            0,
            Rm::Reg(rm),
            None,
        );
    }
}

/// Returns the prefix bits X and B: bit 3 of the number of the index register, and of the base or operand register.
fn high_bits(rm: Rm) -> (u8, u8) {
    match rm {
        Rm::Reg(r) => (0, r >> 3 & 1),
        Rm::Mem(Mem::Base(base, _)) => (0, base.0 >> 3),
        Rm::Mem(Mem::Indexed(base, index, ..)) => (index.0 >> 3, base.0 >> 3),
        Rm::Mem(Mem::Pool(_)) => (0, 0),
    }
}
