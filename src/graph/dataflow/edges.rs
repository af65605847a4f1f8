//! The nodes and the edges of a dataflow, and iterators over them.

use petgraph::Direction;
#[cfg(feature = "petgraph")]
use shapeflow_shape_fns::counted;

#[cfg(feature = "petgraph")]
use crate::error::{Error, ErrorKind, Phase, Result};
#[cfg(feature = "petgraph")]
use crate::graph::{Graph, GraphData, NodeIx, Value};

/// A node of a graph, by its number. Nodes are numbered in the order in which they were added, from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct NodeId(pub(super) u32);

impl NodeId {
    /// Returns the number of the node.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The ends of an edge, by number: an output of its source node and an operand of its target node.
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
    pub(super) index: usize,
    pub(super) edge: &'a Edge,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub source: NodeId,
    pub target: NodeId,
    pub ends: EdgeEnds,
}

/// The dataflow of a graph as petgraph reads it. A node is an op. An edge leads from the op that computes a value to an
/// op that reads the value. Edges are ordered by reader, then by operand.
///
/// `&Dataflow` has petgraph's visit traits, so that petgraph's algorithms run on it: `toposort`, `dominators`,
/// `has_path_connecting`, `Bfs`, `Dot` and so on. A `Dataflow` holds a copy of the edges, because a borrow would
/// lock the graph: no op could be added while an algorithm runs.
#[derive(Clone, Debug)]
pub struct Dataflow {
    pub(super) edges: Vec<Edge>,
    /// `edges[incoming_starts[n]..incoming_starts[n + 1]]` are the edges to the operands of node `n`.
    pub(super) incoming_starts: Vec<u32>,
    /// `outgoing_edges[outgoing_starts[n]..outgoing_starts[n + 1]]` are the edges from node `n` to its readers.
    outgoing_starts: Vec<u32>,
    /// Indices in `edges`, grouped by the source of the edge.
    outgoing_edges: Vec<u32>,
}

impl Dataflow {
    /// Makes the dataflow of nodes that are numbered from 0. `operands(n)` gives the source of each operand of node
    /// `n`: a node, and one of its outputs.
    pub(crate) fn new<I>(nodes: usize, operands: impl Fn(usize) -> I) -> Dataflow
    where
        I: IntoIterator<Item = (usize, usize)>,
    {
        let mut edges = Vec::new();
        let mut incoming_starts = vec![0];
        let mut outgoing_starts = vec![0u32; nodes + 1];
        for target in 0..nodes {
            for (operand, (source, output)) in operands(target).into_iter().enumerate() {
                outgoing_starts[source + 1] += 1;
                let (source, target) = (NodeId(source as u32), NodeId(target as u32));
                edges.push(Edge { source, target, ends: EdgeEnds { output, operand } });
            }
            incoming_starts.push(edges.len() as u32);
        }
        for node in 0..nodes {
            outgoing_starts[node + 1] += outgoing_starts[node];
        }
        let mut next = outgoing_starts.clone();
        let mut outgoing_edges = vec![0; edges.len()];
        for (index, edge) in edges.iter().enumerate() {
            let slot = &mut next[edge.source.index()];
            outgoing_edges[*slot as usize] = index as u32;
            *slot += 1;
        }
        Dataflow { edges, incoming_starts, outgoing_starts, outgoing_edges }
    }

    /// Makes the dataflow of a graph.
    #[cfg(feature = "petgraph")]
    fn of(graph: &GraphData) -> Dataflow {
        Dataflow::new(graph.nodes.len(), |node| {
            graph.nodes[node].operands.iter().map(|operand| {
                let source = graph.values[operand.index()].node;
                (source.index(), (operand.0 - graph.nodes[source.index()].first_output.0) as usize)
            })
        })
    }

    fn edge(&self, index: usize) -> DataflowEdge<'_> {
        DataflowEdge { index, edge: &self.edges[index] }
    }

    pub(super) fn directed(&self, node: NodeId, direction: Direction) -> DirectedEdges<'_> {
        let range = |bounds: &[u32]| bounds[node.index()] as usize..bounds[node.index() + 1] as usize;
        match direction {
            Direction::Incoming => {
                DirectedEdges { dataflow: self, direction, range: range(&self.incoming_starts) }
            }
            Direction::Outgoing => {
                DirectedEdges { dataflow: self, direction, range: range(&self.outgoing_starts) }
            }
        }
    }
}

#[cfg(feature = "petgraph")]
impl Graph {
    /// Returns the dataflow of the graph, on which the algorithms of the crate petgraph run (feature `petgraph`).
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

    /// Returns the outputs of a node of [`Graph::dataflow`] (feature `petgraph`).
    ///
    /// # Errors
    /// The graph has no such node.
    pub fn outputs_of(&self, node: NodeId) -> Result<Vec<Value<'_>>> {
        let data = self.read();
        let found = data.nodes.get(NodeIx(node.0).index()).ok_or_else(|| {
            let message = format!("the graph has {}, got node {}", counted(data.nodes.len(), "node"), node.0);
            Error::new(ErrorKind::ForeignValue, Phase::Build, message)
        })?;
        Ok(found.values().map(|value| Value::new(self, value)).collect())
    }
}

#[cfg(feature = "petgraph")]
impl Value<'_> {
    /// Returns the node of [`Graph::dataflow`] that computes the value (feature `petgraph`).
    ///
    /// # Errors
    /// The value is [poisoned](Value).
    pub fn node(self) -> Result<NodeId> {
        let index = self.index()?;
        Ok(NodeId(self.graph().read().values[index.index()].node.0))
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
            Direction::Outgoing => self.dataflow.outgoing_edges[position] as usize,
        };
        Some(self.dataflow.edge(index))
    }
}

/// The nodes at the other ends of the edges of one node, one for each edge.
#[derive(Clone, Debug)]
pub struct Neighbors<'a>(pub(super) DirectedEdges<'a>);

impl Iterator for Neighbors<'_> {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        let direction = self.0.direction;
        self.0.next().map(|edge| match direction {
            Direction::Incoming => edge.edge.source,
            Direction::Outgoing => edge.edge.target,
        })
    }
}

/// All edges, in order.
#[derive(Clone, Debug)]
pub struct Edges<'a> {
    pub(super) dataflow: &'a Dataflow,
    pub(super) range: std::ops::Range<usize>,
}

impl<'a> Iterator for Edges<'a> {
    type Item = DataflowEdge<'a>;

    fn next(&mut self) -> Option<DataflowEdge<'a>> {
        self.range.next().map(|index| self.dataflow.edge(index))
    }
}

/// All nodes, in order.
#[derive(Clone, Debug)]
pub struct Nodes(pub(super) std::ops::Range<u32>);

impl Iterator for Nodes {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        self.0.next().map(NodeId)
    }
}

/// All nodes, in order, each with an empty weight.
#[derive(Clone, Debug)]
pub struct NodeReferences(pub(super) Nodes);

impl Iterator for NodeReferences {
    type Item = (NodeId, &'static ());

    fn next(&mut self) -> Option<(NodeId, &'static ())> {
        self.0.next().map(|node| (node, &()))
    }
}
