//! `Sharing`: decides which functions are inlined, and which are imported once and shared by their calls.
//!
//! - A function that is called once in the text of the model is inlined.
//! - If all calls together add at most [`MAX_COPIES`] nodes to the model, all functions are inlined. A function that is
//!   inlined fuses with the nodes around it.
//! - Otherwise every function of more than [`MAX_INLINED`] nodes that is called at several places is shared. The nodes
//!   of a function include the nodes of the functions that it calls.
//!
//! A function that draws random numbers is inlined, because each call draws numbers of its own. A function that writes
//! variables or uses a random generator is inlined, because the import follows neither inside a region. A recursive
//! function cannot be imported; the import of the call reports the cycle.

use std::collections::{HashMap, HashSet};

use super::super::proto::{AttrKind, AttrValue, GraphDef, NodeDef};
use super::frame::Functions;
use super::handle::{is_generator_op, is_silent_write};
use super::random_ops::is_random_op;

/// Maximum number of nodes that inlining may add to a model: copies of nodes of functions that are called several
/// times. To import and compile this number of nodes takes about 0.1 s; see the bench `calls`.
const MAX_COPIES: usize = 4096;

/// Maximum number of nodes of a function that is always inlined. A call takes about 1 µs, and 64 elementwise nodes on
/// 1,024 elements take as long.
const MAX_INLINED: usize = 64;

/// Which functions are shared, and which draw random numbers.
#[derive(Default)]
pub(super) struct Sharing<'a> {
    functions: HashSet<&'a str>,
    /// The functions that draw random numbers, also in functions that they call. `None` if a function calls itself.
    random: Option<HashSet<&'a str>>,
}

/// What is known of a function, with all functions that it calls inlined.
#[derive(Clone, Copy)]
struct Expanded {
    nodes: usize,
    is_random: bool,
    writes: bool,
}

impl<'a> Sharing<'a> {
    /// Decides for a model, before any node is imported.
    pub(super) fn of(graph: &'a GraphDef, functions: &Functions<'a>) -> Sharing<'a> {
        let mut search =
            Search { functions, known: HashMap::new(), open: HashSet::new(), calls: HashMap::new() };
        let Some(all) = search.expanded(&graph.node) else { return Sharing::default() };
        let random = search.known.iter().filter(|(_, known)| known.is_random).map(|(name, _)| *name);
        let random = Some(random.collect());
        let nodes = |name: &&str| functions[*name].node_def.len();
        let unique: usize = graph.node.len() + search.known.keys().map(nodes).sum::<usize>();
        if all.nodes.saturating_sub(unique) <= MAX_COPIES {
            return Sharing { functions: HashSet::new(), random };
        }
        let is_shared = |name: &&str, known: &Expanded| {
            known.nodes > MAX_INLINED
                && !known.is_random
                && !known.writes
                && search.calls.get(name).is_some_and(|calls| *calls > 1)
        };
        let shared = search.known.iter().filter(|(name, known)| is_shared(name, known));
        Sharing { functions: shared.map(|(name, _)| *name).collect(), random }
    }

    pub(super) fn contains(&self, function: &str) -> bool {
        self.functions.contains(function)
    }

    /// Returns whether a node of the list draws random numbers, or may call a function that draws some.
    pub(super) fn is_random(&self, nodes: &[NodeDef]) -> bool {
        let Some(random) = &self.random else { return true };
        nodes.iter().any(|node| {
            is_random_op(&node.op)
                || random.contains(node.op.as_str())
                || node.attr.values().flat_map(functions_in).any(|name| random.contains(name))
        })
    }
}

/// A search through all functions that a model calls.
struct Search<'s, 'a> {
    functions: &'s Functions<'a>,
    known: HashMap<&'a str, Expanded>,
    /// The functions on the path of the search.
    open: HashSet<&'a str>,
    /// For each function, the number of nodes that call it.
    calls: HashMap<&'a str, usize>,
}

impl<'a> Search<'_, 'a> {
    /// Returns what is known of a list of nodes; `None` if a function calls itself. The depth of the recursion is the
    /// nesting depth of calls, at most the number of functions on a path.
    fn expanded(&mut self, nodes: &'a [NodeDef]) -> Option<Expanded> {
        let mut all = Expanded { nodes: nodes.len(), is_random: false, writes: false };
        for node in nodes {
            all.is_random |= is_random_op(&node.op);
            all.writes |= is_silent_write(&node.op) || is_generator_op(&node.op);
            let named = node.attr.values().flat_map(functions_in);
            for name in named.chain([node.op.as_str()]) {
                let Some((&name, &function)) = self.functions.get_key_value(name) else { continue };
                *self.calls.entry(name).or_insert(0) += 1;
                let called = match self.known.get(name) {
                    Some(known) => *known,
                    None if self.open.len() == MAX_DEPTH || !self.open.insert(name) => return None,
                    None => {
                        let known = self.expanded(&function.node_def)?;
                        self.open.remove(name);
                        self.known.insert(name, known);
                        known
                    }
                };
                all.nodes = all.nodes.saturating_add(called.nodes);
                all.is_random |= called.is_random;
                all.writes |= called.writes;
            }
        }
        Some(all)
    }
}

/// Maximum nesting depth of the calls of a model that shares functions.
const MAX_DEPTH: usize = 256;

/// Returns the names of the functions in an attribute: the function of a call, or the branches of a branch, and the
/// functions that these get as attributes.
fn functions_in(attr: &AttrValue) -> Vec<&str> {
    let mut names = Vec::new();
    let mut attrs = vec![attr];
    while let Some(attr) = attrs.pop() {
        let functions = match &attr.value {
            Some(AttrKind::Func(function)) => std::slice::from_ref(function),
            Some(AttrKind::List(list)) => &list.func[..],
            _ => continue,
        };
        for function in functions {
            names.push(function.name.as_str());
            attrs.extend(function.attr.values());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::super::super::model::Model;
    use super::*;

    /// Returns the shared functions of a model, sorted.
    fn shared(text: &str) -> Vec<String> {
        let model = Model::from_text(text).unwrap();
        let library = model.graph.library.iter().flat_map(|library| &library.function);
        let functions: Functions<'_> = Rc::new(
            library.map(|function| (function.signature.as_ref().unwrap().name.as_str(), function)).collect(),
        );
        let sharing = Sharing::of(&model.graph, &functions);
        let mut names: Vec<String> = sharing.functions.iter().map(ToString::to_string).collect();
        names.sort();
        names
    }

    /// A function `name` with `own` nodes `op`, and with a call of each of `callees`.
    fn function(name: &str, own: usize, op: &str, callees: &[&str]) -> String {
        let nodes = (0..own).map(|number| format!("node_def {{ name: \"n{number}\" op: \"{op}\" }} "));
        let calls = callees.iter().enumerate();
        let calls =
            calls.map(|(number, callee)| format!("node_def {{ name: \"c{number}\" op: \"{callee}\" }} "));
        let all: String = nodes.chain(calls).collect();
        format!("function {{ signature {{ name: \"{name}\" }} {all} }}")
    }

    fn library(functions: &[String], called: &[&str]) -> String {
        let nodes = called.iter().enumerate();
        let nodes: String =
            nodes.map(|(number, name)| format!("node {{ name: \"m{number}\" op: \"{name}\" }} ")).collect();
        format!("library {{ {} }} {nodes}", functions.concat())
    }

    #[test]
    fn only_large_functions_with_many_copies_are_shared() {
        let leaf = function("leaf", 1000, "Neg", &[]);
        let few = library(std::slice::from_ref(&leaf), &["leaf"; 4]);
        assert_eq!(shared(&few), [""; 0], "3000 copies");
        assert_eq!(shared(&library(std::slice::from_ref(&leaf), &["leaf"; 6])), ["leaf"], "5000 copies");
        // A function that is called once is inlined, also if its caller is shared.
        let once = [leaf, function("once", 1, "Neg", &["leaf"])];
        assert_eq!(shared(&library(&once, &["once"; 6])), ["once"]);
        let small = function("small", 60, "Neg", &[]);
        assert_eq!(shared(&library(&[small], &["small"; 100])), [""; 0]);
        for op in ["RandomUniform", "RngReadAndSkip", "AssignVariableOp"] {
            let inlined = function("inlined", 1000, op, &[]);
            assert_eq!(shared(&library(&[inlined], &["inlined"; 6])), [""; 0], "{op}");
        }
    }

    #[test]
    fn recursive_models_share_nothing() {
        let functions = [function("f", 1000, "Neg", &["g"]), function("g", 1, "Neg", &["f"])];
        assert_eq!(shared(&library(&functions, &["f"; 6])), [""; 0]);
    }
}
