//! Instructions on general registers, for loops, addresses and single lanes. They work on 8 bytes, unless a method says
//! otherwise.

use super::encode::{Asm, Label};
use super::operand::{Gpr, Mem, Rm};

/// A two-operand instruction, by its opcode with a register destination. Bits 3 to 5 are also its number in the opcode
/// extension of the form with an immediate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Alu {
    Add = 0x03,
    Or = 0x0b,
    And = 0x23,
    Sub = 0x2b,
    Cmp = 0x3b,
}

/// The condition of a jump, by the second opcode byte of the jump. `Below` compares as unsigned, `Less` and `Greater`
/// as signed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cond {
    Equal = 0x84,
    NotEqual = 0x85,
    Below = 0x82,
    Less = 0x8c,
    GreaterEqual = 0x8d,
    LessEqual = 0x8e,
    Greater = 0x8f,
}

impl Asm {
    pub fn mov(&mut self, to: Gpr, from: impl Into<Rm>) {
        self.legacy(None, true, &[0x8b], to.0, from.into(), 0);
    }

    pub fn store(&mut self, to: Mem, from: Gpr) {
        self.set(to, from);
    }

    /// Copies `from` to `to`, a register or memory.
    pub fn set(&mut self, to: impl Into<Rm>, from: Gpr) {
        self.legacy(None, true, &[0x89], from.0, to.into(), 0);
    }

    /// Stores the low `bytes` (1, 2, 4 or 8) bytes of a register. For fewer than 8 bytes, the register must be rax,
    /// rcx, rdx or rbx: without a REX prefix, the low byte of another register has no encoding.
    pub fn store_low(&mut self, to: Mem, from: Gpr, bytes: u32) {
        debug_assert!(bytes == 8 || from.0 < 4);
        match bytes {
            1 => self.legacy(None, false, &[0x88], from.0, to.into(), 0),
            2 => self.legacy(Some(0x66), false, &[0x89], from.0, to.into(), 0),
            4 => self.legacy(None, false, &[0x89], from.0, to.into(), 0),
            _ => self.store(to, from),
        }
    }

    /// Loads `bytes` (1, 2, 4 or 8) bytes, zero-extended.
    pub fn load_low(&mut self, to: Gpr, from: Mem, bytes: u32) {
        match bytes {
            1 => self.legacy(None, false, &[0x0f, 0xb6], to.0, from.into(), 0),
            2 => self.legacy(None, false, &[0x0f, 0xb7], to.0, from.into(), 0),
            4 => self.legacy(None, false, &[0x8b], to.0, from.into(), 0),
            _ => self.mov(to, from),
        }
    }

    /// Loads `bytes` (1, 2, 4 or 8) bytes, sign-extended.
    pub fn load_signed(&mut self, to: Gpr, from: Mem, bytes: u32) {
        match bytes {
            1 => self.legacy(None, true, &[0x0f, 0xbe], to.0, from.into(), 0),
            2 => self.legacy(None, true, &[0x0f, 0xbf], to.0, from.into(), 0),
            4 => self.extend_word(to, from),
            _ => self.mov(to, from),
        }
    }

    /// Moves the low 4 bytes of `from` to `to`, sign-extended.
    pub fn extend_word(&mut self, to: Gpr, from: impl Into<Rm>) {
        self.legacy(None, true, &[0x63], to.0, from.into(), 0);
    }

    /// Moves `from` to `to` if `cond` holds.
    pub fn move_if(&mut self, cond: Cond, to: Gpr, from: impl Into<Rm>) {
        // The opcodes of `cmov` are 0x40 below the opcodes of the jumps.
        self.legacy(None, true, &[0x0f, cond as u8 - 0x40], to.0, from.into(), 0);
    }

    /// Stores `value`, sign-extended to 8 bytes.
    pub fn store_imm(&mut self, to: Mem, value: i32) {
        self.legacy(None, true, &[0xc7], 0, to.into(), 4);
        self.word(value);
    }

    /// Loads `value`, sign-extended to 8 bytes. Keeps the flags.
    pub fn mov_imm(&mut self, to: Gpr, value: i32) {
        self.legacy(None, true, &[0xc7], 0, to.into(), 4);
        self.word(value);
    }

    /// Loads the address of the operand `of`. Keeps the flags.
    pub fn lea(&mut self, to: Gpr, of: Mem) {
        self.legacy(None, true, &[0x8d], to.0, of.into(), 0);
    }

    /// Emits `to = to op from`, or for `Cmp` only sets the flags.
    pub fn alu(&mut self, op: Alu, to: Gpr, from: impl Into<Rm>) {
        self.legacy(None, true, &[op as u8], to.0, from.into(), 0);
    }

    /// Does the same as [`Asm::alu`], with a sign-extended number.
    pub fn alu_imm(&mut self, op: Alu, to: impl Into<Rm>, value: i32) {
        let number = op as u8 >> 3;
        match i8::try_from(value) {
            Ok(short) => {
                self.legacy(None, true, &[0x83], number, to.into(), 1);
                self.byte(short as u8);
            }
            Err(_) => {
                self.legacy(None, true, &[0x81], number, to.into(), 4);
                self.word(value);
            }
        }
    }

    /// Adds `from` to memory.
    pub fn add_to(&mut self, to: Mem, from: Gpr) {
        self.legacy(None, true, &[0x01], from.0, to.into(), 0);
    }

    pub fn imul(&mut self, to: Gpr, from: impl Into<Rm>) {
        self.legacy(None, true, &[0x0f, 0xaf], to.0, from.into(), 0);
    }

    pub fn neg(&mut self, of: Gpr) {
        self.legacy(None, true, &[0xf7], 3, of.into(), 0);
    }

    /// Shifts `value` left by `count`.
    pub fn shl(&mut self, value: Gpr, count: u8) {
        self.legacy(None, true, &[0xc1], 4, value.into(), 1);
        self.byte(count);
    }

    /// Shifts `value` left by the count in `cl`.
    pub fn shl_cl(&mut self, value: Gpr) {
        self.legacy(None, true, &[0xd3], 4, value.into(), 0);
    }

    /// Shifts `value` right by `count`, unsigned.
    pub fn shr(&mut self, value: Gpr, count: u8) {
        self.legacy(None, true, &[0xc1], 5, value.into(), 1);
        self.byte(count);
    }

    /// Sets the flags for `a & b`.
    pub fn test(&mut self, a: Gpr, b: Gpr) {
        self.legacy(None, true, &[0x85], b.0, a.into(), 0);
    }

    /// Sets the flags for `a & value`.
    pub fn test_imm(&mut self, a: Gpr, value: i32) {
        self.legacy(None, true, &[0xf7], 0, a.into(), 4);
        self.word(value);
    }

    /// Extends the sign of rax into rdx.
    pub fn cqo(&mut self) {
        self.bytes.extend([0x48, 0x99]);
    }

    /// Divides the 16-byte number rdx:rax by `by`: quotient in rax, remainder in rdx.
    pub fn divide(&mut self, by: Gpr, signed: bool) {
        self.legacy(None, true, &[0xf7], if signed { 7 } else { 6 }, by.into(), 0);
    }

    pub fn jump(&mut self, to: Label) {
        self.byte(0xe9);
        self.distance_to(to);
    }

    pub fn jump_if(&mut self, cond: Cond, to: Label) {
        self.bytes.extend([0x0f, cond as u8]);
        self.distance_to(to);
    }

    /// Calls the code at a label.
    pub fn call(&mut self, to: Label) {
        self.byte(0xe8);
        self.distance_to(to);
    }

    /// Calls the function at the address that a register holds.
    pub fn call_address(&mut self, address: Gpr) {
        self.legacy(None, false, &[0xff], 2, address.into(), 0);
    }

    pub fn push(&mut self, reg: Gpr) {
        self.short(0x50, reg);
    }

    pub fn pop(&mut self, reg: Gpr) {
        self.short(0x58, reg);
    }

    /// Appends an instruction whose opcode byte holds the register's number.
    fn short(&mut self, opcode: u8, reg: Gpr) {
        if reg.0 > 7 {
            self.byte(0x41);
        }
        self.byte(opcode | reg.0 & 7);
    }

    /// Prefetches the cache line of an address into all caches. An invalid address is harmless.
    pub fn prefetch(&mut self, line: Mem) {
        self.legacy(None, false, &[0x0f, 0x18], 1, line.into(), 0);
    }

    /// Orders non-temporal stores before later stores.
    pub fn store_fence(&mut self) {
        self.bytes.extend([0x0f, 0xae, 0xf8]);
    }

    /// Zeroes the upper halves of the vector registers (`vzeroupper`), so that later SSE code is not slowed down.
    pub fn zero_upper(&mut self) {
        self.bytes.extend([0xc5, 0xf8, 0x77]);
    }

    pub fn ret(&mut self) {
        self.byte(0xc3);
    }
}
