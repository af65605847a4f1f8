//! `Display` of a graph: one line for each node, with dtypes and shapes. The graphs inside a node follow its line.

use std::fmt::{self, Write};

use shapeflow_shape_fns::{Attrs, Dim, Symbol};

use super::name_ties::origin_text;
use super::{DimNames, Graph, GraphData, MetRegions, Node, NodeIx, ValueIx};
use crate::dtype::type_text;
use crate::error::is_library_line;
use crate::op::{Body, OpDef};

impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.read().text())
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The column where comments start, unless the text of the node is longer.
const COMMENT_COLUMN: usize = 56;

/// The maximum number of elements of a constant that is shown with its elements.
const MAX_ELEMENTS: usize = 8;

/// The text that replaces the dtype and shape of the handle of a variable or a table.
pub(crate) const RESOURCE: &str = "resource";

impl GraphData {
    /// Returns the text of the graph.
    pub(crate) fn text(&self) -> String {
        let mut text = String::from("graph {\n");
        // Writing to a string does not fail.
        let _ = self.write_nodes(&mut text, "  ", &mut MetRegions::default());
        text + "}"
    }

    /// Writes the nodes and the guards, a line for each, and the graphs inside a node as blocks below its line. A graph
    /// that several nodes share stands below the first of them.
    fn write_nodes(&self, f: &mut String, indent: &str, met: &mut MetRegions) -> fmt::Result {
        let names = self.dim_names();
        let width = COMMENT_COLUMN.saturating_sub(indent.len() - 2);
        for number in 0..self.nodes.len() {
            let index = NodeIx(number as u32);
            let node = &self.nodes[number];
            let mut notes: Vec<String> = Vec::new();
            // The call of an input shows its name; the label of an unnamed node is its op, which the call shows.
            let label = self.node_label(index);
            if !matches!(node.op.body, Body::Input) && label != node.op.name() {
                notes.push(label);
            }
            // A node that was imported from a file has no source line.
            if !is_library_line(node.location) {
                notes.push(node.location.to_string());
            }
            match notes.is_empty() {
                true => writeln!(f, "{indent}{}", self.node_text(index, &names))?,
                false => {
                    writeln!(f, "{indent}{:width$}  // {}", self.node_text(index, &names), notes.join(", "))?
                }
            }
            if let Some(error) = self.refused.get(&index) {
                for line in error.message().lines() {
                    writeln!(f, "{indent}  // error: {line}")?;
                }
            }
            for region in self.regions(index) {
                if !met.is_new(region) {
                    writeln!(f, "{indent}  {}: see above", region.name)?;
                    continue;
                }
                let inner = format!("{indent}    ");
                writeln!(f, "{indent}  {} {{", region.name)?;
                region.graph.write_nodes(f, &inner, met)?;
                let outputs: Vec<String> = region.outputs.iter().map(ToString::to_string).collect();
                writeln!(f, "{inner}return {}", outputs.join(", "))?;
                writeln!(f, "{indent}  }}")?;
            }
        }
        // A tie with an exception (`or n == 0`) is a guard. The guards follow below.
        let ties = self.name_ties(&names).into_iter();
        for tie in ties.filter(|tie| tie.unless_zero.is_none()) {
            writeln!(f, "{indent}{:width$}  // {}", tie.text(), tie.origin())?;
        }
        for (guard, origin) in self.distinct_guards(&names, |_| true) {
            let (call, location) = self.call_at(origin);
            let guard = format!("guard {guard}");
            writeln!(f, "{indent}{guard:width$}  // {}", origin_text(&call, location))?;
        }
        Ok(())
    }

    /// Returns the text of a call: `transpose(f32[2, n], perm=[1, 0])`.
    pub(crate) fn call_text(&self, op: &OpDef, operands: &[ValueIx], attrs: &Attrs) -> String {
        let mut text = format!("{}(", op.stands_for(attrs).unwrap_or(op.name()));
        let type_of = |operand: &ValueIx| {
            let info = &self.values[operand.index()];
            type_text(info.dtype, &self.table.resolve_shape(&info.shape))
        };
        text.push_str(&arguments_text(op, operands, SHOWN_OPERANDS, type_of, op.attrs_text(attrs)));
        text.push(')');
        text
    }

    /// Returns the text of a call, with the names of the unknown dimensions, for an error. It leaves out the attributes
    /// that the message of the error contains.
    pub(crate) fn named_call_text(&self, op: &OpDef, operands: &[ValueIx], attrs: &Attrs) -> String {
        let attrs = op.attrs_not_in_message(attrs);
        self.dim_names().scope(|| self.call_text(op, operands, &attrs))
    }

    /// Returns the attributes of a node for a text. An unknown dimension is the one that shapes show: a later equality
    /// may have replaced the dimension that the call got.
    pub(crate) fn shown_attrs(&self, node: &Node) -> Attrs {
        let shown = |symbol: Symbol| symbol.is_anonymous().then(|| self.table.resolve(&Dim::from(symbol)));
        node.attrs().substitute(&mut |symbol| shown(symbol))
    }

    /// Returns the text of a node: `%2: f32[b, 10] = matmul(%0, %1, transpose_b=true)`.
    pub(crate) fn node_text(&self, index: NodeIx, names: &DimNames) -> String {
        let node = &self.nodes[index.index()];
        let mut text = String::new();
        for (position, value) in node.values().enumerate() {
            let info = &self.values[value.index()];
            let separator = if position == 0 { "" } else { ", " };
            let kind = match self.handles.contains(&value) {
                true => RESOURCE.to_string(),
                false => format!("{}{}", info.dtype, names.shape(&self.table.resolve_shape(&info.shape))),
            };
            text.push_str(&format!("{separator}{value}: {kind}"));
        }
        let mut arguments: Vec<String> = Vec::new();
        match self.constants.get(&index) {
            Some(tensor) if tensor.len() <= MAX_ELEMENTS => {
                arguments.push(tensor.elements_text(MAX_ELEMENTS))
            }
            Some(_) => arguments.push("…".to_string()),
            None => {}
        }
        if let (Body::Input, Some(name)) = (&node.op.body, node.own_name()) {
            arguments.push(format!("{name:?}"));
        }
        let attrs = names.scope(|| node.op.attrs_text(&self.shown_attrs(node)));
        if !attrs.is_empty() {
            arguments.push(attrs);
        }
        let name = node.op.stands_for(node.attrs()).unwrap_or(node.op.name());
        let shown = |operand: &ValueIx| operand.to_string();
        let arguments = arguments_text(&node.op, &node.operands, usize::MAX, shown, arguments.join(", "));
        text.push_str(&format!(" = {name}({arguments})"));
        text
    }
}

/// Returns the arguments of a call: the operands, as `text_of` gives them, and `others`. Captures have a list of their
/// own, because an operand may also be a capture. Operands beyond the first `limit` are only counted.
fn arguments_text(
    op: &OpDef,
    operands: &[ValueIx],
    limit: usize,
    text_of: impl Fn(&ValueIx) -> String,
    others: String,
) -> String {
    let listed = |values: &[ValueIx]| {
        let mut texts: Vec<String> = values.iter().take(limit).map(&text_of).collect();
        if let Some(more) = values.len().checked_sub(limit).filter(|more| *more > 0) {
            texts.push(format!("… {more} more"));
        }
        texts.join(", ")
    };
    let (own, captures) = operands.split_at(op.own_operands().min(operands.len()));
    let captures =
        if captures.is_empty() { String::new() } else { format!("captures=[{}]", listed(captures)) };
    let all = [listed(own), captures, others];
    all.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(", ")
}

/// The maximum number of operands, and of captures, whose types the text of a call shows.
const SHOWN_OPERANDS: usize = 8;

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use shapeflow_shape_fns::shape;

    use crate::{DType, Graph, Result};

    #[test]
    fn a_graph_shows_types_shapes_names_and_guards() -> Result<()> {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["batch", 4, ?])?;
        let w = g.constant(vec![0.0f32; 12])?.named("w");
        let scope = g.scope("layer");
        let rows = x.reshape([-1, 12])?;
        let _ = (rows * w).relu()?.named("activation");
        drop(scope);
        let [_, _] = rows.split::<2>(0)?;
        // The snapshot does not have the line numbers of this file.
        let text = g.to_string().replace(file!(), "here");
        let lines = text.lines().map(|line| match line.split_once("here:") {
            Some((before, _)) => format!("{before}here"),
            None => line.to_string(),
        });
        assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @r#"
        graph {
          %0: f32[batch, 4, x.2] = input("x")                       // here
          %1: f32[12] = constant(…)                                 // w, here
          %2: f32[floordiv(batch*x.2, 3), 12] = reshape(%0, shape=[-1, 12])  // layer/reshape, here
          %3: f32[floordiv(batch*x.2, 3), 12] = mul(%2, %1)         // layer/mul, here
          %4: f32[floordiv(batch*x.2, 3), 12] = relu(%3)            // layer/activation, here
          %5: f32[floordiv(batch*x.2, 6), 12], %6: f32[floordiv(batch*x.2, 6), 12] = split(%2, axis=0, num=2)  // here
          guard 3 divides batch*x.2                                 // layer/reshape, here
          guard 2 divides floordiv(batch*x.2, 3)                    // split, here
        }
        "#);
        Ok(())
    }
}
