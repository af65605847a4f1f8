//! [`RunState`]: what a thread keeps between runs.

use std::sync::Arc;

use crate::runtime::{RetainedMemory, SegmentPlan, Workspace};

/// What a thread keeps between runs. Runs of any program may use the state, one after the other.
#[derive(Default)]
pub(super) struct RunState {
    pub workspaces: Vec<Workspace>,
    pub retained: RetainedMemory,
    pub last: Option<LastPlan>,
}

/// The plan of the last run of a static program (a program whose plan depends on the sizes of the inputs only), with
/// the key by which a later run finds it.
pub(super) struct LastPlan {
    /// The number of the program, [`CompiledProgram::number`](crate::compile::CompiledProgram::number).
    pub program: u64,
    /// The sizes of all inputs, one after the other.
    pub sizes: Vec<usize>,
    pub plan: Arc<SegmentPlan>,
}

impl RunState {
    /// Frees everything that is kept between runs.
    pub(super) fn trim(&mut self) {
        *self = RunState::default();
    }
}
