//! Graph to graph: each pass makes a new graph, re-inferred in a table of its own.

mod rebuild;

pub(crate) use rebuild::{Facts, Rebuilt, rebuild};
