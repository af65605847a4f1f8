//! What of a graph can be compiled now: ranks and structure parameters must be known.

use rustc_hash::FxHashSet;

use crate::error::{Error, ErrorKind, Phase, Result};
use crate::eval::MAX_ELEMENTS;
use crate::graph::{GraphData, Node, NodeIx, ValueIx};
use crate::op::{Body, Operand};

/// The operands of a node whose elements must be known before it is compiled, and are not.
fn missing<'a>(graph: &'a GraphData, node: &'a Node) -> impl Iterator<Item = (Operand, ValueIx)> + 'a {
    node.parameters().filter(|&(operand, value)| {
        let elements = graph.values[value.at()].elements.as_deref();
        match operand {
            Operand::Size(_) => elements.is_none() && graph.values[value.at()].dtype.is_integer(),
            _ => !elements.is_some_and(|e| graph.table.resolve_elements(e).is_known()),
        }
    })
}

/// What a run must fix of inputs before anything is compiled, by their numbers.
pub(crate) struct Pins {
    pub ranks: Vec<usize>,
    pub sizes: Vec<usize>,
    pub values: Vec<usize>,
}

impl Pins {
    pub(crate) fn is_empty(&self) -> bool {
        self.ranks.is_empty() && self.sizes.is_empty() && self.values.is_empty()
    }
}

/// What must be fixed of the inputs of `graph`: structure parameters by value; parameters of unknown length, and
/// what an op counts the axes of its result by, by sizes; everything else by rank.
pub(crate) fn pinned_inputs(graph: &GraphData) -> Pins {
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
    let mut pins = Pins { ranks: Vec::new(), sizes: Vec::new(), values: Vec::new() };
    for (port, (_, value)) in graph.inputs.iter().enumerate() {
        if by_value.contains(value) {
            pins.values.push(port);
        } else if by_sizes.contains(value) {
            pins.sizes.push(port);
        } else if graph.values[value.at()].shape.rank().is_none() {
            pins.ranks.push(port);
        }
    }
    pins
}

fn is_unranked(graph: &GraphData, value: ValueIx) -> bool {
    graph.values[value.at()].shape.rank().is_none()
}

/// Whether all that can be known of a node's operands without running is known but sizes, and yet not the rank of
/// a result, as of a squeeze of every axis of size 1.
fn rank_needs_sizes(graph: &GraphData, node: &Node) -> bool {
    matches!(node.op.body, Body::Compute(_) | Body::Contraction { .. })
        && node.values().any(|value| is_unranked(graph, value))
        && !node.operands.iter().any(|operand| is_unranked(graph, *operand))
        && missing(graph, node).next().is_none()
}

/// For each node, whether it has to wait for the result of an earlier stage.
///
/// # Errors
/// The rank of a value stays unknown whatever is known of its operands; a constant that must be known has elements
/// that are not followed.
pub(crate) fn unresolved(graph: &GraphData) -> Result<Vec<bool>> {
    let mut waits = vec![false; graph.nodes.len()];
    for number in 0..graph.nodes.len() {
        let node = &graph.nodes[number];
        if matches!(node.op.body, Body::Input | Body::Constant) {
            continue;
        }
        let refuse = |message: String| {
            let call = graph.call_text(&node.op, &node.operands, node.attrs());
            Err(Error::new(ErrorKind::Compile, Phase::Compile, message)
                .with_op(node.op.name(), call)
                .with_node(graph.node_name(NodeIx(number as u32)))
                .at(node.location))
        };
        let is_constant = |value: ValueIx| matches!(graph.node_of(value).op.body, Body::Constant);
        if let Some((operand, value)) = missing(graph, node).find(|(_, value)| is_constant(*value)) {
            // A later stage would know no more of a constant than this one, and would wait for the next.
            let (name, info) = (operand.name(), &graph.values[value.at()]);
            let got = format!("{}{}", info.dtype, info.shape);
            return refuse(format!("{name} must hold integers, at most {MAX_ELEMENTS} of them, got {got}"));
        }
        let from_waiting = node.operands.iter().any(|operand| waits[graph.values[operand.at()].node.at()]);
        let unranked = node.operands.iter().any(|operand| is_unranked(graph, *operand));
        let unsized_rank = rank_needs_sizes(graph, node);
        if unsized_rank && !from_waiting && node.operands.iter().all(|&operand| sizes_known(graph, operand)) {
            let message =
                "the rank of the result must be known when those of the operands and their sizes are";
            return refuse(message.to_string());
        }
        waits[number] = from_waiting || unranked || unsized_rank || missing(graph, node).next().is_some();
    }
    Ok(waits)
}

fn sizes_known(graph: &GraphData, value: ValueIx) -> bool {
    graph.table.resolve_shape(&graph.values[value.at()].shape).as_known().is_some()
}
