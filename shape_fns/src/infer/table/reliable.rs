//! The guards that may simplify the dims of a node: see [`ReliableBounds`].
//!
//! A program may read the dims of a node and pass them to another node. A graph that has only some of the nodes must
//! give these dims the same values. So a guard may simplify a dim only if every graph that has the node has the guard
//! too: the guards of the node, and of the nodes that it needs. `min(n, 3)` must not become 3 because an unrelated node
//! requires `n >= 3`. A table in the order of definitions belongs to a graph whose nodes are all needed, so there every
//! guard is reliable.

use super::DimTable;
use super::lower_bounds::{ReliableBounds, decide_by_bounds};
use crate::{Dim, Guard};

impl DimTable {
    /// Returns whether a dim of the current node was simplified by a guard that neither the node nor the nodes that it
    /// needs require. The caller then undoes the inference, calls [`DimTable::rely_only_on`] and infers again.
    pub fn has_used_other_bounds(&self) -> bool {
        self.reliable.used_others
    }

    /// Says which guards may simplify the dims of the current node, besides the guards that the node itself requires.
    pub fn rely_only_on(&mut self, guards: &[Guard]) {
        self.reliable = ReliableBounds { is_complete: true, ..ReliableBounds::default() };
        for guard in guards {
            let resolved = guard.map(|dim| self.resolve(dim));
            self.reliable.add(&resolved);
        }
    }

    /// Returns whether `a >= b` is proved, so that the dims of the current node may rely on it. Canonical forms and
    /// reliable guards prove it. Until [`DimTable::rely_only_on`] names the reliable guards, any other guard proves it
    /// too, and [`DimTable::has_used_other_bounds`] then returns true.
    pub(crate) fn is_reliably_ge(&mut self, a: &Dim, b: &Dim) -> bool {
        let guard = Guard::Ge(self.resolve(a), self.resolve(b));
        if self.in_definition_order {
            return self.decide(&guard) == Some(true);
        }
        let reliably = guard.decide().or_else(|| decide_by_bounds(&guard, &self.reliable.bounds));
        if reliably.is_some() || self.reliable.is_complete || self.decide(&guard) != Some(true) {
            return reliably == Some(true);
        }
        self.reliable.used_others = true;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_of_another_node_is_used_until_it_is_excluded() {
        let [n, three] = [Dim::symbol("n"), Dim::known(3)];
        let mut table = DimTable::new();
        table.require(Guard::Ge(n.clone(), three.clone())).unwrap();
        assert!(table.is_reliably_ge(&n, &three) && !table.has_used_other_bounds());
        table.set_origin(1);
        assert!(!table.is_reliably_ge(&n, &Dim::known(4)) && !table.has_used_other_bounds());
        assert!(table.is_reliably_ge(&n, &three) && table.has_used_other_bounds());
        table.rely_only_on(&[]);
        assert!(!table.is_reliably_ge(&n, &three) && !table.has_used_other_bounds());
        table.rely_only_on(&[Guard::Ge(n.clone(), Dim::known(5))]);
        assert!(table.is_reliably_ge(&n, &three) && !table.has_used_other_bounds());
        // The guards of the node itself count too, also if another guard implies them.
        table.rely_only_on(&[]);
        table.require(Guard::Ge(n.clone(), Dim::known(2))).unwrap();
        assert!(table.is_reliably_ge(&n, &Dim::known(2)) && !table.is_reliably_ge(&n, &three));
        // Every node of a table in the order of definitions is needed.
        let mut table = DimTable::in_definition_order();
        table.require(Guard::Ge(n.clone(), three.clone())).unwrap();
        table.set_origin(1);
        assert!(table.is_reliably_ge(&n, &three) && !table.has_used_other_bounds());
    }
}
