//! [`Provenance`]: the origin of a dimension, for error messages.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{DimTable, Equality, RETIRED};
use crate::Dim;
use crate::dim::symbol::Symbol;

/// One fact about the origin of a dimension.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Provenance {
    /// The node that introduced a symbol.
    Introduced(Symbol, u32),
    /// An equality that relates a symbol to a dimension.
    Equated(Equality),
}

impl DimTable {
    /// Returns the node that made an anonymous symbol of this table.
    pub fn maker(&self, symbol: Symbol) -> Option<u32> {
        let origin = self.index_of(symbol).and_then(|index| self.origins.get(index).copied());
        origin.filter(|origin| *origin != RETIRED)
    }

    /// Returns the nodes that introduced the symbols of a dimension and all symbols that equalities connect with them.
    /// These equalities follow, in the order in which they were found.
    pub fn explain(&self, dim: &Dim) -> Vec<Provenance> {
        let mut involved: FxHashSet<Symbol> = FxHashSet::default();
        let mut pending = Vec::new();
        dim.symbols(&mut |symbol| pending.push(symbol));
        self.resolve(dim).symbols(&mut |symbol| pending.push(symbol));
        let mut equalities_of: FxHashMap<Symbol, Vec<usize>> = FxHashMap::default();
        for (index, equality) in self.equalities.iter().enumerate() {
            equalities_of.entry(equality.symbol).or_default().push(index);
            equality.dim.symbols(&mut |symbol| equalities_of.entry(symbol).or_default().push(index));
        }
        let mut used: FxHashSet<usize> = FxHashSet::default();
        while let Some(symbol) = pending.pop() {
            if !involved.insert(symbol) {
                continue;
            }
            for &index in equalities_of.get(&symbol).into_iter().flatten() {
                if used.insert(index)
                    && let Some(equality) = self.equalities.get(index)
                {
                    pending.push(equality.symbol);
                    equality.dim.symbols(&mut |other| pending.push(other));
                }
            }
        }
        let mut symbols: Vec<Symbol> = involved.into_iter().collect();
        symbols.sort_by_key(|symbol| self.age(*symbol));
        let mut used: Vec<usize> = used.into_iter().collect();
        used.sort_unstable();
        let introduced = symbols.into_iter().filter_map(|symbol| {
            let introduced = || self.introduced.get(&symbol).map(|introduction| introduction.node);
            let node = self.maker(symbol).or_else(introduced);
            node.map(|node| Provenance::Introduced(symbol, node))
        });
        let equated =
            used.into_iter().filter_map(|index| self.equalities.get(index).cloned().map(Provenance::Equated));
        introduced.chain(equated).collect()
    }
}
