//! `Frame`: the nodes of the main graph or of a function, and the tensors that their inputs name.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::rc::Rc;

use shapeflow_shape_fns::TensorShape;

use super::super::imported::split_name;
use super::super::proto::{ArgDef, AttrKind, AttrValue, FunctionDef, GraphDef, NodeDef};
use super::super::signature::{Argument, ArgumentType, signature};
use super::super::{AUXILIARY, FORWARDS, OUTPUT_SHAPES};
use super::built::ImportedValue;
use super::list_output::list_output;
use super::switches::Switches;
use crate::error::{Error, ErrorKind, Phase, Result};

/// Maximum number of inputs or outputs of a node. No op has more; larger counts come from damaged files.
pub(super) const MAX_TENSORS: usize = 1 << 16;

/// The functions of a model, by name.
pub(super) type Functions<'a> = Rc<HashMap<&'a str, &'a FunctionDef>>;

/// The nodes of the main graph or of one call of a function. The names in the inputs of these nodes refer to nodes of
/// the same frame.
pub(super) struct Frame<'a, 'g> {
    pub nodes: &'a [NodeDef],
    /// The functions of the model, by name.
    pub functions: Functions<'a>,
    pub by_name: HashMap<&'a str, usize>,
    /// The arguments of the function, by name.
    pub args: HashMap<&'a str, ImportedValue<'g>>,
    /// The names of the arguments, sorted.
    pub parameters: Vec<&'a str>,
    /// The inputs that replace fed tensors of the main graph, by node and output.
    pub fed: BTreeMap<(usize, usize), ImportedValue<'g>>,
    /// The prefix of node names: `CALL/` in a function, empty in the main graph.
    pub prefix: String,
    /// The attributes of the call, then those of the calls around it. An attribute of a node in the function may be a
    /// placeholder that names an attribute of the call, which may be a placeholder again.
    pub attrs: Vec<&'a BTreeMap<String, AttrValue>>,
    /// For each node: whether a control edge leads from it to another node, or to the end of the function.
    pub is_awaited: Vec<bool>,
    /// The control flow of TensorFlow 1.
    pub switches: Switches,
    /// The nesting depth of calls; 0 in the main graph.
    pub depth: usize,
}

/// The source of a node's input or of a function's result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source<'a> {
    /// An output of a node: the index of the node, and the number of the output.
    Node(usize, usize),
    /// The argument of the function with this name.
    Argument(&'a str),
    /// A fed output, as in [`Source::Node`]. The node itself need not be imported.
    Fed(usize, usize),
    /// A control edge from the node with this index.
    Control(usize),
    /// A control edge from the argument of the function with this name.
    ControlArgument(&'a str),
}

impl<'a, 'g> Frame<'a, 'g> {
    /// Indexes the nodes of the main graph.
    ///
    /// # Errors
    /// A node has no name, two nodes share a name, or a loop of TensorFlow 1 is incomplete.
    pub(super) fn of_graph(graph: &'a GraphDef, functions: &Functions<'a>) -> Result<Frame<'a, 'g>> {
        Frame::of(&graph.node, functions.clone(), HashMap::new(), String::new(), Vec::new(), 0)
    }

    /// Indexes the nodes of the main graph or of a function.
    ///
    /// # Errors
    /// A node has no name, two nodes or arguments share a name, or a loop of TensorFlow 1 is incomplete.
    pub(super) fn of(
        nodes: &'a [NodeDef],
        functions: Functions<'a>,
        args: HashMap<&'a str, ImportedValue<'g>>,
        prefix: String,
        attrs: Vec<&'a BTreeMap<String, AttrValue>>,
        depth: usize,
    ) -> Result<Frame<'a, 'g>> {
        let mut by_name = HashMap::with_capacity(nodes.len());
        for (index, node) in nodes.iter().enumerate() {
            if node.name.is_empty() {
                return damaged(format!("a node must have a name, got none for node {index} ({})", node.op));
            }
            if by_name.insert(node.name.as_str(), index).is_some() || args.contains_key(node.name.as_str()) {
                return damaged(format!("node names must be unique, got {} twice", node.name));
            }
        }
        let mut is_awaited = vec![false; nodes.len()];
        for input in nodes.iter().flat_map(|node| &node.input) {
            if let Some(&node) = input.strip_prefix('^').and_then(|name| by_name.get(name)) {
                is_awaited[node] = true;
            }
        }
        let mut parameters: Vec<&str> = args.keys().copied().collect();
        parameters.sort_unstable();
        let mut frame = Frame {
            nodes,
            functions,
            by_name,
            args,
            parameters,
            is_awaited,
            fed: BTreeMap::new(),
            switches: Switches::default(),
            prefix,
            attrs,
            depth,
        };
        frame.switches = Switches::find(&frame)?;
        Ok(frame)
    }

    /// Finds where the nodes in `order`, a topological order, run in the control flow of TensorFlow 1.
    ///
    /// # Errors
    /// A `Merge` does not join the two sides of a predicate.
    pub(super) fn place(&mut self, order: &[usize]) -> Result<()> {
        let mut switches = std::mem::take(&mut self.switches);
        let placed = if switches.is_empty() { Ok(()) } else { switches.place(self, order) };
        self.switches = switches;
        placed
    }

    /// Returns the unique name of a node: its name after the names of the calls that it lies in.
    pub(super) fn full_name(&self, node: &NodeDef) -> String {
        format!("{}{}", self.prefix, node.name)
    }

    /// Returns the source that the text of an input names. An auxiliary node that pads its input stands for this input.
    ///
    /// # Errors
    /// The text names a node that does not exist.
    pub(super) fn source(&self, text: &'a str) -> Result<Source<'a>> {
        match self.named_source(text)? {
            Source::Node(node, _) if self.forwards(node) => match self.nodes[node].input.first() {
                Some(input) => self.named_source(input),
                None => damaged(format!("{} must have an input", self.full_name(&self.nodes[node]))),
            },
            source => Ok(source),
        }
    }

    fn named_source(&self, text: &'a str) -> Result<Source<'a>> {
        let missing = |name: &str| damaged(format!("there is no node named {name}"));
        if let Some(name) = text.strip_prefix('^') {
            return match (self.by_name.get(name), self.args.get_key_value(name)) {
                (Some(&node), _) => Ok(Source::Control(node)),
                (None, Some((key, _))) => Ok(Source::ControlArgument(key)),
                (None, None) => missing(name),
            };
        }
        if self.depth == 0 {
            return match self.tensor(text) {
                Some((node, output)) if self.fed.contains_key(&(node, output)) => {
                    Ok(Source::Fed(node, output))
                }
                Some((node, output)) => Ok(Source::Node(node, output)),
                None => missing(split_name(text).0),
            };
        }
        // In a function: ARG, NODE:OUTPUT or NODE:OUTPUT:INDEX.
        let mut parts = text.splitn(3, ':');
        let (name, output, index) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
        if let Some((key, _)) = self.args.get_key_value(name) {
            return Ok(Source::Argument(key));
        }
        let Some(&node) = self.by_name.get(name) else { return missing(name) };
        let index = index.and_then(|index| index.parse::<usize>().ok()).unwrap_or(0);
        let number = output.and_then(|output| output.parse::<usize>().ok());
        let tensors = match (output, number) {
            (_, Some(number)) => number..usize::MAX,
            (Some(output), None) => self.tensors_of(node, output),
            (None, None) => 0..usize::MAX,
        };
        // No node has an output `usize::MAX`, so a tensor that does not exist is refused where it is read.
        let output = tensors.start.saturating_add(index);
        Ok(Source::Node(node, if output < tensors.end { output } else { usize::MAX }))
    }

    /// Returns the node and the output that `NAME` or `NAME:i` names in the main graph. `NAME` may contain a colon.
    pub(super) fn tensor(&self, text: &str) -> Option<(usize, usize)> {
        let (name, output) = split_name(text);
        match self.by_name.get(name) {
            Some(&node) => Some((node, output)),
            None => self.by_name.get(text).map(|&node| (node, 0)),
        }
    }

    /// Returns the name of a tensor of the main graph: `NAME` for output 0, else `NAME:i`.
    pub(super) fn tensor_name(&self, (node, output): (usize, usize)) -> String {
        let name = self.nodes.get(node).map_or("", |node| node.name.as_str());
        if output == 0 { name.to_string() } else { format!("{name}:{output}") }
    }

    /// Returns the positions of the tensors of a named output among all outputs of the node. The range has no end if
    /// the number of tensors is unknown.
    fn tensors_of(&self, node: usize, output: &str) -> Range<usize> {
        let op = self.nodes.get(node).map_or("", |node| &node.op);
        let counts: Vec<(&str, usize)> =
            match self.functions.get(op).and_then(|function| function.signature.as_ref()) {
                Some(function) => {
                    function.output_arg.iter().map(|arg| (arg.name.as_str(), self.count(node, arg))).collect()
                }
                None => {
                    let Some(signature) = signature(op) else {
                        let rank = self.int(node, "output_ragged_rank").unwrap_or(0);
                        return list_output(op, output, rank)..usize::MAX;
                    };
                    // A SavedModel lacks attributes that have their defaults. The default of a count is 0, and that of
                    // a list is empty.
                    let count = |argument: &Argument| match (argument.count, argument.dtype) {
                        (Some(count), _) => self.int(node, count).unwrap_or(0),
                        (None, ArgumentType::List(list)) => self.types(node, list).map_or(0, <[i32]>::len),
                        _ => 1,
                    };
                    signature.outputs.iter().map(|argument| (argument.name, count(argument))).collect()
                }
            };
        let mut start = 0usize;
        for (name, count) in counts {
            if name == output {
                return start..start.saturating_add(count);
            }
            start = start.saturating_add(count);
        }
        start..start
    }

    /// Returns the number of tensors that an output of a function has in a call.
    fn count(&self, call: usize, output: &ArgDef) -> usize {
        match (output.number_attr.as_str(), output.type_list_attr.as_str()) {
            ("", "") => 1,
            ("", list) => self.types(call, list).map_or(1, <[i32]>::len),
            (number, _) => self.int(call, number).unwrap_or(1),
        }
    }

    /// Returns the value of a node's attribute; see [`Frame::resolve`].
    pub(super) fn attr(&self, node: usize, name: &str) -> Option<&'a AttrKind> {
        self.resolve(self.nodes.get(node)?.attr.get(name)?)
    }

    /// Returns the value of an attribute. An attribute that is a placeholder takes its value from the call, or from a
    /// call around it. Returns `None` if the calls do not give the value.
    pub(super) fn resolve(&self, value: &'a AttrValue) -> Option<&'a AttrKind> {
        let mut kind = value.value.as_ref()?;
        let mut calls = self.attrs.iter();
        while let AttrKind::Placeholder(name) = kind {
            kind = calls.next()?.get(name)?.value.as_ref()?;
        }
        Some(kind)
    }

    /// Returns whether the node is auxiliary: this crate's export added the node to compute an input that TensorFlow
    /// requires. The readers of an auxiliary node have its value as an attribute too, so the import skips the node.
    pub(super) fn is_auxiliary(&self, node: usize) -> bool {
        matches!(self.attr(node, AUXILIARY), Some(AttrKind::B(true)))
    }

    /// Returns whether the import reads input 0 of an auxiliary node in place of the node.
    fn forwards(&self, node: usize) -> bool {
        matches!(self.attr(node, FORWARDS), Some(AttrKind::B(true))) && self.is_auxiliary(node)
    }

    /// Returns the count that an attribute holds; `None` above [`MAX_TENSORS`].
    pub(super) fn int(&self, node: usize, name: &str) -> Option<usize> {
        match self.attr(node, name)? {
            AttrKind::I(count) => usize::try_from(*count).ok().filter(|count| *count <= MAX_TENSORS),
            _ => None,
        }
    }

    /// Returns the dtype numbers that a list attribute holds; `None` above [`MAX_TENSORS`].
    pub(super) fn types(&self, node: usize, name: &str) -> Option<&'a [i32]> {
        match self.attr(node, name)? {
            AttrKind::List(list) if list.r#type.len() <= MAX_TENSORS => Some(&list.r#type),
            _ => None,
        }
    }

    /// Returns the nodes that `roots` need, in topological order, without auxiliary nodes. The nodes from which an
    /// auxiliary node takes a size are among them, unless fed tensors have the same sizes: a run gets the values of the
    /// sizes from these nodes. The depth-first search is a loop, because a chain of nodes may be too long for
    /// recursion.
    ///
    /// # Errors
    /// An input names a node that does not exist, or nodes form a cycle.
    pub(super) fn order(&self, roots: &[usize]) -> Result<Vec<usize>> {
        #[derive(Clone, Copy, PartialEq)]
        enum NodeState {
            New,
            /// The node is on the path of the search.
            Open,
            /// The node is in `order`.
            Done,
        }
        let mut state = vec![NodeState::New; self.nodes.len()];
        let mut order = Vec::new();
        let mut missing = Vec::new();
        let mut stack: Vec<(usize, usize)> = Vec::new();
        for &root in roots {
            if state.get(root) == Some(&NodeState::New) {
                stack.push((root, 0));
            }
            while let Some((index, input)) = stack.pop() {
                let Some(node) = self.nodes.get(index) else { continue };
                if input == 0 {
                    if state[index] != NodeState::New {
                        continue;
                    }
                    state[index] = NodeState::Open;
                }
                // After the inputs of the node, the search follows its other predecessors.
                let number = input.checked_sub(node.input.len());
                let predecessor = number.map(|number| self.switches.predecessors(index).get(number));
                let source = match predecessor {
                    None => self.source(&node.input[input]),
                    Some(Some(&predecessor)) => Ok(Source::Control(predecessor)),
                    Some(None) => {
                        state[index] = NodeState::Done;
                        if !self.is_auxiliary(index) {
                            order.push(index);
                        }
                        continue;
                    }
                };
                stack.push((index, input + 1));
                if self.switches.leads_back(index, input) {
                    continue;
                }
                match source {
                    Ok(Source::Node(next, output))
                        if self.is_auxiliary(index) && self.has_fed_sizes(next, output) => {}
                    Ok(Source::Node(next, _) | Source::Control(next)) => match state[next] {
                        NodeState::New => stack.push((next, 0)),
                        // A node may determine a size that it takes: the import does not compute the size twice.
                        NodeState::Open if self.is_auxiliary(index) || self.is_auxiliary(next) => {}
                        NodeState::Open => return damaged(self.cycle(next, &stack)),
                        NodeState::Done => {}
                    },
                    Ok(Source::Argument(_) | Source::ControlArgument(_) | Source::Fed(..)) => {}
                    Err(error) => missing.push(error.about(format_args!(
                        "input {input} of {} ({}) is {}",
                        self.full_name(node),
                        node.op,
                        node.input[input]
                    ))),
                }
            }
        }
        Error::join(missing).map_or(Ok(order), Err)
    }

    /// Returns whether a fed tensor has each named size of an output.
    fn has_fed_sizes(&self, node: usize, output: usize) -> bool {
        if self.fed.is_empty() {
            return false;
        }
        let shapes = match self.attr(node, OUTPUT_SHAPES) {
            Some(AttrKind::List(list)) => &list.shape[..],
            _ => &[],
        };
        let names = shapes.get(output).into_iter().flat_map(|shape| &shape.dim).map(|dim| &dim.name);
        let fed: Vec<TensorShape> = self.fed.values().map(|imported| imported.value.shape()).collect();
        let is_fed = |name: &str| {
            let mut dims = fed.iter().filter_map(TensorShape::dims).flatten();
            dims.any(|dim| dim.to_string() == name)
        };
        let mut names = names.filter(|name| !name.is_empty()).peekable();
        names.peek().is_some() && names.all(|name| is_fed(name))
    }

    /// Formats the message about a cycle: `stack` is the path of the search, and its last node needs `first`.
    fn cycle(&self, first: usize, stack: &[(usize, usize)]) -> String {
        let from = stack.iter().position(|(index, _)| *index == first).unwrap_or(0);
        let names: Vec<&str> =
            stack[from..].iter().rev().map(|(index, _)| self.nodes[*index].name.as_str()).collect();
        let shown = names.iter().take(8).copied().collect::<Vec<_>>().join(", which needs ");
        let more = if names.len() > 8 { ", …" } else { "" };
        let last = names.first().copied().unwrap_or_default();
        format!("nodes must not form a cycle, got {}{shown}{more}, which needs {last}", self.prefix)
    }
}

/// Returns all outputs in the signature of a function, in order, each with the text that names its source. The text is
/// `None` if the function does not return the output.
pub(super) fn outputs_of(function: &FunctionDef) -> impl Iterator<Item = (&ArgDef, Option<&str>)> {
    let outputs = function.signature.iter().flat_map(|signature| &signature.output_arg);
    outputs.map(|arg| (arg, function.ret.get(&arg.name).map(String::as_str)))
}

/// Returns the error of a damaged model.
pub(super) fn damaged<T>(message: String) -> Result<T> {
    Err(Error::new(ErrorKind::Parse, Phase::Build, message))
}
