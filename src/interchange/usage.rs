//! `OpUsage`: the op types of a model, and what computes their nodes.

use std::collections::BTreeMap;

use shapeflow_shape_fns::DType;

use super::imported::Imported;
use super::node_usage::{ComputedBy, NodeUsage, live_nodes, nodes_of};
use crate::error::{Result, at_caller};
use crate::graph::{GraphData, NodeIx, Value, ValueIx};

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
        let outputs: Vec<ValueIx> = at_caller(|| outputs.iter().map(|output| output.index()).collect())?;
        Ok(self.usage(&data, &live_nodes(&data, nodes_of(&data, outputs))))
    }

    /// Returns the op types as [`Imported::op_usage`] does, for the tensors that the import was to compute: its fetches,
    /// or else the tensors that no node reads. Refused nodes, and the nodes that they need, are needed too. So a refused
    /// node, whose outputs have no [`Value`], hides no node that nothing computes.
    ///
    /// ```
    /// use shapeflow::interchange::{ComputedBy, ImportOptions, Model};
    ///
    /// let text = r#"
    ///     node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
    ///            attr { key: "shape" value { shape { dim { size: 2 } dim { size: 3 } } } } }
    ///     node { name: "copy" op: "DeepCopy" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
    ///     node { name: "bad" op: "MatMul" input: "copy" input: "copy" attr { key: "T" value { type: DT_FLOAT } } }
    /// "#;
    /// let imported = Model::from_text(text)?.import(None, &ImportOptions::new())?;
    /// let usage = imported.op_usage_of_fetches();
    /// let computed_by = |op: &str| usage.iter().find(|usage| usage.op == op).map(|usage| usage.computed_by);
    /// assert_eq!(computed_by("DeepCopy"), Some(ComputedBy::Nothing));
    /// assert_eq!(computed_by("MatMul"), Some(ComputedBy::Refused));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub fn op_usage_of_fetches(&self) -> Vec<OpUsage> {
        let data = self.graph.read();
        let index = |id| self.graph.value(id).and_then(Value::index).expect("the import made the value");
        let fetched = self.fetched_values().into_iter().map(index);
        let refused = data.refused.keys().copied();
        self.usage(&data, &live_nodes(&data, nodes_of(&data, fetched).chain(refused)))
    }

    /// Returns the usage of all nodes, if these nodes of the graph are needed.
    fn usage(&self, data: &GraphData, is_live: &[bool]) -> Vec<OpUsage> {
        let mut usage: BTreeMap<(&str, ComputedBy), OpUsage> = BTreeMap::new();
        for built in &self.built {
            let nodes = built.nodes.clone().expect("all branches and loops are complete");
            let is_needed = nodes.clone().any(|node| is_live[NodeIx(node).index()]);
            let NodeUsage { computed_by, dtypes, has_unknown_shape } =
                match built.in_region.as_ref().map(|node| &node.usage) {
                    Some(inner) if is_needed => inner.clone(),
                    Some(_) => NodeUsage::default(),
                    None => NodeUsage::of(data, nodes, is_live),
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
        usage.into_values().collect()
    }
}
