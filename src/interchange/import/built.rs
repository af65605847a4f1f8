//! `ImportedValue` and `Built`: imported tensors and nodes, and the conditions of assertions that guard them.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::handle::Resource;
use crate::error::Error;
use crate::graph::Value;

/// A tensor of the model as a value of the graph.
#[derive(Clone)]
pub(super) struct ImportedValue<'g> {
    pub value: Value<'g>,
    /// Whether the dtype is known. The dtype of an output of an unknown op may be unknown; the value then has `f32`.
    pub has_known_dtype: bool,
    /// If the value cannot be used: the reason. Inference refused the node that makes the value, or a node that this
    /// node depends on.
    pub blocking_error: Option<Error>,
    /// The conditions that guard the value.
    pub checks: Checks,
    /// If the tensor is a handle: the resource that the tensor stands for. The value of a handle has no meaning.
    pub resource: Option<Resource>,
}

impl ImportedValue<'_> {
    /// Returns whether the tensor only stands for a resource. The variables of TensorFlow 1 also have a value.
    pub(super) fn is_handle(&self) -> bool {
        self.resource.is_some() && !self.has_known_dtype
    }
}

/// The result of importing a node.
#[derive(Clone, Default)]
pub(super) struct Built<'g> {
    pub outputs: Vec<ImportedValue<'g>>,
    /// The conditions that guard every node with a control input from this node.
    pub checks: Checks,
    /// If the outputs of the node cannot be used: the reason. Inference refused the node itself, or a node that the
    /// node depends on.
    pub blocking_error: Option<Error>,
    /// If inference refused this node: the reason.
    pub error: Option<Error>,
    /// Whether the node became an input of the graph.
    pub is_input: bool,
}

impl<'g> Built<'g> {
    /// Returns a node with these outputs, without checks and errors.
    pub(super) fn of(values: Vec<Value<'g>>) -> Built<'g> {
        let imported = |value| ImportedValue {
            value,
            has_known_dtype: true,
            blocking_error: None,
            checks: None,
            resource: None,
        };
        Built { outputs: values.into_iter().map(imported).collect(), ..Built::default() }
    }
}

/// The conditions that must hold before a value is used, as positions in `Importer::conditions`.
pub(super) type Checks = Option<Rc<BTreeSet<usize>>>;

/// The condition of an `Assert`, and the message of a run in which the condition is false.
pub(super) struct Condition<'g> {
    pub value: Value<'g>,
    /// The values that the run shows in place of each `{}` in the message.
    pub data: Vec<Value<'g>>,
    pub message: String,
}

/// Returns the union of two sets. If one set contains the other, the function returns a reference to the larger set and
/// no copy, so that the nodes of a chain share a single set.
pub(super) fn union(a: &Checks, b: &Checks) -> Checks {
    match (a, b) {
        (None, other) | (other, None) => other.clone(),
        (Some(x), Some(y)) if Rc::ptr_eq(x, y) || y.is_subset(x) => Some(x.clone()),
        (Some(x), Some(y)) if x.is_subset(y) => Some(y.clone()),
        (Some(x), Some(y)) => Some(Rc::new(x.union(y).copied().collect())),
    }
}
