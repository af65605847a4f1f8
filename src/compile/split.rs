//! [`split`]: cuts a graph in two where some nodes must wait for the results of others.

use crate::error::Result;
use crate::graph::{Inner, ValueIx};
use crate::passes::{KnownInputs, rebuild, subgraph};

/// The source of an output of a graph that was split.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OutputSource {
    /// A result of the first part.
    First(usize),
    /// The next result of the second part: its results come in the order of the outputs.
    Second,
}

/// A graph in two parts. The first results of the first part are the inputs of the second.
pub(super) struct Split {
    pub first: Inner,
    pub first_outputs: Vec<ValueIx>,
    pub second: Inner,
    pub second_outputs: Vec<ValueIx>,
    /// For each output of the whole graph, its source.
    pub sources: Vec<OutputSource>,
}

/// Splits `inner`: the nodes for which `waits` holds go to the second part.
///
/// The first part computes the outputs that do not wait, and the values that waiting nodes read.
///
/// # Errors
/// Inference refuses a part.
pub(super) fn split(inner: &Inner, outputs: &[ValueIx], waits: &[bool]) -> Result<Split> {
    let waiting = |value: ValueIx| waits[inner.values[value.at()].node.at()];
    let mut made = frontier(inner, waits);
    let second = subgraph(inner, waits, &made)?;
    let mut late = Vec::new();
    let mut sources = Vec::with_capacity(outputs.len());
    for &output in outputs {
        sources.push(if waiting(output) {
            late.push(second.values[&output]);
            OutputSource::Second
        } else {
            OutputSource::First(made.iter().position(|value| *value == output).unwrap_or_else(|| {
                made.push(output);
                made.len() - 1
            }))
        });
    }
    // Both parts are rebuilt, so that each holds what its outputs need and no more.
    let second = rebuild(&second.inner, &late, &KnownInputs::default())?;
    let first = rebuild(inner, &made, &KnownInputs::default())?;
    Ok(Split {
        first_outputs: made.iter().map(|value| first.values[value]).collect(),
        first: first.inner,
        second_outputs: late.iter().map(|value| second.values[value]).collect(),
        second: second.inner,
        sources,
    })
}

/// Returns the values that waiting nodes read of the others, each once. Constants belong to both parts.
fn frontier(inner: &Inner, waits: &[bool]) -> Vec<ValueIx> {
    let mut found: Vec<ValueIx> = Vec::new();
    for (node, _) in inner.nodes.iter().zip(waits).filter(|(_, waits)| **waits) {
        for operand in &node.operands {
            let maker = inner.values[operand.at()].node;
            if !waits[maker.at()] && !inner.constants.contains_key(&maker) && !found.contains(operand) {
                found.push(*operand);
            }
        }
    }
    found
}
