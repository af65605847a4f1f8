//! From a model to a graph: names, order, and which node becomes what.

mod attrs;
mod call;
mod check;
mod feed;
mod frame;
mod kernels;
mod node;
mod placeholder;
mod typed;
mod unknown;

use std::collections::HashMap;
use std::panic::Location;

use shapeflow_shape_fns::{Attr, DType};

use super::imported::{Imported, Output, Record};
use super::limits::Budget;
use super::model::Model;
use super::options::ImportOptions;
use super::proto::{AttrKind, FunctionDef, GraphDef};
use super::{constant, shape};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{Graph, NodeIx, Value};
use crate::op::{OpDef, OpRef};
use check::{Checks, Condition, union};
use frame::{Frame, Source, damaged};
use kernels::Kernels;
use placeholder::is_placeholder;
use unknown::is_structure;

/// A node that nothing is known of but its operands.
static OPAQUE: OpDef = OpDef::absent("opaque", None)
    .outputs(|attrs, _| match attrs.get("dtypes") {
        Some(Attr::DTypes(dtypes)) => dtypes.len(),
        _ => 0,
    })
    .dtype_rule(|_, attrs| match attrs.get("dtypes") {
        Some(Attr::DTypes(dtypes)) => Ok(dtypes.to_vec()),
        _ => Ok(Vec::new()),
    })
    .shape_fn(|cx| {
        if let Some(Attr::Shapes(shapes)) = cx.attr("shapes") {
            for (output, shape) in shapes.iter().enumerate() {
                let shape = cx.table().import(shape);
                cx.set_output(output, shape);
            }
        }
        Ok(())
    });

/// A tensor while the graph is made.
#[derive(Clone)]
struct Slot<'g> {
    value: Value<'g>,
    /// Whether its dtype is known.
    typed: bool,
    /// Why it cannot be computed: what it comes from was refused.
    blocked: Option<Error>,
    /// The conditions under which it may be used.
    checks: Checks,
}

/// What a node has become.
#[derive(Clone, Default)]
struct Built<'g> {
    outputs: Vec<Slot<'g>>,
    /// The conditions of whatever runs after the node.
    checks: Checks,
    blocked: Option<Error>,
    error: Option<Error>,
    is_input: bool,
}

struct Importer<'a, 'g> {
    model: &'a GraphDef,
    options: &'a ImportOptions,
    graph: &'g Graph,
    functions: HashMap<&'a str, &'a FunctionDef>,
    kernels: Kernels,
    budget: Budget,
    conditions: Vec<Condition<'g>>,
    /// The outputs of unknown ops that have readers, and their dtypes where these say: by node and output of the graph
    /// itself.
    read_as: HashMap<(usize, usize), Option<DType>>,
    /// Whether every placeholder is an input, also one that has a default.
    ignores_defaults: bool,
    location: &'static Location<'static>,
}

impl Model {
    /// Makes a graph of the model: of what `fetches` need, each `NAME` or `NAME:i`, or of all of it. Of a SavedModel,
    /// `None` means what the signature `serving_default` gives, or the only one there is.
    ///
    /// Shapes are inferred as far as the placeholders' shapes allow. A node that inference refuses has the error, see
    /// [`Imported::nodes`]; what it gives is unknown, and the rest is inferred all the same.
    ///
    /// A tensor of [`ImportOptions::feeds`] is an input, and what only its producer needs is not imported.
    ///
    /// Functions are inlined, and so is the branch of an `If` whose predicate is a constant. A failed `Assert` that
    /// something depends on is an error of the run. An op without a kernel here has shapes but does not compile.
    ///
    /// # Errors
    /// `Parse`: the model is damaged: two nodes of one name, inputs that are not there, nodes that need each other.
    /// `UnknownOp`: an op that is not known here; all of them are listed. `Attribute`: a fetched node or a fed tensor is
    /// not in the model, or [`ImportOptions::shapes`] names neither a placeholder nor a fed tensor. `DType`: the dtype of
    /// a fed tensor is not known. `Memory`: the limits are passed.
    pub fn import(&self, fetches: Option<&[&str]>, options: &ImportOptions) -> Result<Imported> {
        let graph = Graph::new();
        let mut aliases = HashMap::new();
        let signature = self.signatures.get("serving_default").or_else(|| match self.signatures.len() {
            1 => self.signatures.values().next(),
            _ => None,
        });
        for (name, tensor) in
            signature.iter().flat_map(|signature| signature.inputs.iter().chain(&signature.outputs))
        {
            aliases.insert(name.clone(), tensor.clone());
        }
        let served: Vec<&str> = signature
            .iter()
            .flat_map(|signature| &signature.outputs)
            .map(|(_, tensor)| tensor.as_str())
            .collect();
        let fetches = fetches.or(if served.is_empty() { None } else { Some(&served) });
        let (nodes, by_name) = {
            let mut importer = Importer::new(&self.graph, options, &graph);
            importer.run(fetches, &aliases)?
        };
        let inputs = graph.named_inputs();
        Ok(Imported { graph, nodes, by_name, aliases, inputs })
    }
}

impl<'a, 'g> Importer<'a, 'g> {
    fn new(model: &'a GraphDef, options: &'a ImportOptions, graph: &'g Graph) -> Importer<'a, 'g> {
        let functions = model.library.iter().flat_map(|library| &library.function);
        let functions = functions
            .filter_map(|function| Some((function.signature.as_ref()?.name.as_str(), function)))
            .collect();
        Importer {
            model,
            options,
            graph,
            functions,
            kernels: Kernels::new(&options.ops),
            budget: Budget::new(&options.limits),
            conditions: Vec::new(),
            read_as: HashMap::new(),
            ignores_defaults: false,
            // A line of ours: what was read from a file is located by its name.
            location: Location::caller(),
        }
    }

    fn run(
        &mut self,
        fetches: Option<&[&str]>,
        aliases: &HashMap<String, String>,
    ) -> Result<(Vec<Record>, HashMap<String, usize>)> {
        let mut frame = Frame::of_graph(self.model)?;
        let fed = self.fed_tensors(&frame, aliases)?;
        self.check_overrides(&frame, &fed)?;
        self.feed(&mut frame, &fed)?;
        let mut roots = match fetches {
            Some(fetches) => self.roots(&frame, fetches, aliases)?,
            None if frame.fed.is_empty() => {
                (0..frame.nodes.len()).filter(|&at| !frame.is_auxiliary(at)).collect()
            }
            None => frame.ends(),
        };
        // A placeholder that is fed is an input, needed or not.
        roots.extend(fed.iter().filter(|tensor| !frame.fed.contains_key(tensor)).map(|(node, _)| *node));
        // As the model has them, as far as nodes stand after what they need there.
        let mut needed = frame.order(&roots)?;
        needed.sort_unstable();
        let order = frame.order(&needed)?;
        self.check_ops(&frame, &order)?;
        self.learn_types(&frame, &order);
        let mut is_read = vec![false; frame.nodes.len()];
        for input in order.iter().flat_map(|&at| &frame.nodes[at].input) {
            if let Ok(Source::Node(node, _) | Source::Fed(node, _)) = frame.source(input) {
                is_read[node] = true;
            }
        }
        let mut built = self.build(&frame, &order)?;
        let mut records = Vec::with_capacity(order.len());
        let mut by_name = HashMap::with_capacity(order.len());
        // As the model has them, not as they were made.
        for (at, node) in frame.nodes.iter().enumerate() {
            let mut fed = frame.fed.range((at, 0)..=(at, usize::MAX)).peekable();
            let built = match (built[at].take(), fed.peek()) {
                (Some(built), _) => built,
                (None, Some(_)) => Built { is_input: true, ..Built::default() },
                (None, None) => continue,
            };
            let of = |slot: &Slot<'g>, is_fed| Output { value: slot.value.id(), typed: slot.typed, is_fed };
            let mut outputs: Vec<Option<Output>> =
                built.outputs.iter().map(|slot| Some(of(slot, false))).collect();
            for ((_, output), slot) in fed {
                outputs.resize(outputs.len().max(output + 1), None);
                outputs[*output] = Some(of(slot, true));
            }
            by_name.insert(node.name.clone(), records.len());
            records.push(Record {
                name: node.name.clone(),
                op: node.op.clone(),
                outputs,
                blocked: built.blocked,
                error: built.error,
                is_input: built.is_input,
                is_read: is_read[at],
            });
        }
        Ok((records, by_name))
    }

    /// Makes the nodes of an order in which each stands after what it needs.
    fn build(&mut self, frame: &Frame<'a, 'g>, order: &[usize]) -> Result<Vec<Option<Built<'g>>>> {
        let mut built: Vec<Option<Built<'g>>> = (0..frame.nodes.len()).map(|_| None).collect();
        for &at in order {
            let node = self.node(frame, at, &built)?;
            built[at] = Some(node);
        }
        Ok(built)
    }

    /// Makes one node. Errors are those of the whole import; what concerns the node alone is in what is made.
    fn node(&mut self, frame: &Frame<'a, 'g>, at: usize, built: &[Option<Built<'g>>]) -> Result<Built<'g>> {
        self.budget.node()?;
        let def = &frame.nodes[at];
        let name = frame.full_name(def);
        let mut inputs = Vec::with_capacity(def.input.len());
        let (mut checks, mut blocked): (Checks, Option<Error>) = (None, None);
        let mut refused = None;
        for (number, input) in def.input.iter().enumerate() {
            let source = frame.source(input)?;
            let slot = match source {
                Source::Control(node) => {
                    if let Some(built) = built.get(node).and_then(Option::as_ref) {
                        checks = union(&checks, &built.checks);
                        blocked = blocked.or_else(|| built.blocked.clone());
                    }
                    continue;
                }
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
            match slot {
                Some(slot) => {
                    blocked = blocked.or_else(|| slot.blocked.clone());
                    inputs.push(Some(slot.clone()));
                }
                None => {
                    let message =
                        format!("input {number} is {input}, which is not there: the node has fewer outputs");
                    refused = refused.or(Some(Error::new(ErrorKind::Parse, Phase::Build, message)));
                }
            }
        }
        let present: Vec<Slot<'g>> = inputs.iter().flatten().cloned().collect();
        let outcome = match refused {
            Some(error) => Err(error),
            None if is_structure(&def.op) || self.functions.contains_key(def.op.as_str()) => {
                self.structure(frame, at, &name, &present)
            }
            None => self.op(frame, at, &name, &inputs),
        };
        let mut made = match outcome {
            Ok(made) => made,
            Err(error) if error.kind() == ErrorKind::Memory => return Err(error),
            Err(error) => self.refused(frame, at, &name, &present, error)?,
        };
        // A check's node is no data, but what runs after it must see it hold.
        for slot in &present {
            made.checks = union(&made.checks, &slot.checks);
        }
        made.checks = union(&made.checks, &checks);
        made.blocked = made.blocked.or(blocked);
        for slot in &mut made.outputs {
            for input in &present {
                slot.checks = union(&slot.checks, &input.checks);
            }
            slot.blocked = slot.blocked.take().or_else(|| made.blocked.clone());
            *slot = self.checked(slot.clone(), &checks)?;
        }
        Ok(made)
    }

    /// A node that is no op but holds the graph together.
    fn structure(
        &mut self,
        frame: &Frame<'a, 'g>,
        at: usize,
        name: &str,
        inputs: &[Slot<'g>],
    ) -> Result<Built<'g>> {
        let def = &frame.nodes[at];
        match def.op.as_str() {
            op if is_placeholder(op)
                && (inputs.is_empty() || self.ignores_defaults || self.override_of(name).is_some()) =>
            {
                self.placeholder(frame, at, name)
            }
            "PlaceholderWithDefault" | "IdentityN" | "_Retval" => {
                let outputs = inputs.to_vec();
                Ok(Built { outputs, ..Built::default() })
            }
            "Const" => {
                let Some(AttrKind::Tensor(proto)) = frame.attr(at, "value") else {
                    return damaged("a Const must have a tensor as its attribute value".to_string());
                };
                let tensor = constant::from_proto(proto, &mut self.budget)?;
                let value = self.graph.constant_at(tensor, self.location);
                Ok(Built::of(vec![value.named(name)]))
            }
            "NoOp" => Ok(Built::default()),
            "Assert" => self.assert(frame, at, inputs),
            "PartitionedCall" | "StatefulPartitionedCall" => match frame.attr(at, "f") {
                Some(AttrKind::Func(function)) => {
                    self.call(&function.name, &function.attr, frame, name, inputs)
                }
                _ => damaged("a call must name a function as its attribute f".to_string()),
            },
            "If" | "StatelessIf" => self.branch(frame, at, name, inputs),
            op => self.call(op, &def.attr, frame, name, inputs),
        }
    }

    /// A node of unknown outputs in place of one that was refused.
    fn refused(
        &mut self,
        frame: &Frame<'a, 'g>,
        at: usize,
        name: &str,
        inputs: &[Slot<'g>],
        error: Error,
    ) -> Result<Built<'g>> {
        let error = error.with_node(name).at(self.location);
        let node = NodeIx(self.graph.len() as u32);
        let mut made = self.opaque(frame, at, name, inputs)?;
        self.graph.write().refused.insert(node, error.clone());
        made.blocked = Some(error.clone());
        made.error = Some(error);
        Ok(made)
    }
}

impl<'g> Built<'g> {
    fn of(values: Vec<Value<'g>>) -> Built<'g> {
        let slot = |value| Slot { value, typed: true, blocked: None, checks: None };
        Built { outputs: values.into_iter().map(slot).collect(), ..Built::default() }
    }
}

/// The op of a node without a kernel.
fn opaque() -> OpRef {
    OpRef::from(&OPAQUE)
}
