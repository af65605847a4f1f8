//! Register allocation for one block: instruction by instruction, when a register is needed. If none is free, the value
//! whose next use is farthest loses its register.
//!
//! - In: a [`VectorBlock`](super::ir::VectorBlock), the number of registers, the frame for spills.
//! - Out: for each operand and result, a register or a memory operand; spills and reloads as code.
//! - Callers: the `emit` layer, instruction by instruction.
//! - Absent: the encoding of instructions, except of the moves that spill and reload.

mod allocator;
mod register_set;

pub(crate) use self::allocator::{Allocator, ValueUses};
pub(crate) use self::register_set::RegisterSet;
