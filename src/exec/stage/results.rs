//! Running single nodes, and handing out results.

use super::super::bindings::Bindings;
use super::super::segment::{SegmentPlan, Sizes};
use super::{Sink, Sinks, Stage};
use crate::error::Result;
use crate::eval::evaluate_into;
use crate::graph::NodeIx;
use crate::lower::kernel::BufferIx;
use crate::lower::program::Content;
use crate::op::{Made, Room};
use crate::runtime::Memory;
use crate::tensor::{Tensor, TensorView, TensorViewMut};

impl Stage {
    /// Runs one node by itself.
    pub(super) fn run_node(
        &self,
        index: NodeIx,
        operands: &[BufferIx],
        plan: &SegmentPlan,
        memory: &Memory<'_>,
        bindings: Option<&Bindings>,
        room: Room<'_>,
    ) -> Result<Vec<Made>> {
        let node = &self.graph.nodes[index.at()];
        let sizes: Vec<Sizes> = operands
            .iter()
            .map(|buffer| {
                let held = memory
                    .held(self.program.roots[buffer.index()])
                    .filter(|_| self.program.roots[buffer.index()] == *buffer);
                let known = held.map(|tensor| Sizes::from_slice(tensor.sizes()));
                let known = known.or_else(|| plan.sizes(*buffer).cloned());
                known.or_else(|| self.sizes_of(*buffer, bindings?)).ok_or_else(|| self.undetermined(*buffer))
            })
            .collect::<Result<_>>()?;
        let views: Vec<TensorView<'_>> = operands
            .iter()
            .zip(&sizes)
            .map(|(buffer, sizes)| self.view(*buffer, sizes, memory))
            .collect::<Result<_>>()?;
        let attrs = node.attrs().substitute(&mut |symbol| self.known(bindings, symbol));
        evaluate_into(&node.op, node.given, &attrs, &views, room).map_err(|error| self.locate(index, error))
    }

    /// The memory of the caller for a buffer, if it is a result.
    pub(super) fn sink_of<'s, 'm>(
        &self,
        buffer: BufferIx,
        sinks: &'s mut Option<Sinks<'m>>,
    ) -> Option<&'s mut Sink<'m>> {
        sinks.as_mut()?.get_mut(self.output_of[buffer.index()]?)
    }

    /// Where buffers that a node makes may go.
    pub(super) fn room<'s>(&'s self, buffers: &[BufferIx], sinks: &'s mut Option<Sinks<'_>>) -> Room<'s> {
        let mut lent: Vec<Option<TensorViewMut<'s>>> = buffers.iter().map(|_| None).collect();
        for (number, sink) in sinks.iter_mut().flatten().enumerate() {
            if let Some(at) = buffers.iter().position(|buffer| self.output_of[buffer.index()] == Some(number))
            {
                lent[at] = sink.view();
            }
        }
        Room { pool: Some(&self.buffer_pool), lent }
    }

    /// Hands out the results.
    pub(super) fn collect(
        &self,
        sizes: &dyn Fn(BufferIx) -> Option<Sizes>,
        sinks: &mut Option<Sinks<'_>>,
        memory: &mut Memory<'_>,
    ) -> Result<Vec<Tensor>> {
        let mut results: Vec<Tensor> =
            if sinks.is_some() { Vec::new() } else { Vec::with_capacity(self.program.outputs.len()) };
        for (number, &buffer) in self.program.outputs.iter().enumerate() {
            let root = self.program.roots[buffer.index()];
            if let Some(sinks) = sinks.as_ref()
                && sinks[number].bytes.is_none()
            {
                // A kernel has written it where it belongs, after its sizes were compared.
                continue;
            }
            let held =
                memory.held(root).filter(|_| root == buffer).map(|tensor| Sizes::from_slice(tensor.sizes()));
            let wanted = held.or_else(|| sizes(buffer)).ok_or_else(|| self.undetermined(buffer))?;
            if let Some(sinks) = sinks.as_mut() {
                let sink = &mut sinks[number];
                let dtype = self.program.buffers[buffer.index()].dtype;
                sink.check(number, dtype, &wanted)?;
                if let Some(bytes) = sink.bytes.take() {
                    bytes.copy_from_slice(&memory.bytes(buffer)[..bytes.len()]);
                }
                continue;
            }
            let earlier = self.first_of_root[number];
            if earlier < number {
                let tensor = &results[earlier];
                results.push(tensor.reshape(&wanted)?);
                continue;
            }
            let tensor = match memory.held(root) {
                Some(_) if self.program.contents[root.index()] == Content::Computed => memory.take(root),
                Some(constant) => Some(constant.clone()),
                None => match self.program.contents[root.index()] {
                    Content::Constant(node) => self.graph.constants.get(&node).cloned(),
                    _ => None,
                },
            };
            let tensor = match tensor {
                Some(tensor) => tensor,
                None => self.view(buffer, &wanted, memory)?.to_tensor()?,
            };
            results.push(if tensor.sizes() == &wanted[..] { tensor } else { tensor.reshape(&wanted)? });
        }
        Ok(results)
    }

    /// The sizes of the results, as far as sizes of inputs determine them.
    pub(crate) fn output_sizes(&self, bindings: &Bindings) -> Vec<Option<Sizes>> {
        self.program.outputs.iter().map(|buffer| self.sizes_of(*buffer, bindings)).collect()
    }

    pub(super) fn sizes_of(&self, buffer: BufferIx, bindings: &Bindings) -> Option<Sizes> {
        let dims = &self.program.buffers[buffer.index()].dims;
        dims.iter().map(|dim| usize::try_from(bindings.try_eval(&self.graph.table, dim)?).ok()).collect()
    }
}
