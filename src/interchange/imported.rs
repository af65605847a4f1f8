//! `Imported`: a graph built from a model, with the model's names.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::panic::Location;
use std::sync::Arc;

use shapeflow_shape_fns::{DType, TensorShape, counted};

use super::node_usage::NodeUsage;
use super::options::GIVEN_SHAPE;
use super::signature_names::SignatureNames;
use super::state_variable::{StateRecord, StateVariable};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{DimNames, Graph, Value, ValueId};

/// A graph built from a model, with the model's names of nodes and tensors.
#[derive(Debug)]
pub struct Imported {
    pub(super) graph: Graph,
    pub(super) nodes: Vec<NodeRecord>,
    pub(super) by_name: HashMap<String, usize>,
    /// The names of the nodes of the main graph that the import left out: no fetched node needs them.
    pub(super) left_out: HashSet<String>,
    /// The tensors that the import was to compute; empty for all tensors.
    pub(super) fetches: Vec<String>,
    /// The names of tensors in the SavedModel's signature.
    pub(super) names: SignatureNames,
    /// The inputs of the graph with their names, in order.
    pub(super) inputs: Vec<(String, ValueId)>,
    /// The outputs of the SavedModel's signature: each name in the signature, and the tensor.
    pub(super) outputs: Vec<(String, String)>,
    /// All nodes of the model that the import has built, also inside functions.
    pub(super) built: Vec<BuiltNode>,
    /// The variables that are inputs, because nodes write them.
    pub(super) state: Vec<StateRecord>,
}

/// An imported node.
#[derive(Debug)]
pub(super) struct NodeRecord {
    pub name: String,
    pub op: String,
    /// The outputs of the node. `None` stands for an output that was not imported: another output of the node is fed,
    /// and no imported node reads this output.
    pub outputs: Vec<Option<ImportedOutput>>,
    /// The reason why inference refused this node, if it did.
    pub error: Option<Error>,
    /// The reason why the values of the node cannot be used, if they cannot: inference refused the node itself, or a
    /// node that it depends on.
    pub blocking_error: Option<Error>,
    /// Whether the node became an input of the graph.
    pub is_input: bool,
    /// Whether another imported node reads an output of this node.
    pub is_read: bool,
}

/// An output of a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct ImportedOutput {
    pub value: ValueId,
    /// Whether the dtype is known. The dtype of an output of an unknown op may be unknown; the value then has `f32`.
    pub has_known_dtype: bool,
    /// Whether the value is an input that replaces the node's output.
    pub is_fed: bool,
    /// Whether the output is the handle of a resource. The value then has no meaning.
    pub is_resource: bool,
}

/// What is known of an output besides its dtype and shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OutputKind {
    Tensor,
    /// A tensor whose dtype is unknown. Its value has `f32`.
    UnknownDType,
    /// The handle of a resource. Its value has no meaning.
    Resource,
}

/// A node of the model, also of a function, and the nodes of the graph that it became.
#[derive(Debug)]
pub(super) struct BuiltNode {
    pub op: String,
    pub name: String,
    /// The kind of each output; empty if all outputs are tensors of known dtypes.
    pub kinds: Box<[OutputKind]>,
    /// The nodes of the graph that the import made for this node. For a node in a branch or a loop: the nodes of the
    /// outermost branch or loop, or `None` while this branch or loop is under construction.
    pub nodes: Option<Range<u32>>,
    /// The outputs of a node in a function; empty for a node of the main graph, which has a [`NodeRecord`], and for a
    /// node in a complete branch or loop, whose values are not values of the graph.
    pub values: Box<[InnerValue]>,
    /// What is known of a node in a branch or a loop, whose own nodes are not nodes of the graph.
    pub in_region: Option<RegionNode>,
}

/// An output of a node in a function.
#[derive(Debug)]
pub(super) struct InnerValue {
    pub value: ValueId,
    /// The reason why the value cannot be used, if it cannot.
    pub blocking_error: Option<Error>,
}

/// A node of the model in a branch or a loop.
#[derive(Debug)]
pub(super) struct RegionNode {
    /// What computes the node.
    pub usage: NodeUsage,
    /// Dtype and shape of every output.
    pub outputs: Vec<(Option<DType>, TensorShape)>,
    /// The names of the unknown dimensions of the branch or the loop.
    pub names: Arc<DimNames>,
}

/// A node of the model with its inferred dtypes and shapes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ImportedNode<'a> {
    /// The name in the model.
    pub name: &'a str,
    /// The op type in the model.
    pub op: &'a str,
    /// Dtype and shape of every output. The dtype is `None` if the op is unknown and nothing declares the dtype.
    pub outputs: Vec<(Option<DType>, TensorShape)>,
    /// For every output: whether it is the handle of a resource, which is a variable or a lookup table. A handle has no
    /// dtype, and its shape is unknown.
    pub is_resource: Vec<bool>,
    /// The reason why inference refused the node, if it did. The outputs of a refused node have unknown shapes.
    pub error: Option<&'a Error>,
    /// The names of the unknown dimensions in `outputs`, if the node is in a branch or a loop. The graph has the names
    /// for all other nodes, see [`Graph::dim_names`].
    pub dim_names: Option<&'a DimNames>,
}

impl Imported {
    /// Returns the graph. The inputs of the graph are the placeholders of the model and the fed tensors, under
    /// the model's names, or under the names of the signature that
    /// [`ImportOptions::signature`](super::ImportOptions::signature) chose.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Returns the graph without the model's names.
    pub fn into_graph(self) -> Graph {
        self.graph
    }

    /// Returns the tensor with this name: `NAME`, `NAME:i` for output `i` of a node, or its name in the signature of a
    /// SavedModel. A tensor in a function has the name `CALL/NODE` or `CALL/NODE:i`, see
    /// [`Imported::function_nodes`]; the tensors of a model that TensorFlow 2 saved are such tensors.
    ///
    /// An output of the signature takes precedence over an input of the same name. Both take precedence over a node of
    /// this name (write `NAME:0`), but not if the import was given fetches and no signature.
    ///
    /// ```
    /// use shapeflow::interchange::{ImportOptions, Model};
    ///
    /// let text = r#"
    ///     node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
    ///     node { name: "y" op: "Relu" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
    /// "#;
    /// let imported = Model::from_text(text)?.import(None, &ImportOptions::new())?;
    /// let exe = imported.graph().compile(imported.value("y")?)?;
    /// assert_eq!(exe.inputs()[0].name, "x");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The node or output does not exist or was not imported, or inference refused the node or a node that it depends
    /// on; or the node is in a branch, a loop, or a function that several calls share.
    #[track_caller]
    pub fn value(&self, name: &str) -> Result<Value<'_>> {
        let location = Location::caller();
        let tensor = self.names.fetched(name, |name| self.by_name.contains_key(name));
        self.tensor(tensor).map_err(|error| error.or_at(location))
    }

    /// Returns the tensor `NAME` or `NAME:i` of a node.
    fn tensor(&self, tensor: &str) -> Result<Value<'_>> {
        let (node, output) = split_name(tensor);
        let Some(record) = self.by_name.get(node).and_then(|index| self.nodes.get(*index)) else {
            return self.inner_tensor(node, output);
        };
        let found = record.outputs.get(output);
        if let Some(error) = &record.blocking_error
            && !matches!(found, Some(Some(output)) if output.is_fed)
        {
            return Err(error.clone());
        }
        match found {
            Some(Some(output)) => self.graph.value(output.value),
            Some(None) => refuse(format!(
                "output {output} of {node} ({}) must be among the fetches of the import, because another output is fed",
                record.op
            )),
            None => refuse(no_output(node, output, &record.op, record.outputs.len())),
        }
    }

    /// Returns the tensor of a node in a function.
    fn inner_tensor(&self, node: &str, output: usize) -> Result<Value<'_>> {
        let Some(built) = self.latest(node) else {
            if self.left_out.contains(node) {
                return Err(self.error_of_left_out(node));
            }
            return Err(self.error_of_unknown(node));
        };
        if built.in_region.is_some() {
            let error = Error::new(
                ErrorKind::Attribute,
                Phase::Build,
                format!(
                    "a tensor of a branch, a loop or a shared function has no value outside, got {node} ({})",
                    built.op
                ),
            );
            return Err(error.with_help(
                "fetch an output of the branch or the loop, or, for a shared function, name the tensor in the fetches of \
                 `Model::import`, which then makes a copy of the function",
            ));
        }
        match built.values.get(output) {
            Some(InnerValue { blocking_error: Some(error), .. }) => Err(error.clone()),
            Some(found) => self.graph.value(found.value),
            None => refuse(no_output(node, output, &built.op, built.values.len())),
        }
    }

    /// Checks that each fetched node has the output whose number the fetch gives. Two fetches pass unchecked: of a
    /// refused node, because its number of outputs may be unknown; and of a name without a number, because the node may
    /// have no outputs.
    pub(super) fn check_fetched_outputs(&self) -> Result<()> {
        for fetch in &self.fetches {
            let tensor = self.names.fetched(fetch, |name| self.by_name.contains_key(name));
            let (node, output) = split_name(tensor);
            if node == tensor {
                continue;
            }
            let (op, count) = match self.by_name.get(node).and_then(|index| self.nodes.get(*index)) {
                Some(record) if record.blocking_error.is_some() => continue,
                Some(record) => (&record.op, record.outputs.len()),
                None => match self.latest(node) {
                    Some(built) => (&built.op, built.values.len()),
                    None => continue,
                },
            };
            if output >= count {
                return refuse(no_output(node, output, op, count));
            }
        }
        Ok(())
    }

    /// Returns the error of a node of the model that the import left out.
    fn error_of_left_out(&self, node: &str) -> Error {
        let fetches: Vec<&str> = self.fetches.iter().take(5).map(|name| without_zero(name)).collect();
        let fetches = match (fetches.len(), self.fetches.len() - fetches.len()) {
            (0, _) => "no result".to_string(),
            (_, 0) => format!("none of the fetches {}", fetches.join(", ")),
            (_, more) => format!("none of the fetches {}, … {more} more", fetches.join(", ")),
        };
        let message = format!("{node} is a node of the model, but it was not imported: {fetches} needs it");
        Error::new(ErrorKind::Attribute, Phase::Build, message)
            .with_help("add the node to the fetches of `Model::import`")
    }

    /// Checks that inference refused no node, neither of the model nor of its functions.
    ///
    /// # Errors
    /// Inference refused some nodes. The error lists all of them.
    pub fn check(&self) -> Result<()> {
        // Many nodes may depend on the shape that the options give an input. One note is enough.
        let mut given = HashSet::new();
        let mut is_repeated = |note: &str| note.contains(GIVEN_SHAPE) && !given.insert(note.to_string());
        let data = self.graph.read();
        let refused = data.refused.values().cloned().map(|error| error.without_notes(&mut is_repeated));
        Error::join(refused.collect()).map_or(Ok(()), Err)
    }

    /// Returns the placeholders and fed tensors with the names of the graph's inputs, in the order in which an
    /// executable takes them.
    pub fn inputs(&self) -> impl Iterator<Item = (&str, Value<'_>)> {
        self.inputs.iter().filter_map(|(name, id)| Some((name.as_str(), self.graph.value(*id).ok()?)))
    }

    /// Returns the outputs of the SavedModel's signature, each with its name in the signature; none if the model has no
    /// signature.
    ///
    /// # Errors
    /// As [`Imported::value`].
    #[track_caller]
    pub fn outputs(&self) -> Result<Vec<(&str, Value<'_>)>> {
        let location = Location::caller();
        let value = |tensor| self.tensor(tensor).map_err(|error: Error| error.or_at(location));
        self.outputs.iter().map(|(name, tensor)| Ok((name.as_str(), value(tensor)?))).collect()
    }

    /// Returns the variables that are inputs, in the order of their names: those that the model writes, and with
    /// [`ImportOptions::variable_inputs`](super::ImportOptions::variable_inputs) those that it only reads. Without
    /// [`ImportOptions::stateful`](super::ImportOptions::stateful), there are none.
    ///
    /// # Errors
    /// The value of a variable after the run depends on a refused node, or the import cannot follow a node that writes
    /// it.
    #[track_caller]
    pub fn state(&self) -> Result<Vec<StateVariable<'_>>> {
        let location = Location::caller();
        let variables = self.state.iter().map(|record| {
            let after = record.after.clone().map_err(|error| error.or_at(location))?;
            Ok(StateVariable {
                variable: &record.variable,
                input: &record.input,
                initial: &record.initial,
                before: self.graph.value(record.before)?,
                after: self.graph.value(after)?,
            })
        });
        variables.collect()
    }

    /// Returns the name of the input that a tensor became. The tensor is `NAME`, `NAME:i`, or its name in the signature
    /// of a SavedModel.
    pub fn input_name(&self, tensor: &str) -> Option<&str> {
        let tensor = self.names.fed(tensor, |name| self.by_name.contains_key(name));
        let value = self.tensor(tensor).ok()?.id();
        self.inputs.iter().find(|(_, input)| *input == value).map(|(name, _)| name.as_str())
    }

    /// Returns the imported nodes in the order of the model, without the nodes inside functions: see
    /// [`Imported::function_nodes`].
    ///
    /// ```
    /// use shapeflow::interchange::{ImportOptions, Model};
    ///
    /// let text = r#"node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }"#;
    /// let imported = Model::from_text(text)?.import(None, &ImportOptions::new())?;
    /// let ops: Vec<_> = imported.nodes().map(|node| (node.name, node.op)).collect();
    /// assert_eq!(ops, [("x", "Placeholder")]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub fn nodes(&self) -> impl Iterator<Item = ImportedNode<'_>> {
        self.nodes.iter().map(|record| ImportedNode {
            name: &record.name,
            op: &record.op,
            outputs: record
                .outputs
                .iter()
                .map(|output| match output {
                    Some(output) => {
                        let (dtype, shape) = type_of(&self.graph, output.value);
                        (dtype.filter(|_| output.has_known_dtype), shape)
                    }
                    None => (None, TensorShape::unranked()),
                })
                .collect(),
            is_resource: record
                .outputs
                .iter()
                .map(|output| output.is_some_and(|output| output.is_resource))
                .collect(),
            error: record.error.as_ref(),
            dim_names: None,
        })
    }

    /// Returns the nodes inside functions, each named `CALL/NODE`, in the order of the import. A function that several
    /// calls share has its nodes once, named after the first call. [`Imported::value`] takes these names.
    ///
    /// ```
    /// use shapeflow::TensorView;
    /// use shapeflow::interchange::{ImportOptions, Model};
    ///
    /// let text = r#"
    ///     node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
    ///     node { name: "call" op: "layer" input: "x" }
    ///     library { function {
    ///         signature { name: "layer" input_arg { name: "a" type: DT_FLOAT } output_arg { name: "b" type: DT_FLOAT } }
    ///         node_def { name: "hidden" op: "Relu" input: "a" attr { key: "T" value { type: DT_FLOAT } } }
    ///         node_def { name: "y" op: "Neg" input: "hidden:activations" attr { key: "T" value { type: DT_FLOAT } } }
    ///         ret { key: "b" value: "y:y" }
    ///     } }
    /// "#;
    /// let imported = Model::from_text(text)?.import(None, &ImportOptions::new())?;
    /// let names: Vec<&str> = imported.function_nodes().map(|node| node.name).collect();
    /// assert_eq!(names, ["call/hidden", "call/y"]);
    /// let exe = imported.graph().compile([imported.value("call/hidden")?, imported.value("call")?])?;
    /// let [hidden, y] = exe.run(&[TensorView::new(&[2], &[-1.0f32, 2.0])?])?;
    /// assert_eq!((hidden.to_vec::<f32>()?, y.to_vec::<f32>()?), (vec![0.0, 2.0], vec![0.0, -2.0]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub fn function_nodes(&self) -> impl Iterator<Item = ImportedNode<'_>> {
        let inner = self.built.iter().filter(|built| !self.by_name.contains_key(&built.name));
        inner.map(|built| {
            let (mut outputs, dim_names) = match &built.in_region {
                Some(node) => (node.outputs.clone(), Some(&*node.names)),
                None => (types_of(&self.graph, &built.values), None),
            };
            for ((dtype, shape), kind) in outputs.iter_mut().zip(built.kinds.iter()) {
                match kind {
                    OutputKind::Tensor => {}
                    OutputKind::UnknownDType => *dtype = None,
                    OutputKind::Resource => (*dtype, *shape) = (None, TensorShape::unranked()),
                }
            }
            let is_resource = |output| built.kinds.get(output) == Some(&OutputKind::Resource);
            let is_resource = (0..outputs.len()).map(is_resource).collect();
            ImportedNode { name: &built.name, op: &built.op, outputs, is_resource, error: None, dim_names }
        })
    }

    /// Returns the names of the nodes that have outputs which no other node reads. These nodes are most likely the
    /// results of the model.
    pub fn fetches(&self) -> impl Iterator<Item = &str> {
        self.ends().map(|record| record.name.as_str())
    }

    /// Returns the nodes that have outputs which no other node reads.
    fn ends(&self) -> impl Iterator<Item = &NodeRecord> {
        self.nodes.iter().filter(|record| !record.is_read && !record.is_input && !record.outputs.is_empty())
    }

    /// Returns the values of the tensors that the import was to compute, also of those that cannot be used.
    pub(super) fn fetched_values(&self) -> Vec<ValueId> {
        if self.fetches.is_empty() {
            return self
                .ends()
                .flat_map(|record| &record.outputs)
                .flatten()
                .map(|output| output.value)
                .collect();
        }
        let value = |fetch: &String| {
            let (node, output) =
                split_name(self.names.fetched(fetch, |name| self.by_name.contains_key(name)));
            match self.by_name.get(node) {
                Some(index) => self.nodes[*index].outputs.get(output)?.map(|output| output.value),
                None => self.latest(node)?.values.get(output).map(|inner| inner.value),
            }
        };
        self.fetches.iter().filter_map(value).collect()
    }

    /// Returns the node with this name, also of a function. A node that was imported again, after its function could
    /// not be shared, has a later record.
    fn latest(&self, node: &str) -> Option<&BuiltNode> {
        self.built.iter().rev().find(|built| built.name == node)
    }

    /// Returns the error of an unknown name. It proposes the nearest name, or else names that can be fetched.
    fn error_of_unknown(&self, name: &str) -> Error {
        let inner = self.built.iter().filter(|built| built.in_region.is_none());
        let nodes = self.nodes.iter().map(|record| record.name.as_str());
        let names = self.names.outputs().chain(nodes).chain(inner.map(|built| built.name.as_str()));
        let mut left_out: Vec<&str> = self.left_out.iter().map(String::as_str).collect();
        left_out.sort_unstable();
        let names = names.chain(left_out).collect();
        self.names.unknown_fetch(format!("there is no node named {name}"), name, names, self.fetches())
    }
}

/// Returns dtype and shape of the outputs of a node in a function, a branch or a loop.
pub(super) fn types_of(graph: &Graph, outputs: &[InnerValue]) -> Vec<(Option<DType>, TensorShape)> {
    outputs.iter().map(|output| type_of(graph, output.value)).collect()
}

/// Returns dtype and shape of a value. A value that a refused call took along has neither.
fn type_of(graph: &Graph, value: ValueId) -> (Option<DType>, TensorShape) {
    match graph.value(value) {
        Ok(value) => (Some(value.dtype()), value.shape()),
        Err(_) => (None, TensorShape::unranked()),
    }
}

/// Returns the error of a tensor that cannot be given.
fn refuse<T>(message: String) -> Result<T> {
    Err(Error::new(ErrorKind::Attribute, Phase::Build, message))
}

/// Formats the message about an output that a node lacks.
fn no_output(node: &str, output: usize, op: &str, count: usize) -> String {
    format!("a tensor must be in the model, got {node}:{output}: {op} has {}", counted(count, "output"))
}

/// Returns the name of a tensor without the suffix `:0` of a first output.
pub(super) fn without_zero(tensor: &str) -> &str {
    tensor.strip_suffix(":0").unwrap_or(tensor)
}

/// Splits `NAME:i` into the name of a node and the number of an output; `NAME` alone stands for output 0.
pub(super) fn split_name(tensor: &str) -> (&str, usize) {
    match tensor.rsplit_once(':') {
        Some((name, output)) => match output.parse() {
            Ok(output) => (name, output),
            Err(_) => (tensor, 0),
        },
        None => (tensor, 0),
    }
}
