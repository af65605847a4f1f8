//! `OpUsage`: the op types that a model needs, and what computes them.

use std::collections::BTreeMap;

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
    /// Returns the op types that `outputs` need, sorted by name, and what computes them. Nodes of inlined functions are
    /// included.
    ///
    /// # Errors
    /// An output is poisoned or belongs to another graph.
    pub fn op_usage(&self, outputs: &[Value<'_>]) -> Result<Vec<OpUsage>> {
        let data = self.graph.read();
        let is_live = live_nodes(&data, outputs)?;
        let mut usage: BTreeMap<(&str, ComputedBy), OpUsage> = BTreeMap::new();
        for built in &self.built {
            let live = || (built.first..built.end).map(NodeIx).filter(|node| is_live[node.at()]);
            let computed_by = live().map(|node| computed_by(&data.nodes[node.at()].op.body)).max();
            let computed_by = computed_by.unwrap_or(ComputedBy::Import);
            let entry = usage.entry((&built.op, computed_by)).or_insert_with(|| OpUsage {
                op: built.op.clone(),
                computed_by,
                nodes: Vec::new(),
                dtypes: Vec::new(),
            });
            entry.nodes.push(built.name.clone());
            for value in live().flat_map(|node| data.nodes[node.at()].values()) {
                let dtype = data.values[value.at()].dtype;
                if !entry.dtypes.contains(&dtype) {
                    entry.dtypes.push(dtype);
                }
            }
        }
        Ok(usage.into_values().collect())
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
fn live_nodes(data: &GraphData, outputs: &[Value<'_>]) -> Result<Vec<bool>> {
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
