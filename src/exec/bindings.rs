//! `Bindings`: the values of symbols during a run.

use rustc_hash::FxHashMap;
use shapeflow_shape_fns::{Dim, DimTable, Guard, Symbol, SymbolKind};

use crate::lower::PlanError;

/// Values of symbols, by their table's equalities.
#[derive(Clone, Default, Debug)]
pub(crate) struct Bindings {
    values: FxHashMap<Symbol, i64>,
    /// Equalities that had no single unbound symbol when they were met.
    deferred: Vec<(Dim, i64)>,
}

/// A dimension that got a size it cannot have.
#[derive(Clone, Debug)]
pub(crate) struct Mismatch {
    pub dim: Dim,
    pub expected: Option<i64>,
    pub got: i64,
}

impl Bindings {
    pub(crate) fn get(&self, symbol: Symbol) -> Option<i64> {
        self.values.get(&symbol).copied()
    }

    /// The value of a dimension, if every symbol of it is bound.
    pub(crate) fn try_eval(&self, table: &DimTable, dim: &Dim) -> Option<i64> {
        if let Some(known) = dim.as_known() {
            return Some(known);
        }
        table.resolve(dim).eval(&|symbol| self.get(symbol)).ok().flatten()
    }

    /// The value of a dimension.
    pub(crate) fn eval(&self, table: &DimTable, dim: &Dim) -> Result<i64, PlanError> {
        if let Some(known) = dim.as_known() {
            return Ok(known);
        }
        let dim = table.resolve(dim);
        match dim.eval(&|symbol| self.get(symbol)) {
            Ok(Some(value)) => Ok(value),
            Ok(None) => Err(PlanError(format!("nothing determines dimension {dim}"))),
            Err(error) => Err(PlanError(error.to_string())),
        }
    }

    /// What the symbols of a dimension are, where that is known: ` where a is 2 and b is 3`.
    pub(crate) fn values_in(&self, dim: &Dim) -> String {
        let mut values: Vec<String> = Vec::new();
        dim.symbols(&mut |symbol| {
            let value = self.get(symbol).map(|value| format!("{} is {value}", Dim::from(symbol)));
            values.extend(value.filter(|value| !values.contains(value)));
        });
        if values.is_empty() { String::new() } else { format!(" where {}", values.join(" and ")) }
    }

    /// Takes note that `dim` is `value`: binds its one unbound symbol, or checks.
    pub(crate) fn bind(&mut self, table: &DimTable, dim: &Dim, value: i64) -> Result<(), Mismatch> {
        let dim = table.resolve(dim);
        let mismatch = |expected| Err(Mismatch { dim: dim.clone(), expected, got: value });
        match dim.eval(&|symbol| self.get(symbol)) {
            Ok(Some(known)) if known == value => return Ok(()),
            Ok(Some(known)) => return mismatch(Some(known)),
            Ok(None) => {}
            Err(_) => return mismatch(None),
        }
        if let Some(linear) = self.linear(&dim) {
            let Some((symbol, solution)) = linear.solve(value) else { return mismatch(None) };
            self.values.insert(symbol, solution);
            return Ok(());
        }
        self.deferred.push((dim, value));
        Ok(())
    }

    /// Uses the equalities that could not be used when they were met: to bind, or to check.
    pub(crate) fn settle(&mut self, table: &DimTable) -> Result<(), Mismatch> {
        loop {
            let deferred = std::mem::take(&mut self.deferred);
            let before = deferred.len();
            for (dim, value) in deferred {
                self.bind(table, &dim, value)?;
            }
            if self.deferred.len() == before {
                return Ok(());
            }
        }
    }

    /// Binds what required equalities determine; true if it did.
    pub(crate) fn solve(&mut self, table: &DimTable, guard: &Guard) -> bool {
        let Guard::Eq(a, b) = guard else { return false };
        let (dim, value) = match (self.try_eval(table, a), self.try_eval(table, b)) {
            (Some(value), None) => (b, value),
            (None, Some(value)) => (a, value),
            _ => return false,
        };
        // What has no solution is a requirement that does not hold, of which its check tells.
        let solution = self.linear(&table.resolve(dim)).and_then(|linear| linear.solve(value));
        solution.is_some_and(|(symbol, solution)| self.values.insert(symbol, solution).is_none())
    }

    /// A dimension of one unbound symbol.
    fn linear(&self, dim: &Dim) -> Option<Linear> {
        let rest = dim.substitute(&mut |symbol| self.get(symbol).map(Dim::known));
        rest.as_linear().map(|(scale, symbol, offset)| Linear { scale, symbol, offset })
    }
}

/// `scale * symbol + offset`.
struct Linear {
    scale: i64,
    symbol: Symbol,
    offset: i64,
}

impl Linear {
    /// What the symbol is where this is `value`.
    fn solve(&self, value: i64) -> Option<(Symbol, i64)> {
        let rest = value.checked_sub(self.offset)?;
        let whole = rest.checked_rem(self.scale) == Some(0);
        let solution = rest.checked_div(self.scale).filter(|_| whole)?;
        let is_size = solution >= 0 || self.symbol.kind() != SymbolKind::Size;
        is_size.then_some((self.symbol, solution))
    }
}
