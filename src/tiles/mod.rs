//! Precompiled loops over tensor elements: strided copies, matmuls, sorts, and the compaction of flagged elements.
//!
//! - [`StridedCopy`] copies a box of elements between two strided layouts.
//! - [`Gemm`] multiplies two matrices, [`Gemv`] a vector and a matrix. [`PackedMatrix`] holds a right operand in the
//!   order in which [`Gemm`] reads it. [`SliceMatMul`] multiplies batches of matrices, one slice of
//!   the batch after the other.
//! - [`AddMultiple`] adds a multiple of a row to a row.
//! - [`SortKey`] sorts unsigned integers.
//! - [`with_wide_vectors`] and [`wide!`] run a loop of the caller with vectors of 256 bits.
//! - [`compress()`] copies the flagged elements of a row, in order, to the beginning of another row.
//!
//! Callers plan these loops once and run them many times, from threads of their own. Only [`SliceMatMul`] allocates: it
//! grows the workspace that it is given. Nothing here starts threads, or knows tensors, dtypes, or shapes.
//!
//! Most functions here are unsafe: they do not check addresses, because the plans that give the addresses were checked.
//! Each function states what the caller promises.

mod add_multiple;
mod axes;
mod compress;
mod copy;
mod cpu;
mod matmul;
mod moves;
mod plane;
mod plane_copy;
mod prefetch;
mod runs;
#[cfg(target_arch = "x86_64")]
mod shuffle;
mod slices;
mod sort;
mod stream;
mod transpose;
mod vector;
mod wide;

pub(crate) use add_multiple::AddMultiple;
pub(crate) use compress::{compress, count};
pub(crate) use copy::StridedCopy;
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(crate) use cpu::has_avx2;
pub(crate) use cpu::is_streamed;
pub(crate) use matmul::{Float, Gemm, LeftMatrix, NestedAxes, PackedMatrix, SmallMatrices, StridedMatrix};
pub(crate) use prefetch::prefetch;
pub(crate) use slices::SliceMatMul;
pub(crate) use sort::SortKey;
pub(crate) use vector::{Gemv, MatrixStrides};
pub(crate) use wide::{wide, with_wide_vectors};
