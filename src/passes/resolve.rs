//! Finds what must still be known before a graph can be compiled: ranks and structure parameters.

use rustc_hash::FxHashSet;

use crate::dtype::type_text;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::eval::MAX_ELEMENTS;
use crate::graph::{GraphData, Node, NodeIx, ValueIx, definer};
use crate::op::{Body, Operand};

/// Returns the operands of a node whose elements must be known before it is compiled, but are not.
fn missing<'a>(graph: &'a GraphData, node: &'a Node) -> impl Iterator<Item = (Operand, ValueIx)> + 'a {
    node.parameters().filter(|&(operand, value)| {
        let elements = graph.values[value.index()].elements.as_deref();
        match operand {
            Operand::Size(_) => elements.is_none() && graph.values[value.index()].dtype.is_integer(),
            _ => !elements.is_some_and(|e| graph.table.resolve_elements(e).is_known()),
        }
    })
}

/// Returns how much knowledge of its operands the inference of a node lacks: the number of parameters with unknown
/// elements, and the number of operands of unknown sizes that determine the rank of a result or the number of elements
/// of a parameter.
pub(super) fn lacking(graph: &GraphData, node: &Node) -> (usize, usize) {
    let is_unsized = |value: ValueIx| !sizes_known(graph, value);
    let (mut unknown, mut unsized_operands) = (0, 0);
    for (operand, value) in missing(graph, node) {
        unknown += 1;
        unsized_operands += usize::from(matches!(operand, Operand::Size(_)) && is_unsized(value));
    }
    if rank_needs_sizes(graph, node) {
        unsized_operands += node.operands.iter().filter(|operand| is_unsized(**operand)).count();
    }
    (unknown, unsized_operands)
}

/// The numbers of the inputs whose rank, sizes or value a run must know before the graph is compiled.
pub(crate) struct KeyInputs {
    pub ranks: Vec<usize>,
    pub sizes: Vec<usize>,
    pub values: Vec<usize>,
}

impl KeyInputs {
    pub(crate) fn is_empty(&self) -> bool {
        self.ranks.is_empty() && self.sizes.is_empty() && self.values.is_empty()
    }
}

/// Returns the key inputs of a graph.
///
/// A structure parameter must have a known value. A size parameter of unknown length, and an operand whose sizes
/// determine the rank of a result, must have known sizes. Every other input must have a known rank.
pub(crate) fn key_inputs(graph: &GraphData) -> KeyInputs {
    let (mut by_value, mut by_sizes) = (FxHashSet::default(), FxHashSet::default());
    for node in &graph.nodes {
        for (operand, value) in missing(graph, node) {
            if matches!(operand, Operand::Size(_)) && !sizes_known(graph, value) {
                by_sizes.insert(value);
            } else {
                by_value.insert(value);
            }
        }
        if rank_needs_sizes(graph, node) {
            by_sizes.extend(node.operands.iter().copied().filter(|operand| !sizes_known(graph, *operand)));
        }
    }
    let mut key = KeyInputs { ranks: Vec::new(), sizes: Vec::new(), values: Vec::new() };
    for (port, (_, value)) in graph.inputs.iter().enumerate() {
        if by_value.contains(value) {
            key.values.push(port);
        } else if by_sizes.contains(value) {
            key.sizes.push(port);
        } else if graph.values[value.index()].shape.rank().is_none() {
            key.ranks.push(port);
        }
    }
    key
}

/// Returns for each node whether its inference lacks a rank or the elements of a parameter.
pub(crate) fn incomplete_nodes(graph: &GraphData) -> Vec<bool> {
    let is_incomplete = |node: &Node| {
        node.operands.iter().copied().chain(node.values()).any(|value| is_unranked(graph, value))
            || missing(graph, node).next().is_some()
    };
    graph.nodes.iter().map(is_incomplete).collect()
}

fn is_unranked(graph: &GraphData, value: ValueIx) -> bool {
    graph.values[value.index()].shape.rank().is_none()
}

/// Returns whether only the sizes of a node's operands are missing to know the rank of a result. An example is a
/// squeeze of every axis of size 1.
fn rank_needs_sizes(graph: &GraphData, node: &Node) -> bool {
    matches!(node.op.body, Body::Compute(_) | Body::Contraction { .. })
        && node.values().any(|value| is_unranked(graph, value))
        && !node.operands.iter().any(|operand| is_unranked(graph, *operand))
        && missing(graph, node).next().is_none()
}

/// Returns for each node whether it must wait for results of a run: a rank or structure parameter is still unknown.
///
/// # Errors
/// The rank of a value stays unknown although everything is known of its operands; or inference does not track the
/// elements of a constant that must be known.
pub(crate) fn unresolved(graph: &GraphData) -> Result<Vec<bool>> {
    let mut waits = vec![false; graph.nodes.len()];
    for number in 0..graph.nodes.len() {
        let node = &graph.nodes[number];
        if matches!(node.op.body, Body::Input | Body::Constant) {
            continue;
        }
        let refuse = |message: String| {
            let call = graph.named_call_text(&node.op, &node.operands, node.attrs());
            Err(Error::new(ErrorKind::Compile, Phase::Compile, message)
                .with_op(node.op.name(), call)
                .with_node(graph.node_name(NodeIx(number as u32)))
                .at(node.location))
        };
        let is_constant = |value: ValueIx| matches!(graph.node_of(value).op.body, Body::Constant);
        if let Some((operand, value)) = missing(graph, node).find(|(_, value)| is_constant(*value)) {
            // A run reveals nothing about a constant, so the node would wait forever.
            let (name, info) = (operand.name(), &graph.values[value.index()]);
            let got = type_text(info.dtype, &info.shape);
            return refuse(format!("{name} must hold integers, at most {MAX_ELEMENTS} of them, got {got}"));
        }
        let mut from_waiting =
            node.operands.iter().any(|operand| waits[graph.values[operand.index()].node.index()]);
        node.attrs().symbols(&mut |symbol| {
            from_waiting |= definer(graph, symbol).is_some_and(|definer| waits[definer.index()]);
        });
        let unranked = node.operands.iter().any(|operand| is_unranked(graph, *operand));
        let unsized_rank = rank_needs_sizes(graph, node);
        if unsized_rank && !from_waiting && node.operands.iter().all(|&operand| sizes_known(graph, operand)) {
            let message = "the rank of the result must be known if the ranks and sizes of the operands are";
            return refuse(message.to_string());
        }
        waits[number] = from_waiting || unranked || unsized_rank || missing(graph, node).next().is_some();
    }
    Ok(waits)
}

fn sizes_known(graph: &GraphData, value: ValueIx) -> bool {
    graph.table.resolve_shape(&graph.values[value.index()].shape).as_known().is_some()
}
