//! What runs compiled code: launches of kernels, matmuls, and the memory and threads that they need.
//!
//! **In:** a [`KernelPlan`](crate::lower::plan::KernelPlan), which cuts the domain of a kernel into boxes and holds
//! checked offsets and strides for each box, for one set of sizes; the functions of a
//! [`CodeModule`](crate::codegen::CodeModule); the buffers of a run as [`Memory`].
//!
//! **Out:** results in these buffers, and whether a check of the kernel failed.
//!
//! **Order of work:** [`launch()`] runs any plan. `launch` cuts the boxes into work items (`work_items`) and sorts them
//! where that helps the caches (`work_order`). The items run on the calling thread, or on a [`Pool`] (`thread_pool`) if
//! the kernel takes long enough (`cost`). A work item is a strided copy or some kernel calls. If the code needs
//! contiguous operands, `staging` copies blocks of rows to and from the [`Workspace`] of the thread.
//!
//! A [`PreparedLaunch`] serves a plan that needs a single kernel call. The arguments of the call are complete except
//! for the addresses of the buffers. [`BoundLaunches`] have the addresses too. All calls go through `kernel_call`.
//!
//! [`MatMul`] runs matrix products. `packed_constants` keeps constant operands of matrix products in the order in which
//! the matmul kernel reads them.
//!
//! A segment is a range of steps whose sizes are all known before its first step runs, so that they are planned
//! together. A [`SegmentPlan`] says how the steps of a segment run for one set of sizes. Its [`SegmentMemory`] gives an
//! offset in one arena to each buffer that is used in this segment only (`allocation`). A [`ProgramState`] holds the
//! plans, pooled memory and packed constants that the runs of one compiled program share.
//!
//! **Callers:** `exec` plans segments and runs their steps; `compile` creates a [`ProgramState`] for each program.
//!
//! **Absent:** graphs, symbols, compilation. Nothing here emits code or evaluates a dimension. `unsafe` is used only to
//! call a function and to access the bytes of a buffer.

mod allocation;
mod cost;
mod kernel_call;
mod launch;
mod lock;
mod matmul;
mod memory;
mod output_tiles;
mod packed_constants;
mod packed_operand;
mod plan_cache;
mod prepared_launch;
mod program_state;
mod segment_memory;
mod segment_plan;
mod staging;
mod thread_pool;
mod work_items;
mod work_order;
mod workspace;

pub(crate) use kernel_call::stream_threshold;
pub(crate) use launch::{Launch, is_cut_for, launch};
pub(crate) use lock::lock;
pub(crate) use matmul::MatMul;
pub(crate) use memory::{Memory, RetainedMemory};
pub(crate) use prepared_launch::{BoundLaunches, PreparedLaunch};
pub(crate) use program_state::ProgramState;
pub(crate) use segment_memory::{SegmentMemory, StepBuffers, StoredBuffer};
pub(crate) use segment_plan::{BufferSizes, SegmentPlan, SegmentSizes, StepPlan};
pub(crate) use thread_pool::Pool;
pub use thread_pool::ThreadPool;
#[cfg(feature = "threads")]
pub(crate) use thread_pool::rayon_pool;
pub(crate) use workspace::Workspace;
