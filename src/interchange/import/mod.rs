//! Builds a graph from a TensorFlow model.
//!
//! A `frame` holds the nodes of the main graph or of one function, resolves their names and orders them. `feed` finds
//! the fed and fetched tensors, and `unknown` refuses unknown ops. Then every node is built in order. `structural`,
//! `placeholder`, `call` and `control` build structural nodes: placeholders, constants, calls, branches, loops and
//! assertions. `awaited` follows control edges. `resource` and `table` build nodes that make or read variables and
//! lookup tables, and `initial` finds the content of these. `stateful` follows the values of variables that nodes
//! write, and `generator` those of random generators. `inner` finds tensors in functions. `node` builds all other ops
//! with the help of `attrs`, `typed` and `definitions`.

mod attrs;
mod awaited;
mod built;
mod call;
mod control;
mod counted_loop;
mod definitions;
mod feed;
mod find_switches;
mod frame;
mod generator;
mod handle;
mod import_ops;
mod importer;
mod initial;
mod inner;
mod levels;
mod list_items;
mod list_output;
mod lists;
mod node;
mod optimizers;
mod placeholder;
#[cfg(feature = "strings")]
mod print;
mod random;
mod random_ops;
mod regions;
mod resource;
mod shared_call;
mod shared_function;
mod sharing;
mod state;
mod stateful;
mod structural;
mod switches;
mod table;
mod typed;
mod unknown;
mod writes;
mod written;
mod xla;

pub use import_ops::import_ops;

use std::collections::HashMap;
use std::panic::Location;

use super::AUXILIARY;
use super::imported::{BuiltNode, Imported, ImportedOutput, NodeRecord, OutputKind, without_zero};
use super::model::Model;
use super::options::ImportOptions;
use super::proto::NodeDef;
use super::signature_names::{SignatureNames, check_tensors};
use super::state_variable::StateRecord;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{NodeIx, ValueIx};
use crate::nearest::nearest;
use awaited::{Controls, reads_shapes_only};
use built::{Built, ImportedValue, union};
use frame::{Frame, Source};
use handle::makes_resource;
use importer::Importer;
use lists::{is_list_op, passes_list, takes_lists};
use random_ops::is_random_op;
use stateful::import_all;
use structural::is_structural;
use writes::node_index;

impl Model {
    /// Builds a graph from the model.
    ///
    /// `fetches` selects tensors, each `NAME` or `NAME:i`: the graph has the nodes that they need. A tensor in a
    /// function is `CALL/NODE` or `CALL/NODE:i`, see [`Imported::function_nodes`]. `None` selects the outputs of a
    /// SavedModel's signature: the signature that [`ImportOptions::signature`] names, else `serving_default`, or the
    /// only signature. Without a signature, `None` imports every node.
    ///
    /// Shapes are inferred as far as the shapes of the placeholders allow. A node that inference refuses keeps its
    /// error, see [`Imported::nodes`]. Its outputs have unknown shapes, and inference goes on with the other nodes.
    ///
    /// Each tensor of [`ImportOptions::feeds`] becomes an input. The node that computes a fed tensor is not
    /// imported, unless another output of this node is needed. Nodes that only such a node needs are not imported
    /// either.
    ///
    /// The variables of a SavedModel become constants, with the values that its checkpoint has. A run changes no
    /// variable: a write that no output can show is left out, unless it is inside a branch or a loop; any other write
    /// is refused. With [`ImportOptions::stateful`], written variables are inputs and results instead. The random
    /// numbers of a `tf.random.Generator` are an exception, see [`ImportOptions::random_seed`].
    ///
    /// A function is inlined if it is called once, if it has at most 64 nodes, or if inlining all functions of the
    /// model adds at most 4,096 nodes. Otherwise its calls share one compiled graph: the nodes of the function are
    /// named after the first call, and each call is a node that runs on the host, in about 1 µs. Two calls share a
    /// graph if their arguments have the same dtypes, ranks, known sizes and small constants; after 4 such graphs, the
    /// other calls share graphs in which sizes above 1 are unknown. A function that draws random numbers, writes a
    /// variable, takes a list or returns a variable is inlined.
    ///
    /// `If`, `Case` and `While` become nodes of control flow, see [`Graph::cond`](crate::Graph::cond) and
    /// [`Graph::while_loop`](crate::Graph::while_loop); an `If` with a constant predicate becomes the chosen branch. A
    /// node that may fail, such as an `Assert`, runs before the nodes that a control edge from it leads to. A node that
    /// reads only the shape of a tensor does not compute the tensor. An op without a kernel has shapes but does not
    /// compile.
    ///
    /// # Errors
    /// - `Parse`: the model is damaged: two nodes share a name, an input does not exist, or nodes form a cycle.
    /// - `UnknownOp`: nodes that are built have unknown ops; the message lists all of them.
    /// - `Attribute`: the model lacks a fetched or fed tensor or the chosen signature, [`ImportOptions::shapes`] names
    ///   neither a placeholder nor a fed tensor, or a variable has no value.
    /// - `DType`: the dtype of a fed tensor is unknown.
    /// - `Memory`: the model exceeds a limit.
    #[track_caller]
    pub fn import(&self, fetches: Option<&[&str]>, options: &ImportOptions) -> Result<Imported> {
        let location = Location::caller();
        let chosen = self.chosen_signature(options).map_err(|error| error.or_at(location))?;
        let signature = chosen.and_then(|name| self.signatures.get(name));
        let (is_chosen, is_served) = (options.signature.is_some(), fetches.is_none());
        let inputs = signature.filter(|_| is_chosen).map_or(&[][..], |signature| &signature.inputs);
        check_tensors("input", inputs).map_err(|error| error.or_at(location))?;
        check_tensors(
            "output",
            signature.filter(|_| is_served).map_or(&[][..], |signature| &signature.outputs),
        )
        .map_err(|error| error.or_at(location))?;
        let names = SignatureNames::of(&self.signatures, chosen, is_chosen || is_served);
        let outputs = signature.map_or(Vec::new(), |signature| signature.outputs.clone());
        let served: Vec<String> = outputs.iter().map(|(_, tensor)| with_output(tensor)).collect();
        let served: Vec<&str> = served.iter().map(String::as_str).collect();
        let fetches = fetches.or(if served.is_empty() { None } else { Some(&served) });
        let mut options = options.clone();
        for (name, _) in &mut options.shapes {
            let is_node = |name: &str| self.graph.node.iter().any(|node| node.name == name);
            *name = names.fed(name, is_node).to_owned();
        }
        options.feeds.extend(inputs.iter().map(|(_, tensor)| with_output(tensor)));
        let (graph, (records, built)) = import_all(self, &options, |importer| {
            importer.input_names =
                inputs.iter().map(|(name, tensor)| (without_zero(tensor), name.as_str())).collect();
            let records = importer.run(fetches, &names)?;
            Ok((records, std::mem::take(&mut importer.built_nodes)))
        })
        .map_err(|error| error.or_at(location))?;
        let Records { nodes, by_name, state } = records;
        let inputs = graph.named_inputs();
        let is_left_out =
            |node: &&NodeDef| !by_name.contains_key(&node.name) && !node.attr.contains_key(AUXILIARY);
        let left_out = self.graph.node.iter().filter(is_left_out).map(|node| node.name.clone()).collect();
        let fetches = fetches.unwrap_or_default().iter().map(|name| (*name).to_string()).collect();
        let imported =
            Imported { graph, nodes, by_name, left_out, fetches, names, inputs, outputs, built, state };
        imported.check_fetched_outputs().map_err(|error| error.or_at(location))?;
        Ok(imported)
    }

    /// Returns the name of the signature that the options choose. Without a choice, the result is `serving_default`, or
    /// the only signature.
    fn chosen_signature<'m>(&'m self, options: &'m ImportOptions) -> Result<Option<&'m str>> {
        let Some(name) = &options.signature else {
            return Ok(self.default_signature());
        };
        if !self.signatures.contains_key(name) {
            let names: Vec<&str> = self.signatures.keys().map(String::as_str).collect();
            let message = match names.len() {
                0 => format!("the model must have a signature {name}, got no signatures"),
                _ => format!("the model must have a signature {name}, got {}", names.join(", ")),
            };
            let error = Error::new(ErrorKind::Attribute, Phase::Build, message);
            return Err(match nearest(name, names.into_iter()) {
                Some(near) => error.with_help(format!("is it {near:?}?")),
                None => error,
            });
        }
        Ok(Some(name))
    }
}

/// What the import of a model records.
struct Records {
    /// The nodes of the main graph, in the order of the model.
    nodes: Vec<NodeRecord>,
    /// The index of each node by its name.
    by_name: HashMap<String, usize>,
    /// The variables that are inputs.
    state: Vec<StateRecord>,
}

impl<'a, 'g> Importer<'a, 'g> {
    /// Imports the nodes that the fetched tensors need.
    fn run(&mut self, fetches: Option<&[&str]>, names: &SignatureNames) -> Result<Records> {
        let mut frame = Frame::of_graph(self.model, &self.functions)?;
        let fed = self.fed_tensors(&frame, names)?;
        self.check_overrides(&frame, &fed)?;
        self.feed(&mut frame, &fed)?;
        let mut state = self.add_state_inputs()?;
        let mut roots = match fetches {
            Some(fetches) => self.roots(&frame, fetches, names)?,
            None if frame.fed.is_empty() => {
                (0..frame.nodes.len()).filter(|&index| !frame.is_auxiliary(index)).collect()
            }
            None => frame.unread_nodes(),
        };
        // A fed placeholder becomes an input even if no fetched tensor needs it.
        roots.extend(fed.iter().filter(|tensor| !frame.fed.contains_key(tensor)).map(|(node, _)| *node));
        // The second search starts from the nodes in the order of the model, so its result keeps this order where the
        // edges allow it.
        let mut needed = frame.order(&roots)?;
        needed.sort_unstable();
        let order = frame.order(&needed)?;
        frame.place(&order)?;
        self.record_reader_dtypes(&frame, &order);
        let mut is_read = vec![false; frame.nodes.len()];
        for input in order.iter().flat_map(|&index| &frame.nodes[index].input) {
            if let Ok(Source::Node(node, _) | Source::Fed(node, _)) = frame.source(input) {
                is_read[node] = true;
            }
        }
        let built = self.build(&frame, &order);
        // An unknown op may be the reason why the nodes cannot be built.
        self.check_ops()?;
        let mut built = built?;
        for imported in built.iter_mut().flatten().flat_map(|node| &mut node.outputs) {
            *imported = self.with_pending_checks(imported.clone())?;
        }
        self.check_fetched_inside()?;
        self.finish_state(&mut state)?;
        let errors_of_writes = self.errors_of_writes();
        self.block_written(&errors_of_writes);
        let mut records = Vec::with_capacity(order.len());
        let mut by_name = HashMap::with_capacity(order.len());
        for (index, node) in frame.nodes.iter().enumerate() {
            let mut fed = frame.fed.range((index, 0)..=(index, usize::MAX)).peekable();
            let built = match (built[index].take(), fed.peek()) {
                (Some(built), _) => built,
                (None, Some(_)) => Built { is_input: true, ..Built::default() },
                (None, None) => continue,
            };
            let output_of = |imported: &ImportedValue<'g>, is_fed| ImportedOutput {
                value: imported.value.id(),
                has_known_dtype: imported.has_known_dtype,
                is_fed,
                is_resource: !is_fed && (imported.is_handle() || makes_resource(&node.op)),
            };
            let mut outputs: Vec<Option<ImportedOutput>> =
                built.outputs.iter().map(|imported| Some(output_of(imported, false))).collect();
            for ((_, output), imported) in fed {
                outputs.resize(outputs.len().max(output + 1), None);
                outputs[*output] = Some(output_of(imported, true));
            }
            let written = || {
                let mut values =
                    outputs.iter().flatten().filter_map(|output| self.graph.value(output.value).ok());
                values.find_map(|value| errors_of_writes.get(&node_index(value)?).cloned())
            };
            by_name.insert(node.name.clone(), records.len());
            records.push(NodeRecord {
                blocking_error: built.blocking_error.or_else(written),
                name: node.name.clone(),
                op: node.op.clone(),
                outputs,
                error: built.error,
                is_input: built.is_input,
                is_read: is_read[index],
            });
        }
        Ok(Records { nodes: records, by_name, state })
    }

    /// Builds one node. If inference refuses the node, this builds an opaque node in its place and records the error in
    /// [`Built::error`].
    ///
    /// # Errors
    /// An error that ends the whole import: the model exceeds a limit, memory is refused, or the text of an input is
    /// invalid.
    fn node(
        &mut self,
        frame: &Frame<'a, 'g>,
        index: usize,
        built: &[Option<Built<'g>>],
    ) -> Result<Built<'g>> {
        self.budget.node()?;
        self.note_op(frame, index);
        let def = &frame.nodes[index];
        let name = frame.full_name(def);
        let first = self.graph.len() as u32;
        let mut inputs = Vec::with_capacity(def.input.len());
        let Controls { mut checks, mut blocking_error } = self.controls(frame, index, built)?;
        let mut refused = None;
        for (number, input) in def.input.iter().enumerate() {
            let source = frame.source(input)?;
            let imported = match source {
                Source::Control(_) | Source::ControlArgument(_) => continue,
                Source::Node(node, _) if frame.is_auxiliary(node) => {
                    inputs.push(None);
                    continue;
                }
                Source::Argument(name) => frame.args.get(name),
                Source::Fed(node, output) => frame.fed.get(&(node, output)),
                Source::Node(node, output) => {
                    built.get(node).and_then(Option::as_ref).and_then(|built| built.outputs.get(output))
                }
            };
            refused = refused.or_else(|| self.unknown_output(frame, number, input, built));
            match imported {
                Some(imported) => {
                    blocking_error = blocking_error.or_else(|| imported.blocking_error.clone());
                    checks = union(&checks, &imported.pending);
                    inputs.push(Some(ImportedValue { pending: None, ..imported.clone() }));
                }
                None => {
                    let message = format!(
                        "input {number} is {input}, which does not exist: the node has fewer outputs"
                    );
                    refused = refused.or(Some(Error::new(ErrorKind::Parse, Phase::Build, message)));
                }
            }
        }
        let present: Vec<ImportedValue<'g>> = inputs.iter().flatten().cloned().collect();
        let built_before = self.built_nodes.len();
        let outcome = match refused {
            Some(error) => Err(error),
            None if is_list_op(&def.op) || takes_lists(&def.op, &present) => {
                self.list_node(frame, index, &name, &present)
            }
            None if passes_list(&def.op, &present) => {
                Ok(Built { outputs: present.clone(), ..Built::default() })
            }
            None => match self.resource_node(frame, index, &name, &present) {
                Ok(None) => self.plain_node(frame, index, &name, &inputs, &present),
                Ok(Some(built)) => Ok(built),
                Err(error) => Err(error),
            },
        };
        let mut result = match outcome {
            Ok(result) => result,
            Err(error) if error.kind() == ErrorKind::Memory => return Err(error),
            Err(error) => self.refused(frame, index, &name, &present, error)?,
        };
        let made = first..self.graph.len() as u32;
        let inside = &self.built_nodes[built_before..];
        let is_inlined = !inside.is_empty() && inside.iter().all(|built| built.nodes.is_some());
        // The outputs of a call, or of a node that passes its inputs on, know what computes them.
        let is_transparent = is_inlined || made.is_empty();
        // Nodes with a control input from this node inherit the conditions that guard its inputs.
        for imported in &present {
            result.checks = union(&result.checks, &imported.checks);
        }
        result.checks = union(&result.checks, &checks);
        result.blocking_error = result.blocking_error.or(blocking_error);
        let may_fail = !is_transparent && self.may_fail(made);
        let has_failing_input = present.iter().any(|input| input.may_fail);
        let computes_inputs = !is_transparent && !reads_shapes_only(&def.op);
        for imported in &mut result.outputs {
            let computes_inputs = computes_inputs && !self.is_inferred(imported.value);
            imported.may_fail |= may_fail || computes_inputs && has_failing_input;
            for input in present.iter().filter(|_| computes_inputs) {
                imported.checks = union(&imported.checks, &input.checks);
            }
            imported.blocking_error =
                imported.blocking_error.take().or_else(|| result.blocking_error.clone());
            *imported = self.guarded(imported.clone(), &checks)?;
        }
        self.complete_awaited(frame, index, &mut result, &present, is_transparent);
        let written = std::mem::take(&mut result.written);
        let values = result.outputs.split_off(result.outputs.len().saturating_sub(written.len()));
        self.write(written, values);
        self.place_regions(built_before, first);
        let end = self.graph.len() as u32;
        // The records of an inlined function's nodes list the graph nodes. The record of the call lists none.
        let nodes = Some(if is_inlined { end..end } else { first..end });
        let kind = |output: &ImportedValue<'g>| match output.has_known_dtype {
            _ if output.is_handle() || makes_resource(&def.op) => OutputKind::Resource,
            true => OutputKind::Tensor,
            false => OutputKind::UnknownDType,
        };
        let is_handle = |output: &&ImportedValue<'g>| kind(output) == OutputKind::Resource;
        let handles = result.outputs.iter().filter(is_handle).filter_map(|output| output.value.index().ok());
        let handles: Vec<ValueIx> = handles.collect();
        self.graph.write().handles.extend(handles);
        let values = self.inner_values(frame, &name, &result.outputs)?;
        let mut kinds: Box<[OutputKind]> = result.outputs.iter().map(kind).collect();
        if kinds.iter().all(|kind| *kind == OutputKind::Tensor) {
            kinds = Box::default();
        }
        self.built_nodes.push(BuiltNode { op: def.op.clone(), name, kinds, nodes, values, in_region: None });
        Ok(result)
    }

    /// Builds a node that neither makes nor uses a resource.
    fn plain_node(
        &mut self,
        frame: &Frame<'a, 'g>,
        index: usize,
        name: &str,
        inputs: &[Option<ImportedValue<'g>>],
        present: &[ImportedValue<'g>],
    ) -> Result<Built<'g>> {
        let op = frame.nodes[index].op.as_str();
        if is_structural(op) || self.functions.contains_key(op) {
            return self.structural_node(frame, index, name, present);
        }
        if is_random_op(op) {
            return self.random_node(frame, index, name, present);
        }
        #[cfg(feature = "strings")]
        if matches!(op, "Print" | "PrintV2") {
            return self.print_node(frame, index, name, present);
        }
        self.op(frame, index, name, inputs)
    }

    /// Builds an opaque node in place of a node that inference refused. Its error has no advice to call methods, which
    /// nobody can follow in a model.
    fn refused(
        &mut self,
        frame: &Frame<'a, 'g>,
        index: usize,
        name: &str,
        inputs: &[ImportedValue<'g>],
        error: Error,
    ) -> Result<Built<'g>> {
        let error = error.with_node(name).without_advice_on_methods();
        let error = self.with_given_shapes(frame, index, error).at(self.location);
        let node = NodeIx(self.graph.len() as u32);
        let mut result = self.opaque(frame, index, name, inputs)?;
        self.graph.write().refused.insert(node, error.clone());
        result.blocking_error = Some(error.clone());
        result.error = Some(error);
        Ok(result)
    }
}

/// Writes the tensor `NAME` as `NAME:0`, which cannot be a name in a signature.
fn with_output(tensor: &str) -> String {
    if tensor.contains(':') { tensor.to_owned() } else { format!("{tensor}:0") }
}
