//! `BoundStage`: a stage tied to its inputs and outputs.

use std::sync::Arc;

use super::super::segment::{SegmentPlan, StepPlan};
use super::sink::Sinks;
use super::{RunState, Stage};
use crate::dump::Traced;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::lower::program::{Content, Step};
use crate::runtime::{Lane, Memory, Tied};
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
        let tie = |step: &StepPlan| match step {
            StepPlan::Kernel(kernel, Some(direct)) => direct.tie(kernel, &memory).ok(),
            _ => None,
        };
        let tied = plan.steps.iter().map(tie).collect();
        Ok(BoundStage { stage: self, plan, memory, lanes: &mut state.lanes, tied })
    }
}

/// A stage tied to its inputs and outputs.
pub(crate) struct BoundStage<'m> {
    stage: &'m Stage,
    plan: Arc<SegmentPlan>,
    memory: Memory<'m>,
    lanes: &'m mut Vec<Lane>,
    /// The launches of all steps, if every step is one that only needs addresses.
    tied: Option<Vec<Tied>>,
}

impl BoundStage<'_> {
    pub(crate) fn run(&mut self) -> Result<()> {
        if let (Some(tied), Some(code)) = (&self.tied, &self.stage.code) {
            for (at, (tied, step)) in tied.iter().zip(&self.plan.steps).enumerate() {
                let _span = self.stage.traced(at).map(Traced::begin);
                if let StepPlan::Kernel(plan, Some(direct)) = step
                    && direct.run_tied(plan, code, tied, &mut self.memory)
                    && let Step::Kernel(kernel) = &self.stage.program.steps[at]
                {
                    return Err(self.stage.find_fault(kernel, &self.plan, &self.memory, None));
                }
            }
            return Ok(());
        }
        self.stage.run_segment(0, &self.plan, &mut self.memory, &mut None, self.lanes, None)
    }
}
