//! [`SegmentPlan`]: how the steps of a segment run for one set of sizes. A segment is a range of steps that are planned
//! together.

use smallvec::SmallVec;

use super::matmul::MatMul;
use super::prepared_launch::PreparedLaunch;
use super::segment_memory::SegmentMemory;
use crate::lower::box_plan::BoxPlan;
use crate::lower::kernel::BufferIx;
use crate::lower::plan::KernelPlan;
use crate::lower::slot_plan::SlotPlan;

/// The sizes of a buffer.
pub(crate) type BufferSizes = SmallVec<[usize; 4]>;

/// How one step runs.
pub(crate) enum StepPlan {
    /// A kernel, with its prepared launch if it needs a single call.
    Kernel(Box<KernelPlan>, Option<PreparedLaunch>),
    MatMul(MatMul),
    /// A loop of this crate that computes one node, without a kernel.
    Whole,
    /// A host step: it computes one node outside kernels, and allocates the results when it runs.
    Node,
}

impl StepPlan {
    /// Returns the plan of the kernel and its prepared launch, if the step is a kernel with a prepared launch.
    pub(crate) fn prepared(&self) -> Option<(&KernelPlan, &PreparedLaunch)> {
        match self {
            StepPlan::Kernel(plan, prepared) => Some((plan, prepared.as_ref()?)),
            StepPlan::MatMul(_) | StepPlan::Whole | StepPlan::Node => None,
        }
    }
}

/// The plan of a segment: the plans of its steps, and where the buffers that the steps store lie in memory.
pub(crate) struct SegmentPlan {
    pub steps: Vec<StepPlan>,
    /// For each buffer of the program: its sizes, if they are known when the segment is planned.
    pub sizes: Vec<Option<BufferSizes>>,
    pub memory: SegmentMemory,
}

impl SegmentPlan {
    /// Returns the bytes that the plan takes. These bytes do not include packed operands.
    pub(super) fn bytes(&self) -> usize {
        let of_box =
            |plan: &BoxPlan| plan.slots.len() * size_of::<SlotPlan>() + plan.scalars.len() * size_of::<i64>();
        let steps = self.steps.iter().map(|step| {
            size_of::<StepPlan>()
                + match step {
                    StepPlan::Kernel(plan, prepared) => {
                        let boxes: usize = plan.boxes.iter().map(of_box).sum();
                        // A `SmallVec` takes memory of its own only if it has spilled.
                        let more = |spilled: bool, bytes: usize| if spilled { bytes } else { 0 };
                        size_of::<KernelPlan>()
                            + boxes
                            + more(plan.boxes.spilled(), size_of_val(&plan.boxes[..]))
                            + more(plan.buffers.spilled(), size_of_val(&plan.buffers[..]))
                            + prepared.as_ref().map_or(0, PreparedLaunch::bytes)
                    }
                    StepPlan::MatMul(matmul) => size_of_val(&matmul.batch[..]),
                    StepPlan::Whole | StepPlan::Node => 0,
                }
        });
        let SegmentMemory { placed, outlive_segment, shared, .. } = &self.memory;
        let memory = size_of_val(&placed[..]) + size_of_val(&outlive_segment[..]) + size_of_val(&shared[..]);
        size_of::<SegmentPlan>() + steps.sum::<usize>() + size_of_val(&self.sizes[..]) + memory
    }

    pub(crate) fn sizes(&self, buffer: BufferIx) -> Option<&BufferSizes> {
        self.sizes[buffer.index()].as_ref()
    }
}
