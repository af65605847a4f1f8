//! The reference interpreter of kernel bodies. The tests of `codegen` compare machine code with this interpreter.

pub(crate) mod fault;
pub(crate) mod interpret;
mod reduce_lanes;
