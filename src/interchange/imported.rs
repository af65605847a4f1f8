//! `Imported`: a graph made from a model, with the names its nodes have there.

use std::collections::HashMap;

use shapeflow_shape_fns::{DType, TensorShape};

use super::nearest::did_you_mean;
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
    /// The inputs by name, in the order of the graph.
    pub(super) inputs: Vec<(String, ValueId)>,
}

/// What became of a node.
#[derive(Debug)]
pub(super) struct Record {
    pub name: String,
    pub op: String,
    /// `None` is an output that was not imported: another output of the node is fed, and nothing needs the node.
    pub outputs: Vec<Option<Output>>,
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
    /// Whether it is an input in place of what the node gives.
    pub is_fed: bool,
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
    /// The graph. Its inputs are the placeholders of the model and the fed tensors, under their names.
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
        let found = record.outputs.get(output);
        if let Some(error) = &record.blocked
            && !matches!(found, Some(Some(output)) if output.is_fed)
        {
            return Err(error.clone());
        }
        match found {
            Some(Some(output)) => self.graph.value(output.value),
            Some(None) => refuse(format!(
                "output {output} of {node} ({}) must be fetched when the model is imported, because another output is fed",
                record.op
            )),
            None => refuse(format!(
                "{node} ({}) has {} outputs, there is no output {output}",
                record.op,
                record.outputs.len()
            )),
        }
    }

    /// Every error of a node that inference refused, those inside functions included, as one.
    ///
    /// # Errors
    /// Inference refused some node.
    pub fn check(&self) -> Result<()> {
        let refused: Vec<Error> = self.graph.read().refused.values().cloned().collect();
        Error::join(refused).map_or(Ok(()), Err)
    }

    /// The placeholders and fed tensors, by name, in the order in which an executable of the graph takes them.
    pub fn inputs(&self) -> impl Iterator<Item = (&str, Value<'_>)> {
        self.inputs.iter().filter_map(|(name, id)| Some((name.as_str(), self.graph.value(*id).ok()?)))
    }

    /// The name of the input that a tensor is: of `NAME`, `NAME:i`, or what a SavedModel's signature calls it.
    pub fn input_name(&self, tensor: &str) -> Option<&str> {
        let value = self.value(tensor).ok()?.id();
        self.inputs.iter().find(|(_, input)| *input == value).map(|(name, _)| name.as_str())
    }

    /// The nodes in the order of the model: those that were imported, without those inside functions.
    pub fn nodes(&self) -> impl Iterator<Item = ImportedNode<'_>> {
        self.nodes.iter().map(|record| ImportedNode {
            name: &record.name,
            op: &record.op,
            outputs: record
                .outputs
                .iter()
                .map(|output| {
                    let output = output.as_ref()?;
                    let value = self.graph.value(output.value).ok()?;
                    Some((output.typed.then(|| value.dtype()), value.shape()))
                })
                .map(|known| known.unwrap_or((None, TensorShape::unranked())))
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
        let near = did_you_mean(name, self.nodes.iter().map(|record| record.name.as_str()));
        let some: Vec<&str> = self.fetches().take(5).collect();
        if !near.is_empty() || some.is_empty() { near } else { format!("; ends are {}", some.join(", ")) }
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
