//! `OpenRegion`: a part of a graph under construction, which becomes a graph of its own, a [`RegionGraph`].

use std::panic::Location;

use rustc_hash::FxHashSet;
use shapeflow_shape_fns::{DType, Dim, IntoDim, Symbol, TensorShape, Unknown};

use super::insert::Checkpoint;
use super::{Extra, Graph, GraphData, INPUT, Node, NodeIx, Value, ValueInfo, ValueIx};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::op::{BodyRegion, Control};

/// A graph inside a node of control flow: a branch, or the body or the condition of a loop. The inputs of the graph are
/// its parameters, then the values that it reads from the graph around it.
pub(crate) struct RegionGraph {
    /// The name in messages and dumps: `then`, `body`.
    pub name: String,
    pub graph: GraphData,
    pub outputs: Vec<ValueIx>,
}

/// A branch or a loop body while its nodes are added. The nodes lie at the end of the graph, so they may read any
/// value before them. Dropping the region removes these nodes, and all that they have added to the knowledge of
/// dimensions: a branch that a run does not take must constrain nothing.
pub(crate) struct OpenRegion<'g> {
    graph: &'g Graph,
    checkpoint: Option<Checkpoint>,
    scope: u32,
    /// The number of equalities of dims that were known before the region.
    equalities: usize,
}

/// The greatest depth of nested regions. The compiler recurses over regions, and its stack must suffice.
const MAX_NESTING: u32 = 64;

impl Graph {
    /// Opens a region. The nodes that are added before the region is dropped belong to the region. Regions nest.
    ///
    /// # Errors
    /// There are [`MAX_NESTING`] regions around this one.
    pub(crate) fn open_region(&self) -> Result<OpenRegion<'_>> {
        let mut data = self.write();
        if data.open_regions == MAX_NESTING {
            let message = format!("branches and loops must be nested at most {MAX_NESTING} deep");
            return Err(Error::new(ErrorKind::Attribute, Phase::Build, message));
        }
        data.open_regions += 1;
        let (checkpoint, scope) = (data.checkpoint(), data.scope);
        let equalities = data.table.equalities().len();
        drop(data);
        Ok(OpenRegion { graph: self, checkpoint: Some(checkpoint), scope, equalities })
    }
}

impl<'g> OpenRegion<'g> {
    /// Adds a parameter: a value that each run of the region gets from outside.
    pub(crate) fn parameter(
        &self,
        name: String,
        dtype: DType,
        shape: &TensorShape,
        location: &'static Location<'static>,
    ) -> Value<'g> {
        let mut data = self.graph.write();
        let node = data.nodes.len() as u32;
        data.table.set_origin(node);
        let shape = data.table.import(shape);
        let extra = Extra { name: Some(name), ..Extra::default() };
        let node = Node { extra: Some(Box::new(extra)), ..Node::leaf(&INPUT, location, data.scope) };
        let value = data.push(node, [(dtype, shape, None)]);
        drop(data);
        Value::new(self.graph, value)
    }

    /// Returns the first node of the region.
    pub(crate) fn first_node(&self) -> NodeIx {
        NodeIx(self.checkpoint().nodes as u32)
    }

    /// Returns the first value of the region.
    pub(crate) fn first_value(&self) -> ValueIx {
        ValueIx(self.checkpoint().values as u32)
    }

    fn checkpoint(&self) -> &Checkpoint {
        self.checkpoint.as_ref().expect("only the drop takes the checkpoint")
    }

    /// Returns the number of equalities of dims that were known before the region.
    pub(crate) fn equalities(&self) -> usize {
        self.equalities
    }

    /// Returns a shape of the region as it is known outside the region. A dimension that mentions a symbol of the
    /// region becomes unknown; equal dimensions become the same unknown.
    pub(crate) fn outer_shape(&self, shape: &TensorShape) -> TensorShape {
        let Some(dims) = shape.dims() else { return TensorShape::unranked() };
        let data = self.graph.read();
        let mut unknown: Vec<(Dim, Dim)> = Vec::new();
        TensorShape::new(dims.iter().map(|dim| {
            if self.is_known_outside(&data, dim) {
                return dim.clone();
            }
            if let Some((_, known)) = unknown.iter().find(|(other, _)| other == dim) {
                return known.clone();
            }
            let fresh = Unknown.into_dim();
            unknown.push((dim.clone(), fresh.clone()));
            fresh
        }))
    }

    /// Returns whether a dimension of `data`, the graph, mentions no symbol of the region.
    pub(crate) fn is_known_outside(&self, data: &GraphData, dim: &Dim) -> bool {
        let first_node = self.first_node();
        !mentions(dim, &|symbol| data.table.maker(symbol).is_some_and(|maker| maker >= first_node.0))
    }
}

fn mentions(dim: &Dim, is_inner: &dyn Fn(Symbol) -> bool) -> bool {
    let mut found = false;
    dim.symbols(&mut |symbol| found |= is_inner(symbol));
    found
}

impl Drop for OpenRegion<'_> {
    fn drop(&mut self) {
        let checkpoint = self.checkpoint.take().expect("a region is dropped once");
        let mut data = self.graph.write();
        let values = data.values.len();
        data.keep_names_of_region(checkpoint.nodes, checkpoint.values);
        data.rollback(checkpoint);
        // No later value gets the number of a value of the region, so that the graph recognizes a handle that the
        // program kept after the region.
        data.values.resize_with(values, ValueInfo::closed);
        data.scope = self.scope;
        data.open_regions -= 1;
    }
}

/// The regions that a walk over a graph and its regions has met. Several nodes may share a region.
#[derive(Default)]
pub(crate) struct MetRegions(FxHashSet<*const RegionGraph>);

impl MetRegions {
    /// Records a region. Returns whether the walk meets it for the first time.
    pub(crate) fn is_new(&mut self, region: &RegionGraph) -> bool {
        self.0.insert(region)
    }
}

/// Returns the graph of a region.
pub(crate) fn graph_of<'a>(region: &BodyRegion<'a>) -> &'a GraphData {
    region.graph.downcast_ref().expect("a region is a `GraphData`")
}

impl GraphData {
    /// Returns the graphs inside a node of control flow; none for other nodes.
    pub(crate) fn regions(&self, index: NodeIx) -> Vec<&RegionGraph> {
        let control = self.nodes[index.index()].op.control();
        let regions = control.map(Control::regions).unwrap_or_default();
        regions.into_iter().map(|region| region.downcast_ref().expect("regions are `RegionGraph`")).collect()
    }

    /// Calls `f` with this graph, and then with every graph inside its nodes, once for each graph.
    pub(super) fn for_each_graph(&self, f: &mut dyn FnMut(&GraphData)) {
        self.for_each_new_graph(&mut MetRegions::default(), f);
    }

    fn for_each_new_graph(&self, met: &mut MetRegions, f: &mut dyn FnMut(&GraphData)) {
        f(self);
        for index in 0..self.nodes.len() {
            for region in self.regions(NodeIx(index as u32)) {
                if met.is_new(region) {
                    region.graph.for_each_new_graph(met, f);
                }
            }
        }
    }
}

impl ValueInfo {
    /// Returns the entry that stands for a value whose region is closed.
    fn closed() -> ValueInfo {
        ValueInfo { node: CLOSED, dtype: DType::F32, shape: TensorShape::unranked(), elements: None }
    }

    /// Returns whether the value belonged to a region that is closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.node == CLOSED
    }
}

/// The node of a value whose region is closed.
const CLOSED: NodeIx = NodeIx(u32::MAX);
