//! Ops that move elements without computing on them: reshapes, views, selections, borders, sizes.

mod axis;
mod distinct;
mod row_major;

pub(crate) mod boolean_mask;
pub(crate) mod broadcast_to;
pub(crate) mod concat;
pub(crate) mod cumsum;
pub(crate) mod expand_dims;
pub(crate) mod fill;
pub(crate) mod gather;
pub(crate) mod identity;
pub(crate) mod mirror_pad;
pub(crate) mod one_hot;
pub(crate) mod ones_like;
pub(crate) mod pad;
pub(crate) mod range;
pub(crate) mod rank;
pub(crate) mod reshape;
pub(crate) mod reverse;
pub(crate) mod shape;
pub(crate) mod size;
pub(crate) mod slice;
pub(crate) mod slice_with;
pub(crate) mod split;
pub(crate) mod split_sizes;
pub(crate) mod squeeze;
pub(crate) mod stack;
pub(crate) mod strided_slice;
pub(crate) mod tile;
pub(crate) mod transpose;
pub(crate) mod unique;
pub(crate) mod unique_with_counts;
pub(crate) mod unstack;
pub(crate) mod where_indices;
pub(crate) mod zeros_like;

use crate::op::OpDef;

pub use concat::concat;
pub use mirror_pad::Mirror;
pub use range::Bound;
pub use slice_with::SliceItem;
pub use stack::stack;
pub use strided_slice::SliceMasks;

pub(crate) static ALL: &[&OpDef] = &[
    &boolean_mask::DEF,
    &broadcast_to::DEF,
    &concat::DEF,
    &cumsum::DEF,
    &expand_dims::DEF,
    &fill::DEF,
    &gather::DEF,
    &identity::DEF,
    &mirror_pad::DEF,
    &one_hot::DEF,
    &ones_like::DEF,
    &pad::DEF,
    &pad::WITH,
    &range::DEF,
    &range::FLOATS,
    &rank::DEF,
    &reshape::DEF,
    &reverse::DEF,
    &shape::DEF,
    &size::DEF,
    &slice::DEF,
    &split::DEF,
    &split_sizes::DEF,
    &squeeze::DEF,
    &stack::DEF,
    &strided_slice::DEF,
    &tile::DEF,
    &transpose::DEF,
    &unique::DEF,
    &unique_with_counts::DEF,
    &unstack::DEF,
    &where_indices::DEF,
    &zeros_like::DEF,
];
