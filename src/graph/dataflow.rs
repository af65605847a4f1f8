//! `Dataflow`: the nodes of a graph and the edges between them, with the visit traits of petgraph.

use petgraph::Directed;
use petgraph::visit::{
    Data, EdgeCount, EdgeIndexable, EdgeRef, GraphBase, GraphProp, IntoEdgeReferences, IntoEdges,
    IntoEdgesDirected, IntoNeighbors, IntoNeighborsDirected, IntoNodeIdentifiers, IntoNodeReferences,
    NodeCompactIndexable, NodeCount, NodeIndexable, Visitable,
};
use petgraph::{Direction, visit::VisitMap};

#[cfg(feature = "petgraph")]
use super::{Graph, GraphData, NodeIx, Value};
#[cfg(feature = "petgraph")]
use crate::error::{Error, ErrorKind, Phase, Result};

/// A node of a graph, by its number. Nodes are numbered in the order in which they were added, from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct NodeId(u32);

impl NodeId {
    /// Returns the number of the node.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The ends of an edge: an output of one node and an operand of another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EdgeEnds {
    /// The number of the output, counted from 0.
    pub output: usize,
    /// The position of the operand, counted from 0.
    pub operand: usize,
}

/// An edge of a [`Dataflow`]: `source` computes what `target` reads.
#[derive(Clone, Copy, Debug)]
pub struct DataflowEdge<'a> {
    index: usize,
    edge: &'a Edge,
}

#[derive(Clone, Copy, Debug)]
struct Edge {
    source: NodeId,
    target: NodeId,
    ends: EdgeEnds,
}

/// The dataflow of a graph as petgraph reads it: a node is an op, an edge leads from the op that computes a value to an op
/// that reads it. Edges are ordered by reader, then by operand.
///
/// `&Dataflow` has petgraph's visit traits, so that petgraph's algorithms run on it: `toposort`, `dominators`,
/// `has_path_connecting`, `Bfs`, `Dot` and so on. A `Dataflow` holds a copy of the edges, so it does not change with
/// the graph.
#[derive(Clone, Debug)]
pub struct Dataflow {
    edges: Vec<Edge>,
    /// `edges[incoming[n]..incoming[n + 1]]` are the operands of node `n`.
    incoming: Vec<u32>,
    /// The edges to the readers of node `n` are `readers[outgoing[n]..outgoing[n + 1]]`.
    outgoing: Vec<u32>,
    readers: Vec<u32>,
}

impl Dataflow {
    /// Makes the dataflow of nodes that are numbered from 0. `operands(n)` gives the source of each operand of node `n`:
    /// a node, and one of its outputs.
    pub(crate) fn new<I>(nodes: usize, operands: impl Fn(usize) -> I) -> Dataflow
    where
        I: IntoIterator<Item = (usize, usize)>,
    {
        let mut edges = Vec::new();
        let mut incoming = vec![0];
        let mut outgoing = vec![0u32; nodes + 1];
        for target in 0..nodes {
            for (operand, (source, output)) in operands(target).into_iter().enumerate() {
                outgoing[source + 1] += 1;
                let (source, target) = (NodeId(source as u32), NodeId(target as u32));
                edges.push(Edge { source, target, ends: EdgeEnds { output, operand } });
            }
            incoming.push(edges.len() as u32);
        }
        for node in 0..nodes {
            outgoing[node + 1] += outgoing[node];
        }
        let mut next = outgoing.clone();
        let mut readers = vec![0; edges.len()];
        for (index, edge) in edges.iter().enumerate() {
            let slot = &mut next[edge.source.index()];
            readers[*slot as usize] = index as u32;
            *slot += 1;
        }
        Dataflow { edges, incoming, outgoing, readers }
    }

    /// Makes the dataflow of a graph.
    #[cfg(feature = "petgraph")]
    fn of(graph: &GraphData) -> Dataflow {
        Dataflow::new(graph.nodes.len(), |node| {
            graph.nodes[node].operands.iter().map(|operand| {
                let source = graph.values[operand.at()].node;
                (source.at(), (operand.0 - graph.nodes[source.at()].first_output.0) as usize)
            })
        })
    }

    fn edge(&self, index: usize) -> DataflowEdge<'_> {
        DataflowEdge { index, edge: &self.edges[index] }
    }

    fn directed(&self, node: NodeId, direction: Direction) -> DirectedEdges<'_> {
        let range = |bounds: &[u32]| bounds[node.index()] as usize..bounds[node.index() + 1] as usize;
        match direction {
            Direction::Incoming => DirectedEdges { dataflow: self, direction, range: range(&self.incoming) },
            Direction::Outgoing => DirectedEdges { dataflow: self, direction, range: range(&self.outgoing) },
        }
    }
}

#[cfg(feature = "petgraph")]
impl Graph {
    /// Returns the dataflow of the graph, on which the algorithms of petgraph run.
    ///
    /// ```
    /// use petgraph::algo::dominators::simple_fast;
    /// use shapeflow::{DType, Graph, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n"])?;
    /// let y = x.exp()?;
    /// let z = (y * 2.0 + y).ok()?;
    /// let dominators = simple_fast(&g.dataflow(), x.node()?);
    /// assert_eq!(dominators.immediate_dominator(z.node()?), Some(y.node()?));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub fn dataflow(&self) -> Dataflow {
        Dataflow::of(&self.read())
    }

    /// Returns the outputs of a node.
    ///
    /// # Errors
    /// The graph has no such node.
    pub fn outputs_of(&self, node: NodeId) -> Result<Vec<Value<'_>>> {
        let data = self.read();
        let found = data.nodes.get(NodeIx(node.0).at()).ok_or_else(|| {
            let message = format!("the graph has {} nodes, got node {}", data.nodes.len(), node.0);
            Error::new(ErrorKind::ForeignValue, Phase::Build, message)
        })?;
        Ok(found.values().map(|value| Value::new(self, value)).collect())
    }
}

#[cfg(feature = "petgraph")]
impl Value<'_> {
    /// Returns the node that computes the value.
    ///
    /// # Errors
    /// The value is [poisoned](Value).
    pub fn node(self) -> Result<NodeId> {
        let index = self.index()?;
        Ok(NodeId(self.graph().read().values[index.at()].node.0))
    }
}

/// The edges of one node in one direction, in order.
#[derive(Clone, Debug)]
pub struct DirectedEdges<'a> {
    dataflow: &'a Dataflow,
    direction: Direction,
    range: std::ops::Range<usize>,
}

impl<'a> Iterator for DirectedEdges<'a> {
    type Item = DataflowEdge<'a>;

    fn next(&mut self) -> Option<DataflowEdge<'a>> {
        let position = self.range.next()?;
        let index = match self.direction {
            Direction::Incoming => position,
            Direction::Outgoing => self.dataflow.readers[position] as usize,
        };
        Some(self.dataflow.edge(index))
    }
}

/// The nodes at the other ends of the edges of one node, one for each edge.
#[derive(Clone, Debug)]
pub struct Neighbors<'a>(DirectedEdges<'a>);

impl Iterator for Neighbors<'_> {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        let direction = self.0.direction;
        self.0.next().map(|edge| match direction {
            Direction::Incoming => edge.source(),
            Direction::Outgoing => edge.target(),
        })
    }
}

/// All edges, in order.
#[derive(Clone, Debug)]
pub struct Edges<'a> {
    dataflow: &'a Dataflow,
    range: std::ops::Range<usize>,
}

impl<'a> Iterator for Edges<'a> {
    type Item = DataflowEdge<'a>;

    fn next(&mut self) -> Option<DataflowEdge<'a>> {
        self.range.next().map(|index| self.dataflow.edge(index))
    }
}

/// All nodes, in order.
#[derive(Clone, Debug)]
pub struct Nodes(std::ops::Range<u32>);

impl Iterator for Nodes {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        self.0.next().map(NodeId)
    }
}

/// All nodes, in order, each with an empty weight.
#[derive(Clone, Debug)]
pub struct NodeReferences(Nodes);

impl Iterator for NodeReferences {
    type Item = (NodeId, &'static ());

    fn next(&mut self) -> Option<(NodeId, &'static ())> {
        self.0.next().map(|node| (node, &()))
    }
}

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
        self.incoming.len() - 1
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
