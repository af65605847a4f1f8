//! [`run_whole`]: runs a whole step: a step that computes all elements of one node by a loop of this crate, without a
//! kernel.

use super::guards::run_error;
use super::planning::undetermined;
use crate::compile::CompiledProgram;
use crate::error::Result;
use crate::graph::NodeIx;
use crate::lower::kernel::BufferIx;
use crate::op::{HostThreads, WholeFn, caught};
use crate::runtime::{Memory, SegmentPlan};
use crate::tensor::{TensorView, TensorViewMut};

/// The node of the step, its buffers, and its loop.
#[derive(Clone, Copy)]
pub(super) struct WholeStep {
    pub node: NodeIx,
    pub from: BufferIx,
    pub out: BufferIx,
    pub run: WholeFn,
}

/// Runs the step.
///
/// # Errors
/// Nothing determines the sizes of a buffer, or memory is refused.
pub(super) fn run_whole(
    compiled: &CompiledProgram,
    step: WholeStep,
    plan: &SegmentPlan,
    memory: &mut Memory<'_>,
    threads: HostThreads<'_>,
) -> Result<()> {
    let sizes = |buffer: BufferIx| plan.sizes(buffer).ok_or_else(|| undetermined(compiled, buffer));
    let dtype = |buffer: BufferIx| compiled.lowered.buffers[buffer.index()].dtype;
    let (from_sizes, out_sizes) = (sizes(step.from)?, sizes(step.out)?);
    let (from, out) = memory.bytes_to_read_and_write(step.from, step.out)?;
    let from = TensorView::from_bytes(dtype(step.from), from_sizes, from)?;
    let mut out = TensorViewMut::of_row(dtype(step.out), out_sizes, out);
    let node = &compiled.graph.nodes[step.node.index()];
    caught(node.op.name(), "loop", || (step.run)(node.attrs(), &from, &mut out, threads))
        .map_err(|error| run_error(&compiled.graph, step.node, error))
}
