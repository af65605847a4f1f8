//! [`ranked_dims`]: the dims of a value that a kernel computes.

use shapeflow_shape_fns::Dim;

use crate::graph::{GraphData, ValueIx};

/// Returns the dims of a value that a kernel computes, as they were inferred.
///
/// # Panics
/// The rank is unknown. A graph that is lowered has such values only as results of host kernels.
pub(super) fn ranked_dims(graph: &GraphData, value: ValueIx) -> &[Dim] {
    graph.values[value.index()].shape.dims().expect("a kernel computes only values of known rank")
}
