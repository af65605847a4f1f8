//! Kernels as Cranelift IR: 128-bit vector loops for every processor that Cranelift supports.
//!
//! - In: a verified [`KernelBody`](crate::lower::kernel_body::KernelBody) and a [`Target`].
//! - Out: an IR function with the signature of every kernel.
//! - Callers: `cranelift_module`, which compiles and links the IR.
//! - Absent: machine code, linking, and any vector wider than 128 bits.
//!
//! The inner axis runs in groups of `4 * unroll` elements, then of 4, then of 1. One emitter emits the groups of every
//! size: a single element is the first lane of a vector. The emitter emits an instruction for all vectors of a group
//! before it emits the next instruction, so that independent chains run side by side. A *uniform* value is equal for
//! all elements of the inner axis; it is computed before the inner loop. An operation without a vector form is computed
//! scalar by scalar.

mod arith;
mod body;
mod body_analysis;
mod convert;
mod emitted_value;
mod emitter;
mod function;
mod gather_loads;
mod half_precision;
mod loads_stores;
mod loops;
mod reduce;
mod target;

pub(super) use self::function::emit;
pub(super) use self::target::{Target, kernel_signature};
