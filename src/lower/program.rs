//! `Program`: the steps of a graph in order, over buffers.

use std::borrow::Cow;

use rustc_hash::{FxHashMap, FxHashSet};
use shapeflow_shape_fns::{Dim, Symbol};
use smallvec::SmallVec;

use super::build::build;
use super::home::{Home, Why};
use super::kernel::{BufferInfo, BufferIx, Kernel};
use super::partition::{Late, Planned, partition};
use crate::error::Result;
use crate::graph::{Inner, NodeIx, ValueIx};
use crate::op::{Body, MatMulSpec, Operand};

/// Where the content of a buffer comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Content {
    /// The feed of this port.
    Input(usize),
    /// The constant of this node.
    Constant(NodeIx),
    /// A step.
    Computed,
    /// The same elements as another buffer.
    Alias(BufferIx),
}

/// One thing to run.
pub(crate) enum Step {
    Kernel(Kernel),
    /// A matrix product of buffers.
    MatMul {
        node: NodeIx,
        a: BufferIx,
        b: BufferIx,
        out: BufferIx,
        spec: MatMulSpec,
    },
    /// A node that runs by itself: a host kernel, or a body that is interpreted.
    Node {
        node: NodeIx,
        operands: Vec<BufferIx>,
        outputs: Vec<BufferIx>,
    },
}

impl Step {
    /// Returns the buffers that the step reads and those that it writes.
    pub(crate) fn buffers(&self) -> (Cow<'_, [BufferIx]>, Cow<'_, [BufferIx]>) {
        match self {
            Step::Kernel(kernel) => (Cow::Borrowed(&kernel.reads), Cow::Borrowed(&kernel.writes)),
            Step::MatMul { a, b, out, .. } => (Cow::Owned(vec![*a, *b]), Cow::Owned(vec![*out])),
            Step::Node { operands, outputs, .. } => (Cow::Borrowed(operands), Cow::Borrowed(outputs)),
        }
    }
}

/// Steps that are planned together: every symbol they mention is bound before the first of them runs.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub steps: std::ops::Range<usize>,
    /// The symbols whose values choose the plan.
    pub symbols: Vec<Symbol>,
}

/// A lowered graph.
pub(crate) struct Program {
    pub buffers: Vec<BufferInfo>,
    pub contents: Vec<Content>,
    pub why: Vec<Why>,
    pub steps: Vec<Step>,
    pub segments: Vec<Segment>,
    pub outputs: Vec<BufferIx>,
    /// Nodes whose shape function defines symbols, once it is run on sizes and values.
    pub definers: Vec<NodeIx>,
    /// Values whose elements bind symbols, in the order of values, and their buffers.
    pub elements: Vec<(ValueIx, BufferIx)>,
    /// Whether steps need or give values of symbols: the sizes of some result of a host kernel depend on what it
    /// computes, or a node that runs by itself has symbols among its attributes.
    pub binds_when_run: bool,
    pub buffer_of: FxHashMap<ValueIx, BufferIx>,
    /// The buffer whose bytes each buffer has.
    pub roots: Vec<BufferIx>,
}

/// Where symbols first appear.
struct Origins {
    late: Late,
    definers: Vec<NodeIx>,
    elements: Vec<ValueIx>,
    sized_by_data: bool,
}

/// Lowers all of `inner`, every node of which is needed for `outputs`.
pub(crate) fn lower(inner: &Inner, outputs: &[ValueIx]) -> Result<Program> {
    let origins = origins(inner);
    // What the planner reads must have memory, so that it counts as an output of the partition.
    let partition = partition(inner, outputs, origins.late)?;
    let mut program = Program {
        buffers: Vec::new(),
        contents: Vec::new(),
        why: Vec::new(),
        steps: Vec::new(),
        segments: Vec::new(),
        outputs: Vec::new(),
        definers: origins.definers,
        binds_when_run: origins.sized_by_data,
        elements: Vec::new(),
        buffer_of: FxHashMap::default(),
        roots: Vec::new(),
    };
    program.make_buffers(inner, &partition.homes);
    let mut produced: FxHashSet<ValueIx> = FxHashSet::default();
    let mut begin = 0;
    for (number, (step, needs)) in partition.steps.iter().zip(&partition.needs).enumerate() {
        if needs.iter().any(|value| produced.contains(&root(&partition.homes, *value))) {
            program.segments.push(Segment { steps: begin..number, symbols: Vec::new() });
            begin = number;
            produced.clear();
        }
        match step {
            Planned::Cluster(cluster) => {
                let cluster = &partition.clusters[cluster.0 as usize];
                produced.extend(cluster.roots.iter().copied());
                program.steps.push(Step::Kernel(build(
                    inner,
                    &partition,
                    cluster,
                    &program.buffer_of,
                    &program.buffers,
                )?));
            }
            Planned::Node(node) => {
                produced.extend(inner.nodes[node.at()].values());
                program.binds_when_run |= has_symbols(&inner.nodes[node.at()]);
                let step = program.node_step(inner, *node);
                program.steps.push(step);
            }
        }
    }
    program.segments.push(Segment { steps: begin..program.steps.len(), symbols: Vec::new() });
    program.outputs = outputs.iter().map(|value| program.buffer_of[value]).collect();
    program.elements =
        origins.elements.iter().filter_map(|value| Some((*value, *program.buffer_of.get(value)?))).collect();
    for number in 0..program.segments.len() {
        program.segments[number].symbols = program.symbols_of(inner, program.segments[number].steps.clone());
    }
    Ok(program)
}

fn root(homes: &[Home], mut value: ValueIx) -> ValueIx {
    while let Home::Alias(source) = homes[value.at()] {
        value = source;
    }
    value
}

impl Program {
    fn make_buffers(&mut self, inner: &Inner, homes: &[Home]) {
        let ports: FxHashMap<ValueIx, usize> =
            inner.inputs.iter().enumerate().map(|(port, (_, value))| (*value, port)).collect();
        for (number, home) in homes.iter().enumerate() {
            let value = ValueIx(number as u32);
            let info = &inner.values[number];
            let content = match home {
                Home::None | Home::Inlined => continue,
                Home::Alias(source) => Content::Alias(self.buffer_of[source]),
                Home::Buffer(Why::Given) => match ports.get(&value) {
                    Some(&port) => Content::Input(port),
                    None => Content::Constant(info.node),
                },
                Home::Buffer(_) => Content::Computed,
            };
            let buffer = BufferIx(self.buffers.len() as u32);
            let dims =
                info.shape.dims().unwrap_or_default().iter().map(|dim| inner.table.resolve(dim)).collect();
            self.buffers.push(BufferInfo { dtype: info.dtype, dims, value });
            self.roots.push(match content {
                Content::Alias(of) => self.roots[of.at()],
                _ => buffer,
            });
            self.contents.push(content);
            self.why.push(match home {
                Home::Buffer(why) => *why,
                _ => Why::Made,
            });
            self.buffer_of.insert(value, buffer);
        }
    }

    fn node_step(&self, inner: &Inner, index: NodeIx) -> Step {
        let node = &inner.nodes[index.at()];
        let operands: Vec<BufferIx> = node.operands.iter().map(|operand| self.buffer_of[operand]).collect();
        let outputs: Vec<BufferIx> = node.values().map(|value| self.buffer_of[&value]).collect();
        match (&node.op.body, &operands[..], &outputs[..]) {
            (Body::Contraction { spec, .. }, &[a, b], &[out])
                if matches!(
                    self.buffers[out.at()].dtype,
                    shapeflow_shape_fns::DType::F32 | shapeflow_shape_fns::DType::F64
                ) =>
            {
                Step::MatMul { node: index, a, b, out, spec: spec(node.attrs()) }
            }
            _ => Step::Node { node: index, operands, outputs },
        }
    }

    /// Every symbol that the dimensions of these steps mention.
    fn symbols_of(&self, inner: &Inner, steps: std::ops::Range<usize>) -> Vec<Symbol> {
        let mut seen = FxHashSet::default();
        let mut symbols = Vec::new();
        let mut note = |dim: &Dim| {
            inner.table.resolve(dim).symbols(&mut |symbol| {
                if seen.insert(symbol) {
                    symbols.push(symbol);
                }
            });
        };
        let mut note_value = |value: ValueIx| {
            inner.values[value.at()].shape.dims().unwrap_or_default().iter().for_each(&mut note);
            for (_, dims) in inner.node_of(value).derived() {
                dims.iter().for_each(&mut note);
            }
        };
        // The results are sized by the plan, also those that no step makes.
        self.outputs.iter().for_each(|output| note_value(self.buffers[output.at()].value));
        for step in &self.steps[steps] {
            match step {
                Step::Kernel(kernel) => {
                    for &value in &kernel.fused {
                        note_value(value);
                        inner.node_of(value).operands.iter().for_each(|operand| note_value(*operand));
                    }
                }
                Step::MatMul { node, .. } | Step::Node { node, .. } => {
                    let node = &inner.nodes[node.at()];
                    node.values().for_each(&mut note_value);
                    node.operands.iter().for_each(|operand| note_value(*operand));
                }
            }
        }
        symbols
    }
}

/// Finds, for each symbol that sizes of inputs do not bind, what does.
fn origins(inner: &Inner) -> Origins {
    let mut origins =
        Origins { late: Late::default(), definers: Vec::new(), elements: Vec::new(), sized_by_data: false };
    let needed = needed_symbols(inner);
    let mut seen: FxHashSet<Symbol> = FxHashSet::default();
    for (_, input) in &inner.inputs {
        for dim in inner.values[input.at()].shape.dims().unwrap_or_default() {
            inner.table.resolve(dim).symbols(&mut |symbol| {
                seen.insert(symbol);
            });
        }
    }
    for (number, node) in inner.nodes.iter().enumerate() {
        // Elements of operands that this node is the first to look at.
        for &operand in &node.operands {
            let Some(elements) = &inner.values[operand.at()].elements else { continue };
            let mut new = new_symbols(inner, &mut seen, elements.elements());
            new.retain(|symbol| needed.contains(symbol));
            if (!new.is_empty() || inner.has_settled_elements(operand))
                && !origins.elements.contains(&operand)
            {
                origins.elements.push(operand);
            }
            for symbol in new {
                origins.late.insert(symbol, SmallVec::from_iter([operand]));
            }
        }
        let shapes =
            node.values().flat_map(|value| inner.values[value.at()].shape.dims().unwrap_or_default());
        let derived = node.derived().iter().flat_map(|(_, dims)| dims);
        let new = new_symbols(inner, &mut seen, shapes.chain(derived));
        if new.is_empty() {
            continue;
        }
        let host = matches!(node.op.body, Body::Host(_) | Body::HostWith(_));
        origins.sized_by_data |= host;
        let late: SmallVec<[ValueIx; 2]> = if host {
            node.values().collect()
        } else {
            origins.definers.push(NodeIx(number as u32));
            parameters(node)
        };
        for symbol in new {
            origins.late.insert(symbol, late.clone());
        }
    }
    origins
}

/// The symbols that sizes, parameters of bodies and guards are made of; elements that are only data need not be known.
fn needed_symbols(inner: &Inner) -> FxHashSet<Symbol> {
    let mut needed = FxHashSet::default();
    let mut note = |dim: &Dim| {
        inner.table.resolve(dim).symbols(&mut |symbol| {
            needed.insert(symbol);
        });
    };
    for value in &inner.values {
        value.shape.dims().unwrap_or_default().iter().for_each(&mut note);
    }
    for record in inner.table.guards() {
        record.guard.dims().into_iter().for_each(&mut note);
    }
    for node in &inner.nodes {
        // What shape functions read when a run calls them.
        for operand in parameters(node) {
            let elements = inner.values[operand.at()].elements.iter();
            elements.flat_map(|elements| elements.elements()).for_each(&mut note);
        }
        node.derived().iter().flat_map(|(_, dims)| dims).for_each(&mut note);
        node.attrs().symbols(&mut |symbol| note(&Dim::from(symbol)));
    }
    needed
}

/// The symbols of these dimensions that have not been seen before.
fn new_symbols<'a>(
    inner: &Inner,
    seen: &mut FxHashSet<Symbol>,
    dims: impl IntoIterator<Item = &'a Dim>,
) -> SmallVec<[Symbol; 4]> {
    let mut new = SmallVec::new();
    for dim in dims {
        inner.table.resolve(dim).symbols(&mut |symbol| {
            if seen.insert(symbol) {
                new.push(symbol);
            }
        });
    }
    new
}

/// Whether attributes mention symbols.
fn has_symbols(node: &crate::graph::Node) -> bool {
    let mut found = false;
    node.attrs().symbols(&mut |_| found = true);
    found
}

/// The size and structure operands of a node.
fn parameters(node: &crate::graph::Node) -> SmallVec<[ValueIx; 2]> {
    let Some(list) = node.op.operand_list() else { return SmallVec::new() };
    let given = list.iter().enumerate().filter(|(i, _)| node.given & (1 << i) != 0);
    given
        .zip(&node.operands)
        .filter(|((_, operand), _)| matches!(operand, Operand::Size(_) | Operand::Structure(_)))
        .map(|(_, value)| *value)
        .collect()
}
