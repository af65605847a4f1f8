//! The assembler: x86-64 machine code, one instruction per call.
//!
//! - In: an instruction with its operands ([`opcode::Opcode`] or a method of [`Asm`], [`VectorReg`], [`Gpr`], [`Mem`]).
//! - Out: bytes, with jumps and constant references resolved by [`Asm::finish`].
//! - Callers: every later layer of this emitter.
//! - Absent: kernels, values, register choice. This folder knows only the processor.

mod encode;
mod general;
pub(crate) mod opcode;
mod operand;
#[cfg(test)]
mod tests;
mod vector_isa;

pub(in crate::codegen) use self::encode::ALIGN;
pub(crate) use self::encode::{Asm, Label, Masked};
pub(crate) use self::general::{Alu, Cond};
pub(crate) use self::operand::{Gpr, Mem, Rm, VectorLen, VectorReg};
pub(crate) use self::operand::{RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP};
pub(in crate::codegen) use self::vector_isa::VectorIsa;
