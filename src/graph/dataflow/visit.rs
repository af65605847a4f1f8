//! The visit traits of petgraph for a dataflow.

use petgraph::visit::{
    Data, EdgeCount, EdgeIndexable, EdgeRef, GraphBase, GraphProp, IntoEdgeReferences, IntoEdges,
    IntoEdgesDirected, IntoNeighbors, IntoNeighborsDirected, IntoNodeIdentifiers, IntoNodeReferences,
    NodeCompactIndexable, NodeCount, NodeIndexable, VisitMap, Visitable,
};
use petgraph::{Directed, Direction};

use super::edges::{
    Dataflow, DataflowEdge, DirectedEdges, EdgeEnds, Edges, Neighbors, NodeId, NodeReferences, Nodes,
};

impl<'a> EdgeRef for DataflowEdge<'a> {
    type NodeId = NodeId;
    type EdgeId = usize;
    type Weight = EdgeEnds;

    fn source(&self) -> NodeId {
        self.edge.source
    }

    fn target(&self) -> NodeId {
        self.edge.target
    }

    fn weight(&self) -> &EdgeEnds {
        &self.edge.ends
    }

    fn id(&self) -> usize {
        self.index
    }
}

impl GraphBase for Dataflow {
    type EdgeId = usize;
    type NodeId = NodeId;
}

impl GraphProp for Dataflow {
    type EdgeType = Directed;
}

impl Data for Dataflow {
    type NodeWeight = ();
    type EdgeWeight = EdgeEnds;
}

impl NodeCount for Dataflow {
    fn node_count(&self) -> usize {
        self.incoming_starts.len() - 1
    }
}

impl EdgeCount for Dataflow {
    fn edge_count(&self) -> usize {
        self.edges.len()
    }
}

impl NodeIndexable for Dataflow {
    fn node_bound(&self) -> usize {
        self.node_count()
    }

    fn to_index(&self, node: NodeId) -> usize {
        node.index()
    }

    fn from_index(&self, index: usize) -> NodeId {
        NodeId(index as u32)
    }
}

impl NodeCompactIndexable for Dataflow {}

impl EdgeIndexable for Dataflow {
    fn edge_bound(&self) -> usize {
        self.edges.len()
    }

    fn to_index(&self, edge: usize) -> usize {
        edge
    }

    fn from_index(&self, index: usize) -> usize {
        index
    }
}

/// The nodes that a visit has met.
#[derive(Clone, Debug, Default)]
pub struct VisitedNodes(Vec<bool>);

impl VisitMap<NodeId> for VisitedNodes {
    fn visit(&mut self, node: NodeId) -> bool {
        !std::mem::replace(&mut self.0[node.index()], true)
    }

    fn is_visited(&self, node: &NodeId) -> bool {
        self.0[node.index()]
    }

    fn unvisit(&mut self, node: NodeId) -> bool {
        std::mem::replace(&mut self.0[node.index()], false)
    }
}

impl Visitable for Dataflow {
    type Map = VisitedNodes;

    fn visit_map(&self) -> VisitedNodes {
        VisitedNodes(vec![false; self.node_count()])
    }

    fn reset_map(&self, map: &mut VisitedNodes) {
        map.0.clear();
        map.0.resize(self.node_count(), false);
    }
}

impl IntoNodeIdentifiers for &Dataflow {
    type NodeIdentifiers = Nodes;

    fn node_identifiers(self) -> Nodes {
        Nodes(0..self.node_count() as u32)
    }
}

impl IntoNodeReferences for &Dataflow {
    type NodeRef = (NodeId, &'static ());
    type NodeReferences = NodeReferences;

    fn node_references(self) -> NodeReferences {
        NodeReferences(self.node_identifiers())
    }
}

impl<'a> IntoEdgeReferences for &'a Dataflow {
    type EdgeRef = DataflowEdge<'a>;
    type EdgeReferences = Edges<'a>;

    fn edge_references(self) -> Edges<'a> {
        Edges { dataflow: self, range: 0..self.edges.len() }
    }
}

impl<'a> IntoNeighbors for &'a Dataflow {
    type Neighbors = Neighbors<'a>;

    fn neighbors(self, node: NodeId) -> Neighbors<'a> {
        Neighbors(self.directed(node, Direction::Outgoing))
    }
}

impl<'a> IntoNeighborsDirected for &'a Dataflow {
    type NeighborsDirected = Neighbors<'a>;

    fn neighbors_directed(self, node: NodeId, direction: Direction) -> Neighbors<'a> {
        Neighbors(self.directed(node, direction))
    }
}

impl<'a> IntoEdges for &'a Dataflow {
    type Edges = DirectedEdges<'a>;

    fn edges(self, node: NodeId) -> DirectedEdges<'a> {
        self.directed(node, Direction::Outgoing)
    }
}

impl<'a> IntoEdgesDirected for &'a Dataflow {
    type EdgesDirected = DirectedEdges<'a>;

    fn edges_directed(self, node: NodeId, direction: Direction) -> DirectedEdges<'a> {
        self.directed(node, direction)
    }
}

#[cfg(all(test, feature = "petgraph"))]
mod tests {
    use petgraph::algo::{has_path_connecting, is_cyclic_directed, toposort};
    use petgraph::visit::Reversed;
    use shapeflow_shape_fns::shape;

    use super::*;
    use crate::DType;
    use crate::error::Result;
    use crate::graph::Graph;

    #[test]
    fn algorithms_of_petgraph_run_on_a_graph() -> Result<()> {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["n", 4])?;
        let [low, high] = x.split::<2>(1)?;
        let y = (low + high).ok()?;
        let other = g.input("other", DType::F32, shape![2])?;
        let flow = g.dataflow();
        assert_eq!((flow.node_count(), flow.edge_count()), (4, 3));
        assert!(!is_cyclic_directed(&flow));
        let order: Vec<usize> = toposort(&flow, None).unwrap().into_iter().map(NodeId::index).collect();
        assert!(order.iter().position(|node| *node == 0) < order.iter().position(|node| *node == 2));
        assert!(has_path_connecting(&flow, x.node()?, y.node()?, None));
        assert!(has_path_connecting(Reversed(&flow), y.node()?, x.node()?, None));
        assert!(!has_path_connecting(&flow, other.node()?, y.node()?, None));
        // Both edges from the split to the sum are there, each with its ends.
        let ends: Vec<EdgeEnds> =
            flow.edges_directed(y.node()?, Direction::Incoming).map(|edge| *edge.weight()).collect();
        assert_eq!(ends, [EdgeEnds { output: 0, operand: 0 }, EdgeEnds { output: 1, operand: 1 }]);
        let readers: Vec<usize> = flow.neighbors(low.node()?).map(NodeId::index).collect();
        assert_eq!(readers, [2, 2]);
        let outputs = g.outputs_of(low.node()?)?;
        assert_eq!(outputs.iter().map(|value| value.id()).collect::<Vec<_>>(), [low.id(), high.id()]);
        Ok(())
    }
}
