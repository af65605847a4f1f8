//! Running compiled code.

mod launch;
mod matmul;
mod memory;
mod packed_operand;
mod prepared_launch;
mod staging;
mod thread_pool;
mod work_items;
mod work_order;

pub(crate) use launch::{Lane, Launch, launch, streamed_row};
pub(crate) use matmul::MatMul;
pub(crate) use memory::{Left, Memory};
pub(crate) use packed_operand::{PackedConstants, Panels};
pub(crate) use prepared_launch::{Direct, Tied};
pub use thread_pool::ThreadPool;
#[cfg(feature = "threads")]
pub(crate) use thread_pool::rayon_pool;
pub(crate) use thread_pool::{Pool, lock};
