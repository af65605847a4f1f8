//! Instruction selection: the instructions of a body as vector instructions.
//!
//! - In: a [`LoopBody`](super::ir::LoopBody) and a [`SelectPlan`]: one element that stands for all, or a step of
//!   elements.
//! - Out: a [`VectorBlock`](super::ir::VectorBlock). Each instruction is selected for all vectors of a step before the
//!   next instruction, so that independent chains run side by side.
//! - Callers: the `loops` layer.
//! - Absent: registers and bytes. A body whose instructions have no vector form is refused, and Cranelift compiles it.

mod arith;
mod body;
mod convert;
mod gather_loads;
mod index_arith;
mod inst_order;
mod integer;
mod interleaved_stores;
mod loads_stores;
mod operands;
mod reduce;
mod selected_value;
mod selector;
mod strided_loads;
mod support;

pub(crate) use self::index_arith::chain_index_insts;
pub(crate) use self::inst_order::inst_order;
pub(crate) use self::selected_value::VectorIds;
pub(crate) use self::selector::{CodeVariant, SelectMode, SelectPlan, Selector};
pub(crate) use self::support::check_support;
