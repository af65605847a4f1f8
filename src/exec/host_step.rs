//! [`run_host_step`]: runs a host step, a step that computes one node outside kernels.

use shapeflow_shape_fns::{Dim, TensorShape};

use super::bindings::Bindings;
use super::buffer_view::buffer_view;
use super::guards::run_error;
use super::output_buffer::OutputBuffer;
use super::outputs::held_sizes;
use super::planning::undetermined;
use super::promises::check_promise;
use crate::compile::CompiledProgram;
use crate::error::Result;
use crate::eval::evaluate_into;
use crate::graph::NodeIx;
use crate::lower::kernel::BufferIx;
use crate::lower::program::Content;
use crate::op::{Cancel, HostOutput, HostThreads, NodePreparation, OutputAllocator};
use crate::runtime::{BufferSizes, Memory, SegmentPlan};
use crate::tensor::{BufferPool, TensorView, TensorViewMut};

/// The node of a host step, and the buffers of the node's operands.
#[derive(Clone, Copy)]
pub(super) struct HostStep<'a> {
    pub node: NodeIx,
    pub operands: &'a [BufferIx],
}

/// Runs a host step, whose results get the buffers `stored`. `allocator` gives memory to the results.
///
/// # Errors
/// The node fails, or nothing determines the sizes of an operand.
pub(super) fn run_host_step(
    compiled: &CompiledProgram,
    step: HostStep<'_>,
    stored: &[BufferIx],
    plan: &SegmentPlan,
    memory: &Memory<'_>,
    bindings: Option<&Bindings<'_>>,
    allocator: OutputAllocator<'_>,
) -> Result<Vec<HostOutput>> {
    let node = &compiled.graph.nodes[step.node.index()];
    let sizes: Vec<BufferSizes> = step
        .operands
        .iter()
        .map(|&buffer| {
            let known = held_sizes(compiled, buffer, memory).or_else(|| plan.sizes(buffer).cloned());
            let bound = || bindings?.sizes(&compiled.lowered.buffers[buffer.index()].dims);
            known.or_else(bound).ok_or_else(|| undetermined(compiled, buffer))
        })
        .collect::<Result<_>>()?;
    let views: Vec<TensorView<'_>> = step
        .operands
        .iter()
        .zip(&sizes)
        .map(|(buffer, sizes)| buffer_view(compiled, *buffer, sizes, memory))
        .collect::<Result<_>>()?;
    let attrs = node.attrs().substitute(&mut |symbol| bindings?.known(symbol));
    let check = |output: usize, inferred: &TensorShape| {
        let size = |axis: usize, dim: &Dim| match plan.sizes(stored[output]) {
            Some(sizes) => i64::try_from(sizes[axis]).ok(),
            None => bindings?.try_eval(dim),
        };
        check_promise(&compiled.graph, step.node, output, inferred, &size)
    };
    evaluate_into(&node.op, node.given_operands, &attrs, &views, &check, allocator)
        .map_err(|error| run_error(&compiled.graph, step.node, error))
}

/// Returns whether a buffer holds a constant of the graph.
pub(super) fn is_constant(compiled: &CompiledProgram, buffer: BufferIx) -> bool {
    let lowered = &compiled.lowered;
    matches!(lowered.contents[lowered.roots[buffer.index()].index()], Content::Constant(_))
}

/// Returns the allocator for the results of a node. A result that is an output of the run gets the caller's memory. A
/// result that is an alias of the first operand may share the memory of this operand. Any other result gets memory of
/// the pool.
pub(super) fn output_allocator<'s>(
    compiled: &CompiledProgram,
    step: HostStep<'_>,
    stored: &[BufferIx],
    pool: &'s BufferPool,
    outputs: Option<&'s mut [OutputBuffer<'_>]>,
    prepared: NodePreparation<'s>,
    threads: HostThreads<'s>,
) -> OutputAllocator<'s> {
    let mut lent: Vec<Option<TensorViewMut<'s>>> = stored.iter().map(|_| None).collect();
    for (number, output) in outputs.into_iter().flatten().enumerate() {
        let is_stored = |buffer: &BufferIx| compiled.output_of[buffer.index()] == Some(number);
        if let Some(index) = stored.iter().position(is_stored) {
            lent[index] = output.view();
        }
    }
    let owner = |buffer: Option<&BufferIx>| buffer.map(|buffer| compiled.lowered.roots[buffer.index()]);
    let may_share_input = !step.operands.is_empty() && owner(stored.first()) == owner(step.operands.first());
    let (pool, prepared) = (Some(pool), Some(prepared));
    OutputAllocator { pool, lent, prepared, threads, cancel: Cancel::default(), may_share_input }
}
