//! [`Dataflow`]: the nodes of a graph and the edges between them, with the visit traits of petgraph.

mod edges;
mod visit;

pub use edges::{
    Dataflow, DataflowEdge, DirectedEdges, EdgeEnds, Edges, Neighbors, NodeId, NodeReferences, Nodes,
};
pub use visit::VisitedNodes;
