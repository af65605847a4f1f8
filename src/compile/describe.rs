//! Names of nodes, values and steps, for errors, traces and dumps.

use indexmap::IndexMap;

use crate::error::{Error, is_library_line};
use crate::graph::{GraphData, NodeIx, ValueIx};
use crate::lower::kernel::Kernel;
use crate::lower::program::Step;
use crate::op::Body;

/// Adds the failed node, its operands and its location to an error. An error of a node inside a branch or a loop body
/// keeps that node, and gets a note about the node around it.
pub(crate) fn locate(graph: &GraphData, index: NodeIx, error: Error) -> Error {
    let node = &graph.nodes[index.index()];
    if matches!(node.op.body, Body::HostWith(_)) && error.node().is_some() {
        return error.note(format!("inside {}", graph.node_name(index)), Some(node.location));
    }
    let call = graph.named_call_text(&node.op, &node.operands, node.attrs());
    let scopes = graph.scope_chain(node.scope);
    // An error about an element names the operand that has it. An error about sizes names all sizes.
    let names_element = error.is_of_element();
    let blamed = error
        .blamed_operand()
        .filter(|_| names_element)
        .and_then(|operand| Some((operand, *node.operands.get(operand)?)));
    let error = match blamed {
        Some((operand, value)) => {
            let maker = graph.values[value.index()].node;
            let label = graph.node_label(maker);
            error.note(
                format!("operand {operand} comes from {label}"),
                Some(graph.nodes[maker.index()].location),
            )
        }
        None => error,
    };
    error.with_op(node.op.name(), call).with_node(graph.node_name(index)).at(node.location).in_scopes(scopes)
}

/// Returns a value as `relu made at src/model.rs:3:1`. The location is absent if it is a line of this crate.
pub(crate) fn value_text(graph: &GraphData, value: ValueIx) -> String {
    let index = graph.values[value.index()].node;
    let location = graph.nodes[index.index()].location;
    match is_library_line(location) {
        true => graph.node_label(index),
        false => format!("{} made at {location}", graph.node_label(index)),
    }
}

/// Returns the name of a step: the ops that a kernel fuses, or the node that runs by itself.
pub(super) fn step_label(graph: &GraphData, step: &Step) -> String {
    match step {
        Step::Kernel(kernel) => fused_text(graph, kernel),
        Step::MatMul { node, .. } | Step::Node { node, .. } => graph.node_label(*node),
    }
}

/// Returns the ops that a kernel fuses, each once with its count: `add ×2, relu`.
fn fused_text(graph: &GraphData, kernel: &Kernel) -> String {
    let mut counts: IndexMap<String, usize> = IndexMap::new();
    for value in &kernel.fused {
        *counts.entry(graph.node_label(graph.values[value.index()].node)).or_default() += 1;
    }
    let names = counts.into_iter().map(|(label, count)| match count {
        1 => label,
        _ => format!("{label} ×{count}"),
    });
    names.collect::<Vec<_>>().join(", ")
}
