//! The compiler from kernel bodies to machine code.
//!
//! **In:** a [`KernelBody`](crate::lower::kernel_body::KernelBody), one variant of a kernel: typed instructions in
//! loops, with no size and no address, and the [`Isa`] that the caller chose.
//!
//! **Out:** a [`CodeModule`], the executable functions of a graph. A function takes one [`KernelArgs`], whose layout
//! `abi` defines: it holds the addresses, strides and extents of a call, so one function serves every size.
//!
//! **Order of work:** [`Jit::add`] verifies a body and gives it to an emitter. `simd` emits AVX2 or AVX-512 machine
//! code itself. `clif` goes through Cranelift, for all other machines and for the bodies that `simd` does not support.
//! Kernels of both emitters compute the same bits; `repr`, `uniform` and `legalize` hold the rules that both follow.
//! Kernels call the functions in `called_functions` for the sines of large doubles, remainders of floats and the like.
//! Without the feature `cranelift`, a body that only Cranelift can compile is refused. [`Jit::finish`] makes the
//! functions executable: `code_buffer` holds the functions of `simd`, `cranelift_module` the functions of Cranelift.
//! `disasm` prints them.
//!
//! **Callers:** `exec` compiles and prints functions; `runtime` launches them.
//!
//! **Absent:** sizes, buffers, threads. Nothing here runs a kernel; outside of `codegen` no file names Cranelift.

mod abi;
mod called_functions;
#[cfg(feature = "cranelift")]
mod clif;
mod code_buffer;
#[cfg_attr(not(feature = "cranelift"), path = "no_cranelift.rs")]
mod cranelift_module;
mod disasm;
mod error;
mod isa;
mod legalize;
mod module;
mod repr;
mod simd;
#[cfg(all(test, feature = "cranelift"))]
mod tests;
mod uniform;

pub(crate) use abi::{
    CHECK_FAILED, KernelArgs, SLOT_BASE, SLOT_INNER, SLOT_LOOPS, SLOT_ROW, STOPPED, slot_words,
};
pub(crate) use called_functions::CALLED_FUNCTIONS;
pub use isa::Isa;
pub(crate) use module::{CodeModule, FuncIndex, Jit};
