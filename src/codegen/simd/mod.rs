//! Kernels as AVX2 or AVX-512 functions, emitted without Cranelift.
//!
//! - In: a verified [`KernelBody`] and a [`VectorIsa`].
//! - Out: the bytes of one function with its constants, position-independent, with the signature of every kernel.
//! - Callers: [`Jit`](super::module::Jit), which falls back to `clif` for a kernel that is refused here.
//! - Absent: Cranelift, linking, executable memory.
//!
//! The layers, from the ground up. Each layer knows only earlier layers:
//!
//! | layer | holds |
//! |---|---|
//! | `asm` | the assembler: encodings, labels, constants |
//! | `ir` | vector code before registers are chosen, the analysis of bodies, the layout of the frame |
//! | `select` | instructions of a body as vector instructions |
//! | `regalloc` | registers for the values of a block |
//! | `emit` | a block, which is straight-line code, as machine code |
//! | `loops` | rows, loops, steps and reductions around blocks |
//!
//! A *step* is one iteration of the loop along the inner axis: it computes as many elements as its unrolled vectors
//! hold. A value is *uniform* if it is equal for all elements of the inner loop; it is computed once, before the loop.
//!
//! Every instruction is selected for all unrolled vectors before the next instruction, so that independent chains run
//! side by side. Code reads and writes only the elements of its slots: it loads and stores the last elements of a row
//! under masks or in small pieces.

mod asm;
mod emit;
mod ir;
mod loops;
mod regalloc;
mod select;
#[cfg(test)]
mod tests;

pub(super) use self::asm::{ALIGN, VectorIsa};
use crate::lower::kernel_body::KernelBody;

/// Emits `code`, which must have passed its verifier, as the bytes of a function with its constants. The caller places
/// the bytes at an address that is a multiple of [`ALIGN`].
///
/// # Errors
/// The reason why this emitter leaves the kernel to Cranelift.
pub(super) fn emit(code: &KernelBody, isa: VectorIsa) -> Result<Vec<u8>, ir::Refusal> {
    loops::emit_function(code, isa)
}
