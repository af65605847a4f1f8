//! Shape functions of elementwise arithmetic that know more than the shape.

mod add_n;
mod arithmetic;
mod cast;
mod compare;
mod select;

pub use add_n::add_n;
pub use arithmetic::{add, floordiv, floormod, maximum, minimum, mul, neg, sub, truncatediv, truncatemod};
pub use cast::cast;
pub use compare::{equal, greater, greater_equal, less, less_equal, not_equal};
pub use select::{clip_by_value, select, select_v1};

use crate::common;
use crate::registry::{Registered, row};

#[rustfmt::skip]
pub(crate) static OPS: &[Registered] = &[
    row("AccumulateNV2", &["inputs.."], add_n),
    row("AddN", &["inputs.."], add_n),
    row("BesselI0", &["x"], common::unary),
    row("BesselI1", &["x"], common::unary),
    row("BesselJ0", &["x"], common::unary),
    row("BesselJ1", &["x"], common::unary),
    row("BesselK0", &["x"], common::unary),
    row("BesselK0e", &["x"], common::unary),
    row("BesselK1", &["x"], common::unary),
    row("BesselK1e", &["x"], common::unary),
    row("BesselY0", &["x"], common::unary),
    row("BesselY1", &["x"], common::unary),
    row("Betainc", &["a", "b", "x"], common::same_shape_but_scalars),
    row("Bucketize", &["input"], common::unary),
    row("ComplexAbs", &["x"], common::unary),
    row("Dawsn", &["x"], common::unary),
    row("Expint", &["x"], common::unary),
    row("FresnelCos", &["x"], common::unary),
    row("FresnelSin", &["x"], common::unary),
    row("IgammaGradA", &["a", "x"], common::broadcast),
    row("LeftShift", &["x", "y"], common::broadcast),
    row("NextAfter", &["x1", "x2"], common::broadcast),
    row("Polygamma", &["a", "x"], common::broadcast),
    row("PopulationCount", &["x"], common::unary),
    row("RightShift", &["x", "y"], common::broadcast),
    row("Spence", &["x"], common::unary),
];
