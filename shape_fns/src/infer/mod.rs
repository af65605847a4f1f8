//! Shape inference of one op: the interface of shape functions, and the table of a graph's dimensions.
//!
//! **In:** the operands of an op ([`OperandInfo`]), its attributes ([`Attrs`]), and the [`DimTable`] of the graph.
//! **Out:** the shapes of the outputs, the known elements of small integer outputs, and derived parameters
//! ([`InferenceResult`]); and in the table, the equalities and guards that the op requires.
//!
//! One inference: the caller opens a transaction ([`DimTable::begin`]), makes an [`InferenceContext`], runs the
//! [`ShapeFn`] on it, calls [`InferenceContext::finish`], and commits. After an error the caller rolls back, so that a
//! refused op leaves no trace. If guards of unrelated nodes have simplified the shapes
//! ([`DimTable::has_used_other_bounds`]), the caller rolls back too, and infers again with the guards of the nodes that
//! the op needs ([`DimTable::rely_only_on`]).
//!
//! | file | holds |
//! |---|---|
//! | `attr` | [`Attr`]: the value of one attribute |
//! | `attrs` | [`Attrs`]: the attributes of a call |
//! | `attribute` | [`Attribute`]: the declaration of an attribute of an op |
//! | `context` | [`InferenceContext`]: operands and outputs, requirements, broadcasting, new shapes |
//! | `operand`, `param` | methods of the context that read operands of a required rank, and parameters |
//! | `arithmetic` | methods of the context that compute with dimensions |
//! | `table` | [`DimTable`]: symbols, equalities and guards of a graph, with transactions |
//! | `registered` | [`Registered`]: a row of the registry of ops |
//!
//! The shape functions in `ops` use the context. The builder of graphs and the compiler, in another crate, run the
//! shape functions and read the table.
//!
//! Nothing here knows an op, infers a dtype, or keeps a graph: nodes are numbers ([`DimTable::set_origin`]) that the
//! caller chooses.

mod arithmetic;
mod attr;
mod attribute;
mod attrs;
mod context;
mod operand;
mod param;
pub(crate) mod registered;
mod table;

pub use attr::Attr;
pub use attribute::Attribute;
pub use attrs::{AttrName, Attrs};
pub use context::{InferenceContext, InferenceResult, OperandInfo, ShapeFn};
pub use param::{List, Param, normalize_axis};
pub use registered::Registered;
pub use table::{DimBroadcast, DimTable, Equality, GuardRecord, Mark, Provenance};
