//! What a shape function reads and writes: attributes, parameters, operands, and what a graph knows of its dimensions.
//!
//! An [`InferenceContext`] stands between a shape function and everything else. A [`DimTable`] outlives it: it keeps the
//! equalities and the guards that all calls of one graph have found.

mod arithmetic;
mod attrs;
mod context;
mod operand;
mod param;
pub(crate) mod registered;
mod table;

pub use attrs::{Attr, AttrName, Attrs};
pub use context::{InferenceContext, InferenceResult, OperandInfo, ShapeFn};
pub use param::{List, Param, normalize_axis};
pub use registered::Registered;
pub use table::{DimTable, Equality, GuardRecord, Mark, Provenance};
