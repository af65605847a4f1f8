//! [`keep_relied_equalities`]: keeps the equalities of dims that dropped nodes have found and that other nodes rely on.
//!
//! A program that reads a dim gets the symbols that stand for the dim at that time. After `a + b`, the number of rows
//! of `b` reads as the number of rows of `a`, and an attribute made of this number mentions the symbol of `a`. If a run
//! needs this attribute but not the sum, the run must still check that `a` and `b` have equally many rows.
//!
//! A dim may also read as a number. An attribute does not tell where its number comes from. But a call that adds
//! several nodes, such as an op on ragged values, reads the dims of its operands to choose its nodes. If such a call
//! read a number, the run must check that the dim is this number.

use rustc_hash::{FxHashMap, FxHashSet};
use shapeflow_shape_fns::{Dim, Equality, Symbol};

use super::rebuilder::Rebuilder;
use crate::error::Result;
use crate::graph::Node;

/// Adds the relied equalities whose symbols the new graph has to the new graph. `needed` marks the nodes of the old
/// graph that the new graph has.
///
/// # Errors
/// The new graph contradicts an equality.
pub(super) fn keep_relied_equalities(this: &mut Rebuilder<'_>, needed: &[bool]) -> Result<()> {
    let named = named_symbols(this);
    keep_older(this, &named)?;
    let is_dead = |equality: &Equality| needed.get(equality.origin as usize) == Some(&false);
    if this.old.table.equalities().iter().any(is_dead) {
        keep_numbers(this, needed)?;
        keep_symbols(this, needed, &named)?;
    }
    Ok(())
}

/// Keeps the relied equalities of graphs before the old graph.
fn keep_older(this: &mut Rebuilder<'_>, named: &FxHashSet<Symbol>) -> Result<()> {
    for [a, b] in &this.old.relied {
        let mut is_present = true;
        for dim in [a, b] {
            dim.symbols(&mut |symbol| is_present &= this.has_symbol(symbol, named));
        }
        if is_present {
            this.new.table.set_origin(u32::MAX);
            merge(this, a, b)?;
        }
    }
    Ok(())
}

/// Makes the dims numbers again that were numbers when a call of several nodes read them.
fn keep_numbers(this: &mut Rebuilder<'_>, needed: &[bool]) -> Result<()> {
    let old = this.old;
    let equalities: FxHashMap<Symbol, &Equality> =
        old.table.equalities().iter().map(|equality| (equality.symbol, equality)).collect();
    for (number, node) in old.nodes.iter().enumerate() {
        if !needed[number] || !node.added_within_call {
            continue;
        }
        for operand in &node.operands {
            // A string operand may have no new value, because its handles move instead. The row splits beside it have
            // one.
            let Some(&new) = this.values.get(operand) else { continue };
            let (before, now) =
                (&old.values[operand.index()].shape, this.new.values[new.index()].shape.clone());
            let (Some(before), Some(now)) = (before.dims(), now.dims()) else { continue };
            for (before, now) in before.iter().zip(now).filter(|(_, now)| !now.is_known()) {
                if let Some(read) = number_before(this, &equalities, before, number) {
                    set_origin(this, node);
                    keep_cause(this, &equalities, before, now);
                    this.new.table.merge(now, &Dim::known(read))?;
                    this.new.relied.push([now.clone(), Dim::known(read)]);
                }
            }
        }
    }
    Ok(())
}

/// Keeps the call that made `before` a number, for errors about `now`, its copy. The call that read the number is not
/// the reason.
fn keep_cause(this: &mut Rebuilder<'_>, equalities: &FxHashMap<Symbol, &Equality>, before: &Dim, now: &Dim) {
    let equality = before.as_symbol().and_then(|symbol| equalities.get(&symbol));
    if let (Some(symbol), Some(equality)) = (now.as_symbol(), equality)
        && (equality.origin as usize) < this.old.nodes.len()
    {
        this.new.relied_causes.insert(symbol, this.old.call_at(equality.origin));
    }
}

/// Returns the number that a dim of the old graph equals by equalities which nodes before node `number` found.
fn number_before(
    this: &Rebuilder<'_>,
    equalities: &FxHashMap<Symbol, &Equality>,
    dim: &Dim,
    number: usize,
) -> Option<i64> {
    let known = this.old.table.resolve(dim).as_known()?;
    let (mut found, mut symbols) = (FxHashSet::default(), Vec::new());
    dim.symbols(&mut |symbol| symbols.push(symbol));
    while let Some(symbol) = symbols.pop() {
        let equality = equalities.get(&symbol).filter(|equality| (equality.origin as usize) < number)?;
        if found.insert(symbol) {
            equality.dim.symbols(&mut |symbol| symbols.push(symbol));
        }
    }
    Some(known)
}

/// Keeps the equalities that attributes of needed nodes rely on.
fn keep_symbols(this: &mut Rebuilder<'_>, needed: &[bool], named: &FxHashSet<Symbol>) -> Result<()> {
    let old = this.old;
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
    // Classes of equal symbols, and by class a symbol that the new graph has. The new graph may have two symbols of a
    // class that are equal only through a third symbol, which the new graph lacks.
    let (mut equals, mut present) = (Classes::default(), FxHashMap::<Symbol, Symbol>::default());
    let is_dead = |equality: &&Equality| needed.get(equality.origin as usize) == Some(&false);
    for equality in old.table.equalities().iter().filter(is_dead) {
        if equality.dim.is_known() {
            // A program that relies on this equality reads the number, so its attributes mention no symbol.
            continue;
        }
        let Some(&reader) = last_reader.get(&classes.of(equality.symbol)) else { continue };
        if reader <= equality.origin as usize {
            continue;
        }
        set_origin(this, &old.nodes[reader]);
        let Some(other) = equality.dim.as_symbol() else {
            let mut is_present = this.has_symbol(equality.symbol, named);
            equality.dim.symbols(&mut |symbol| is_present &= this.has_symbol(symbol, named));
            if is_present {
                merge(this, &Dim::from(equality.symbol), &equality.dim)?;
            }
            continue;
        };
        let [a, b] = [equality.symbol, other].map(|symbol| {
            let own = this.has_symbol(symbol, named).then_some(symbol);
            present.get(&equals.of(symbol)).copied().or(own)
        });
        equals.join(equality.symbol, other);
        if let (Some(a), Some(b)) = (a, b) {
            merge(this, &Dim::from(a), &Dim::from(b))?;
        }
        if let Some(symbol) = a.or(b) {
            present.insert(equals.of(other), symbol);
        }
    }
    Ok(())
}

/// Attributes the equalities that follow to the copy of a node of the old graph.
fn set_origin(this: &mut Rebuilder<'_>, node: &Node) {
    let first = this.values.get(&node.first_output);
    let origin = first.map_or(u32::MAX, |first| this.new.values[first.index()].node.0);
    this.new.table.set_origin(origin);
}

/// Makes two dims of the old graph equal in the new graph.
fn merge(this: &mut Rebuilder<'_>, a: &Dim, b: &Dim) -> Result<()> {
    let [a, b] = [a, b].map(|dim| dim.substitute(&mut |symbol| this.symbol(symbol)));
    this.new.table.merge(&a, &b)?;
    this.new.relied.push([a, b]);
    Ok(())
}

/// Returns the names among the dims of the new graph.
fn named_symbols(this: &Rebuilder<'_>) -> FxHashSet<Symbol> {
    let mut named = FxHashSet::default();
    if this.old.relied.is_empty() && this.old.table.equalities().is_empty() {
        return named;
    }
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
