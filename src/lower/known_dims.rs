//! [`known_dims`]: the dims of a value whose rank is known.

use shapeflow_shape_fns::Dim;

use crate::graph::{GraphData, ValueIx};

/// Returns the dims of a value, as they were inferred.
///
/// # Panics
/// The rank is unknown. `exec` lowers only graphs in which every rank is known.
pub(super) fn known_dims(graph: &GraphData, value: ValueIx) -> &[Dim] {
    graph.values[value.at()].shape.dims().expect("every rank is known in a graph that is lowered")
}
