//! Transactions of a [`DimTable`]: what a refused call has added is taken back whole.

use super::DimTable;
use crate::Dim;
use crate::symbol::Symbol;

/// Where a transaction began.
#[derive(Debug)]
#[must_use = "a transaction ends by commit or rollback"]
pub struct Mark {
    symbols: usize,
    equalities: usize,
    guards: usize,
    trail: usize,
    origin: u32,
}

#[derive(Debug)]
pub(super) enum Undo {
    Binding(Symbol, Option<Dim>),
    LowerBound(Dim, Option<i64>),
    Introduced(Symbol),
}

impl DimTable {
    /// Starts a transaction; transactions nest. End it with [`DimTable::commit`] or [`DimTable::rollback`].
    pub fn begin(&mut self) -> Mark {
        self.open += 1;
        Mark {
            symbols: self.origins.len(),
            equalities: self.equalities.len(),
            guards: self.guards.len(),
            trail: self.trail.len(),
            origin: self.origin,
        }
    }

    /// Keeps what was added since the mark.
    pub fn commit(&mut self, mark: Mark) {
        debug_assert!(mark.trail <= self.trail.len(), "transactions end in the reverse order of their begin");
        self.open = self.open.saturating_sub(1);
        if self.open == 0 {
            self.trail.clear();
        }
    }

    /// Takes back symbols, equalities and guards added since the mark.
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
        self.origins.truncate(mark.symbols);
        self.origin = mark.origin;
        self.open = self.open.saturating_sub(1);
    }

    pub(super) fn remember(&mut self, undo: Undo) {
        if self.open > 0 {
            self.trail.push(undo);
        }
    }
}
