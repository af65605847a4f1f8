//! `Display` of a graph: typed, one line a node.

use std::fmt;

use super::{Graph, Inner, NodeIx};

impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.read().fmt_nodes(f)
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Inner {
    fn fmt_nodes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "graph {{")?;
        for index in 0..self.nodes.len() {
            writeln!(f, "  {}", self.node_line(NodeIx(index as u32)))?;
        }
        for record in self.table.guards() {
            writeln!(f, "  guard {}", record.guard)?;
        }
        write!(f, "}}")
    }

    /// `%2: f32[b, 10] = matmul(%0, %1, transpose_b=true)  // layer0/matmul_2, src/model.rs:41:18`.
    pub(crate) fn node_line(&self, index: NodeIx) -> String {
        let node = &self.nodes[index.at()];
        let mut line = String::new();
        for (position, value) in node.values().enumerate() {
            let info = &self.values[value.at()];
            let separator = if position == 0 { "" } else { ", " };
            line.push_str(&format!("{separator}{value}: {}{}", info.dtype, self.table.resolve_shape(&info.shape)));
        }
        line.push_str(&format!(" = {}(", node.op.name()));
        let mut separator = "";
        for operand in &node.operands {
            line.push_str(&format!("{separator}{operand}"));
            separator = ", ";
        }
        if let Some(tensor) = self.constants.get(&index)
            && tensor.len() <= 8
        {
            line.push_str(&format!("{separator}{}", tensor.elements_text(8)));
            separator = ", ";
        }
        if !node.attrs().is_empty() {
            line.push_str(&format!("{separator}{}", node.attrs()));
        }
        line.push(')');
        let name = self.node_name(index);
        line.push_str(&format!("  // {name}, {}", node.location));
        line
    }
}
