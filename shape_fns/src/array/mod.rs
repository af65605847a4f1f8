//! Shape functions of the ops that move elements without computing on them.

mod broadcast_to;
mod concat;
mod expand_dims;
mod fill;
mod identity;
mod reshape;
mod shape_of;
mod stack;
mod tile;
mod transpose;

pub use broadcast_to::broadcast_to;
pub use concat::concat;
pub use expand_dims::{expand_dims, squeeze};
pub use fill::fill;
pub use identity::{identity, identity_n};
pub use reshape::reshape;
pub use shape_of::{rank, shape, shape_n, size};
pub use stack::{stack, unstack};
pub use tile::tile;
pub use transpose::transpose;
