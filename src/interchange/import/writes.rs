//! Writes to variables. A graph does not change variables, so a write is left out; a tensor whose value could show the
//! difference is refused.

use std::collections::BTreeMap;

use super::built::Condition;
use super::importer::Importer;
use crate::error::Error;
use crate::graph::{GraphData, NodeIx, Value, definer};

impl Importer<'_, '_> {
    /// Returns, for each refused node of the graph, the error of a write. A node is refused if its value waits for the
    /// write and depends on the written variable: in TensorFlow, the next run would give another value.
    pub(super) fn errors_of_writes(&self) -> BTreeMap<NodeIx, Error> {
        let data = self.graph.read();
        let mut errors = BTreeMap::new();
        for (number, condition) in self.conditions.iter().enumerate() {
            let Condition::Written { variable, error } = condition else { continue };
            let guarded = self.awaiting_writes.iter().filter(|(_, write)| *write == number);
            let awaits = dependents(&data, guarded.filter_map(|(value, _)| node_index(*value)));
            let constant = self.constants.get(variable).and_then(|value| node_index(*value));
            // The constant of a variable is made again if it was first made in a branch or a loop body. The body may
            // have read the first constant, so every node counts as a reader.
            let reads = match constant.filter(|_| !self.remade_constants.contains(variable)) {
                Some(constant) => dependents(&data, [constant]),
                None => vec![self.constants.contains_key(variable); data.nodes.len()],
            };
            let refused = (0..data.nodes.len()).filter(|node| awaits[*node] && reads[*node]);
            for node in refused {
                errors.entry(NodeIx(node as u32)).or_insert_with(|| error.clone());
            }
        }
        errors
    }
}

/// Returns the index of the node that makes a value; `None` if the value left the graph with a region.
pub(super) fn node_index(value: Value<'_>) -> Option<NodeIx> {
    let index = value.index().ok()?;
    Some(value.graph().read().values[index.index()].node)
}

/// Marks these nodes and all nodes whose values or sizes depend on them.
fn dependents(data: &GraphData, starts: impl IntoIterator<Item = NodeIx>) -> Vec<bool> {
    let mut marked = vec![false; data.nodes.len()];
    for start in starts {
        marked[start.index()] = true;
    }
    for (number, node) in data.nodes.iter().enumerate() {
        let mut depends = marked[number]
            || node.operands.iter().any(|operand| marked[data.values[operand.index()].node.index()]);
        node.attrs().symbols(&mut |symbol| {
            depends |= definer(data, symbol).is_some_and(|definer| marked[definer.index()]);
        });
        marked[number] = depends;
    }
    marked
}
