//! `ImportedValue` and `Built`: what the tensors and nodes of a model become, and the checks that guard them.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::error::Error;
use crate::graph::Value;

/// A tensor of the model as a value of the graph.
#[derive(Clone)]
pub(super) struct ImportedValue<'g> {
    pub value: Value<'g>,
    /// Whether the dtype is known.
    pub typed: bool,
    /// The reason why the value does not exist: inference refused a node that it depends on.
    pub blocking_error: Option<Error>,
    /// The conditions under which the value may be used.
    pub checks: Checks,
}

/// The result of importing a node.
#[derive(Clone, Default)]
pub(super) struct Built<'g> {
    pub outputs: Vec<ImportedValue<'g>>,
    /// The conditions of every node that runs after this one.
    pub checks: Checks,
    /// The reason why the node's outputs do not exist: inference refused it or a node that it depends on.
    pub blocking_error: Option<Error>,
    /// Why inference refused this node.
    pub error: Option<Error>,
    pub is_input: bool,
}

impl<'g> Built<'g> {
    /// Returns a node with these outputs, without checks and errors.
    pub(super) fn of(values: Vec<Value<'g>>) -> Built<'g> {
        let imported = |value| ImportedValue { value, typed: true, blocking_error: None, checks: None };
        Built { outputs: values.into_iter().map(imported).collect(), ..Built::default() }
    }
}

/// Conditions that must hold before a value is used: positions in the importer's list.
pub(super) type Checks = Option<Rc<BTreeSet<usize>>>;

/// The condition of an `Assert`, and what a run reports when it is false.
pub(super) struct Condition<'g> {
    pub value: Value<'g>,
    pub data: Vec<Value<'g>>,
    pub message: String,
}

/// Returns the union of both sets. If one set contains the other, the larger set is shared, so that a chain of nodes
/// keeps a single set.
pub(super) fn union(a: &Checks, b: &Checks) -> Checks {
    match (a, b) {
        (None, other) | (other, None) => other.clone(),
        (Some(x), Some(y)) if Rc::ptr_eq(x, y) || y.is_subset(x) => Some(x.clone()),
        (Some(x), Some(y)) if x.is_subset(y) => Some(y.clone()),
        (Some(x), Some(y)) => Some(Rc::new(x.union(y).copied().collect())),
    }
}
