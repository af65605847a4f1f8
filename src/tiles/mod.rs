//! Precompiled movement of tensor elements: copies between any strides, fills, rows by index.
//!
//! Addresses come from plans that have checked them, so every function here is unsafe and says what its
//! caller promises.

mod axes;
mod blocks;
mod copy;
mod cpu;
#[cfg_attr(not(test), expect(dead_code, reason = "plans do not ask for fills"))]
mod fill;
#[cfg_attr(not(test), expect(dead_code, reason = "gathers are kernels so far"))]
mod gather;
mod run;
mod transpose;

pub(crate) use copy::copy_strided;
