//! Lower bounds of sums of dims, which `>=` guards imply.

use rustc_hash::FxHashMap;

use crate::{Bounds, Dim, Guard};

/// The lower bounds that may simplify the dims of the current node.
#[derive(Debug, Default)]
pub(super) struct ReliableBounds {
    /// As `DimTable::lower_bounds`.
    pub bounds: FxHashMap<Dim, i64>,
    /// Whether no other bound may simplify dims.
    pub is_complete: bool,
    /// Whether another bound has simplified a dim.
    pub used_others: bool,
}

impl ReliableBounds {
    /// Adds the lower bound that a `>=` guard implies.
    pub fn add(&mut self, guard: &Guard) {
        if let Some((sum, least)) = as_lower_bound(guard) {
            let bound = self.bounds.entry(sum).or_insert(least);
            *bound = least.max(*bound);
        }
    }
}

/// Rewrites a `>=` guard as `sum >= least`, where `sum` has no constant term and its coefficients have no common
/// factor, and returns `(sum, least)`.
pub(super) fn as_lower_bound(guard: &Guard) -> Option<(Dim, i64)> {
    let Guard::Ge(a, b) = guard else { return None };
    let (sum, constant) = a.plus_times(b, -1).ok()?.without_constant()?;
    let content = sum.content();
    let least = Dim::known(constant.checked_neg()?).ceil_div(Dim::known(content)).ok()?.as_known()?;
    Some((sum.exact_div(Dim::known(content))?, least))
}

/// Decides a `>=` guard by these lower bounds of sums.
pub(super) fn decide_by_bounds(guard: &Guard, lower_bounds: &FxHashMap<Dim, i64>) -> Option<bool> {
    let Guard::Ge(a, b) = guard else { return None };
    if lower_bounds.is_empty() {
        return None;
    }
    let bounds = bounds_given(&a.plus_times(b, -1).ok()?, lower_bounds);
    if bounds.is_above(-1) || bounds.is_below(0) {
        return Some(bounds.is_above(-1));
    }
    let (sum, least) = as_lower_bound(guard)?;
    (*lower_bounds.get(&sum)? >= least).then_some(true)
}

/// Returns the interval in which a dimension lies, given lower bounds of sums.
pub(super) fn bounds_given(dim: &Dim, lower_bounds: &FxHashMap<Dim, i64>) -> Bounds {
    if lower_bounds.is_empty() {
        return dim.bounds();
    }
    dim.bounds_given(&|symbol| {
        let recorded = lower_bounds.get(&Dim::from(symbol)).map(|least| i128::from(*least));
        let kind_bounds = Bounds::of_kind(symbol.kind());
        Bounds { lower: kind_bounds.lower.max(recorded), upper: kind_bounds.upper }
    })
}
