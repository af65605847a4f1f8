//! [`Gemm`]: matmuls that compute one tile of the result at a time in registers.
//!
//! The scheme comes from BLIS. The right operand is packed into panels as wide as a tile. A panel stays in the L1 cache
//! while the tiles of all rows in a block of the left operand use it. That block stays in the L2 cache while the panels
//! pass. An operand that would be packed for few uses is read in place.
//!
//! | here | BLIS |
//! |---|---|
//! | rows and columns of a `Tile` | MR, NR |
//! | depth, rows, and columns of `Blocks` | KC, MC, NC |
//! | panel | micro-panel |
//! | `MacroKernel` | macro-kernel |

mod blocks;
mod gemm;
mod kernel;
mod left;
mod pack;
mod packed;
mod prefetcher;
mod register;
mod small;
mod strided;
#[cfg(test)]
mod tests;
mod tile;

pub(crate) use gemm::Gemm;
pub(crate) use kernel::Float;
pub(crate) use left::{LeftMatrix, NestedAxes};
pub(crate) use packed::PackedMatrix;
pub(crate) use small::SmallMatrices;
pub(crate) use strided::StridedMatrix;
