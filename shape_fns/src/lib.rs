//! Partially known tensor shapes, symbolic dimensions, and the shape functions of tensor ops.
#![deny(missing_docs)]

mod arithmetic;
pub mod array;
mod attrs;
mod bounds;
pub mod common;
mod context;
mod dim;
mod display;
mod dtype;
mod error;
mod eval;
mod guard;
mod lattice;
pub mod linalg;
mod linear;
pub mod math;
pub mod nn;
mod param;
mod parse;
mod poly;
mod quotient;
pub mod reduce;
mod registry;
mod shape;
mod solve;
#[cfg(test)]
mod soundness;
mod substitute;
mod symbol;
mod table;
#[cfg(test)]
mod testing;
mod values;

pub use attrs::{Attr, AttrName, Attrs};
pub use bounds::Bounds;
pub use context::{Derived, InferenceContext, InferenceResult, OperandInfo, ShapeFn};
pub use dim::{Dim, IntoDim, Unknown};
pub use dtype::DType;
pub use error::{Result, ShapeError};
pub use guard::Guard;
pub use param::{List, Param, normalize_axis};
pub use registry::{Registered, lookup, registered};
pub use shape::TensorShape;
pub use symbol::{Symbol, SymbolKind};
pub use table::{DimTable, Equality, GuardRecord, Mark, Provenance};
pub use values::PartialElements;
