//! `ImportedValue` and `Built`: imported tensors and nodes, and the conditions that guard them.

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
    /// The conditions that guard every node that reads the value. The value itself stays a constant.
    pub pending: Checks,
    /// Whether a run that computes the value may fail.
    pub may_fail: bool,
    /// The resource that the tensor stands for, if it is a handle. The value of a handle has no meaning.
    pub resource: Option<Resource>,
}

impl<'g> ImportedValue<'g> {
    /// Returns a tensor that can be used, without conditions.
    pub(super) fn of(value: Value<'g>) -> ImportedValue<'g> {
        ImportedValue {
            value,
            has_known_dtype: true,
            blocking_error: None,
            checks: None,
            pending: None,
            may_fail: false,
            resource: None,
        }
    }

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
    /// The variables that the node writes. Their new values are the last of `outputs`, until the conditions guard them.
    pub written: Vec<Rc<str>>,
}

impl<'g> Built<'g> {
    /// Returns a node with these outputs, without checks and errors.
    pub(super) fn of(values: Vec<Value<'g>>) -> Built<'g> {
        Built { outputs: values.into_iter().map(ImportedValue::of).collect(), ..Built::default() }
    }
}

/// The conditions that must be met before a value is used, as indices into `Importer::conditions`.
pub(super) type Checks = Option<Rc<BTreeSet<usize>>>;

/// What must happen in a run before a value is used.
pub(super) enum Condition<'g> {
    /// The value must be true, as an `Assert` demands.
    Holds {
        value: Value<'g>,
        /// The start of the message of a run in which the value is false.
        message: String,
        /// The values that the message shows after its start.
        data: Vec<Value<'g>>,
        /// The text of the message that follows each of `data`.
        texts_after: Vec<String>,
    },
    /// The values must be computed. A run that cannot compute them fails.
    Computed(Vec<Value<'g>>),
    /// The variable must be written, which no run does. The error refuses the tensors that could show it.
    Written { variable: Rc<str>, error: Error },
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
