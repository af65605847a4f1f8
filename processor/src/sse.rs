//! SSE instructions, scalar and packed. All of them leave the bytes above the first 16 unchanged. Scalar instructions
//! change only the first lane, except loads, which set the other lanes to zero.

use iced_x86::{Instruction, Mnemonic as M, OpKind, Register};

use super::Processor;
use super::lanes::{Lane, Vector, get, make, zip};
use super::operands::{XMM_BYTES, immediate};

impl Processor {
    /// Runs the instruction if it is an SSE instruction. Returns whether it is.
    pub(super) fn sse(&mut self, i: &Instruction) -> Result<bool, String> {
        match i.mnemonic() {
            M::Movups | M::Movupd | M::Movdqu => self.move_bytes(i, XMM_BYTES, XMM_BYTES)?,
            M::Movaps | M::Movapd | M::Movdqa => {
                self.check_alignment(i)?;
                self.move_bytes(i, XMM_BYTES, XMM_BYTES)?;
            }
            // A load sets the rest of the 16 bytes to zero.
            M::Movss => self.move_bytes(i, 4, if Processor::is_memory(i, 1) { XMM_BYTES } else { 4 })?,
            M::Movsd => self.move_bytes(i, 8, if Processor::is_memory(i, 1) { XMM_BYTES } else { 8 })?,
            M::Movd | M::Movq if i.op_kind(1) == OpKind::Register && i.op_register(1).is_gpr() => {
                let bits = self.value(i, 1)?;
                self.write_xmm(i, |_, _| make(1, |_| bits))?;
            }
            M::Pshufd => {
                let order = immediate(i);
                let source_lane = |k: usize| usize::from(order >> (2 * k) & 3);
                self.write_xmm(i, |_, b| make(4, |k| get::<u32>(b, source_lane(k))))?;
            }
            M::Addss => self.lanes(i, 1, |a: f32, b| a + b)?,
            M::Addsd => self.lanes(i, 1, |a: f64, b| a + b)?,
            M::Addps => self.lanes(i, 4, |a: f32, b| a + b)?,
            M::Addpd => self.lanes(i, 2, |a: f64, b| a + b)?,
            M::Xorps | M::Xorpd | M::Pxor => self.lanes(i, 2, |a: u64, b| a ^ b)?,
            M::Shufps => {
                let order = immediate(i);
                let source_lane = |k: usize| usize::from(order >> (2 * k) & 3);
                self.write_xmm(i, |a, b| make(4, |k| get::<u32>(if k < 2 { a } else { b }, source_lane(k))))?;
            }
            M::Unpcklps => {
                self.write_xmm(i, |a, b| make(4, |k| get::<u32>(if k % 2 == 0 { a } else { b }, k / 2)))?
            }
            M::Unpcklpd | M::Movlhps => {
                self.write_xmm(i, |a, b| make(2, |k| get::<u64>(if k == 0 { a } else { b }, 0)))?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Copies the first `bytes` bytes of the second operand to the first operand. If the first operand is a register,
    /// its bytes `bytes..zeroed_end` become zero.
    fn move_bytes(&mut self, i: &Instruction, bytes: usize, zeroed_end: usize) -> Result<(), String> {
        let from = self.operand(i, 1)?;
        if Processor::is_memory(i, 0) {
            return self.space.write(self.address(i), &from[..bytes]);
        }
        let to = self.vector_mut(i.op_register(0))?;
        to[..zeroed_end].fill(0);
        to[..bytes].copy_from_slice(&from[..bytes]);
        Ok(())
    }

    /// Applies `f` to the first `count` lanes of both operands, and writes the first operand.
    fn lanes<A: Lane>(&mut self, i: &Instruction, count: usize, f: impl Fn(A, A) -> A) -> Result<(), String> {
        if count * A::SIZE == XMM_BYTES {
            self.check_alignment(i)?;
        }
        self.write_xmm(i, |a, b| {
            let (mut result, lanes) = (*a, zip(count, a, b, f));
            result[..count * A::SIZE].copy_from_slice(&lanes[..count * A::SIZE]);
            result
        })
    }

    /// Writes the first 16 bytes of `f(a, b)` to the first operand, for the operands `a` and `b`.
    fn write_xmm(
        &mut self,
        i: &Instruction,
        f: impl FnOnce(&Vector, &Vector) -> Vector,
    ) -> Result<(), String> {
        let result = f(&self.operand(i, 0)?, &self.operand(i, 1)?);
        self.vector_mut(i.op_register(0))?[..XMM_BYTES].copy_from_slice(&result[..XMM_BYTES]);
        Ok(())
    }

    fn vector_mut(&mut self, register: Register) -> Result<&mut Vector, String> {
        self.vectors
            .get_mut(register.number())
            .ok_or_else(|| "the first operand must be a vector register".to_owned())
    }
}
