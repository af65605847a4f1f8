//! Finds the nodes and outputs of the tensors that a caller feeds and fetches, and makes an input of each fed tensor.

use std::collections::{BTreeMap, BTreeSet};

use shapeflow_shape_fns::{DType, Dim, IntoDim, TensorShape, Unknown, counted};

use super::super::OUTPUT_SHAPES;
use super::super::imported::split_name;
use super::super::options::ImportOptions;
use super::super::proto::AttrKind;
use super::super::signature_names::SignatureNames;
use super::built::ImportedValue;
use super::frame::{Frame, Source};
use super::importer::Importer;
use super::placeholder::is_placeholder;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::Graph;
use crate::interchange::shape;

/// A tensor of the main graph: the index of its node, and the number of the output.
type TensorRef = (usize, usize);

/// Dtype and shape of a tensor, as far as inference knows them.
type KnownType = (Option<DType>, TensorShape);

impl<'a, 'g> Frame<'a, 'g> {
    /// Returns the nodes that no other node reads. A node with a fed output is not among them.
    pub(super) fn unread_nodes(&self) -> Vec<usize> {
        let is_model_node = |index: &usize| !self.is_auxiliary(*index);
        let mut is_end = vec![true; self.nodes.len()];
        for input in (0..self.nodes.len()).filter(is_model_node).flat_map(|index| &self.nodes[index].input) {
            if let Ok(Source::Node(node, _) | Source::Control(node) | Source::Fed(node, _)) =
                self.source(input)
            {
                is_end[node] = false;
            }
        }
        for (node, _) in self.fed.keys() {
            is_end[*node] = false;
        }
        (0..self.nodes.len()).filter(is_model_node).filter(|index| is_end[*index]).collect()
    }
}

impl<'a, 'g> Importer<'a, 'g> {
    /// Returns the nodes of fetched tensors, and the placeholders to which the options give a shape.
    ///
    /// # Errors
    /// A fetched name is not in the model.
    pub(super) fn roots(
        &mut self,
        frame: &Frame<'a, 'g>,
        fetches: &[&str],
        names: &SignatureNames,
    ) -> Result<Vec<usize>> {
        let mut roots = Vec::new();
        for fetch in fetches {
            let tensor = names.fetched(fetch, |name| frame.by_name.contains_key(name));
            match frame.tensor(tensor) {
                Some(tensor) if frame.fed.contains_key(&tensor) => {}
                Some((node, _)) => roots.push(node),
                None => {
                    let name = split_name(tensor).0;
                    if let Some(call) = self.call_around(frame, name) {
                        roots.push(call);
                        self.fetched_inside.push(name.to_string());
                        continue;
                    }
                    // The caller knows the names of the signature, and not the ends of the graph.
                    let served: Vec<&str> = names.outputs().collect();
                    let ends = frame.unread_nodes().into_iter().map(|index| frame.nodes[index].name.as_str());
                    let ends: Vec<&str> = if served.is_empty() { ends.collect() } else { served.clone() };
                    let nodes = frame.nodes.iter().map(|node| node.name.as_str());
                    let near = served.into_iter().chain(nodes).collect();
                    let message = format!("there is no node named {name}");
                    return Err(names.unknown_fetch(message, name, near, ends.into_iter()));
                }
            }
        }
        // A placeholder with an overridden shape becomes an input even if no fetched tensor needs it.
        roots.extend((0..frame.nodes.len()).filter(|&index| {
            let node = &frame.nodes[index];
            is_placeholder(&node.op) && node.input.is_empty() && self.override_of(&node.name).is_some()
        }));
        Ok(roots)
    }

    /// Returns the tensors that the options feed.
    ///
    /// # Errors
    /// A fed name is not in the model, or names an auxiliary node, which this crate's export added for TensorFlow and
    /// which the import skips.
    pub(super) fn fed_tensors(
        &self,
        frame: &Frame<'a, 'g>,
        names: &SignatureNames,
    ) -> Result<BTreeSet<TensorRef>> {
        let mut fed = BTreeSet::new();
        for feed in &self.options.feeds {
            let refuse = |message: String| Err(Error::new(ErrorKind::Attribute, Phase::Build, message));
            let tensor = names.fed(feed, |name| frame.by_name.contains_key(name));
            let Some(tensor) = frame.tensor(tensor) else {
                if let Some(call) = self.call_around(frame, split_name(feed).0) {
                    let call = &frame.nodes[call].name;
                    return refuse(format!(
                        "a fed tensor must be in the main graph, got {feed}, which is in the function that {call} calls"
                    ));
                }
                let message = format!("a fed tensor must be in the model, got {feed}");
                let inputs: Vec<&str> = names.inputs().collect();
                // The caller knows the names in the signature, not the names of its placeholders.
                if !inputs.is_empty() {
                    return Err(names.unknown_feed(message, feed, inputs.clone(), inputs.into_iter()));
                }
                let nodes = frame.nodes.iter().map(|node| node.name.as_str()).collect();
                let placeholders =
                    frame.nodes.iter().filter(|node| is_placeholder(&node.op) && node.input.is_empty());
                let placeholders = placeholders.map(|node| node.name.as_str());
                return Err(names.unknown_feed(message, split_name(feed).0, nodes, placeholders));
            };
            if frame.is_auxiliary(tensor.0) {
                return refuse(format!(
                    "{feed} cannot be fed: its reader takes the value from an attribute, not from this tensor"
                ));
            }
            fed.insert(tensor);
        }
        Ok(fed)
    }

    /// Makes an input of every fed tensor. Nodes of the frame read the input instead of the producer's output. A fed
    /// placeholder is left out here, because it becomes an input like every placeholder.
    ///
    /// # Errors
    /// A node lacks the fed output, or the dtype of a fed tensor is unknown.
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
            let input = self.input_names.get(name.as_str()).copied().unwrap_or(&name);
            let value = self.graph.input_at(input, dtype, shape, self.location)?;
            frame.fed.insert(tensor, ImportedValue::of(value));
        }
        Ok(())
    }

    /// Infers dtypes and shapes of fed tensors from their producers, in a temporary graph.
    ///
    /// TensorFlow also infers static shapes before it replaces fed tensors.
    ///
    /// # Errors
    /// A node lacks the fed output.
    fn inferred_types(&self, fed: &[TensorRef]) -> Result<BTreeMap<TensorRef, KnownType>> {
        let graph = Graph::new();
        let options = ImportOptions { feeds: Vec::new(), allow_unknown: true, ..self.options.clone() };
        let mut importer = Importer::new(self.source, &options, &graph);
        // A run may feed a placeholder with other sizes than its default has.
        importer.ignores_defaults = true;
        let mut frame = Frame::of_graph(self.model, &self.functions)?;
        let producers: Vec<usize> = fed.iter().map(|(node, _)| *node).collect();
        let order = frame.order(&producers)?;
        frame.place(&order)?;
        let all: Vec<usize> = (0..frame.nodes.len()).collect();
        importer.record_reader_dtypes(&frame, &all);
        let built = importer.build(&frame, &order)?;
        let mut tensors = BTreeMap::new();
        for &(index, output) in fed {
            let node = &frame.nodes[index];
            let outputs = built[index].as_ref().map_or(&[][..], |built| &built.outputs);
            let Some(imported) = outputs.get(output) else {
                let message = format!(
                    "a fed tensor must be in the model, got {}: {} has {}",
                    frame.tensor_name((index, output)),
                    node.op,
                    counted(outputs.len(), "output")
                );
                return Err(Error::new(ErrorKind::Attribute, Phase::Build, message));
            };
            let mut shape = with_fresh_unknowns(&imported.value.shape());
            if let Some(AttrKind::List(list)) = frame.attr(index, OUTPUT_SHAPES)
                && let Some(declared) = list.shape.get(output)
                && let Ok(merged) = shape.merge_with(&shape::from_proto(declared, &self.budget)?)
            {
                shape = merged;
            }
            let dtype = imported.has_known_dtype.then(|| imported.value.dtype());
            tensors.insert((index, output), (dtype, shape));
        }
        Ok(tensors)
    }
}

/// Keeps known sizes, and dimensions that are linear in one named symbol, such as `2*n+1`. Every other dimension
/// becomes a fresh unknown, because a fed tensor need not agree with other tensors of the model.
fn with_fresh_unknowns(shape: &TensorShape) -> TensorShape {
    let Some(dims) = shape.dims() else { return TensorShape::unranked() };
    let dims = dims.iter().map(|dim| match dim.as_linear() {
        Some((_, symbol, _)) if !symbol.is_anonymous() => dim.clone(),
        None if dim.is_known() => dim.clone(),
        _ => Unknown.into_dim(),
    });
    TensorShape::new(dims.collect::<Vec<Dim>>())
}
