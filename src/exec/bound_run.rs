//! [`BoundRun`]: a run that keeps its inputs, its outputs and its plan.

use std::sync::Arc;

use super::fault::find_fault;
use super::output_buffer::{OutputBuffer, OutputBuffers};
use super::planning::SegmentPlanner;
use super::run::Run;
use super::run_state::RunState;
use crate::compile::{CompiledProgram, Specialization};
use crate::dump::Traced;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::lower::program::{Content, Step};
use crate::runtime::{BoundLaunches, PreparedLaunch, SegmentPlan, StepPlan, Workspace};
use crate::tensor::TensorView;

/// A runner bound to its inputs and outputs, see [`Runner::bind`](crate::Runner::bind).
pub struct BoundRun<'r> {
    compiled: &'r CompiledProgram,
    plan: Arc<SegmentPlan>,
    steps: Steps<'r>,
}

/// How the steps of a bound run are executed.
enum Steps<'r> {
    /// Every step is a prepared launch, with its addresses filled in.
    Bound(BoundLaunches<'r>),
    /// Some step needs more than a single kernel call, so the steps are executed as in any other run.
    Planned { run: Run<'r>, workspaces: &'r mut Vec<Workspace> },
}

impl<'r> BoundRun<'r> {
    /// Plans the run, and gives every buffer its memory.
    ///
    /// # Errors
    /// No kernel or matmul stores some result; the sizes of some result depend on data; two outputs are the same value;
    /// or the inputs or outputs do not fit.
    pub(super) fn bind(
        specialization: &'r Specialization,
        inputs: &'r [TensorView<'r>],
        mut outputs: OutputBuffers<'r>,
        state: &'r mut RunState,
    ) -> Result<BoundRun<'r>> {
        let compiled = &specialization.program;
        let Some(code) = compiled.code.as_ref().filter(|_| launches_only(compiled)) else {
            let message =
                "bind needs results that kernels write, of sizes that inputs determine; use run_into";
            return Err(Error::new(ErrorKind::Feed, Phase::Run, message));
        };
        let planner = SegmentPlanner { compiled, code, state: &specialization.state };
        let plan = planner.static_plan(inputs, &mut state.last)?.clone();
        for (number, (output, buffer)) in outputs.iter().zip(&compiled.lowered.outputs).enumerate() {
            let sizes = plan.sizes(*buffer).expect("a buffer has sizes before it has memory");
            output.check(number, compiled.lowered.buffers[buffer.index()].dtype, sizes)?;
        }
        let retained = std::mem::take(&mut state.retained);
        let mut run = Run::new(specialization, code, inputs, retained)?;
        run.place(&plan, Some(&mut outputs))?;
        if !outputs.iter().all(OutputBuffer::is_taken) {
            let message = "bind needs different values as outputs; use run_into";
            return Err(Error::new(ErrorKind::Feed, Phase::Run, message));
        }
        let prepared: Option<Vec<&PreparedLaunch>> = plan.steps.iter().map(StepPlan::prepared).collect();
        let steps = match prepared {
            Some(prepared) => Steps::Bound(BoundLaunches::bind(prepared, &code.module, run.into_memory())?),
            None => Steps::Planned { run, workspaces: &mut state.workspaces },
        };
        Ok(BoundRun { compiled, plan, steps })
    }

    /// Runs on the elements that the inputs hold now, and stores the results in the outputs.
    ///
    /// # Errors
    /// A check of the data fails, or memory is refused.
    pub fn run(&mut self) -> Result<()> {
        let launches = match &mut self.steps {
            Steps::Bound(launches) => launches,
            Steps::Planned { run, workspaces } => return run.run_segment(0, &self.plan, None, workspaces),
        };
        for index in 0..launches.len() {
            let _span = self.compiled.traced(index).map(Traced::begin);
            if launches.run(index) {
                let Step::Kernel(kernel) = &self.compiled.lowered.steps[index] else {
                    unreachable!("only kernels have prepared launches");
                };
                return Err(find_fault(self.compiled, kernel, &self.plan, launches.memory(), None));
            }
        }
        Ok(())
    }
}

/// Returns whether only kernels and matmuls compute the results, and the sizes of the inputs determine all sizes.
fn launches_only(compiled: &CompiledProgram) -> bool {
    let contents = &compiled.lowered.contents;
    compiled.is_static()
        && compiled.lowered.outputs.iter().all(|output| contents[output.index()] == Content::Computed)
        && compiled.lowered.steps.iter().all(|step| !matches!(step, Step::Node { .. }))
}
