//! Machine code from kernels, and running it: the only room that sees Cranelift.

mod abi;
mod clif;
mod direct;
mod disasm;
mod isa;
mod launch;
mod legalize;
mod linked;
mod memory;
mod module;
mod order;
mod panels;
mod parts;
mod placed;
mod pool;
mod product;
mod repr;
mod simd;
mod staging;
#[cfg(test)]
mod tests;
mod uniform;

pub(crate) use direct::{Direct, Tied};
pub use isa::Isa;
pub(crate) use launch::{Lane, Launch, launch, streamed_row};
pub(crate) use memory::{Left, Memory};
pub(crate) use module::{CodeModule, FuncIndex, Jit};
pub(crate) use panels::{PackedConstants, Panels};
pub use pool::ThreadPool;
#[cfg(feature = "threads")]
pub(crate) use pool::rayon_pool;
pub(crate) use pool::{Pool, lock};
pub(crate) use product::MatMul;
