//! [`keep_relied_equalities`]: keeps the equalities of dims that dropped nodes have found and that other nodes rely on.
//!
//! A program that reads a dim gets the symbols that stand for the dim at that time. After `a + b`, the number of rows
//! of `b` reads as the number of rows of `a`, and an attribute made of this number mentions the symbol of `a`. If a run
//! needs this attribute but not the sum, the run must still check that `a` and `b` have equally many rows.

use rustc_hash::{FxHashMap, FxHashSet};
use shapeflow_shape_fns::{Dim, Equality, Symbol};

use super::rebuilder::Rebuilder;
use crate::error::Result;

/// Adds the relied equalities whose symbols the new graph has to the new graph. `needed` marks the nodes of the old
/// graph that the new graph has.
///
/// # Errors
/// The new graph contradicts an equality.
pub(super) fn keep_relied_equalities(this: &mut Rebuilder<'_>, needed: &[bool]) -> Result<()> {
    let old = this.old;
    let is_dead = |equality: &Equality| needed.get(equality.origin as usize) == Some(&false);
    if !old.table.equalities().iter().any(is_dead) {
        return Ok(());
    }
    let mut classes = Classes::default();
    for equality in old.table.equalities() {
        equality.dim.symbols(&mut |symbol| classes.join(equality.symbol, symbol));
    }
    // For each class: the last needed node whose attributes mention a symbol of the class.
    let mut last_reader: FxHashMap<Symbol, usize> = FxHashMap::default();
    for (number, node) in old.nodes.iter().enumerate().filter(|(number, _)| needed[*number]) {
        node.attrs().symbols(&mut |symbol| {
            last_reader.insert(classes.of(symbol), number);
        });
    }
    let named = named_symbols(this);
    // Classes of equal symbols, and by class a symbol that the new graph has. The new graph may have two symbols of a
    // class that are equal only through a third symbol, which the new graph lacks.
    let (mut equals, mut present) = (Classes::default(), FxHashMap::<Symbol, Symbol>::default());
    for equality in old.table.equalities().iter().filter(|equality| is_dead(equality)) {
        if equality.dim.is_known() {
            // A program that relies on this equality reads the number, so its attributes mention no symbol.
            continue;
        }
        let Some(&reader) = last_reader.get(&classes.of(equality.symbol)) else { continue };
        if reader <= equality.origin as usize {
            continue;
        }
        let first = this.values.get(&old.nodes[reader].first_output);
        let origin = first.map_or(u32::MAX, |first| this.new.values[first.index()].node.0);
        this.new.table.set_origin(origin);
        let Some(other) = equality.dim.as_symbol() else {
            let mut is_present = this.has_symbol(equality.symbol, &named);
            equality.dim.symbols(&mut |symbol| is_present &= this.has_symbol(symbol, &named));
            if is_present {
                merge(this, equality.symbol, &equality.dim)?;
            }
            continue;
        };
        let [a, b] = [equality.symbol, other].map(|symbol| {
            let own = this.has_symbol(symbol, &named).then_some(symbol);
            present.get(&equals.of(symbol)).copied().or(own)
        });
        equals.join(equality.symbol, other);
        if let (Some(a), Some(b)) = (a, b) {
            merge(this, a, &Dim::from(b))?;
        }
        if let Some(symbol) = a.or(b) {
            present.insert(equals.of(other), symbol);
        }
    }
    Ok(())
}

/// Makes a symbol and a dim of the old graph equal in the new graph.
fn merge(this: &mut Rebuilder<'_>, symbol: Symbol, dim: &Dim) -> Result<()> {
    let [a, b] =
        [Dim::from(symbol), dim.clone()].map(|dim| dim.substitute(&mut |symbol| this.symbol(symbol)));
    this.new.table.merge(&a, &b)?;
    Ok(())
}

/// Returns the names among the dims of the new graph.
fn named_symbols(this: &Rebuilder<'_>) -> FxHashSet<Symbol> {
    let mut named = FxHashSet::default();
    for value in &this.new.values {
        for dim in value.shape.dims().unwrap_or_default() {
            dim.symbols(&mut |symbol| {
                if !symbol.is_anonymous() {
                    named.insert(symbol);
                }
            });
        }
    }
    named
}

/// Disjoint sets of symbols. A symbol that was never joined is a set of its own.
#[derive(Default)]
struct Classes {
    parents: FxHashMap<Symbol, Symbol>,
}

impl Classes {
    /// Returns the symbol that stands for the set of `symbol`.
    fn of(&self, mut symbol: Symbol) -> Symbol {
        while let Some(parent) = self.parents.get(&symbol) {
            symbol = *parent;
        }
        symbol
    }

    fn join(&mut self, a: Symbol, b: Symbol) {
        let (a, b) = (self.of(a), self.of(b));
        if a != b {
            self.parents.insert(a, b);
        }
    }
}
