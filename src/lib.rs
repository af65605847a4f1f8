//! Dataflow graphs of tensor ops.
mod error;
pub mod expr;
pub(crate) mod lower;
pub(crate) mod codegen;
pub(crate) mod tiles;
mod tensor;
