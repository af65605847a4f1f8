//! The ops, one file each, by family; adding one is its file and one line in its family's list.

pub(crate) mod array;
pub(crate) mod broadcast;
pub(crate) mod linalg;
pub(crate) mod logical;
pub(crate) mod math;
pub(crate) mod nn;
pub(crate) mod reduce;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod wide;

use crate::op::{OpDef, Registry};

pub use array::{Bound, IntoScalar, Mirror, SliceItem, SliceMasks, concat, stack};

/// Every built-in op.
pub(crate) fn registry() -> Registry {
    let families: [&[&'static OpDef]; 6] = [array::ALL, linalg::ALL, logical::ALL, math::ALL, nn::ALL, reduce::ALL];
    families.into_iter().flatten().fold(Registry::default(), |registry, def| registry.with(*def))
}
