//! Partition of a graph into kernels, and kernels as plain data.

pub(crate) mod code;
