//! Registers with a fixed role in every function.
//!
//! `rax`, `rcx`, `rdx` and `rbx` are scratch: every instruction of a block may overwrite them.

use crate::codegen::simd::asm::{Gpr, RBP, RBX};

/// The number of the current element of the inner axis, which is the first element of a step.
pub(crate) const INDEX: Gpr = Gpr(13);
/// The end of the running loop: the first element after the loop.
pub(crate) const END: Gpr = Gpr(12);
/// Registers for the addresses of slots.
pub(crate) const POINTERS: [Gpr; 8] = [Gpr(6), Gpr(7), Gpr(8), Gpr(9), Gpr(10), Gpr(11), Gpr(14), Gpr(15)];
/// Registers that a function must preserve for its caller.
pub(crate) const CALLEE_SAVED: [Gpr; 6] = [RBP, RBX, END, INDEX, Gpr(14), Gpr(15)];

/// AVX-512: the mask register that receives the result of a comparison, before it becomes lanes.
pub(crate) const COMPARE_MASK: u8 = 1;
/// AVX-512: the mask register of the remaining elements, for lanes of at most 4 bytes. The masks for the two vectors of
/// 8-byte lanes are in the next two registers.
pub(crate) const TAIL_MASK: u8 = 2;
