//! [`Rebuilder`]: builds a graph from the nodes of another graph.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use shapeflow_shape_fns::{
    Attrs, DType, Dim, DimTable, OperandInfo, PartialElements, Symbol, SymbolKind, TensorShape,
};
use smallvec::SmallVec;

use super::late_knowledge::{Gaps, LateKnowledge};
use crate::error::{Error, Phase, Result};
use crate::eval::{elements_of, shape_of};
use crate::graph::{CONSTANT, Extra, GraphData, INPUT, Node, NodeIx, ValueIx, definer, operand_info};
use crate::op::{Body, OpDef, OpRef, OperandMask};
use crate::tensor::Tensor;

/// What a pure node computes: nodes with equal keys have equal results.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    op: usize,
    operands: SmallVec<[ValueIx; 2]>,
    given_operands: OperandMask,
    attrs: Attrs,
}

/// A graph that is made from the nodes of another one.
pub(super) struct Rebuilder<'a> {
    pub old: &'a GraphData,
    pub new: GraphData,
    /// For each value of the old graph: the value of the new graph.
    pub values: FxHashMap<ValueIx, ValueIx>,
    /// The dim of the new graph for each anonymous symbol of the old graph.
    symbols: FxHashMap<Symbol, Dim>,
    /// The table that resolves the dims that are copied, if the new graph lacks the nodes that equated them.
    pub resolver: Option<&'a DimTable>,
    /// The nodes of the new graph whose inference lacked knowledge.
    pub gaps: Gaps,
    /// What is known of the values of the old graph from the start.
    pub late: LateKnowledge,
    /// The first output of each pure node that is in the new graph.
    first_outputs: FxHashMap<Key, ValueIx>,
    /// The constants of the new graph by the hash of their dtype, their sizes and some of their elements.
    constants: FxHashMap<u64, SmallVec<[ValueIx; 1]>>,
}

impl<'a> Rebuilder<'a> {
    pub fn new(old: &'a GraphData, late: LateKnowledge) -> Rebuilder<'a> {
        Rebuilder {
            old,
            new: GraphData {
                scopes: old.scopes.clone(),
                calls: old.calls.clone(),
                table: DimTable::in_definition_order(),
                ..GraphData::default()
            },
            values: FxHashMap::default(),
            symbols: FxHashMap::default(),
            resolver: None,
            gaps: Gaps::default(),
            late,
            first_outputs: FxHashMap::default(),
            constants: FxHashMap::default(),
        }
    }

    /// Exchanges the unfinished graphs of two rebuilders.
    pub fn exchange(&mut self, other: &mut Rebuilder<'_>) {
        std::mem::swap(&mut self.new, &mut other.new);
        std::mem::swap(&mut self.gaps, &mut other.gaps);
        std::mem::swap(&mut self.first_outputs, &mut other.first_outputs);
        std::mem::swap(&mut self.constants, &mut other.constants);
    }

    /// Adds a node to the new graph, unless the graph has an equal node.
    pub fn copy(&mut self, index: NodeIx) -> Result<()> {
        let node = &self.old.nodes[index.index()];
        let operands: SmallVec<[ValueIx; 2]> =
            node.operands.iter().map(|operand| self.values[operand]).collect();
        if self.forwards(node, &operands) {
            for (old, new) in node.values().zip(operands) {
                self.learn_value(old, new);
                self.recall(old, new)?;
                self.values.insert(old, new);
            }
            return Ok(());
        }
        let first = self.find_or_add(index, operands)?;
        for (position, old) in node.values().enumerate() {
            let new = ValueIx(first.0 + position as u32);
            self.recall(old, new)?;
            self.values.insert(old, new);
        }
        Ok(())
    }

    /// Returns whether the outputs of a node on these operands are the operands.
    fn forwards(&self, node: &Node, operands: &[ValueIx]) -> bool {
        let infos: SmallVec<[OperandInfo<'_>; 4]> =
            operands.iter().map(|value| operand_info(&self.new.values[value.index()])).collect();
        node.op.forwards_operands(&infos, &self.new.table)
    }

    /// Copies node `index` to the new graph with `operands`, unless the new graph has an equal node. Returns the first
    /// output of the copy or of the equal node.
    ///
    /// # Errors
    /// Inference refuses the node.
    pub fn find_or_add(&mut self, index: NodeIx, operands: SmallVec<[ValueIx; 2]>) -> Result<ValueIx> {
        let node = &self.old.nodes[index.index()];
        let key = self.key(index, operands);
        let is_pure = match &node.op.body {
            Body::HostWith(kernel) => kernel.is_pure(),
            _ => true,
        };
        let equal = self.first_outputs.get(&key).copied().filter(|_| is_pure);
        let first = match equal {
            Some(first) => first,
            None => {
                let first = self.node(index, node, &key)?;
                let made = self.new.values[first.index()].node;
                self.gaps.note(&self.new, made);
                self.first_outputs.insert(key, first);
                first
            }
        };
        // Attributes of later nodes may mention the symbols of either of two equal nodes.
        self.learn_node(node, first);
        Ok(first)
    }

    /// Returns the output of a call of `op`, which stands for the node that makes the value `old` of the old graph.
    /// Adds the call if the graph has none.
    ///
    /// # Errors
    /// Inference refuses the call.
    pub fn find_or_add_call(
        &mut self,
        old: ValueIx,
        op: &'static OpDef,
        operands: SmallVec<[ValueIx; 2]>,
        attrs: Attrs,
    ) -> Result<ValueIx> {
        let node = self.old.node_of(old);
        let attrs = attrs.declared_by(op.attributes());
        let (op, given_operands) = (OpRef::from(op), (0..operands.len()).collect());
        let key = Key { op: op.address(), operands, given_operands, attrs };
        if let Some(&first) = self.first_outputs.get(&key) {
            return Ok(first);
        }
        self.new.scope = node.scope;
        let mut values =
            self.new.add(&op, key.operands.clone(), given_operands, &key.attrs, None, node.location)?;
        let first = values.next().expect("the op has one output");
        self.first_outputs.insert(key, first);
        Ok(first)
    }

    /// Adds input `port`, whose rank, sizes or value may be fixed.
    ///
    /// # Errors
    /// The input does not fit the fixed rank, sizes or value.
    pub fn input(
        &mut self,
        index: NodeIx,
        port: usize,
        rank: Option<usize>,
        sizes: Option<&[usize]>,
        tensor: Option<&Tensor>,
    ) -> Result<()> {
        let node = &self.old.nodes[index.index()];
        let info = &self.old.values[node.first_output.index()];
        let name = &self.old.inputs[port].0;
        // The declared shape: equalities that unneeded nodes found must not constrain it.
        let mut shape = self.translate(&info.shape);
        if let (None, Some(rank)) = (shape.rank(), rank) {
            shape = TensorShape::new((0..rank).map(|_| self.new.table.fresh(SymbolKind::Size)));
        }
        if let Some(sizes) = tensor.map(Tensor::sizes).or(sizes) {
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
        self.recall(node.first_output, value)?;
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

    /// Gives a new value what is known of the old value from the start.
    ///
    /// # Errors
    /// The new graph contradicts what is known.
    pub fn recall(&mut self, old: ValueIx, new: ValueIx) -> Result<()> {
        self.late.recall(&mut self.new, old, new)
    }

    /// Translates a shape of the old graph to the symbols of the new graph.
    pub fn translate(&mut self, old: &TensorShape) -> TensorShape {
        let Some(dims) = old.dims() else { return TensorShape::unranked() };
        let translated =
            TensorShape::new(dims.iter().map(|dim| dim.substitute(&mut |symbol| self.symbol(symbol))));
        self.new.table.import(&translated)
    }

    /// Returns the dim of the new graph for an anonymous symbol of the old graph. The symbol's number means nothing in
    /// the new table, so a symbol that no node has defined yet becomes a fresh one, which no node makes.
    pub fn symbol(&mut self, old: Symbol) -> Option<Dim> {
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

    /// Returns whether the new graph has a symbol of the old graph. `named` holds the names in the new graph.
    pub fn has_symbol(&self, old: Symbol, named: &FxHashSet<Symbol>) -> bool {
        if old.is_anonymous() { self.symbols.contains_key(&old) } else { named.contains(&old) }
    }

    pub fn push_input(&mut self, node: &Node, dtype: DType, shape: TensorShape, name: String) -> ValueIx {
        let extra = Extra { name: Some(name.clone()), ..Extra::default() };
        let node = Node { extra: Some(Box::new(extra)), ..Node::leaf(&INPUT, node.location, node.scope) };
        let value = self.new.push(node, [(dtype, shape, None)]);
        self.new.inputs.push((name, value));
        value
    }

    /// Adds a constant, unless the graph has an equal one.
    pub fn constant(&mut self, node: &Node, tensor: Tensor) -> ValueIx {
        let hash = hash_of_prefix(&tensor);
        let mut alike = self.constants.get(&hash).into_iter().flatten().copied();
        let equal = alike.find(|value| {
            let other = self.new.constants.get(&self.new.values[value.index()].node);
            other.is_some_and(|other| *other == tensor)
        });
        let value = equal.unwrap_or_else(|| {
            let value = self.new_constant(node, tensor);
            self.constants.entry(hash).or_default().push(value);
            value
        });
        self.values.insert(node.first_output, value);
        value
    }

    fn new_constant(&mut self, node: &Node, tensor: Tensor) -> ValueIx {
        let index = NodeIx(self.new.nodes.len() as u32);
        let output = (tensor.dtype(), shape_of(tensor.sizes()), elements_of(&tensor.view()));
        self.new.constants.insert(index, tensor);
        let constant = Node { extra: node.extra.clone(), ..Node::leaf(&CONSTANT, node.location, node.scope) };
        self.new.push(constant, [output])
    }

    fn key(&mut self, index: NodeIx, operands: SmallVec<[ValueIx; 2]>) -> Key {
        let node = &self.old.nodes[index.index()];
        let attrs = node.attrs().substitute(&mut |symbol| match self.resolver {
            // A node keeps the symbols that it defines.
            Some(table) if definer(self.old, symbol) != Some(index) => {
                let known = table.resolve(&Dim::from(symbol));
                Some(known.substitute(&mut |symbol| self.symbol(symbol)))
            }
            _ => self.symbol(symbol),
        });
        Key { op: node.op.address(), operands, given_operands: node.given_operands, attrs }
    }

    fn node(&mut self, index: NodeIx, node: &Node, key: &Key) -> Result<ValueIx> {
        self.new.scope = node.scope;
        let name = node.extra.as_ref().and_then(|extra| extra.name.clone());
        let added = self.new.add(
            &node.op,
            key.operands.clone(),
            node.given_operands,
            &key.attrs,
            name,
            node.location,
        );
        let first = match added {
            Ok(mut values) => {
                let made = self.new.nodes.last_mut().expect("the node was added");
                made.origin = node.origin;
                values.next()
            }
            Err(error) => {
                let call = self.new.named_call_text(&node.op, &key.operands, &key.attrs);
                let error = error.with_phase(Phase::Compile);
                return Err(self
                    .new
                    .blame(error, &node.op, call, node.origin)
                    .with_node(self.old.node_name(index))
                    .at(node.location));
            }
        };
        first.ok_or_else(|| Error::msg("a node has no outputs"))
    }

    /// Records the new symbols of the unknown dims that a node introduced. `first` is the first output of its copy or
    /// of an equal node.
    fn learn_node(&mut self, node: &Node, first: ValueIx) {
        for (position, old) in node.values().enumerate() {
            self.learn_shape(old, ValueIx(first.0 + position as u32));
        }
        let derived = self.new.node_of(first).derived().to_vec();
        for ((_, old), (_, new)) in node.derived().iter().zip(&derived) {
            old.iter().zip(new).for_each(|(old, new)| self.learn(old, new));
        }
        for &old in node.operands.iter() {
            // A string operand may have no new value, because its handles move instead. Inference tracks no elements of
            // strings, so nothing is lost.
            if let Some(&new) = self.values.get(&old) {
                self.learn_elements(old, new);
            }
        }
        for (position, old) in node.values().enumerate() {
            let new = ValueIx(first.0 + position as u32);
            self.name_elements(old, new);
            self.learn_elements(old, new);
        }
        for (operand, old) in node.assumed() {
            self.learn_assumed(first, *operand, old);
        }
    }

    /// Records the new dims of a shape that stood for the shape of an unranked operand. The new node has the output
    /// `first`; its operand may be unranked too.
    fn learn_assumed(&mut self, first: ValueIx, operand: usize, old: &TensorShape) {
        let node = self.new.node_of(first);
        let Some(value) = node.operands.get(operand) else { return };
        let of_value = &self.new.values[value.index()].shape;
        let of_node =
            node.assumed().iter().find(|(index, shape)| *index == operand && shape.rank() == old.rank());
        let new = match (of_value.rank(), of_node) {
            (None, Some((_, shape))) => shape.clone(),
            _ => of_value.clone(),
        };
        for (old, new) in old.dims().into_iter().flatten().zip(new.dims().into_iter().flatten()) {
            self.learn(old, new);
        }
    }

    /// Gives the elements of a new value symbols, if the node of the old value made symbols for the elements and
    /// inference of the new node has made none: a node of the old graph that asked for them may not be copied.
    fn name_elements(&mut self, old: ValueIx, new: ValueIx) {
        let (info, new_info) = (&self.old.values[old.index()], &mut self.new.values[new.index()]);
        let (Some(elements), None) = (&info.elements, &new_info.elements) else { return };
        let is_made_here = |dim: &Dim| {
            dim.as_symbol().is_some_and(|symbol| self.old.table.maker(symbol) == Some(info.node.0))
        };
        let table = &mut self.new.table;
        let sizes = table.resolve_shape(&new_info.shape).as_known();
        if !elements.elements().iter().any(is_made_here)
            || sizes.is_none_or(|sizes| &sizes[..] != elements.sizes())
        {
            return;
        }
        table.set_origin(new_info.node.0);
        let symbols = (0..elements.len()).map(|_| table.fresh(SymbolKind::Integer));
        new_info.elements = PartialElements::with_sizes(elements.sizes(), symbols).ok().map(Box::new);
    }

    /// Records the new dims of the shape and the elements of a value.
    pub fn learn_value(&mut self, old: ValueIx, new: ValueIx) {
        self.learn_shape(old, new);
        self.learn_elements(old, new);
    }

    /// Records the new dims of the shape of a value.
    fn learn_shape(&mut self, old: ValueIx, new: ValueIx) {
        let graph = self.old;
        let new_shape = self.new.values[new.index()].shape.clone();
        let (Some(old), Some(new)) = (graph.values[old.index()].shape.dims(), new_shape.dims()) else {
            return;
        };
        for (old, new) in old.iter().zip(new) {
            self.learn(old, new);
        }
    }

    /// Records the new dims of the elements of a value.
    fn learn_elements(&mut self, old: ValueIx, new: ValueIx) {
        let graph = self.old;
        let (Some(old), Some(new)) =
            (&graph.values[old.index()].elements, self.new.values[new.index()].elements.clone())
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
}

/// Returns a hash of the dtype, the sizes and the first elements of a tensor. The other elements may lie in a file,
/// which nothing should read before it must.
fn hash_of_prefix(tensor: &Tensor) -> u64 {
    const BYTES: usize = 64;
    let mut hasher = FxHasher::default();
    (tensor.dtype(), tensor.sizes()).hash(&mut hasher);
    match tensor.as_strings() {
        Ok(strings) => strings.iter().take(BYTES / 8).for_each(|string| string.hash(&mut hasher)),
        Err(_) if tensor.dtype().size_bytes().is_some() => {
            let view = tensor.view();
            let bytes = view.bytes();
            bytes[..bytes.len().min(BYTES)].hash(&mut hasher);
        }
        Err(_) => {}
    }
    hasher.finish()
}
