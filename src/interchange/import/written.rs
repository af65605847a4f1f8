//! `Writes` and `State`: which variables nodes write, and the values that they have.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use shapeflow_shape_fns::TensorShape;

use super::built::ImportedValue;

/// Which variables the nodes of a model write.
#[derive(Clone, Default)]
pub(super) struct Writes {
    /// The variables, each with the shape that the model declares.
    pub variables: BTreeMap<Rc<str>, TensorShape>,
    /// The variables that a branch or a loop writes, by its name.
    pub in_regions: BTreeMap<String, BTreeSet<Rc<str>>>,
}

/// The values of variables that nodes write.
#[derive(Default)]
pub(super) struct State<'g> {
    /// The values after the nodes imported so far: of variables that are inputs, and of random generators.
    pub values: BTreeMap<Rc<str>, ImportedValue<'g>>,
    /// The known writes. `None` if the import follows random generators only.
    pub expected: Option<Writes>,
    /// The writes that were not known. They are known when the model is imported again.
    pub found: Writes,
    /// The names of the branches and loops that the import builds now, one inside the other.
    pub open_regions: Vec<String>,
    /// Whether the import builds the condition of a loop, which changes no variable.
    pub in_condition: bool,
    /// The shapes that the model declares for its variables.
    pub declared: BTreeMap<Rc<str>, TensorShape>,
}

impl State<'_> {
    /// Returns the shape that the model declares for a variable; unranked if it declares none.
    pub(super) fn declared_shape(&self, variable: &Rc<str>) -> TensorShape {
        self.declared.get(variable).cloned().unwrap_or(TensorShape::unranked())
    }

    /// Returns whether the import follows the values of all variables, and not only of random generators.
    pub(super) fn is_followed(&self) -> bool {
        self.expected.is_some()
    }
}
