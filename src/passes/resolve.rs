//! What of a graph can be compiled now: ranks and structure parameters must be known.

use rustc_hash::FxHashSet;

use crate::graph::{Inner, Node, ValueIx};
use crate::op::{Body, Operand};

/// The operands of a node whose elements must be known before it is compiled, and are not.
fn missing<'a>(inner: &'a Inner, node: &'a Node) -> impl Iterator<Item = ValueIx> + 'a {
    let list = node.op.operand_list().unwrap_or_default();
    let given = list.iter().enumerate().filter(|(i, _)| node.given & (1 << i) != 0).map(|(_, operand)| operand);
    given.zip(&node.operands).filter_map(|(operand, &value)| {
        let elements = inner.values[value.at()].elements.as_deref();
        let missing = match operand {
            Operand::Structure(_) => !elements.is_some_and(|e| inner.table.resolve_elements(e).is_known()),
            Operand::Size(_) => elements.is_none() && inner.values[value.at()].dtype.is_integer(),
            Operand::Data(_) | Operand::Variadic(_) => false,
        };
        missing.then_some(value)
    })
}

/// Numbers of the inputs whose ranks, and of those whose values, a run must fix before anything is compiled.
pub(crate) fn pinned_inputs(inner: &Inner) -> (Vec<usize>, Vec<usize>) {
    let needed: FxHashSet<ValueIx> = inner.nodes.iter().flat_map(|node| missing(inner, node)).collect();
    let (mut ranks, mut values) = (Vec::new(), Vec::new());
    for (port, (_, value)) in inner.inputs.iter().enumerate() {
        if needed.contains(value) {
            values.push(port);
        } else if inner.values[value.at()].shape.rank().is_none() {
            ranks.push(port);
        }
    }
    (ranks, values)
}

/// For each node, whether it has to wait for the result of an earlier stage.
pub(crate) fn unresolved(inner: &Inner) -> Vec<bool> {
    let mut waits = vec![false; inner.nodes.len()];
    for number in 0..inner.nodes.len() {
        let node = &inner.nodes[number];
        if matches!(node.op.body, Body::Input | Body::Constant) {
            continue;
        }
        let from_waiting = node.operands.iter().any(|operand| waits[inner.values[operand.at()].node.at()]);
        let mut touched = node.values().chain(node.operands.iter().copied());
        let unranked = touched.any(|value| inner.values[value.at()].shape.rank().is_none());
        waits[number] = from_waiting || unranked || missing(inner, node).next().is_some();
    }
    waits
}
