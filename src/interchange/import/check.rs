//! Checks that hold at run time: what `Assert` becomes.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::{Importer, Slot};
use crate::error::Result;
use crate::graph::Value;
use crate::ops::array::checked;

/// Conditions that must hold before something is used, by number.
pub(super) type Checks = Option<Rc<BTreeSet<usize>>>;

/// A condition of the model, and what is shown when it does not hold.
pub(super) struct Condition<'g> {
    pub value: Value<'g>,
    pub data: Vec<Value<'g>>,
    pub message: String,
}

/// Both sets. A set that holds the other is shared, so that a chain of nodes has one.
pub(super) fn union(a: &Checks, b: &Checks) -> Checks {
    match (a, b) {
        (None, other) | (other, None) => other.clone(),
        (Some(x), Some(y)) if Rc::ptr_eq(x, y) || y.is_subset(x) => Some(x.clone()),
        (Some(x), Some(y)) if x.is_subset(y) => Some(y.clone()),
        (Some(x), Some(y)) => Some(Rc::new(x.union(y).copied().collect())),
    }
}

impl<'g> Importer<'_, 'g> {
    /// The slot, used only where the checks hold. Those that its value depends on already are not made twice.
    pub(super) fn checked(&mut self, slot: Slot<'g>, checks: &Checks) -> Result<Slot<'g>> {
        let Some(wanted) = checks else { return Ok(slot) };
        let missing: Vec<usize> = match &slot.checks {
            Some(own) => wanted.difference(own).copied().collect(),
            None => wanted.iter().copied().collect(),
        };
        let mut value = slot.value;
        for number in missing {
            let Some(condition) = self.conditions.get(number) else { continue };
            let mut call = self.graph.op(&checked::DEF).data(value).data(condition.value);
            call = call.data_all(&condition.data).attr("message", condition.message.clone());
            value = call.finish_at(self.location)?;
        }
        Ok(Slot { value, checks: union(&slot.checks, checks), ..slot })
    }
}
