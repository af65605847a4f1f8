//! Machine code from kernels: the only room that sees Cranelift.

mod abi;
mod clif;
mod module;
#[cfg(test)]
mod tests;

pub(crate) use abi::{KernelArgs, SLOT_BASE, SLOT_INNER, SLOT_LOOPS, SLOT_ROW, slot_words};
pub(crate) use module::{CodeModule, FuncIndex, Jit, has_fused_mul_add};
