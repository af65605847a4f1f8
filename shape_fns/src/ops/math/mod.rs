//! Shape functions of elementwise arithmetic. Some of these functions also propagate known elements.

mod add_n;
mod arithmetic;
mod cast;
mod compare;
mod rows;
mod select;

pub use add_n::add_n;
pub(crate) use arithmetic::fits_type;
pub use arithmetic::{add, floordiv, floormod, maximum, minimum, mul, neg, sub, truncatediv, truncatemod};
pub use cast::cast;
pub use compare::{equal, greater, greater_equal, less, less_equal, not_equal};
pub(crate) use rows::OPS;
pub use select::{clip_by_value, select, select_v1};
