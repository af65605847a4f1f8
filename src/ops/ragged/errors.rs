//! Errors of builder calls on ragged values.

use crate::error::{Error, ErrorKind, Phase};
use crate::graph::Graph;

/// Makes an error of the open builder call of a graph, with the line of the call.
pub(super) fn refuse(graph: &Graph, kind: ErrorKind, message: String) -> Error {
    let error = Error::new(kind, Phase::Build, message);
    match graph.read().call {
        Some(location) => error.at(location),
        None => error,
    }
}
