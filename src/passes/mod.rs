//! Graph to graph: each pass makes a new graph, re-inferred in a table of its own.

mod rebuild;
mod resolve;

pub(crate) use rebuild::{KnownInputs, rebuild, subgraph};
pub(crate) use resolve::{KeyInputs, key_inputs, unresolved};
