//! [`split`]: cuts a graph in two where some nodes must wait for the results of others.

use shapeflow_shape_fns::DimTable;

use crate::error::Result;
use crate::graph::{GraphData, ValueIx, definer};
use crate::passes::{KnownInputs, carrier, rebuild, subgraph};

/// The source of an output of a graph that was split.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OutputSource {
    /// The result of the first part with this index.
    FirstPart(usize),
    /// The first result of the second part that is not the source of an earlier output.
    SecondPart,
}

/// A graph in two parts. If the second part has `k` inputs, they are the first `k` results of the first part.
pub(super) struct Split {
    pub first: GraphData,
    /// The results of the first part.
    pub first_outputs: Vec<ValueIx>,
    pub second: GraphData,
    /// The results of the second part.
    pub second_outputs: Vec<ValueIx>,
    /// For each output of the whole graph, its source.
    pub sources: Vec<OutputSource>,
}

/// Splits `graph`: the nodes for which `waits` holds go to the second part.
///
/// The first part computes the outputs that do not wait, and the values that waiting nodes read.
///
/// # Errors
/// Inference refuses a part.
pub(super) fn split(graph: &GraphData, outputs: &[ValueIx], mut waits: Vec<bool>) -> Result<Split> {
    mark_definers(graph, &graph.table, &mut waits);
    let waits = &waits[..];
    let waiting = |value: ValueIx| waits[graph.values[value.index()].node.index()];
    let mut made = frontier(graph, &graph.table, waits);
    let second = subgraph(graph, waits, &made, outputs, None)?;
    let mut late = Vec::new();
    let mut sources = Vec::with_capacity(outputs.len());
    for &output in outputs {
        sources.push(if waiting(output) {
            late.push(second.values[&output]);
            OutputSource::SecondPart
        } else {
            OutputSource::FirstPart(made.iter().position(|value| *value == output).unwrap_or_else(|| {
                made.push(output);
                made.len() - 1
            }))
        });
    }
    // Rebuilding a part drops the nodes that its outputs do not need.
    let second = rebuild(&second.graph, &late, &KnownInputs::default())?;
    let first = rebuild(graph, &made, &KnownInputs::default())?;
    Ok(Split {
        first_outputs: made.iter().map(|value| first.values[value]).collect(),
        first: first.graph,
        second_outputs: late.iter().map(|value| second.values[value]).collect(),
        second: second.graph,
        sources,
    })
}

/// Marks the nodes that define the symbols in the attributes of marked nodes. The definer of a symbol stays unmarked if
/// the sizes of a value of an unmarked node determine the symbol, because this value then becomes an input of the
/// marked part. Without such an input, the marked part itself computes the definer. `table` resolves the dims.
pub(crate) fn mark_definers(graph: &GraphData, table: &DimTable, marked: &mut [bool]) {
    for number in (0..graph.nodes.len()).rev() {
        if marked[number] {
            graph.nodes[number].attrs().symbols(&mut |symbol| {
                if let Some(definer) = definer(graph, symbol)
                    && definer.index() < number
                    && carrier(graph, marked, table, symbol).is_none()
                {
                    marked[definer.index()] = true;
                }
            });
        }
    }
}

/// Returns the inputs of the part of `graph` that waits, each once: the values of other nodes that waiting nodes read,
/// and the values whose sizes determine the symbols in attributes of waiting nodes. Constants are not inputs, because
/// they belong to both parts. `table` resolves the dims.
pub(crate) fn frontier(graph: &GraphData, table: &DimTable, waits: &[bool]) -> Vec<ValueIx> {
    let mut found: Vec<ValueIx> = Vec::new();
    for (node, _) in graph.nodes.iter().zip(waits).filter(|(_, waits)| **waits) {
        for operand in &node.operands {
            let maker = graph.values[operand.index()].node;
            if !waits[maker.index()] && !graph.constants.contains_key(&maker) && !found.contains(operand) {
                found.push(*operand);
            }
        }
        node.attrs().symbols(&mut |symbol| {
            found.extend(carrier(graph, waits, table, symbol).filter(|value| !found.contains(value)));
        });
    }
    found
}
