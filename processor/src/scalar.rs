//! Instructions of the first vector extensions: they leave what is above 16 bytes as it is, and, of one lane, all above
//! that lane.

use iced_x86::{Instruction, Mnemonic as M, Register};

use super::Processor;
use super::lanes::{Lane, Vector, get, make, zip};
use super::operands::{LANE, immediate};

impl Processor {
    /// Runs an instruction of the first vector extensions; false if it is another.
    pub(super) fn scalar(&mut self, i: &Instruction) -> Result<bool, String> {
        match i.mnemonic() {
            M::Movups | M::Movupd | M::Movdqu => self.move_lanes(i, LANE, LANE)?,
            M::Movaps | M::Movapd | M::Movdqa => {
                self.aligned(i)?;
                self.move_lanes(i, LANE, LANE)?;
            }
            // From memory the rest of the 16 bytes becomes zeros.
            M::Movss => self.move_lanes(i, 4, if Processor::is_memory(i, 1) { LANE } else { 4 })?,
            M::Movsd => self.move_lanes(i, 8, if Processor::is_memory(i, 1) { LANE } else { 8 })?,
            M::Addss => self.lanes(i, 1, |a: f32, b| a + b)?,
            M::Addsd => self.lanes(i, 1, |a: f64, b| a + b)?,
            M::Addps => self.lanes(i, 4, |a: f32, b| a + b)?,
            M::Addpd => self.lanes(i, 2, |a: f64, b| a + b)?,
            M::Xorps | M::Xorpd | M::Pxor => self.lanes(i, 2, |a: u64, b| a ^ b)?,
            M::Shufps => {
                let order = immediate(i);
                let from = |k: usize| usize::from(order >> (2 * k) & 3);
                self.low(i, |a, b| make(4, |k| get::<u32>(if k < 2 { a } else { b }, from(k))))?;
            }
            M::Unpcklps => {
                self.low(i, |a, b| make(4, |k| get::<u32>(if k % 2 == 0 { a } else { b }, k / 2)))?
            }
            M::Unpcklpd | M::Movlhps => {
                self.low(i, |a, b| make(2, |k| get::<u64>(if k == 0 { a } else { b }, 0)))?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Moves the first `bytes` bytes; a register's first `set` bytes become them and zeros.
    fn move_lanes(&mut self, i: &Instruction, bytes: usize, set: usize) -> Result<(), String> {
        let from = self.operand(i, 1)?;
        if Processor::is_memory(i, 0) {
            return self.space.write(self.address(i), &from[..bytes]);
        }
        let to = self.vector_mut(i.op_register(0))?;
        to[..set].fill(0);
        to[..bytes].copy_from_slice(&from[..bytes]);
        Ok(())
    }

    /// The first lanes of both operands into the first operand.
    fn lanes<A: Lane>(&mut self, i: &Instruction, count: usize, f: impl Fn(A, A) -> A) -> Result<(), String> {
        if count * A::SIZE == LANE {
            self.aligned(i)?;
        }
        self.low(i, |a, b| {
            let (mut result, of) = (*a, zip(count, a, b, f));
            result[..count * A::SIZE].copy_from_slice(&of[..count * A::SIZE]);
            result
        })
    }

    /// The first 16 bytes of what is made of both operands into the first.
    fn low(&mut self, i: &Instruction, f: impl FnOnce(&Vector, &Vector) -> Vector) -> Result<(), String> {
        let result = f(&self.operand(i, 0)?, &self.operand(i, 1)?);
        self.vector_mut(i.op_register(0))?[..LANE].copy_from_slice(&result[..LANE]);
        Ok(())
    }

    fn vector_mut(&mut self, register: Register) -> Result<&mut Vector, String> {
        self.vectors.get_mut(register.number()).ok_or_else(|| "of a register that is not there".to_owned())
    }
}
