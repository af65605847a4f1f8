//! [`rebuild`]: copies the part of a graph that some values need, with shapes inferred again from what is known of
//! inputs.
//!
//! Dead code disappears, equal nodes become one, and nodes that are not needed constrain no dims. The new table keeps
//! the order of definitions: the dims of a value mention no symbol that is defined after the value, so a run knows
//! these dims when the run computes the value. Symbols of inputs come first, because a run binds them first.

use rustc_hash::{FxHashMap, FxHashSet};
use shapeflow_shape_fns::{Dim, DimTable, IntoDim, Symbol, TensorShape, Unknown};

use super::late_knowledge::LateKnowledge;
use super::rebuilder::Rebuilder;
use super::relied_bounds::keep_relied_bounds;
use super::relied_equalities::keep_relied_equalities;
use super::string_handles::StringMoves;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{GraphData, NodeIx, ValueIx, definer, needed_nodes};
use crate::op::Body;
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

/// Rebuilds the nodes of `old` that `wanted` needs. All inputs of the graph keep their numbers, needed or not.
///
/// # Errors
/// An input does not fit what is known of it, a needed op has no kernel, or inference refuses a node.
pub(crate) fn rebuild(old: &GraphData, wanted: &[ValueIx], known: &KnownInputs) -> Result<Rebuilt> {
    let needed = needed_nodes(old, wanted);
    rebuild_nodes(old, wanted, &needed, &vec![true; old.inputs.len()], known)
}

/// Rebuilds the nodes of `old` that `wanted` needs. Also returns which inputs are needed. The new graph has only
/// the needed inputs.
///
/// # Errors
/// A needed op has no kernel, or inference refuses a node.
pub(crate) fn rebuild_for_outputs(old: &GraphData, wanted: &[ValueIx]) -> Result<(Rebuilt, Vec<bool>)> {
    let needed = needed_nodes(old, wanted);
    let inputs: Vec<bool> =
        old.inputs.iter().map(|(_, value)| needed[old.values[value.index()].node.index()]).collect();
    Ok((rebuild_nodes(old, wanted, &needed, &inputs, &KnownInputs::default())?, inputs))
}

/// Rebuilds the nodes that `needed` marks, and the inputs that `inputs` marks. The result has the `wanted` values.
fn rebuild_nodes(
    old: &GraphData,
    wanted: &[ValueIx],
    needed: &[bool],
    inputs: &[bool],
    known: &KnownInputs,
) -> Result<Rebuilt> {
    let mut late = LateKnowledge::default();
    let mut lacking = usize::MAX;
    loop {
        let (mut this, mut strings) = copy_nodes(old, needed, inputs, known, late)?;
        keep_relied_equalities(&mut this, needed)?;
        keep_relied_bounds(&mut this, needed)?;
        // Every repetition narrows some gap, so the loop ends.
        if this.gaps.total() < lacking && this.gaps.are_narrowed(&this.new) {
            lacking = this.gaps.total();
            let values = this.values.iter().map(|(old, new)| (*old, *new));
            late = LateKnowledge::of(&this.new, values.chain(strings.moved()));
            continue;
        }
        for &value in wanted {
            strings.materialize(&mut this, value)?;
        }
        return Ok(Rebuilt { graph: this.new, values: this.values });
    }
}

/// Copies the nodes that `needed` marks, and the inputs that `inputs` marks, to a new graph. `late` is what is known of
/// the values from the start.
fn copy_nodes<'a>(
    old: &'a GraphData,
    needed: &[bool],
    inputs: &[bool],
    known: &KnownInputs,
    late: LateKnowledge,
) -> Result<(Rebuilder<'a>, StringMoves)> {
    let mut this = Rebuilder::new(old, late);
    let mut strings = StringMoves::default();
    for ((_, value), _) in old.inputs.iter().zip(inputs).filter(|(_, kept)| **kept) {
        this.translate(&old.values[value.index()].shape);
    }
    for ([a, b], location) in &old.assumed {
        this.new.assume_name([a, b], location)?;
    }
    let mut port = 0;
    for (number, node) in old.nodes.iter().enumerate() {
        let index = NodeIx(number as u32);
        match node.op.body {
            Body::Input => {
                // Inputs are numbered in the order of their nodes.
                if inputs[port] {
                    let (rank, sizes) = (known.ranks.get(&port), known.sizes.get(&port));
                    this.input(
                        index,
                        port,
                        rank.copied(),
                        sizes.map(|sizes| &sizes[..]),
                        known.values.get(&port),
                    )?;
                }
                port += 1;
            }
            _ if !needed[number] => {}
            Body::Constant => {
                let tensor = old.constants.get(&index).expect("a constant node has a tensor");
                this.constant(node, tensor.clone());
            }
            Body::ShapeOnly => return Err(no_kernel(old, index)),
            Body::Control(_) if this.select_branch(index)? || this.unroll_loop(index)? => {}
            _ => strings.copy(&mut this, index)?,
        }
    }
    Ok((this, strings))
}

/// The error about a node whose elements nothing computes.
fn no_kernel(old: &GraphData, index: NodeIx) -> Error {
    let node = &old.nodes[index.index()];
    let missing = node.op.stands_for(node.attrs());
    let reason = match (missing, node.op.refusal()) {
        (Some(op_type), _) => format!("there is no kernel for {op_type}"),
        (None, Some(reason)) => reason.to_string(),
        (None, None) => "it infers the shapes of the op but not its elements".to_string(),
    };
    let message = format!("shapeflow cannot compute this op: {reason}");
    Error::new(ErrorKind::Compile, Phase::Compile, message)
        .with_op(
            missing.unwrap_or(node.op.name()),
            old.named_call_text(&node.op, &node.operands, node.attrs()),
        )
        .with_node(old.node_name(index))
        .at(node.location)
}

/// Copies the `marked` nodes of `old` to a graph of their own. The inputs of the new graph are the `frontier`: the
/// values of other nodes that marked nodes read, in this order. The new graph also has the constants that marked nodes
/// read, and the constants among `outputs`.
///
/// `known`, if it is given, has the equalities that hold whether or not the marked nodes run. Any other equality of
/// `old` holds in the new graph only if a marked node requires it, or an attribute relies on it. Without `known`, all
/// equalities of `old` hold.
///
/// # Errors
/// Inference refuses a node.
pub(crate) fn subgraph<'a>(
    old: &'a GraphData,
    marked: &[bool],
    frontier: &[ValueIx],
    outputs: &[ValueIx],
    known: Option<KnownEqualities<'a>>,
) -> Result<Rebuilt> {
    let copied = old.nodes.iter().zip(marked).filter(|(_, marked)| **marked);
    let read = copied.flat_map(|(node, _)| &node.operands).chain(outputs);
    let read: FxHashSet<NodeIx> = read.map(|value| old.values[value.index()].node).collect();
    let mut this = Rebuilder::new(old, LateKnowledge::default());
    let resolver = known.as_ref().map_or(&old.table, |known| known.table);
    this.resolver = Some(resolver);
    for &value in frontier {
        let info = &old.values[value.index()];
        let shape = match info.shape.dims() {
            Some(dims) => TensorShape::new(dims.iter().map(|dim| {
                let dim = resolver.resolve(dim);
                // A dim that is not linear in one symbol cannot be solved for the symbol.
                if dim.is_known() || dim.as_linear().is_some() { dim } else { IntoDim::into_dim(Unknown) }
            })),
            None => TensorShape::unranked(),
        };
        let shape = this.translate(&shape);
        let node = old.node_of(value);
        let is_taken = |name: &&str| this.new.inputs.iter().any(|(other, _)| other == name);
        let own = node.own_name().filter(|name| node.outputs == 1 && !is_taken(name));
        let name = own.map_or_else(|| value.to_string(), str::to_string);
        let new = this.push_input(node, info.dtype, shape, name);
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
    if let Some(known) = known {
        keep_relied_equalities(&mut this, known.required)?;
    }
    Ok(Rebuilt { graph: this.new, values: this.values })
}

/// The equalities of a graph that hold in a part of the graph whether or not the nodes of the part run.
pub(crate) struct KnownEqualities<'a> {
    /// The table with these equalities.
    pub table: &'a DimTable,
    /// Marks the nodes that required these equalities, and the nodes of the part that run.
    pub required: &'a [bool],
}

/// Returns a value of an unmarked node whose sizes determine `symbol`, if there is one. The caller needs the value
/// because an attribute of a marked node mentions the symbol. A symbol that a marked node defines needs no such value.
/// `table` resolves the dims.
pub(crate) fn carrier(old: &GraphData, marked: &[bool], table: &DimTable, symbol: Symbol) -> Option<ValueIx> {
    let mut missing = Vec::new();
    table.resolve(&Dim::from(symbol)).symbols(&mut |symbol| {
        if !definer(old, symbol).is_some_and(|definer| marked[definer.index()]) {
            missing.push(symbol);
        }
    });
    let carries =
        |dim: &Dim| table.resolve(dim).as_linear().is_some_and(|(_, symbol, _)| missing.contains(&symbol));
    let values = old.values.iter().enumerate();
    let values = values.filter(|(_, info)| !info.is_closed() && !marked[info.node.index()]);
    let mut found = values.filter(|(_, info)| info.shape.dims().unwrap_or_default().iter().any(carries));
    found.next().map(|(number, _)| ValueIx(number as u32))
}
