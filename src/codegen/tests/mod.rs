//! Kernels as machine code against the interpreter, bit for bit.
//!
//! Guard bytes surround every buffer. The functions of the SIMD emitter also run on a simulated processor, which checks
//! every access.

mod batch;
mod case;
mod fixed;
mod ops;
mod processor_flags;
mod random;
mod random_code;
mod random_values;

pub(in crate::codegen) use self::random_code::generate;
pub(in crate::codegen) use self::random_values::Random;
