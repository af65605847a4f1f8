//! [`FixedRun`]: a bound run in memory that never moves. One plan serves all repetitions.

use std::borrow::Cow;
use std::sync::Arc;

use shapeflow_shape_fns::DType;

use super::buffer_view::buffer_view;
use super::fault::find_fault;
use super::planning::SegmentPlanner;
use super::port::Port;
use super::run::Run;
use crate::compile::{CompiledProgram, KernelCode, Specialization};
use crate::dump::Traced;
use crate::error::{Error, Result, is_library_line};
use crate::lower::kernel::{BufferIx, Kernel};
use crate::lower::plan::KernelPlan;
use crate::lower::program::{Content, Step};
use crate::op::Cancel;
use crate::runtime::{
    BoundLaunches, Memory, PreparedLaunch, RetainedMemory, SegmentPlan, StepPlan, Workspace, is_cut_for,
};
use crate::tensor::{Tensor, TensorView, TensorViewMut};

/// A bound run in memory that never moves. Kernels and matrix products compute all its results. A `FixedRun<'static>`
/// owns all its inputs.
pub(super) struct FixedRun<'m> {
    specialization: Arc<Specialization>,
    plan: Arc<SegmentPlan>,
    steps: Steps<'m>,
    inputs: Vec<BoundInput>,
}

/// An input to bind.
pub(super) enum GivenInput<'m> {
    /// A tensor that shares its elements with no other tensor.
    Owned(Tensor),
    /// Row-major elements that never change while the run lives.
    Lent(TensorView<'m>),
}

impl GivenInput<'_> {
    fn view(&self) -> TensorView<'_> {
        match self {
            GivenInput::Owned(tensor) => tensor.view(),
            GivenInput::Lent(view) => view.clone(),
        }
    }
}

/// The place of an input's elements.
enum BoundInput {
    /// In the memory of the run.
    Buffer(BufferIx),
    /// Outside the memory of the run, because only the sizes of the input matter.
    Unread(Tensor),
    /// Elements of the caller.
    Lent,
}

/// How the steps are executed.
enum Steps<'m> {
    /// Every step is a prepared launch, with its addresses filled in.
    Launches(BoundLaunches<'m>),
    /// Some step needs more than a single kernel call, so the steps are executed as in any other run.
    Planned { memory: Memory<'m>, workspaces: Vec<Workspace> },
}

impl<'m> FixedRun<'m> {
    /// Returns whether a program can be a fixed run.
    pub(super) fn is_possible(compiled: &CompiledProgram) -> bool {
        FixedRun::obstacle(compiled, &[]).is_none()
    }

    /// Returns why a program cannot be a fixed run; `None` if it can. A program can be a fixed run if machine code
    /// computes all results, no result is an input or has strings, and the sizes of the inputs determine all sizes.
    /// `ports` are the outputs, whose names the text has.
    pub(super) fn obstacle(compiled: &CompiledProgram, ports: &[Port]) -> Option<String> {
        let (graph, lowered) = (&compiled.graph, &compiled.lowered);
        if compiled.code.is_none() {
            return Some("the interpreter runs the graph".to_string());
        }
        for step in &lowered.steps {
            if let Step::Node { node, .. } = step {
                let (name, location) = (graph.node_label(*node), graph.nodes[node.index()].location);
                // The name of an imported node says where it is.
                return Some(match is_library_line(location) {
                    true => format!("{name} runs on the host"),
                    false => format!("{name} runs on the host, see {location}"),
                });
            }
        }
        for (number, output) in lowered.outputs.iter().enumerate() {
            let root = lowered.roots[output.index()].index();
            let name = || ports.get(number).map_or(number.to_string(), |port| format!("\"{}\"", port.name));
            if matches!(lowered.contents[root], Content::Input(_)) {
                return Some(format!("output {} is an input", name()));
            }
            if lowered.buffers[root].dtype == DType::String {
                return Some(format!("output {} has strings", name()));
            }
        }
        (!compiled.is_static()).then(|| "some sizes depend on elements of tensors".to_string())
    }

    /// Plans the run, and gives every buffer its memory.
    ///
    /// # Errors
    /// The inputs do not fit their declarations, or memory is refused.
    pub(super) fn bind(
        specialization: Arc<Specialization>,
        inputs: Vec<GivenInput<'m>>,
    ) -> Result<FixedRun<'m>> {
        let Specialization { program: compiled, state, .. } = &*specialization;
        let code = code_of(compiled);
        let planner = SegmentPlanner { compiled, code, state };
        let views: Vec<TensorView<'_>> = inputs.iter().map(GivenInput::view).collect();
        let plan = planner.static_plan(&views, &mut None)?.clone();
        drop(views);
        let roots = Cow::Owned(compiled.lowered.roots.clone());
        let mut memory = Memory::new(roots, RetainedMemory::default());
        let mut buffers: Vec<Option<BufferIx>> = vec![None; inputs.len()];
        for &(buffer, content) in &compiled.inputs_and_constants {
            match content {
                Content::Input(port) => buffers[port] = Some(buffer),
                Content::Constant(node) => memory.hold(buffer, compiled.graph.constants[&node].clone()),
                Content::Computed | Content::Alias(_) => {
                    unreachable!("the list has inputs and constants only")
                }
            }
        }
        let mut bound = Vec::with_capacity(inputs.len());
        for (input, buffer) in inputs.into_iter().zip(buffers) {
            bound.push(match (input, buffer) {
                (GivenInput::Owned(tensor), Some(buffer)) => {
                    memory.hold(buffer, tensor);
                    BoundInput::Buffer(buffer)
                }
                (GivenInput::Owned(tensor), None) => BoundInput::Unread(tensor),
                (GivenInput::Lent(view), buffer) => {
                    if let Some(buffer) = buffer {
                        memory.borrow_bytes(buffer, view.bytes());
                    }
                    BoundInput::Lent
                }
            });
        }
        Run::new(&specialization, code, &mut memory, Cancel::default()).place(&plan, None)?;
        let prepared: Option<Vec<(&KernelPlan, &PreparedLaunch)>> =
            plan.steps.iter().map(StepPlan::prepared).collect();
        let steps = match prepared {
            Some(prepared) => Steps::Launches(BoundLaunches::bind(prepared, code.module.clone(), memory)?),
            None => Steps::Planned { memory, workspaces: Vec::new() },
        };
        Ok(FixedRun { plan, steps, inputs: bound, specialization })
    }

    /// Runs on the elements that the inputs hold now.
    ///
    /// # Errors
    /// A check of the data fails, memory is refused, or the run is cancelled.
    #[inline]
    pub(super) fn run(&mut self, cancel: Cancel<'_>) -> Result<()> {
        let compiled = &self.specialization.program;
        match &mut self.steps {
            // The usual run, in which every nanosecond counts.
            Steps::Launches(launches) if !cancel.has_token() && !compiled.is_traced() => {
                match launches.run_all() {
                    None => Ok(()),
                    Some(failed) => Err(self.fault(failed)),
                }
            }
            _ => self.run_observed(cancel),
        }
    }

    /// Returns the error of a launch whose check failed.
    #[cold]
    fn fault(&self, failed: usize) -> Error {
        let compiled = &self.specialization.program;
        let memory = match &self.steps {
            Steps::Launches(launches) => launches.memory(),
            Steps::Planned { memory, .. } => memory,
        };
        find_fault(compiled, kernel_of(compiled, failed), &self.plan, memory, None)
    }

    /// As [`FixedRun::run`], with a token, a trace, or steps that are not prepared launches.
    #[inline(never)]
    fn run_observed(&mut self, cancel: Cancel<'_>) -> Result<()> {
        let compiled = &self.specialization.program;
        let launches = match &mut self.steps {
            Steps::Launches(launches) => launches,
            Steps::Planned { memory, workspaces } => {
                let mut run = Run::new(&self.specialization, code_of(compiled), memory, cancel);
                return run.run_segment(0, &self.plan, None, workspaces);
            }
        };
        for index in 0..launches.len() {
            cancel.check()?;
            let traced = compiled.traced(index);
            let _span = traced.map(Traced::begin);
            let kernel = kernel_of(compiled, index);
            let failed = match &self.plan.steps[index] {
                StepPlan::Kernel(plan, _) if cancel.has_token() && is_cut_for(cancel, kernel, plan) => {
                    launches.run_cut(index, kernel, plan, &code_of(compiled).functions[index], cancel)?
                }
                _ => launches.run(index),
            };
            if failed {
                return Err(self.fault(index));
            }
        }
        Ok(())
    }

    pub(super) fn input_mut(&mut self, number: usize) -> TensorViewMut<'_> {
        match (&mut self.inputs[number], &mut self.steps) {
            (BoundInput::Unread(tensor), _) => {
                tensor.unshared_view_mut().expect("an input of a bound run has one owner")
            }
            (BoundInput::Buffer(buffer), Steps::Launches(launches)) => launches.view_mut(*buffer),
            (BoundInput::Buffer(buffer), Steps::Planned { memory, .. }) => memory.view_mut(*buffer),
            (BoundInput::Lent, _) => unreachable!("only inputs that the run owns are written"),
        }
    }

    pub(super) fn output(&self, number: usize) -> Result<TensorView<'_>> {
        let compiled = &self.specialization.program;
        let buffer = compiled.lowered.outputs[number];
        let sizes = self.plan.sizes(buffer).expect("a plan has the sizes of every output");
        let memory = match &self.steps {
            Steps::Launches(launches) => launches.memory(),
            Steps::Planned { memory, .. } => memory,
        };
        buffer_view(compiled, buffer, sizes, memory)
    }

    /// Copies a result to an input.
    ///
    /// # Errors
    /// The result has another dtype or other sizes than the input.
    pub(super) fn feed_back(&mut self, output: usize, input: usize) -> Result<()> {
        let source = self.output(output)?;
        let (dtype, sizes) = (source.dtype(), source.sizes().to_vec());
        let BoundInput::Buffer(target) = self.inputs[input] else {
            let tensor = source.to_tensor()?;
            return self.input_mut(input).copy_from(tensor.view());
        };
        self.input_mut(input).check_source(dtype, &sizes)?;
        let source = self.specialization.program.lowered.outputs[output];
        self.copy(source, target);
        Ok(())
    }

    /// Returns the buffers between which [`FixedRun::copy`] feeds a result back to an input of the same dtype and
    /// sizes; `None` if the program does not read the elements of the input.
    pub(super) fn feed_back_buffers(&self, output: usize, input: usize) -> Option<(BufferIx, BufferIx)> {
        match self.inputs[input] {
            BoundInput::Buffer(target) => Some((self.specialization.program.lowered.outputs[output], target)),
            BoundInput::Unread(_) | BoundInput::Lent => None,
        }
    }

    /// Copies the bytes of a buffer to a buffer of the same length.
    pub(super) fn copy(&mut self, source: BufferIx, target: BufferIx) {
        match &mut self.steps {
            Steps::Launches(launches) => launches.copy(source, target),
            Steps::Planned { memory, .. } => memory.copy(source, target),
        }
    }
}

/// Returns the kernel of a step that has a prepared launch.
fn kernel_of(compiled: &CompiledProgram, step: usize) -> &Kernel {
    match &compiled.lowered.steps[step] {
        Step::Kernel(kernel) => kernel,
        _ => unreachable!("only kernels have prepared launches"),
    }
}

fn code_of(compiled: &CompiledProgram) -> &KernelCode {
    compiled.code.as_ref().expect("a fixed run has machine code")
}
