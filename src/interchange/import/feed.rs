//! The tensors that a caller feeds and fetches: which outputs of nodes they are.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use shapeflow_shape_fns::{DType, Dim, IntoDim, TensorShape, Unknown};

use super::super::imported::split_name;
use super::super::nearest::did_you_mean;
use super::super::options::ImportOptions;
use super::super::proto::AttrKind;
use super::frame::{Frame, Source};
use super::placeholder::is_placeholder;
use super::{Importer, Slot};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::Graph;
use crate::interchange::shape;

/// An output of a node of the graph itself.
type TensorRef = (usize, usize);

/// The dtype and the shape of a tensor, as far as inference knows them.
type KnownType = (Option<DType>, TensorShape);

/// The tensor that a name stands for: a SavedModel's signature has names of its own.
pub(super) fn unaliased<'n>(
    frame: &Frame<'_, '_>,
    name: &'n str,
    aliases: &'n HashMap<String, String>,
) -> &'n str {
    match aliases.get(name) {
        Some(tensor) if !frame.by_name.contains_key(name) => tensor,
        _ => name,
    }
}

impl<'a, 'g> Frame<'a, 'g> {
    /// The nodes that no other node reads, without nodes that have a fed output.
    pub(super) fn ends(&self) -> Vec<usize> {
        let own = |at: &usize| !self.is_auxiliary(*at);
        let mut is_end = vec![true; self.nodes.len()];
        for input in (0..self.nodes.len()).filter(own).flat_map(|at| &self.nodes[at].input) {
            if let Ok(Source::Node(node, _) | Source::Control(node) | Source::Fed(node, _)) =
                self.source(input)
            {
                is_end[node] = false;
            }
        }
        for (node, _) in self.fed.keys() {
            is_end[*node] = false;
        }
        (0..self.nodes.len()).filter(own).filter(|at| is_end[*at]).collect()
    }
}

impl<'a, 'g> Importer<'a, 'g> {
    /// The nodes that fetched tensors need.
    ///
    /// # Errors
    /// There is no node of a fetched name.
    pub(super) fn roots(
        &self,
        frame: &Frame<'a, 'g>,
        fetches: &[&str],
        aliases: &HashMap<String, String>,
    ) -> Result<Vec<usize>> {
        let mut roots = Vec::new();
        for fetch in fetches {
            let tensor = unaliased(frame, fetch, aliases);
            match frame.tensor(tensor) {
                Some(tensor) if frame.fed.contains_key(&tensor) => {}
                Some((node, _)) => roots.push(node),
                None => {
                    let name = split_name(tensor).0;
                    let names = frame.nodes.iter().map(|node| node.name.as_str());
                    let message = format!("there is no node named {name}{}", did_you_mean(name, names));
                    return Err(Error::new(ErrorKind::Attribute, Phase::Build, message));
                }
            }
        }
        // A placeholder that is given a shape is an input, needed or not.
        roots.extend((0..frame.nodes.len()).filter(|&at| {
            let node = &frame.nodes[at];
            is_placeholder(&node.op) && node.input.is_empty() && self.override_of(&node.name).is_some()
        }));
        Ok(roots)
    }

    /// The tensors that the options say are fed.
    ///
    /// # Errors
    /// There is no node of a fed name, or the node is there for TensorFlow alone.
    pub(super) fn fed_tensors(
        &self,
        frame: &Frame<'a, 'g>,
        aliases: &HashMap<String, String>,
    ) -> Result<BTreeSet<TensorRef>> {
        let mut fed = BTreeSet::new();
        for feed in &self.options.feeds {
            let refuse = |message: String| Err(Error::new(ErrorKind::Attribute, Phase::Build, message));
            let Some(tensor) = frame.tensor(unaliased(frame, feed, aliases)) else {
                let names = frame.nodes.iter().map(|node| node.name.as_str());
                let near = did_you_mean(split_name(feed).0, names);
                return refuse(format!("a fed tensor must be in the model, got {feed}{near}"));
            };
            if frame.is_auxiliary(tensor.0) {
                return refuse(format!(
                    "{feed} cannot be fed: it repeats an attribute of the node that reads it"
                ));
            }
            fed.insert(tensor);
        }
        Ok(fed)
    }

    /// Makes an input of every fed tensor. The nodes of the frame read the input in place of the producer's output. A fed
    /// placeholder stays as it is: it becomes an input like every placeholder.
    ///
    /// # Errors
    /// A node has no such output, or the dtype of a fed tensor is not known.
    pub(super) fn feed(&mut self, frame: &mut Frame<'a, 'g>, fed: &BTreeSet<TensorRef>) -> Result<()> {
        let is_input = |tensor: &TensorRef| {
            let node = &frame.nodes[tensor.0];
            is_placeholder(&node.op) && node.input.is_empty() && tensor.1 == 0
        };
        let fed: Vec<TensorRef> = fed.iter().copied().filter(|tensor| !is_input(tensor)).collect();
        if fed.is_empty() {
            return Ok(());
        }
        for (tensor, (dtype, known)) in self.inferred_types(&fed)? {
            let name = frame.tensor_name(tensor);
            let Some(dtype) = dtype else {
                let op = &frame.nodes[tensor.0].op;
                let message = format!("the dtype of a fed tensor must be known, got {name} of {op}");
                return Err(Error::new(ErrorKind::DType, Phase::Build, message));
            };
            let shape = self.override_of(&name).cloned().unwrap_or(known);
            let value = self.graph.input_at(&name, dtype, shape, self.location)?;
            frame.fed.insert(tensor, Slot { value, typed: true, blocked: None, checks: None });
        }
        Ok(())
    }

    /// Infers dtypes and shapes of fed tensors from their producers, in a graph that is thrown away.
    ///
    /// TensorFlow infers static shapes in the same way, before anything is fed.
    ///
    /// # Errors
    /// A node has no such output.
    fn inferred_types(&self, fed: &[TensorRef]) -> Result<BTreeMap<TensorRef, KnownType>> {
        let graph = Graph::new();
        let options = ImportOptions { feeds: Vec::new(), allow_unknown: true, ..self.options.clone() };
        let mut importer = Importer::new(self.model, &options, &graph);
        // A run may feed another tensor than the default, so the default's sizes say nothing.
        importer.ignores_defaults = true;
        let frame = Frame::of_graph(self.model)?;
        let producers: Vec<usize> = fed.iter().map(|(node, _)| *node).collect();
        let order = frame.order(&producers)?;
        let all: Vec<usize> = (0..frame.nodes.len()).collect();
        importer.learn_types(&frame, &all);
        let built = importer.build(&frame, &order)?;
        let mut tensors = BTreeMap::new();
        for &(at, output) in fed {
            let node = &frame.nodes[at];
            let outputs = built[at].as_ref().map_or(&[][..], |built| &built.outputs);
            let Some(slot) = outputs.get(output) else {
                let count = match outputs.len() {
                    1 => "1 output".to_string(),
                    count => format!("{count} outputs"),
                };
                let message = format!(
                    "a fed tensor must be in the model, got {}: {} has {count}",
                    frame.tensor_name((at, output)),
                    node.op
                );
                return Err(Error::new(ErrorKind::Attribute, Phase::Build, message));
            };
            let mut shape = open(&slot.value.shape());
            if let Some(AttrKind::List(list)) = frame.attr(at, "_output_shapes")
                && let Some(said) = list.shape.get(output)
                && let Ok(merged) = shape.merge_with(&shape::from_proto(said, &self.budget)?)
            {
                shape = merged;
            }
            tensors.insert((at, output), (slot.typed.then(|| slot.value.dtype()), shape));
        }
        Ok(tensors)
    }
}

/// The shape with its known sizes and named dimensions. Every other dimension becomes a fresh unknown, because a feed need
/// not agree with the other tensors of the model.
fn open(shape: &TensorShape) -> TensorShape {
    let Some(dims) = shape.dims() else { return TensorShape::unranked() };
    let dims = dims.iter().map(|dim| match dim.as_linear() {
        Some((_, symbol, _)) if !symbol.is_anonymous() => dim.clone(),
        None if dim.is_known() => dim.clone(),
        _ => Unknown.into_dim(),
    });
    TensorShape::new(dims.collect::<Vec<Dim>>())
}
