//! Whole functions: rows, loops around the inner axis, and the inner loops of each pass.
//!
//! - In: a verified [`KernelBody`](crate::lower::kernel_body::KernelBody).
//! - Out: the bytes of a function with its constants.
//! - Callers: [`emit`](super::emit()) of this emitter.
//! - Absent: the code of single instructions of a body. This layer emits the control flow around them.
//!
//! A body may be emitted in several variants. A check at run time picks one. These functions pass the variant that they
//! emit on as a [`CodeVariant`](super::select::CodeVariant).

mod body_copies;
mod column_reduce;
mod frame_demands;
mod function;
mod gather_variants;
mod inner_axis;
mod passes;
mod prefetch;
mod read_ahead;
mod row_loops;
mod row_reduce;

pub(crate) use self::function::emit_function;
