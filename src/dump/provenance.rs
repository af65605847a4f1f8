//! `Explainer`: explains the origins of a shape's dimensions in words.

use rustc_hash::FxHashMap;
use shapeflow_shape_fns::{Dim, Provenance, TensorShape};

use crate::error::is_library_line;
use crate::graph::{DimNames, GraphData, NodeIx};

/// Explains the dimensions of a graph. The type keeps the explanation of each dimension, for other shapes with this
/// dimension.
pub(crate) struct Explainer<'a> {
    graph: &'a GraphData,
    names: &'a DimNames,
    explained: FxHashMap<Dim, Vec<String>>,
}

/// Maximum number of lines for one dimension.
const LINES: usize = 12;

impl<'a> Explainer<'a> {
    pub(crate) fn new(graph: &'a GraphData, names: &'a DimNames) -> Explainer<'a> {
        Explainer { graph, names, explained: FxHashMap::default() }
    }

    /// Explains the unknown dimensions of a shape, one line for each step of the inference.
    pub(crate) fn lines(&mut self, shape: &TensorShape) -> Vec<String> {
        let (graph, names) = (self.graph, self.names);
        let mut unknown: Vec<(&Dim, Vec<String>)> = Vec::new();
        for (axis, dim) in shape.dims().unwrap_or_default().iter().enumerate() {
            match unknown.iter_mut().find(|(other, _)| *other == dim) {
                _ if dim.is_known() => {}
                Some((_, axes)) => axes.push(axis.to_string()),
                None => unknown.push((dim, vec![axis.to_string()])),
            }
        }
        let mut lines = Vec::new();
        for (dim, axes) in unknown {
            let steps = self.explained.entry(dim.clone()).or_insert_with(|| explain(graph, names, dim));
            let plural = if axes.len() > 1 { "axes" } else { "axis" };
            lines.extend(steps.iter().map(|line| format!("{plural} {}: {line}", axes.join(", "))));
        }
        lines
    }
}

/// Returns one line for each step by which inference found the dimension, at most [`LINES`].
fn explain(graph: &GraphData, names: &DimNames, dim: &Dim) -> Vec<String> {
    let steps = graph.table.explain(dim);
    let mut lines: Vec<String> = steps
        .iter()
        .take(LINES)
        .map(|step| match step {
            Provenance::Introduced(symbol, node) => {
                let dim = Dim::from(*symbol);
                let name = names.dim_text(&dim);
                match axis_of(graph, *node, &dim) {
                    Some(axis) => format!("{name} is axis {axis} of {}", node_at(graph, *node)),
                    None => format!("{name} comes from {}", node_at(graph, *node)),
                }
            }
            Provenance::Equated(equality) => {
                let [symbol, dim] =
                    [&Dim::from(equality.symbol), &equality.dim].map(|dim| names.dim_text(dim));
                format!("{symbol} = {dim} since {}", node_at(graph, equality.origin))
            }
        })
        .collect();
    if steps.len() > LINES {
        lines.push(format!("and {} more", steps.len() - LINES));
    }
    lines
}

/// Returns the first axis among the shapes of a node's outputs that has this dimension.
fn axis_of(graph: &GraphData, node: u32, dim: &Dim) -> Option<usize> {
    let values = graph.nodes.get(node as usize)?.values();
    values
        .flat_map(|value| graph.values[value.index()].shape.dims().unwrap_or_default().iter().enumerate())
        .find_map(|(axis, other)| (other == dim).then_some(axis))
}

/// Returns the label of a node, with the line of the program that made the node.
fn node_at(graph: &GraphData, node: u32) -> String {
    match graph.nodes.get(node as usize) {
        // A line of this library tells the reader nothing.
        Some(data) if is_library_line(data.location) => graph.node_label(NodeIx(node)),
        Some(data) => format!("{} at {}", graph.node_label(NodeIx(node)), data.location),
        None => "the graph".to_string(),
    }
}
