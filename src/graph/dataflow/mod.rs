//! [`Dataflow`]: the nodes of a graph and the edges between them, with the visit traits of petgraph.

mod edges;
mod visit;

pub use edges::{Dataflow, DataflowEdge, EdgeEnds, NodeId};
#[cfg(feature = "petgraph")]
pub use edges::{DirectedEdges, Edges, Neighbors, NodeReferences, Nodes};
#[cfg(feature = "petgraph")]
pub use visit::VisitedNodes;
