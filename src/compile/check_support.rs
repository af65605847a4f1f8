//! Refuses ops that this build cannot compute, and kernels with a dtype that kernels do not support.

use super::describe::locate;
use crate::error::{Phase, Result};
use crate::eval::{is_computed, uncomputed};
use crate::graph::{GraphData, NodeIx};
use crate::lower::kernel::Kernel;
use crate::lower::program::Program;

/// Checks that this build has the features that the ops of a graph need.
///
/// # Errors
/// The build lacks a feature. The error names the first op that needs it.
pub(super) fn check_features(graph: &GraphData) -> Result<()> {
    for (number, node) in graph.nodes.iter().enumerate() {
        if let Some(feature) = node.op.missing_feature() {
            return Err(locate(graph, NodeIx(number as u32), feature.error(Phase::Compile)));
        }
    }
    Ok(())
}

/// Checks that kernels support the dtype of every buffer of `kernel`.
///
/// # Errors
/// A buffer has a dtype that kernels do not support. The error names the first node with an operand or an output of
/// this dtype.
pub(super) fn check_dtypes(graph: &GraphData, program: &Program, kernel: &Kernel) -> Result<()> {
    let dtypes =
        kernel.reads.iter().chain(&kernel.writes).map(|buffer| program.buffers[buffer.index()].dtype);
    let Some(dtype) = dtypes.into_iter().find(|dtype| !is_computed(*dtype)) else { return Ok(()) };
    let nodes = kernel.fused.iter().map(|value| graph.values[value.index()].node);
    let has_dtype = |index: &NodeIx| {
        let node = &graph.nodes[index.index()];
        let mut values = node.operands.iter().copied().chain(node.values());
        values.any(|value| graph.values[value.index()].dtype == dtype)
    };
    let error = uncomputed(dtype, Phase::Compile);
    Err(match nodes.filter(has_dtype).min() {
        Some(index) => locate(graph, index, error),
        None => error,
    })
}
