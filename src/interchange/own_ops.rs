//! Replaces calls of functions by the ops of this crate that the functions compute. The export writes such calls for
//! ops that TensorFlow lacks.

use super::OWN_OP;
use super::proto::{AttrKind, GraphDef, NodeDef};

/// Replaces the calls in a graph and in its functions. A call keeps its inputs, and its attributes for this crate.
pub(super) fn restore(graph: &mut GraphDef) {
    graph.node.iter_mut().for_each(restore_node);
    let functions = graph.library.iter_mut().flat_map(|library| &mut library.function);
    functions.flat_map(|function| &mut function.node_def).for_each(restore_node);
}

fn restore_node(node: &mut NodeDef) {
    let Some(value) = node.attr.remove(OWN_OP) else { return };
    if let Some(AttrKind::S(op)) = value.value
        && let Ok(op) = String::from_utf8(op.into())
    {
        node.op = op;
        node.attr.retain(|name, _| !matches!(name.as_str(), "f" | "Tin" | "Tout"));
    }
}
