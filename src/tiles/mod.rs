//! Precompiled loops over tensor elements: copies between any strides, products of vectors and matrices, and what flags
//! choose.
//!
//! Addresses come from plans that have checked them, so every function here is unsafe and says what its
//! caller promises.

mod axes;
mod blocks;
mod compress;
mod copy;
mod cpu;
mod matmul;
mod run;
mod runs;
#[cfg(target_arch = "x86_64")]
mod shuffle;
mod stream;
mod transpose;
mod vector;

pub(crate) use compress::{compress, count};
pub(crate) use copy::StridedCopy;
pub(crate) use cpu::is_streamed;
pub(crate) use matmul::{Float, Packed, Product, Strided};
pub(crate) use run::foresee;
pub(crate) use vector::{Element, Matrix};
