//! Precompiled loops over tensor elements: copies between any strides, products of vectors and matrices.
//!
//! Addresses come from plans that have checked them, so every function here is unsafe and says what its
//! caller promises.

mod axes;
mod blocks;
mod copy;
mod cpu;
mod matmul;
mod run;
mod transpose;
mod vector;

pub(crate) use copy::copy_strided;
pub(crate) use cpu::last_level_cache;
pub(crate) use matmul::{Float, Product, Strided};
pub(crate) use vector::{Element, Matrix};
