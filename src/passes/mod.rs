//! Graph to graph: each pass makes a new graph, re-inferred in a table of its own.

mod rebuild;
mod resolve;

pub(crate) use rebuild::{Facts, carrier, rebuild, rest};
pub(crate) use resolve::{Pins, pinned_inputs, unresolved};
