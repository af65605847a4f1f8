//! [`Program`]: a lowered graph, which is a list of steps over buffers.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use shapeflow_shape_fns::{Dim, Symbol};

use super::build::build;
use super::definitions::definitions;
use super::kernel::{BufferInfo, BufferIx, Kernel};
use super::partition::{PlannedStep, partition};
use super::placement::{MaterializeReason, Placement};
use crate::error::Result;
use crate::graph::{GraphData, Node, NodeIx, ValueIx};
use crate::op::{Body, ContractionSpec, WholeFn};

/// The source of a buffer's content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Content {
    /// The run is fed the content, as the input with this number.
    Input(usize),
    /// The constant of this node.
    Constant(NodeIx),
    /// A step writes the content.
    Computed,
    /// The buffer shares the bytes of another buffer.
    Alias(BufferIx),
}

/// One step of a program.
pub(crate) enum Step {
    Kernel(Kernel),
    /// A matmul of two buffers.
    MatMul {
        node: NodeIx,
        a: BufferIx,
        b: BufferIx,
        out: BufferIx,
        spec: ContractionSpec,
    },
    /// A node with a compute body that a loop of this crate runs, without a kernel.
    Whole {
        node: NodeIx,
        from: BufferIx,
        out: BufferIx,
        run: WholeFn,
    },
    /// A node that runs by itself: a host kernel, or a body that the interpreter runs.
    Node {
        node: NodeIx,
        operands: Vec<BufferIx>,
        outputs: Vec<BufferIx>,
    },
}

impl Step {
    /// Returns the buffers that the step reads, and the buffers that the step writes.
    pub(crate) fn buffers(&self) -> (Cow<'_, [BufferIx]>, Cow<'_, [BufferIx]>) {
        match self {
            Step::Kernel(kernel) => (Cow::Borrowed(&kernel.reads), Cow::Borrowed(&kernel.writes)),
            Step::MatMul { a, b, out, .. } => (Cow::Owned(vec![*a, *b]), Cow::Owned(vec![*out])),
            Step::Whole { from, out, .. } => (Cow::Owned(vec![*from]), Cow::Owned(vec![*out])),
            Step::Node { operands, outputs, .. } => (Cow::Borrowed(operands), Cow::Borrowed(outputs)),
        }
    }
}

/// Steps that are planned together. Every symbol in their shapes is bound before the first step of the segment runs.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub steps: Range<usize>,
    /// The symbols that the plan depends on.
    pub symbols: Vec<Symbol>,
    /// The buffers whose sizes the plan holds, in ascending order: those that the steps access. `None` for the only
    /// segment of a program, whose plan holds the sizes of all buffers.
    pub buffers: Option<Arc<[BufferIx]>>,
}

/// A lowered graph.
pub(crate) struct Program {
    pub buffers: Vec<BufferInfo>,
    /// For each buffer: the source of its content.
    pub contents: Vec<Content>,
    /// For each buffer: why it has memory; `None` for an alias.
    reasons: Vec<Option<MaterializeReason>>,
    pub steps: Vec<Step>,
    pub segments: Vec<Segment>,
    /// For each output of the graph: its buffer.
    pub outputs: Vec<BufferIx>,
    /// Nodes whose shape function defines symbols, when a run calls it on sizes and values.
    pub definers: Vec<NodeIx>,
    /// Values whose elements define symbols, in ascending order, with their buffers.
    pub elements: Vec<(ValueIx, BufferIx)>,
    /// The buffers that a run reads to define symbols. These buffers keep their memory to the end of the run.
    pub watched: Vec<BufferIx>,
    /// Whether some step defines symbols or needs their values while the program runs: a host kernel whose result sizes
    /// depend on data, or a node that runs by itself with symbols among its attributes.
    pub binds_when_run: bool,
    /// The buffer of each value that has one.
    pub buffer_of: FxHashMap<ValueIx, BufferIx>,
    /// For each buffer: the buffer that owns the bytes. A buffer that is not an alias owns its bytes itself.
    pub roots: Vec<BufferIx>,
}

/// Lowers `graph`. The `outputs` need all its nodes.
///
/// # Errors
/// Nothing determines a symbol that a node needs.
pub(crate) fn lower(graph: &GraphData, outputs: &[ValueIx]) -> Result<Program> {
    let definitions = definitions(graph)?;
    let partition = partition(graph, outputs, definitions.late, &definitions.watched)?;
    let mut program = Program {
        buffers: Vec::new(),
        contents: Vec::new(),
        reasons: Vec::new(),
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
    program.make_buffers(graph, &partition.placements);
    // The stored values that steps of the current segment produce.
    let mut produced: FxHashSet<ValueIx> = FxHashSet::default();
    let (mut segments, mut begin) = (Vec::new(), 0);
    for (number, (step, known_before)) in partition.steps.iter().zip(&partition.known_before).enumerate() {
        // A step that needs a value of this segment for its plan starts the next segment.
        if known_before.iter().any(|value| produced.contains(&stored_value(&partition.placements, *value))) {
            segments.push(begin..number);
            begin = number;
            produced.clear();
        }
        match step {
            PlannedStep::Cluster(cluster) => {
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
            PlannedStep::Node(node) => {
                produced.extend(graph.nodes[node.index()].values());
                program.binds_when_run |= has_symbols(&graph.nodes[node.index()]);
                let step = program.node_step(graph, *node);
                program.steps.push(step);
            }
        }
    }
    segments.push(begin..program.steps.len());
    program.outputs = outputs.iter().map(|value| program.buffer_of[value]).collect();
    program.elements = definitions.elements.iter().map(|value| (*value, program.buffer_of[value])).collect();
    program.watched = definitions.watched.iter().map(|value| program.buffer_of[value]).collect();
    let is_only = segments.len() == 1;
    let segment = |steps: Range<usize>| Segment {
        symbols: program.symbols_of(graph, steps.clone(), is_only),
        buffers: (!is_only).then(|| program.buffers_of(steps.clone())),
        steps,
    };
    program.segments = segments.into_iter().map(segment).collect();
    Ok(program)
}

/// Returns the value whose buffer holds the elements of `value`.
fn stored_value(placements: &[Placement], mut value: ValueIx) -> ValueIx {
    while let Placement::Alias(source) = placements[value.index()] {
        value = source;
    }
    value
}

impl Program {
    /// Returns why a buffer has memory. The buffer must not be an alias.
    pub(crate) fn reason(&self, buffer: usize) -> MaterializeReason {
        self.reasons[buffer].expect("a buffer that is not an alias has a reason")
    }

    /// Makes a buffer for every value that has a placement in memory.
    fn make_buffers(&mut self, graph: &GraphData, placements: &[Placement]) {
        let ports: FxHashMap<ValueIx, usize> =
            graph.inputs.iter().enumerate().map(|(port, (_, value))| (*value, port)).collect();
        for (number, placement) in placements.iter().enumerate() {
            let value = ValueIx(number as u32);
            let info = &graph.values[number];
            let content = match placement {
                Placement::Unused | Placement::Inlined => continue,
                Placement::Alias(source) => Content::Alias(self.buffer_of[source]),
                Placement::Buffer(MaterializeReason::Given) => match ports.get(&value) {
                    Some(&port) => Content::Input(port),
                    None => Content::Constant(info.node),
                },
                Placement::Buffer(_) => Content::Computed,
            };
            let buffer = BufferIx(self.buffers.len() as u32);
            let dims =
                info.shape.dims().unwrap_or_default().iter().map(|dim| graph.table.resolve(dim)).collect();
            self.buffers.push(BufferInfo { dtype: info.dtype, dims, value });
            self.roots.push(match content {
                Content::Alias(of) => self.roots[of.index()],
                _ => buffer,
            });
            self.contents.push(content);
            self.reasons.push(match placement {
                Placement::Buffer(reason) => Some(*reason),
                Placement::Unused | Placement::Inlined | Placement::Alias(_) => None,
            });
            self.buffer_of.insert(value, buffer);
        }
    }

    /// Returns the step of a node that runs by itself. A contraction of floats is a matmul; a compute op with a loop of
    /// its own runs by that loop.
    fn node_step(&self, graph: &GraphData, index: NodeIx) -> Step {
        let node = &graph.nodes[index.index()];
        let operands: Vec<BufferIx> = node.operands.iter().map(|operand| self.buffer_of[operand]).collect();
        let outputs: Vec<BufferIx> = node.values().map(|value| self.buffer_of[&value]).collect();
        match (&node.op.body, &operands[..], &outputs[..]) {
            (Body::Contraction { spec, .. }, &[a, b], &[out])
                if !node.op.is_expression(self.buffers[out.index()].dtype) =>
            {
                Step::MatMul { node: index, a, b, out, spec: spec(node.attrs()) }
            }
            (Body::Compute(_), &[from, ..], &[out]) => match node.op.whole_fn() {
                Some(run) => Step::Whole { node: index, from, out, run },
                None => Step::Node { node: index, operands, outputs },
            },
            _ => Step::Node { node: index, operands, outputs },
        }
    }

    /// Returns the buffers that these steps access, in ascending order.
    fn buffers_of(&self, steps: Range<usize>) -> Arc<[BufferIx]> {
        let mut buffers = Vec::new();
        for step in &self.steps[steps] {
            let (reads, writes) = step.buffers();
            buffers.extend(reads.iter().chain(&*writes));
        }
        buffers.sort_unstable();
        buffers.dedup();
        buffers.into()
    }

    /// Returns the symbols that the plan of these steps depends on: the symbols in the shapes, attributes and derived
    /// parameters of the steps' nodes. The plan of the only segment also holds the sizes of the program's outputs.
    fn symbols_of(&self, graph: &GraphData, steps: Range<usize>, is_only: bool) -> Vec<Symbol> {
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
            graph.values[value.index()].shape.dims().unwrap_or_default().iter().for_each(&mut note);
            let node = graph.node_of(value);
            for (_, dims) in node.derived() {
                dims.iter().for_each(&mut note);
            }
            // A body may compute with a dim that is in no shape, such as the start of a range.
            node.attrs().symbols(&mut |symbol| note(&Dim::from(symbol)));
        };
        if is_only {
            // No step computes an output that is an input or a constant.
            self.outputs.iter().for_each(|output| note_value(self.buffers[output.index()].value));
        }
        for step in &self.steps[steps] {
            match step {
                Step::Kernel(kernel) => {
                    for &value in &kernel.fused {
                        note_value(value);
                        graph.node_of(value).operands.iter().for_each(|operand| note_value(*operand));
                    }
                }
                Step::MatMul { node, .. } | Step::Whole { node, .. } | Step::Node { node, .. } => {
                    let node = &graph.nodes[node.index()];
                    node.values().for_each(&mut note_value);
                    node.operands.iter().for_each(|operand| note_value(*operand));
                }
            }
        }
        symbols
    }
}

/// Returns whether the attributes of a node mention symbols.
fn has_symbols(node: &Node) -> bool {
    let mut found = false;
    node.attrs().symbols(&mut |_| found = true);
    found
}
