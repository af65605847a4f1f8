//! Machine code from kernels: the only room that sees Cranelift.

mod abi;
mod clif;
mod code_buffer;
mod cranelift_module;
mod disasm;
mod isa;
mod module;
mod simd;
#[cfg(test)]
mod tests;

pub(crate) use abi::{KernelArgs, SLOT_BASE, SLOT_INNER, SLOT_LOOPS, SLOT_ROW, slot_words};
pub use isa::Isa;
pub(crate) use module::{CodeModule, FuncIndex, Jit};
