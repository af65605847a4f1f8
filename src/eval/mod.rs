//! Evaluation of one op outside kernels: inference, the body as an expression, and the values.
//!
//! **In**: a [`Call`]: an op, its attributes, and what is known of its operands; for values, also the operands'
//! tensors. **Out**: dtypes and shapes ([`Inference`]), the body of one output as an expression ([`Template`]), or
//! tensors ([`evaluate()`]).
//!
//! **Who calls it**: `graph` infers each node that it adds and folds constants; `lower` takes templates; `exec` runs
//! host ops, redoes inference on the sizes of a run, and interprets graphs. Tests compare generated kernels with
//! [`evaluate()`], which is the reference for the meaning of every op.
//!
//! **Absent**: the graph. A call needs no graph, so that running a host op or folding a constant builds no nodes, and
//! the graph can ask for an evaluation while it is built.

mod call;
mod elements;
mod evaluate;
mod handles;
mod host;
mod interpret;
mod string_equality;
mod template;

pub(crate) use call::{Call, Inference};
pub(crate) use elements::{MAX_ELEMENTS, elements_of, shape_of};
pub(crate) use evaluate::{
    SizedInference, SizedOperand, evaluate, evaluate_into, evaluate_with, infer_sizes,
};
pub(crate) use handles::only_moves_strings;
pub(crate) use interpret::{is_computed, uncomputed};
pub(crate) use template::{Template, TypedCall};
