//! [`GuardRecord`]: an undecided condition on dimensions, which is checked when sizes are known.

use super::DimTable;
use super::lower_bounds::{as_lower_bound, bounds_given, decide_by_bounds};
use super::undo::Undo;
use crate::Guard;
use crate::dim::symbol::Symbol;
use crate::error::bail;
use crate::{Bounds, Dim, Result, ShapeError};

/// A guard and the first node that required it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GuardRecord {
    /// The condition.
    pub guard: Guard,
    /// The first node that required the condition.
    pub origin: u32,
}

impl DimTable {
    /// Requires a condition. A proven condition is dropped; an undecided condition is recorded once.
    ///
    /// # Errors
    /// The condition is disproven.
    pub fn require(&mut self, guard: Guard) -> Result<()> {
        let guard = if self.has_equalities() { guard.map(|dim| self.resolve(dim)) } else { guard };
        self.reliable.add(&guard);
        if self.recorded.contains(&guard) {
            return Ok(());
        }
        for dim in guard.dims() {
            dim.validate()?;
        }
        match (self.decide(&guard), &guard) {
            (Some(true), _) => Ok(()),
            (Some(false), Guard::Divides { divisor, dividend }) => {
                bail!("{dividend} must be a multiple of {divisor}")
            }
            (Some(false), Guard::OneOrEqual(a, b)) => bail!("{a} must be 1 or {b}"),
            (Some(false), Guard::Eq(a, b)) => bail!("dimensions must be equal, got {a} and {b}"),
            (Some(false), Guard::Ge(a, b)) if a.is_known() => bail!("{b} must be at most {a}"),
            (Some(false), Guard::Ge(a, b)) => bail!("{a} must be at least {b}"),
            (None, Guard::Eq(a, b)) => self.merge(a, b).map(drop),
            (None, Guard::OneOrEqual(a, b)) if a.same(&Dim::known(1)) == Some(false) => {
                self.merge(a, b).map(drop)
            }
            (None, Guard::OneOrEqual(a, b)) if a.same(b) == Some(false) => {
                self.merge(a, &Dim::known(1)).map(drop)
            }
            // The remainder is 0 for all values of the symbols, so the guard requires only that the divisor is not 0.
            (None, Guard::Divides { divisor, dividend })
                if dividend.modulo(divisor).is_ok_and(|rest| rest == 0)
                    && self.bounds(divisor).is_above(-1) =>
            {
                self.require(Guard::Ge(divisor.clone(), Dim::known(1)))
            }
            (None, _) => {
                self.record(guard);
                Ok(())
            }
        }
    }

    /// Returns the guards to check when sizes are known, in the order in which they were required. A guard that a later
    /// equality decided stays in the list.
    pub fn guards(&self) -> &[GuardRecord] {
        &self.guards
    }

    /// Returns the guard of an earlier node that the latest equality of the current node contradicts. The error of a
    /// shape function may state its requirement without this guard.
    pub fn broken_guard(&self) -> Option<&GuardRecord> {
        self.broken.as_ref()
    }

    /// Returns a guard with the symbols that shapes show in place of the anonymous symbols that equal them, for a text.
    pub fn with_names(&self, guard: &Guard) -> Guard {
        let name = |symbol: Symbol| {
            let root = self.resolve(&Dim::from(symbol));
            (symbol.is_anonymous() && root.as_symbol().is_some()).then_some(root)
        };
        let named = guard.map(|dim| dim.substitute(&mut |symbol| name(symbol)));
        // A later equality may have decided the guard.
        if named.dims()[0] == named.dims()[1] { guard.clone() } else { named }
    }

    /// Returns whether canonical forms and recorded guards prove (`Some(true)`) or disprove (`Some(false)`) `a >= b`.
    pub fn prove_ge(&self, a: &Dim, b: &Dim) -> Option<bool> {
        self.decide(&Guard::Ge(self.resolve(a), self.resolve(b)))
    }

    /// Decides a guard whose dimensions are resolved.
    pub(super) fn decide(&self, guard: &Guard) -> Option<bool> {
        if let Some(answer) = guard.decide() {
            return Some(answer);
        }
        if self.recorded.contains(guard) {
            return Some(true);
        }
        decide_by_bounds(guard, &self.lower_bounds)
    }

    /// Returns the interval in which a resolved dimension lies, given the lower bounds that guards imply for its
    /// symbols.
    pub fn bounds(&self, dim: &Dim) -> Bounds {
        bounds_given(dim, &self.lower_bounds)
    }

    /// Checks the guards that mention `symbol`, which was just replaced.
    pub(super) fn check_watchers(&mut self, symbol: Symbol) -> Result<()> {
        let Some(watching) = self.watchers.remove(&symbol) else { return Ok(()) };
        let mut outcome = Ok(());
        for &index in &watching {
            let Some(record) = self.guards.get(index as usize) else { continue };
            let now = record.guard.map(|dim| self.resolve(dim));
            match now.decide() {
                Some(false) => {
                    let error = ShapeError::new(format_args!("{} must hold, got {now}", record.guard));
                    outcome = Err(error.required_by(record.origin));
                    self.broken = Some(record.clone()).filter(|record| record.origin != self.origin);
                    break;
                }
                Some(true) => {}
                None => {
                    self.watch(&now, index);
                    self.record_lower_bound(&now);
                }
            }
        }
        self.watchers.insert(symbol, watching);
        outcome
    }

    /// Registers guard `index` under every symbol that `guard` mentions.
    fn watch(&mut self, guard: &Guard, index: u32) {
        for dim in guard.dims() {
            dim.symbols(&mut |symbol| {
                let watching = self.watchers.entry(symbol).or_default();
                if watching.last() != Some(&index) {
                    watching.push(index);
                }
            });
        }
    }

    /// Records the lower bound that a `>=` guard implies for a sum: see [`as_lower_bound`].
    pub(super) fn record_lower_bound(&mut self, guard: &Guard) {
        if let Some((sum, least)) = as_lower_bound(guard) {
            let old = self.lower_bounds.get(&sum).copied();
            if old.is_none_or(|old| old < least) {
                self.lower_bounds.insert(sum.clone(), least);
                self.remember(Undo::LowerBound(sum, old));
            }
        }
    }

    /// Records a guard that is undecided.
    pub(super) fn record(&mut self, guard: Guard) {
        if !self.recorded.insert(guard.clone()) {
            return;
        }
        self.reliable.add(&guard);
        self.record_lower_bound(&guard);
        self.watch(&guard, u32::try_from(self.guards.len()).unwrap_or(u32::MAX));
        self.guards.push(GuardRecord { guard, origin: self.origin });
    }
}
