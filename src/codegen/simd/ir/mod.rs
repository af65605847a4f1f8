//! The vocabulary of the later layers: vector code before registers are chosen, and data about bodies.
//!
//! - [`VectorBlock`]: straight-line vector instructions over any number of values.
//! - [`IndexInst`]: one instruction of index arithmetic in general registers.
//! - [`ConstantPool`]: constants, which follow the code in memory.
//! - [`FrameLayout`]: offsets in the stack frame, from [`FrameDemands`].
//! - [`LoopBody`]: one body with the analysis that its inner loops need.
//! - [`AddressSlice`]: the part of a body that computes the addresses of gathered rows.
//! - [`roles`]: general registers with a fixed role.
//!
//! In: a verified [`KernelBody`](crate::lower::kernel_body::KernelBody). Callers: every later layer. Absent: machine
//! code, register choice, and the code of gathers, reductions or prefetching.

mod address_slice;
mod constant_pool;
mod frame_layout;
mod index_inst;
mod inline_list;
mod loop_body;
pub(crate) mod roles;
mod vector_block;

pub(crate) use self::address_slice::AddressSlice;
pub(crate) use self::constant_pool::ConstantPool;
pub(crate) use self::frame_layout::{
    FrameAllocator, FrameDemands, FrameLayout, LaneScalar, STEP_AREA_BYTES, frame_mem,
};
pub(crate) use self::index_inst::{IndexInst, IndexOp, IndexOperand, condition, index_op};
pub(crate) use self::inline_list::InlineList;
pub(crate) use self::loop_body::LoopBody;
pub(crate) use self::vector_block::{
    GatherGroup, MemRef, Tail, ValueOrigin, VectorBlock, VectorId, VectorInst, VectorInstKind,
};

/// Why this emitter leaves a kernel to Cranelift.
pub(crate) type Refusal = &'static str;
