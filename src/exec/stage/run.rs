//! Runs of a stage: every buffer gets its memory, then every step its turn.

use std::sync::Arc;

use shapeflow_shape_fns::DType;

use super::super::bindings::Bindings;
use super::super::segment::{SegmentPlan, StepPlan};
use super::Stage;
use super::sink::Sinks;
use super::symbols::Waiting;
use crate::dump::{Traced, span};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::lower::program::{Content, Step};
use crate::op::Made;
use crate::runtime::{Launch, Memory, RetainedMemory, Workspace, launch, streamed_row};
use crate::tensor::{Tensor, TensorView};

/// What a thread keeps between runs.
#[derive(Default)]
pub(crate) struct RunState {
    pub(super) workspaces: Vec<Workspace>,
    pub(super) retained: RetainedMemory,
    pub(super) last: Option<LastPlan>,
}

/// The plan of the last run whose plan the sizes of its inputs chose, with all that chose it. The stages of several
/// forms of a graph run with the same state, each with plans of its own.
pub(super) struct LastPlan {
    /// [`Stage::number`].
    pub stage: u64,
    /// The sizes of all inputs, one after the other.
    pub sizes: Vec<usize>,
    pub plan: Arc<SegmentPlan>,
}

impl RunState {
    /// Frees what is kept between runs.
    pub(crate) fn trim(&mut self) {
        *self = RunState::default();
    }
}

impl Stage {
    /// Runs the stage on row-major inputs in the order of its ports; results go to `sinks` if there are any,
    /// else to new tensors.
    pub(crate) fn run<'m>(
        &'m self,
        inputs: &'m [TensorView<'m>],
        sinks: Option<Sinks<'m>>,
        state: &mut RunState,
    ) -> Result<Vec<Tensor>> {
        let mut sinks = sinks;
        if self.code.is_none() {
            let trace = self.trace.as_ref().map(|times| &times.trace);
            let _span = span(trace, "interpreter", "interpreter");
            return self.run_interpreted(inputs, sinks);
        }
        let mut memory = Memory::new(&self.program.roots, std::mem::take(&mut state.retained));
        let result = self.run_in(inputs, &mut sinks, &mut memory, state);
        state.retained = memory.retain();
        result
    }

    fn run_in<'m>(
        &'m self,
        inputs: &'m [TensorView<'m>],
        sinks: &mut Option<Sinks<'m>>,
        memory: &mut Memory<'m>,
        state: &mut RunState,
    ) -> Result<Vec<Tensor>> {
        self.lend_given(inputs, memory)?;
        if self.is_static() {
            let plan = self.static_plan(inputs, state)?;
            self.place(&plan, sinks, memory)?;
            self.run_segment(0, &plan, memory, sinks, &mut state.workspaces, None)?;
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
            self.run_segment(number, &plan, memory, sinks, &mut state.workspaces, Some(&mut bindings))?;
        }
        self.define(&mut bindings, &mut waiting, memory)?;
        self.check_guards(&bindings)?;
        self.collect(&|buffer| self.sizes_of(buffer, &bindings), sinks, memory)
    }

    pub(super) fn lend_given<'m>(
        &'m self,
        inputs: &'m [TensorView<'m>],
        memory: &mut Memory<'m>,
    ) -> Result<()> {
        for &(buffer, content) in &self.given {
            match content {
                Content::Input(port) if inputs[port].dtype() == DType::String => {
                    memory.hold(buffer, inputs[port].to_tensor()?);
                }
                Content::Input(port) => memory.lend(buffer, inputs[port].bytes()),
                // Strings have no bytes: their tensor itself is what host kernels read.
                Content::Constant(node) if self.program.buffers[buffer.index()].dtype == DType::String => {
                    memory.hold(buffer, self.graph.constants[&node].clone());
                }
                Content::Constant(node) => memory.lend(buffer, self.graph.constants[&node].view().bytes()),
                Content::Computed | Content::Alias(_) => {}
            }
        }
        Ok(())
    }

    /// Gives every buffer of a segment its memory.
    pub(super) fn place<'m>(
        &'m self,
        plan: &SegmentPlan,
        sinks: &mut Option<Sinks<'m>>,
        memory: &mut Memory<'m>,
    ) -> Result<()> {
        memory.place(plan.arena, &plan.placed)?;
        for &buffer in &plan.own {
            let Some(sizes) = plan.sizes(buffer) else { continue };
            let dtype = self.program.buffers[buffer.index()].dtype;
            if let Some(sink) = self.sink_of(buffer, sinks)
                && (sink.dtype, sink.sizes) == (dtype, &sizes[..])
                && let Some(bytes) = sink.bytes.take()
            {
                memory.lend_mut(buffer, bytes);
                continue;
            }
            let tensor = self.buffer_pool.allocate(dtype, sizes).map_err(|error| {
                let value = self.value_text(self.program.buffers[buffer.index()].value);
                error.note(format!("for the elements of {value}"), None)
            })?;
            memory.hold_mut(buffer, tensor)?;
        }
        for &(buffer, owner) in &plan.shared {
            memory.share(buffer, owner);
        }
        Ok(())
    }

    pub(super) fn run_segment<'m>(
        &'m self,
        number: usize,
        plan: &SegmentPlan,
        memory: &mut Memory<'m>,
        sinks: &mut Option<Sinks<'m>>,
        workspaces: &mut Vec<Workspace>,
        mut bindings: Option<&mut Bindings>,
    ) -> Result<()> {
        let Some(code) = &self.code else { return Ok(()) };
        let range = self.program.segments[number].steps.clone();
        for (at, step_plan) in range.zip(&plan.steps) {
            let traced = self.traced(at);
            let _span = traced.map(Traced::begin);
            match (&self.program.steps[at], step_plan) {
                (Step::Kernel(kernel), StepPlan::Kernel(kernel_plan, prepared)) => {
                    let functions = &self.functions[at];
                    let failed = match prepared {
                        Some(prepared) => prepared.run(code, memory, workspaces)?,
                        None => {
                            let plan = kernel_plan;
                            let stream = streamed_row(&plan.buffers, plan.stream, memory);
                            let run = Launch { kernel, plan, code, functions, memory, stream, traced };
                            launch(&run, workspaces, &self.pool)?
                        }
                    };
                    if failed {
                        return Err(self.find_fault(kernel, plan, memory, bindings.as_deref()));
                    }
                }
                (Step::MatMul { .. }, StepPlan::MatMul(matmul)) => {
                    matmul.run(memory, &self.pool, workspaces)?
                }
                (Step::Node { node, operands, outputs }, StepPlan::Node) => {
                    let room = self.room(outputs, sinks);
                    let made = self.run_node(*node, operands, plan, memory, bindings.as_deref(), room)?;
                    for (&buffer, made) in outputs.iter().zip(made) {
                        let lent = self.sink_of(buffer, sinks).filter(|_| matches!(made, Made::Lent));
                        let sizes = match (&made, &lent) {
                            (Made::Tensor(tensor), _) => tensor.sizes(),
                            (Made::Lent, sink) => sink.as_ref().map_or(&[][..], |sink| sink.sizes),
                        };
                        if let Some(bindings) = bindings.as_deref_mut() {
                            self.bind_sizes(bindings, buffer, sizes)?;
                        }
                        if let Some(bytes) = lent.and_then(|sink| sink.bytes.take()) {
                            memory.lend_mut(buffer, bytes);
                        } else if let Made::Tensor(tensor) = made {
                            memory.hold(buffer, tensor);
                        }
                    }
                }
                _ => {
                    return Err(Error::new(ErrorKind::Compile, Phase::Run, "a step has the plan of another"));
                }
            }
        }
        Ok(())
    }
}
