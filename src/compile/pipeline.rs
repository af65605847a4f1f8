//! [`CompiledProgram`]: a graph of known ranks, lowered to steps and compiled to machine code.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustc_hash::{FxHashMap, FxHashSet};
use shapeflow_shape_fns::Dim;

use super::check_support::check_dtypes;
use super::describe::step_label;
use super::options::CompileOptions;
use crate::codegen::{CodeModule, FuncIndex, Jit};
use crate::dump::{KernelKey, STEP, Trace, Traced, span};
use crate::error::Result;
use crate::graph::{GraphData, Node, NodeIx, ValueIx};
use crate::lower::kernel::BufferIx;
use crate::lower::program::{Content, Program, Step, lower};
use crate::op::Body;

/// A compiled graph, which is immutable. All ranks and structure parameters of the graph are known.
pub(crate) struct CompiledProgram {
    /// A number that is unique in this process. The number is part of a kernel's name in traces, and tells a thread
    /// whether its last plan belongs to this program.
    pub number: u64,
    pub graph: Arc<GraphData>,
    pub lowered: Program,
    /// The machine code of the kernels; none if the interpreter runs the program.
    pub code: Option<KernelCode>,
    /// The inputs and constants that some step reads or that are results.
    pub inputs_and_constants: Vec<(BufferIx, Content)>,
    /// For each buffer: the number of the first output whose elements are in this buffer, if there is one.
    pub output_of: Vec<Option<usize>>,
    /// For each output: the first output that shares its memory.
    pub first_output_with_bytes: Vec<usize>,
    /// The partial dims of the graph, each with the node whose shape function made it. A dim is partial if it has no
    /// value for some values of its symbols, such as sizes that do not broadcast. A later equality may replace a
    /// partial dim by a simpler one, so a run evaluates the original form to find such values.
    pub partial: Vec<(Dim, NodeIx)>,
    /// The nodes of kernels whose ops are not of this crate. A run checks what their shape functions promised.
    pub own_ops: Vec<NodeIx>,
    /// For each buffer: the last step that accesses its bytes. The entry of a buffer that shares another buffer's bytes
    /// has no meaning.
    last_use: Vec<usize>,
    /// For each buffer: whether its bytes live to the end of a run, because a result consists of them, or the run reads
    /// the values of symbols from them. The entry of a buffer that shares another buffer's bytes has no meaning.
    kept: Vec<bool>,
    /// The trace of the program's runs, if the options ask for a trace.
    trace: Option<StepTrace>,
}

/// The machine code of the kernels of a program.
pub(crate) struct KernelCode {
    pub module: Arc<CodeModule>,
    /// For each step: the function of each variant of its kernel; empty for a step that is not a kernel.
    pub functions: Vec<Vec<FuncIndex>>,
}

/// The trace of a program's runs.
struct StepTrace {
    trace: Trace,
    /// For each step: its name in the trace.
    names: Vec<Arc<str>>,
}

static NEXT_NUMBER: AtomicU64 = AtomicU64::new(1);

impl CompiledProgram {
    /// Returns whether a run reads elements of an input, and not only its sizes.
    pub(crate) fn reads_elements(&self, port: usize) -> bool {
        let is_input = |content: &Content| matches!(content, Content::Input(input) if *input == port);
        // The interpreter has a tensor for every input.
        self.code.is_none() || self.inputs_and_constants.iter().any(|(_, content)| is_input(content))
    }

    /// Lowers and compiles `graph`. The graph holds only nodes that `outputs` need.
    ///
    /// # Errors
    /// Kernels cannot compute a dtype of the graph, the processor lacks the instructions asked for, or executable
    /// memory is refused.
    pub(super) fn compile(
        graph: Arc<GraphData>,
        outputs: &[ValueIx],
        options: &CompileOptions,
    ) -> Result<CompiledProgram> {
        let trace = options.kept_trace();
        let lowered = {
            let _span = span(trace, "compile", "lower");
            lower(&graph, outputs)?
        };
        for step in &lowered.steps {
            if let Step::Kernel(kernel) = step {
                check_dtypes(&graph, &lowered, kernel)?;
            }
        }
        let code = {
            let _span = span(trace, "compile", "machine code");
            if options.interprets() { None } else { Some(KernelCode::emit(&lowered, options)?) }
        };
        let (last_use, used) = last_uses(&lowered);
        let kept = kept_buffers(&lowered);
        let contents = lowered.contents.iter().enumerate();
        let held = contents.filter(|(number, content)| {
            matches!(content, Content::Input(_) | Content::Constant(_)) && (kept[*number] || used[*number])
        });
        let inputs_and_constants =
            held.map(|(number, content)| (BufferIx(number as u32), *content)).collect();
        let mut output_of = vec![None; lowered.buffers.len()];
        for (number, buffer) in lowered.outputs.iter().enumerate().rev() {
            output_of[buffer.index()] = Some(number);
        }
        let mut first: FxHashMap<BufferIx, usize> = FxHashMap::default();
        let roots = lowered.outputs.iter().map(|output| lowered.roots[output.index()]).enumerate();
        let first_output_with_bytes =
            roots.map(|(number, root)| *first.entry(root).or_insert(number)).collect();
        let trace = trace.map(|trace| {
            let names = lowered.steps.iter().map(|step| step_label(&graph, step).into());
            StepTrace { trace: trace.clone(), names: names.collect() }
        });
        Ok(CompiledProgram {
            number: NEXT_NUMBER.fetch_add(1, Ordering::Relaxed),
            partial: partial_dims(&graph),
            own_ops: own_ops(&graph),
            graph,
            lowered,
            code,
            inputs_and_constants,
            output_of,
            first_output_with_bytes,
            last_use,
            kept,
            trace,
        })
    }

    /// Returns the trace of the runs, if there is one.
    pub(crate) fn trace(&self) -> Option<&Trace> {
        Some(&self.trace.as_ref()?.trace)
    }

    /// Returns whether runs write to a trace.
    pub(crate) fn is_traced(&self) -> bool {
        self.trace.is_some()
    }

    /// Returns the entry of a step in the trace, if there is one.
    pub(crate) fn traced(&self, step: usize) -> Option<Traced<'_>> {
        let StepTrace { trace, names } = self.trace.as_ref()?;
        let key = KernelKey { program: self.number, step };
        Some(Traced { trace, name: &names[step], category: STEP, key })
    }

    /// Returns whether the bytes of a buffer are needed at step `end` or after it: a step accesses them, a result has
    /// them, or symbols are bound to them.
    pub(crate) fn outlives(&self, buffer: BufferIx, end: usize) -> bool {
        self.kept[buffer.index()] || self.last_use[buffer.index()] >= end
    }

    /// Returns whether `step` is the last step that accesses the bytes of a buffer, and nothing needs them after it.
    pub(crate) fn dies_at(&self, buffer: BufferIx, step: usize) -> bool {
        !self.kept[buffer.index()] && self.last_use[buffer.index()] == step
    }

    /// Returns whether the program is static: one plan covers all steps, and the sizes of the inputs determine this
    /// plan without any data.
    pub(crate) fn is_static(&self) -> bool {
        self.lowered.segments.len() == 1
            && self.lowered.elements.is_empty()
            && self.lowered.definers.is_empty()
            && !self.lowered.binds_when_run
    }
}

impl KernelCode {
    /// Emits every variant of every kernel.
    fn emit(lowered: &Program, options: &CompileOptions) -> Result<KernelCode> {
        let mut jit = Jit::new(options.chosen_isa()?)?;
        let mut functions = Vec::with_capacity(lowered.steps.len());
        for step in &lowered.steps {
            functions.push(match step {
                Step::Kernel(kernel) => {
                    kernel.variants.iter().map(|variant| jit.add(&variant.body)).collect::<Result<_>>()?
                }
                Step::MatMul { .. } | Step::Whole { .. } | Step::Node { .. } => Vec::new(),
            });
        }
        Ok(KernelCode { module: Arc::new(jit.finish()?), functions })
    }
}

/// Returns, by buffer, the last step that accesses its bytes, and whether any step does. The entry of a buffer
/// that shares another buffer's bytes has no meaning.
fn last_uses(lowered: &Program) -> (Vec<usize>, Vec<bool>) {
    let (mut last, mut used) = (vec![0; lowered.buffers.len()], vec![false; lowered.buffers.len()]);
    for (number, step) in lowered.steps.iter().enumerate() {
        let (reads, writes) = step.buffers();
        for buffer in reads.iter().chain(&*writes) {
            let root = lowered.roots[buffer.index()].index();
            (last[root], used[root]) = (number, true);
        }
    }
    (last, used)
}

/// Returns, by buffer, whether a result has its bytes or a run reads them to define symbols. The entry of a
/// buffer that shares another buffer's bytes has no meaning.
fn kept_buffers(lowered: &Program) -> Vec<bool> {
    let mut kept = vec![false; lowered.buffers.len()];
    for buffer in lowered.outputs.iter().chain(&lowered.watched) {
        kept[lowered.roots[buffer.index()].index()] = true;
    }
    kept
}

/// Returns the nodes whose op is defined by an expression and is not an op of this crate.
fn own_ops(graph: &GraphData) -> Vec<NodeIx> {
    let is_own = |node: &Node| {
        matches!(node.op.body, Body::Compute(_) | Body::Contraction { .. }) && !node.op.is_builtin()
    };
    let nodes = graph.nodes.iter().enumerate().filter(|(_, node)| is_own(node));
    nodes.map(|(number, _)| NodeIx(number as u32)).collect()
}

/// Returns the partial dims of a graph, each with the first node that has it.
fn partial_dims(graph: &GraphData) -> Vec<(Dim, NodeIx)> {
    let (mut found, mut seen) = (Vec::new(), FxHashSet::default());
    for info in &graph.values {
        for dim in info.shape.dims().unwrap_or_default() {
            if dim.is_partial() && seen.insert(dim) {
                found.push((dim.clone(), info.node));
            }
        }
    }
    found
}
