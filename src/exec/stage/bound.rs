//! `BoundStage`: a stage tied to its inputs and outputs.

use std::sync::Arc;

use super::super::segment::{SegmentPlan, StepPlan};
use super::sink::Sinks;
use super::{RunState, Stage};
use crate::dump::Traced;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::lower::program::{Content, Step};
use crate::runtime::{BoundLaunches, Memory, PreparedLaunch, Workspace};
use crate::tensor::TensorView;

impl Stage {
    /// Plans for these inputs once, and keeps their memory at hand.
    pub(crate) fn bind<'m>(
        &'m self,
        inputs: &'m [TensorView<'m>],
        sinks: Sinks<'m>,
        state: &'m mut RunState,
    ) -> Result<BoundStage<'m>> {
        let direct = self.is_static()
            && self.code.is_some()
            && self
                .program
                .outputs
                .iter()
                .all(|output| self.program.contents[output.index()] == Content::Computed)
            && self.program.steps.iter().all(|step| !matches!(step, Step::Node { .. }));
        if !direct {
            let message =
                "bind needs results that kernels write, of sizes that inputs determine; use run_into";
            return Err(Error::new(ErrorKind::Feed, Phase::Run, message));
        }
        let plan = self.static_plan(inputs, state)?;
        let mut memory = Memory::new(&self.program.roots, std::mem::take(&mut state.retained));
        self.lend_given(inputs, &mut memory)?;
        for (number, (sink, buffer)) in sinks.iter().zip(&self.program.outputs).enumerate() {
            let sizes = plan.sizes(*buffer).ok_or_else(|| self.undetermined(*buffer))?;
            sink.check(number, self.program.buffers[buffer.index()].dtype, sizes)?;
        }
        let mut sinks = Some(sinks);
        self.place(&plan, &mut sinks, &mut memory)?;
        if sinks.iter().flatten().any(|sink| sink.bytes.is_some()) {
            let message = "bind needs different values as outputs; use run_into";
            return Err(Error::new(ErrorKind::Feed, Phase::Run, message));
        }
        let prepared: Option<Vec<&PreparedLaunch>> = plan.steps.iter().map(StepPlan::prepared).collect();
        let steps = match (prepared, &self.code) {
            (Some(prepared), Some(code)) => Steps::Bound(BoundLaunches::bind(prepared, code, memory)?),
            _ => Steps::Planned { memory, workspaces: &mut state.workspaces },
        };
        Ok(BoundStage { stage: self, plan, steps })
    }
}

/// A stage tied to its inputs and outputs.
pub(crate) struct BoundStage<'m> {
    stage: &'m Stage,
    plan: Arc<SegmentPlan>,
    steps: Steps<'m>,
}

/// How the steps of a bound stage run.
enum Steps<'m> {
    /// Every step is a prepared launch, with its addresses filled in.
    Bound(BoundLaunches<'m>),
    /// As in any other run.
    Planned { memory: Memory<'m>, workspaces: &'m mut Vec<Workspace> },
}

impl BoundStage<'_> {
    pub(crate) fn run(&mut self) -> Result<()> {
        let launches = match &mut self.steps {
            Steps::Bound(launches) => launches,
            Steps::Planned { memory, workspaces } => {
                return self.stage.run_segment(0, &self.plan, memory, &mut None, workspaces, None);
            }
        };
        for index in 0..launches.len() {
            let _span = self.stage.traced(index).map(Traced::begin);
            if launches.run(index) {
                let Step::Kernel(kernel) = &self.stage.program.steps[index] else {
                    unreachable!("only kernels are launched");
                };
                return Err(self.stage.find_fault(kernel, &self.plan, launches.memory(), None));
            }
        }
        Ok(())
    }
}
