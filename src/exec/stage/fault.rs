//! What a stage says when a run fails: which node, which element, which value.

use super::super::bindings::Bindings;
use super::super::segment::{SegmentPlan, Sizes};
use super::Stage;
use crate::error::{Error, ErrorKind, Phase, Result, is_own_line};
use crate::eval::{evaluate, uncomputed};
use crate::expr::scalar_dtype;
use crate::graph::{GraphData, NodeIx, ValueIx};
use crate::lower::kernel::{BufferIx, Kernel};
use crate::lower::program::Program;
use crate::lower::verify::has_lanes;
use crate::runtime::Memory;
use crate::tensor::{Tensor, TensorView};
use rustc_hash::FxHashMap;

impl Stage {
    pub(super) fn view<'a>(
        &self,
        buffer: BufferIx,
        sizes: &'a [usize],
        memory: &'a Memory<'_>,
    ) -> Result<TensorView<'a>> {
        let root = self.program.roots[buffer.index()];
        if let Some(tensor) = memory.held(root)
            && tensor.sizes() == sizes
        {
            // Strings have no bytes.
            return Ok(tensor.view());
        }
        TensorView::from_bytes(self.program.buffers[buffer.index()].dtype, sizes, memory.bytes(buffer))
    }

    /// Adds where a node was made.
    pub(super) fn locate(&self, index: NodeIx, error: Error) -> Error {
        located(&self.graph, index, error.with_phase(Phase::Run))
    }

    /// Computes a kernel's nodes one by one to name the element that failed.
    pub(super) fn find_fault(
        &self,
        kernel: &Kernel,
        plan: &SegmentPlan,
        memory: &Memory<'_>,
        bindings: Option<&Bindings>,
    ) -> Error {
        let mut made: FxHashMap<ValueIx, Tensor> = FxHashMap::default();
        for &value in &kernel.fused {
            let index = self.graph.values[value.at()].node;
            let node = &self.graph.nodes[index.at()];
            let mut operands: Vec<TensorView<'_>> = Vec::new();
            let sizes: Vec<Option<Sizes>> = node
                .operands
                .iter()
                .map(|operand| {
                    let buffer = self.program.buffer_of.get(operand)?;
                    plan.sizes(*buffer).cloned().or_else(|| self.sizes_of(*buffer, bindings?))
                })
                .collect();
            for (operand, sizes) in node.operands.iter().zip(&sizes) {
                if let Some(tensor) = made.get(operand) {
                    operands.push(tensor.view());
                } else if let (Some(sizes), Some(buffer)) = (sizes, self.program.buffer_of.get(operand))
                    && memory.has(*buffer)
                    && let Ok(view) = self.view(*buffer, sizes, memory)
                {
                    operands.push(view);
                } else if let Some(constant) = self.graph.constants.get(&self.graph.values[operand.at()].node)
                {
                    // A parameter that the kernel has built in needs no memory.
                    operands.push(constant.view());
                }
            }
            if operands.len() != node.operands.len() {
                continue;
            }
            let attrs = node.attrs().substitute(&mut |symbol| self.known(bindings, symbol));
            match evaluate(&node.op, node.given, &attrs, &operands) {
                Err(error) => return self.locate(index, error),
                Ok(tensors) => {
                    drop(operands);
                    made.extend(node.values().zip(tensors));
                }
            }
        }
        let roots: Vec<String> = kernel.roots.iter().map(|root| self.value_text(*root)).collect();
        Error::new(
            ErrorKind::Index,
            Phase::Run,
            format!("an index or divisor is out of range in {}", roots.join(", ")),
        )
    }

    pub(super) fn undetermined(&self, buffer: BufferIx) -> Error {
        let value = self.value_text(self.program.buffers[buffer.index()].value);
        Error::new(ErrorKind::Shape, Phase::Run, format!("nothing determines the sizes of {value}"))
    }

    /// `relu made at src/model.rs:3:1`.
    pub(crate) fn value_text(&self, value: ValueIx) -> String {
        let index = self.graph.values[value.at()].node;
        let node = &self.graph.nodes[index.at()];
        match is_own_line(node.location) {
            true => self.graph.node_label(index),
            false => format!("{} made at {}", self.graph.node_label(index), node.location),
        }
    }

    pub(crate) fn too_large(&self, buffer: BufferIx) -> Error {
        let value = self.value_text(self.program.buffers[buffer.index()].value);
        Error::new(
            ErrorKind::Memory,
            Phase::Run,
            format!("{value} does not fit into memory beside the others"),
        )
    }

    pub(crate) fn over_limit(
        &self,
        limit: usize,
        needed: usize,
        largest: Option<(BufferIx, usize)>,
    ) -> Error {
        let message =
            format!("the run must stay within the memory limit of {limit} bytes, but needs {needed}");
        let error = Error::new(ErrorKind::Memory, Phase::Run, message);
        match largest {
            Some((buffer, bytes)) => {
                let value = self.value_text(self.program.buffers[buffer.index()].value);
                error.note(format!("the largest value is {value} with {bytes} bytes"), None)
            }
            None => error,
        }
    }
}

/// Adds which node failed and where it was made.
fn located(graph: &GraphData, index: NodeIx, error: Error) -> Error {
    let node = &graph.nodes[index.at()];
    let call = graph.call_text(&node.op, &node.operands, node.attrs());
    let scopes = graph.scope_chain(node.scope);
    error.with_op(node.op.name(), call).with_node(graph.node_name(index)).at(node.location).in_scopes(scopes)
}

/// Refuses a kernel whose elements nothing computes, and names the first node that has them.
///
/// # Errors
/// The kernel reads or writes elements without a scalar, or machine code is wanted that does not take them.
pub(super) fn check_elements(
    graph: &GraphData,
    program: &Program,
    kernel: &Kernel,
    interprets: bool,
) -> Result<()> {
    let is_computed = if interprets { |dtype| scalar_dtype(dtype).is_some() } else { has_lanes };
    let dtypes =
        kernel.reads.iter().chain(&kernel.writes).map(|buffer| program.buffers[buffer.index()].dtype);
    let Some(dtype) = dtypes.into_iter().find(|dtype| !is_computed(*dtype)) else { return Ok(()) };
    let nodes = kernel.fused.iter().map(|value| graph.values[value.at()].node);
    let has_dtype = |index: &NodeIx| {
        let node = &graph.nodes[index.at()];
        let mut values = node.operands.iter().copied().chain(node.values());
        values.any(|value| graph.values[value.at()].dtype == dtype)
    };
    let error = uncomputed(dtype, Phase::Compile);
    Err(match nodes.filter(has_dtype).min() {
        Some(index) => located(graph, index, error),
        None => error,
    })
}
