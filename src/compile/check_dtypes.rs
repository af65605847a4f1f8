//! Refuses kernels with a dtype that the backend does not compute.

use super::describe::locate;
use crate::error::{Phase, Result};
use crate::eval::{is_computed, uncomputed};
use crate::graph::{GraphData, NodeIx};
use crate::lower::kernel::Kernel;
use crate::lower::program::Program;

/// Checks that kernels compute the dtypes of every buffer of a kernel.
///
/// # Errors
/// Kernels have no elements of some dtype. The error names the first node that has it.
pub(super) fn check_dtypes(graph: &GraphData, program: &Program, kernel: &Kernel) -> Result<()> {
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
        Some(index) => locate(graph, index, error),
        None => error,
    })
}
