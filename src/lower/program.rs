//! `Program`: the steps of a graph in order, over buffers.

use std::borrow::Cow;

use rustc_hash::{FxHashMap, FxHashSet};
use shapeflow_shape_fns::{Dim, Symbol};

use super::build::build;
use super::define::definitions;
use super::home::{Home, Why};
use super::kernel::{BufferInfo, BufferIx, Kernel};
use super::partition::{Planned, partition};
use crate::error::Result;
use crate::graph::{GraphData, NodeIx, ValueIx};
use crate::op::{Body, MatMulSpec};

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
    /// What is read to define symbols: it keeps its memory to the end.
    pub watched: Vec<BufferIx>,
    /// Whether steps need or give values of symbols: the sizes of some result of a host kernel depend on what it
    /// computes, or a node that runs by itself has symbols among its attributes.
    pub binds_when_run: bool,
    pub buffer_of: FxHashMap<ValueIx, BufferIx>,
    /// The buffer whose bytes each buffer has.
    pub roots: Vec<BufferIx>,
}

/// Lowers all of `graph`, every node of which is needed for `outputs`.
pub(crate) fn lower(graph: &GraphData, outputs: &[ValueIx]) -> Result<Program> {
    let definitions = definitions(graph)?;
    let partition = partition(graph, outputs, definitions.late, &definitions.watched)?;
    let mut program = Program {
        buffers: Vec::new(),
        contents: Vec::new(),
        why: Vec::new(),
        steps: Vec::new(),
        segments: Vec::new(),
        outputs: Vec::new(),
        definers: definitions.definers,
        binds_when_run: definitions.sized_by_data,
        elements: Vec::new(),
        watched: Vec::new(),
        buffer_of: FxHashMap::default(),
        roots: Vec::new(),
    };
    program.make_buffers(graph, &partition.homes);
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
                    graph,
                    &partition,
                    cluster,
                    &program.buffer_of,
                    &program.buffers,
                )?));
            }
            Planned::Node(node) => {
                produced.extend(graph.nodes[node.at()].values());
                program.binds_when_run |= has_symbols(&graph.nodes[node.at()]);
                let step = program.node_step(graph, *node);
                program.steps.push(step);
            }
        }
    }
    program.segments.push(Segment { steps: begin..program.steps.len(), symbols: Vec::new() });
    program.outputs = outputs.iter().map(|value| program.buffer_of[value]).collect();
    program.elements = definitions.elements.iter().map(|value| (*value, program.buffer_of[value])).collect();
    program.watched = definitions.watched.iter().map(|value| program.buffer_of[value]).collect();
    for number in 0..program.segments.len() {
        program.segments[number].symbols = program.symbols_of(graph, program.segments[number].steps.clone());
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
    fn make_buffers(&mut self, graph: &GraphData, homes: &[Home]) {
        let ports: FxHashMap<ValueIx, usize> =
            graph.inputs.iter().enumerate().map(|(port, (_, value))| (*value, port)).collect();
        for (number, home) in homes.iter().enumerate() {
            let value = ValueIx(number as u32);
            let info = &graph.values[number];
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
                info.shape.dims().unwrap_or_default().iter().map(|dim| graph.table.resolve(dim)).collect();
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

    fn node_step(&self, graph: &GraphData, index: NodeIx) -> Step {
        let node = &graph.nodes[index.at()];
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
    fn symbols_of(&self, graph: &GraphData, steps: std::ops::Range<usize>) -> Vec<Symbol> {
        let mut seen = FxHashSet::default();
        let mut symbols = Vec::new();
        let mut note = |dim: &Dim| {
            graph.table.resolve(dim).symbols(&mut |symbol| {
                if seen.insert(symbol) {
                    symbols.push(symbol);
                }
            });
        };
        let mut note_value = |value: ValueIx| {
            graph.values[value.at()].shape.dims().unwrap_or_default().iter().for_each(&mut note);
            for (_, dims) in graph.node_of(value).derived() {
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
                        graph.node_of(value).operands.iter().for_each(|operand| note_value(*operand));
                    }
                }
                Step::MatMul { node, .. } | Step::Node { node, .. } => {
                    let node = &graph.nodes[node.at()];
                    node.values().for_each(&mut note_value);
                    node.operands.iter().for_each(|operand| note_value(*operand));
                }
            }
        }
        symbols
    }
}

/// Whether attributes mention symbols.
fn has_symbols(node: &crate::graph::Node) -> bool {
    let mut found = false;
    node.attrs().symbols(&mut |_| found = true);
    found
}
