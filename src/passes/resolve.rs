//! Finds what must still be known before a graph can be compiled: ranks and structure parameters.

use rustc_hash::FxHashSet;

use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{Inner, MAX_ELEMENTS, Node, NodeIx, ValueIx};
use crate::op::{Body, Operand};

/// Returns the operands of a node whose elements must be known before it is compiled, but are not.
fn missing<'a>(inner: &'a Inner, node: &'a Node) -> impl Iterator<Item = (ValueIx, Operand)> + 'a {
    let list = node.op.operand_list().unwrap_or_default();
    let given =
        list.iter().enumerate().filter(|(i, _)| node.given & (1 << i) != 0).map(|(_, operand)| operand);
    given.zip(&node.operands).filter_map(|(operand, &value)| {
        let elements = inner.values[value.at()].elements.as_deref();
        let missing = match operand {
            Operand::Structure(_) => !elements.is_some_and(|e| inner.table.resolve_elements(e).is_known()),
            Operand::Size(_) => elements.is_none() && inner.values[value.at()].dtype.is_integer(),
            Operand::Data(_) | Operand::Variadic(_) => false,
        };
        missing.then_some((value, *operand))
    })
}

/// The inputs of which a run must know something before the graph is compiled, by their numbers: for some the rank, for
/// others the sizes or the value.
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
/// The value must be known of structure parameters. The sizes must be known of size parameters of unknown length, and of
/// operands whose sizes determine the rank of a result. The rank must be known of every other input.
pub(crate) fn key_inputs(inner: &Inner) -> KeyInputs {
    let (mut by_value, mut by_sizes) = (FxHashSet::default(), FxHashSet::default());
    for node in &inner.nodes {
        for (value, operand) in missing(inner, node) {
            if matches!(operand, Operand::Size(_)) && !sizes_known(inner, value) {
                by_sizes.insert(value);
            } else {
                by_value.insert(value);
            }
        }
        if rank_needs_sizes(inner, node) {
            by_sizes.extend(node.operands.iter().copied().filter(|operand| !sizes_known(inner, *operand)));
        }
    }
    let mut key = KeyInputs { ranks: Vec::new(), sizes: Vec::new(), values: Vec::new() };
    for (port, (_, value)) in inner.inputs.iter().enumerate() {
        if by_value.contains(value) {
            key.values.push(port);
        } else if by_sizes.contains(value) {
            key.sizes.push(port);
        } else if inner.values[value.at()].shape.rank().is_none() {
            key.ranks.push(port);
        }
    }
    key
}

fn is_unranked(inner: &Inner, value: ValueIx) -> bool {
    inner.values[value.at()].shape.rank().is_none()
}

/// Returns whether only the sizes of a node's operands are missing to know the rank of a result. An example is a squeeze
/// of every axis of size 1.
fn rank_needs_sizes(inner: &Inner, node: &Node) -> bool {
    matches!(node.op.body, Body::Compute(_) | Body::Contraction { .. })
        && node.values().any(|value| is_unranked(inner, value))
        && !node.operands.iter().any(|operand| is_unranked(inner, *operand))
        && missing(inner, node).next().is_none()
}

/// Returns for each node whether it must wait for results of a run: a rank or structure parameter is still unknown.
///
/// # Errors
/// The rank of a value stays unknown whatever is known of its operands; a constant that must be known has elements
/// that are not followed.
pub(crate) fn unresolved(inner: &Inner) -> Result<Vec<bool>> {
    let mut waits = vec![false; inner.nodes.len()];
    for number in 0..inner.nodes.len() {
        let node = &inner.nodes[number];
        if matches!(node.op.body, Body::Input | Body::Constant) {
            continue;
        }
        let refuse = |message: String| {
            let call = inner.call_text(&node.op, &node.operands, node.attrs());
            Err(Error::new(ErrorKind::Compile, Phase::Compile, message)
                .with_op(node.op.name(), call)
                .with_node(inner.node_name(NodeIx(number as u32)))
                .at(node.location))
        };
        let is_constant = |value: ValueIx| matches!(inner.node_of(value).op.body, Body::Constant);
        if let Some((value, operand)) = missing(inner, node).find(|(value, _)| is_constant(*value)) {
            // A run reveals nothing about a constant, so the node would wait forever.
            let (name, info) = (operand.name(), &inner.values[value.at()]);
            let got = format!("{}{}", info.dtype, info.shape);
            return refuse(format!("{name} must hold integers, at most {MAX_ELEMENTS} of them, got {got}"));
        }
        let from_waiting = node.operands.iter().any(|operand| waits[inner.values[operand.at()].node.at()]);
        let unranked = node.operands.iter().any(|operand| is_unranked(inner, *operand));
        let unsized_rank = rank_needs_sizes(inner, node);
        if unsized_rank && !from_waiting && node.operands.iter().all(|&operand| sizes_known(inner, operand)) {
            let message =
                "the rank of the result must be known when those of the operands and their sizes are";
            return refuse(message.to_string());
        }
        waits[number] = from_waiting || unranked || unsized_rank || missing(inner, node).next().is_some();
    }
    Ok(waits)
}

fn sizes_known(inner: &Inner, value: ValueIx) -> bool {
    inner.table.resolve_shape(&inner.values[value.at()].shape).as_known().is_some()
}
