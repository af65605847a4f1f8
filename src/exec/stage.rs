//! `Stage`: a graph of known ranks, lowered and compiled, with its plans.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;
use shapeflow_shape_fns::{DType, Dim, Guard};

use super::bindings::{Bindings, Mismatch};
use super::options::CompileOptions;
use super::segment::{SegmentPlan, Sizes, StepPlan, plan_segment, touched};
use crate::codegen::{CodeModule, FuncIndex, Jit, Lane, Launch, Left, Memory, Pool, Prepared, launch, lock};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{Inner, NodeIx, SizedOperand, ValueIx, elements_of, evaluate, infer_sizes};
use crate::lower::kernel::{BufferIx, Kernel};
use crate::lower::program::{Content, Program, Step, lower};
use crate::tensor::{Tensor, TensorView, TensorViewMut};

/// A compiled graph all of whose ranks and structure parameters are known.
pub(crate) struct Stage {
    pub inner: Inner,
    pub program: Program,
    pub code: Option<CodeModule>,
    /// The function of each variant of each step.
    functions: Vec<Vec<FuncIndex>>,
    /// By segment: plans by the values of its symbols.
    plans: Vec<Mutex<FxHashMap<Vec<i64>, Arc<SegmentPlan>>>>,
    /// The first output that a buffer is.
    output_of: FxHashMap<BufferIx, usize>,
    /// Inputs and constants that are read.
    given: Vec<(BufferIx, Content)>,
    /// By buffer: the last step that touches it.
    last_use: Vec<usize>,
    /// By buffer: whether it is a result or read by the planner.
    kept: Vec<bool>,
    plan_limit: usize,
    memory_limit: Option<usize>,
    pool: Pool,
    threads: usize,
    pub counters: Counters,
}

/// What `stats` reports of plans and memory.
#[derive(Default)]
pub(crate) struct Counters {
    pub hits: AtomicU64,
    pub misses: AtomicU64,
    pub arena: AtomicUsize,
}

/// What a thread keeps between runs.
#[derive(Default)]
pub(crate) struct RunState {
    lanes: Vec<Lane>,
    left: Left,
    /// The last sizes of the inputs and the plan for them, where sizes alone choose it.
    last: Option<(Vec<usize>, Arc<SegmentPlan>)>,
}

impl RunState {
    /// Frees what is kept between runs.
    pub(crate) fn trim(&mut self) {
        *self = RunState::default();
    }
}

/// Memory of the caller for one result.
pub(crate) struct Sink<'m> {
    dtype: DType,
    sizes: &'m [usize],
    bytes: Option<&'m mut [u8]>,
}

impl<'m> Sink<'m> {
    pub(crate) fn new(view: &'m mut TensorViewMut<'_>) -> Sink<'m> {
        let (dtype, sizes) = (view.dtype(), view.sizes());
        Sink { dtype, sizes, bytes: Some(view.bytes_mut()) }
    }
}

impl Sink<'_> {
    /// Copies result `number` into the memory.
    pub(crate) fn fill(mut self, number: usize, tensor: &Tensor) -> Result<()> {
        self.check(number, tensor.dtype(), tensor.sizes())?;
        if let Some(bytes) = self.bytes.take() {
            bytes.copy_from_slice(tensor.view().bytes());
        }
        Ok(())
    }

    fn check(&self, number: usize, dtype: DType, sizes: &[usize]) -> Result<()> {
        if self.dtype == dtype && self.sizes == sizes {
            return Ok(());
        }
        let got = format!("{}{:?}", self.dtype, self.sizes);
        let message = format!("output {number} must be {dtype}{sizes:?}, got memory for {got}");
        Err(Error::new(ErrorKind::Feed, Phase::Run, message))
    }
}

impl Stage {
    /// Lowers and compiles `inner`, every node of which is needed for `outputs`.
    pub(crate) fn compile(
        inner: Inner,
        outputs: &[ValueIx],
        options: &CompileOptions,
        pool: Pool,
    ) -> Result<Stage> {
        let program = lower(&inner, outputs)?;
        let mut functions = Vec::with_capacity(program.steps.len());
        let code = if options.interprets() {
            None
        } else {
            let mut jit = Jit::new()?;
            for step in &program.steps {
                functions.push(match step {
                    Step::Kernel(kernel) => {
                        kernel.variants.iter().map(|variant| jit.add(&variant.code)).collect::<Result<_>>()?
                    }
                    Step::MatMul { .. } | Step::Node { .. } => Vec::new(),
                });
            }
            Some(jit.finish()?)
        };
        let mut last_use = vec![0; program.buffers.len()];
        let mut used = vec![false; program.buffers.len()];
        for (at, step) in program.steps.iter().enumerate() {
            let (reads, writes) = touched(step);
            for buffer in reads.into_iter().chain(writes) {
                last_use[program.roots[buffer.at()].at()] = at;
                used[program.roots[buffer.at()].at()] = true;
            }
        }
        let mut kept = vec![false; program.buffers.len()];
        for buffer in program.outputs.iter().chain(program.elements.iter().map(|(_, buffer)| buffer)) {
            kept[program.roots[buffer.at()].at()] = true;
        }
        let mut given = Vec::new();
        for (number, content) in program.contents.iter().enumerate() {
            let buffer = BufferIx(number as u32);
            if matches!(content, Content::Input(_) | Content::Constant(_)) && (kept[number] || used[number]) {
                given.push((buffer, *content));
            }
        }
        let outputs = program.outputs.iter().enumerate().rev();
        Ok(Stage {
            output_of: outputs.map(|(number, buffer)| (*buffer, number)).collect(),
            given,
            plans: program.segments.iter().map(|_| Mutex::default()).collect(),
            inner,
            program,
            code,
            functions,
            last_use,
            kept,
            plan_limit: options.plan_limit(),
            memory_limit: options.memory_limit_bytes(),
            threads: options.thread_count(),
            pool,
            counters: Counters::default(),
        })
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    pub(crate) fn memory_limit(&self) -> Option<usize> {
        self.memory_limit
    }

    /// Whether a buffer is needed at or after step `end`, or as a result, or by the planner.
    pub(crate) fn outlives(&self, buffer: BufferIx, end: usize) -> bool {
        self.kept[buffer.at()] || self.last_use[buffer.at()] >= end
    }

    /// Whether sizes of inputs alone choose the plan, and there is one for the whole stage.
    fn is_static(&self) -> bool {
        self.program.segments.len() == 1
            && self.program.elements.is_empty()
            && self.program.definers.is_empty()
            && !self.program.sized_by_data
    }

    /// Runs the stage on row-major inputs in the order of its ports; results go to `sinks` if there are any,
    /// else to new tensors.
    pub(crate) fn run<'m>(
        &'m self,
        inputs: &'m [TensorView<'m>],
        sinks: Option<Vec<Sink<'m>>>,
        state: &mut RunState,
    ) -> Result<Vec<Tensor>> {
        let mut sinks = sinks;
        if self.code.is_none() {
            return self.run_interpreted(inputs, sinks);
        }
        let mut memory = Memory::new(&self.program.roots, std::mem::take(&mut state.left));
        let result = self.run_in(inputs, &mut sinks, &mut memory, state);
        state.left = memory.leave();
        result
    }

    fn run_in<'m>(
        &'m self,
        inputs: &'m [TensorView<'m>],
        sinks: &mut Option<Vec<Sink<'m>>>,
        memory: &mut Memory<'m>,
        state: &mut RunState,
    ) -> Result<Vec<Tensor>> {
        self.lend_given(inputs, memory)?;
        if self.is_static() {
            let plan = self.static_plan(inputs, state)?;
            self.place(&plan, sinks, memory)?;
            self.run_segment(0, &plan, memory, &mut state.lanes, None)?;
            return self.collect(&|buffer| plan.sizes(buffer).cloned(), sinks, memory);
        }
        let mut bindings = self.bind_inputs(inputs)?;
        let mut waiting =
            Waiting { definers: self.program.definers.clone(), elements: self.program.elements.clone() };
        for number in 0..self.program.segments.len() {
            self.define(&mut bindings, &mut waiting, memory)?;
            self.check_guards(&bindings)?;
            let plan = self.segment_plan(number, &bindings)?;
            self.place(&plan, sinks, memory)?;
            self.run_segment(number, &plan, memory, &mut state.lanes, Some(&mut bindings))?;
        }
        self.define(&mut bindings, &mut waiting, memory)?;
        self.check_guards(&bindings)?;
        self.collect(&|buffer| self.sizes_of(buffer, &bindings), sinks, memory)
    }

    /// Plans for these inputs once, and keeps their memory at hand.
    pub(crate) fn bind<'m>(
        &'m self,
        inputs: &'m [TensorView<'m>],
        sinks: Vec<Sink<'m>>,
        state: &'m mut RunState,
    ) -> Result<BoundStage<'m>> {
        let direct = self.is_static()
            && self.code.is_some()
            && self
                .program
                .outputs
                .iter()
                .all(|output| self.program.contents[output.at()] == Content::Computed)
            && self.program.steps.iter().all(|step| !matches!(step, Step::Node { .. }));
        if !direct {
            let message =
                "bind needs results that kernels write, of sizes that inputs determine; use run_into";
            return Err(Error::new(ErrorKind::Feed, Phase::Run, message));
        }
        let plan = self.static_plan(inputs, state)?;
        let mut memory = Memory::new(&self.program.roots, std::mem::take(&mut state.left));
        self.lend_given(inputs, &mut memory)?;
        for (number, (sink, buffer)) in sinks.iter().zip(&self.program.outputs).enumerate() {
            let sizes = plan.sizes(*buffer).ok_or_else(|| self.undetermined(*buffer))?;
            sink.check(number, self.program.buffers[buffer.at()].dtype, sizes)?;
        }
        let mut sinks = Some(sinks);
        self.place(&plan, &mut sinks, &mut memory)?;
        if sinks.iter().flatten().any(|sink| sink.bytes.is_some()) {
            let message = "bind needs different values as outputs; use run_into";
            return Err(Error::new(ErrorKind::Feed, Phase::Run, message));
        }
        let mut prepared = Vec::new();
        if let Some(code) = &self.code {
            let steps = self.program.steps.iter().zip(&plan.steps).zip(&self.functions);
            for ((step, step_plan), functions) in steps {
                prepared.push(match (step, step_plan) {
                    (Step::Kernel(kernel), StepPlan::Kernel(plan)) => {
                        Prepared::new(&Launch { kernel, plan, code, functions, memory: &memory }, &self.pool)
                    }
                    _ => None,
                });
            }
        }
        let prepared = prepared.into_iter().collect();
        Ok(BoundStage { stage: self, plan, memory, lanes: &mut state.lanes, prepared })
    }

    fn lend_given<'m>(&'m self, inputs: &'m [TensorView<'m>], memory: &mut Memory<'m>) -> Result<()> {
        for &(buffer, content) in &self.given {
            match content {
                Content::Input(port) if inputs[port].dtype() == DType::String => {
                    memory.hold(buffer, inputs[port].to_tensor()?);
                }
                Content::Input(port) => memory.lend(buffer, inputs[port].bytes()),
                // Strings have no bytes: their tensor itself is what host kernels read.
                Content::Constant(node) if self.program.buffers[buffer.at()].dtype == DType::String => {
                    memory.hold(buffer, self.inner.constants[&node].clone());
                }
                Content::Constant(node) => memory.lend(buffer, self.inner.constants[&node].view().bytes()),
                Content::Computed | Content::Alias(_) => {}
            }
        }
        Ok(())
    }

    fn static_plan(&self, inputs: &[TensorView<'_>], state: &mut RunState) -> Result<Arc<SegmentPlan>> {
        let ranks_fit =
            |sizes: &[usize]| sizes.len() == inputs.iter().map(|view| view.sizes().len()).sum::<usize>();
        if let Some((sizes, plan)) = &state.last
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
        state.last = Some((sizes, plan.clone()));
        Ok(plan)
    }

    fn dtypes_and_ranks_fit(&self, inputs: &[TensorView<'_>]) -> bool {
        self.inner.inputs.iter().zip(inputs).all(|((_, value), view)| {
            let info = &self.inner.values[value.at()];
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

    /// Gives every buffer of a segment its memory.
    fn place<'m>(
        &'m self,
        plan: &SegmentPlan,
        sinks: &mut Option<Vec<Sink<'m>>>,
        memory: &mut Memory<'m>,
    ) -> Result<()> {
        memory.place(plan.arena, &plan.placed)?;
        for &buffer in &plan.own {
            let Some(sizes) = plan.sizes(buffer) else { continue };
            let dtype = self.program.buffers[buffer.at()].dtype;
            if let Some(sinks) = sinks.as_mut()
                && let Some(&at) = self.output_of.get(&buffer)
                && sinks.get(at).is_some_and(|sink| sink.sizes == &sizes[..] && sink.dtype == dtype)
                && let Some(bytes) = sinks[at].bytes.take()
            {
                memory.lend_mut(buffer, bytes);
                continue;
            }
            let tensor = Tensor::allocate(dtype, sizes).map_err(|error| {
                let value = self.value_text(self.program.buffers[buffer.at()].value);
                error.note(format!("for the elements of {value}"), None)
            })?;
            memory.hold_mut(buffer, tensor)?;
        }
        Ok(())
    }

    fn run_segment(
        &self,
        number: usize,
        plan: &SegmentPlan,
        memory: &mut Memory<'_>,
        lanes: &mut Vec<Lane>,
        mut bindings: Option<&mut Bindings>,
    ) -> Result<()> {
        let Some(code) = &self.code else { return Ok(()) };
        let range = self.program.segments[number].steps.clone();
        for (at, step_plan) in range.zip(&plan.steps) {
            match (&self.program.steps[at], step_plan) {
                (Step::Kernel(kernel), StepPlan::Kernel(kernel_plan)) => {
                    let run =
                        Launch { kernel, plan: kernel_plan, code, functions: &self.functions[at], memory };
                    if launch(&run, lanes, &self.pool)? {
                        return Err(self.find_fault(kernel, plan, memory, bindings.as_deref()));
                    }
                }
                (Step::MatMul { .. }, StepPlan::MatMul(product)) => memory.matmul(product)?,
                (Step::Node { node, operands, outputs }, StepPlan::Node) => {
                    let made = self.run_node(*node, operands, plan, memory, bindings.as_deref())?;
                    for (buffer, tensor) in outputs.iter().zip(made) {
                        if let Some(bindings) = bindings.as_deref_mut() {
                            self.bind_sizes(bindings, *buffer, tensor.sizes())?;
                        }
                        memory.hold(*buffer, tensor);
                    }
                }
                _ => {
                    return Err(Error::new(ErrorKind::Compile, Phase::Run, "a step has the plan of another"));
                }
            }
        }
        Ok(())
    }

    /// Runs one node by itself.
    fn run_node(
        &self,
        index: NodeIx,
        operands: &[BufferIx],
        plan: &SegmentPlan,
        memory: &Memory<'_>,
        bindings: Option<&Bindings>,
    ) -> Result<Vec<Tensor>> {
        let node = &self.inner.nodes[index.at()];
        let sizes: Vec<Sizes> = operands
            .iter()
            .map(|buffer| {
                let held = memory
                    .held(self.program.roots[buffer.at()])
                    .filter(|_| self.program.roots[buffer.at()] == *buffer);
                let known = held.map(|tensor| Sizes::from_slice(tensor.sizes()));
                let known = known.or_else(|| plan.sizes(*buffer).cloned());
                known.or_else(|| self.sizes_of(*buffer, bindings?)).ok_or_else(|| self.undetermined(*buffer))
            })
            .collect::<Result<_>>()?;
        let views: Vec<TensorView<'_>> = operands
            .iter()
            .zip(&sizes)
            .map(|(buffer, sizes)| self.view(*buffer, sizes, memory))
            .collect::<Result<_>>()?;
        let attrs =
            node.attrs().substitute(&mut |symbol| bindings?.get(symbol).map(shapeflow_shape_fns::Dim::known));
        evaluate(&node.op, node.given, &attrs, &views).map_err(|error| self.locate(index, error))
    }

    fn view<'a>(
        &self,
        buffer: BufferIx,
        sizes: &'a [usize],
        memory: &'a Memory<'_>,
    ) -> Result<TensorView<'a>> {
        let root = self.program.roots[buffer.at()];
        if let Some(tensor) = memory.held(root)
            && tensor.sizes() == sizes
        {
            // Strings have no bytes.
            return Ok(tensor.view());
        }
        TensorView::from_bytes(self.program.buffers[buffer.at()].dtype, sizes, memory.bytes(buffer))
    }

    /// Adds where a node was made.
    fn locate(&self, index: NodeIx, error: Error) -> Error {
        let node = &self.inner.nodes[index.at()];
        let call = self.inner.call_text(&node.op, &node.operands, node.attrs());
        let scopes = self.inner.scope_chain(node.scope);
        error
            .with_phase(Phase::Run)
            .with_op(node.op.name(), call)
            .with_node(self.inner.node_name(index))
            .at(node.location)
            .in_scopes(scopes)
    }

    /// Computes a kernel's nodes one by one to name the element that failed.
    fn find_fault(
        &self,
        kernel: &Kernel,
        plan: &SegmentPlan,
        memory: &Memory<'_>,
        bindings: Option<&Bindings>,
    ) -> Error {
        let mut made: FxHashMap<ValueIx, Tensor> = FxHashMap::default();
        for &value in &kernel.fused {
            let index = self.inner.values[value.at()].node;
            let node = &self.inner.nodes[index.at()];
            let mut operands: Vec<TensorView<'_>> = Vec::new();
            let sizes: Vec<Option<Sizes>> = node
                .operands
                .iter()
                .map(|operand| {
                    let buffer = self.program.buffer_of.get(operand)?;
                    plan.sizes(*buffer).cloned().or_else(|| self.sizes_of(*buffer, bindings?))
                })
                .collect();
            for (operand, sizes) in node.operands.iter().zip(&sizes) {
                if let Some(tensor) = made.get(operand) {
                    operands.push(tensor.view());
                } else if let (Some(sizes), Some(buffer)) = (sizes, self.program.buffer_of.get(operand))
                    && let Ok(view) = self.view(*buffer, sizes, memory)
                {
                    operands.push(view);
                }
            }
            if operands.len() != node.operands.len() {
                continue;
            }
            let attrs = node
                .attrs()
                .substitute(&mut |symbol| bindings?.get(symbol).map(shapeflow_shape_fns::Dim::known));
            match evaluate(&node.op, node.given, &attrs, &operands) {
                Err(error) => return self.locate(index, error),
                Ok(tensors) => {
                    drop(operands);
                    made.extend(node.values().zip(tensors));
                }
            }
        }
        let roots: Vec<String> = kernel.roots.iter().map(|root| self.value_text(*root)).collect();
        Error::new(
            ErrorKind::Index,
            Phase::Run,
            format!("an index or divisor is out of range in {}", roots.join(", ")),
        )
    }

    /// Hands out the results.
    fn collect(
        &self,
        sizes: &dyn Fn(BufferIx) -> Option<Sizes>,
        sinks: &mut Option<Vec<Sink<'_>>>,
        memory: &mut Memory<'_>,
    ) -> Result<Vec<Tensor>> {
        let mut results: Vec<Tensor> =
            if sinks.is_some() { Vec::new() } else { Vec::with_capacity(self.program.outputs.len()) };
        let mut taken: FxHashMap<BufferIx, Tensor> = FxHashMap::default();
        for (number, &buffer) in self.program.outputs.iter().enumerate() {
            let root = self.program.roots[buffer.at()];
            if let Some(sinks) = sinks.as_ref()
                && sinks[number].bytes.is_none()
            {
                // A kernel has written it where it belongs, after its sizes were compared.
                continue;
            }
            let held =
                memory.held(root).filter(|_| root == buffer).map(|tensor| Sizes::from_slice(tensor.sizes()));
            let wanted = held.or_else(|| sizes(buffer)).ok_or_else(|| self.undetermined(buffer))?;
            if let Some(sinks) = sinks.as_mut() {
                let sink = &mut sinks[number];
                let dtype = self.program.buffers[buffer.at()].dtype;
                sink.check(number, dtype, &wanted)?;
                if let Some(bytes) = sink.bytes.take() {
                    bytes.copy_from_slice(&memory.bytes(buffer)[..bytes.len()]);
                }
                continue;
            }
            if let Some(tensor) = taken.get(&root) {
                results.push(tensor.reshape(&wanted)?);
                continue;
            }
            let tensor = match memory.held(root) {
                Some(_) if self.program.contents[root.at()] == Content::Computed => memory.take(root),
                Some(constant) => Some(constant.clone()),
                None => match self.program.contents[root.at()] {
                    Content::Constant(node) => self.inner.constants.get(&node).cloned(),
                    _ => None,
                },
            };
            let tensor = match tensor {
                Some(tensor) => tensor,
                None => self.view(buffer, &wanted, memory)?.to_tensor()?,
            };
            results.push(tensor.reshape(&wanted)?);
            taken.insert(root, tensor);
        }
        Ok(results)
    }

    /// The sizes of the results, as far as sizes of inputs determine them.
    pub(crate) fn output_sizes(&self, bindings: &Bindings) -> Vec<Option<Sizes>> {
        self.program.outputs.iter().map(|buffer| self.sizes_of(*buffer, bindings)).collect()
    }

    fn sizes_of(&self, buffer: BufferIx, bindings: &Bindings) -> Option<Sizes> {
        let dims = &self.program.buffers[buffer.at()].dims;
        dims.iter().map(|dim| usize::try_from(bindings.try_eval(&self.inner.table, dim)?).ok()).collect()
    }

    fn undetermined(&self, buffer: BufferIx) -> Error {
        let value = self.value_text(self.program.buffers[buffer.at()].value);
        Error::new(ErrorKind::Shape, Phase::Run, format!("nothing determines the sizes of {value}"))
    }

    /// `%4 (relu_4 at src/model.rs:3:1)`.
    pub(crate) fn value_text(&self, value: ValueIx) -> String {
        let index = self.inner.values[value.at()].node;
        let node = &self.inner.nodes[index.at()];
        format!("{} made at {}", self.inner.node_label(index), node.location)
    }

    pub(crate) fn too_large(&self, buffer: BufferIx) -> Error {
        let value = self.value_text(self.program.buffers[buffer.at()].value);
        Error::new(
            ErrorKind::Memory,
            Phase::Run,
            format!("{value} does not fit into memory beside the others"),
        )
    }

    pub(crate) fn over_limit(&self, limit: usize, needed: usize, largest: Option<(BufferIx, usize)>) -> Error {
        let message =
            format!("the run must stay within the memory limit of {limit} bytes, but needs {needed}");
        let error = Error::new(ErrorKind::Memory, Phase::Run, message);
        match largest {
            Some((buffer, bytes)) => {
                let value = self.value_text(self.program.buffers[buffer.at()].value);
                error.note(format!("the largest value is {value} with {bytes} bytes"), None)
            }
            None => error,
        }
    }

    /// Binds symbols to the sizes of the inputs.
    pub(crate) fn bind_inputs(&self, inputs: &[TensorView<'_>]) -> Result<Bindings> {
        let sizes: Vec<(DType, &[usize])> = inputs.iter().map(|view| (view.dtype(), view.sizes())).collect();
        self.bind_input_sizes(&sizes)
    }

    pub(crate) fn bind_input_sizes(&self, inputs: &[(DType, &[usize])]) -> Result<Bindings> {
        let mut bindings = Bindings::default();
        for ((name, value), (dtype, sizes)) in self.inner.inputs.iter().zip(inputs) {
            let info = &self.inner.values[value.at()];
            let required = || {
                format!(
                    "input \"{name}\" must be {}{}",
                    info.dtype,
                    self.inner.table.resolve_shape(&info.shape)
                )
            };
            let got = format!("{dtype}{sizes:?}");
            let refuse = |detail: String| {
                let location = self.inner.node_of(*value).location;
                Error::new(ErrorKind::Feed, Phase::Run, format!("{}, got {got}{detail}", required()))
                    .note("the input is declared", Some(location))
            };
            if info.dtype != *dtype {
                return Err(refuse(String::new()));
            }
            let Some(dims) = info.shape.dims() else { continue };
            if dims.len() != sizes.len() {
                return Err(refuse(format!(": the rank must be {}", dims.len())));
            }
            for (axis, (dim, size)) in dims.iter().zip(*sizes).enumerate() {
                bindings.bind(&self.inner.table, dim, *size as i64).map_err(|mismatch: Mismatch| {
                    refuse(match mismatch.expected {
                        Some(expected) if mismatch.dim.is_known() => {
                            format!(": axis {axis} must be {expected}")
                        }
                        Some(expected) => {
                            format!(": axis {axis} is {}, which is already {expected}", mismatch.dim)
                        }
                        None => {
                            format!(": axis {axis} is {}, which cannot be {}", mismatch.dim, mismatch.got)
                        }
                    })
                })?;
            }
        }
        bindings.check_deferred(&self.inner.table).map_err(|mismatch| {
            let message = format!(
                "a dimension {} of the inputs must be {}, got {}",
                mismatch.dim,
                mismatch.expected.unwrap_or_default(),
                mismatch.got
            );
            Error::new(ErrorKind::Feed, Phase::Run, message)
        })?;
        Ok(bindings)
    }

    /// Checks what was left to run time.
    pub(crate) fn check_guards(&self, bindings: &Bindings) -> Result<()> {
        for record in self.inner.table.guards() {
            let holds = record.guard.check(&|symbol| bindings.get(symbol));
            if matches!(holds, Ok(Some(true) | None)) {
                continue;
            }
            let message = unmet(&record.guard, &|dim| bindings.try_eval(&self.inner.table, dim));
            let error = Error::new(ErrorKind::Guard, Phase::Run, message);
            return Err(match self.inner.nodes.get(record.origin as usize) {
                Some(_) => self.locate(NodeIx(record.origin), error),
                None => error,
            });
        }
        Ok(())
    }

    /// The error of the first node that has no sizes for these values of symbols.
    fn unsized_node(&self, bindings: &Bindings) -> Option<Error> {
        self.inner.values.iter().find_map(|info| {
            let dims = info.shape.dims()?.iter();
            let reason =
                dims.map(|dim| self.inner.table.resolve(dim).eval(&|symbol| bindings.get(symbol)).err());
            let message = reason.flatten().next()?.to_string();
            Some(self.locate(info.node, Error::new(ErrorKind::Guard, Phase::Run, message)))
        })
    }

    fn bind_sizes(&self, bindings: &mut Bindings, buffer: BufferIx, sizes: &[usize]) -> Result<()> {
        let dims = &self.program.buffers[buffer.at()].dims;
        let value = self.program.buffers[buffer.at()].value;
        for (axis, (dim, size)) in dims.iter().zip(sizes).enumerate() {
            bindings.bind(&self.inner.table, dim, *size as i64).map_err(|mismatch| {
                let expected = mismatch.expected.map_or_else(|| mismatch.dim.to_string(), |e| e.to_string());
                let message =
                    format!("axis {axis} of {} must be {expected}, got {size}", self.value_text(value));
                self.locate(
                    self.inner.values[value.at()].node,
                    Error::new(ErrorKind::Guard, Phase::Run, message),
                )
            })?;
        }
        Ok(())
    }

    /// Binds the symbols of elements that are in memory, and those that shape functions define from them.
    fn define(&self, bindings: &mut Bindings, waiting: &mut Waiting, memory: &Memory<'_>) -> Result<()> {
        let mut elements = std::mem::take(&mut waiting.elements);
        let mut failed = None;
        elements.retain(|(value, buffer)| {
            let Some(sizes) = self.sizes_of(*buffer, bindings).filter(|_| memory.has(*buffer)) else {
                return true;
            };
            let Ok(view) = self.view(*buffer, &sizes, memory) else { return true };
            let (Some(found), Some(symbolic)) = (elements_of(&view), &self.inner.values[value.at()].elements)
            else {
                return false;
            };
            for (dim, element) in symbolic.elements().iter().zip(found.elements()) {
                if let Some(element) = element.as_known()
                    && let Err(mismatch) = bindings.bind(&self.inner.table, dim, element)
                {
                    failed.get_or_insert((*value, mismatch));
                }
            }
            false
        });
        waiting.elements = elements;
        if let Some((value, mismatch)) = failed {
            let expected =
                mismatch.expected.map_or_else(|| mismatch.dim.to_string(), |expected| expected.to_string());
            let message =
                format!("an element of {} must be {expected}, got {}", self.value_text(value), mismatch.got);
            return Err(Error::new(ErrorKind::Guard, Phase::Run, message));
        }
        let mut left = Vec::new();
        for index in std::mem::take(&mut waiting.definers) {
            if !self.define_by(index, bindings, memory)? {
                left.push(index);
            }
        }
        waiting.definers = left;
        Ok(())
    }

    /// Runs a shape function on sizes and values; false if they are not known yet.
    fn define_by(&self, index: NodeIx, bindings: &mut Bindings, memory: &Memory<'_>) -> Result<bool> {
        let node = &self.inner.nodes[index.at()];
        let table = &self.inner.table;
        let mut sizes: Vec<Sizes> = Vec::with_capacity(node.operands.len());
        for operand in &node.operands {
            let dims = self.inner.values[operand.at()].shape.dims().unwrap_or_default();
            let known = dims.iter().map(|dim| usize::try_from(bindings.try_eval(table, dim)?).ok());
            match known.collect::<Option<Sizes>>() {
                Some(known) => sizes.push(known),
                None => return Ok(false),
            }
        }
        let mut operands = Vec::with_capacity(sizes.len());
        for (operand, sizes) in node.operands.iter().zip(&sizes) {
            let info = &self.inner.values[operand.at()];
            let symbolic = info.elements.as_ref().map(|elements| {
                elements.substitute(&mut |symbol| bindings.get(symbol).map(shapeflow_shape_fns::Dim::known))
            });
            let mut elements = symbolic.map(|elements| Box::new(table.resolve_elements(&elements)));
            if elements.as_ref().is_none_or(|elements| !elements.is_known())
                && let Some(buffer) = self.program.buffer_of.get(operand)
                && memory.has(*buffer)
                && let Ok(view) = self.view(*buffer, sizes, memory)
            {
                elements = elements_of(&view);
            }
            operands.push(SizedOperand { dtype: info.dtype, sizes, elements });
        }
        let attrs =
            node.attrs().substitute(&mut |symbol| bindings.get(symbol).map(shapeflow_shape_fns::Dim::known));
        let (concrete, outputs) =
            infer_sizes(&node.op, node.given, &attrs, operands).map_err(|error| self.locate(index, error))?;
        let bind = |bindings: &mut Bindings,
                    symbolic: &shapeflow_shape_fns::Dim,
                    known: &shapeflow_shape_fns::Dim| {
            let Some(known) = known.as_known() else { return Ok(false) };
            bindings.bind(table, symbolic, known).map(|()| true).map_err(|mismatch| {
                let expected = mismatch.expected.map_or_else(|| mismatch.dim.to_string(), |e| e.to_string());
                self.locate(
                    index,
                    Error::new(
                        ErrorKind::Guard,
                        Phase::Run,
                        format!("a dimension must be {expected}, got {known}"),
                    ),
                )
            })
        };
        let mut all = true;
        for (value, output) in node.values().zip(&outputs) {
            let symbolic = self.inner.values[value.at()].shape.dims().unwrap_or_default();
            let known = concrete.values[output.at()].shape.dims().unwrap_or_default();
            for (symbolic, known) in symbolic.iter().zip(known) {
                all &= bind(bindings, symbolic, known)?;
            }
        }
        let made = concrete.node_of(outputs[0]).derived();
        for ((_, symbolic), (_, known)) in node.derived().iter().zip(made) {
            for (symbolic, known) in symbolic.iter().zip(known) {
                all &= bind(bindings, symbolic, known)?;
            }
        }
        Ok(all)
    }

    /// Computes every node by the expression interpreter.
    fn run_interpreted(
        &self,
        inputs: &[TensorView<'_>],
        sinks: Option<Vec<Sink<'_>>>,
    ) -> Result<Vec<Tensor>> {
        let mut bindings = self.bind_inputs(inputs)?;
        let mut values: FxHashMap<ValueIx, Tensor> = FxHashMap::default();
        for ((_, value), view) in self.inner.inputs.iter().zip(inputs) {
            values.insert(*value, view.to_tensor()?);
        }
        for (number, node) in self.inner.nodes.iter().enumerate() {
            let index = NodeIx(number as u32);
            if let Some(tensor) = self.inner.constants.get(&index) {
                values.insert(node.first_output, tensor.clone());
                continue;
            }
            if values.contains_key(&node.first_output) {
                continue;
            }
            let operands: Vec<TensorView<'_>> =
                node.operands.iter().filter_map(|operand| values.get(operand)).map(Tensor::view).collect();
            let attrs = node
                .attrs()
                .substitute(&mut |symbol| bindings.get(symbol).map(shapeflow_shape_fns::Dim::known));
            let made = evaluate(&node.op, node.given, &attrs, &operands)
                .map_err(|error| self.locate(index, error))?;
            drop(operands);
            for (value, tensor) in node.values().zip(made) {
                let dims = self.inner.values[value.at()].shape.dims().unwrap_or_default();
                for (dim, size) in dims.iter().zip(tensor.sizes()) {
                    bindings.bind(&self.inner.table, dim, *size as i64).map_err(|mismatch| {
                        let expected =
                            mismatch.expected.map_or_else(|| mismatch.dim.to_string(), |e| e.to_string());
                        let message = format!("a dimension must be {expected}, got {size}");
                        self.locate(index, Error::new(ErrorKind::Guard, Phase::Run, message))
                    })?;
                }
                if let (Some(symbolic), Some(found)) =
                    (&self.inner.values[value.at()].elements, elements_of(&tensor.view()))
                {
                    for (dim, element) in symbolic.elements().iter().zip(found.elements()) {
                        if let Some(element) = element.as_known() {
                            let _ = bindings.bind(&self.inner.table, dim, element);
                        }
                    }
                }
                values.insert(value, tensor);
            }
            self.check_guards(&bindings)?;
        }
        let outputs = self.program.outputs.iter().map(|buffer| self.program.buffers[buffer.at()].value);
        let results: Vec<Tensor> = outputs.filter_map(|value| values.get(&value).cloned()).collect();
        let Some(sinks) = sinks else { return Ok(results) };
        for (number, (sink, tensor)) in sinks.into_iter().zip(results).enumerate() {
            sink.fill(number, &tensor)?;
        }
        Ok(Vec::new())
    }
}

/// What a guard requires, and what its dimensions are instead.
fn unmet(guard: &Guard, value: &dyn Fn(&Dim) -> Option<i64>) -> String {
    let got = |dims: &[&Dim]| {
        let values = dims.iter().filter(|dim| !dim.is_known()).map(|dim| match value(dim) {
            Some(value) => value.to_string(),
            None => dim.to_string(),
        });
        values.collect::<Vec<_>>().join(" and ")
    };
    match guard {
        Guard::Eq(a, b) => format!("{a} and {b} must be equal, got {}", got(&[a, b])),
        Guard::Ge(a, b) => format!("{a} must be at least {b}, got {}", got(&[a, b])),
        Guard::OneOrEqual(a, b) => format!("{a} must be 1 or {b}, got {}", got(&[a, b])),
        Guard::Divides { divisor, dividend } => {
            format!("{dividend} must be a multiple of {divisor}, got {}", got(&[dividend, divisor]))
        }
    }
}

/// What is still to be bound.
struct Waiting {
    definers: Vec<NodeIx>,
    elements: Vec<(ValueIx, BufferIx)>,
}

/// A stage tied to its inputs and outputs.
pub(crate) struct BoundStage<'m> {
    stage: &'m Stage,
    plan: Arc<SegmentPlan>,
    memory: Memory<'m>,
    lanes: &'m mut Vec<Lane>,
    /// The launches of all steps, if every step is one that can be made ready.
    prepared: Option<Vec<Prepared>>,
}

impl BoundStage<'_> {
    pub(crate) fn run(&mut self) -> Result<()> {
        if let (Some(prepared), Some(code)) = (&self.prepared, &self.stage.code) {
            for (at, launch) in prepared.iter().enumerate() {
                if launch.run(code, &mut self.memory)
                    && let Step::Kernel(kernel) = &self.stage.program.steps[at]
                {
                    return Err(self.stage.find_fault(kernel, &self.plan, &self.memory, None));
                }
            }
            return Ok(());
        }
        self.stage.run_segment(0, &self.plan, &mut self.memory, self.lanes, None)
    }
}
