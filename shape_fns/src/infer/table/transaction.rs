//! Transactions of a [`DimTable`]: a refused call is rolled back and leaves no trace.

use super::DimTable;
use super::undo::{Mark, Undo};

impl DimTable {
    /// Starts a transaction. Transactions nest. A transaction ends with [`DimTable::commit`] or [`DimTable::rollback`].
    pub fn begin(&mut self) -> Mark {
        self.open_transactions += 1;
        Mark {
            symbols: self.origins.len(),
            equalities: self.equalities.len(),
            broadcasts: self.broadcasts.len(),
            guards: self.guards.len(),
            trail: self.trail.len(),
            origin: self.origin,
        }
    }

    /// Ends a transaction and keeps its changes.
    pub fn commit(&mut self, mark: Mark) {
        debug_assert!(mark.trail <= self.trail.len(), "transactions end in the reverse order of their begin");
        self.open_transactions = self.open_transactions.saturating_sub(1);
        if self.open_transactions == 0 {
            self.trail.clear();
        }
    }

    /// Ends a transaction and restores the state of the table at the mark.
    pub fn rollback(&mut self, mark: Mark) {
        while self.trail.len() > mark.trail {
            match self.trail.pop() {
                Some(Undo::Binding(symbol, Some(dim))) => drop(self.bindings.insert(symbol, dim)),
                Some(Undo::Binding(symbol, None)) => drop(self.bindings.remove(&symbol)),
                Some(Undo::LowerBound(dim, Some(bound))) => drop(self.lower_bounds.insert(dim, bound)),
                Some(Undo::LowerBound(dim, None)) => drop(self.lower_bounds.remove(&dim)),
                Some(Undo::Introduced(symbol)) => drop(self.introduced.remove(&symbol)),
                None => break,
            }
        }
        for record in self.guards.drain(mark.guards.min(self.guards.len())..) {
            self.recorded.remove(&record.guard);
        }
        self.equalities.truncate(mark.equalities);
        self.broadcasts.truncate(mark.broadcasts);
        self.origins.truncate(mark.symbols);
        self.origin = mark.origin;
        self.open_transactions = self.open_transactions.saturating_sub(1);
    }

    /// Records how to undo a change if a transaction is open.
    pub(super) fn remember(&mut self, undo: Undo) {
        if self.open_transactions > 0 {
            self.trail.push(undo);
        }
    }
}
