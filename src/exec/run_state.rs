//! [`RunState`]: what a thread keeps between runs.

use std::sync::Arc;

use shapeflow_shape_fns::DType;
use smallvec::SmallVec;

use crate::runtime::{RetainedMemory, SegmentPlan, Workspace};
use crate::tensor::{TensorView, same_sizes};

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
    /// The dtype and the rank of each input.
    inputs: SmallVec<[(DType, usize); 4]>,
    /// The sizes of all inputs, one after the other.
    sizes: SmallVec<[usize; 8]>,
    pub plan: Arc<SegmentPlan>,
}

impl LastPlan {
    pub(super) fn new(program: u64, inputs: &[TensorView<'_>], plan: Arc<SegmentPlan>) -> LastPlan {
        LastPlan {
            program,
            inputs: inputs.iter().map(|view| (view.dtype(), view.sizes().len())).collect(),
            sizes: inputs.iter().flat_map(|view| view.sizes()).copied().collect(),
            plan,
        }
    }

    /// Returns whether the plan was made for inputs of these dtypes and sizes.
    pub(super) fn fits(&self, inputs: &[TensorView<'_>]) -> bool {
        let mut sizes = &self.sizes[..];
        self.inputs.len() == inputs.len()
            && self.inputs.iter().zip(inputs).all(|(&(dtype, rank), view)| {
                let (these, rest) = sizes.split_at(rank);
                sizes = rest;
                dtype == view.dtype() && same_sizes(these, view.sizes())
            })
    }
}

impl RunState {
    /// Frees everything that is kept between runs.
    pub(super) fn trim(&mut self) {
        *self = RunState::default();
    }
}
