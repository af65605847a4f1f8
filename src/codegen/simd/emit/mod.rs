//! Emission of one block: its instructions as machine code, with registers from the allocator.
//!
//! - In: a [`VectorBlock`](super::ir::VectorBlock) and an [`EmitContext`], which says where slots are.
//! - Out: bytes in the [`Asm`](super::asm::Asm).
//! - Callers: the `loops` layer.
//! - Absent: loops around blocks, and jumps between them.

mod block_emitter;
mod context;
mod gather_insts;
mod index_insts;
mod pseudo_insts;

pub(crate) use self::block_emitter::BlockEmitter;
pub(crate) use self::context::{EmitContext, SlotShift};
