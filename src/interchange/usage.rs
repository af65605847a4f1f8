//! `OpUsage`: the op types that a model needs, and what computes them.

use std::collections::BTreeMap;
use std::ops::Range;

use shapeflow_shape_fns::DType;

use super::imported::Imported;
use crate::error::Result;
use crate::graph::{GraphData, NodeIx, Value};
use crate::op::Body;

/// What computes the nodes of an op type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum ComputedBy {
    /// Nothing: the import replaced the node, as it does with constants, variables and calls, or no output needs it.
    Import,
    /// Compiled kernels.
    Kernels,
    /// A Rust function on the host.
    Host,
    /// Nothing yet: this crate has no body for the op, so that the graph does not compile.
    Nothing,
}

/// The nodes of one op type that are computed in one way.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OpUsage {
    /// The op type in the model.
    pub op: String,
    /// What computes the nodes.
    pub computed_by: ComputedBy,
    /// The names of the nodes; a node of a function is named `CALL/NODE`.
    pub nodes: Vec<String>,
    /// The dtypes of the outputs of the nodes.
    pub dtypes: Vec<DType>,
}

impl Imported {
    /// Returns the op types that `outputs` need, sorted by name, and what computes them. Nodes of inlined functions, of
    /// branches and of loop bodies are included.
    ///
    /// # Errors
    /// An output is poisoned or belongs to another graph.
    pub fn op_usage(&self, outputs: &[Value<'_>]) -> Result<Vec<OpUsage>> {
        let data = self.graph.read();
        let is_live = live_nodes(&data, outputs)?;
        let mut usage: BTreeMap<(&str, ComputedBy), OpUsage> = BTreeMap::new();
        for built in &self.built {
            let nodes = built.nodes.clone().expect("all branches and loops are complete");
            let is_needed = nodes.clone().any(|node| is_live[NodeIx(node).at()]);
            let NodeUsage { computed_by, dtypes } = match &built.in_region {
                Some(inner) if is_needed => inner.clone(),
                Some(_) => NodeUsage::default(),
                None => NodeUsage::of(&data, nodes, &is_live),
            };
            let entry = usage.entry((&built.op, computed_by)).or_insert_with(|| OpUsage {
                op: built.op.clone(),
                computed_by,
                nodes: Vec::new(),
                dtypes: Vec::new(),
            });
            entry.nodes.push(built.name.clone());
            for dtype in dtypes {
                if !entry.dtypes.contains(&dtype) {
                    entry.dtypes.push(dtype);
                }
            }
        }
        Ok(usage.into_values().collect())
    }
}

/// What computes a node of the model, and the dtypes of its outputs.
#[derive(Clone, Debug)]
pub(super) struct NodeUsage {
    pub computed_by: ComputedBy,
    pub dtypes: Vec<DType>,
}

impl Default for NodeUsage {
    fn default() -> NodeUsage {
        NodeUsage { computed_by: ComputedBy::Import, dtypes: Vec::new() }
    }
}

impl NodeUsage {
    /// Returns the usage of a node of the model that became these nodes of the graph.
    pub(super) fn of(data: &GraphData, nodes: Range<u32>, is_live: &[bool]) -> NodeUsage {
        let mut usage = NodeUsage::default();
        for node in nodes.map(NodeIx).filter(|node| is_live[node.at()]) {
            let node = &data.nodes[node.at()];
            usage.computed_by = usage.computed_by.max(computed_by(&node.op.body));
            usage.dtypes.extend(node.values().map(|value| data.values[value.at()].dtype));
        }
        usage
    }
}

fn computed_by(body: &Body) -> ComputedBy {
    match body {
        Body::Input | Body::Constant => ComputedBy::Import,
        Body::Compute(_) | Body::Contraction { .. } | Body::Composite(_) => ComputedBy::Kernels,
        Body::Host(_) | Body::HostWith(_) | Body::Control(_) => ComputedBy::Host,
        Body::ShapeOnly => ComputedBy::Nothing,
    }
}

/// Returns, for every node of the graph, whether `outputs` need it.
pub(super) fn live_nodes(data: &GraphData, outputs: &[Value<'_>]) -> Result<Vec<bool>> {
    let mut is_live = vec![false; data.nodes.len()];
    let mut stack = Vec::new();
    for output in outputs {
        stack.push(data.values[output.index()?.at()].node);
    }
    while let Some(node) = stack.pop() {
        if !std::mem::replace(&mut is_live[node.at()], true) {
            let operands = &data.nodes[node.at()].operands;
            stack.extend(operands.iter().map(|operand| data.values[operand.at()].node));
        }
    }
    Ok(is_live)
}
