//! [`keep_relied_bounds`]: keeps the lower bounds of dims that dropped nodes require and that other nodes rely on.
//!
//! A slice of `x` from row 6 on has `n-6` rows and requires `n >= 6`. If a run needs another node that has the
//! attribute `n-6` but not the slice, the run must still check `n >= 6`: a negative number may have a meaning of its
//! own there, as a position that counts from the end.

use rustc_hash::FxHashMap;
use shapeflow_shape_fns::{Dim, Guard, GuardRecord, PartialElements, Symbol};

use super::rebuilder::Rebuilder;
use crate::error::Result;

/// Requires in the new graph that an attribute is not negative if only the requirements of dropped nodes prove this.
/// `needed` marks the nodes of the old graph that the new graph has.
///
/// # Errors
/// The attribute is negative in the new graph.
pub(super) fn keep_relied_bounds(this: &mut Rebuilder<'_>, needed: &[bool]) -> Result<()> {
    let old = this.old;
    let is_dead_bound = |record: &&GuardRecord| {
        matches!(record.guard, Guard::Ge(..)) && needed.get(record.origin as usize) == Some(&false)
    };
    // For each symbol: the first dropped node that requires a bound of it.
    let mut first_bound: FxHashMap<Symbol, usize> = FxHashMap::default();
    for record in old.table.guards().iter().filter(is_dead_bound) {
        let origin = record.origin as usize;
        for dim in record.guard.dims() {
            dim.symbols(&mut |symbol| {
                first_bound.entry(symbol).and_modify(|first| *first = origin.min(*first)).or_insert(origin);
            });
        }
    }
    if first_bound.is_empty() {
        return Ok(());
    }
    let zero = Dim::known(0);
    for (number, node) in old.nodes.iter().enumerate().filter(|(number, _)| needed[*number]) {
        let Some(first) = this.values.get(&node.first_output).copied() else { continue };
        for dim in node.attrs().iter().filter_map(|(_, attr)| attr.to_elements()).flat_map(dims_of) {
            let mut may_rely = false;
            dim.symbols(&mut |symbol| {
                may_rely |= first_bound.get(&symbol).is_some_and(|origin| *origin < number);
            });
            if !may_rely || old.table.prove_ge(&dim, &zero) != Some(true) {
                continue;
            }
            let dim = dim.substitute(&mut |symbol| this.symbol(symbol));
            this.new.table.set_origin(this.new.values[first.index()].node.0);
            this.new.table.require(Guard::Ge(dim, zero.clone()))?;
        }
    }
    Ok(())
}

/// Returns the elements that are not known.
fn dims_of(elements: PartialElements) -> Vec<Dim> {
    elements.elements().iter().filter(|dim| !dim.is_known()).cloned().collect()
}
