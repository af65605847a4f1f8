//! [`Run`]: one run of a compiled program by machine code.

use std::borrow::Cow;

use super::bindings::Bindings;
use super::definitions::PendingSymbols;
use super::fault::find_fault;
use super::guards::{refused_dim, run_error};
use super::host_step::{HostStep, is_constant, output_allocator, run_host_step};
use super::input_bindings::bind_inputs;
use super::interpret::interpret;
use super::output_buffer::OutputBuffer;
use super::outputs::collect_outputs;
use super::planning::{SegmentPlanner, sizes_of_inputs};
use super::run_state::RunState;
use super::whole_step::{WholeStep, run_whole};
use crate::compile::{CompiledProgram, KernelCode, Specialization, value_text};
use crate::dump::Traced;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{Node, NodeIx};
use crate::lower::kernel::{BufferIx, Kernel};
use crate::lower::program::{Content, Step};
use crate::op::{Body, Cancel, HostOutput, HostThreads, NodePreparation, OutputAllocator};
use crate::runtime::{
    Launch, Memory, PreparedLaunch, ProgramState, RetainedMemory, SegmentPlan, StepPlan, Workspace,
    is_cut_for, launch, stream_threshold,
};
use crate::tensor::{Allowance, Tensor, TensorView, with_allowance};

/// One run of a compiled program: the memory of the program's buffers, and the values of its symbols.
pub(super) struct Run<'r, 'm> {
    compiled: &'r CompiledProgram,
    code: &'r KernelCode,
    /// What all runs of the program share. The `RunState` of a thread is a parameter of the functions that need it.
    state: &'r ProgramState,
    memory: &'r mut Memory<'m>,
    /// The values of the symbols. `None` for a static program, whose steps need no values of symbols.
    bindings: Option<Bindings<'r>>,
    cancel: Cancel<'r>,
}

/// Runs a program on row-major inputs. Stores the results in `outputs`. Returns the results as tensors if `outputs` is
/// `None`.
///
/// # Errors
/// The errors of [`Executable::run`](crate::Executable::run).
pub(super) fn run_by_machine_code<'m>(
    specialization: &'m Specialization,
    code: &'m KernelCode,
    inputs: &'m [TensorView<'m>],
    outputs: Option<&mut [OutputBuffer<'m>]>,
    cancel: Cancel<'_>,
    thread_state: &mut RunState,
) -> Result<Vec<Tensor>> {
    let retained = std::mem::take(&mut thread_state.retained);
    let mut memory = initial_memory(&specialization.program, inputs, retained)?;
    let results = Run::new(specialization, code, &mut memory, cancel).run(inputs, outputs, thread_state);
    thread_state.retained = memory.retain();
    results
}

/// Returns the memory of a run. The buffers of the inputs and of the constants have their bytes already.
///
/// # Errors
/// Memory for a copy of an input of strings is refused.
fn initial_memory<'m>(
    compiled: &'m CompiledProgram,
    inputs: &'m [TensorView<'m>],
    retained: RetainedMemory,
) -> Result<Memory<'m>> {
    let mut memory = Memory::new(Cow::Borrowed(&compiled.lowered.roots), retained);
    for &(buffer, content) in &compiled.inputs_and_constants {
        // Strings and variants have no bytes. Host kernels read their tensors directly.
        match content {
            Content::Input(port) if inputs[port].dtype().size_bytes().is_none() => {
                memory.hold(buffer, inputs[port].to_tensor()?);
            }
            Content::Input(port) => memory.borrow_bytes(buffer, inputs[port].bytes()),
            Content::Constant(node) => match &compiled.graph.constants[&node] {
                tensor if tensor.dtype().size_bytes().is_none() => memory.hold(buffer, tensor.clone()),
                tensor => memory.borrow_bytes(buffer, tensor.view().bytes()),
            },
            Content::Computed | Content::Alias(_) => unreachable!("the list has inputs and constants only"),
        }
    }
    Ok(memory)
}

/// Returns the error of a segment that cannot be planned. If planning fails because a kernel would read from an empty
/// axis, the interpreter runs the program, because the error of the interpreter names the index. A program with host
/// kernels keeps `error`: running them twice could repeat their side effects.
fn error_with_index(
    compiled: &CompiledProgram,
    inputs: &[TensorView<'_>],
    cancel: Cancel<'_>,
    error: Error,
) -> Error {
    let is_repeatable = |node: &Node| {
        matches!(node.op.body, Body::Input | Body::Constant | Body::Compute(_) | Body::Contraction { .. })
    };
    if error.kind() != ErrorKind::Index || !compiled.graph.nodes.iter().all(is_repeatable) {
        return error;
    }
    let found = interpret(compiled, inputs, None, cancel).err();
    // The interpreter copies all inputs, and may lack the memory.
    found.filter(|found| found.kind() != ErrorKind::Memory).unwrap_or(error)
}

impl<'r, 'm> Run<'r, 'm> {
    /// Creates a run. `memory` has the inputs and the constants.
    pub(super) fn new(
        specialization: &'r Specialization,
        code: &'r KernelCode,
        memory: &'r mut Memory<'m>,
        cancel: Cancel<'r>,
    ) -> Run<'r, 'm> {
        let Specialization { program: compiled, state, .. } = specialization;
        Run { compiled, code, state, memory, bindings: None, cancel }
    }

    fn planner(&self) -> SegmentPlanner<'r> {
        SegmentPlanner { compiled: self.compiled, code: self.code, state: self.state }
    }

    /// Plans and runs all segments, and collects the results.
    fn run(
        &mut self,
        inputs: &[TensorView<'_>],
        mut outputs: Option<&mut [OutputBuffer<'m>]>,
        thread_state: &mut RunState,
    ) -> Result<Vec<Tensor>> {
        let compiled = self.compiled;
        if compiled.is_static() {
            let plan = self.planner().static_plan(inputs, &mut thread_state.last);
            let plan = plan.map_err(|error| error_with_index(compiled, inputs, self.cancel, error))?;
            self.place(plan, outputs.as_deref_mut())?;
            self.run_segment(0, plan, outputs.as_deref_mut(), &mut thread_state.workspaces)?;
            let sizes = |buffer| plan.sizes(buffer).cloned();
            return collect_outputs(compiled, &sizes, self.memory, outputs);
        }
        self.bindings = Some(bind_inputs(&compiled.graph, &sizes_of_inputs(inputs))?);
        let mut pending = PendingSymbols::new(compiled);
        let planner = self.planner();
        for number in 0..compiled.lowered.segments.len() {
            let bindings = self.define(&mut pending)?;
            let plan = planner.segment_plan(number, bindings);
            let plan = plan.map_err(|error| error_with_index(compiled, inputs, self.cancel, error))?;
            self.place(&plan, outputs.as_deref_mut())?;
            self.run_segment(number, &plan, outputs.as_deref_mut(), &mut thread_state.workspaces)?;
        }
        self.define(&mut pending)?;
        let bindings = self.bindings.as_ref();
        let sizes = |buffer: BufferIx| bindings?.sizes(&compiled.lowered.buffers[buffer.index()].dims);
        collect_outputs(compiled, &sizes, self.memory, outputs)
    }

    /// Binds the symbols that can be bound now, checks their guards, and returns the bindings.
    fn define(&mut self, pending: &mut PendingSymbols<'_>) -> Result<&Bindings<'r>> {
        let bindings = self.bindings.as_mut().expect("a program that is not static has bindings");
        pending.define(self.compiled, bindings, self.memory)?;
        Ok(bindings)
    }

    /// Gives memory to every buffer that the kernels and matmuls of a segment store. The buffer of a result gets the
    /// caller's memory in `outputs` if that memory has the dtype and the sizes of the result.
    ///
    /// # Errors
    /// Memory is refused.
    pub(super) fn place(
        &mut self,
        plan: &SegmentPlan,
        mut outputs: Option<&mut [OutputBuffer<'m>]>,
    ) -> Result<()> {
        self.memory.place(plan.memory.arena, &plan.memory.placed)?;
        for &buffer in &plan.memory.outlive_segment {
            let sizes = plan.sizes(buffer).expect("a buffer has sizes before it has memory");
            let info = &self.compiled.lowered.buffers[buffer.index()];
            if let Some(output) = self.output_of(buffer, outputs.as_deref_mut())
                && output.fits(info.dtype, sizes)
                && let Some(bytes) = output.take()
            {
                self.memory.borrow_bytes_mut(buffer, bytes);
                continue;
            }
            let tensor = self.state.buffers.allocate(info.dtype, sizes).map_err(|error| {
                let value = value_text(&self.compiled.graph, info.value);
                error.note(format!("for the elements of {value}"), None)
            })?;
            self.memory.hold_mut(buffer, tensor)?;
        }
        for &(buffer, owner) in &plan.memory.shared {
            self.memory.share(buffer, owner);
        }
        Ok(())
    }

    /// Returns the caller's memory for a buffer; `None` if the buffer is no result or the caller gives no memory.
    fn output_of<'o>(
        &self,
        buffer: BufferIx,
        outputs: Option<&'o mut [OutputBuffer<'m>]>,
    ) -> Option<&'o mut OutputBuffer<'m>> {
        outputs?.get_mut(self.compiled.output_of[buffer.index()]?)
    }

    /// Runs the steps of a segment.
    ///
    /// # Errors
    /// A check of the data fails, a node fails, or memory is refused.
    pub(super) fn run_segment(
        &mut self,
        number: usize,
        plan: &SegmentPlan,
        mut outputs: Option<&mut [OutputBuffer<'m>]>,
        workspaces: &mut Vec<Workspace>,
    ) -> Result<()> {
        let compiled = self.compiled;
        let range = compiled.lowered.segments[number].steps.clone();
        for (step, step_plan) in range.zip(&plan.steps) {
            self.cancel.check()?;
            let traced = compiled.traced(step);
            let _span = traced.map(Traced::begin);
            match (&compiled.lowered.steps[step], step_plan) {
                (Step::Kernel(kernel), StepPlan::Kernel(kernel_plan, prepared)) => {
                    let code = &self.code.module;
                    let runs_in_one_piece =
                        |_: &&PreparedLaunch| !is_cut_for(self.cancel, kernel, kernel_plan);
                    let failed = match prepared.as_ref().filter(runs_in_one_piece) {
                        Some(prepared) => prepared.run(kernel_plan, code, self.memory, workspaces)?,
                        None => {
                            let memory = &*self.memory;
                            let functions = &self.code.functions[step];
                            let plan = kernel_plan;
                            let run = Launch {
                                kernel,
                                plan,
                                code,
                                functions,
                                memory,
                                stream_threshold: stream_threshold(&plan.buffers, plan.stream, memory),
                                traced,
                                cancel: self.cancel,
                            };
                            launch(&run, workspaces, &self.state.threads)?
                        }
                    };
                    if failed {
                        return Err(self.fault(kernel, plan));
                    }
                }
                (Step::MatMul { .. }, StepPlan::MatMul(matmul)) => {
                    matmul.run(self.memory, &self.state.threads, workspaces, self.cancel)?;
                }
                (&Step::Whole { node, from, out, run }, StepPlan::Whole) => {
                    let threads = HostThreads::new(&self.state.threads);
                    run_whole(compiled, WholeStep { node, from, out, run }, plan, self.memory, threads)?;
                }
                (Step::Node { node, operands, outputs: stored }, StepPlan::Node) => {
                    let host = HostStep { node: *node, operands };
                    self.run_node(step, host, stored, plan, outputs.as_deref_mut())?;
                }
                _ => unreachable!("the plan of a segment has a plan of the same kind for each step"),
            }
        }
        Ok(())
    }

    #[cold]
    fn fault(&self, kernel: &Kernel, plan: &SegmentPlan) -> Error {
        find_fault(self.compiled, kernel, plan, self.memory, self.bindings.as_ref())
    }

    /// Runs a host step, and binds symbols to the sizes of its results.
    fn run_node(
        &mut self,
        number: usize,
        step: HostStep<'_>,
        stored: &[BufferIx],
        plan: &SegmentPlan,
        mut outputs: Option<&mut [OutputBuffer<'m>]>,
    ) -> Result<()> {
        let pool = &self.state.buffers;
        let compiled = self.compiled;
        let is_constant = |operand: usize| is_constant(compiled, step.operands[operand]);
        let prepared = NodePreparation { slot: self.state.prepared(number), is_constant: &is_constant };
        let threads = HostThreads::new(&self.state.threads);
        let allocator =
            output_allocator(compiled, step, stored, pool, outputs.as_deref_mut(), prepared, threads);
        let allocator = OutputAllocator { cancel: self.cancel, ..allocator };
        let bindings = self.bindings.as_ref();
        let allowance = self.state.memory_limit.map(|limit| {
            let used = plan.memory.arena.saturating_add(self.memory.held_bytes());
            Allowance { limit, left: limit.saturating_sub(used) }
        });
        let results = with_allowance(allowance, || {
            run_host_step(compiled, step, stored, plan, self.memory, bindings, allocator)
        })?;
        if let Some(allowance) = allowance {
            let tensors = results.iter().filter_map(|result| match result {
                HostOutput::Tensor(tensor) => Some(tensor.element_bytes()),
                HostOutput::Borrowed | HostOutput::SharesInput(_) => None,
            });
            let bytes = tensors.fold(0, usize::saturating_add);
            if bytes > allowance.left {
                return Err(run_error(&compiled.graph, step.node, allowance.exceeded(bytes)));
            }
        }
        assert_eq!(results.len(), stored.len(), "a node has a buffer for each result");
        for (&buffer, result) in stored.iter().zip(results) {
            match result {
                HostOutput::Tensor(tensor) => {
                    self.bind_sizes(step.node, buffer, tensor.sizes(), plan)?;
                    self.memory.hold(buffer, tensor);
                }
                // The buffer of the output is a view of the buffer of operand 0.
                HostOutput::SharesInput(sizes) => self.bind_sizes(step.node, buffer, &sizes, plan)?,
                HostOutput::Borrowed => {
                    let output = self.output_of(buffer, outputs.as_deref_mut());
                    let output = output.expect("a kernel borrows only the caller's memory for an output");
                    let sizes = output.sizes();
                    let bytes =
                        output.take().expect("the allocator lends a kernel only memory that no step took");
                    self.bind_sizes(step.node, buffer, sizes, plan)?;
                    self.memory.borrow_bytes_mut(buffer, bytes);
                }
            }
        }
        Ok(())
    }

    /// Binds the symbols of a buffer's dims to the sizes of the result in it. The plan of a static program has the
    /// sizes.
    ///
    /// # Errors
    /// The result has other sizes than the graph.
    fn bind_sizes(
        &mut self,
        node: NodeIx,
        buffer: BufferIx,
        sizes: &[usize],
        plan: &SegmentPlan,
    ) -> Result<()> {
        let info = &self.compiled.lowered.buffers[buffer.index()];
        let Some(bindings) = &mut self.bindings else {
            return match plan.sizes(buffer) {
                Some(planned) if planned[..] != *sizes => self.other_sizes(node, buffer, planned, sizes),
                _ => Ok(()),
            };
        };
        bindings.bind_sizes(&info.dims, sizes).map_err(|(number, mismatch)| {
            let graph = &self.compiled.graph;
            let dim = graph.values[info.value.index()].shape.dim(number as i64).unwrap_or(&info.dims[number]);
            let axis = format!("axis {number} of {}", value_text(graph, info.value));
            run_error(graph, node, refused_dim(graph, dim, &mismatch, &axis))
        })
    }
    /// Refuses a result with other sizes than the plan of a static program has.
    #[cold]
    fn other_sizes(&self, index: NodeIx, buffer: BufferIx, planned: &[usize], sizes: &[usize]) -> Result<()> {
        let graph = &self.compiled.graph;
        let node = &graph.nodes[index.index()];
        // Beside a size of 0, the size of an axis whose elements a reshape counts is not certain.
        if node.op.is_reinterpretation() && planned.contains(&0) && sizes.contains(&0) {
            return Ok(());
        }
        let value = self.compiled.lowered.buffers[buffer.index()].value;
        // A plan has no sizes of a result whose rank only the run knows.
        if graph.values[value.index()].shape.rank().is_none() {
            return Ok(());
        }
        let output = node.values().position(|other| other == value).unwrap_or_default();
        let message = format!("output {output} must have shape {planned:?}, the kernel made {sizes:?}");
        Err(run_error(graph, index, Error::new(ErrorKind::Custom, Phase::Run, message)))
    }
}
