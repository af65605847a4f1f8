//! [`needed_nodes`]: the nodes and inputs that some values need.

use std::panic::Location;

use rustc_hash::FxHashSet;
use shapeflow_shape_fns::{Dim, Equality, Symbol};

use super::{GraphData, NodeIx, ValueIx};
use crate::op::Body;

/// Marks each node that `wanted` needs: the nodes that compute these values and, for each marked node, the nodes that
/// compute its operands and the symbols in its attributes, and the nodes that name an element by such a symbol. If only
/// the sizes of inputs determine a symbol, one such input is marked.
pub(crate) fn needed_nodes(old: &GraphData, wanted: &[ValueIx]) -> Vec<bool> {
    let mut needed = vec![false; old.nodes.len()];
    // Marked nodes whose operands and symbols are not marked yet.
    let mut todo: Vec<NodeIx> = Vec::new();
    let mut input_symbols: FxHashSet<Symbol> = FxHashSet::default();
    let namings: Vec<(NodeIx, Dim)> = namings(old).collect();
    let mut mark = |node: NodeIx, todo: &mut Vec<NodeIx>| {
        if !std::mem::replace(&mut needed[node.index()], true) {
            todo.push(node);
        }
    };
    wanted.iter().for_each(|value| mark(old.values[value.index()].node, &mut todo));
    while let Some(index) = todo.pop() {
        let node = &old.nodes[index.index()];
        node.operands.iter().for_each(|operand| mark(old.values[operand.index()].node, &mut todo));
        node.attrs().symbols(&mut |symbol| {
            if !namings.is_empty() {
                let dim = old.table.resolve(&Dim::from(symbol));
                let same = namings.iter().filter(|(_, name)| *name == dim);
                same.for_each(|(naming, _)| mark(*naming, &mut todo));
            }
            match definer(old, symbol) {
                Some(definer) if definer >= index => {}
                Some(definer) if !matches!(old.nodes[definer.index()].op.body, Body::Input) => {
                    mark(definer, &mut todo);
                }
                _ => {
                    input_symbols.insert(symbol);
                }
            }
        });
    }
    let mut input_symbols: Vec<Symbol> = input_symbols.into_iter().collect();
    // The choice of inputs must not depend on the order of `Symbol`, the order in which the process first used the
    // names. So the texts of the names are compared.
    input_symbols.sort_by(|a, b| a.name().cmp(&b.name()).then(a.cmp(b)));
    for symbol in input_symbols {
        let mentions_symbol = |node: &NodeIx| has_symbol(old, old.nodes[node.index()].first_output, symbol);
        let inputs =
            || old.inputs.iter().map(|(_, value)| old.values[value.index()].node).filter(mentions_symbol);
        if !inputs().any(|node| needed[node.index()])
            && let Some(first) = inputs().next()
        {
            needed[first.index()] = true;
        }
    }
    needed
}

/// Returns the nodes that give the element of an operand a name, each with the dim of this name.
fn namings(graph: &GraphData) -> impl Iterator<Item = (NodeIx, Dim)> {
    let nodes = graph.nodes.iter().enumerate().filter(|(_, node)| node.op.is_name_of_size());
    nodes.flat_map(move |(number, node)| {
        let dims = node.derived().iter().flat_map(|(_, dims)| dims);
        dims.map(move |dim| (NodeIx(number as u32), graph.table.resolve(dim)))
    })
}

/// Returns the node that gives a symbol its value. An anonymous symbol has the node that made it. A named symbol has an
/// input with the symbol among its dims, or else the node that recorded an equality with the symbol.
pub(crate) fn definer(graph: &GraphData, symbol: Symbol) -> Option<NodeIx> {
    let is_node = |origin: &u32| (*origin as usize) < graph.nodes.len();
    if symbol.is_anonymous() {
        return graph.table.maker(symbol).filter(is_node).map(NodeIx);
    }
    if let Some((_, value)) = graph.inputs.iter().find(|(_, value)| has_symbol(graph, *value, symbol)) {
        return Some(graph.values[value.index()].node);
    }
    let equalities = graph.table.equalities().iter();
    let origin = equalities
        .filter(|equality| equality.symbol == symbol || mentions(&equality.dim, symbol))
        .map(|equality| equality.origin)
        .find(is_node);
    origin.map(NodeIx)
}

impl GraphData {
    /// Returns why the input `name` must be fed although nothing reads its elements, as in `x determines n, which fill
    /// needs`, with the line of the op. Returns `None` if an op reads the elements, or if they are an output.
    pub(crate) fn use_of_sizes(
        &self,
        name: &str,
        outputs: &[ValueIx],
    ) -> Option<(String, &'static Location<'static>)> {
        let (_, input) = self.inputs.iter().find(|(other, _)| other == name)?;
        if outputs.contains(input) || self.nodes.iter().any(|node| node.operands.contains(input)) {
            return None;
        }
        self.nodes.iter().enumerate().find_map(|(number, node)| {
            let mut used = None;
            node.attrs().symbols(&mut |symbol| {
                if used.is_none() && has_symbol(self, *input, symbol) {
                    used = Some(symbol);
                }
            });
            used.map(|symbol| {
                let (call, location) = self.call_at(number as u32);
                (format!("{name} determines {}, which {call} needs", Dim::from(symbol)), location)
            })
        })
    }

    /// Returns whether each symbol of these dims is in a shape or a derived parameter of its [`definer`]. A graph that
    /// does not read the elements of a tensor does not know a symbol that is only such an element.
    pub(crate) fn are_defined_by_sizes(&self, dims: &[Dim]) -> bool {
        let mut all = true;
        let mut check = |symbol: Symbol| {
            all &= definer(self, symbol).is_some_and(|definer| {
                let node = &self.nodes[definer.index()];
                let derived = node.derived().iter().flat_map(|(_, dims)| dims);
                node.values().any(|value| has_symbol(self, value, symbol))
                    || derived.into_iter().any(|dim| mentions(dim, symbol))
            });
        };
        dims.iter().for_each(|dim| self.table.resolve(dim).symbols(&mut check));
        all
    }
}

/// Returns the first node that `values` do not need and that recorded an equality of `dim`: without this node, less may
/// be known about `dim`. Equalities count only if a value that `values` need has one of their symbols in its shape.
pub(super) fn first_equality_of_others(graph: &GraphData, values: &[ValueIx], dim: &Dim) -> Option<u32> {
    let dim = graph.table.resolve(dim);
    // A number may stand for any symbol that equals a number.
    let concerns_dim = |equality: &&Equality| {
        let equal = graph.table.resolve(&equality.dim);
        (dim.is_known() && equal.is_known()) || shares_symbol(&dim, &equal)
    };
    let found: Vec<&Equality> = graph.table.equalities().iter().filter(concerns_dim).collect();
    if found.is_empty() {
        return None;
    }
    let needed = needed_nodes(graph, values);
    let mut symbols: FxHashSet<Symbol> = FxHashSet::default();
    for info in graph.values.iter().filter(|info| needed.get(info.node.index()) == Some(&true)) {
        for dim in info.shape.dims().unwrap_or_default() {
            dim.symbols(&mut |symbol| {
                symbols.insert(symbol);
            });
        }
    }
    let of_others = found.into_iter().filter(|equality| {
        // The origin of an assumption is no node.
        let is_unneeded = needed.get(equality.origin as usize) == Some(&false);
        let mut is_shared = symbols.contains(&equality.symbol);
        equality.dim.symbols(&mut |symbol| is_shared |= symbols.contains(&symbol));
        is_unneeded && is_shared
    });
    of_others.map(|equality| equality.origin).min()
}

/// Returns whether two dims have a symbol in common.
fn shares_symbol(a: &Dim, b: &Dim) -> bool {
    let mut is_shared = false;
    a.symbols(&mut |symbol| is_shared |= mentions(b, symbol));
    is_shared
}

/// Returns whether the shape of a value mentions a symbol.
fn has_symbol(graph: &GraphData, value: ValueIx, symbol: Symbol) -> bool {
    graph.values[value.index()].shape.dims().unwrap_or_default().iter().any(|dim| mentions(dim, symbol))
}

fn mentions(dim: &Dim, symbol: Symbol) -> bool {
    let mut found = false;
    dim.symbols(&mut |other| found |= other == symbol);
    found
}
