//! Errors of builder calls on ragged values.

use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{Graph, IntoParam};

/// Makes an error of the open builder call of a graph, with the line of the call.
pub(super) fn refuse(graph: &Graph, kind: ErrorKind, message: String) -> Error {
    at_call(graph, Error::new(kind, Phase::Build, message))
}

/// Returns the integer of an argument that must be known when the graph is built.
pub(super) fn known_int<'g>(graph: &Graph, given: impl IntoParam<'g>, name: &str) -> Result<i64> {
    given.into_param().known_int(name).map_err(|error| at_call(graph, error))
}

/// Returns the integers of an argument that must be known when the graph is built.
pub(super) fn known_ints<'g>(graph: &Graph, given: impl IntoParam<'g>, name: &str) -> Result<Vec<i64>> {
    given.into_param().known_ints(name).map_err(|error| at_call(graph, error))
}

/// Adds the line of the open builder call.
fn at_call(graph: &Graph, error: Error) -> Error {
    match graph.read().call {
        Some(location) => error.at(location),
        None => error,
    }
}
