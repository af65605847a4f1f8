//! Shape functions of the ops that move elements without computing on them.

mod broadcast_to;
mod concat;
mod expand_dims;
mod fill;
mod identity;
mod pad;
mod reshape;
mod reverse;
mod shape_of;
mod slice;
mod split;
mod stack;
mod strided_slice;
mod tile;
mod transpose;

pub use broadcast_to::broadcast_to;
pub use concat::concat;
pub use expand_dims::{expand_dims, squeeze};
pub use fill::fill;
pub use identity::{identity, identity_n};
pub use pad::pad;
pub use reshape::reshape;
pub use reverse::{reverse, reverse_by_flags};
pub use shape_of::{rank, shape, shape_n, size};
pub use slice::slice;
pub use split::{split, split_v};
pub use stack::{stack, unstack};
pub use strided_slice::strided_slice;
pub use tile::tile;
pub use transpose::transpose;
