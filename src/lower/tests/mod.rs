//! The reference interpreter of kernel bodies. The tests of `codegen` hold machine code against it.

pub(crate) mod fault;
pub(crate) mod interpret;
mod reduce_lanes;
