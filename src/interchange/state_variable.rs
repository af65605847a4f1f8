//! `StateVariable`: a variable that a model writes, as an input and a result of the graph.

use crate::error::Result;
use crate::graph::{Value, ValueId};
use crate::tensor::Tensor;

/// A variable that is an input of the graph.
#[derive(Debug)]
pub(super) struct StateRecord {
    pub variable: String,
    /// The name of the input.
    pub input: String,
    /// The value in the checkpoint.
    pub initial: Tensor,
    /// The input.
    pub before: ValueId,
    /// The value after the run, or the reason why it cannot be computed.
    pub after: Result<ValueId>,
}

/// A variable that is an input of the graph, see [`ImportOptions::stateful`](super::ImportOptions::stateful) and
/// [`ImportOptions::variable_inputs`](super::ImportOptions::variable_inputs).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StateVariable<'a> {
    /// The name of the variable in the model.
    pub variable: &'a str,
    /// The name of the graph's input, which takes the value of the variable before the run. It is the name of the
    /// variable, unless another input has this name.
    pub input: &'a str,
    /// The value in the checkpoint, for the first run.
    pub initial: &'a Tensor,
    /// The value before the run: the input.
    pub before: Value<'a>,
    /// The value after the run; the input itself if the model only reads the variable.
    pub after: Value<'a>,
}

impl StateVariable<'_> {
    /// Returns whether the model writes the variable.
    pub fn is_written(&self) -> bool {
        self.before.id() != self.after.id()
    }
}

/// Returns the name of a variable for an input or an output of a graph, with an ending if the name is taken.
pub(super) fn free_name(variable: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let mut name = variable.to_string();
    while is_taken(&name) {
        name.push_str("/state");
    }
    name
}
