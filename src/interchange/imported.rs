//! `Imported`: a graph made from a model, with the names its nodes have there.

use std::collections::HashMap;

use shapeflow_shape_fns::{DType, TensorShape};

use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{Graph, Value, ValueId};

/// A graph made from a model, with the names its nodes have there.
#[derive(Debug)]
pub struct Imported {
    pub(super) graph: Graph,
    pub(super) nodes: Vec<Record>,
    pub(super) by_name: HashMap<String, usize>,
    /// Names that a SavedModel gives to tensors.
    pub(super) aliases: HashMap<String, String>,
}

/// What became of a node.
#[derive(Debug)]
pub(super) struct Record {
    pub name: String,
    pub op: String,
    pub outputs: Vec<Output>,
    /// Why inference refused the node.
    pub error: Option<Error>,
    /// Why its values cannot be computed: it or a node it needs was refused.
    pub blocked: Option<Error>,
    pub is_input: bool,
    pub is_read: bool,
}

/// An output of a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Output {
    pub value: ValueId,
    /// Whether the dtype is known: that of an op that nobody knows may not be.
    pub typed: bool,
}

/// A node of the model: what it is and what was inferred of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ImportedNode<'a> {
    /// Its name in the model.
    pub name: &'a str,
    /// Its op type in the model.
    pub op: &'a str,
    /// Dtype and shape of every output. No dtype is known of what an unknown op gives.
    pub outputs: Vec<(Option<DType>, TensorShape)>,
    /// Why inference refused it, if it did; what it gives is then unknown, and so is what follows from it.
    pub error: Option<&'a Error>,
}

impl Imported {
    /// The graph. Its inputs are the placeholders of the model, under their names.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The graph alone.
    pub fn into_graph(self) -> Graph {
        self.graph
    }

    /// The tensor of this name: `NAME` or `NAME:i` for output `i` of a node, or what a SavedModel's signature calls
    /// it.
    ///
    /// # Errors
    /// There is no such node or output, or inference refused the node or one that it needs.
    pub fn value(&self, name: &str) -> Result<Value<'_>> {
        let tensor = match self.aliases.get(name) {
            Some(tensor) if !self.by_name.contains_key(name) => tensor,
            _ => name,
        };
        let (node, output) = split_name(tensor);
        let refuse = |message: String| Err(Error::new(ErrorKind::Attribute, Phase::Build, message));
        let Some(record) = self.by_name.get(node).and_then(|at| self.nodes.get(*at)) else {
            return refuse(format!("there is no node named {node}{}", self.nearest(node)));
        };
        if let Some(error) = &record.blocked {
            return Err(error.clone());
        }
        match record.outputs.get(output) {
            Some(output) => self.graph.value(output.value),
            None => refuse(format!(
                "{node} ({}) has {} outputs, there is no output {output}",
                record.op,
                record.outputs.len()
            )),
        }
    }

    /// The placeholders, by name, in the order in which an executable of the graph takes them.
    pub fn inputs(&self) -> impl Iterator<Item = (&str, Value<'_>)> {
        let inputs = self.nodes.iter().filter(|record| record.is_input);
        let names: HashMap<ValueId, &str> =
            inputs.filter_map(|record| Some((record.outputs.first()?.value, record.name.as_str()))).collect();
        self.graph.inputs().into_iter().filter_map(move |value| Some((*names.get(&value.id())?, value)))
    }

    /// The nodes in the order of the model: those that were imported, without those inside functions.
    pub fn nodes(&self) -> impl Iterator<Item = ImportedNode<'_>> {
        self.nodes.iter().map(|record| ImportedNode {
            name: &record.name,
            op: &record.op,
            outputs: record
                .outputs
                .iter()
                .map(|output| match self.graph.value(output.value) {
                    Ok(value) => (output.typed.then(|| value.dtype()), value.shape()),
                    Err(_) => (None, TensorShape::unranked()),
                })
                .collect(),
            error: record.error.as_ref(),
        })
    }

    /// The nodes with outputs that no other node reads: what the model computes, most likely.
    pub fn fetches(&self) -> impl Iterator<Item = &str> {
        let ends = self
            .nodes
            .iter()
            .filter(|record| !record.is_read && !record.is_input && !record.outputs.is_empty());
        ends.map(|record| record.name.as_str())
    }

    /// The end of a message about a name that is not there.
    fn nearest(&self, name: &str) -> String {
        let last = name.rsplit('/').next().unwrap_or(name);
        let lower = last.to_lowercase();
        let near = self.nodes.iter().find(|record| record.name.to_lowercase().contains(&lower));
        match near {
            Some(record) => format!("; is it {}?", record.name),
            None => {
                let some: Vec<&str> = self.fetches().take(5).collect();
                if some.is_empty() { String::new() } else { format!("; ends are {}", some.join(", ")) }
            }
        }
    }
}

/// `NAME:i` as name and output; no number is output 0.
pub(super) fn split_name(tensor: &str) -> (&str, usize) {
    match tensor.rsplit_once(':') {
        Some((name, output)) => match output.parse() {
            Ok(output) => (name, output),
            Err(_) => (tensor, 0),
        },
        None => (tensor, 0),
    }
}
