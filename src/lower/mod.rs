//! Partition of a graph into kernels, and kernels as plain data.

mod access;
mod build;
pub(crate) mod code;
pub(crate) mod interpret;
pub(crate) mod kernel;
mod partition;
pub(crate) mod program;
mod schedule;
pub(crate) mod verify;
