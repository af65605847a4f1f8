//! `definitions`: what gives each symbol of a graph its value when it runs.
//!
//! Every symbol is made in one place, and that place defines it:
//!
//! | made as | defined by |
//! |---|---|
//! | a dimension of an input | the sizes that are fed |
//! | an element of a parameter | the parameter in memory |
//! | a dimension of a result of a host kernel | the result |
//! | a dimension or derived parameter of any other node | its shape function, run on sizes and values: the node is a *definer* |
//!
//! A definition stays when an equality replaces the symbol: then it is the check of the equality. Nothing else checks what
//! the shape function requires of symbols that it made itself. Equalities replace symbols by older ones alone
//! ([`DimTable::in_definition_order`](shapeflow_shape_fns::DimTable::in_definition_order)), so that whatever a symbol is
//! replaced by is defined where the symbol is, or before.

use rustc_hash::FxHashSet;
use shapeflow_shape_fns::{Dim, Guard, Symbol};
use smallvec::SmallVec;

use super::partition::Late;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{GraphData, Node, NodeIx, ValueIx};
use crate::op::Body;

/// Where symbols get their values.
#[derive(Default)]
pub(super) struct Definitions {
    /// For each symbol that sizes of inputs do not bind: the values that must be computed before it is.
    pub late: Late,
    pub definers: Vec<NodeIx>,
    /// Values whose elements are symbols.
    pub elements: Vec<ValueIx>,
    /// What definitions read: these elements, and the parameters of definers.
    pub watched: Vec<ValueIx>,
    /// Whether results of host kernels define symbols.
    pub sized_by_data: bool,
}

/// Finds what defines each symbol of `graph`.
///
/// # Errors
/// Nothing defines one that a node needs, such as a name among the attributes that no input has.
pub(super) fn definitions(graph: &GraphData) -> Result<Definitions> {
    let mut found = Definitions::default();
    let mut seen: FxHashSet<Symbol> = FxHashSet::default();
    for (_, input) in &graph.inputs {
        new_symbols(&mut seen, graph.values[input.at()].shape.dims().unwrap_or_default());
    }
    let needed = needed_symbols(graph);
    let is_replaced = |symbol: Symbol| graph.table.resolve(&Dim::from(symbol)).as_symbol() != Some(symbol);
    for (number, node) in graph.nodes.iter().enumerate() {
        // Elements of operands that this node is the first to look at.
        for &operand in &node.operands {
            let Some(elements) = &graph.values[operand.at()].elements else { continue };
            let mut new = new_symbols(&mut seen, elements.elements());
            let makers = [Some(number as u32), Some(graph.values[operand.at()].node.0)];
            forget(&mut seen, &mut new, |symbol| makers.contains(&graph.table.maker(symbol)));
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
            node.values().flat_map(|value| graph.values[value.at()].shape.dims().unwrap_or_default());
        let derived = node.derived().iter().flat_map(|(_, dims)| dims);
        let mut new = new_symbols(&mut seen, shapes.chain(derived));
        let by_result = matches!(node.op.body, Body::Host(_) | Body::HostWith(_));
        // A result of a host kernel also shows what a name is that its attributes bring along.
        forget(&mut seen, &mut new, |symbol| by_result || graph.table.maker(symbol) == Some(number as u32));
        if new.is_empty() {
            continue;
        }
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
    refuse_undefined(graph, &mut seen)?;
    Ok(found)
}

impl Definitions {
    fn watch(&mut self, value: ValueIx) {
        if !self.watched.contains(&value) {
            self.watched.push(value);
        }
    }

    /// A shape function runs on sizes and attributes that are known: adds what these wait for.
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
            graph.values[operand.at()].shape.dims().unwrap_or_default().iter().for_each(&mut wait);
        }
        node.attrs().symbols(&mut |symbol| wait(&Dim::from(symbol)));
    }
}

/// Refuses what a run could not give a value: a symbol that no definition makes and no requirement determines.
fn refuse_undefined(graph: &GraphData, defined: &mut FxHashSet<Symbol>) -> Result<()> {
    let undefined = |defined: &FxHashSet<Symbol>, dim: &Dim| {
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
                let others = dim.substitute(&mut |symbol| defined.contains(&symbol).then(|| Dim::known(1)));
                if undefined(defined, known).is_none()
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
            let message = format!(
                "{what} must be known when the op runs, but nothing determines {}",
                Dim::from(symbol)
            );
            let call = graph.call_text(&node.op, &node.operands, node.attrs());
            Err(Error::new(ErrorKind::Compile, Phase::Compile, message)
                .with_op(node.op.name(), call)
                .with_node(graph.node_name(index))
                .at(node.location))
        };
        for (name, attr) in node.attrs().iter() {
            let mut found = None;
            attr.symbols(&mut |symbol| found = found.or(undefined(defined, &Dim::from(symbol))));
            if let Some(symbol) = found {
                return refuse(name, symbol);
            }
        }
        for value in node.values() {
            for dim in graph.values[value.at()].shape.dims().unwrap_or_default() {
                if let Some(symbol) = undefined(defined, dim) {
                    return refuse("sizes", symbol);
                }
            }
        }
        for (name, dims) in node.derived() {
            if let Some(symbol) = dims.iter().find_map(|dim| undefined(defined, dim)) {
                return refuse(name, symbol);
            }
        }
    }
    Ok(())
}

/// The symbols that sizes, parameters of bodies and guards are made of; elements that are only data need not be known.
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
        // What shape functions read when a run calls them.
        for operand in node.parameters().map(|(_, value)| value) {
            let elements = graph.values[operand.at()].elements.iter();
            elements.flat_map(|elements| elements.elements()).for_each(&mut note);
        }
        node.derived().iter().flat_map(|(_, dims)| dims).for_each(&mut note);
        node.attrs().symbols(&mut |symbol| note(&Dim::from(symbol)));
    }
    needed
}

/// The symbols of these dimensions that have not been seen before.
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

/// Takes back those of the symbols that are not made here: they are met, and not defined.
fn forget(seen: &mut FxHashSet<Symbol>, new: &mut SmallVec<[Symbol; 4]>, is_made: impl Fn(Symbol) -> bool) {
    new.retain(|symbol| {
        let made = is_made(*symbol);
        if !made {
            seen.remove(symbol);
        }
        made
    });
}
