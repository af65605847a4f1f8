//! [`SegmentPlan`]: how the steps of a segment run for one set of sizes. A segment is a range of steps that are planned
//! together.

use std::sync::Arc;

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

/// The sizes of the buffers of a segment.
#[derive(Default)]
pub(crate) struct SegmentSizes {
    /// The buffers, in ascending order; `None` for all buffers of the program.
    buffers: Option<Arc<[BufferIx]>>,
    /// For each of these buffers: its sizes, if they are known when the segment is planned.
    sizes: Vec<Option<BufferSizes>>,
}

impl SegmentSizes {
    /// Pairs buffers, in ascending order, with their sizes. `None` stands for all buffers of the program.
    pub(crate) fn new(buffers: Option<&Arc<[BufferIx]>>, sizes: Vec<Option<BufferSizes>>) -> SegmentSizes {
        debug_assert!(buffers.is_none_or(|buffers| buffers.len() == sizes.len()));
        SegmentSizes { buffers: buffers.cloned(), sizes }
    }

    /// Returns the sizes of a buffer; `None` for sizes that are not known, and for a buffer of another segment.
    pub(crate) fn get(&self, buffer: BufferIx) -> Option<&BufferSizes> {
        let position = match &self.buffers {
            None => buffer.index(),
            Some(buffers) => buffers.binary_search(&buffer).ok()?,
        };
        self.sizes[position].as_ref()
    }
}

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
    pub sizes: SegmentSizes,
    pub memory: SegmentMemory,
}

impl SegmentPlan {
    /// Returns the bytes that the plan takes. These bytes do not include packed operands.
    pub(super) fn bytes(&self) -> usize {
        // A `SmallVec` takes memory of its own only if it has spilled.
        let more = |spilled: bool, bytes: usize| if spilled { bytes } else { 0 };
        let strides = |strides: &SmallVec<[i64; 2]>| more(strides.spilled(), size_of_val(&strides[..]));
        let of_slot = |slot: &SlotPlan| size_of::<SlotPlan>() + strides(&slot.outer) + strides(&slot.loops);
        let of_box = |plan: &BoxPlan| {
            let slots: usize = plan.slots.iter().map(of_slot).sum();
            slots + size_of_val(&plan.scalars[..]) + strides(&plan.outer) + strides(&plan.loops)
        };
        let of_buffer = |sizes: &BufferSizes| more(sizes.spilled(), size_of_val(&sizes[..]));
        let spilled: usize = self.sizes.sizes.iter().flatten().map(of_buffer).sum();
        let steps = self.steps.iter().map(|step| {
            size_of::<StepPlan>()
                + match step {
                    StepPlan::Kernel(plan, prepared) => {
                        let boxes: usize = plan.boxes.iter().map(of_box).sum();
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
        size_of::<SegmentPlan>()
            + steps.sum::<usize>()
            + size_of_val(&self.sizes.sizes[..])
            + spilled
            + memory
    }

    pub(crate) fn sizes(&self, buffer: BufferIx) -> Option<&BufferSizes> {
        self.sizes.get(buffer)
    }
}
