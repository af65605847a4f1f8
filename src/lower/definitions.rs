//! [`definitions`]: where each symbol of a graph gets its value when the graph runs.
//!
//! Every symbol is created in one place, which also defines it:
//!
//! | created as | defined by |
//! |---|---|
//! | a dimension of an input | the sizes of the tensor that a run gets for the input |
//! | an element of a parameter | the parameter in memory |
//! | a dimension of a result of a host kernel | the sizes of the result |
//! | a dimension or derived parameter of any other node | its shape function, run on sizes and values: the node is a
//! *definer* |
//!
//! The rank of a host kernel's result may be unknown until the kernel runs. Such a result defines no symbols here.
//!
//! If an equality replaces a symbol, its definition stays and checks the equality. Nothing else checks what a shape
//! function requires of symbols that it created itself. An equality replaces a symbol only by older ones
//! ([`DimTable::in_definition_order`](shapeflow_shape_fns::DimTable::in_definition_order)), so the replacement is
//! defined no later than the symbol.

use std::cell::LazyCell;

use rustc_hash::FxHashSet;
use shapeflow_shape_fns::{Dim, Guard, Symbol};
use smallvec::SmallVec;

use super::partition::LateSymbols;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{GraphData, Node, NodeIx, ValueIx};
use crate::nearest::did_you_mean_or_try;
use crate::op::Body;

/// Where each symbol gets its value.
#[derive(Default)]
pub(super) struct SymbolSources {
    /// For each symbol that the sizes of inputs do not bind: the values that must be computed before it is bound.
    pub late: LateSymbols,
    /// Nodes whose shape function defines symbols.
    pub definers: Vec<NodeIx>,
    /// Values whose elements define symbols.
    pub elements: Vec<ValueIx>,
    /// The values that definitions read from memory: `elements`, and the parameters of `definers`.
    pub watched: Vec<ValueIx>,
    /// Whether a result of a host kernel defines symbols.
    pub sized_by_data: bool,
}

/// Finds the definition of each symbol of `graph`.
///
/// # Errors
/// A node needs a symbol that nothing defines, such as a name in an attribute that no input has.
pub(super) fn definitions(graph: &GraphData) -> Result<SymbolSources> {
    let (found, mut defined) = find_definitions(graph);
    refuse_undefined(graph, &mut defined)?;
    Ok(found)
}

/// Checks a graph that is compiled when it runs: a run can give a value to every symbol that a node needs.
/// `is_inferred_again[n]` is true if a run knows more about node `n` than the graph, such as a rank. The shape function
/// of such a node may then define every symbol of the node, or make the symbol equal to another symbol.
///
/// # Errors
/// As [`definitions`].
pub(crate) fn check_definitions(graph: &GraphData, is_inferred_again: &[bool]) -> Result<()> {
    let (_, mut defined) = find_definitions(graph);
    for (node, _) in graph.nodes.iter().zip(is_inferred_again).filter(|(_, again)| **again) {
        let mut define = |dim: &Dim| {
            for dim in [dim, &graph.table.resolve(dim)] {
                dim.symbols(&mut |symbol| {
                    defined.insert(symbol);
                });
            }
        };
        for value in node.operands.iter().copied().chain(node.values()) {
            let info = &graph.values[value.index()];
            info.shape.dims().unwrap_or_default().iter().for_each(&mut define);
            info.elements.iter().flat_map(|elements| elements.elements()).for_each(&mut define);
        }
        node.derived().iter().flat_map(|(_, dims)| dims).for_each(&mut define);
        node.assumed().iter().flat_map(|(_, shape)| shape.dims().unwrap_or_default()).for_each(&mut define);
        node.attrs().symbols(&mut |symbol| define(&Dim::from(symbol)));
    }
    refuse_undefined(graph, &mut defined)
}

/// Returns the definitions, and the symbols that have one.
fn find_definitions(graph: &GraphData) -> (SymbolSources, FxHashSet<Symbol>) {
    let mut found = SymbolSources::default();
    let mut seen: FxHashSet<Symbol> = FxHashSet::default();
    // Few inputs have a dim that is not linear.
    let computed = LazyCell::new(|| computed_elements(graph));
    for (_, input) in &graph.inputs {
        let dims = graph.values[input.index()].shape.dims().unwrap_or_default();
        for dim in dims {
            // A size does not determine the symbol of a dim such as `max(n, 0)`. In the body of a loop, a node may
            // compute this symbol.
            let is_linear = dim.as_linear().is_some();
            dim.symbols(&mut |symbol| {
                if is_linear || !computed.contains(&symbol) {
                    seen.insert(symbol);
                }
            });
        }
        // `ensure_shape` may have replaced an unknown dimension of an input by a name. A size of the input then defines
        // the name too.
        seen.extend(dims.iter().filter_map(|dim| graph.table.resolve(dim).as_symbol()));
    }
    let needed = needed_symbols(graph);
    let is_replaced = |symbol: Symbol| graph.table.resolve(&Dim::from(symbol)).as_symbol() != Some(symbol);
    for (number, node) in graph.nodes.iter().enumerate() {
        // An element of an operand or of a result defines a symbol if no input and no earlier node has the symbol. No
        // node may read the result: the node that read it may be gone, while others need the symbol.
        for operand in node.operands.iter().copied().chain(node.values()) {
            let Some(elements) = &graph.values[operand.index()].elements else { continue };
            let mut new = new_symbols(&mut seen, elements.elements());
            let creators = [Some(number as u32), Some(graph.values[operand.index()].node.0)];
            keep_created(&mut seen, &mut new, |symbol| creators.contains(&graph.table.maker(symbol)));
            new.retain(|symbol| needed.contains(symbol) || is_replaced(*symbol));
            if !new.is_empty() && !found.elements.contains(&operand) {
                found.elements.push(operand);
                found.watch(operand);
            }
            for symbol in new {
                found.late.insert(symbol, SmallVec::from_iter([operand]));
            }
        }
        let shapes =
            node.values().flat_map(|value| graph.values[value.index()].shape.dims().unwrap_or_default());
        let derived = node.derived().iter().flat_map(|(_, dims)| dims);
        if node.op.is_name_of_size() {
            // The element may be the size of a result of a host kernel. A run makes this result, and compares its size.
            host_results(graph, &node.operands).into_iter().for_each(|value| found.watch(value));
        }
        let mut new = new_symbols(&mut seen, shapes.chain(derived));
        let by_result = matches!(node.op.body, Body::Host(_) | Body::HostWith(_));
        // The sizes of a host kernel's result also define the symbols that come from attributes of the node.
        keep_created(&mut seen, &mut new, |symbol| {
            by_result || graph.table.maker(symbol) == Some(number as u32)
        });
        if new.is_empty() {
            continue;
        }
        // `ensure_shape` may have replaced a dimension that the node makes by a name. The size then defines the name
        // too.
        let resolved = new.iter().filter_map(|symbol| graph.table.resolve(&Dim::from(*symbol)).as_symbol());
        let names: Vec<Symbol> = resolved.filter(|name| !seen.contains(name)).collect();
        seen.extend(names.iter().copied());
        new.extend(names);
        let mut late: SmallVec<[ValueIx; 2]> = SmallVec::new();
        if by_result {
            found.sized_by_data = true;
            late.extend(node.values());
        } else {
            found.definers.push(NodeIx(number as u32));
            late = node.parameters().map(|(_, value)| value).collect();
            late.iter().for_each(|parameter| found.watch(*parameter));
            found.wait_for_operands(graph, node, &mut late);
        }
        for symbol in new {
            found.late.insert(symbol, late.clone());
        }
    }
    (found, seen)
}

/// Returns the symbols that are elements of results of nodes.
fn computed_elements(graph: &GraphData) -> FxHashSet<Symbol> {
    let nodes = graph.nodes.iter().filter(|node| !matches!(node.op.body, Body::Input | Body::Constant));
    let values = nodes.flat_map(Node::values);
    let elements = values.filter_map(|value| graph.values[value.index()].elements.as_ref());
    let mut symbols = FxHashSet::default();
    for dim in elements.flat_map(|elements| elements.elements()) {
        dim.symbols(&mut |symbol| {
            symbols.insert(symbol);
        });
    }
    symbols
}

/// Returns the results of host kernels from which other nodes compute these values.
fn host_results(graph: &GraphData, values: &[ValueIx]) -> Vec<ValueIx> {
    let (mut found, mut seen) = (Vec::new(), FxHashSet::default());
    let mut todo = values.to_vec();
    while let Some(value) = todo.pop() {
        let node = graph.node_of(value);
        match node.op.body {
            _ if !seen.insert(value) => {}
            Body::Host(_) | Body::HostWith(_) => found.push(value),
            _ => todo.extend(&node.operands),
        }
    }
    found
}

impl SymbolSources {
    /// Records that a definition reads a value.
    fn watch(&mut self, value: ValueIx) {
        if !self.watched.contains(&value) {
            self.watched.push(value);
        }
    }

    /// Adds to `late` the values that the sizes of a node's operands and the symbols in its attributes depend on. The
    /// shape function of the node runs after these values are computed.
    fn wait_for_operands(&self, graph: &GraphData, node: &Node, late: &mut SmallVec<[ValueIx; 2]>) {
        let mut wait = |dim: &Dim| {
            graph.table.resolve(dim).symbols(&mut |symbol| {
                for value in self.late.get(&symbol).into_iter().flatten() {
                    if !late.contains(value) {
                        late.push(*value);
                    }
                }
            });
        };
        for operand in &node.operands {
            graph.values[operand.index()].shape.dims().unwrap_or_default().iter().for_each(&mut wait);
        }
        node.attrs().symbols(&mut |symbol| wait(&Dim::from(symbol)));
    }
}

/// Refuses a graph with a symbol that no run could give a value: nothing defines it, and no equality determines it.
fn refuse_undefined(graph: &GraphData, defined: &mut FxHashSet<Symbol>) -> Result<()> {
    let first_undefined = |defined: &FxHashSet<Symbol>, dim: &Dim| {
        let mut first = None;
        graph.table.resolve(dim).symbols(&mut |symbol| {
            if !defined.contains(&symbol) {
                first.get_or_insert(symbol);
            }
        });
        first
    };
    let mut equalities: Vec<[Dim; 2]> = Vec::new();
    for record in graph.table.guards() {
        if let Guard::Eq(a, b) = &record.guard {
            equalities.push([graph.table.resolve(a), graph.table.resolve(b)]);
        }
    }
    for equality in graph.table.equalities() {
        equalities.push([Dim::from(equality.symbol), graph.table.resolve(&equality.dim)]);
    }
    loop {
        let before = defined.len();
        for [a, b] in &equalities {
            for (known, dim) in [(a, b), (b, a)] {
                // The number 1 stands for every defined symbol. If the rest of the dim is linear in one symbol, the
                // equality determines this symbol.
                let others = dim.substitute(&mut |symbol| defined.contains(&symbol).then(|| Dim::known(1)));
                if first_undefined(defined, known).is_none()
                    && let Some((_, symbol, _)) = others.as_linear()
                {
                    defined.insert(symbol);
                }
            }
        }
        if defined.len() == before {
            break;
        }
    }
    for (number, node) in graph.nodes.iter().enumerate() {
        let refuse = |what: &str, symbol: Symbol| {
            let index = NodeIx(number as u32);
            let names = graph.dim_names();
            let message = format!(
                "{what} must be known when the op runs, but nothing determines {}{}",
                names.dim_text(&Dim::from(symbol)),
                nearest_determined_name(symbol, defined.iter().copied())
            );
            let call = graph.named_call_text(&node.op, &node.operands, node.attrs());
            let error = Error::new(ErrorKind::Compile, Phase::Compile, message);
            Err(graph
                .blame(error, &node.op, call, node.origin)
                .with_node(graph.node_name(index))
                .at(node.location))
        };
        for (name, attr) in node.attrs().iter() {
            let mut found = None;
            attr.symbols(&mut |symbol| found = found.or(first_undefined(defined, &Dim::from(symbol))));
            if let Some(symbol) = found {
                return refuse(name, symbol);
            }
        }
        for value in node.values() {
            for dim in graph.values[value.index()].shape.dims().unwrap_or_default() {
                if let Some(symbol) = first_undefined(defined, dim) {
                    return refuse("sizes", symbol);
                }
            }
        }
        for (name, dims) in node.derived() {
            if let Some(symbol) = dims.iter().find_map(|dim| first_undefined(defined, dim)) {
                return refuse(name, symbol);
            }
        }
    }
    Ok(())
}

/// Returns `; is it rows?` for the name of a dimension that nothing determines: the nearest of the names that have a
/// value, or some of them. The text is empty for a dimension without a name.
pub(crate) fn nearest_determined_name(unknown: Symbol, determined: impl Iterator<Item = Symbol>) -> String {
    let Some(name) = unknown.name() else { return String::new() };
    let determined: Vec<Symbol> = determined.collect();
    let mut names: Vec<&str> = determined.iter().filter_map(|symbol| symbol.name()).collect();
    names.sort_unstable();
    did_you_mean_or_try(name, names.iter().copied(), names.iter().copied())
}

/// Returns the symbols in shapes, parameters, attributes and guards, which a run must know. A run need not know a
/// symbol that occurs only among the elements of data.
fn needed_symbols(graph: &GraphData) -> FxHashSet<Symbol> {
    let mut needed = FxHashSet::default();
    let mut note = |dim: &Dim| {
        dim.symbols(&mut |symbol| {
            needed.insert(symbol);
        });
        graph.table.resolve(dim).symbols(&mut |symbol| {
            needed.insert(symbol);
        });
    };
    for value in &graph.values {
        value.shape.dims().unwrap_or_default().iter().for_each(&mut note);
    }
    for record in graph.table.guards() {
        record.guard.dims().into_iter().for_each(&mut note);
    }
    for node in &graph.nodes {
        // When a run calls a shape function, the function reads the elements of parameters.
        for operand in node.parameters().map(|(_, value)| value) {
            let elements = graph.values[operand.index()].elements.iter();
            elements.flat_map(|elements| elements.elements()).for_each(&mut note);
        }
        node.derived().iter().flat_map(|(_, dims)| dims).for_each(&mut note);
        node.attrs().symbols(&mut |symbol| note(&Dim::from(symbol)));
    }
    needed
}

/// Returns the symbols of these dimensions that have not been seen, and marks them as seen.
fn new_symbols<'a>(
    seen: &mut FxHashSet<Symbol>,
    dims: impl IntoIterator<Item = &'a Dim>,
) -> SmallVec<[Symbol; 4]> {
    let mut new = SmallVec::new();
    for dim in dims {
        dim.symbols(&mut |symbol| {
            if seen.insert(symbol) {
                new.push(symbol);
            }
        });
    }
    new
}

/// Removes the symbols for which `is_created` is false from `new` and from `seen`. Another node defines these symbols.
fn keep_created(
    seen: &mut FxHashSet<Symbol>,
    new: &mut SmallVec<[Symbol; 4]>,
    is_created: impl Fn(Symbol) -> bool,
) {
    new.retain(|symbol| {
        let created = is_created(*symbol);
        if !created {
            seen.remove(symbol);
        }
        created
    });
}
