//! Shape functions of elementwise arithmetic that know more than the shape.

mod arithmetic;
mod cast;
mod select;

pub use arithmetic::{add, floordiv, floormod, maximum, minimum, mul, neg, sub};
pub use cast::cast;
pub use select::{clip_by_value, select, select_v1};
