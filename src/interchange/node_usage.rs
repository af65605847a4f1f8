//! `NodeUsage`: what computes a node of a model.

use std::ops::Range;

use shapeflow_shape_fns::DType;

use crate::graph::{GraphData, NodeIx, ValueIx};
use crate::op::Body;

/// What computes the nodes of an op type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum ComputedBy {
    /// No run computes the node: the import replaced the node, as it does with constants, variables and calls, or no
    /// output needs the node.
    Import,
    /// Compiled kernels.
    Kernels,
    /// A Rust function on the host.
    Host,
    /// Nothing: this crate has no body for the op, so the graph does not compile.
    Nothing,
    /// Nothing: inference refused the node. See [`Imported::check`](super::Imported::check).
    Refused,
}

/// What computes a node of the model, and the dtypes of its outputs.
#[derive(Clone, Debug)]
pub(super) struct NodeUsage {
    pub computed_by: ComputedBy,
    pub dtypes: Vec<DType>,
    /// Whether only a run determines the shape of an output.
    pub has_unknown_shape: bool,
}

impl Default for NodeUsage {
    fn default() -> NodeUsage {
        NodeUsage { computed_by: ComputedBy::Import, dtypes: Vec::new(), has_unknown_shape: false }
    }
}

impl NodeUsage {
    /// Returns the usage of a node of the model that became these nodes of the graph.
    pub(super) fn of(data: &GraphData, nodes: Range<u32>, is_live: &[bool]) -> NodeUsage {
        let mut usage = NodeUsage::default();
        for index in nodes.map(NodeIx).filter(|node| is_live[node.index()]) {
            let node = &data.nodes[index.index()];
            usage.computed_by = usage.computed_by.max(computed_by(data, index));
            for value in node.values() {
                let value = &data.values[value.index()];
                usage.dtypes.push(value.dtype);
                usage.has_unknown_shape |= data.table.resolve_shape(&value.shape).as_known().is_none();
            }
        }
        usage
    }
}

fn computed_by(data: &GraphData, index: NodeIx) -> ComputedBy {
    let node = &data.nodes[index.index()];
    match node.op.body {
        _ if data.refused.contains_key(&index) => ComputedBy::Refused,
        // The nodes that read a handle know the variable or the table.
        Body::ShapeOnly if node.values().any(|value| data.handles.contains(&value)) => ComputedBy::Import,
        Body::Input | Body::Constant => ComputedBy::Import,
        Body::Compute(_) | Body::Contraction { .. } | Body::Composite(_) => ComputedBy::Kernels,
        Body::Host(_) | Body::HostWith(_) | Body::Control(_) => ComputedBy::Host,
        Body::ShapeOnly => ComputedBy::Nothing,
    }
}

/// Returns the nodes that make these values.
pub(super) fn nodes_of(
    data: &GraphData,
    values: impl IntoIterator<Item = ValueIx>,
) -> impl Iterator<Item = NodeIx> {
    values.into_iter().map(|value| data.values[value.index()].node)
}

/// Returns, for every node of the graph, whether it is one of `needed`, or one of these needs it.
pub(super) fn live_nodes(data: &GraphData, needed: impl Iterator<Item = NodeIx>) -> Vec<bool> {
    let mut is_live = vec![false; data.nodes.len()];
    let mut stack: Vec<NodeIx> = needed.collect();
    while let Some(node) = stack.pop() {
        if !std::mem::replace(&mut is_live[node.index()], true) {
            let operands = &data.nodes[node.index()].operands;
            stack.extend(operands.iter().map(|operand| data.values[operand.index()].node));
        }
    }
    is_live
}
