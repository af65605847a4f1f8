//! `Frame`: the nodes of a graph or of a function, and what their inputs name.

use std::collections::{BTreeMap, HashMap};

use super::super::AUXILIARY;
use super::super::imported::split_name;
use super::super::proto::{ArgDef, AttrKind, AttrValue, FunctionDef, GraphDef, NodeDef};
use super::super::signature::{ArgumentType, signature};
use super::Slot;
use crate::error::{Error, ErrorKind, Phase, Result};

/// More outputs than any op has.
const MAX_OUTPUTS: usize = 1 << 16;

/// Nodes that name each other, with what a call gives them.
pub(super) struct Frame<'a, 'g> {
    pub nodes: &'a [NodeDef],
    pub by_name: HashMap<&'a str, usize>,
    /// Arguments of a function by name.
    pub args: HashMap<&'a str, Slot<'g>>,
    /// The inputs that replace outputs of nodes, by node and output: fed tensors of the graph itself.
    pub fed: BTreeMap<(usize, usize), Slot<'g>>,
    /// What stands before names of nodes: the call, or nothing in the graph itself.
    pub prefix: String,
    /// The attributes of a call, for which attributes of nodes may stand.
    pub attrs: Option<&'a BTreeMap<String, AttrValue>>,
    pub depth: usize,
}

/// An input of a node, or what a function gives back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source<'a> {
    /// An output of a node.
    Node(usize, usize),
    /// An argument of the function.
    Argument(&'a str),
    /// An output of a node that is fed: it does not need the node.
    Fed(usize, usize),
    /// The node as a whole.
    Control(usize),
}

impl<'a, 'g> Frame<'a, 'g> {
    /// The nodes of a graph.
    ///
    /// # Errors
    /// A node has no name, or the name of another.
    pub(super) fn of_graph(graph: &'a GraphDef) -> Result<Frame<'a, 'g>> {
        Frame::of(&graph.node, HashMap::new(), String::new(), None, 0)
    }

    pub(super) fn of(
        nodes: &'a [NodeDef],
        args: HashMap<&'a str, Slot<'g>>,
        prefix: String,
        attrs: Option<&'a BTreeMap<String, AttrValue>>,
        depth: usize,
    ) -> Result<Frame<'a, 'g>> {
        let mut by_name = HashMap::with_capacity(nodes.len());
        for (at, node) in nodes.iter().enumerate() {
            if node.name.is_empty() {
                return damaged(format!("a node must have a name, got none for node {at} ({})", node.op));
            }
            if by_name.insert(node.name.as_str(), at).is_some() || args.contains_key(node.name.as_str()) {
                return damaged(format!("names of nodes must differ, got {} twice", node.name));
            }
        }
        Ok(Frame { nodes, by_name, args, fed: BTreeMap::new(), prefix, attrs, depth })
    }

    /// The name of a node as the whole model knows it.
    pub(super) fn full_name(&self, node: &NodeDef) -> String {
        format!("{}{}", self.prefix, node.name)
    }

    /// What an input names.
    ///
    /// # Errors
    /// There is no such node.
    pub(super) fn source(&self, text: &'a str) -> Result<Source<'a>> {
        let missing = |name: &str| damaged(format!("there is no node named {name}"));
        if let Some(name) = text.strip_prefix('^') {
            return match self.by_name.get(name) {
                Some(&node) => Ok(Source::Control(node)),
                None => missing(name),
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
        let Some(&at) = self.by_name.get(name) else { return missing(name) };
        let index = index.and_then(|index| index.parse::<usize>().ok()).unwrap_or(0);
        let number = output.and_then(|output| output.parse::<usize>().ok());
        let offset = match (output, number) {
            (_, Some(number)) => number,
            (Some(output), None) => self.offset(at, output),
            (None, None) => 0,
        };
        Ok(Source::Node(at, offset.saturating_add(index)))
    }

    /// The node and output that `NAME` or `NAME:i` names in the graph itself. A name may hold a colon.
    pub(super) fn tensor(&self, text: &str) -> Option<(usize, usize)> {
        let (name, output) = split_name(text);
        match self.by_name.get(name) {
            Some(&node) => Some((node, output)),
            None => self.by_name.get(text).map(|&node| (node, 0)),
        }
    }

    /// What an output of a node of the graph itself is called: `NAME`, or `NAME:i` for another than the first.
    pub(super) fn tensor_name(&self, (node, output): (usize, usize)) -> String {
        let name = self.nodes.get(node).map_or("", |node| node.name.as_str());
        if output == 0 { name.to_string() } else { format!("{name}:{output}") }
    }

    /// The number of the first tensor of an output that has a name.
    fn offset(&self, node: usize, output: &str) -> usize {
        let Some(signature) = self.nodes.get(node).and_then(|node| signature(&node.op)) else { return 0 };
        let mut offset = 0usize;
        for argument in &signature.outputs {
            if argument.name == output {
                break;
            }
            let count = match (argument.count, argument.dtype) {
                (Some(count), _) => self.int(node, count).unwrap_or(1),
                (None, ArgumentType::List(list)) => self.types(node, list).map_or(1, |types| types.len()),
                _ => 1,
            };
            offset = offset.saturating_add(count);
        }
        offset
    }

    /// The attribute of a node, or what the call of the function has for it.
    pub(super) fn attr(&self, node: usize, name: &str) -> Option<&'a AttrKind> {
        self.resolve(self.nodes.get(node)?.attr.get(name)?)
    }

    /// The value that an attribute has, or that the call of the function has for it.
    pub(super) fn resolve(&self, value: &'a AttrValue) -> Option<&'a AttrKind> {
        match value.value.as_ref()? {
            AttrKind::Placeholder(name) => match self.attrs?.get(name)?.value.as_ref()? {
                AttrKind::Placeholder(_) => None,
                kind => Some(kind),
            },
            kind => Some(kind),
        }
    }

    /// Whether a node is there for TensorFlow alone: what it says is noted at its readers.
    pub(super) fn is_auxiliary(&self, node: usize) -> bool {
        matches!(self.attr(node, AUXILIARY), Some(AttrKind::B(true)))
    }

    /// A count that an attribute says, at most as many as an op may have outputs.
    pub(super) fn int(&self, node: usize, name: &str) -> Option<usize> {
        match self.attr(node, name)? {
            AttrKind::I(count) => usize::try_from(*count).ok().filter(|count| *count <= MAX_OUTPUTS),
            _ => None,
        }
    }

    /// The numbers of dtypes that a list attribute says.
    pub(super) fn types(&self, node: usize, name: &str) -> Option<&'a [i32]> {
        match self.attr(node, name)? {
            AttrKind::List(list) if list.r#type.len() <= MAX_OUTPUTS => Some(&list.r#type),
            _ => None,
        }
    }

    /// The nodes that `roots` need, each after what it needs.
    ///
    /// # Errors
    /// An input names no node, or nodes need each other.
    pub(super) fn order(&self, roots: &[usize]) -> Result<Vec<usize>> {
        #[derive(Clone, Copy, PartialEq)]
        enum State {
            New,
            Open,
            Done,
        }
        let mut state = vec![State::New; self.nodes.len()];
        let mut order = Vec::new();
        let mut missing = Vec::new();
        let mut stack: Vec<(usize, usize)> = Vec::new();
        for &root in roots {
            if state.get(root) == Some(&State::New) {
                stack.push((root, 0));
            }
            while let Some((at, input)) = stack.pop() {
                let Some(node) = self.nodes.get(at) else { continue };
                if input == 0 {
                    if state[at] != State::New {
                        continue;
                    }
                    state[at] = State::Open;
                }
                let Some(text) = node.input.get(input) else {
                    state[at] = State::Done;
                    order.push(at);
                    continue;
                };
                stack.push((at, input + 1));
                match self.source(text) {
                    Ok(Source::Node(next, _)) if self.is_auxiliary(next) => {}
                    Ok(Source::Node(next, _) | Source::Control(next)) => match state[next] {
                        State::New => stack.push((next, 0)),
                        State::Open => return damaged(self.cycle(next, &stack)),
                        State::Done => {}
                    },
                    Ok(Source::Argument(_) | Source::Fed(..)) => {}
                    Err(error) => missing.push(error.about(format_args!(
                        "input {input} of {} ({}) is {text}",
                        self.full_name(node),
                        node.op
                    ))),
                }
            }
        }
        Error::join(missing).map_or(Ok(order), Err)
    }

    /// The message about nodes that need each other, the last of which needs `first`.
    fn cycle(&self, first: usize, stack: &[(usize, usize)]) -> String {
        let from = stack.iter().position(|(at, _)| *at == first).unwrap_or(0);
        let names: Vec<&str> =
            stack[from..].iter().rev().map(|(at, _)| self.nodes[*at].name.as_str()).collect();
        let shown = names.iter().take(8).copied().collect::<Vec<_>>().join(", which needs ");
        let more = if names.len() > 8 { ", …" } else { "" };
        let last = names.first().copied().unwrap_or_default();
        format!("nodes must not need each other, got {}{shown}{more}, which needs {last}", self.prefix)
    }
}

/// What a function gives back, in the order of its signature.
pub(super) fn returned(function: &FunctionDef) -> impl Iterator<Item = (&ArgDef, Option<&str>)> {
    let outputs = function.signature.iter().flat_map(|signature| &signature.output_arg);
    outputs.map(|arg| (arg, function.ret.get(&arg.name).map(String::as_str)))
}

pub(super) fn damaged<T>(message: String) -> Result<T> {
    Err(Error::new(ErrorKind::Parse, Phase::Build, message))
}
