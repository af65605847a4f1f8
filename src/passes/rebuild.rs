//! [`rebuild`]: copies the part of a graph that some values need, with shapes inferred anew from what is known of
//! inputs.
//!
//! Dead code disappears, equal nodes become one, and nodes that are not needed constrain no dims. The new table keeps
//! the order of definitions: the dims of a value mention nothing that is defined after it, so a run knows them when it
//! computes the value. Symbols of inputs come first, because a run binds them first.

use rustc_hash::{FxHashMap, FxHashSet};
use shapeflow_shape_fns::{Attrs, Dim, DimTable, IntoDim, Symbol, SymbolKind, TensorShape, Unknown};
use smallvec::SmallVec;

use super::needed_nodes::{definer, needed_nodes};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::eval::{elements_of, shape_of};
use crate::graph::{CONSTANT, Extra, GraphData, INPUT, Node, NodeIx, ValueIx};
use crate::op::{Body, OperandMask};
use crate::tensor::Tensor;

/// What is known of the inputs beyond their declarations, by the number of the input.
#[derive(Clone, Default)]
pub(crate) struct KnownInputs {
    /// Ranks of inputs that the graph leaves unranked.
    pub ranks: FxHashMap<usize, usize>,
    /// Inputs whose sizes are fixed.
    pub sizes: FxHashMap<usize, Vec<usize>>,
    /// Inputs whose value is fixed.
    pub values: FxHashMap<usize, Tensor>,
}

/// A rebuilt graph.
pub(crate) struct Rebuilt {
    pub graph: GraphData,
    /// The new value of each old value that is needed.
    pub values: FxHashMap<ValueIx, ValueIx>,
}

/// What a pure node computes: nodes with equal keys have equal results.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    op: usize,
    operands: SmallVec<[ValueIx; 2]>,
    given: OperandMask,
    attrs: Attrs,
}

/// Rebuilds the nodes of `old` that `wanted` needs. All inputs of the graph keep their numbers, needed or not.
///
/// # Errors
/// An input does not fit what is known of it, a needed op has no kernel, or inference refuses a node.
pub(crate) fn rebuild(old: &GraphData, wanted: &[ValueIx], known: &KnownInputs) -> Result<Rebuilt> {
    let needed = needed_nodes(old, wanted);
    rebuild_nodes(old, &needed, &vec![true; old.inputs.len()], known)
}

/// Rebuilds the nodes of `old` that `wanted` needs. Returns also which inputs are needed; the new graph has only these.
///
/// # Errors
/// A needed op has no kernel, or inference refuses a node.
pub(crate) fn rebuild_for_outputs(old: &GraphData, wanted: &[ValueIx]) -> Result<(Rebuilt, Vec<bool>)> {
    let needed = needed_nodes(old, wanted);
    let inputs: Vec<bool> =
        old.inputs.iter().map(|(_, value)| needed[old.values[value.at()].node.at()]).collect();
    Ok((rebuild_nodes(old, &needed, &inputs, &KnownInputs::default())?, inputs))
}

/// Rebuilds the nodes that `needed` marks, and the inputs that `inputs` marks.
fn rebuild_nodes(old: &GraphData, needed: &[bool], inputs: &[bool], known: &KnownInputs) -> Result<Rebuilt> {
    let mut this = Rebuilder::new(old);
    for ((_, value), _) in old.inputs.iter().zip(inputs).filter(|(_, kept)| **kept) {
        this.translate(&old.values[value.at()].shape);
    }
    this.new.state_names(&old.stated)?;
    let mut port = 0;
    for (number, node) in old.nodes.iter().enumerate() {
        let index = NodeIx(number as u32);
        match node.op.body {
            Body::Input => {
                // Inputs are numbered in the order of their nodes.
                if inputs[port] {
                    this.input(index, port, known)?;
                }
                port += 1;
            }
            _ if !needed[number] => {}
            Body::Constant => {
                let tensor = old.constants.get(&index).expect("a constant node has a tensor");
                this.constant(node, tensor.clone());
            }
            Body::ShapeOnly => return Err(no_kernel(old, index)),
            _ => this.copy(index)?,
        }
    }
    Ok(Rebuilt { graph: this.new, values: this.values })
}

/// The error about a node whose elements nothing computes.
fn no_kernel(old: &GraphData, index: NodeIx) -> Error {
    let node = &old.nodes[index.at()];
    let message = "the op has no kernel here: its shapes are inferred, but nothing computes its elements";
    Error::new(ErrorKind::Compile, Phase::Compile, message)
        .with_op(node.op.name(), old.call_text(&node.op, &node.operands, node.attrs()))
        .with_node(old.node_name(index))
        .at(node.location)
}

/// Copies the `marked` nodes of `old` to a graph of their own. Its inputs are the `frontier`: the values of other nodes
/// that the marked ones read, in this order. It has the constants that marked nodes read, and those among `outputs`.
///
/// # Errors
/// Inference refuses a node.
pub(crate) fn subgraph(
    old: &GraphData,
    marked: &[bool],
    frontier: &[ValueIx],
    outputs: &[ValueIx],
) -> Result<Rebuilt> {
    let copied = old.nodes.iter().zip(marked).filter(|(_, marked)| **marked);
    let read = copied.flat_map(|(node, _)| &node.operands).chain(outputs);
    let read: FxHashSet<NodeIx> = read.map(|value| old.values[value.at()].node).collect();
    let mut this = Rebuilder { resolves: true, ..Rebuilder::new(old) };
    for &value in frontier {
        let info = &old.values[value.at()];
        let shape = match info.shape.dims() {
            Some(dims) => TensorShape::new(dims.iter().map(|dim| {
                let dim = old.table.resolve(dim);
                // A dim that is not linear in one symbol cannot be solved for the symbol.
                if dim.is_known() || dim.as_linear().is_some() { dim } else { IntoDim::into_dim(Unknown) }
            })),
            None => TensorShape::unranked(),
        };
        let shape = this.translate(&shape);
        let node = old.node_of(value);
        let new = this.push_input(node, info.dtype, shape, value.to_string());
        this.values.insert(value, new);
    }
    for (number, node) in old.nodes.iter().enumerate() {
        let index = NodeIx(number as u32);
        match old.constants.get(&index) {
            Some(tensor) if read.contains(&index) => {
                this.constant(node, tensor.clone());
            }
            None if marked[number] => this.copy(index)?,
            _ => {}
        }
    }
    Ok(Rebuilt { graph: this.new, values: this.values })
}

/// Returns a value of an unmarked node whose sizes determine `symbol`, if there is one. The caller needs it because an
/// attribute of a marked node mentions the symbol. A symbol that a marked node defines needs no such value.
pub(crate) fn carrier(old: &GraphData, marked: &[bool], symbol: Symbol) -> Option<ValueIx> {
    let mut missing = Vec::new();
    old.table.resolve(&Dim::from(symbol)).symbols(&mut |symbol| {
        if !definer(old, symbol).is_some_and(|definer| marked[definer.at()]) {
            missing.push(symbol);
        }
    });
    let carries = |dim: &Dim| {
        old.table.resolve(dim).as_linear().is_some_and(|(_, symbol, _)| missing.contains(&symbol))
    };
    let values = old.values.iter().enumerate();
    let values = values.filter(|(_, info)| !info.is_closed() && !marked[info.node.at()]);
    let mut found = values.filter(|(_, info)| info.shape.dims().unwrap_or_default().iter().any(carries));
    found.next().map(|(number, _)| ValueIx(number as u32))
}

struct Rebuilder<'a> {
    old: &'a GraphData,
    new: GraphData,
    values: FxHashMap<ValueIx, ValueIx>,
    /// The dim of the new graph for each anonymous symbol of the old one.
    symbols: FxHashMap<Symbol, Dim>,
    /// Whether dims are copied as the old table resolves them, because the new graph lacks the nodes that equated them.
    resolves: bool,
    /// The first output of each pure node that is in the new graph.
    first_outputs: FxHashMap<Key, ValueIx>,
}

impl<'a> Rebuilder<'a> {
    fn new(old: &'a GraphData) -> Rebuilder<'a> {
        Rebuilder {
            old,
            new: GraphData {
                scopes: old.scopes.clone(),
                table: DimTable::in_definition_order(),
                ..GraphData::default()
            },
            values: FxHashMap::default(),
            symbols: FxHashMap::default(),
            resolves: false,
            first_outputs: FxHashMap::default(),
        }
    }

    /// Adds a node to the new graph, unless the graph has an equal node.
    fn copy(&mut self, index: NodeIx) -> Result<()> {
        let node = &self.old.nodes[index.at()];
        let key = self.key(index);
        // Two calls of a kernel with state may give different results.
        if !matches!(node.op.body, Body::HostWith(_))
            && let Some(&first) = self.first_outputs.get(&key)
        {
            self.map_outputs(node, first);
            return Ok(());
        }
        let first = self.node(index, node, &key)?;
        self.first_outputs.insert(key, first);
        Ok(())
    }

    fn input(&mut self, index: NodeIx, port: usize, known: &KnownInputs) -> Result<()> {
        let node = &self.old.nodes[index.at()];
        let info = &self.old.values[node.first_output.at()];
        let name = &self.old.inputs[port].0;
        let tensor = known.values.get(&port);
        // The declared shape: equalities that unneeded nodes found must not constrain it.
        let mut shape = self.translate(&info.shape);
        if let (None, Some(&rank)) = (shape.rank(), known.ranks.get(&port)) {
            shape = TensorShape::new((0..rank).map(|_| self.new.table.fresh(SymbolKind::Size)));
        }
        if let Some(sizes) = tensor.map(Tensor::sizes).or(known.sizes.get(&port).map(|sizes| &sizes[..])) {
            let fed = shape_of(sizes);
            self.equate(&shape, &fed).map_err(|error| {
                self.old.refused_input(port, info.dtype, sizes, &format!(": {}", error.message()))
            })?;
            shape = fed;
        }
        let mut value = self.push_input(node, info.dtype, shape, name.clone());
        if let Some(tensor) = tensor {
            // The node stays an input, so that inputs keep their numbers, but its readers read the constant.
            value = self.constant(node, tensor.clone());
        }
        self.values.insert(node.first_output, value);
        Ok(())
    }

    /// Equates the dims of a declared shape with the sizes of a fed shape.
    fn equate(&mut self, declared: &TensorShape, fed: &TensorShape) -> Result<()> {
        let (Some(declared), Some(fed)) = (declared.dims(), fed.dims()) else { return Ok(()) };
        if declared.len() != fed.len() {
            return Err(Error::msg(format!("the rank must be {}", declared.len())));
        }
        for (axis, (declared, fed)) in declared.iter().zip(fed).enumerate() {
            self.new
                .table
                .merge(declared, fed)
                .map_err(|error| Error::msg(format!("{} at axis {axis}", Error::from(error).message())))?;
        }
        Ok(())
    }

    /// Translates a shape of the old graph to the symbols of the new one.
    fn translate(&mut self, old: &TensorShape) -> TensorShape {
        let Some(dims) = old.dims() else { return TensorShape::unranked() };
        let translated =
            TensorShape::new(dims.iter().map(|dim| dim.substitute(&mut |symbol| self.symbol(symbol))));
        self.new.table.import(&translated)
    }

    /// Returns the dim of the new graph for an anonymous symbol of the old one. The symbol's number means nothing in
    /// the new table, so a symbol that no node has defined yet becomes a fresh one, which no node makes.
    fn symbol(&mut self, old: Symbol) -> Option<Dim> {
        if !old.is_anonymous() {
            return None;
        }
        let table = &mut self.new.table;
        let new = self.symbols.entry(old).or_insert_with(|| {
            table.set_origin(u32::MAX);
            table.fresh(old.kind())
        });
        Some(new.clone())
    }

    fn push_input(
        &mut self,
        node: &Node,
        dtype: shapeflow_shape_fns::DType,
        shape: TensorShape,
        name: String,
    ) -> ValueIx {
        let extra = Extra { name: Some(name.clone()), ..Extra::default() };
        let node = Node { extra: Some(Box::new(extra)), ..Node::leaf(&INPUT, node.location, node.scope) };
        let value = self.new.push(node, [(dtype, shape, None)]);
        self.new.inputs.push((name, value));
        value
    }

    fn constant(&mut self, node: &Node, tensor: Tensor) -> ValueIx {
        let index = NodeIx(self.new.nodes.len() as u32);
        let output = (tensor.dtype(), shape_of(tensor.sizes()), elements_of(&tensor.view()));
        self.new.constants.insert(index, tensor);
        let constant = Node { extra: node.extra.clone(), ..Node::leaf(&CONSTANT, node.location, node.scope) };
        let value = self.new.push(constant, [output]);
        self.values.insert(node.first_output, value);
        value
    }

    fn key(&mut self, index: NodeIx) -> Key {
        let node = &self.old.nodes[index.at()];
        let attrs = node.attrs().substitute(&mut |symbol| match self.resolves {
            // A node keeps the symbols that it defines.
            true if definer(self.old, symbol) != Some(index) => {
                let known = self.old.table.resolve(&Dim::from(symbol));
                Some(known.substitute(&mut |symbol| self.symbol(symbol)))
            }
            _ => self.symbol(symbol),
        });
        let operands = node.operands.iter().map(|operand| self.values[operand]).collect();
        Key { op: node.op.address(), operands, given: node.given, attrs }
    }

    fn node(&mut self, index: NodeIx, node: &Node, key: &Key) -> Result<ValueIx> {
        self.new.scope = node.scope;
        let name = node.extra.as_ref().and_then(|extra| extra.name.clone());
        let added = self.new.add(&node.op, key.operands.clone(), node.given, &key.attrs, name, node.location);
        let first = match added {
            Ok(mut values) => values.next(),
            Err(error) => {
                let call = self.new.call_text(&node.op, &key.operands, &key.attrs);
                return Err(error
                    .with_phase(Phase::Compile)
                    .with_op(node.op.name(), call)
                    .with_node(self.old.node_name(index))
                    .at(node.location));
            }
        };
        let first = first.ok_or_else(|| Error::msg("a node has no outputs"))?;
        self.map_outputs(node, first);
        // Later nodes find the new symbols of the unknown dims that this node introduced.
        for (position, old) in node.values().enumerate() {
            let new = ValueIx(first.0 + position as u32);
            let old_shape = self.old.values[old.at()].shape.clone();
            let new_shape = self.new.values[new.at()].shape.clone();
            let (Some(old_dims), Some(new_dims)) = (old_shape.dims(), new_shape.dims()) else { continue };
            for (old, new) in old_dims.iter().zip(new_dims) {
                self.learn(old, new);
            }
        }
        let derived = self.new.node_of(first).derived().to_vec();
        for ((_, old), (_, new)) in node.derived().iter().zip(&derived) {
            old.iter().zip(new).for_each(|(old, new)| self.learn(old, new));
        }
        for &old in node.operands.iter() {
            self.learn_elements(old, self.values[&old]);
        }
        for (position, old) in node.values().enumerate() {
            self.learn_elements(old, ValueIx(first.0 + position as u32));
        }
        Ok(first)
    }

    /// Records the new dims of the elements of a value.
    fn learn_elements(&mut self, old: ValueIx, new: ValueIx) {
        let graph = self.old;
        let (Some(old), Some(new)) =
            (&graph.values[old.at()].elements, self.new.values[new.at()].elements.clone())
        else {
            return;
        };
        for (old, new) in old.elements().iter().zip(new.elements()) {
            self.learn(old, new);
        }
    }

    /// Records the new dim of an anonymous symbol, unless it has one.
    fn learn(&mut self, old: &Dim, new: &Dim) {
        if let Some(symbol) = old.as_symbol()
            && symbol.is_anonymous()
        {
            self.symbols.entry(symbol).or_insert_with(|| new.clone());
        }
    }

    fn map_outputs(&mut self, node: &Node, first: ValueIx) {
        for (position, old) in node.values().enumerate() {
            self.values.insert(old, ValueIx(first.0 + position as u32));
        }
    }
}
