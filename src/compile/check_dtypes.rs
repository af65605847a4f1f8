//! Refuses kernels with a dtype that the backend does not compute.

use super::describe::locate;
use crate::error::{Phase, Result};
use crate::eval::uncomputed;
use crate::expr::scalar_dtype;
use crate::graph::{GraphData, NodeIx};
use crate::lower::kernel::Kernel;
use crate::lower::program::Program;
use crate::lower::verify::has_lanes;

/// Checks that the backend computes the dtype of every buffer of a kernel. The backend is the interpreter if
/// `interprets`, and machine code otherwise.
///
/// # Errors
/// The backend does not compute the dtype of some buffer. The error names the first fused node with an operand or
/// result of this dtype.
pub(super) fn check_dtypes(
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
        Some(index) => locate(graph, index, error),
        None => error,
    })
}
