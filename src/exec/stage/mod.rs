//! `Stage`: a graph of known ranks, lowered and compiled, with its plans.

mod bound;
mod fault;
mod interpreted;
mod results;
mod run;
mod sink;
mod symbols;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;
use shapeflow_shape_fns::Dim;

use super::bindings::Bindings;
use super::options::CompileOptions;
use super::segment::{SegmentPlan, plan_segment, touched};
use crate::codegen::{CodeModule, FuncIndex, Jit};
use crate::dump::{KernelKey, STEP, Trace, Traced, span};
use crate::error::Result;
use crate::graph::{GraphData, NodeIx, ValueIx};
use crate::lower::kernel::BufferIx;
use crate::lower::program::{Content, Program, Step, lower};
use crate::runtime::{MatMul, PackedConstants, PackedOperand, Pool, lock};
use crate::tensor::{BufferPool, TensorView};

use fault::check_elements;
use symbols::partial_dims;

pub(crate) use bound::BoundStage;
use run::LastPlan;
pub(crate) use run::RunState;
pub(crate) use sink::{Sink, Sinks};

/// A compiled graph all of whose ranks and structure parameters are known.
pub(crate) struct Stage {
    pub graph: Arc<GraphData>,
    pub program: Program,
    pub code: Option<CodeModule>,
    /// The function of each variant of each step.
    pub functions: Vec<Vec<FuncIndex>>,
    /// By segment: plans by the values of its symbols.
    plans: Vec<Mutex<FxHashMap<Vec<i64>, Arc<SegmentPlan>>>>,
    /// By buffer: the first output that it is.
    output_of: Vec<Option<usize>>,
    /// By output: the first that has the bytes of the same buffer.
    first_of_root: Vec<usize>,
    /// Memory of results of earlier runs.
    buffer_pool: BufferPool,
    /// Partial dimensions in the form that a shape function gave them, with their node. Some values of their symbols are
    /// refused, such as sizes that do not broadcast. A later equality may replace a dimension by a simpler one; a run
    /// checks the original form.
    partial: Vec<(Dim, NodeIx)>,
    /// Inputs and constants that are read.
    given: Vec<(BufferIx, Content)>,
    /// By buffer: the last step that touches it.
    last_use: Vec<usize>,
    /// By buffer: whether it is a result or read by the planner.
    kept: Vec<bool>,
    plan_limit: usize,
    memory_limit: Option<usize>,
    pub pool: Pool,
    packed: PackedConstants,
    pub counters: Counters,
    /// A number that no other stage of this process has: it tells apart its kernels in traces, and its plans.
    pub number: u64,
    trace: Option<Times>,
}

/// A trace, and what the steps of a stage are called in it.
struct Times {
    trace: Trace,
    names: Vec<Arc<str>>,
}

static STAGES: AtomicU64 = AtomicU64::new(1);

/// What `stats` reports of plans and memory.
#[derive(Default)]
pub(crate) struct Counters {
    pub hits: AtomicU64,
    pub misses: AtomicU64,
    pub arena: AtomicUsize,
}

impl Stage {
    /// Lowers and compiles `graph`, every node of which is needed for `outputs`.
    pub(crate) fn compile(
        graph: Arc<GraphData>,
        outputs: &[ValueIx],
        options: &CompileOptions,
        pool: Pool,
    ) -> Result<Stage> {
        let trace = options.kept_trace();
        let program = {
            let _span = span(trace, "compile", "lower");
            lower(&graph, outputs)?
        };
        for step in &program.steps {
            if let Step::Kernel(kernel) = step {
                check_elements(&graph, &program, kernel, options.interprets())?;
            }
        }
        let codegen = span(trace, "compile", "machine code");
        let mut functions = Vec::with_capacity(program.steps.len());
        let code = if options.interprets() {
            None
        } else {
            let mut jit = Jit::new(options.chosen_isa()?)?;
            for step in &program.steps {
                functions.push(match step {
                    Step::Kernel(kernel) => {
                        kernel.variants.iter().map(|variant| jit.add(&variant.body)).collect::<Result<_>>()?
                    }
                    Step::MatMul { .. } | Step::Node { .. } => Vec::new(),
                });
            }
            Some(jit.finish()?)
        };
        drop(codegen);
        let mut last_use = vec![0; program.buffers.len()];
        let mut used = vec![false; program.buffers.len()];
        for (at, step) in program.steps.iter().enumerate() {
            let (reads, writes) = touched(step);
            for buffer in reads.into_iter().chain(writes) {
                last_use[program.roots[buffer.index()].index()] = at;
                used[program.roots[buffer.index()].index()] = true;
            }
        }
        let mut kept = vec![false; program.buffers.len()];
        for buffer in program.outputs.iter().chain(&program.watched) {
            kept[program.roots[buffer.index()].index()] = true;
        }
        let mut given = Vec::new();
        for (number, content) in program.contents.iter().enumerate() {
            let buffer = BufferIx(number as u32);
            if matches!(content, Content::Input(_) | Content::Constant(_)) && (kept[number] || used[number]) {
                given.push((buffer, *content));
            }
        }
        let mut output_of = vec![None; program.buffers.len()];
        for (number, buffer) in program.outputs.iter().enumerate().rev() {
            output_of[buffer.index()] = Some(number);
        }
        let mut first: FxHashMap<BufferIx, usize> = FxHashMap::default();
        let roots = program.outputs.iter().map(|output| program.roots[output.index()]).enumerate();
        let first_of_root = roots.map(|(number, root)| *first.entry(root).or_insert(number)).collect();
        let by_nodes = program.steps.iter().map(|step| match step {
            Step::Node { outputs, .. } => outputs.len(),
            Step::Kernel(_) | Step::MatMul { .. } => 0,
        });
        let buffer_pool = BufferPool::new(program.outputs.len() + by_nodes.sum::<usize>());
        let mut stage = Stage {
            output_of,
            first_of_root,
            buffer_pool,
            given,
            partial: partial_dims(&graph),
            plans: program.segments.iter().map(|_| Mutex::default()).collect(),
            graph,
            program,
            code,
            functions,
            last_use,
            kept,
            plan_limit: options.plan_limit(),
            memory_limit: options.memory_limit_bytes(),
            pool,
            packed: PackedConstants::default(),
            counters: Counters::default(),
            number: STAGES.fetch_add(1, Ordering::Relaxed),
            trace: None,
        };
        stage.trace = trace.map(|trace| {
            let names = (0..stage.program.steps.len()).map(|step| stage.step_label(step).into());
            Times { trace: trace.clone(), names: names.collect() }
        });
        Ok(stage)
    }

    /// A step as a trace knows it.
    fn traced(&self, step: usize) -> Option<Traced<'_>> {
        let times = self.trace.as_ref()?;
        let key = KernelKey { stage: self.number, step };
        Some(Traced { trace: &times.trace, name: times.names.get(step)?, category: STEP, key })
    }

    pub(crate) fn memory_limit(&self) -> Option<usize> {
        self.memory_limit
    }

    /// Frees memory of earlier results.
    pub(crate) fn trim(&self) {
        self.buffer_pool.clear();
    }

    /// Whether a buffer is needed at or after step `end`, or as a result, or by the planner.
    pub(crate) fn outlives(&self, buffer: BufferIx, end: usize) -> bool {
        self.kept[buffer.index()] || self.last_use[buffer.index()] >= end
    }

    /// Whether step `at` is the last to need a buffer.
    pub(crate) fn dies_at(&self, buffer: BufferIx, at: usize) -> bool {
        !self.kept[buffer.index()] && self.last_use[buffer.index()] == at
    }

    /// Whether sizes of inputs alone choose the plan, and there is one for the whole stage.
    fn is_static(&self) -> bool {
        self.program.segments.len() == 1
            && self.program.elements.is_empty()
            && self.program.definers.is_empty()
            && !self.program.binds_when_run
    }

    fn static_plan(&self, inputs: &[TensorView<'_>], state: &mut RunState) -> Result<Arc<SegmentPlan>> {
        let ranks_fit =
            |sizes: &[usize]| sizes.len() == inputs.iter().map(|view| view.sizes().len()).sum::<usize>();
        if let Some(LastPlan { stage, sizes, plan }) = &state.last
            && *stage == self.number
            && ranks_fit(sizes)
            && inputs.iter().flat_map(|view| view.sizes()).eq(sizes)
            && self.dtypes_and_ranks_fit(inputs)
        {
            self.counters.hits.fetch_add(1, Ordering::Relaxed);
            return Ok(plan.clone());
        }
        let bindings = self.bind_inputs(inputs)?;
        self.check_guards(&bindings)?;
        let plan = self.segment_plan(0, &bindings)?;
        let sizes = inputs.iter().flat_map(|view| view.sizes()).copied().collect();
        state.last = Some(LastPlan { stage: self.number, sizes, plan: plan.clone() });
        Ok(plan)
    }

    fn dtypes_and_ranks_fit(&self, inputs: &[TensorView<'_>]) -> bool {
        self.graph.inputs.iter().zip(inputs).all(|((_, value), view)| {
            let info = &self.graph.values[value.at()];
            info.dtype == view.dtype() && info.shape.rank().is_none_or(|rank| rank == view.sizes().len())
        })
    }

    /// The plan of a segment, made or found.
    fn segment_plan(&self, number: usize, bindings: &Bindings) -> Result<Arc<SegmentPlan>> {
        let symbols = &self.program.segments[number].symbols;
        let key: Vec<i64> = symbols.iter().map(|symbol| bindings.get(*symbol).unwrap_or(i64::MIN)).collect();
        if let Some(plan) = lock(&self.plans[number]).get(&key) {
            self.counters.hits.fetch_add(1, Ordering::Relaxed);
            return Ok(plan.clone());
        }
        self.counters.misses.fetch_add(1, Ordering::Relaxed);
        let plan = plan_segment(self, number, bindings);
        let plan = Arc::new(plan.map_err(|error| self.unsized_node(bindings).unwrap_or(error))?);
        self.counters.arena.fetch_max(plan.arena, Ordering::Relaxed);
        let mut plans = lock(&self.plans[number]);
        if plans.len() >= self.plan_limit {
            plans.clear();
        }
        plans.insert(key, plan.clone());
        Ok(plan)
    }

    /// The packed right operand of a matmul, if it is a constant and packing it ahead pays. A run does not need packed
    /// copies, so there are none under a memory limit.
    pub(crate) fn packed_operand(&self, matmul: &MatMul) -> Result<Option<Arc<PackedOperand>>> {
        let root = self.program.roots[matmul.b.index()];
        let Content::Constant(node) = self.program.contents[root.index()] else { return Ok(None) };
        if self.memory_limit.is_some() || !matmul.packing_pays() {
            return Ok(None);
        }
        let bytes = self.graph.constants[&node].view().bytes();
        self.packed.get_or_pack(matmul.b, matmul.right(), bytes)
    }

    /// Bytes of constants that are packed.
    pub(crate) fn packed_bytes(&self) -> usize {
        self.packed.bytes()
    }
}
