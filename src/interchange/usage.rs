//! `OpUsage`: the op types of a model, and what computes their nodes.

use std::collections::BTreeMap;

use shapeflow_shape_fns::DType;

use super::imported::Imported;
use super::node_usage::{ComputedBy, NodeUsage, live_nodes};
use crate::error::{Result, at_caller};
use crate::graph::{NodeIx, Value};

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
    /// The number of nodes with an output whose shape only a run determines.
    pub unknown_shapes: usize,
}

impl Imported {
    /// Returns the op types of all imported nodes, sorted by name, and what computes the nodes. A node that `outputs`
    /// do not need counts as [`ComputedBy::Import`]. Nodes of functions, of branches and of loop bodies are
    /// included.
    ///
    /// # Errors
    /// An output is poisoned or belongs to another graph.
    #[track_caller]
    pub fn op_usage(&self, outputs: &[Value<'_>]) -> Result<Vec<OpUsage>> {
        let data = self.graph.read();
        let is_live = at_caller(|| live_nodes(&data, outputs))?;
        let mut usage: BTreeMap<(&str, ComputedBy), OpUsage> = BTreeMap::new();
        for built in &self.built {
            let nodes = built.nodes.clone().expect("all branches and loops are complete");
            let is_needed = nodes.clone().any(|node| is_live[NodeIx(node).index()]);
            let NodeUsage { computed_by, dtypes, has_unknown_shape } =
                match built.in_region.as_ref().map(|node| &node.usage) {
                    Some(inner) if is_needed => inner.clone(),
                    Some(_) => NodeUsage::default(),
                    None => NodeUsage::of(&data, nodes, &is_live),
                };
            let entry = usage.entry((&built.op, computed_by)).or_insert_with(|| OpUsage {
                op: built.op.clone(),
                computed_by,
                nodes: Vec::new(),
                dtypes: Vec::new(),
                unknown_shapes: 0,
            });
            entry.nodes.push(built.name.clone());
            entry.unknown_shapes += usize::from(has_unknown_shape);
            for dtype in dtypes {
                if !entry.dtypes.contains(&dtype) {
                    entry.dtypes.push(dtype);
                }
            }
        }
        Ok(usage.into_values().collect())
    }
}
