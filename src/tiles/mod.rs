//! Precompiled movement of tensor elements: copies between any strides.
//!
//! Addresses come from plans that have checked them, so every function here is unsafe and says what its
//! caller promises.

mod axes;
mod blocks;
mod copy;
mod cpu;
mod run;
mod transpose;

pub(crate) use copy::copy_strided;
