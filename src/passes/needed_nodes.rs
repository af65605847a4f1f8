//! [`needed_nodes`]: the nodes and inputs that some values need.

use rustc_hash::FxHashSet;
use shapeflow_shape_fns::Symbol;

use crate::graph::{GraphData, NodeIx, ValueIx};
use crate::op::Body;

/// Returns the nodes that compute `wanted`, and an input for each symbol that only the sizes of inputs tell.
pub(crate) fn needed_nodes(old: &GraphData, wanted: &[ValueIx]) -> Vec<bool> {
    let mut needed = vec![false; old.nodes.len()];
    for value in wanted {
        needed[old.values[value.at()].node.at()] = true;
    }
    let mut told_by_inputs: FxHashSet<Symbol> = FxHashSet::default();
    for number in (0..old.nodes.len()).rev() {
        if needed[number] {
            for operand in &old.nodes[number].operands {
                needed[old.values[operand.at()].node.at()] = true;
            }
            // The node that made a symbol among the attributes defines it, so the node is needed too. A name has no
            // such node: inputs tell its value.
            old.nodes[number].attrs().symbols(&mut |symbol| match old
                .table
                .maker(symbol)
                .map(|maker| maker as usize)
            {
                Some(maker) if maker >= number => {}
                Some(maker) if !matches!(old.nodes[maker].op.body, Body::Input) => needed[maker] = true,
                _ => {
                    told_by_inputs.insert(symbol);
                }
            });
        }
    }
    for symbol in told_by_inputs {
        let tells = |node: &NodeIx| {
            let mut found = false;
            for dim in old.values[old.nodes[node.at()].first_output.at()].shape.dims().unwrap_or_default() {
                dim.symbols(&mut |other| found |= other == symbol);
            }
            found
        };
        let inputs = || old.inputs.iter().map(|(_, value)| old.values[value.at()].node).filter(tells);
        if !inputs().any(|node| needed[node.at()])
            && let Some(first) = inputs().next()
        {
            needed[first.at()] = true;
        }
    }
    needed
}
