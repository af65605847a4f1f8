//! Dumps as DOT, the language of Graphviz.

use petgraph::dot::{Config, Dot};
use petgraph::visit::EdgeRef;

use super::snapshot::{NodeKind, NodeView};
use super::{Snapshot, palette};
use crate::graph::Graph;
use crate::graph::dataflow::{Dataflow, DataflowEdge, EdgeEnds, NodeId};

impl Graph {
    /// Returns the graph in DOT, the language of Graphviz: `dot -Tsvg` draws it.
    ///
    /// A node shows its op, the attributes that differ from the op's defaults, the dtypes and shapes of its outputs,
    /// and its name if it has one. An edge shows the position of the operand if the reader has several operands, and
    /// the value if the source has several outputs. Equal graphs give equal text.
    ///
    /// ```
    /// use shapeflow::{shape, DType, Graph};
    ///
    /// let g = Graph::new();
    /// let _ = g.input("x", DType::F32, shape!["b", 3])?.relu()?;
    /// assert!(g.to_dot().contains(r#"label="relu\nf32[b, 3]""#));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub fn to_dot(&self) -> String {
        self.snapshot().to_dot()
    }
}

impl Snapshot {
    /// Returns the graph of the stage in DOT, as [`Graph::to_dot`] does. The nodes of a kernel have the same color.
    pub fn to_dot(&self) -> String {
        let dataflow = Dataflow::new(self.nodes.len(), |node| {
            self.nodes[node].operands.iter().map(|operand| (operand.node, operand.output))
        });
        let edge = |_: &Dataflow, edge: DataflowEdge<'_>| {
            let label = self.edge_label(&edge);
            if label.is_empty() { String::new() } else { format!("label={}", quoted(&label)) }
        };
        let node = |_: &Dataflow, (id, ()): (NodeId, &())| {
            let node = &self.nodes[id.index()];
            let shape = if node.kind == NodeKind::Op { "box" } else { "ellipse" };
            let fill = node.kernel.map_or_else(String::new, |kernel| {
                format!("style=filled, fillcolor=\"{}\", ", palette::light(kernel))
            });
            let border = if node.error.is_some() { "color=\"#c5221f\", penwidth=2, " } else { "" };
            format!("shape={shape}, {fill}{border}label={}", quoted(&node.dot_label()))
        };
        let config = [Config::NodeNoLabel, Config::EdgeNoLabel];
        format!("{:?}", Dot::with_attr_getters(&dataflow, &config, &edge, &node))
    }

    /// Returns the label of an edge: the number of the operand, if the reader has several, and the name of the value,
    /// if the source has several outputs.
    fn edge_label(&self, edge: &DataflowEdge<'_>) -> String {
        let (source, target) = (&self.nodes[edge.source().index()], &self.nodes[edge.target().index()]);
        let EdgeEnds { output, operand } = *edge.weight();
        let operand = (target.operands.len() > 1).then(|| operand.to_string());
        let output = (source.outputs.len() > 1).then(|| source.outputs[output].name.clone());
        operand.into_iter().chain(output).collect::<Vec<_>>().join(" ")
    }
}

impl NodeView {
    fn dot_label(&self) -> String {
        let mut label = self.op.to_string();
        let attrs = self.attrs_text();
        if !attrs.is_empty() {
            label.push_str(&format!("({attrs})"));
        }
        for value in &self.outputs {
            label.push_str(&format!("\n{}", value.type_text()));
        }
        if self.named {
            label.push_str(&format!("\n{}", self.label));
        }
        if let Some(error) = &self.error {
            label.push_str(&format!("\nerror: {error}"));
        }
        label
    }
}

/// Quotes a text for DOT. A line break becomes `\n`.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use shapeflow_shape_fns::shape;

    use crate::{DType, Graph, Result};

    #[test]
    fn nodes_show_shapes_and_edges_show_operands() -> Result<()> {
        let g = Graph::new();
        let x = g.input("a \"quoted\" x", DType::F32, shape!["b", 4])?;
        let [low, high] = x.split::<2>(1)?;
        let y = (high - low).ok()?.named("difference");
        let _ = y.softmax(-1)?;
        assert_snapshot!(g.to_dot(), @r#"
        digraph {
            0 [ shape=ellipse, label="input\nf32[b, 4]\na \"quoted\" x"]
            1 [ shape=box, label="split(axis=1, num=2)\nf32[b, 2]\nf32[b, 2]"]
            2 [ shape=box, label="sub\nf32[b, 2]\ndifference"]
            3 [ shape=box, label="softmax\nf32[b, 2]"]
            0 -> 1 [ ]
            1 -> 2 [ label="0 %2"]
            1 -> 2 [ label="1 %1"]
            2 -> 3 [ ]
        }
        "#);
        assert_eq!(g.to_dot(), g.to_dot());
        Ok(())
    }

    #[test]
    fn nodes_show_attributes_with_other_values_than_the_default() -> Result<()> {
        let g = Graph::new();
        let x = g.input("x", DType::F32, [4, 4])?;
        let rows = g.constant([1])?;
        let _ = (x.gather(rows, 0)?, x.gather(rows, 1)?);
        let dot = g.to_dot();
        let labels: Vec<&str> = dot.lines().filter_map(|line| line.split("label=\"").nth(1)).collect();
        let gathers: Vec<&str> = labels.into_iter().filter(|label| label.starts_with("gather")).collect();
        assert_eq!(gathers, [r#"gather\nf32[1, 4]"]"#, r#"gather(axis=1)\nf32[4, 1]"]"#]);
        Ok(())
    }
}
